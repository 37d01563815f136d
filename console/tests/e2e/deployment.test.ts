import { call, deployOrders, ORDER, send } from './api';
import { accessible, expect, test } from './fixtures';

test('a deployment shows its events as they come, is paused and resumed', async ({ page, account }) => {
  const orders = await deployOrders(page);
  await page.goto(`/w/${account.workspace}/deployments/${orders.deployment}?tab=events`);
  await expect(page.getByText('No events yet')).toBeVisible();
  expect((await send(orders, ORDER)).ok).toBe(true);
  await expect(page.getByRole('button', { name: /A-1001/ })).toBeVisible();
  await page.getByRole('link', { name: 'Overview' }).click();
  await page.getByRole('button', { name: 'How to send a request' }).click();
  await expect(page.getByText('It sends the body of the last event.')).toBeVisible();
  await expect(page.getByRole('textbox', { name: 'How to send a request' })).toContainText(`"id":"A-1001"`);

  await page.getByRole('button', { name: 'Pause' }).click();
  await expect(page.getByRole('button', { name: 'Resume' })).toBeVisible();
  await page.getByRole('button', { name: 'Resume' }).click();
  await expect(page.getByRole('button', { name: 'Pause' })).toBeVisible();

  await page.getByRole('link', { name: 'Webhook log' }).click();
  await expect(page.getByRole('row').filter({ hasText: 'Accepted' })).toBeVisible();
  await send({ ...orders, secret: 'wrong' }, ORDER);
  await expect(page.getByRole('row').filter({ hasText: 'Wrong signature' })).toBeVisible();
});

test('a secret is shown on demand, and replaced', async ({ page, account }) => {
  const orders = await deployOrders(page);
  const timesRead = async (): Promise<number> => {
    const log = await call<{ data: { action: string }[] }>(page, 'GET', '/api/audit?limit=100');
    return log.data.filter(({ action }) => action === 'webhook.secret_read').length;
  };
  const before = await timesRead();
  await page.goto(`/w/${account.workspace}/deployments/${orders.deployment}`);
  await expect(page.getByText(orders.url)).toBeVisible();
  await expect(page.getByText(orders.secret)).toBeHidden();
  expect(await timesRead()).toBe(before);
  await page.getByRole('button', { name: 'Show secret' }).click();
  await expect(page.getByText(orders.secret)).toBeVisible();
  expect(await timesRead()).toBe(before + 1);
  await page.getByRole('button', { name: 'Make a new secret' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Make a new secret' }).click();
  await expect(page.getByText(orders.secret)).toBeHidden();
  expect((await send(orders, ORDER)).status).toBe(401);
  await page.getByRole('button', { name: 'Enter the sender’s secret' }).click();
  await page.getByRole('dialog').getByLabel('Secret').fill('a secret of the sender');
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await expect(page.getByRole('dialog')).toBeHidden();
  expect((await send({ ...orders, secret: 'a secret of the sender' }, ORDER)).ok).toBe(true);

  await page.getByRole('button', { name: 'How to send a request' }).click();
  await expect(page.getByText('curl', { exact: false }).first()).toBeVisible();
  await page.getByRole('tab', { name: 'Python' }).click();
  await expect(page.getByText('hmac', { exact: false }).first()).toBeVisible();
  await accessible(page);

  // In a dialog, the first Escape is the code's own: Tab leaves it then. The next one closes the dialog.
  await page.getByRole('button', { name: 'Run now' }).click();
  const event = page.getByRole('dialog').getByRole('textbox', { name: 'Event' });
  await event.click();
  await expect(event).toBeFocused();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Tab');
  await expect(event).not.toBeFocused();
  await page.keyboard.press('Escape');
  await expect(page.getByRole('dialog')).toBeHidden();
});

test('failed runs are found, and retried by key', async ({ page, account }) => {
  const orders = await deployOrders(page);
  await send(orders, ORDER);
  await send(orders, { order: null });
  await page.goto(`/w/${account.workspace}/runs`);
  await expect(page.getByRole('row').filter({ hasText: 'Failed' })).toHaveCount(1);
  await page.getByRole('combobox', { name: 'Status' }).selectOption('failure');
  await expect(page.getByRole('row').filter({ hasText: 'Succeeded' })).toHaveCount(0);
  await expect(page).toHaveURL(/status=failure/);
  await page.getByRole('row').filter({ hasText: 'Failed' }).focus();
  await page.keyboard.press('r');
  await expect(page.getByRole('row').filter({ hasText: 'Failed' })).toHaveCount(2);
});
