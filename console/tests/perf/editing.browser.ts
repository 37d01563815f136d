/** Editing on the canvas and in the outline, in real Chromium under the console's policy. */
import { expect, test, type Page } from '@playwright/test';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { open, servePage } from './page';

servePage();

interface Globals {
  session: {
    document: {
      doc: {
        graph: {
          nodes: { id: string; data?: { label?: string; disabled?: boolean }; position?: object }[];
          edges: { source: string; target: string; sourceHandle?: string }[];
          notes?: object[];
        };
      };
    };
  };
}

const graph = (page: Page) =>
  page.evaluate(() => (globalThis as unknown as Globals).session.document.doc.graph);
const labels = async (page: Page) => (await graph(page)).nodes.map((node) => node.data?.label);
const said = (page: Page) => page.locator('.editor > [aria-live]').textContent();

async function violations(page: Page): Promise<unknown> {
  const source = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  await page.evaluate(source);
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: {
        run(
          context: object,
          options: object,
        ): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }>;
      };
    };
    const { violations } = await axe.run(document, {
      rules: { 'page-has-heading-one': { enabled: false }, region: { enabled: false } },
      // Of what passes, it would keep every element.
      resultTypes: ['violations'],
    });
    return violations.map(({ id, nodes }) => ({
      id,
      nodes: nodes.slice(0, 3).map((node) => node.html.slice(0, 200)),
    }));
  });
}

test('a pattern is drawn from nothing by keyboard alone', async ({ page }) => {
  await open(page, 'nodes=0');
  await page.keyboard.press('Tab');
  for (const search of ['manual', 'set fields', 'if', 'log', 'return']) {
    await page.keyboard.press('n');
    await page.keyboard.type(search);
    await page.keyboard.press('Enter');
  }
  const drawn = await graph(page);
  expect(drawn.nodes.map((node) => node.data?.label)).toEqual([
    'Manual start',
    'Set fields',
    'If',
    'Log',
    'Return',
  ]);
  expect(drawn.edges).toHaveLength(4);
  // From the If by its other port to the Return.
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('c');
  await page.keyboard.type('return');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  expect((await graph(page)).edges.at(-1)).toMatchObject({ sourceHandle: 'false' });
  await page.keyboard.press('F2');
  await page.keyboard.type('Large order?');
  await page.keyboard.press('Enter');
  expect(await said(page)).toBe('Rename If to Large order?');
  await page.keyboard.press('d');
  expect((await graph(page)).nodes[2]?.data?.disabled).toBe(true);
  await page.keyboard.press('Control+d');
  expect(await labels(page)).toContain('Large order? 2');
  await page.keyboard.press('Delete');
  await page.keyboard.press('Shift+ArrowDown');
  await page.keyboard.press('Shift+ArrowDown');
  await page.keyboard.press('Control+z');
  expect(await said(page)).toMatch(/^Undone: Move/);
  await page.keyboard.press('Control+a');
  await page.keyboard.press('Delete');
  expect((await graph(page)).nodes).toHaveLength(0);
  await page.keyboard.press('Control+z');
  expect((await graph(page)).nodes).toHaveLength(5);
  expect(await violations(page)).toEqual([]);
});

test('a pattern is changed by mouse: dragged, connected, inserted, dropped into nothing', async ({
  page,
}) => {
  await open(page, 'graph=/order-routing/pattern.json');
  const card = (name: string) => page.locator('.card', { has: page.locator(`.label:text-is("${name}")`) });
  const middle = async (name: string) => {
    const box = await card(name).boundingBox();
    return { x: (box?.x ?? 0) + (box?.width ?? 0) / 2, y: (box?.y ?? 0) + 14 };
  };
  const drag = async (from: { x: number; y: number }, to: { x: number; y: number }) => {
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    await page.mouse.move(from.x + 10, from.y + 10);
    await page.mouse.move(to.x, to.y, { steps: 6 });
    await page.mouse.up();
  };
  const hold = await middle('Hold');
  await drag(hold, { x: hold.x + 40, y: hold.y - 90 });
  expect(await said(page)).toBe('Move Hold');
  const release = await card('Release').locator('.svelte-flow__handle.source').boundingBox();
  const answer = await card('Answer the shop').locator('.svelte-flow__handle.target').boundingBox();
  if (!release || !answer) throw new Error('The ports are not there.');
  await drag({ x: release.x + 3, y: release.y + 3 }, { x: answer.x + 3, y: answer.y + 3 });
  expect((await graph(page)).edges.at(-1)).toMatchObject({ source: 'release', target: 'answer' });
  const routed = await card('Routed').locator('.svelte-flow__handle.source').boundingBox();
  if (!routed) throw new Error('The port is not there.');
  await drag({ x: routed.x + 3, y: routed.y + 3 }, { x: routed.x + 80, y: routed.y + 260 });
  await page.getByRole('option', { name: /^Log/ }).click();
  expect((await graph(page)).edges.at(-1)).toMatchObject({ source: 'routed' });
  expect(await labels(page)).toContain('Log');
  const before = (await graph(page)).edges.length;
  await page.keyboard.press('n');
  const item = page.getByRole('option', { name: /^Filter/ });
  const [order, where] = [await middle('The order'), await middle('Where to?')];
  await item.dragTo(page.locator('.editor'), {
    targetPosition: { x: (order.x + where.x) / 2, y: order.y + 4 },
  });
  expect((await graph(page)).edges.length).toBe(before + 1);
  expect(await violations(page)).toEqual([]);
});

test('copies travel as text, tidying is one step and runs in a worker', async ({ page }) => {
  await open(page, 'graph=/order-routing/pattern.json');
  await page.locator('.editor').focus();
  const before = await graph(page);
  await page.keyboard.press('Control+a');
  await page.keyboard.press('Control+c');
  await page.keyboard.press('Control+v');
  expect((await graph(page)).nodes).toHaveLength(before.nodes.length * 2);
  await page.keyboard.press('Control+z');
  expect(await graph(page)).toEqual(before);
  await page.keyboard.press('Escape');
  await page.keyboard.press('Shift+t');
  await expect.poll(() => said(page)).toBe(`Tidy ${before.nodes.length} nodes`);
  expect(await graph(page)).not.toEqual(before);
  await page.keyboard.press('Control+z');
  expect(await graph(page)).toEqual(before);
});

test('the outline does what the canvas does', async ({ page }) => {
  await open(page, 'graph=/order-routing/pattern.json&outline');
  const tree = page.getByRole('tree');
  await tree.focus();
  await page.keyboard.press('End');
  await expect(page.locator('[role=treeitem][aria-selected=true]')).toHaveAccessibleName(
    /^Routed order; Return/,
  );
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('F2');
  await page.keyboard.type('Its order');
  await page.keyboard.press('Enter');
  expect(await labels(page)).toContain('Its order');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Delete');
  expect((await graph(page)).edges.some((edge) => edge.source === 'order-received')).toBe(false);
  await page.keyboard.press('Control+z');
  await page.keyboard.press('Home');
  await page.keyboard.press('c');
  await page.keyboard.type('routed');
  await page.keyboard.press('Enter');
  expect((await graph(page)).edges.at(-1)).toMatchObject({ source: 'order-received', target: 'routed' });
  expect(await violations(page)).toEqual([]);
});

test('a thousand nodes are boxes from afar, and cards near by', async ({ page }) => {
  await open(page, 'nodes=1000');
  // The first view is the beginning, where names can be read.
  await expect(page.locator('[data-id=n0] .label')).toBeInViewport();
  await page.locator('.editor').focus();
  await page.keyboard.press('1');
  await expect(page.locator('.svelte-flow__node')).toHaveCount(0);
  await page.keyboard.press('Control+f');
  await page.keyboard.type('n777');
  await page.keyboard.press('Enter');
  await expect(page.locator('[data-id=n777] .label')).toBeVisible();
  expect(await page.locator('.svelte-flow__node').count()).toBeLessThan(300);
});
