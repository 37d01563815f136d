/**
 * From a key to what the server says of it, in the editor of HEDDLE_BIN: findings and previews. By the clock, since most
 * of it is waiting; measured with a release build on an idle machine, and left out where no server is named.
 */
import type { Page } from '@playwright/test';
import { call } from '../e2e/api';
import { expect, test } from '../e2e/fixtures';
import { told } from './measure';

/** Between two keys, so that each is answered by itself. */
const RESTS_MS = 700;
/** Whatever takes longer than this is broken, and not slow. */
const SENSIBLE_MS = 10_000;
/** Says how many there are. */
const PROBLEMS = 'section[aria-label^=Problems] .tabs';
/** What is said of its value. */
const BELOW = '[aria-label=Node] .below';
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
  // It listens before the key comes: both sent at once may arrive in either order.
  const change = await page.evaluateHandle((where) => {
    const watched = document.querySelector(where);
    if (!watched) throw new Error(`There is no ${where}.`);
    let pressed: number | undefined;
    addEventListener('keydown', (event) => (pressed = event.timeStamp), { capture: true, once: true });
    const before = watched.textContent;
    const ms = new Promise<number>((resolve) => {
      const observer = new MutationObserver(() => {
        if (pressed === undefined || watched.textContent === before) return;
        observer.disconnect();
        const began = pressed;
        requestAnimationFrame(() => resolve(performance.now() - began));
      });
      observer.observe(watched, { subtree: true, childList: true, characterData: true });
    });
    return { ms };
  }, where);
  await page.keyboard.press(key);
  return change.evaluate(({ ms }) => ms);
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
    await expect(page.locator(`${BELOW} output`)).toHaveText('1');
    await page.waitForTimeout(RESTS_MS);

    const measured = async (keys: readonly string[], where: string): Promise<number[]> => {
      const all: number[] = [];
      for (const key of keys) {
        all.push(await answered(page, key, where));
        await page.waitForTimeout(RESTS_MS);
      }
      return all;
    };
    const previews = await measured([...'234567890123'], BELOW);
    // A number with a letter is none: it is said, and taken back.
    const findings = await measured(Array(6).fill(['x', 'Backspace']).flat(), PROBLEMS);
    console.log(count, 'nodes', JSON.stringify({ previews: told(previews), findings: told(findings) }));
    expect([...previews, ...findings].every((ms) => ms < SENSIBLE_MS)).toBe(true);
  });
}
