import { readFile } from 'node:fs/promises';
import type { Page } from '@playwright/test';
import { call, deployOrders } from './api';
import { accessible, DESKTOP, expect, PHONE, resize, test } from './fixtures';

interface Saved {
  graphData: { nodes: { data: { label?: string } }[]; notes?: unknown[] };
}

async function opened(page: Page, workspace: string): Promise<string> {
  const { pattern } = await deployOrders(page);
  await page.goto(`/w/${workspace}/patterns/${pattern}`);
  await expect(page.getByText('Saved as 1')).toBeVisible();
  // What the editor loads ahead is there: without a network, it would not come, and axe would fetch its styles against the policy.
  await page.waitForFunction(() => {
    const links = [...document.querySelectorAll<HTMLLinkElement>('link[rel=stylesheet]')];
    return links.some(({ href }) => href.includes('/TestPanel-')) && links.every(({ sheet }) => sheet);
  });
  return pattern;
}

test('a session that ends takes nothing along: after signing in, the work is there', async ({
  page,
  account,
  context,
}) => {
  const pattern = await opened(page, account.workspace);
  const { origin, pathname: path } = new URL(page.url());
  // Drawn while the server could not be reached: a page that is told of the end first has nothing to keep.
  await context.setOffline(true);
  await page.getByRole('application').focus();
  await page.keyboard.press('Shift+N');
  await expect(page.getByText('Only in this browser')).toBeVisible();
  // Signed out from elsewhere, by the same cookie.
  const ended = await page.request.delete('/api/session', { headers: { origin } });
  expect(ended.ok()).toBe(true);
  await context.setOffline(false);
  await expect(page.getByRole('heading', { name: 'Sign in to heddle' })).toBeVisible();
  await accessible(page);
  await page.getByLabel('Email').fill(account.email);
  await page.getByLabel('Password').fill(account.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page).toHaveURL(path);
  await page.getByRole('button', { name: 'Recover' }).click();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await expect(page.getByText('Saved as 2')).toBeVisible();
  const saved = await call<Saved>(page, 'GET', `/api/patterns/${pattern}`);
  expect(saved.graphData.notes).toHaveLength(1);
});

test('without a network one draws on, and the draft follows once it is back', async ({
  page,
  account,
  context,
}) => {
  await opened(page, account.workspace);
  await context.setOffline(true);
  await page.getByRole('application').focus();
  await page.keyboard.press('Shift+N');
  await expect(page.getByText('Only in this browser')).toBeVisible();
  await page.keyboard.press('Control+s');
  await expect(page.getByText('The server can’t be reached. Try again in a moment.')).toBeVisible();
  await context.setOffline(false);
  await expect(page.getByText('Draft on the server')).toBeVisible();
  await page.keyboard.press('Control+s');
  await expect(page.getByText('Saved as 2')).toBeVisible();
});

/** As if the text were in the clipboard: what a page may read of it only when somebody pastes. */
const paste = (page: Page, text: string) =>
  page.getByRole('application').evaluate((element, text) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData('text/plain', text);
    element.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
  }, text);

test('what is not part of a pattern changes nothing when pasted, and says so', async ({ page, account }) => {
  await opened(page, account.workspace);
  const garbage = [
    'hello',
    '{"nodes": 7}',
    '{"graphData": {"nodes": [null, 1, {"id": 3}], "edges": "x"}}',
    `{"nodes":${'['.repeat(20_000)}`,
    await readFile(new URL(import.meta.url), 'utf8'),
  ];
  for (const text of garbage) {
    await paste(page, text);
    await expect(
      page.getByText('The clipboard does not hold part of a pattern, so it can’t be pasted here.'),
    ).toBeVisible();
    await expect(page.getByText('Saved as 1')).toBeVisible();
  }
});

test("what is copied in n8n's editor is pasted as nodes of heddle, and undone in one step", async ({
  page,
  account,
}) => {
  await opened(page, account.workspace);
  const node = (name: string, type: string, x: number, parameters: object) => ({
    id: name,
    name,
    type: `n8n-nodes-base.${type}`,
    typeVersion: type === 'set' ? 3.4 : 1,
    position: [x, 0],
    parameters,
  });
  const greeting = { name: 'text', type: 'string', value: '=Hello {{ $json.name }}' };
  const copied = {
    nodes: [
      node('Start', 'manualTrigger', 0, {}),
      node('Greet them', 'set', 220, { assignments: { assignments: [greeting] } }),
      node('Tell the chat', 'slack', 440, { resource: 'message' }),
    ],
    connections: {
      Start: { main: [[{ node: 'Greet them', type: 'main', index: 0 }]] },
      'Greet them': { main: [[{ node: 'Tell the chat', type: 'main', index: 0 }]] },
    },
    pinData: {},
  };
  await paste(page, JSON.stringify(copied));
  await expect(page.getByText(/^3 nodes from n8n: .*1 to be replaced/)).toBeVisible();
  const pasted = page.getByRole('application').getByRole('group', { name: /^(Greet them|Tell the chat)/ });
  await expect(pasted).toHaveCount(2);
  await page.keyboard.press('Control+z');
  await expect(pasted).toHaveCount(0);
});

test('long names and names from right to left stay within their places', async ({ page, account }) => {
  const rtl = 'طلب جديد من المتجر الإلكتروني';
  const long = 'Ordersofallcountriesandwhatbecomesofthem'.repeat(5).slice(0, 200);
  const node = (id: string, type: string, x: number, label: string) => ({
    id,
    type,
    position: { x, y: 0 },
    data: { label },
  });
  const graphData = {
    nodes: [node('a', 'OnManual', 0, rtl), node('b', 'NoOp', 280, long), node('c', 'Return', 560, rtl)],
    edges: [
      { source: 'a', target: 'b' },
      { source: 'b', target: 'c' },
    ],
  };
  let sizes = [DESKTOP, PHONE];
  for (const name of [long, rtl]) {
    const { id } = await call<{ id: string }>(page, 'POST', '/api/patterns/import', { name, graphData });
    for (const path of ['patterns', `patterns/${id}`, `patterns/${id}/versions`, `patterns/${id}/tests`]) {
      await page.goto(`/w/${account.workspace}/${path}`);
      await expect(page.locator('main h1').first()).toBeAttached();
      await page.waitForLoadState('networkidle');
      for (const size of sizes) {
        await resize(page, size);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        expect(wide, `${path} at ${size.width}`).toBeLessThanOrEqual(size.width);
      }
      // To and fro: every other page is opened on a phone.
      sizes = sizes.toReversed();
    }
  }
  await page.setViewportSize(DESKTOP);
  await page.goto(`/w/${account.workspace}/patterns`);
  // Names of cards are cut, and not beyond them.
  await page.getByRole('link', { name: rtl }).click();
  const cards = page.locator('.card');
  await expect(cards).toHaveCount(3);
  const beyond = await cards.evaluateAll((all) =>
    all.filter((card) => {
      const label = card.querySelector('.label')?.getBoundingClientRect();
      return label && label.right > card.getBoundingClientRect().right + 1;
    }),
  );
  expect(beyond).toHaveLength(0);
});

test('with less motion nothing glides, and a slow network shows that something is on its way', async ({
  page,
  account,
}) => {
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await opened(page, account.workspace);
  const duration = await page.evaluate(() => getComputedStyle(document.body).getPropertyValue('--calm'));
  expect(parseFloat(duration)).toBe(0);
  let answer: () => void = () => {};
  const held = new Promise<void>((done) => (answer = done));
  await page.route('**/api/patterns?**', async (route) => {
    await held;
    await route.continue();
  });
  await page.goto(`/w/${account.workspace}/patterns`);
  await expect(page.getByRole('status').filter({ hasText: 'Loading' }).first()).toBeAttached();
  await accessible(page);
  answer();
  await expect(page.getByRole('row').nth(1)).toBeVisible();
});
