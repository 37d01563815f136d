import { call } from './api';
import { accessible, expect, test } from './fixtures';

const at = (x: number) => ({ x, y: 0 });
const node = (id: string, type: string, x: number, label: string, parameters: object = {}) => ({
  id,
  type,
  position: at(x),
  data: { label, parameters },
});
const line = (...ids: string[]) => ids.slice(1).map((target, place) => ({ source: ids[place], target }));

test('a failed test goes on from what was changed, and nothing before it happens again', async ({
  page,
  account,
}) => {
  const { id } = await call<{ id: string }>(page, 'POST', '/api/patterns/import', {
    name: 'To be mended',
    graphData: {
      nodes: [
        node('start', 'OnManual', 0, 'Start'),
        node('draw', 'Uuid', 280, 'Draw'),
        node('read', 'Transform', 560, 'Read', { value: '{{ $input.missing.code }}' }),
        node('end', 'Return', 840, 'End', { value: '{{ [$("Draw"), $("Read")] }}' }),
      ],
      edges: line('start', 'draw', 'read', 'end'),
    },
  });
  await page.goto(`/w/${account.workspace}/patterns/${id}`);
  await page.getByRole('button', { name: 'Test', exact: true }).first().click();
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await expect(page.getByText('Failed').first()).toBeVisible();
  const continues = page.getByRole('button', { name: 'Continue from Read' });
  await expect(continues).toBeVisible();
  await accessible(page);
  const drawn = async () => {
    await page.getByRole('option', { name: /^Draw/ }).click();
    const execution = page.getByRole('region', { name: 'Execution of Draw' });
    return (await execution.getByRole('treeitem').first().textContent())?.trim();
  };
  const before = await drawn();

  await page.locator('.card .label', { hasText: 'Read' }).click();
  await page.getByRole('complementary', { name: 'Node' }).locator('.cm-content').first().fill('{{ 7 }}');
  await page.keyboard.press('Escape');
  await continues.click();
  await expect(page.getByText('Succeeded').first()).toBeVisible();
  // Chance had it once: the number that was drawn is the same.
  expect(await drawn()).toBe(before);
  expect(before).toMatch(/[0-9a-f]{8}-/);
});

test('a test is stepped node by node, and into a loop', async ({ page, account }) => {
  const { id } = await call<{ id: string }>(page, 'POST', '/api/patterns/import', {
    name: 'Stepped',
    graphData: {
      nodes: [
        node('start', 'OnManual', 0, 'Start'),
        node('each', 'ForEach', 280, 'Each', { items: [1, 2] }),
        node('inner', 'NoOp', 560, 'Inner'),
        node('end', 'Return', 840, 'End'),
      ],
      edges: [
        { source: 'start', target: 'each' },
        { source: 'each', sourceHandle: 'item', target: 'inner' },
        { source: 'inner', target: 'each', targetHandle: 'next' },
        { source: 'each', sourceHandle: 'done', target: 'end' },
      ],
    },
  });
  await page.goto(`/w/${account.workspace}/patterns/${id}`);
  await page.getByRole('button', { name: 'Test', exact: true }).first().click();
  const panel = page.getByRole('region', { name: 'Test run' });
  await panel.getByRole('button', { name: 'Step', exact: true }).click();
  await expect(panel.getByText('Paused before Each')).toBeVisible();
  await panel.getByRole('button', { name: 'Step in' }).click();
  await expect(panel.getByText('Paused before Inner')).toBeVisible();
  await accessible(page);
  // The rest of the loop is one step.
  await page.keyboard.press('F10');
  await expect(panel.getByText('Paused before End')).toBeVisible();
  await page.keyboard.press('F10');
  await expect(panel.getByText('Succeeded').first()).toBeVisible();
});

test('two who edit one pattern see each other, and what the other has saved', async ({
  page,
  account,
  browser,
  baseURL,
  watched,
}) => {
  const { id } = await call<{ id: string }>(page, 'POST', '/api/patterns', { name: 'Together' });
  await page.goto(`/w/${account.workspace}/patterns/${id}`);
  await expect(page.getByText('Saved as 1')).toBeVisible();
  const other = await browser.newContext({
    storageState: await page.context().storageState(),
    ...(baseURL && { baseURL }),
  });
  await watched(other);
  const second = await other.newPage();
  await second.goto(`/w/${account.workspace}/patterns/${id}`);
  await expect(second.getByText('Another tab')).toBeVisible();
  await second.keyboard.press('n');
  await second.keyboard.type('manual');
  await second.keyboard.press('Enter');
  await second.keyboard.press('Control+s');
  await expect(second.getByText('Saved as 2')).toBeVisible();
  await expect(page.getByText('saved version 2')).toBeVisible();
  await accessible(page);
  await page.getByRole('button', { name: 'Show it' }).click();
  await expect(page.locator('.card')).toHaveCount(1);
  await expect(page.getByText('Saved as 2')).toBeVisible();
  await other.close();
});
