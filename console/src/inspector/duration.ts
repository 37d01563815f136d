/** Durations: milliseconds, as people write and read them. */

const UNITS: readonly (readonly [name: string, ms: number, pattern: RegExp])[] = [
  ['d', 86_400_000, /^(?:d|days?)$/],
  ['h', 3_600_000, /^(?:h|hours?|hrs?)$/],
  ['min', 60_000, /^(?:m|min|mins|minutes?)$/],
  ['s', 1_000, /^(?:s|secs?|seconds?)$/],
  ['ms', 1, /^(?:ms|milliseconds?)$/],
];

/** `5400000` → `1 h 30 min`. */
export function durationText(ms: number): string {
  if (!Number.isFinite(ms)) return '';
  if (ms === 0) return '0 ms';
  const parts: string[] = [];
  let rest = Math.abs(Math.round(ms));
  for (const [name, size] of UNITS) {
    const count = Math.floor(rest / size);
    if (count > 0) parts.push(`${count} ${name}`);
    rest -= count * size;
  }
  return (ms < 0 ? '−' : '') + parts.join(' ');
}

/** `1h 30min`, `90 s`, `1.5 hours` or a number of milliseconds → milliseconds; `undefined` if it is none of these. */
export function parseDuration(text: string): number | undefined {
  const trimmed = text.trim().toLowerCase().replaceAll(',', '.');
  if (/^\d+$/.test(trimmed)) return Number(trimmed);
  const part = /(\d+(?:\.\d+)?)\s*([a-z]+)\s*/y;
  let total = 0;
  let at = 0;
  while (at < trimmed.length) {
    part.lastIndex = at;
    const match = part.exec(trimmed);
    const size = match && UNITS.find(([, , pattern]) => pattern.test(match[2] ?? ''))?.[1];
    if (!match || size === undefined || size === null) return undefined;
    total += Number(match[1]) * size;
    at = part.lastIndex;
  }
  return at === 0 ? undefined : Math.round(total);
}
