/**
 * What the canvas costs with 200 and 1,000 nodes, in real Chromium under the console's policy: CPU time of the main
 * thread, so that other work on the machine does not count. `npx playwright test -c tests/perf`
 */
import { expect, test, type CDPSession, type Page } from '@playwright/test';
import { busy, cost, counting, percentile, told } from './measure';
import { open, servePage } from './page';

/** Targets, in milliseconds: for a frame its 95th percentile. More than 30 % beyond one of them fails. */
const TARGETS = {
  200: { shown: 400, frame: 6, undo: 16 },
  1000: { shown: 1_000, frame: 16, undo: 16 },
} as const;
const ALLOWED = 1.3;
/** What else runs on the machine makes the same work take longer, never shorter: the best of so many rounds counts. */
const ROUNDS = 4;
const FRAMES = 60;

servePage();

async function opened(page: Page, query: string): Promise<CDPSession> {
  const cdp = await counting(page);
  await open(page, query);
  return cdp;
}

interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  readonly ts: number;
  readonly tdur?: number;
  readonly args: { readonly name?: string; readonly src_func?: string };
}

/** What is done in each frame, inside the page: asking from outside would take frames of its own. */
type Act = 'pan' | 'zoom' | 'drag';

/** CPU time of the main thread in each frame in which something is done, in milliseconds; sorted. */
async function frames(page: Page, cdp: CDPSession, act: Act): Promise<number[]> {
  const events: TraceEvent[] = [];
  const collect = ({ value }: { value: object[] }) => events.push(...(value as TraceEvent[]));
  cdp.on('Tracing.dataCollected', collect);
  await cdp.send('Tracing.start', { traceConfig: { includedCategories: ['toplevel', '__metadata'] } });
  await page.evaluate(drive, { act, count: FRAMES });
  const complete = new Promise((done) => cdp.once('Tracing.tracingComplete', done));
  await cdp.send('Tracing.end');
  await complete;
  cdp.off('Tracing.dataCollected', collect);
  return costs(events);
}

/** Runs in the page: one event in every frame. */
async function drive({ act, count }: { act: Act; count: number }): Promise<void> {
  const target = document.querySelector('.svelte-flow__pane') ?? document.body;
  const common = { bubbles: true, cancelable: true, view: window };
  for (let frame = 0; frame < count; frame += 1) {
    await new Promise((done) => requestAnimationFrame(done));
    const way = frame % 30 < 15 ? 1 : -1;
    if (act === 'drag') {
      const place = { clientX: 600 + frame * 4, clientY: 450 + (frame % 20) * 3, buttons: 1 };
      document.dispatchEvent(new MouseEvent('mousemove', { ...common, ...place }));
      continue;
    }
    const deltas =
      act === 'zoom' ? { deltaY: 2 * way, ctrlKey: true } : { deltaX: 25 * way, deltaY: 20 * way };
    target.dispatchEvent(new WheelEvent('wheel', { ...common, clientX: 720, clientY: 450, ...deltas }));
  }
}

/** The page's main thread, by what it did between the beginnings of its frames. */
function costs(events: readonly TraceEvent[]): number[] {
  const threads = new Map<string, TraceEvent[]>();
  for (const event of events) {
    if (event.ph !== 'X' || event.tdur === undefined || !event.name.endsWith('RunTask')) continue;
    const key = `${event.pid} ${event.tid}`;
    threads.set(key, [...(threads.get(key) ?? []), event]);
  }
  const isFrame = (event: TraceEvent) => event.args.src_func === 'ScheduledActionSendBeginMainFrame';
  const main =
    [...threads.values()].sort((a, b) => b.filter(isFrame).length - a.filter(isFrame).length)[0] ?? [];
  const found: number[] = [];
  for (const event of main.sort((a, b) => a.ts - b.ts)) {
    if (isFrame(event)) found.push(0);
    if (found.length) found[found.length - 1] = (found.at(-1) ?? 0) + (event.tdur ?? 0) / 1_000;
  }
  return found.sort((a, b) => a - b);
}

for (const [count, target] of Object.entries(TARGETS)) {
  test(`${count} nodes`, async ({ page }) => {
    const cdp = await opened(page, `nodes=${count}&wait`);
    const before = await busy(cdp);
    await page.evaluate(() => (globalThis as unknown as { show(): Promise<void> }).show());
    const shown = (await busy(cdp)) - before;
    await page.waitForTimeout(300);
    await page.evaluate(() => {
      const { session } = globalThis as unknown as { session: { ask(request: object): void } };
      session.ask({ kind: 'fit' });
    });
    await page.waitForTimeout(1_000);
    await page.mouse.move(720, 450);
    const report: Record<string, string> = { shown: `${shown.toFixed(0)} ms` };
    const measure = async (name: string, act: Act) => {
      const limit = target.frame * ALLOWED;
      let best: number[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        const found = await frames(page, cdp, act);
        expect(found.length, `frames of ${name}`).toBeGreaterThan(FRAMES / 2);
        if (round === 0 || percentile(found, 0.95) < percentile(best, 0.95)) best = found;
        if (percentile(best, 0.95) < target.frame) break;
      }
      report[name] = told(best);
      expect.soft(percentile(best, 0.95), `${name}, 95th`).toBeLessThan(limit);
    };
    await measure('pan far out', 'pan');
    await page.evaluate(() => {
      const { session } = globalThis as unknown as { session: { reveal(id: string): void } };
      session.reveal('n5');
    });
    await page.waitForTimeout(1_500);
    report['mounted elements'] = String(await page.evaluate(() => document.querySelectorAll('*').length));
    await measure('pan at 50 %', 'pan');
    await measure('zoom', 'zoom');
    await drag(page);
    await measure('drag a node', 'drag');
    await page.mouse.up();
    report['undo, step and frame'] = await undo(page, cdp, target.undo * ALLOWED);
    console.log(count, 'nodes', JSON.stringify(report, null, 2));
    expect(shown, 'shown').toBeLessThan(target.shown * ALLOWED);
  });
}

/** Presses on the node nearest to the middle and begins to move it. */
async function drag(page: Page): Promise<void> {
  const place = await page.evaluate(() => {
    const boxes = [...document.querySelectorAll('.svelte-flow__node .label')].map((node) =>
      node.getBoundingClientRect(),
    );
    const inside = boxes.filter(
      (box) => box.left > 300 && box.right < 1100 && box.top > 200 && box.bottom < 700,
    );
    const [box] = inside;
    return box ? { x: box.left + 5, y: box.top + 5 } : undefined;
  });
  if (!place) throw new Error('No node is in the middle.');
  await page.mouse.move(place.x, place.y);
  await page.mouse.down();
  await page.mouse.move(place.x + 8, place.y + 8);
}

async function undo(page: Page, cdp: CDPSession, limit: number): Promise<string> {
  interface Undoes {
    dispatch(edit: object): void;
    undo(): void;
  }
  const costs: number[] = [];
  for (let round = 0; round < 15; round += 1) {
    await page.evaluate((x) => {
      const { session } = globalThis as unknown as { session: Undoes };
      session.dispatch({ kind: 'move', definition: null, nodes: { n5: { x, y: 40 } } });
    }, 1_400 + round);
    await page.waitForTimeout(50);
    costs.push(
      await cost(page, cdp, () =>
        page.evaluate(() => (globalThis as unknown as { session: Undoes }).session.undo()),
      ),
    );
  }
  costs.sort((a, b) => a - b);
  expect.soft(percentile(costs, 0.5), 'undo').toBeLessThan(limit);
  return told(costs);
}
