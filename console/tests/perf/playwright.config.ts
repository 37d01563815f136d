import { defineConfig } from '@playwright/test';
import { ARGS, EXECUTABLE } from '../chromium.js';

export default defineConfig({
  testDir: '.',
  testMatch: ['*.perf.ts', '*.browser.ts'],
  workers: 1,
  timeout: 120_000,
  use: {
    browserName: 'chromium',
    launchOptions: { executablePath: EXECUTABLE, args: ARGS },
    viewport: { width: 1440, height: 900 },
  },
});
