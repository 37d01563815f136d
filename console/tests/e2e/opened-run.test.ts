import { call, deployOrders, ORDER, send } from './api';
import { accessible, expect, test } from './fixtures';

test('the data of an opened run fills fields and previews until something else is chosen', async ({
  page,
  account,
}) => {
  const deployed = await deployOrders(page);
  await send(deployed, ORDER);
  await page.goto(`/w/${account.workspace}/runs`);
  await page.getByRole('row').nth(1).getByRole('link').first().click();
  await page.getByRole('link', { name: 'Open in the editor' }).click();
  const source = page.getByRole('button', { name: /^Data from the run of \d\d:\d\d, version 1/ });
  await expect(source).toBeVisible();
  await accessible(page);

  // The run recorded no steps: they are replayed, and what left a node is that of the run.
  await page.getByRole('application').focus();
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowRight');
  await page.getByRole('button', { name: 'Data', exact: true }).click();
  const data = page.getByRole('region', { name: /^Data of/ });
  await expect(data.getByText(/^the run of \d\d:\d\d$/).first()).toBeVisible();
  await expect(data).toContainText('DESK-140');

  // The next test counts again, and the run can be gone back to.
  await page.getByRole('button', { name: 'Test', exact: true }).last().click();
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await expect(page.getByRole('button', { name: 'Data from the last test' })).toBeVisible();
  await page.getByRole('button', { name: 'Data from the last test' }).click();
  await page.getByRole('menuitem', { name: /^The run of/ }).click();
  await page.getByRole('button', { name: 'Data', exact: true }).click();
  await expect(data.getByText(/^the run of \d\d:\d\d$/).first()).toBeVisible();

  await source.click();
  await page.getByRole('menuitem', { name: 'Examples' }).click();
  await expect(page.getByRole('button', { name: 'Data from examples' })).toBeVisible();
  await expect(data.getByText(/^the example of/).first()).toBeVisible();
  await expect(data).not.toContainText('DESK-140');
});

test('a pattern that has run fills fields with the data of its newest run, without a click', async ({
  page,
  account,
}) => {
  const deployed = await deployOrders(page, 'Order routing', true);
  await send(deployed, ORDER);
  // Its answer is sent before it has ended.
  const runs = () => call<{ data: { status: string }[] }>(page, 'GET', '/api/runs');
  await expect.poll(async () => (await runs()).data.map(({ status }) => status)).toEqual(['success']);
  await page.goto(`/w/${account.workspace}/patterns/${deployed.pattern}`);
  await expect(
    page.getByRole('button', { name: /^Data from the run of \d\d:\d\d, version 1/ }),
  ).toBeVisible();
  await page.locator('.card', { hasText: 'The order' }).click();
  await page.getByRole('button', { name: 'Data', exact: true }).click();
  const data = page.getByRole('region', { name: /^Data of/ });
  await expect(data.getByText(/^the run of \d\d:\d\d$/).first()).toBeVisible();
  await expect(data).toContainText('DESK-140');
});

test('all of a run is pinned at once, and unpinned', async ({ page, account }) => {
  const node = (id: string, type: string, x: number, label: string, parameters: object = {}) => ({
    id,
    type,
    position: { x, y: 0 },
    data: { label, parameters },
  });
  const ids = ['start', 'draw', 'again', 'end'];
  const { id } = await call<{ id: string }>(page, 'POST', '/api/patterns/import', {
    name: 'Drawn',
    graphData: {
      nodes: [
        node('start', 'OnManual', 0, 'Start'),
        node('draw', 'Uuid', 280, 'Draw'),
        node('again', 'Uuid', 560, 'Again'),
        node('end', 'Return', 840, 'End', { value: '{{ [$("Draw"), $("Again")] }}' }),
      ],
      edges: ids.slice(1).map((target, at) => ({ source: ids[at], target })),
    },
  });
  await page.goto(`/w/${account.workspace}/patterns/${id}`);
  await page.getByRole('button', { name: 'Test', exact: true }).first().click();
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await expect(page.getByText('Succeeded').first()).toBeVisible();
  await page.getByRole('button', { name: 'Pin all of this run' }).click();
  const pins = page.locator('.card .badge.pin');
  await expect(pins).toHaveCount(2);
  await expect(page.getByText('2 pinned: they don’t execute')).toBeVisible();
  await page.getByRole('button', { name: 'Outline' }).click();
  await expect(page.getByRole('treeitem', { name: /^Draw; .*pinned/ })).toBeVisible();
  await accessible(page);

  await page.getByRole('button', { name: 'Remove all pins' }).click();
  await expect(pins).toHaveCount(0);
  // A selection by its key, and again to unpin it.
  await page.getByRole('application').focus();
  await page.keyboard.press('Control+a');
  await page.keyboard.press('p');
  await expect(pins).toHaveCount(2);
  await page.keyboard.press('p');
  await expect(pins).toHaveCount(0);
});
