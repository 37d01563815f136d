import { call, deployOrders, ORDER, send } from './api';
import { accessible, expect, test } from './fixtures';

test('a node of a run shows what came, what left and how long it took', async ({ page, account }) => {
  const orders = await deployOrders(page, 'Order routing', true);
  await send(orders, ORDER);
  await page.goto(`/w/${account.workspace}/runs`);
  await page.getByRole('row').nth(1).getByRole('link').first().click();
  await expect(page.getByRole('application')).toBeVisible();
  const details = page.getByRole('region', { name: 'Details of the run' });

  await page.locator('.card', { hasText: 'The order' }).click();
  // The webhook's event came; the order in it left.
  await expect(details).toContainText('DESK-140');
  await expect(details).toContainText(/\d+(\.\d+)? (µs|ms)/);
  await expect(details.getByText('Output').first()).toBeVisible();
  await expect(details.getByText('Input').first()).toBeVisible();
  await accessible(page);

  // A value is copied by the key that copies everything else.
  await details.getByRole('tree', { name: 'Output of The order' }).focus();
  const copied = await details.getByRole('tree', { name: 'Output of The order' }).evaluate((tree) => {
    const clipboardData = new DataTransfer();
    tree.dispatchEvent(new ClipboardEvent('copy', { clipboardData, bubbles: true, cancelable: true }));
    return clipboardData.getData('text/plain');
  });
  expect(JSON.parse(copied)).toEqual(ORDER.order);
  await expect(details.getByRole('button', { name: 'Copy the output' })).toBeVisible();

  await page.locator('.card', { hasText: 'Where to?' }).click();
  await expect(details).toContainText('Where to?');
});

test('a composite is a canvas of its own: opened, edited, left, undone from outside', async ({
  page,
  account,
}) => {
  const at = (x: number) => ({ x, y: 0 });
  const { id } = await call<{ id: string }>(page, 'POST', '/api/patterns/import', {
    name: 'With a composite',
    graphData: {
      nodes: [
        { id: 'start', type: 'OnManual', position: at(0), data: { label: 'Start', parameters: {} } },
        { id: 'twice', type: 'Twice', position: at(280), data: { label: 'Do it twice', parameters: {} } },
        { id: 'end', type: 'Return', position: at(560), data: { label: 'End', parameters: {} } },
      ],
      edges: [
        { source: 'start', target: 'twice' },
        { source: 'twice', target: 'end' },
      ],
    },
    nodeDefinitions: {
      Twice: {
        kind: 'graph',
        graphData: {
          nodes: [
            { id: 'first', type: 'NoOp', position: at(0), data: { label: 'First', parameters: {} } },
            { id: 'second', type: 'NoOp', position: at(280), data: { label: 'Second', parameters: {} } },
          ],
          edges: [{ source: 'first', target: 'second' }],
        },
      },
    },
  });
  await page.goto(`/w/${account.workspace}/patterns/${id}`);
  const card = (name: string) => page.locator('.card .label', { hasText: name });
  await card('Do it twice').dblclick();
  await expect(card('Second')).toBeVisible();
  await expect(card('Start')).toHaveCount(0);
  const trail = page.getByRole('navigation', { name: 'Composites' });
  await expect(trail).toContainText('Do it twice');
  await accessible(page);

  await card('Second').click();
  await page.keyboard.press('F2');
  await page.keyboard.type('Once more');
  await page.keyboard.press('Enter');
  await expect(card('Once more')).toBeVisible();
  await trail.getByRole('button').first().click();
  await expect(card('Start')).toBeVisible();

  // Undo reaches what was done inside, from outside.
  await page.keyboard.press('Control+z');
  await card('Do it twice').dblclick();
  await expect(card('Second')).toBeVisible();
  await page.keyboard.press('Control+ArrowUp');
  await expect(card('Start')).toBeVisible();
});

test('a run that recorded no steps is replayed from its journal and stepped through', async ({
  page,
  account,
}) => {
  const orders = await deployOrders(page, 'Order routing');
  await send(orders, ORDER);
  await page.goto(`/w/${account.workspace}/runs`);
  await page.getByRole('row').nth(1).getByRole('link').first().click();
  const details = page.getByRole('region', { name: 'Details of the run' });
  await expect(details).toContainText('nothing was sent');
  await expect(details).toContainText('The replay ended as the run did.');
  const cursor = details.getByRole('slider', { name: 'Step' });
  await details.getByRole('button', { name: 'To the beginning' }).click();
  await expect(cursor).toHaveValue('0');
  await details.getByRole('button', { name: 'One step on' }).click();
  await expect(cursor).toHaveValue('1');
  await details.getByRole('button', { name: 'To the end' }).click();
  await page.locator('.card', { hasText: 'The order' }).click();
  await expect(details).toContainText('DESK-140');
  await accessible(page);
});
