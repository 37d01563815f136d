import { defineConfig } from '@playwright/test';
import { ARGS, EXECUTABLE } from './tests/chromium.js';
import type { PerWorker } from './tests/e2e/fixtures';

/** What is stored and read back by way of the whole console. */
const CORE = /\/(session|editor|deployment|tests)\.test\.ts$/;

/** Drives the real server, named by HEDDLE_BIN, in the system's Chromium. */
export default defineConfig<object, PerWorker>({
  projects: [
    // Without a GPU, what moves costs as much as what is tested; the other project has everything move.
    { name: 'sqlite', use: { reducedMotion: 'reduce' } },
    { name: 'postgres', testMatch: CORE, use: { database: 'postgres' } },
  ],
  testDir: 'tests/e2e',
  workers: 2,
  // Each test has an account of its own. By file, one worker would end with the long tests of one of them.
  fullyParallel: true,
  retries: 0,
  // Slow machines are no failures.
  timeout: 120_000,
  // Longer than what screens ask for again by themselves takes to come round.
  expect: { timeout: 40_000 },
  forbidOnly: Boolean(process.env['CI']),
  reporter: [['list']],
  use: {
    browserName: 'chromium',
    viewport: { width: 1280, height: 800 },
    // What can't be pressed is told as that, and not as a test that took too long.
    actionTimeout: 90_000,
    // Recorded for every test, to be thrown away for most: where nobody fetches it from, that is only work.
    trace: process.env['CI'] ? 'off' : 'retain-on-failure',
    launchOptions: { executablePath: EXECUTABLE, args: ARGS },
  },
});
