import type { Page } from '@playwright/test';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { start, violationsInBoth, type Pages } from './browser';

let pages: Pages;
beforeAll(async () => {
  pages = await start();
});
afterAll(() => pages?.close());

async function on(act: (page: Page) => Promise<void>): Promise<void> {
  const { page, complaints } = await pages.open('parts/index.html?theme=light', {
    width: 1000,
    height: 700,
  });
  await act(page);
  expect(complaints).toEqual([]);
  await page.close();
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const focused = (page: Page) => page.evaluate(() => document.activeElement?.textContent?.trim());

test('a message over a dialog is in it, for axe as well, in light and dark', async () => {
  await on(async (page) => {
    await button(page, 'Open').click();
    await button(page, 'Delete here').click();
    await page.getByText('Deleted the order.').waitFor();
    expect(await page.getByRole('dialog', { name: 'Order' }).getByRole('region').count()).toBe(1);
    // Nor does it go while axe looks.
    await page.getByText('Deleted the order.').hover();
    expect(await violationsInBoth(page)).toEqual([]);
  });
});

test('a message over a dialog is gone to by keyboard, and pressed', async () => {
  await on(async (page) => {
    await button(page, 'Open').press('Enter');
    await button(page, 'Delete here').press('Enter');
    await button(page, 'Undo').waitFor();
    await page.keyboard.press('Tab');
    expect(await focused(page)).toBe('Name it');
    await page.keyboard.press('Tab');
    expect(await focused(page)).toBe('Undo');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.locator('output').textContent()).toBe('1');
    // Where they were.
    await expect.poll(() => focused(page)).toBe('Name it');
  });
});

test('a message is pressed over the topmost of two dialogs, and follows where it is closed', async () => {
  await on(async (page) => {
    await button(page, 'Open').click();
    await button(page, 'Name it').click();
    await button(page, 'Delete in form').click();
    await button(page, 'Undo').click();
    await expect.poll(() => page.locator('output').textContent()).toBe('1');
    await page.getByRole('textbox', { name: 'Name' }).fill('A-1');
    await button(page, 'Keep name').click();
    // What comes while a dialog closes is told in the one below.
    await page.getByRole('dialog', { name: 'Order' }).getByText('Named it “A-1”.').waitFor();
    expect(await focused(page)).toBe('Name it');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    await page.locator('main ~ * [aria-live=polite]').getByText('Named it “A-1”.').waitFor();
    await button(page, 'Close message').click();
    await page.getByText('Named it “A-1”.').waitFor({ state: 'detached' });
    expect(await focused(page)).toContain('Open');
  });
});

test('what is pointed at stays, and what is closed leaves the focus where it was', async () => {
  await on(async (page) => {
    await page.clock.install();
    await button(page, 'Delete').click();
    // A region has to be noticed before something comes into it.
    await page.clock.runFor(1_000);
    await page.getByText('Deleted the order.').hover();
    await page.clock.runFor(60_000);
    expect(await page.getByText('Deleted the order.').isVisible()).toBe(true);
    await page.mouse.move(0, 0);
    await page.clock.runFor(60_000);
    await page.getByText('Deleted the order.').waitFor({ state: 'detached' });

    await button(page, 'Fail').press('Enter');
    await page.clock.runFor(60_000);
    await button(page, 'Close message').press('Enter');
    await page.getByText('The order is gone.').waitFor({ state: 'detached' });
    await page.clock.runFor(1_000);
    expect(await focused(page)).toBe('Fail');
  });
});

test('what has to be asked for first is copied', async () => {
  await on(async (page) => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await button(page, 'Copy secret').click();
    await button(page, 'Copied').waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('secret');
  });
});

test('a form keeps what was written when somebody presses beside it, and an error of one that was closed is told', async () => {
  await on(async (page) => {
    await button(page, 'Open').click();
    await button(page, 'Name it').click();
    const form = page.getByRole('dialog', { name: 'Name of the order' });
    await page.mouse.click(5, 5);
    await form.waitFor({ state: 'hidden' });
    await button(page, 'Name it').click();
    const name = page.getByRole('textbox', { name: 'Name' });
    await name.fill('slow');
    await page.mouse.click(5, 5);
    expect(await name.inputValue()).toBe('slow');
    await button(page, 'Keep name').click();
    await page.getByRole('button', { name: 'Keep name', disabled: true }).waitFor();
    await page.keyboard.press('Escape');
    await form.waitFor({ state: 'hidden' });
    await page.keyboard.press('Escape');
    await button(page, 'Refuse').click();
    await page.getByText('The name is taken.').waitFor();
  });
});

test('after the row of what was deleted is gone, keys go on from the title', async () => {
  await on(async (page) => {
    await button(page, 'Delete row 1').press('Enter');
    await button(page, 'Delete it').press('Enter');
    await button(page, 'Delete row 1').waitFor({ state: 'detached' });
    await expect.poll(() => focused(page)).toBe('Parts');
    // Where it is still there, it has the focus again.
    await button(page, 'Delete row 2').press('Enter');
    await page.keyboard.press('Escape');
    await expect.poll(() => focused(page)).toBe('Delete row 2');
  });
});

test('Tab comes to a table whatever became of the row that had the focus', async () => {
  await on(async (page) => {
    const row = (at: number) => page.locator(`[data-row="${at}"]`);
    await row(0).focus();
    await page.keyboard.press('End');
    await expect.poll(() => focused(page)).toContain('row 11');
    expect(await row(11).getAttribute('tabindex')).toBe('0');
    await button(page, 'Shorten').click();
    await row(2).waitFor({ state: 'detached' });
    expect(await page.getByRole('row').and(page.locator('[tabindex="0"]')).count()).toBe(1);
    await button(page, 'Copy secret').focus();
    await page.keyboard.press('Tab');
    expect(await focused(page)).toContain('row 0');
  });
});
