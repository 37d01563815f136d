/** Figures of usage as people read them. Pure: `tests/unit/usage.test.ts`. */

import type { QuotaStanding, UsageSpan } from '$/api/usage';
import { bytes } from '$/parts/bytes';
import { count } from '$/parts/time';

const isOfBytes = (quota: QuotaStanding): boolean => /bytes/i.test(quota.name);

/** A quota's name for people, which begins a line: `Runs per month`. */
export const title = (quota: QuotaStanding): string => {
  const text = quota.name === 'storageBytes' ? 'storage' : quota.counts.replace(/^bytes sent/, 'data sent');
  return text.charAt(0).toUpperCase() + text.slice(1);
};

/** How much of it is used, and of how much: `12 of 100`, `12`, `at most 100`. */
export function used(quota: QuotaStanding): string {
  const text = isOfBytes(quota) ? bytes : count;
  const { limit } = quota;
  const now = quota.used;
  if (now === null || now === undefined) {
    return limit === null || limit === undefined ? 'no limit' : `at most ${text(limit)}`;
  }
  return limit === null || limit === undefined ? `${text(now)}, no limit` : `${text(now)} of ${text(limit)}`;
}

/** Which part of it is used, from 0 to 1; none if it has no limit. */
export function share(quota: QuotaStanding): number | undefined {
  const { limit, used: now } = quota;
  if (limit === null || limit === undefined || now === null || now === undefined) return undefined;
  return limit === 0 ? 1 : Math.min(1, now / limit);
}

const DAY_MS = 86_400_000;

/** Every day of the month up to now, in UTC, as bars of runs. */
export function daysOf(spans: readonly UsageSpan[], now: Date) {
  const found = new Map(spans.map((span) => [Date.parse(span.beganAt), span]));
  const first = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1);
  return Array.from({ length: now.getUTCDate() }, (_, day) => {
    const began = first + day * DAY_MS;
    const span = found.get(began);
    const failure = span?.failedRuns ?? 0;
    return {
      time: new Date(began).toISOString(),
      success: (span?.runs ?? 0) - failure,
      failure,
      other: 0,
    };
  });
}

/** The month's sums. */
export function totals(spans: readonly UsageSpan[]) {
  const sum = (of: (span: UsageSpan) => number): number => spans.reduce((total, span) => total + of(span), 0);
  return [
    { label: 'Runs', value: count(sum((span) => span.runs)) },
    { label: 'Failed', value: count(sum((span) => span.failedRuns)) },
    { label: 'Fuel', value: count(sum((span) => span.fuel)) },
    { label: 'Memory', value: `${count(sum((span) => span.memoryMibSeconds))} MiB s` },
    { label: 'Effects', value: count(sum((span) => span.effects)) },
    { label: 'Data sent', value: bytes(sum((span) => span.egressBytes)) },
  ];
}
