/** The pages of this folder in a real browser, under the console's own policy. */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { extname, join, normalize } from 'node:path';
import { chromium, type Browser, type Page } from '@playwright/test';
import { inject } from 'vitest';

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
  /** Opens a page; everything that its console says of an error is in `complaints`. */
  open: (address: string, size?: { width: number; height: number }) => Promise<Opened>;
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
  const browser = await chromium.launch({
    executablePath:
      process.env['CHROMIUM'] ?? execFileSync('which', ['chromium'], { encoding: 'utf8' }).trim(),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
    ],
  });
  return {
    open: (address, size = { width: 420, height: 900 }) => open(browser, server, address, size),
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
): Promise<Opened> {
  const page = await browser.newPage({ viewport: size, reducedMotion: 'reduce' });
  // Shorter than a test's own, so that what was waited for is told.
  page.setDefaultTimeout(10_000);
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  const port = (server.address() as { port: number }).port;
  await page.goto(`http://127.0.0.1:${port}/${address}`);
  await page.waitForFunction(() => document.getElementById('app')?.childElementCount);
  return { page, complaints };
}

const axe = readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe finds wrong by all its rules, or by these, in a line each. */
export async function violations(page: Page, rules?: readonly string[]): Promise<string[]> {
  await page.evaluate(await axe);
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
    const { violations } = await axe.run(runOnly ? { runOnly } : { rules: off });
    return violations.flatMap(({ id, nodes }) =>
      nodes.map((it) => `${id}: ${it.html.slice(0, 200)} ${it.failureSummary}`),
    );
  }, rules);
}
