import svelte from 'eslint-plugin-svelte';
import globals from 'globals';
import ts from 'typescript-eslint';
import svelteConfig from './svelte.config.js';

// A library that may have to be replaced is imported in one folder only.
const CANVAS = { group: ['@xyflow/*'], message: 'Only canvas/ knows Svelte Flow.' };
const DATA = { group: ['@tanstack/*', 'openapi-fetch'], message: 'Only api/ knows the data libraries.' };
const PARTS = {
  group: ['bits-ui', '@codemirror/*', '@lezer/*'],
  message: 'Only parts/ and inspector/ know these.',
};
const only = (...patterns) => ({ 'no-restricted-imports': ['error', { patterns }] });

export default ts.config(
  { ignores: ['artifact', 'dist', 'src/api/schema.d.ts', 'test-results', 'playwright-report'] },
  ...ts.configs.recommended,
  ...svelte.configs.recommended,
  { languageOptions: { globals: { ...globals.browser, ...globals.node } } },
  {
    files: ['**/*.svelte', '**/*.svelte.ts'],
    languageOptions: { parserOptions: { parser: ts.parser, extraFileExtensions: ['.svelte'], svelteConfig } },
  },
  {
    rules: {
      // Values from runs are text.
      'svelte/no-at-html-tags': 'error',
      'svelte/no-navigation-without-resolve': 'off',
      // State is replaced here, not changed: sets, maps and dates are values.
      'svelte/prefer-svelte-reactivity': 'off',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      ...only(CANVAS, DATA, PARTS),
    },
  },
  { files: ['src/canvas/**'], rules: only(DATA, PARTS) },
  { files: ['src/api/**', 'src/main.ts', 'src/screens/App.svelte'], rules: only(CANVAS, PARTS) },
  { files: ['src/parts/**', 'src/inspector/**'], rules: only(CANVAS, DATA) },
  {
    files: ['src/graph/**'],
    rules: {
      ...only({ group: ['svelte', 'svelte/*', '*.svelte'], message: 'graph/ is pure.' }, CANVAS, DATA, PARTS),
      'no-restricted-globals': ['error', 'window', 'document', 'localStorage'],
    },
  },
);
