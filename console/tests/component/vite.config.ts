import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';

/**
 * Pages that show components by themselves, and their tests in a real browser:
 *
 *     npx vitest run --config tests/component/vite.config.ts
 */
export default defineConfig({
  root: import.meta.dirname,
  plugins: [svelte({ configFile: new URL('../../svelte.config.js', import.meta.url).pathname })],
  resolve: { alias: { $: new URL('../../src', import.meta.url).pathname } },
  test: {
    include: ['*.test.ts'],
    // Builds the pages once for all tests.
    globalSetup: ['setup.ts'],
    environment: 'node',
    // Playwright is loaded once, and not by each file anew: what tests change is in pages of their own.
    isolate: false,
    testTimeout: 30_000,
    hookTimeout: 120_000,
  },
  build: {
    target: 'es2023',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rollupOptions: {
      input: ['inspector', 'parts', 'run', 'screens'].map(
        (page) => `${import.meta.dirname}/${page}/index.html`,
      ),
    },
  },
});
