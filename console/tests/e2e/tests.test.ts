import { call, deployOrders, ORDER, send } from './api';
import { accessible, expect, test } from './fixtures';

interface Listed {
  tests: { id: string }[];
}

test('a test is made of an event, accepted, watched over after saves, and asked before deploying', async ({
  page,
  account,
}) => {
  const orders = await deployOrders(page);
  const tests = `/w/${account.workspace}/patterns/${orders.pattern}/tests`;
  await page.goto(tests);
  await expect(page.getByText('No tests yet')).toBeVisible();
  await accessible(page);

  await page.goto(`/w/${account.workspace}/deployments/${orders.deployment}?tab=events`);
  await send(orders, ORDER);
  await page.getByRole('button', { name: /A-1001/ }).click();
  await page.getByRole('button', { name: 'Make a test' }).click();
  await page.getByRole('button', { name: 'Open', exact: true }).click();
  await expect(page.getByText('Not run yet').first()).toBeVisible();
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await expect(page.getByText('The test passes')).toBeVisible();

  // Somebody expects something else of it.
  const path = `/api/patterns/${orders.pattern}/tests`;
  const [made] = (await call<Listed>(page, 'GET', path)).tests;
  const expected = { output: { id: 'A-1001', status: 'on hold', items: 2, route: { days: 3 } } };
  await call(page, 'PUT', `${path}/${made?.id}`, { expect: expected });
  await page.goto(tests);
  await page.getByRole('button', { name: 'Run all' }).click();
  await expect(page.getByRole('heading', { name: 'What differs' })).toBeVisible();
  await accessible(page);
  await page.getByRole('button', { name: 'Accept output.status as expected' }).click();
  await expect(page.getByRole('button', { name: 'Accept output.status as expected' })).toHaveCount(0);
  await page.getByRole('button', { name: 'Ignore output.items', exact: true }).click();
  await expect(page.getByRole('list', { name: 'Ignored paths' })).toContainText('output.items');
  await page.getByRole('button', { name: 'Accept all as expected' }).click();
  await expect(page.getByText('The test passes')).toBeVisible();
  await accessible(page);

  // Expecting an error makes it fail from now on.
  await call(page, 'PUT', `${path}/${made?.id}`, { expect: { error: { code: 'THROWN' } } });
  await page.goto(`/w/${account.workspace}/patterns/${orders.pattern}`);
  await expect(page.getByRole('link', { name: '1 test' })).toBeVisible();
  await page.keyboard.press('Shift+N');
  await page.keyboard.press('Control+s');
  await expect(page.getByText('Saved as 2')).toBeVisible();
  await expect(page.getByRole('link', { name: '1 of 1 test does not pass' })).toBeVisible();

  await page.getByRole('button', { name: 'Deploy', exact: true }).click();
  const sheet = page.getByRole('dialog');
  await expect(sheet.getByRole('list', { name: 'Tests that do not pass' })).toContainText('error');
  await accessible(page);
  await expect(sheet.getByRole('button', { name: 'Deploy' })).toBeDisabled();
  await sheet.getByLabel('Deploy although tests don’t pass').check();
  await sheet.getByRole('button', { name: 'Deploy' }).click();
  await expect(page.getByText('Version 2 is deployed.')).toBeVisible();
});

test('a failed run becomes a test, and opens the editor where it failed', async ({ page, account }) => {
  const orders = await deployOrders(page);
  await send(orders, { order: null });
  await page.goto(`/w/${account.workspace}/runs`);
  await page.getByRole('row').filter({ hasText: 'Failed' }).click();
  await page.getByRole('button', { name: 'Make a test' }).click();
  await page.getByRole('button', { name: 'Open', exact: true }).click();
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await expect(page.getByText('The test passes')).toBeVisible();
  await page.goBack();

  await page.getByRole('link', { name: 'Fix' }).click();
  await expect(page.getByText(/^run of \d\d:\d\d$/)).toBeVisible();
  await expect(page.getByRole('button', { name: 'Run', exact: true })).toBeVisible();
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await expect(page.getByText('Failed').first()).toBeVisible();
});
