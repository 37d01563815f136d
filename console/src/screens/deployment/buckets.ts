/** Figures by time, with the empty buckets that the server leaves out. Pure: `tests/unit/buckets.test.ts`. */

import type { Period } from '$/api/queries';
import type { Bucket } from '$/parts/Chart.svelte';

const MINUTE_MS = 60_000;

/** Size and number of buckets by period, as the API has them. */
const SIZES: Readonly<Record<Period, { ms: number; count: number }>> = {
  '15m': { ms: MINUTE_MS, count: 15 },
  '24h': { ms: 60 * MINUTE_MS, count: 24 },
  '7d': { ms: 6 * 60 * MINUTE_MS, count: 28 },
  '30d': { ms: 24 * 60 * MINUTE_MS, count: 30 },
};

interface Given {
  bucket: string;
  count: number;
  success: number;
  failure: number;
}

/** All buckets of a period that ends now. */
export function bucketsOf(given: readonly Given[], period: Period, now: Date): Bucket[] {
  const { ms, count } = SIZES[period];
  const byTime = new Map(given.map((each) => [new Date(each.bucket).getTime(), each]));
  const last = Math.floor(now.getTime() / ms) * ms;
  return Array.from({ length: count }, (_, at) => {
    const time = last - (count - 1 - at) * ms;
    const { success = 0, failure = 0, count: all = 0 } = byTime.get(time) ?? {};
    return {
      time: new Date(time).toISOString(),
      success,
      failure,
      other: Math.max(0, all - success - failure),
    };
  });
}

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const day = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short' });
const dayAndHour = new Intl.DateTimeFormat('en', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
});

/** How times of a period are written. */
export function bucketFormat(period: Period): (time: string) => string {
  const format = period === '30d' ? day : period === '7d' ? dayAndHour : clock;
  return (time) => format.format(new Date(time));
}
