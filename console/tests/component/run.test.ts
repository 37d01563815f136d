import type { Page } from '@playwright/test';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { start, violationsInBoth, type Pages } from './browser';

let pages: Pages;
beforeAll(async () => {
  pages = await start();
});
afterAll(() => pages?.close());

async function on(scene: string, act: (page: Page) => Promise<void>): Promise<void> {
  const { page, complaints } = await pages.open(`run/index.html?scene=${scene}&theme=light`, {
    width: 1200,
    height: 600,
  });
  await act(page);
  expect(complaints).toEqual([]);
  await page.close();
}

test.each(['trace', 'test', 'drawer', 'problems', 'value'])(
  'nothing for axe to find, light and dark: %s',
  async (scene) => {
    await on(scene, async (page) => expect(await violationsInBoth(page)).toEqual([]));
  },
);

test('a run is stepped to and fro, and its iterations are looked through', async () => {
  await on('trace', async (page) => {
    const position = page.locator('.step p');
    expect(await position.textContent()).toContain('14 / 14');
    await page.getByRole('button', { name: 'To the beginning' }).click();
    await page.getByRole('button', { name: 'One step on' }).click();
    expect(await position.textContent()).toMatch(/1 \/ 14\s*By hand/);
    expect(await page.getByRole('option', { selected: true }).textContent()).toContain('By hand');
    await page.getByRole('listbox').focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    expect(await position.textContent()).toMatch(/3 \/ 14\s*Price it/);
    await page.getByRole('button', { name: 'Next iteration' }).click();
    await page.getByText('lines[1] of 3').waitFor();
    await page.getByRole('option', { name: /Large/ }).click();
    await page.getByRole('tab', { name: 'Input' }).click();
    await page.getByRole('treeitem', { name: /EGRESS_DENIED/ }).waitFor();
  });
});

test('a test run is followed live, and stopped', async () => {
  await on('test', async (page) => {
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByRole('option', { name: /By hand \d/ }).waitFor();
    await page.getByRole('button', { name: 'Stop' }).waitFor();
    await page.evaluate(() => (window as unknown as { finish: () => void }).finish());
    await page.getByText('Failed', { exact: true }).waitFor();
    expect(await page.getByRole('listbox').getByRole('option').count()).toBe(15);
    await page.getByRole('option', { name: /http 127\.0\.0\.1 EGRESS_DENIED/ }).waitFor();
    await page.keyboard.press('Control+Enter');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('Cancelled').waitFor();
  });
});

test('an event that is no JSON is not sent', async () => {
  await on('test', async (page) => {
    await page.getByRole('textbox', { name: 'Event, as JSON' }).fill('{oops');
    expect(await page.getByRole('button', { name: 'Run', exact: true }).isDisabled()).toBe(true);
    await page.getByText(/Not JSON/).waitFor();
  });
});

test('values are picked by click, Enter and in the table', async () => {
  await on('drawer', async (page) => {
    await page.evaluate(() => {
      const picked: string[] = [];
      const { targets } = window as unknown as { targets: { enter: (target: object) => void } };
      targets.enter({ label: 'URL', insert: (text: string) => picked.push(text) });
      Object.assign(window, { picked });
    });
    const picked = () => page.evaluate(() => (window as unknown as { picked: string[] }).picked);
    await page.getByRole('treeitem', { name: /^code/ }).first().click();
    await page.getByRole('tree').first().focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByLabel('Data to look at').selectOption({ label: 'Each line' });
    await page.getByRole('button', { name: 'As a table' }).click();
    await page.getByRole('gridcell', { name: 'LAMP-2' }).click();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    expect(await picked()).toEqual([
      '$input.error.code',
      '$input.error.nodeId',
      '$("Each line")[1].sku',
      '$("Each line")[1].price',
    ]);
  });
});

test('what leaves is pinned as it was, or as it is written', async () => {
  await on('drawer', async (page) => {
    await page.getByRole('button', { name: 'Pin', exact: true }).click();
    await page.getByRole('button', { name: 'Change' }).click();
    await page.getByRole('textbox', { name: 'Value to pin' }).fill('{"a": ');
    expect(await page.getByRole('button', { name: 'Pin', exact: true }).isDisabled()).toBe(true);
    await page.getByRole('textbox', { name: 'Value to pin' }).fill('{"a": 1}');
    await page.getByRole('button', { name: 'Pin', exact: true }).click();
    await page.getByRole('button', { name: 'Unpin' }).click();
    await page.getByRole('button', { name: 'Pin', exact: true }).waitFor();
  });
});

test('a problem leads to its node', async () => {
  await on('problems', async (page) => {
    await page.getByRole('button', { name: /is required/ }).press('Enter');
    expect(await page.locator('main > output').textContent()).toBe('shop');
  });
});

test('a list of 20,000 is a few rows, and so is a trace of 5,000 at every step', async () => {
  await on('value', async (page) => {
    await page.getByRole('tree').focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowRight');
    expect(await page.getByRole('treeitem').count()).toBeLessThan(60);
    await page.keyboard.press('End');
    await page.getByRole('treeitem', { name: '19800 more' }).waitFor();
    await page.keyboard.press('Enter');
    await page.keyboard.press('End');
    await page.getByRole('treeitem', { name: '19600 more' }).waitFor();
  });
  await on('long', async (page) => {
    // How long it takes is measured in tests/perf.
    expect(await page.getByRole('option').count()).toBeLessThan(60);
    await page.getByRole('button', { name: 'One step back' }).click();
    expect(await page.locator('.step p').textContent()).toContain('4999 / 5000');
    expect(await page.getByRole('option').count()).toBeLessThan(60);
  });
});
