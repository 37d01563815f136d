/** Pages of parts by themselves, built once, for measurements and for what only a browser can show. */
import { test, type Page } from '@playwright/test';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'vite';
import { serve, type Served } from './serve';

let served: Served | undefined;

const CANVAS = './page/vite.config.ts';
/** Those of the tests of components. */
export const COMPONENTS = '../component/vite.config.ts';

/** Builds and serves pages for the tests of a file. */
export function servePage(config = CANVAS): void {
  let folder: string;
  test.beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'canvas-'));
    await build({
      configFile: new URL(config, import.meta.url).pathname,
      build: { outDir: folder },
      logLevel: 'error',
    });
    const catalogue = await readFile(new URL('../unit/graph/catalogue.json', import.meta.url), 'utf8');
    const examples = new URL('../../../examples', import.meta.url).pathname;
    served = await serve([folder, examples], catalogue);
  });
  test.afterAll(async () => {
    served?.close();
    await rm(folder, { recursive: true });
  });
}

/** Opens it; a message in the console, a violation of the policy or an error fails the test. */
export async function open(page: Page, query: string, path = ''): Promise<void> {
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) throw new Error(message.text());
  });
  page.on('pageerror', (error) => {
    throw error;
  });
  await page.goto(`${served?.url}/${path}?${query}`);
  await page.waitForFunction(
    () => 'isShown' in globalThis || ('show' in globalThis && location.search.includes('wait')),
  );
  await page.waitForTimeout(300);
}
