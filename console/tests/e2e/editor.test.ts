import type { Page } from '@playwright/test';
import { call, deployOrders } from './api';
import { accessible, expect, test } from './fixtures';

test('a graph is drawn, tested, saved and deployed', async ({ page, account }) => {
  // Also answers such as 404, which the other tests leave aside.
  const reported: string[] = [];
  page.on('console', (message) => message.type() === 'error' && reported.push(message.text()));
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
  expect(reported, 'what a new pattern leaves in the console of the browser').toEqual([]);

  await page.getByRole('button', { name: 'Test', exact: true }).first().click();
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await expect(page.getByText('Succeeded').first()).toBeVisible();
  await accessible(page);

  await page.keyboard.press('Control+s');
  await expect(page.getByText('Saved as 2')).toBeVisible();

  // All commands, and by them the settings of its runs.
  await page.keyboard.press('Control+k');
  await expect(page.getByRole('option', { name: /^Zoom in/ })).toBeVisible();
  await page.keyboard.type('settings of');
  await page.keyboard.press('Enter');
  const settings = page.getByRole('dialog', { name: 'Settings of the pattern' });
  await settings.getByLabel('Time limit of a run').fill('90 s');
  await settings.getByLabel('Effects of a run').fill('0');
  await expect(settings.getByText('A whole number from 1 to 100000.')).toBeVisible();
  await settings.getByLabel('Effects of a run').fill('5000');
  await settings.getByLabel('Attempts').fill('0');
  await expect(settings.getByText('A whole number from 1 to 100.')).toBeVisible();
  await settings.getByLabel('Attempts').fill('3');
  await settings.getByLabel('First wait').fill('10 s');
  await accessible(page);
  await settings.getByRole('button', { name: 'Apply' }).click();
  await expect(page.getByText('Draft on the server')).toBeVisible();
  await page.keyboard.press('Control+s');
  await expect(page.getByText('Saved as 3')).toBeVisible();
  const id = new URL(page.url()).pathname.split('/').at(-1);
  const saved = await call<{ graphData: { settings: object } }>(page, 'GET', `/api/patterns/${id}`);
  expect(saved.graphData.settings).toEqual({
    timeoutMs: 90_000,
    maxEffects: 5_000,
    retry: { maxAttempts: 3, backoffMs: 10_000, factor: 1 },
  });

  await page.getByRole('button', { name: 'Deploy', exact: true }).click();
  await accessible(page);
  await page.getByRole('dialog').getByRole('button', { name: 'Deploy' }).click();
  await expect(page.getByText('Version 3 is deployed.')).toBeVisible();
});

test('a draft survives a reload, and what others saved is joined with it', async ({ page, account }) => {
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

async function crash(tab: Page): Promise<void> {
  const crashed = tab.waitForEvent('crash');
  void tab.goto('chrome://crash').catch(() => {});
  await crashed;
}

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
  await crash(lost);

  await page.goto(path);
  await page.getByRole('button', { name: 'Recover' }).click();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await expect(page.getByText(/Saved as (version )?2/).first()).toBeVisible();
  const saved = await call<{ graphData: { notes?: unknown[] } }>(page, 'GET', `/api/patterns/${pattern}`);
  expect(saved.graphData.notes).toHaveLength(1);
});

test('two tabs draw one draft, and what one of them takes out again is offered once the other has crashed', async ({
  page,
  account,
  context,
}) => {
  await page.goto(`/w/${account.workspace}`);
  const { pattern } = await deployOrders(page);
  const path = `/w/${account.workspace}/patterns/${pattern}`;
  const [lost, other] = [await context.newPage(), await context.newPage()];
  for (const tab of [lost, other]) {
    await tab.goto(path);
    await expect(tab.getByText('Saved as 1')).toBeVisible();
  }
  await lost.keyboard.press('Shift+N');
  await expect(lost.getByText('Draft on the server')).toBeVisible();
  // The other tab knows nothing of the note, until it stores a draft of its own.
  await other.bringToFront();
  await other.getByRole('application').focus();
  await other.keyboard.press('Control+a');
  await other.keyboard.press('Shift+ArrowRight');
  await expect(other.getByText('What you drew in another tab has been merged in.')).toBeVisible();
  await expect(other.getByText('Draft on the server')).toBeVisible();
  await expect(other.locator('.svelte-flow__node-note')).toHaveCount(1);
  await accessible(other);
  // It wants it not, and saves without it.
  await other.keyboard.press('Control+z');
  await expect(other.locator('.svelte-flow__node-note')).toHaveCount(0);
  await crash(lost);
  await other.keyboard.press('Control+s');
  await expect(other.getByText('Saved as 2')).toBeVisible();
  await other.close();

  await page.goto(path);
  await expect(page.getByText('Unsaved changes were left behind here')).toBeVisible();
  await page.getByRole('button', { name: 'Recover' }).click();
  await expect(page.getByText('Draft on the server')).toBeVisible();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await expect(page.getByText('Saved as 3')).toBeVisible();
  type Graph = { nodes: { position: { x: number } }[]; notes?: unknown[] };
  const [first, third] = await Promise.all(
    [1, 3].map((version) =>
      call<{ graphData: Graph }>(page, 'GET', `/api/patterns/${pattern}/versions/${version}`),
    ),
  );
  expect(third?.graphData.notes).toHaveLength(1);
  expect(third?.graphData.nodes[0]?.position.x).toBeGreaterThan(first?.graphData.nodes[0]?.position.x ?? 0);
  // What is saved is offered no longer.
  await page.reload();
  await expect(page.getByText('Saved as 3')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Recover' })).toBeHidden();
});
