/**
 * From a key to what the server says of it, in the editor of HEDDLE_BIN: findings and previews. By the clock, since most
 * of it is waiting; measured with a release build on an idle machine, and left out where no server is named.
 */
import type { Page } from '@playwright/test';
import { call } from '../e2e/api';
import { expect, test } from '../e2e/fixtures';
import { told } from './measure';

const KEYS = 30;
/** Says how many there are. */
const PROBLEMS = 'section[aria-label^=Problems] .tabs';
/** The field of the node that is written in. */
const FIELD = '[aria-label=Node] .cm-content';

test.skip(!process.env['HEDDLE_BIN'], 'HEDDLE_BIN names no server');

/** A chain of so many nodes that all have an expression. */
function chain(count: number): object {
  const node = (at: number) => ({
    id: `n${at}`,
    type: at === 0 ? 'OnManual' : 'Transform',
    position: { x: at * 220, y: 0 },
    data: {
      label: `Step ${at}`,
      parameters: at === 0 ? {} : { value: at === 1 ? '{{ 1 }}' : '{{ $input }}' },
    },
  });
  const edge = (at: number) => ({ id: `e${at}`, source: `n${at}`, target: `n${at + 1}` });
  return {
    nodes: Array.from({ length: count }, (_, at) => node(at)),
    edges: Array.from({ length: count - 1 }, (_, at) => edge(at)),
  };
}

/** Milliseconds from pressing a key until an element says something else, and it is drawn. */
async function answered(page: Page, key: string, where: string): Promise<number> {
  const ms = page.evaluate(
    (where) =>
      new Promise<number>((resolve, reject) => {
        let pressed = 0;
        addEventListener('keydown', (event) => (pressed = event.timeStamp), { capture: true, once: true });
        const watched = document.querySelector(where);
        if (!watched) return reject(new Error(`There is no ${where}.`));
        const before = watched.textContent;
        const observer = new MutationObserver(() => {
          if (watched.textContent === before) return;
          observer.disconnect();
          requestAnimationFrame(() => resolve(performance.now() - pressed));
        });
        observer.observe(watched, { subtree: true, childList: true, characterData: true });
      }),
    where,
  );
  await page.keyboard.press(key);
  return ms;
}

for (const count of [13, 200, 1_000]) {
  test(`typing in a pattern of ${count} nodes`, async ({ page, account }) => {
    test.setTimeout(120_000);
    const { id } = await call<{ id: string }>(page, 'POST', '/api/patterns/import', {
      name: `Chain of ${count}`,
      graphData: chain(count),
    });
    await page.goto(`/w/${account.workspace}/patterns/${id}`);
    await page.locator('[role=application]').focus();
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await page.locator(FIELD).click();
    await page.keyboard.press('End');
    for (let at = 0; at < 3; at += 1) await page.keyboard.press('ArrowLeft');
    await expect(page.locator('[aria-label=Node] output')).toHaveText('1');
    await page.waitForTimeout(1_500);

    const [previews, findings]: [number[], number[]] = [[], []];
    const rest = () => page.waitForTimeout(400);
    for (let at = 0; at < KEYS; at += 1) {
      previews.push(await answered(page, String(1 + (at % 9)), '[aria-label=Node] output'));
      await rest();
      // A number with a letter is none: said below the field, and among the problems.
      findings.push(await answered(page, 'x', PROBLEMS));
      await rest();
      await page.keyboard.press('Backspace');
      await page.keyboard.press('Backspace');
      await rest();
      await page.keyboard.press('1');
      await page.keyboard.press('Backspace');
      await rest();
    }
    console.log(count, 'nodes', JSON.stringify({ previews: told(previews), findings: told(findings) }));
    expect(findings).toHaveLength(KEYS);
  });
}
