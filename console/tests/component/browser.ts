/** The pages of this folder in a real browser, under the console's own policy. */
import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { extname, join, normalize } from 'node:path';
import { chromium, type Browser, type Page } from '@playwright/test';
import { inject } from 'vitest';
import { ARGS, EXECUTABLE } from '../chromium.js';
import { COLOURS } from '../colours';

const TYPES: Record<string, string> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.woff2': 'font/woff2',
};

/** The policy that the server sends with the console's page. */
const policy = (nonce: string) =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "style-src-attr 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types svelte-trusted-html',
  ].join('; ');

export interface Pages {
  /** Opens a page, once it is prepared; everything that its console says of an error is in `complaints`. */
  open: (
    address: string,
    size?: { width: number; height: number },
    prepare?: (page: Page) => Promise<void>,
  ) => Promise<Opened>;
  close: () => Promise<void>;
}

export interface Opened {
  page: Page;
  complaints: string[];
}

/** Serves the pages that `setup.ts` has built, and starts a browser. */
export async function start(): Promise<Pages> {
  const root = inject('pages');
  const server = createServer((request, response) => void serve(root, request.url ?? '/', response));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const browser = await chromium.launch({ executablePath: EXECUTABLE, args: ARGS });
  return {
    open: (address, size = { width: 420, height: 900 }, prepare) =>
      open(browser, server, address, size, prepare),
    close: async () => {
      await browser.close();
      server.close();
    },
  };
}

async function serve(root: string, url: string, response: import('node:http').ServerResponse): Promise<void> {
  const { pathname } = new URL(url, 'http://localhost');
  try {
    const file = await readFile(join(root, normalize(pathname)));
    const nonce = randomBytes(9).toString('base64');
    const body = extname(pathname) === '.html' ? file.toString().replace('__NONCE__', nonce) : file;
    const type = TYPES[extname(pathname)] ?? 'application/octet-stream';
    response.writeHead(200, { 'content-type': type, 'content-security-policy': policy(nonce) }).end(body);
  } catch {
    response.writeHead(pathname === '/favicon.ico' ? 204 : 404).end();
  }
}

async function open(
  browser: Browser,
  server: Server,
  address: string,
  size: { width: number; height: number },
  prepare?: (page: Page) => Promise<void>,
): Promise<Opened> {
  const page = await browser.newPage({ viewport: size, reducedMotion: 'reduce' });
  // Shorter than a test's own, so that what was waited for is told.
  page.setDefaultTimeout(10_000);
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  await prepare?.(page);
  const port = (server.address() as { port: number }).port;
  // What a test holds up may be what the page waits for before it is loaded.
  const waitUntil = prepare ? 'commit' : 'load';
  await page.goto(`http://127.0.0.1:${port}/${address}`, { waitUntil });
  await page.waitForFunction(() => document.getElementById('app')?.childElementCount);
  return { page, complaints };
}

const axe = readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe finds wrong by all its rules, or by these, in a line each. */
export async function violations(page: Page, rules?: readonly string[]): Promise<string[]> {
  // Half a megabyte, which is compiled each time.
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(await axe);
  return page.evaluate(async (runOnly) => {
    const { axe } = window as unknown as {
      axe: { run: (options: object) => Promise<{ violations: Violation[] }> };
    };
    interface Violation {
      id: string;
      nodes: { html: string; failureSummary: string }[];
    }
    // A part alone has no landmarks and headings around it.
    const whole = ['region', 'landmark-one-main', 'page-has-heading-one', 'heading-order'];
    const off = Object.fromEntries(whole.map((rule) => [rule, { enabled: false }]));
    // Of what passes, it would keep every element.
    const resultTypes = ['violations'];
    const { violations } = await axe.run(runOnly ? { runOnly, resultTypes } : { rules: off, resultTypes });
    return violations.flatMap(({ id, nodes }) =>
      nodes.map((it) => `${id}: ${it.html.slice(0, 200)} ${it.failureSummary}`),
    );
  }, rules);
}

/**
 * What axe finds wrong in light and in dark, where what it looks at is the same but for its colours. A page in light is made
 * dark as the console's own is; to load it once more would take longer than to look at it.
 */
export async function violationsInBoth(page: Page): Promise<string[]> {
  const light = await violations(page);
  const theme = (name: string) =>
    page.evaluate((name) => {
      document.documentElement.dataset['theme'] = name;
    }, name);
  await theme('dark');
  const dark = await violations(page, COLOURS);
  await theme('light');
  return [...light, ...dark.map((each) => `dark: ${each}`)];
}
