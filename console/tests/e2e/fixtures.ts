import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { test as base, type BrowserContext, expect, type Page } from '@playwright/test';
import { OWN_PAGE } from './api';
import { Postgres } from './postgres';
import { onPostgres, Server } from './server';

export { expect } from '@playwright/test';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Account {
  email: string;
  password: string;
  workspace: string;
}

interface PerTest {
  /** Somebody new, signed in, with a workspace of their own. */
  account: Account;
  /** What pages have said: none may say anything. */
  complaints: string[];
  /** Has the pages of another context watched as well, before any is opened. */
  watched: (context: BrowserContext) => Promise<void>;
}
export interface PerWorker {
  /** What the server stores in. */
  database: 'sqlite' | 'postgres';
  server: Server;
}

const ALL = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

/** Fails on what axe finds in the page as it is, by all rules or by these. */
export async function accessible(page: Page, rules: readonly string[] = ALL): Promise<void> {
  // Colours are judged at rest: without motion, nothing that comes while axe looks is half there.
  const moves = await page.evaluate(() => !matchMedia('(prefers-reduced-motion: reduce)').matches);
  if (moves) await page.emulateMedia({ reducedMotion: 'reduce' });
  // Half a megabyte, which is compiled each time.
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(AXE);
  const found = await page.evaluate(async (runOnly) => {
    const { axe } = window as unknown as {
      axe: { run: (options: object) => Promise<{ violations: Violation[] }> };
    };
    interface Violation {
      id: string;
      help: string;
      nodes: { html: string; failureSummary?: string }[];
    }
    // It reads the document once, and fails or guesses where elements come afterwards: then it looks again.
    let hasChanged = false;
    const observer = new MutationObserver(() => (hasChanged = true));
    observer.observe(document, { childList: true, subtree: true });
    const violations = async (left: number): Promise<Violation[]> => {
      hasChanged = false;
      // Of what passes, it would keep every element.
      const looked = await axe.run({ runOnly, resultTypes: ['violations'] }).then(
        ({ violations }) =>
          () =>
            violations,
        (error: unknown) => () => {
          throw error;
        },
      );
      return hasChanged && left > 0 ? violations(left - 1) : looked();
    };
    const all = await violations(9).finally(() => observer.disconnect());
    return all.map(
      ({ id, help, nodes }) =>
        `${id}: ${help}\n${nodes.map((node) => `  ${node.html}\n  ${node.failureSummary}`).join('\n')}`,
    );
  }, rules);
  if (moves) await page.emulateMedia({ reducedMotion: 'no-preference' });
  expect(found, 'what axe found').toEqual([]);
}

/** Collects what the pages of a context complain about: errors, and violations of the policy. */
async function watch(context: BrowserContext, complaints: string[]): Promise<void> {
  context.on('weberror', (error) => complaints.push(`error: ${error.error().message}`));
  context.on('console', (message) => {
    // Chromium reports answers such as 401 itself; tests look at what the page makes of them.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      complaints.push(message.text());
  });
  await context.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) =>
      console.error(
        `policy: ${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`,
      ),
    );
  });
}

export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 390, height: 844 };
/** A desktop's window at 400 %. */
export const ENLARGED = { width: 320, height: 640 };

/** Makes the window another, and waits until what measures itself has. To load a screen once more would take longer. */
export async function resize(page: Page, size: { width: number; height: number }): Promise<void> {
  await page.setViewportSize(size);
  await expect.poll(() => page.evaluate(() => innerWidth)).toBe(size.width);
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

/** Waits until the graph is tidied. It is laid out by a worker: what is saved before would be another graph. */
export const tidied = (page: Page) =>
  expect(page.locator('[aria-live=polite]', { hasText: /^Tid/ }).first()).toBeAttached();

export const test = base.extend<PerTest, PerWorker>({
  database: ['sqlite', { option: true, scope: 'worker' }],
  server: [
    async ({ database }, use) => {
      const postgres = database === 'postgres' ? await Postgres.start() : undefined;
      try {
        const server = await Server.start(undefined, postgres && onPostgres(postgres.url));
        await use(server);
        await server.stop();
      } finally {
        postgres?.stop();
      }
    },
    { scope: 'worker' },
  ],
  baseURL: async ({ server }, use) => use(server.url),
  /** Told of every page of the context, and of those that tests open beside it by `watched`. */
  complaints: async ({}, use) => {
    const complaints: string[] = [];
    await use(complaints);
    expect(complaints, 'errors in a page').toEqual([]);
  },
  watched: async ({ complaints }, use) => {
    await use((context) => watch(context, complaints));
  },
  context: async ({ context, watched }, use) => {
    await watched(context);
    await use(context);
    // Requests that a test holds up or refuses may be under way when it ends. A page that has crashed has none.
    await context.unrouteAll({ behavior: 'ignoreErrors' }).catch((error: Error) => {
      if (!error.message.includes('Target crashed')) throw error;
    });
  },
  page: async ({ page }, use, info) => {
    await use(page);
    // However a test ends, what is on the screen then is accessible; a test that has failed says what failed.
    const isThere = !page.isClosed() && page.url().startsWith('http');
    if (isThere && info.status === info.expectedStatus) await accessible(page);
  },
  account: async ({ context }, use) => {
    const email = `e2e-${crypto.randomUUID()}@example.com`;
    const password = 'correct-horse';
    // By a request of the context, which keeps the cookie: a page would first have to be loaded. `session.test.ts` fills in the form.
    const reply = await context.request.post('/api/session/register', {
      headers: OWN_PAGE,
      data: { email, password, firstName: 'Ann', lastName: 'Lee' },
    });
    if (!reply.ok()) throw new Error(await reply.text());
    const { data } = (await reply.json()) as { data: { workspaceId: string } };
    const workspace = data.workspaceId;
    await use({ email, password, workspace });
  },
});
