/**
 * The pictures of docs/images: `npm run pictures`, with HEDDLE_URL of a server that was started with `--demo`. The figures
 * are those of its last quarter of an hour. Makes the pattern of the tutorial in it, as the tutorial does.
 */

import { writeFileSync } from 'node:fs';
import { chromium } from '@playwright/test';
import { ARGS, EXECUTABLE } from './chromium.js';

const server = process.env['HEDDLE_URL'] ?? 'http://127.0.0.1:8080';
const out = new URL('../../docs/images/', import.meta.url);
const SIZE = { width: 1280, height: 720 };
const QUALITY = 0.9;
/** Of the test in the tutorial. */
const EVENT = '{"method": "POST", "headers": {}, "query": {}, "body": {"name": "Ada"}}';

const browser = await chromium.launch({ executablePath: EXECUTABLE, args: ARGS });

/** Compresses what is on the screen: Chromium writes WebP itself. */
async function take(page, name) {
  // Nothing is hovered, and nothing is under way.
  await page.mouse.move(SIZE.width - 1, SIZE.height / 2);
  await page.waitForLoadState('networkidle', { timeout: 3_000 }).catch(() => {});
  await page.waitForTimeout(700);
  const png = (await page.screenshot()).toString('base64');
  const blank = await browser.newPage();
  const webp = await blank.evaluate(
    async ([png, quality]) => {
      const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
      const canvas = document.createElement('canvas');
      [canvas.width, canvas.height] = [image.width, image.height];
      canvas.getContext('2d').drawImage(image, 0, 0);
      return canvas.toDataURL('image/webp', quality).split(',')[1];
    },
    [png, QUALITY],
  );
  await blank.close();
  writeFileSync(new URL(`${name}.webp`, out), Buffer.from(webp, 'base64'));
  console.log(name);
}

const inside = (page) => {
  const main = (name) =>
    page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name, exact: true });
  return {
    main,
    button: (name) => page.getByRole('button', { name, exact: true }).first(),
    card: (name) =>
      page.locator('.card', { has: page.locator(`.label:text-is("${name}")`) }).locator('.label'),
    /** Opens the editor of a pattern in the list. */
    async edit(name) {
      await main('Patterns').click();
      await page.getByRole('row').filter({ hasText: name }).getByRole('link').first().click();
      await page.locator('.card').first().waitFor();
    },
  };
};

/** The tutorial's pattern, unless it is there. */
async function greeting(page) {
  const { button, main } = inside(page);
  await main('Patterns').click();
  await page.getByRole('row').filter({ hasText: 'Invoice totals' }).waitFor();
  if ((await page.getByRole('row').filter({ hasText: 'Greeting' }).count()) > 0) return;
  await button('New pattern').click();
  await page.getByRole('dialog').getByLabel('Name').fill('Greeting');
  await button('Create pattern').click();
  for (const type of ['webhook', 'respond']) {
    await button('Add node').click();
    await page.keyboard.type(type);
    await page.getByRole('option').first().waitFor();
    await page.keyboard.press('Enter');
    await page
      .locator('.card')
      .nth(type === 'webhook' ? 0 : 1)
      .waitFor();
  }
  const panel = page.getByRole('tabpanel', { name: 'Parameters' });
  await panel.getByLabel('Body', { exact: true }).first().fill('Hello {{ $input.body.name }}!');
  await panel.getByRole('combobox', { name: 'Body type' }).selectOption('text');
  await page.getByText('Draft on the server').waitFor();
  await button('Save').click();
  await page.getByText('Saved as 2').waitFor();
}

for (const colorScheme of ['light', 'dark']) {
  const page = await browser.newPage({
    viewport: SIZE,
    colorScheme,
    reducedMotion: 'reduce',
    locale: 'en-GB',
  });
  const { button, card, edit, main } = inside(page);
  await page.goto(server);
  await button('Open the demo').click();
  await page.getByText(/Good (morning|afternoon|evening)/).waitFor();

  await greeting(page);
  // Without the notices of that.
  await page.reload();
  await main('Home').click();
  await page.getByRole('link', { name: '15 min' }).click();
  await take(page, `home-${colorScheme}`);

  await edit('Greeting');
  await button('Test').click();
  await page.getByRole('textbox', { name: 'Event, as JSON' }).fill(EVENT);
  await page.keyboard.press('End');
  await button('Run').click();
  await page.locator('.card .result').nth(1).waitFor();
  await card('Respond to webhook').click();
  await page.getByText('"Hello Ada!"').waitFor();
  await take(page, `first-${colorScheme}`);

  await edit('Invoice totals (demo)');
  await button('Test').click();
  await button('Run').click();
  await page.locator('.card .result').nth(10).waitFor();
  await page
    .getByRole('region', { name: /^Problems/ })
    .getByRole('button', { name: 'Close' })
    .click();
  await card('Lines').click();
  await take(page, `editor-${colorScheme}`);

  await main('Deployments').click();
  await page.getByRole('row').filter({ hasText: 'Invoice totals' }).getByRole('link').first().click();
  await page.locator('main').getByRole('link', { name: 'Runs', exact: true }).click();
  await page.getByRole('row').filter({ hasText: 'Succeeded' }).getByRole('link').first().click();
  await page.locator('.card .result').nth(10).waitFor();
  await take(page, `run-${colorScheme}`);
  await page.close();
}
await browser.close();
