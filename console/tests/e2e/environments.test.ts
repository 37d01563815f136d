import { call, deployOrders, ORDER, send } from './api';
import { accessible, expect, test } from './fixtures';

interface Node {
  id: string;
  data: { parameters: Record<string, unknown> };
}
interface Listed {
  data: { environmentName: string; versionNumber: number; status: string }[];
}

test('a pattern is deployed beside production, and promoted', async ({ page, account }) => {
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
  const addresses = sheet.getByRole('region', { name: 'Addresses' });
  await expect(addresses).toContainText('in staging');
  await expect(addresses).toContainText('gets an address and a secret of its own');
  await accessible(page);
  await sheet.getByRole('button', { name: 'Deploy', exact: true }).click();
  await expect(page.getByText('Version 2 is deployed.')).toBeVisible();
  await expect(sheet).toBeHidden();
  const places = async () =>
    (await call<Listed>(page, 'GET', `${path}/deployments`)).data.map(
      (each) => `${each.environmentName} ${each.versionNumber}`,
    );
  expect(await places()).toEqual(['production 1', 'staging 2']);

  await page.getByRole('button', { name: 'Deploy', exact: true }).click();
  await sheet.getByRole('combobox', { name: 'Environment' }).selectOption({ label: 'production' });
  await expect(addresses.locator('code')).toHaveText(orders.url);
  await sheet.getByRole('combobox', { name: 'Environment' }).selectOption({ label: 'staging' });
  await expect(addresses.locator('code')).toHaveText(/\/webhooks\//);
  await expect(addresses.locator('code')).not.toHaveText(orders.url);
  await sheet.getByRole('combobox', { name: 'Environment' }).selectOption({ label: 'production' });
  await sheet.getByRole('button', { name: 'Promote to production' }).click();
  await expect(page.getByText('Version 2 is deployed to production.')).toBeVisible();
  expect(await places()).toEqual(['production 2', 'staging 2']);
});

test('runs are listed by environment, with the environment of each', async ({ page, account }) => {
  const staging = await call<{ data: { id: string } }>(
    page,
    'POST',
    `/api/workspaces/${account.workspace}/environments`,
    { name: 'staging' },
  );
  const orders = await deployOrders(page);
  const beside = { nodeDefinitions: {}, environmentId: staging.data.id, move: false };
  await call(page, 'POST', `/api/patterns/${orders.pattern}/deploy`, beside);
  await send(orders, ORDER);

  await page.goto(`/w/${account.workspace}/runs`);
  await expect(page.getByRole('row').nth(1)).toContainText('production');
  await page.getByRole('combobox', { name: 'Environment' }).selectOption({ label: 'staging' });
  await expect(page.getByText('No run matches')).toBeVisible();
  await page.getByRole('button', { name: 'Show all runs' }).click();
  await expect(page.getByRole('row').nth(1)).toContainText('production');
});

test('an environment’s rule refuses a version, and confirming the differences deploys it', async ({
  page,
  account,
}) => {
  const orders = await deployOrders(page);
  // Two, so that what they come to stands in a list.
  await send(orders, ORDER);
  await send(orders, ORDER);
  await page.goto(`/w/${account.workspace}/runs`);
  await expect(page.getByRole('row').filter({ hasText: 'Succeeded' })).toHaveCount(2);

  const environments = `/api/workspaces/${account.workspace}/environments`;
  const [production] = (await call<{ data: { id: string }[] }>(page, 'GET', environments)).data;
  await page.goto(`/w/${account.workspace}/environments/${production?.id}`);
  await page.getByLabel('Tests must pass').check();
  await page.getByRole('button', { name: 'Save rules' }).click();
  await expect(page.getByText('Stored the rules.')).toBeVisible();
  await accessible(page);
  const rules = `${environments}/${production?.id}/rules`;
  expect(await call(page, 'GET', rules)).toMatchObject({
    data: { requireTests: true, requireReplay: false, requireApproval: false },
  });

  const path = `/api/patterns/${orders.pattern}`;
  const { graphData, versionNumber } = await call<{
    graphData: { nodes: Node[]; edges: unknown[] };
    versionNumber: number;
  }>(page, 'GET', path);
  const europe = graphData.nodes.find(({ id }) => id === 'europe');
  if (!europe) throw new Error('The example has no node for Europe.');
  europe.data.parameters = { fields: { 'route.warehouse': 'LGG', 'route.days': 4 } };
  await call(page, 'PUT', path, { versionNumber, nodeDefinitions: {}, graphData });

  // It is required only once the sheet is open: the server refuses, and the sheet says what to do.
  await page.goto(`/w/${account.workspace}/patterns/${orders.pattern}`);
  await page.getByRole('button', { name: 'Deploy', exact: true }).click();
  const sheet = page.getByRole('dialog');
  const deploy = sheet.getByRole('button', { name: 'Deploy', exact: true });
  await expect(deploy).toBeEnabled();
  await call(page, 'PUT', rules, { requireReplay: true });
  await deploy.click();
  await expect(sheet.getByRole('alert')).toContainText('recorded events are not treated as before');
  await expect(sheet.getByText('Confirm that the differences are wanted.')).toBeVisible();
  await expect(deploy).toBeDisabled();
  const events = sheet.getByRole('list', { name: 'Events that are not treated alike' });
  await events.getByText('different').first().click();
  await expect(events).toContainText('route.days: 3 → 4');
  await accessible(page);

  await sheet.getByLabel('These differences are wanted').check();
  await deploy.click();
  await expect(page.getByText('Version 2 is deployed.')).toBeVisible();
  await expect(sheet).toBeHidden();
});
