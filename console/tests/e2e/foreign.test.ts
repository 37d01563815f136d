import { expect, test } from './fixtures';

const node = (name: string, type: string, parameters: object, x: number) => ({
  name,
  type,
  typeVersion: 3.4,
  position: [x, 0],
  parameters,
});
const GREETING = {
  name: 'Greeting',
  nodes: [
    node('Start', 'n8n-nodes-base.manualTrigger', {}, 0),
    node(
      'Greet',
      'n8n-nodes-base.set',
      { assignments: { assignments: [{ name: 'text', type: 'string', value: '=Hello {{ $json.name }}' }] } },
      200,
    ),
  ],
  connections: { Start: { main: [[{ node: 'Greet', type: 'main', index: 0 }]] } },
};
const TELLING = {
  name: 'Telling',
  nodes: [
    node('Start', 'n8n-nodes-base.manualTrigger', {}, 0),
    node('Tell the team', 'n8n-nodes-base.matrix', { text: 'Hello' }, 200),
  ],
  connections: { Start: { main: [[{ node: 'Tell the team', type: 'main', index: 0 }]] } },
};

const FLOW = [
  { id: 'tab', type: 'tab', label: 'Doors' },
  { id: 'in', z: 'tab', type: 'inject', name: 'Start', x: 100, y: 100, wires: [['out']] },
  { id: 'out', z: 'tab', type: 'mqtt out', name: 'Open the door', x: 300, y: 100, wires: [] },
];

test('workflows of n8n are looked at node by node, and imported', async ({ page, account }) => {
  await page.goto(`/w/${account.workspace}/patterns`);
  const file = (name: string, value: object) => ({
    name,
    mimeType: 'application/json',
    buffer: Buffer.from(JSON.stringify(value)),
  });
  await page
    .locator('input[type=file]')
    .setInputFiles([file('one.json', GREETING), file('all.json', [TELLING])]);
  const report = page.getByRole('dialog', { name: 'Import 2 workflows of n8n' });
  await expect(report.getByText('4 nodes from n8n:')).toBeVisible();
  await report.getByText('Telling', { exact: true }).click();
  const stub = report.getByRole('region', { name: 'Tell the team' });
  await expect(stub.getByText('to be replaced', { exact: true })).toBeVisible();
  await expect(stub.getByText('n8n-nodes-base.matrix').first()).toBeVisible();

  await report.getByRole('button', { name: 'Import 2 patterns' }).click();
  await expect(page.getByRole('link', { name: 'Greeting' })).toBeVisible();
  await page.getByRole('link', { name: 'Telling' }).click();
  await expect(page.getByRole('application').getByText('Tell the team')).toBeVisible();
});

test('flows of Node-RED are looked at node by node, and imported', async ({ page, account }) => {
  await page.goto(`/w/${account.workspace}/patterns`);
  await page.locator('input[type=file]').setInputFiles({
    name: 'flows.json',
    mimeType: 'application/json',
    buffer: Buffer.from(JSON.stringify(FLOW)),
  });
  const report = page.getByRole('dialog', { name: 'Import “Doors” from Node-RED' });
  await expect(report.getByText('2 nodes from Node-RED: 1 as in Node-RED, 1 to be replaced')).toBeVisible();
  await expect(report.getByRole('region', { name: 'Open the door' })).toBeVisible();
  await report.getByRole('button', { name: 'Import', exact: true }).click();
  await expect(page.getByRole('application').getByText('Open the door')).toBeVisible();
});
