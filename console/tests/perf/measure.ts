/** CPU time of a page's main thread, so that other work on the machine counts as little as can be. */
import type { CDPSession, Page } from '@playwright/test';

/** Begins to count. */
export async function counting(page: Page): Promise<CDPSession> {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('Performance.enable', { timeDomain: 'threadTicks' });
  return cdp;
}

async function metric(cdp: CDPSession, wanted: string): Promise<number> {
  const { metrics } = await cdp.send('Performance.getMetrics');
  return metrics.find(({ name }) => name === wanted)?.value ?? 0;
}

/** CPU time of the main thread since it began, in milliseconds. */
export const busy = async (cdp: CDPSession): Promise<number> => (await metric(cdp, 'TaskDuration')) * 1_000;

/** Bytes of values in use. */
export async function heap(cdp: CDPSession): Promise<number> {
  await cdp.send('HeapProfiler.collectGarbage');
  return metric(cdp, 'JSHeapUsedSize');
}

/** What something costs until it is drawn. */
export async function cost(page: Page, cdp: CDPSession, act: () => Promise<unknown>): Promise<number> {
  const before = await busy(cdp);
  await act();
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  return (await busy(cdp)) - before;
}

export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** Half and 95 % of them, in milliseconds. */
export function told(costs: readonly number[]): string {
  const sorted = [...costs].sort((a, b) => a - b);
  return `${percentile(sorted, 0.5).toFixed(1)} / ${percentile(sorted, 0.95).toFixed(1)} ms`;
}
