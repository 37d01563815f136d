import { deployOrders, ORDER, send } from './api';
import { accessible, expect, test } from './fixtures';

const LISTS = [
  '',
  'patterns',
  'runs',
  'deployments',
  'connections',
  'environments',
  'members',
  'keys',
  'settings',
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
