import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Locator, Page } from '@playwright/test';
import { call } from './api';
import { accessible, expect, test, tidied } from './fixtures';

const run = promisify(execFile);

/** How often a card is found in the same place before it is taken to stay there. */
const STILL_TIMES = 3;

/** What a stranger does in their first hour, in the console alone, by mouse. */
class Drawing {
  constructor(private readonly page: Page) {}

  card = (name: string): Locator =>
    this.page.locator('.card', { has: this.page.locator(`.label:text-is("${name}")`) });

  /** The middle of an output of a node, by its place among them. */
  private async output(name: string, place = 0): Promise<{ x: number; y: number }> {
    const box = await this.card(name).locator('.svelte-flow__handle.source').nth(place).boundingBox();
    if (!box) throw new Error(`“${name}” has no output ${place} in sight.`);
    return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
  }

  private async drag(from: { x: number; y: number }, to: { x: number; y: number }): Promise<void> {
    await this.page.mouse.move(from.x, from.y);
    await this.page.mouse.down();
    await this.page.mouse.move(from.x + 10, from.y + 10);
    await this.page.mouse.move(to.x, to.y, { steps: 8 });
    await this.page.mouse.up();
  }

  /** Picks a type in the palette, and names the node that it gives. */
  async pick(type: RegExp, name: string): Promise<void> {
    await this.page.getByRole('option', { name: type }).first().click();
    const label = this.page.getByLabel('Label of the node');
    await label.click();
    await label.fill(name);
    await label.press('Enter');
    await expect(this.card(name)).toBeVisible();
    await this.atRest(this.card(name));
  }

  /** Where it stays: what is added is brought into sight, which may begin some frames later. */
  private async atRest(card: Locator): Promise<void> {
    let before = '';
    let still = 0;
    await expect
      .poll(async () => {
        await this.page.evaluate(
          () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
        );
        const now = JSON.stringify(await card.boundingBox());
        still = now === before ? still + 1 : 0;
        before = now;
        return still >= STILL_TIMES;
      })
      .toBe(true);
  }

  /** Pulls an edge out of an output into nothing, where the palette opens. */
  async pull(from: string, type: RegExp, name: string, place = 0, down = 0): Promise<void> {
    await this.page.getByRole('button', { name: 'Show everything' }).click();
    await this.atRest(this.card(from));
    const output = await this.output(from, place);
    await this.drag(output, { x: output.x + 60, y: output.y + 90 + down });
    await this.pick(type, name);
  }

  /** Pulls an edge to the input of another node. */
  async connect(from: string, to: string, place = 0): Promise<void> {
    await this.page.getByRole('button', { name: 'Show everything' }).click();
    await this.atRest(this.card(from));
    await this.atRest(this.card(to));
    const input = await this.card(to).locator('.svelte-flow__handle.target').boundingBox();
    if (!input) throw new Error(`“${to}” is not in sight.`);
    await this.drag(await this.output(from, place), {
      x: input.x + input.width / 2,
      y: input.y + input.height / 2,
    });
  }

  /** Writes the first field of the node that is selected. */
  async write(name: string, expression: string): Promise<void> {
    await this.card(name).locator('.label').click();
    await this.set(expression);
  }
  async set(expression: string): Promise<void> {
    const panel = this.page.getByRole('tabpanel', { name: 'Parameters' });
    // A plain field becomes one for expressions with the first braces.
    await panel.locator('.cm-content, textarea, input').first().fill(expression);
    await expect(panel.locator('.cm-content').first()).toContainText(expression);
  }
}

interface Graph {
  graphData: {
    nodes: { id: string; data: { label: string } }[];
    edges: { source: string; sourceHandle?: string; target: string }[];
  };
}

test('a stranger registers, draws order routing by mouse, sends it orders, mends what failed and goes back', async ({
  page,
}) => {
  test.setTimeout(300_000);
  // Nothing glides, so that the mouse finds everything where it was seen.
  await page.emulateMedia({ reducedMotion: 'reduce' });
  // Somebody who has never been here.
  await page.goto('/');
  await page.getByRole('link', { name: 'Create an account' }).click();
  await page.getByLabel('First name').fill('Ada');
  await page.getByLabel('Last name').fill('Byron');
  await page.getByLabel('Email').fill(`ada-${crypto.randomUUID()}@example.com`);
  await page.getByLabel('Password').fill('correct-horse');
  await page.getByRole('button', { name: 'Create account' }).click();
  await expect(page.getByText(/Good (morning|afternoon|evening), Ada/)).toBeVisible();
  const workspace = new URL(page.url()).pathname.split('/')[2] ?? '';
  await page.getByRole('link', { name: 'Go to patterns' }).click();
  await page.getByRole('button', { name: 'New pattern' }).first().click();
  await page.getByRole('dialog').getByLabel('Name').fill('Orders');
  await page.getByRole('button', { name: 'Create pattern' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Orders' })).toBeVisible();
  const pattern = new URL(page.url()).pathname.split('/').at(-1) ?? '';

  // Drawn from nothing.
  const drawing = new Drawing(page);
  await page.getByRole('button', { name: 'Add node' }).click();
  await drawing.pick(/^Webhook/, 'Order received');
  await drawing.pull('Order received', /^Transform/, 'The order');
  await drawing.set('{{ $input.body.order }}');
  await drawing.pull('The order', /^If/, 'Large order?');
  await drawing.set('{{ $input.total > 100 }}');
  await drawing.pull('Large order?', /^Transform/, 'Freight', 0, -150);
  await drawing.set('{{ ({ id: $("The order")?.id ?? "none", by: "freight" }) }}');
  await drawing.pull('Large order?', /^Transform/, 'Parcel', 1);
  await drawing.set('{{ ({ id: $("The order")?.id ?? "none", by: "parcel" }) }}');
  await drawing.pull('Freight', /^Merge/, 'Routed', 0, -60);
  await drawing.connect('Parcel', 'Routed');
  await drawing.pull('Routed', /^Respond/, 'Answer', 0, -60);
  await page.getByRole('button', { name: 'Tidy' }).click();
  await tidied(page);
  await accessible(page);
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await expect(page.getByText('Saved as 2')).toBeVisible();
  const { graphData } = await call<Graph>(page, 'GET', `/api/patterns/${pattern}`);
  const named = (id: string) => graphData.nodes.find((node) => node.id === id)?.data.label;
  const drawn = graphData.edges.map(
    ({ source, sourceHandle, target }) =>
      `${named(source)}${sourceHandle === 'false' ? ', if not' : ''} → ${named(target)}`,
  );
  expect(drawn.sort()).toEqual([
    'Freight → Routed',
    'Large order? → Freight',
    'Large order?, if not → Parcel',
    'Order received → The order',
    'Parcel → Routed',
    'Routed → Answer',
    'The order → Large order?',
  ]);

  await page.getByRole('button', { name: 'Deploy', exact: true }).click();
  const sheet = page.getByRole('dialog');
  await sheet.getByLabel('Record what each node does').check();
  await sheet.getByRole('button', { name: 'Deploy', exact: true }).click();
  await expect(page.getByText('Version 2 is deployed.')).toBeVisible();
  await expect(sheet).toBeHidden();

  // The request of the snippet, with an order in it.
  await page.getByRole('link', { name: 'version 2' }).click();
  await page.getByRole('button', { name: 'How to send a request' }).click();
  const code = page.getByRole('textbox', { name: 'How to send a request' });
  await expect(code).toContainText('curl');
  const snippet = (await code.innerText()).replaceAll('\u00a0', ' ');
  // Nothing has come yet: it has the fields that the graph reads.
  expect(snippet).toMatch(/^body='{"order":{.*"total":1/m);
  const sent = async (body: unknown): Promise<string> => {
    const script = snippet.replace(/^body=.*$/m, `body='${JSON.stringify(body)}'`);
    return (await run('bash', ['-c', script])).stdout;
  };

  // Watched as they come.
  await page.getByRole('link', { name: 'Runs', exact: true }).last().click();
  const rows = page.getByRole('row').filter({ hasText: /Succeeded|Failed/ });
  await expect(page.getByText(/No runs yet|No run/).first()).toBeVisible();
  expect(await sent({ order: { id: 'A-1', total: 250 } })).toContain('freight');
  await expect(rows.filter({ hasText: 'Succeeded' })).toHaveCount(1);
  await sent({ order: null });
  await expect(rows.filter({ hasText: 'Failed' })).toHaveCount(1);

  // The one that failed, step by step to where it did.
  await rows.filter({ hasText: 'Failed' }).getByRole('link').first().click();
  const details = page.getByRole('region', { name: 'Details of the run' });
  await details.getByRole('button', { name: 'To the beginning' }).click();
  const cursor = details.getByRole('slider', { name: 'Step' });
  await expect(cursor).toHaveValue('0');
  const next = details.getByRole('button', { name: 'One step on' });
  for (let step = 1; await next.isEnabled(); step += 1) {
    await next.click();
    await expect(cursor).toHaveValue(String(step));
  }
  await expect(cursor).toHaveAttribute('aria-valuetext', /Large order\?/);
  await accessible(page);

  // A test of its event, which expects the failure; then the node is mended with that event at hand.
  await page.getByRole('button', { name: 'Make a test' }).click();
  const made = page.getByText(/^Made the test/).locator('..');
  await expect(made.getByRole('button', { name: 'Open', exact: true })).toBeVisible();
  await page.getByRole('link', { name: 'Fix' }).click();
  await expect(page.getByRole('button', { name: 'Run', exact: true })).toBeVisible();
  await drawing.write('Large order?', '{{ ($input?.total ?? 0) > 100 }}');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await expect(page.getByText('Succeeded').first()).toBeVisible();

  // The gate holds as long as the test expects what was wrong, and opens once it expects what is right.
  await page.getByRole('button', { name: 'Deploy', exact: true }).click();
  await expect(sheet.getByRole('list', { name: 'Tests that do not pass' })).toBeVisible();
  await expect(sheet.getByRole('button', { name: 'Save and deploy' })).toBeDisabled();
  await accessible(page);
  await sheet.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await expect(page.getByText('Saved as 3')).toBeVisible();
  await page.getByRole('link', { name: /1 test/ }).click();
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.getByRole('button', { name: 'Accept all as expected' }).click();
  await expect(page.getByText('The test passes')).toBeVisible();
  await page.goto(`/w/${workspace}/patterns/${pattern}`);
  await page.getByRole('button', { name: 'Deploy', exact: true }).click();
  await expect(sheet.getByRole('button', { name: 'Deploy', exact: true })).toBeEnabled();
  await sheet.getByRole('button', { name: 'Deploy', exact: true }).click();
  await expect(page.getByText('Version 3 is deployed.')).toBeVisible();
  expect(await sent({ order: null })).toContain('parcel');

  // And back to what was before.
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('menuitem', { name: 'Versions' }).click();
  await page.getByRole('link', { name: /Version 2/ }).click();
  await page.getByRole('button', { name: 'Go back to this version' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Go back' }).click();
  await expect(page.getByText('Version 4 is version 2 again.')).toBeVisible();
  const back = await call<Graph>(page, 'GET', `/api/patterns/${pattern}`);
  expect(back.graphData).toEqual(graphData);
});
