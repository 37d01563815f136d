import { accessible, expect, test } from './fixtures';

test('a pattern is created, found, cloned and deleted', async ({ page, account }) => {
  await page.goto(`/w/${account.workspace}/patterns`);
  await page.getByRole('button', { name: 'New pattern' }).first().click();
  await page.getByRole('dialog').getByLabel('Name').fill('Order alerts');
  await accessible(page);
  await page.getByRole('button', { name: 'Create pattern' }).click();
  await expect(page).toHaveURL(/\/patterns\/[0-9a-f-]+$/);

  await page.goto(`/w/${account.workspace}/patterns`);
  const row = page.getByRole('row').filter({ hasText: 'Order alerts' });
  await row.getByRole('button', { name: 'Actions for Order alerts' }).click();
  await accessible(page);
  await page.getByRole('menuitem', { name: 'Clone' }).click();
  await expect(page.getByText('Copy of Order alerts').first()).toBeVisible();

  await page.getByRole('searchbox').fill('copy');
  await expect(page.getByRole('row')).toHaveCount(2);
  await expect(page).toHaveURL(/q=copy/);
  await page.getByRole('button', { name: 'Actions for Copy of Order alerts' }).click();
  await page.getByRole('menuitem', { name: 'Delete…' }).click();
  await page.getByRole('button', { name: 'Delete pattern' }).click();
  await expect(page.getByText('No pattern matches')).toBeVisible();
});

test('secrets are written and never shown, variables keep their types', async ({ page, account }) => {
  await page.goto(`/w/${account.workspace}/environments`);
  await page.getByRole('row').filter({ hasText: 'production' }).click();
  await page.getByRole('button', { name: 'Add secret' }).click();
  await page.getByRole('dialog').getByLabel('Name').fill('API_TOKEN');
  await page.getByLabel('Value').fill('very-secret');
  await page.getByRole('button', { name: 'Store secret' }).click();
  await expect(page.getByRole('listitem').filter({ hasText: 'API_TOKEN' })).toBeVisible();
  expect(await page.content()).not.toContain('very-secret');

  await page.getByRole('button', { name: 'Add variable' }).click();
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('LIMIT');
  await page.getByRole('textbox', { name: 'Value of LIMIT' }).fill('500');
  await page.getByRole('button', { name: 'Save variables' }).click();
  await expect(page.getByText('Stored the variables')).toBeVisible();
  await page.reload();
  await expect(page.getByRole('textbox', { name: 'Value of LIMIT' })).toHaveValue('500');
  await accessible(page);
});

test('a connection and an API key are made and removed', async ({ page, account }) => {
  await page.goto(`/w/${account.workspace}/connections`);
  await page.getByRole('button', { name: 'New connection' }).first().click();
  await page.getByRole('dialog').getByLabel('Name').fill('Shop API');
  await page.getByLabel('Service').fill('shop');
  await page.getByRole('dialog').getByLabel('API key').fill('k-123');
  await page.getByRole('button', { name: 'Save connection' }).click();
  await expect(page.getByRole('row').filter({ hasText: 'Shop API' })).toBeVisible();
  await page.getByRole('button', { name: 'Actions for Shop API' }).click();
  await page.getByRole('menuitem', { name: 'Delete…' }).click();
  await page.getByRole('button', { name: 'Delete connection' }).click();
  await expect(page.getByText('No connections yet')).toBeVisible();

  await page.goto(`/w/${account.workspace}/keys`);
  await page.getByRole('button', { name: 'New key' }).first().click();
  await page.getByRole('dialog').getByLabel('Name').fill('CI');
  await page.getByRole('button', { name: 'Create key' }).click();
  await expect(page.getByRole('dialog').getByText(/^hdl_/)).toBeVisible();
  await accessible(page);
  await page.getByRole('button', { name: 'Done' }).click();
  await expect(page.getByRole('row').filter({ hasText: 'CI' })).toBeVisible();
});
