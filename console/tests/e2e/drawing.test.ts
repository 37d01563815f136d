import type { Page } from '@playwright/test';
import { call } from './api';
import { accessible, expect, test, tidied } from './fixtures';

interface Saved {
  graphData: {
    nodes: { id: string; type: string; data: { label?: string; parameters?: Record<string, unknown> } }[];
    edges: { source: string; target: string; sourceHandle?: string }[];
  };
}

const focusedNode = (page: Page) => page.locator('[role=application] > [role=img]');

async function pick(page: Page, text: string): Promise<void> {
  await page.keyboard.type(text);
  await expect(page.getByRole('option').first()).toBeVisible();
  await page.keyboard.press('Enter');
}

/** Adds a node after the one that is focused. */
async function add(page: Page, type: string, name: string): Promise<void> {
  await page.keyboard.press('n');
  await pick(page, type);
  await page.keyboard.press('F2');
  await page.keyboard.type(name);
  await page.keyboard.press('Enter');
  await expect(focusedNode(page)).toHaveAccessibleName(new RegExp(`^${name}`));
}

async function createPattern(page: Page, workspace: string, name: string): Promise<string> {
  await page.goto(`/w/${workspace}/patterns`);
  await page.getByRole('button', { name: 'New pattern' }).first().focus();
  await page.keyboard.press('Enter');
  await expect(page.getByRole('dialog').getByLabel('Name')).toBeFocused();
  await page.keyboard.type(name);
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { level: 1, name })).toBeVisible();
  return page.url().split('/').at(-1) ?? '';
}

test('order routing is drawn, tested and deployed by keyboard alone', async ({ page, account }) => {
  const pattern = await createPattern(page, account.workspace, 'Orders by keyboard');

  await add(page, 'webhook', 'Order received');
  await add(page, 'if', 'Large order?');
  // Enter goes to the parameters, Escape back to the canvas.
  await page.keyboard.press('Enter');
  await expect(page.getByRole('complementary', { name: 'Node' }).locator(':focus')).toBeVisible();
  await page.keyboard.type('{{ $input.body.total > 100');
  await page.keyboard.press('Escape');
  await expect(page.getByRole('application')).toBeFocused();

  await add(page, 'no operation', 'Freight');
  await add(page, 'merge', 'Routed');
  await add(page, 'respond', 'Answer');
  // The other branch: from the condition's second port to a node of its own.
  await page.keyboard.press('Control+f');
  await pick(page, 'Freight');
  await page.keyboard.press('Control+d');
  await page.keyboard.press('F2');
  await page.keyboard.type('Parcel');
  await page.keyboard.press('Enter');
  await page.keyboard.press('c');
  await pick(page, 'Routed');
  await page.keyboard.press('Control+f');
  await pick(page, 'Large order');
  await page.keyboard.press('c');
  await page.keyboard.type('Parcel');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Shift+T');
  await tidied(page);
  await accessible(page);

  await page.keyboard.press('Control+Enter');
  await expect(page.getByRole('region', { name: 'Test run' })).toBeFocused();
  await page.keyboard.press('Control+Enter');
  await expect(page.getByText('Succeeded').first()).toBeVisible();

  await page.keyboard.press('Control+s');
  await expect(page.getByText('Saved as 2')).toBeVisible();
  await page.getByRole('button', { name: 'Deploy', exact: true }).focus();
  await page.keyboard.press('Enter');
  await expect(page.getByRole('dialog').getByRole('button', { name: 'Deploy' })).toBeEnabled();
  await page.getByRole('dialog').getByRole('button', { name: 'Deploy' }).focus();
  await page.keyboard.press('Enter');
  await expect(page.getByText('Version 2 is deployed.')).toBeVisible();

  const { graphData } = await call<Saved>(page, 'GET', `/api/patterns/${pattern}`);
  const named = (id: string) => graphData.nodes.find((node) => node.id === id)?.data.label;
  const drawn = graphData.edges.map((edge) => `${named(edge.source)} → ${named(edge.target)}`).sort();
  expect(drawn).toEqual([
    'Freight → Routed',
    'Large order? → Freight',
    'Large order? → Parcel',
    'Order received → Large order?',
    'Parcel → Routed',
    'Routed → Answer',
  ]);
  const ports = graphData.edges.filter(({ source }) => named(source) === 'Large order?');
  // Without a name, an edge leaves by the first port.
  expect(ports.map(({ sourceHandle }) => sourceHandle ?? 'true').sort()).toEqual(['false', 'true']);
});

test('a branch is drawn by single clicks, without dragging', async ({ page, account }) => {
  const pattern = await createPattern(page, account.workspace, 'Orders by clicks');
  const next = page.getByRole('button', { name: 'Add the next node' });
  const option = (name: RegExp) => page.getByRole('option', { name }).first();
  await page.getByRole('button', { name: 'Add node' }).click();
  await option(/^On manual|^Manual/).click();
  await next.click();
  await option(/^If/).click();
  await next.click();
  await option(/^Set fields/).click();
  await next.click();
  await option(/^Return/).click();
  await page.getByRole('button', { name: 'Show everything' }).click();
  await page.locator('.card .label', { hasText: 'If' }).click();
  await page.getByRole('button', { name: 'Connect to…' }).click();
  await page
    .getByRole('option', { name: /^Return/ })
    .last()
    .click();
  await expect(page.getByText('Draft on the server')).toBeVisible();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await expect(page.getByText('Saved as 2')).toBeVisible();
  const { graphData } = await call<Saved>(page, 'GET', `/api/patterns/${pattern}`);
  expect(graphData.edges).toHaveLength(4);
  expect(graphData.edges.at(-1)).toMatchObject({ sourceHandle: 'false' });
});
