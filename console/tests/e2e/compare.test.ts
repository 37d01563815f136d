import type { Page } from '@playwright/test';
import { call, type Deployed, deployOrders } from './api';
import { accessible, expect, test } from './fixtures';

interface Node {
  id: string;
  position: { x: number; y: number };
  data: { label?: string; parameters: Record<string, unknown> };
}

/** Saves a second version: a node renamed, one moved, one changed, one added. */
async function changed(page: Page, orders: Deployed): Promise<{ changed: Node; renamed: Node }> {
  const { graphData, versionNumber } = await call<{
    graphData: { nodes: Node[]; edges: unknown[] };
    versionNumber: number;
  }>(page, 'GET', `/api/patterns/${orders.pattern}`);
  const nodes = structuredClone(graphData.nodes);
  const [first, second, third] = nodes;
  if (!first || !second || !third) throw new Error('The example is too small.');
  const renamed = { ...third, data: { ...third.data, label: 'Another name' } };
  const was = structuredClone(second);
  second.data = { ...second.data, parameters: { ...second.data.parameters, note: 'new' } };
  await call(page, 'PUT', `/api/patterns/${orders.pattern}`, {
    versionNumber,
    nodeDefinitions: {},
    graphData: {
      ...graphData,
      nodes: [
        { ...first, position: { x: first.position.x, y: first.position.y + 40 } },
        second,
        renamed,
        ...nodes.slice(3),
        {
          id: 'fresh',
          type: 'HttpRequest',
          position: { x: first.position.x, y: first.position.y + 300 },
          data: { label: 'Tell billing', parameters: { url: 'https://billing.example/v1', method: 'POST' } },
        },
      ],
      edges: [...graphData.edges, { source: first.id, target: 'fresh' }],
    },
  });
  return { changed: was, renamed: third };
}

test('two versions are compared on the canvas and in words', async ({ page, account }) => {
  const orders = await deployOrders(page);
  const was = await changed(page, orders);
  await page.goto(`/w/${account.workspace}/patterns/${orders.pattern}/versions`);
  await expect(page.getByRole('heading', { name: 'Version 2' })).toBeVisible();
  const words = page.getByRole('region', { name: 'What it does' });
  await expect(words.getByRole('button', { name: 'Added “Tell billing”' })).toBeVisible();
  await expect(words.getByText(`Changed “${was.changed.data.label}”`)).toBeVisible();
  await expect(words.getByRole('term').filter({ hasText: 'Note' })).toBeVisible();
  const names = page.getByRole('region', { name: 'Names only' });
  await expect(names.getByText(`“${was.renamed.data.label}” is now called “Another name”`)).toBeVisible();
  await expect(page.getByRole('region', { name: 'Layout only' }).getByText('Moved')).toBeVisible();
  // On the canvas by sign, not by colour alone.
  for (const sign of ['Added', 'Changed', 'Renamed', 'Moved'])
    await expect(page.locator('.card .sign').filter({ hasText: sign })).toHaveCount(1);
  await words.getByRole('button', { name: 'Added “Tell billing”' }).click();
  await expect(page.locator('.card.selected .label')).toHaveText('Tell billing');
  await accessible(page);

  await page.getByRole('tab', { name: 'Side by side' }).click();
  await expect(page.getByRole('application')).toHaveCount(2);
  const [before, after] = [page.getByRole('application').first(), page.getByRole('application').last()];
  // Only what is in sight is drawn.
  await words.getByRole('button', { name: 'Added “Tell billing”' }).click();
  await expect(before.locator('.card .sign').filter({ hasText: 'Added' })).toHaveCount(0);
  await expect(after.locator('.card .sign').filter({ hasText: 'Added' })).toHaveCount(1);
  // Both show the same part of the plane.
  await after.getByRole('button', { name: 'Zoom in' }).click();
  const zoom = (of: typeof before) => of.getByTitle('Zoom to 100 % (0)').innerText();
  await expect.poll(async () => (await zoom(before)) === (await zoom(after))).toBe(true);
  await accessible(page);

  await page.getByRole('combobox', { name: 'Compared with' }).selectOption('deployed');
  await expect(page.getByText('Version 1 (deployed) →')).toBeVisible();
});

test('the deploy sheet says what changes, and what the pattern may do', async ({ page, account }) => {
  const orders = await deployOrders(page);
  await changed(page, orders);
  await page.goto(`/w/${account.workspace}/patterns/${orders.pattern}`);
  await page.getByRole('button', { name: 'Deploy', exact: true }).click();
  const sheet = page.getByRole('dialog');
  await expect(sheet.getByText('Added “Tell billing”')).toBeVisible();
  await expect(sheet.getByText('New: requests to billing.example')).toBeVisible();
  await accessible(page);
  await sheet.getByRole('button', { name: 'Show on the canvas' }).click();
  await expect(sheet.locator('.card .sign').filter({ hasText: 'Added' })).toHaveCount(1);
  await accessible(page);
  await sheet.getByRole('button', { name: 'Deploy', exact: true }).click();
  await expect(page.getByText('Version 2 is deployed.')).toBeVisible();
});
