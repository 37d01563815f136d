/** What a trace of 5,000 entries costs: opened, and stepped through. */
import { expect, test } from '@playwright/test';
import { cost, counting, percentile, told } from './measure';
import { COMPONENTS, open, servePage } from './page';

servePage(COMPONENTS);

/** Targets, in milliseconds. More than 30 % beyond one of them fails. */
const OPENED_MS = 500;
const STEPPED_MS = 16;
const ALLOWED = 1.3;
const STEPS = 60;

test('a trace of 5,000 entries', async ({ page }) => {
  const cdp = await counting(page);
  await open(page, 'scene=long&wait', 'run/index.html');
  const opened = await cost(page, cdp, () =>
    page.evaluate(() => (globalThis as unknown as { show(): Promise<void> }).show()),
  );
  const steps: number[] = [];
  for (let step = 0; step < STEPS; step += 1) {
    steps.push(
      await cost(page, cdp, () =>
        page.evaluate(() => document.querySelector<HTMLElement>('[aria-label="One step back"]')?.click()),
      ),
    );
  }
  steps.sort((a, b) => a - b);
  console.log('trace', JSON.stringify({ opened: `${opened.toFixed(0)} ms`, stepped: told(steps) }));
  expect.soft(opened, 'opened').toBeLessThan(OPENED_MS * ALLOWED);
  expect.soft(percentile(steps, 0.5), 'stepped').toBeLessThan(STEPPED_MS * ALLOWED);
});
