import { defineConfig } from 'vitest/config';

/**
 * One task in Debian's Firefox, against the real server of HEDDLE_BIN:
 *
 *     npx vitest run --config tests/firefox/vite.config.ts
 *
 * Playwright drives a Firefox of its own only; this one is driven by WebDriver BiDi, which it speaks itself.
 */
export default defineConfig({
  root: import.meta.dirname,
  test: { include: ['*.test.ts'], environment: 'node', testTimeout: 180_000, hookTimeout: 120_000 },
});
