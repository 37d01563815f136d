import { call, deployOrders } from './api';
import { accessible, expect, test } from './fixtures';

test('a graph is drawn, tested, saved and deployed', async ({ page, account }) => {
  await page.goto(`/w/${account.workspace}/patterns`);
  await page.getByRole('button', { name: 'New pattern' }).first().click();
  await page.getByRole('dialog').getByLabel('Name').fill('Greeting');
  await page.getByRole('button', { name: 'Create pattern' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Greeting' })).toBeVisible();
  await accessible(page);

  // By keyboard: the palette, then what people call it.
  await page.keyboard.press('n');
  await page.keyboard.type('manual');
  await page.keyboard.press('Enter');
  await page.keyboard.press('n');
  await page.keyboard.type('return');
  await page.keyboard.press('Enter');
  await expect(page.getByText('Draft on the server')).toBeVisible();

  await page.getByRole('button', { name: 'Test', exact: true }).first().click();
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await expect(page.getByText('Completed').first()).toBeVisible();
  await accessible(page);

  await page.keyboard.press('Control+s');
  await expect(page.getByText('Saved as 2')).toBeVisible();
  await page.getByRole('button', { name: 'Deploy', exact: true }).click();
  await accessible(page);
  await page.getByRole('dialog').getByRole('button', { name: 'Deploy' }).click();
  await expect(page.getByText('Version 2 is deployed.')).toBeVisible();
});

test('a draft survives a reload, and what others saved is joined with it', async ({ page, account }) => {
  await page.goto(`/w/${account.workspace}`);
  const { pattern } = await deployOrders(page);
  const path = `/w/${account.workspace}/patterns/${pattern}`;
  await page.goto(path);
  await expect(page.getByText('Saved as 1')).toBeVisible();
  await page.keyboard.press('Shift+N');
  await expect(page.getByText('Draft on the server')).toBeVisible();
  await page.reload();
  await expect(page.getByText('Draft on the server')).toBeVisible();

  // Somebody else saves another version meanwhile.
  const { graphData } = await call<{ graphData: { nodes: { id: string; data: object }[] } }>(
    page,
    'GET',
    `/api/patterns/${pattern}`,
  );
  const [first] = graphData.nodes;
  if (first) first.data = { ...first.data, label: 'Renamed by others' };
  await call(page, 'PUT', `/api/patterns/${pattern}`, { graphData, versionNumber: 1 });
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await expect(page.getByText(/Saved as 3|Saved as version 3/).first()).toBeVisible();
  const saved = await call<{ graphData: { nodes: { data: { label?: string } }[]; notes?: unknown[] } }>(
    page,
    'GET',
    `/api/patterns/${pattern}`,
  );
  expect(saved.graphData.nodes[0]?.data.label).toBe('Renamed by others');
  expect(saved.graphData.notes).toHaveLength(1);
});

test('a tab that crashes takes nothing with it that was drawn', async ({ page, account, context }) => {
  await page.goto(`/w/${account.workspace}`);
  const { pattern } = await deployOrders(page);
  // No draft reaches the server: what is left is what the browser has.
  await context.route('**/draft', (route) =>
    route.request().method() === 'PUT' ? route.abort() : route.continue(),
  );
  const path = `/w/${account.workspace}/patterns/${pattern}`;
  const lost = await context.newPage();
  await lost.goto(path);
  await expect(lost.getByText('Saved as 1')).toBeVisible();
  await lost.keyboard.press('Shift+N');
  await expect(lost.getByText('Only in this browser')).toBeVisible();
  const crashed = lost.waitForEvent('crash');
  void lost.goto('chrome://crash').catch(() => {});
  await crashed;

  await page.goto(path);
  await page.getByRole('button', { name: 'Recover' }).click();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await expect(page.getByText(/Saved as (version )?2/).first()).toBeVisible();
  const saved = await call<{ graphData: { notes?: unknown[] } }>(page, 'GET', `/api/patterns/${pattern}`);
  expect(saved.graphData.notes).toHaveLength(1);
});
