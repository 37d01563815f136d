import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';
import { bundledPackages } from './tools/bundled.js';

const server = process.env['HEDDLE_URL'] ?? 'http://127.0.0.1:8080';

export default defineConfig({
  plugins: [svelte(), bundledPackages()],
  resolve: { alias: { $: new URL('./src', import.meta.url).pathname } },
  build: {
    target: 'es2023',
    outDir: 'dist',
    // Everything is a file of its own: the policy allows no `data:` script, style or font.
    assetsInlineLimit: 0,
    // The polyfill is for browsers older than the target.
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    manifest: true,
  },
  server: {
    // The examples, which patterns begin with.
    fs: { allow: ['..'] },
    proxy: Object.fromEntries(['/api', '/webhooks', '/callbacks'].map((path) => [path, server])),
  },
  test: {
    include: ['tests/unit/**/*.test.ts', 'src/**/*.test.ts'],
    environment: 'node',
    testTimeout: 30_000,
  },
});
