import { call, deployOrders } from './api';
import { accessible, expect, test } from './fixtures';

interface Listed {
  data: { environmentName: string; versionNumber: number; status: string }[];
}

test('a pattern is deployed beside production, and promoted', async ({ page, account }) => {
  await page.goto(`/w/${account.workspace}`);
  await call(page, 'POST', `/api/workspaces/${account.workspace}/environments`, { name: 'staging' });
  const orders = await deployOrders(page);
  const path = `/api/patterns/${orders.pattern}`;
  await call(page, 'PUT', path, { description: 'Another version' });

  await page.goto(`/w/${account.workspace}/patterns/${orders.pattern}`);
  await page.getByRole('button', { name: 'Deploy', exact: true }).click();
  const sheet = page.getByRole('dialog');
  await sheet.getByRole('combobox', { name: 'Environment' }).selectOption({ label: 'staging' });
  await expect(sheet.getByText('This pattern is deployed for the first time.')).toBeVisible();
  await expect(sheet.getByRole('button', { name: 'Promote to staging' })).toBeVisible();
  await accessible(page);
  await sheet.getByRole('button', { name: 'Deploy', exact: true }).click();
  await expect(page.getByText('Version 2 is deployed.')).toBeVisible();
  const places = async () =>
    (await call<Listed>(page, 'GET', `${path}/deployments`)).data.map(
      (each) => `${each.environmentName} ${each.versionNumber}`,
    );
  expect(await places()).toEqual(['production 1', 'staging 2']);

  await page.getByRole('button', { name: 'Deploy', exact: true }).click();
  await sheet.getByRole('combobox', { name: 'Environment' }).selectOption({ label: 'production' });
  await sheet.getByRole('button', { name: 'Promote to production' }).click();
  await expect(page.getByText('Version 2 is deployed to production.')).toBeVisible();
  expect(await places()).toEqual(['production 2', 'staging 2']);
});
