import { deployOrders, ORDER, send } from './api';
import { accessible, expect, test } from './fixtures';

test('a deployment shows its events as they come, is paused and resumed', async ({ page, account }) => {
  await page.goto(`/w/${account.workspace}`);
  const orders = await deployOrders(page);
  await page.goto(`/w/${account.workspace}/deployments/${orders.deployment}?tab=events`);
  await expect(page.getByText('No events yet')).toBeVisible();
  expect((await send(orders, ORDER)).ok).toBe(true);
  await expect(page.getByRole('button', { name: /A-1001/ })).toBeVisible();

  await page.getByRole('button', { name: 'Pause' }).click();
  await expect(page.getByRole('button', { name: 'Resume' })).toBeVisible();
  await page.getByRole('button', { name: 'Resume' }).click();
  await expect(page.getByRole('button', { name: 'Pause' })).toBeVisible();

  await page.getByRole('link', { name: 'Webhook log' }).click();
  await expect(page.getByRole('row').filter({ hasText: 'Accepted' })).toBeVisible();
  await send({ ...orders, secret: 'wrong' }, ORDER);
  await expect(page.getByRole('row').filter({ hasText: 'Wrong signature' })).toBeVisible({ timeout: 15_000 });
});

test('a secret is shown on demand, and replaced', async ({ page, account }) => {
  await page.goto(`/w/${account.workspace}`);
  const orders = await deployOrders(page);
  await page.goto(`/w/${account.workspace}/deployments/${orders.deployment}`);
  await expect(page.getByText(orders.url)).toBeVisible();
  await expect(page.getByText(orders.secret)).toBeHidden();
  await page.getByRole('button', { name: 'Show secret' }).click();
  await expect(page.getByText(orders.secret)).toBeVisible();
  const dialog = page.getByRole('dialog');
  await page.getByRole('button', { name: 'Replace the secret' }).click();
  await dialog.getByRole('button', { name: 'Replace' }).click();
  await expect(page.getByText(orders.secret)).toBeHidden();
  expect((await send(orders, ORDER)).status).toBe(401);
  // Some senders make it themselves.
  const secret = 'whsec_0123456789abcdef';
  await page.getByRole('button', { name: 'Replace the secret' }).click();
  await dialog.getByLabel('New secret').fill(secret);
  await accessible(page);
  await dialog.getByRole('button', { name: 'Replace' }).click();
  await expect(page.getByText(secret)).toBeVisible();
  expect((await send({ ...orders, secret }, ORDER)).ok).toBe(true);

  await page.getByRole('button', { name: 'How to send a signed request' }).click();
  await expect(page.getByText('curl', { exact: false }).first()).toBeVisible();
  await page.getByRole('tab', { name: 'Python' }).click();
  await expect(page.getByText('hmac', { exact: false }).first()).toBeVisible();
  await accessible(page);
});

test('failed runs are found, and retried by key', async ({ page, account }) => {
  await page.goto(`/w/${account.workspace}`);
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
