/** What the address says of which runs to list. Pure: `tests/unit/screens.test.ts`. */

import type { WorkspaceFilter } from '$/api/runs';

const STATUSES = ['success', 'failure', 'dead_letter', 'running'] as const;
const TRIGGERS = ['webhook', 'schedule', 'manual'] as const;

/** The filter of a query; values that nobody knows count as not given. */
export function filterOf(query: URLSearchParams): WorkspaceFilter {
  const status = STATUSES.find((each) => each === query.get('status'));
  const triggeredBy = TRIGGERS.find((each) => each === query.get('trigger'));
  const patternId = query.get('pattern');
  const environmentId = query.get('environment');
  const q = query.get('q');
  const [from, to] = [timeOf(query.get('from')), timeOf(query.get('to'))];
  return {
    ...(status && { status }),
    ...(triggeredBy && { triggeredBy }),
    ...(patternId && { patternId }),
    ...(environmentId && { environmentId }),
    ...(q && { q }),
    ...(from && { from }),
    ...(to && { to }),
  };
}

/** A time as the API writes it; undefined if it is none. */
function timeOf(text: string | null): string | undefined {
  const time = text === null ? NaN : Date.parse(text);
  return Number.isNaN(time) ? undefined : new Date(time).toISOString();
}

/** For example `23 Nov, 14:00 – 15:00`; days are named where they differ. */
export function spanText(from: string | undefined, to: string | undefined): string {
  const day = (time: string) =>
    new Date(time).toLocaleDateString('en-GB', { day: 'numeric', month: 'short' });
  const clock = (time: string) =>
    new Date(time).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
  const whole = (time: string) => `${day(time)}, ${clock(time)}`;
  if (from && to) return `${whole(from)} – ${day(from) === day(to) ? clock(to) : whole(to)}`;
  return from ? `since ${whole(from)}` : to ? `until ${whole(to)}` : '';
}
