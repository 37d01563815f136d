/** Times and durations as people say them. */

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

// Days as the reader writes them; hours always alike, as in lists, on axes and in schedules.
const absolute = new Intl.DateTimeFormat(undefined, {
  dateStyle: 'medium',
  timeStyle: 'medium',
  hourCycle: 'h23',
});
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
const dayOfYear = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', year: 'numeric' });
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'narrow' });

/** For example `3 min ago`, `in 2 h`, `12 Nov`. */
export function ago(time: string | number | Date, now: number = Date.now()): string {
  const at = new Date(time);
  const seconds = (at.getTime() - now) / 1000;
  const size = Math.abs(seconds);
  if (size < 10) return 'now';
  if (size < MINUTE) return relative.format(Math.round(seconds), 'second');
  if (size < HOUR) return relative.format(Math.round(seconds / MINUTE), 'minute');
  if (size < DAY) return relative.format(Math.round(seconds / HOUR), 'hour');
  if (size < 7 * DAY) return relative.format(Math.round(seconds / DAY), 'day');
  return (at.getFullYear() === new Date(now).getFullYear() ? day : dayOfYear).format(at);
}

/** The whole time, in the reader's zone. */
export const fullTime = (time: string | number | Date): string => absolute.format(new Date(time));

/** For example `< 1 ms`, `480 ms`, `2.1 s`, `3 min 5 s`. */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return '–';
  if (ms < 1) return '< 1 ms';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < MINUTE) return `${seconds.toFixed(1)} s`;
  const minutes = Math.floor(seconds / MINUTE);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % MINUTE)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

const counts = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });

/** A number with separators, large ones shortened: `12,340`, `1.2 M`. */
export function count(value: number): string {
  return value >= 1e6 ? `${counts.format(value / 1e6)} M` : counts.format(value);
}
