import type { Page } from '@playwright/test';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { start, violations, type Pages } from './browser';
import type { Answer } from './screens/answers';

let pages: Pages;
beforeAll(async () => {
  pages = await start();
});
afterAll(() => pages?.close());

const OFFLINE = 'The server can’t be reached. Try again in a moment.';
const REFUSED: Answer = {
  status: 409,
  body: { error: { code: 'CONFLICT', message: 'Somebody has to own it' } },
};

/** Runs a test on a screen; a query, such as `screen=run&role=viewer`, says which. */
async function on(query: string, act: (page: Page) => Promise<void>): Promise<void> {
  const { page, complaints } = await pages.open(`screens/index.html?${query}`, { width: 1200, height: 800 });
  await act(page);
  // The browser reports by itself what it could not load; tests look at what the page makes of it.
  expect(complaints.filter((each) => !each.startsWith('Failed to load resource'))).toEqual([]);
  await page.close();
}

/** From now on, the server answers so. */
const answers = (page: Page, set: Record<string, Answer>) =>
  page.evaluate((set) => Object.assign((globalThis as unknown as { answers: object }).answers, set), set);
const timesAsked = (page: Page, wanted: string) =>
  page.evaluate(
    (wanted) => (globalThis as unknown as { asked: string[] }).asked.filter((it) => it === wanted).length,
    wanted,
  );
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

test('a role that was refused is not shown as given', async () => {
  await on('screen=members', async (page) => {
    const role = page.getByRole('combobox', { name: 'Role of Ben@example.com' });
    await role.waitFor();
    await answers(page, { 'PATCH /api/workspaces/w1/members/Ben': REFUSED });
    await role.selectOption('owner');
    await page.getByText('Somebody has to own it.').waitFor();
    await expect.poll(() => role.inputValue()).toBe('viewer');
    expect(await violations(page)).toEqual([]);
  });
});

test('a value that can’t be fetched says why', async () => {
  await on('screen=kept', async (page) => {
    await answers(page, { 'GET /api/workspaces/w1/key-values/count': 'unreachable' });
    await page.getByRole('row').filter({ hasText: 'count' }).press('Enter');
    await page.getByRole('region', { name: 'Messages' }).getByText(OFFLINE).waitFor();
  });
});

test('a viewer is told why a value can’t be saved, and what patterns are', async () => {
  await on('screen=kept&role=viewer', async (page) => {
    await answers(page, {
      'GET /api/workspaces/w1/key-values/count': {
        status: 200,
        body: { data: { value: 1, hasSecret: false } },
      },
    });
    await page.getByRole('row').filter({ hasText: 'count' }).press('Enter');
    await page.getByText('Viewers can read values, but not change them.').waitFor();
    expect(await button(page, 'Save value').isDisabled()).toBe(true);
    expect(await violations(page)).toEqual([]);
  });
  await on('screen=patterns&role=viewer', async (page) => {
    await page.getByRole('row').filter({ hasText: 'Orders' }).waitFor();
    await answers(page, { 'GET /api/patterns': { status: 200, body: { data: [], meta: { total: 0 } } } });
    await page.getByRole('combobox', { name: 'Sort by' }).selectOption('name');
    await page.getByText('No patterns yet').waitFor();
    expect(await page.getByRole('button', { name: /New pattern|Import/ }).count()).toBe(0);
  });
});

test('an environment that is gone is told once', async () => {
  await on('screen=environment&gone=1', async (page) => {
    await page.getByRole('heading', { name: 'There is nothing here' }).waitFor();
    await expect.poll(() => timesAsked(page, 'GET /api/workspaces/w1/environments/e1/variables')).toBe(1);
    expect(await page.getByRole('heading', { name: 'There is nothing here' }).count()).toBe(1);
    expect(await violations(page)).toEqual([]);
  });
});

test('variables are added and removed by keyboard, and none is lost to another of its name', async () => {
  await on('screen=environment', async (page) => {
    await button(page, 'Add variable').press('Enter');
    await page.keyboard.type('LIMIT');
    await page.getByText('There are two variables LIMIT').waitFor();
    expect(await button(page, 'Save variables').isDisabled()).toBe(true);
    await page.keyboard.press('Control+a');
    await page.keyboard.type('REGION');
    expect(await button(page, 'Save variables').isEnabled()).toBe(true);
    await button(page, 'Remove REGION').press('Enter');
    await page.keyboard.type('X');
    expect(await page.getByRole('textbox', { name: 'Name', exact: true }).inputValue()).toMatch(/X/);
    await button(page, 'Remove LIMITX').or(button(page, 'Remove XLIMIT')).press('Enter');
    expect(await page.evaluate(() => document.activeElement?.textContent?.trim())).toBe('Add variable');
  });
});

test('a list is asked for although the browser thinks that it is offline: the server may be on this machine', async () => {
  await on('screen=patterns', async (page) => {
    await page.getByRole('row').filter({ hasText: 'Orders' }).waitFor();
    await page.context().setOffline(true);
    await page.getByRole('searchbox').fill('alerts');
    await page.getByRole('row').filter({ hasText: 'Alerts' }).waitFor();
  });
});

test('a run is replayed once, however often that is pressed, and its graph is asked for again', async () => {
  await on('screen=run', async (page) => {
    await page.getByText('The graph of this run could not be loaded.').waitFor();
    const version = 'GET /api/patterns/p1/versions/1';
    const before = await timesAsked(page, version);
    await button(page, 'Try again').click();
    await expect.poll(() => timesAsked(page, version)).toBeGreaterThan(before);
    await button(page, 'Replay').dblclick();
    await page.getByText('Replayed as a new run, with the same event.').waitFor();
    expect(await timesAsked(page, 'POST /api/deployments/d1/runs/r1/replay')).toBe(1);
  });
});

test('the palette says that patterns could not be searched, and stays at what was gone to', async () => {
  await on('screen=palette', async (page) => {
    await button(page, 'Search').click();
    const chosen = page.getByRole('option', { selected: true });
    await page.getByRole('option', { name: /Orders/ }).waitFor();
    await page.keyboard.press('ArrowDown');
    const name = await chosen.textContent();
    await page.keyboard.press('ArrowUp');
    expect(await chosen.textContent()).not.toBe(name);
    await answers(page, { 'GET /api/patterns?search=zzz': 'unreachable' });
    await page.keyboard.type('zzz');
    await page.getByText(`Patterns could not be searched. ${OFFLINE}`).waitFor();
    expect(await page.getByText('Nothing found').count()).toBe(0);
    expect(await violations(page)).toEqual([]);
  });
});

test('deployments go on behind the first hundred, and are told apart by the server', async () => {
  await on('screen=deployments', async (page) => {
    await page.getByRole('row').filter({ hasText: 'Flow 0' }).focus();
    await page.keyboard.press('End');
    await page.getByRole('row').filter({ hasText: 'Invoices' }).waitFor();
    expect(await page.getByRole('table').getAttribute('aria-rowcount')).toBe('103');
    expect(await violations(page)).toEqual([]);
  });
  await on('screen=deployments&at=deployments%3Fstatus%3Dfailed', async (page) => {
    await page.getByRole('row').filter({ hasText: 'Returns' }).waitFor();
    expect(await page.getByRole('row').count()).toBe(2);
    await page.getByRole('link', { name: /^All\s*102$/ }).waitFor();
    await page.getByRole('link', { name: /^Failed\s*1$/ }).waitFor();
  });
});

test('requests go on behind the first hundred', async () => {
  await on('screen=log', async (page) => {
    await page.getByRole('row').filter({ hasText: '200' }).first().focus();
    await page.keyboard.press('End');
    await page.getByRole('row').filter({ hasText: '192.0.2.1' }).waitFor();
  });
});

test('values kept by any pattern can be chosen, however many are deployed', async () => {
  await on('screen=kept', async (page) => {
    const choice = page.getByRole('combobox', { name: 'Whose' });
    await expect.poll(() => choice.locator('option').count()).toBeGreaterThan(100);
    await choice.selectOption({ label: 'Only of Invoices' });
  });
});
