import { fileURLToPath } from 'node:url';
import type { Page } from '@playwright/test';
import { call } from './api';
import { accessible, expect, test } from './fixtures';

const WASM = fileURLToPath(new URL('../../../examples/custom-node-rust/check-iban.wasm', import.meta.url));

interface Saved {
  graphData: { nodes: { id: string; type: string }[] };
  nodeDefinitions: Record<string, { kind: string; component?: string; hosts?: string[]; outputs?: object[] }>;
}

const node = (id: string, type: string, x: number, label: string, parameters: object = {}) => ({
  id,
  type,
  position: { x, y: 0 },
  data: { label, parameters },
});

/** A chain of three, of which the second reads the first. */
async function opened(page: Page, workspace: string): Promise<string> {
  const { id } = await call<{ id: string }>(page, 'POST', '/api/patterns/import', {
    name: 'Prices',
    graphData: {
      nodes: [
        node('start', 'OnManual', 0, 'Start'),
        node('net', 'Transform', 280, 'Net', { value: '{{ 100 }}' }),
        node('gross', 'Transform', 560, 'Gross', { value: '{{ $("Net") * 1.19 }}' }),
        node('end', 'Return', 840, 'End', { value: '{{ $input }}' }),
      ],
      edges: [
        { source: 'start', target: 'net' },
        { source: 'net', target: 'gross' },
        { source: 'gross', target: 'end' },
      ],
    },
  });
  await page.goto(`/w/${workspace}/patterns/${id}`);
  await expect(page.locator('.card').first()).toBeVisible();
  return id;
}

const card = (page: Page, name: string) => page.locator('.card .label').filter({ hasText: name });

async function completes(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Test', exact: true }).first().click();
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  // The first module with code of its own takes the engine along.
  await expect(page.getByText('Succeeded').first()).toBeVisible({ timeout: 60_000 });
}

test('nodes become a composite that does what they did, and it is named and undone', async ({
  page,
  account,
}) => {
  const pattern = await opened(page, account.workspace);
  await card(page, 'Gross').click();
  await page.keyboard.press('Control+g');
  await expect(page.getByText('“Gross” reads “Net”, which would be outside')).toBeVisible();
  await card(page, 'Net').click({ modifiers: ['Shift'] });
  await page.keyboard.press('Control+g');
  await expect(card(page, 'Gross')).toHaveCount(0);
  const name = page.getByLabel('Name of the type');
  await expect(name).toHaveValue('Composite');
  await name.fill('If');
  await expect(page.getByText('“If” is a node type that every pattern has.')).toBeVisible();
  await name.fill('GrossPrice');
  await name.press('Enter');
  await expect(name).toHaveValue('GrossPrice');
  await accessible(page);
  await completes(page);
  await page.getByRole('region', { name: 'Test run' }).getByRole('tab', { name: 'Output' }).click();
  await expect(page.getByText('119', { exact: true }).first()).toBeVisible();

  await page.keyboard.press('Control+s');
  await expect(page.getByText('Saved as 2')).toBeVisible();
  const saved = await call<Saved>(page, 'GET', `/api/patterns/${pattern}`);
  expect(Object.keys(saved.nodeDefinitions)).toEqual(['GrossPrice']);
  expect(saved.graphData.nodes.map(({ type }) => type)).toEqual(['OnManual', 'GrossPrice', 'Return']);

  await page.getByRole('application').focus();
  await page.keyboard.press('Control+z');
  await page.keyboard.press('Control+z');
  await expect(card(page, 'Gross')).toHaveCount(1);
});

test('types of JavaScript and of expressions are begun in the palette, and executed', async ({
  page,
  account,
}) => {
  await opened(page, account.workspace);
  await card(page, 'Net').click();
  await page.getByRole('button', { name: 'Add the next node' }).click();
  await page.keyboard.type('own javascript');
  await page.getByRole('option', { name: /^New JavaScript type/ }).click();
  await expect(page.getByLabel('Name of the type')).toHaveValue('Script');
  const code = page.getByRole('region', { name: 'Node type Script' }).locator('.cm-content').first();
  await code.fill('export default ({ input }) => input + 1;');
  await accessible(page);
  await page.getByRole('application').focus();
  await page.keyboard.press('n');
  await page.keyboard.type('formula');
  await page.getByRole('option', { name: /^New expression type/ }).click();
  await expect(page.getByLabel('Name of the type')).toHaveValue('Formula');
  await accessible(page);
  await completes(page);
});

test('a component is a node once its file is chosen, and says where it may go', async ({ page, account }) => {
  const pattern = await opened(page, account.workspace);
  await card(page, 'Net').click();
  await page.getByRole('button', { name: 'Add the next node' }).click();
  await page.keyboard.type('wasm');
  const wrong = page.waitForEvent('filechooser');
  await page.getByRole('option', { name: /^New component/ }).click();
  await (
    await wrong
  ).setFiles({
    name: 'none.wasm',
    mimeType: 'application/wasm',
    buffer: Buffer.from('no component'),
  });
  await expect(page.getByText('“none.wasm” is not a WebAssembly file.')).toBeVisible();

  await page.getByRole('button', { name: 'Add the next node' }).click();
  await page.keyboard.type('wasm');
  const chooser = page.waitForEvent('filechooser');
  await page.getByRole('option', { name: /^New component/ }).click();
  await (await chooser).setFiles(WASM);
  await expect(page.getByLabel('Name of the type')).toHaveValue('CheckIban');
  const type = page.getByRole('region', { name: 'Node type CheckIban' });
  await expect(type.getByText(/KiB|MiB/)).toBeVisible();
  await accessible(page);
  await page.keyboard.press('Control+s');
  await expect(page.getByText('Saved as 2')).toBeVisible();
  const saved = await call<Saved>(page, 'GET', `/api/patterns/${pattern}`);
  expect(saved.nodeDefinitions['CheckIban']?.kind).toBe('component');
  expect(saved.nodeDefinitions['CheckIban']?.component?.slice(0, 6)).toBe('AGFzbQ');
});
