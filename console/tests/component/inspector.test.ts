import type { Page } from '@playwright/test';
import { afterAll, beforeAll, expect, test } from 'vitest';
import nodes from '../unit/inspector/nodes.json';
import { start, violations, violationsInBoth, type Opened, type Pages } from './browser';

let pages: Pages;
beforeAll(async () => {
  pages = await start();
});
afterAll(() => pages?.close());

/** Runs a test on a page, and fails if its console has complained. */
async function on(
  scene: string,
  act: (page: Page) => Promise<void>,
  prepare?: (page: Page) => Promise<void>,
): Promise<void> {
  const address = `inspector/index.html?scene=${scene}&theme=light`;
  const opened: Opened = await pages.open(address, undefined, prepare);
  await act(opened.page);
  expect(opened.complaints).toEqual([]);
  await opened.page.close();
}

interface Store {
  doc: { graph: { nodes: { data: { label?: string; parameters?: Record<string, unknown> } }[] } };
  history: { value: { past: { title: string }[] } };
  undo: () => void;
}
const parameters = (page: Page) =>
  page.evaluate(() => (window as unknown as { store: Store }).store.doc.graph.nodes[1]?.data.parameters);
const steps = (page: Page) =>
  page.evaluate(() => (window as unknown as { store: Store }).store.history.value.past.length);
const undo = (page: Page) => page.evaluate(() => (window as unknown as { store: Store }).store.undo());

test.each(['HttpRequest', 'OnSchedule', 'Switch', 'JavaScript', 'Empty', 'SetFields', 'If', 'Jwt'])(
  'nothing for axe to find, light and dark: %s',
  async (scene) => {
    await on(scene, async (page) => {
      await page.waitForTimeout(200);
      expect(await violationsInBoth(page)).toEqual([]);
      await page.getByRole('tab', { name: 'Settings' }).click();
      expect(await violationsInBoth(page), 'settings').toEqual([]);
    });
  },
);

test('every type of the catalogue is drawn', { timeout: 120_000 }, async () => {
  let drawn = 0;
  for (let index = 0; drawn < nodes.length; index += 1) {
    await on(`All-${index}`, async (page) => {
      const count = await page.getByRole('region', { name: /^Node / }).count();
      expect(count).toBeGreaterThan(0);
      drawn += count;
      // All at once: pressed one by one, with the mouse, they would take a minute.
      const more = page.getByRole('button', { name: /^More/ });
      await more.evaluateAll((all) => all.forEach((each) => (each as HTMLElement).click()));
      expect(await violations(page)).toEqual([]);
    });
  }
  expect(drawn).toBe(nodes.length);
});

test('a text is one step in the history, and its own undo goes letter by letter', async () => {
  await on('Empty', async (page) => {
    const subject = page.getByRole('textbox', { name: 'Subject' });
    await subject.pressSequentially('Order');
    expect(await parameters(page)).toEqual({ subject: 'Order' });
    await page.keyboard.press('Control+z');
    expect((await parameters(page))?.['subject'] ?? '').not.toBe('Order');
    await subject.fill('Order came');
    await page.keyboard.press('Tab');
    expect(await steps(page)).toBe(1);
    await undo(page);
    expect(await parameters(page)).toBeUndefined();
    await page.waitForFunction(() => document.querySelectorAll('input').length > 0);
    await expect.poll(() => subject.inputValue()).toBe('');
  });
});

test('an expression is written with completion from real data', async () => {
  await on('Empty', async (page) => {
    await page.getByRole('textbox', { name: 'Subject' }).pressSequentially('Order {{');
    const editor = page.getByRole('textbox', { name: 'Subject' });
    await editor.and(page.locator('.cm-content')).waitFor();
    await page.keyboard.type('$input.bo');
    const list = page.locator('.cm-tooltip-autocomplete');
    await list.waitFor();
    expect(await list.textContent()).toContain('body');
    await page.waitForTimeout(150);
    await page.keyboard.press('Enter');
    await page.keyboard.type('.cust');
    await list.getByText('customer').first().waitFor();
    await page.waitForTimeout(150);
    expect(await page.locator('.cm-completionInfo').textContent()).toContain('run of 14:02');
    await page.keyboard.press('Tab');
    await page.keyboard.type('.fu');
    await list.getByText('full name').first().waitFor();
    await page.waitForTimeout(150);
    await page.keyboard.press('Enter');
    expect(await parameters(page)).toEqual({ subject: 'Order {{ $input.body.customer["full name"] }}' });
    expect(await steps(page)).toBe(1);
  });
});

test('an expression can be written anew, and braces that are there already be typed', async () => {
  await on('Switch', async (page) => {
    const editor = page.getByRole('textbox', { name: 'When' }).first();
    await editor.and(page.locator('.cm-content')).click();
    await page.keyboard.press('Control+a');
    await page.keyboard.press('Delete');
    await page.keyboard.type('{{ $input.body.total > 1 }}');
    await page.keyboard.press('Control+a');
    await page.keyboard.type('{{ ({ large: true }).large }}');
    const when = () =>
      parameters(page).then((it) => (it?.['cases'] as { when: string }[] | undefined)?.[0]?.when);
    expect(await when()).toBe('{{ ({ large: true }).large }}');
  });
});

test('braces are closed and typed over before the code of the field is there, as they are afterwards', async () => {
  let come: () => void = () => {};
  const held = new Promise<void>((done) => (come = done));
  const hold = async (page: Page) => {
    await page.route('**/template-field-*.js', async (route) => {
      await held;
      await route.continue();
    });
  };
  await on(
    'If',
    async (page) => {
      const condition = page.getByRole('textbox', { name: 'Condition', exact: true });
      const value = async () => (await parameters(page))?.['condition'];
      await condition.and(page.locator('textarea')).focus();
      await page.keyboard.type('{{ $input.body.total > 100');
      expect(await value()).toBe('{{ $input.body.total > 100 }}');
      await page.keyboard.type(' }}');
      expect(await value()).toBe('{{ $input.body.total > 100 }}');
      await page.keyboard.press('ArrowLeft');
      await page.keyboard.press('ArrowLeft');
      await page.keyboard.press('ArrowLeft');
      come();
      await condition.and(page.locator('.cm-content')).waitFor();
      await page.keyboard.type('0');
      expect(await value()).toBe('{{ $input.body.total > 1000 }}');
    },
    hold,
  );
});

test('a finding is shown at its place, and mended by one press', async () => {
  await on('HttpRequest', async (page) => {
    await page.locator('.cm-lintRange-error').waitFor();
    await page.getByText('there is no $runn').waitFor();
    await page.getByRole('button', { name: 'Change to $run' }).click();
    expect((await parameters(page))?.['headers']).toMatchObject({ 'x-trace': '{{ $run.id }}' });
  });
});

test('previews and routes are told', async () => {
  await on('Switch', async (page) => {
    await page.getByText('yes or no', { exact: true }).last().waitFor();
    const engine = page.getByRole('button', {
      name: /Evaluated by the JavaScript engine because of a regular expression/,
    });
    await engine.waitFor();
  });
});

test('elements of lists are moved by keyboard', async () => {
  await on('Switch', async (page) => {
    await page.getByRole('textbox', { name: 'Name' }).nth(1).focus();
    await page.keyboard.press('Alt+ArrowUp');
    const { cases } = (await parameters(page)) as { cases: { name: string }[] };
    expect(cases.map(({ name }) => name)).toEqual(['medium', 'large']);
    await page.getByRole('button', { name: 'Move medium down' }).click();
    const back = (await parameters(page)) as { cases: { name: string }[] };
    expect(back.cases[0]?.name).toBe('large');
  });
});

test('names and values: added, renamed and removed by keyboard', async () => {
  await on('SetFields', async (page) => {
    await page.getByRole('button', { name: 'Add' }).last().click();
    await page.keyboard.type('status');
    await page.keyboard.press('Enter');
    await page.keyboard.type('new');
    expect((await parameters(page))?.['fields']).toMatchObject({ status: 'new' });
    const name = page.getByRole('textbox', { name: 'Name 4 of Fields' });
    await name.fill('total');
    await page.getByText('There is a “total” already.').waitFor();
    await name.fill('state');
    expect(Object.keys((await parameters(page))?.['fields'] as object)).toEqual([
      'total',
      'customer.vip',
      'tags',
      'state',
    ]);
    await page.getByRole('button', { name: 'Remove state' }).click();
    expect(Object.keys((await parameters(page))?.['fields'] as object)).toEqual([
      'total',
      'customer.vip',
      'tags',
    ]);
  });
});

test('a duration is written as people do', async () => {
  await on('HttpRequest', async (page) => {
    await page.getByRole('button', { name: /^More/ }).click();
    const timeout = page.getByRole('textbox', { name: 'Timeout' });
    await timeout.fill('1.5 min');
    expect((await parameters(page))?.['timeoutMs']).toBe(90_000);
    await timeout.blur();
    expect(await timeout.inputValue()).toBe('1 min 30 s');
    await timeout.fill('soon');
    await page.getByText('Write it as 500 ms, 30 s or 1 h 30 min.').waitFor();
    expect((await parameters(page))?.['timeoutMs']).toBe(90_000);
  });
});

test('a schedule is read out, and says why it is none', async () => {
  await on('OnSchedule', async (page) => {
    await page.getByText('At 07:30, Monday to Friday, Europe/Prague').waitFor();
    const times = page.getByRole('list', { name: 'Next times' }).getByRole('listitem');
    await times.first().waitFor();
    // Browsers differ in the comma after the day.
    expect((await times.allTextContents())[0]).toMatch(/^Mon,? 23 Nov 2026, 07:30$/);
    await page.getByRole('textbox', { name: 'Cron' }).fill('0 25 * * *');
    await page.getByText('“25” is not one of the hours').waitFor();
  });
});

test('a value of the data goes into the field that had the focus', async () => {
  await on('HttpRequest', async (page) => {
    await page.getByRole('textbox', { name: 'URL' }).click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('/');
    await page.evaluate(() => {
      const { targets } = window as unknown as { targets: { current?: { insert: (text: string) => void } } };
      targets.current?.insert('$input.body.id');
    });
    expect((await parameters(page))?.['url']).toBe(
      'https://api.example.com/customers/{{ $input.body.customer.id }}/{{ $input.body.id }}',
    );
  });
});

test('the label is one step, and Escape gives it back', async () => {
  await on('HttpRequest', async (page) => {
    const label = page.getByLabel('Label of the node');
    await label.fill('Look up');
    await page.keyboard.press('Escape');
    expect(await label.inputValue()).toBe('Fetch customer');
    await label.fill('Look up');
    await page.keyboard.press('Enter');
    expect(await steps(page)).toBe(1);
  });
});
