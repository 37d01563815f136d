import type { Page } from '@playwright/test';
import { call, deployOrders, ORDER, send } from './api';
import { accessible, expect, test } from './fixtures';

const LISTS = [
  '',
  'patterns',
  'runs',
  'deployments',
  'approvals',
  'connections',
  'environments',
  'members',
  'keys',
  'settings',
  'audit',
  'profile',
];

for (const scheme of ['light', 'dark'] as const) {
  test(`every screen is accessible, empty and filled, in ${scheme}`, async ({ page, account }) => {
    test.setTimeout(180_000);
    await page.emulateMedia({ colorScheme: scheme });
    const at = async (path: string) => {
      await page.goto(`/w/${account.workspace}/${path}`);
      await expect(page.locator('main h1')).toBeVisible();
      await page.waitForLoadState('networkidle');
      await accessible(page);
    };
    for (const path of LISTS) await at(path);

    const orders = await deployOrders(page);
    await send(orders, ORDER);
    await send(orders, { order: null });
    for (const path of ['', 'patterns', 'runs', 'deployments', `patterns/${orders.pattern}/versions`])
      await at(path);
    for (const tab of ['', '?tab=runs', '?tab=events', '?tab=log'])
      await at(`deployments/${orders.deployment}${tab}`);
    const { data } = await page.evaluate(
      async (id) =>
        (await (await fetch(`/api/workspaces/${id}/environments`)).json()) as { data: { id: string }[] },
      account.workspace,
    );
    await at(`environments/${data[0]?.id}`);
  });
}

/** What is smaller than 24 pixels, but for links within text and what is a part of something larger to press. */
const tooSmall = (page: Page) =>
  page.evaluate(() => {
    const controls =
      'a, button, input, select, textarea, summary, [role=tab], [role=option], [role=treeitem]';
    return [...document.querySelectorAll<HTMLElement>(controls)]
      .filter((each) => each.checkVisibility({ checkVisibilityCSS: true }))
      .filter((each) => !each.closest('.visually-hidden, .svelte-flow') && !each.matches('p a, td a'))
      .filter((each) => {
        const largest = [each, ...((each as HTMLInputElement).labels ?? [])].map((it) =>
          it.getBoundingClientRect(),
        );
        // The link of a row is all of the row, by what is drawn behind it.
        const behind = getComputedStyle(each, '::after');
        return (
          !(behind.position === 'absolute' && behind.content !== 'none') &&
          !largest.some(({ height, width }) => height >= 24 && width >= 24) &&
          largest.some(({ width }) => width > 1)
        );
      })
      .map((each) => each.outerHTML.slice(0, 120));
  });

test('at 400 % nothing is lost: no page is wider than 320 pixels, and all can be pressed', async ({
  page,
  account,
}) => {
  test.setTimeout(180_000);
  await page.setViewportSize({ width: 320, height: 640 });
  await page.goto(`/w/${account.workspace}`);
  const orders = await deployOrders(page, 'Orders of all countries, and what becomes of them', true);
  await send(orders, ORDER);
  await send(orders, { order: null });
  const { data } = await call<{ data: { id: string }[] }>(page, 'GET', '/api/runs');
  const pattern = `patterns/${orders.pattern}`;
  const deployment = `deployments/${orders.deployment}`;
  const tabs = ['', '?tab=runs', '?tab=events', '?tab=log'].map((tab) => deployment + tab);
  const runs = data.map(({ id }) => `${deployment}/runs/${id}`);
  const found: unknown[] = [];
  for (const path of [...LISTS, pattern, `${pattern}/versions`, `${pattern}/tests`, ...tabs, ...runs]) {
    await page.goto(`/w/${account.workspace}/${path}`);
    await expect(page.locator('main h1')).toBeVisible();
    await page.waitForLoadState('networkidle');
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    const small = await tooSmall(page);
    if (wide > 320 || small.length > 0) found.push({ path, wide, small });
  }
  expect(found).toEqual([]);
});

test('everything can be gone to by keyboard', async ({ page, account }) => {
  await page.goto(`/w/${account.workspace}`);
  await expect(page.getByRole('heading', { level: 1, name: 'Home' })).toBeVisible();
  await page.keyboard.press('g');
  await page.keyboard.press('e');
  await expect(page.getByRole('heading', { level: 1, name: 'Environments' })).toBeVisible();

  await page.keyboard.press('Control+k');
  await page.keyboard.type('api ke');
  await accessible(page);
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { level: 1, name: 'API keys' })).toBeVisible();

  await page.keyboard.press('Control+k');
  await page.keyboard.press('Escape');
  await expect(page.getByRole('dialog')).toBeHidden();
});

test('on a phone, the navigation opens and closes, and lists stay readable', async ({ page, account }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`/w/${account.workspace}/patterns`);
  await page.getByRole('button', { name: 'Menu' }).click();
  await accessible(page);
  await page.getByRole('link', { name: 'Deployments' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Deployments' })).toBeVisible();
  await expect(page.getByRole('link', { name: 'Patterns', exact: true })).toBeHidden();
  const isWide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
  expect(isWide).toBe(false);
});

test('filters of runs are saved as a view, which survives a reload, and removed', async ({
  page,
  account,
}) => {
  await page.goto(`/w/${account.workspace}/runs`);
  const status = page.getByRole('combobox', { name: 'Status' });
  await status.selectOption('failure');
  await page.getByRole('searchbox', { name: 'Search runs' }).fill('stock');
  await expect(page).toHaveURL(/q=stock/);
  await page.getByRole('button', { name: 'Views' }).click();
  await page.getByRole('menuitem', { name: 'Save these filters…' }).click();
  await page.getByRole('dialog').getByLabel('Name').fill('Out of stock');
  await accessible(page);
  await page.keyboard.press('Enter');
  await expect(page.getByRole('button', { name: 'Out of stock' })).toBeVisible();
  await page.getByRole('button', { name: 'Show all runs' }).click();
  await expect(page).not.toHaveURL(/status=/);

  await page.reload();
  await page.getByRole('button', { name: 'Views' }).click();
  await page.getByRole('menuitem', { name: 'Out of stock' }).click();
  await expect(page).toHaveURL(/\?status=failure&q=stock$/);
  await expect(status).toHaveValue('failure');
  await expect(page.getByRole('searchbox', { name: 'Search runs' })).toHaveValue('stock');
  await page.getByRole('button', { name: 'Out of stock' }).click();
  await accessible(page);
  await page.getByRole('menuitem', { name: 'Remove “Out of stock”' }).click();
  await expect(page.getByRole('button', { name: 'Views' })).toBeVisible();
});
