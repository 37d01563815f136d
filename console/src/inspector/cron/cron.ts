/**
 * Cron expressions: reading them. Five fields, or six that begin with seconds; names of months and days, ranges, steps,
 * lists, `L` for the last day, `5L` for the last Friday, `1#2` for the second Monday and `15W` for the nearest working day.
 */

export interface Cron {
  seconds: readonly number[];
  minutes: readonly number[];
  hours: readonly number[];
  days: DayOfMonth;
  months: readonly number[];
  weekdays: Weekdays;
  hasSeconds: boolean;
}

export interface DayOfMonth {
  any: boolean;
  numbers: readonly number[];
  /** The month's last day. */
  last: boolean;
  /** The working days nearest to these. */
  nearest: readonly number[];
}

export interface Weekdays {
  any: boolean;
  /** 0 is Sunday. */
  numbers: readonly number[];
  /** These weekdays at their `nth` time in the month; 0 is the last time. */
  nth: readonly { day: number; nth: number }[];
}

export type Parsed = { ok: true; cron: Cron } | { ok: false; message: string };

interface FieldKind {
  name: string;
  min: number;
  max: number;
  names?: readonly string[];
}

const SECONDS: FieldKind = { name: 'seconds', min: 0, max: 59 };
const MINUTES: FieldKind = { name: 'minutes', min: 0, max: 59 };
const HOURS: FieldKind = { name: 'hours', min: 0, max: 23 };
const DAYS: FieldKind = { name: 'days of the month', min: 1, max: 31 };
const MONTHS: FieldKind = {
  name: 'months',
  min: 1,
  max: 12,
  names: ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'],
};
const WEEKDAYS: FieldKind = {
  name: 'days of the week',
  min: 0,
  max: 7,
  names: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'],
};

class Mistake extends Error {}

/** Reads an expression. */
export function parseCron(text: string): Parsed {
  const parts = text.trim().split(/\s+/).filter(Boolean);
  if (parts.length === 0)
    return { ok: false, message: 'Write five fields: minute, hour, day, month, day of the week.' };
  if (parts.length !== 5 && parts.length !== 6) {
    const given = parts.length === 1 ? 'one field' : `${parts.length} fields`;
    return { ok: false, message: `There must be five fields, or six with seconds first; here is ${given}.` };
  }
  const hasSeconds = parts.length === 6;
  const [seconds = '0', minutes = '', hours = '', days = '', months = '', weekdays = ''] = hasSeconds
    ? parts
    : ['0', ...parts];
  try {
    const cron: Cron = {
      seconds: numbers(seconds, SECONDS),
      minutes: numbers(minutes, MINUTES),
      hours: numbers(hours, HOURS),
      days: dayOfMonth(days),
      months: numbers(months, MONTHS),
      weekdays: dayOfWeek(weekdays),
      hasSeconds,
    };
    return { ok: true, cron };
  } catch (error) {
    if (error instanceof Mistake) return { ok: false, message: error.message };
    throw error;
  }
}

function numbers(text: string, kind: FieldKind): number[] {
  const found = new Set<number>();
  for (const part of text.split(',')) {
    for (const number of range(part, kind)) found.add(number);
  }
  return [...found].sort((a, b) => a - b);
}

function range(part: string, kind: FieldKind): number[] {
  const [span = '', stepText, ...more] = part.split('/');
  if (more.length > 0) throw new Mistake(`“${part}” in the ${kind.name} has more than one step.`);
  const step = stepText === undefined ? 1 : Number(stepText);
  if (!Number.isInteger(step) || step < 1 || step > kind.max) {
    throw new Mistake(`“${stepText}” is not a step for ${kind.name}.`);
  }
  const [from, to] = bounds(span, kind, stepText !== undefined);
  if (from > to) throw new Mistake(`“${part}” in the ${kind.name} begins after its end.`);
  const found: number[] = [];
  for (let number = from; number <= to; number += step) found.push(number);
  return found;
}

function bounds(span: string, kind: FieldKind, hasStep: boolean): [number, number] {
  const last = kind === WEEKDAYS ? 6 : kind.max;
  if (span === '*' || span === '?') return [kind.min, last];
  const ends = span.split('-');
  if (ends.length > 2) throw new Mistake(`“${span}” is not a range of ${kind.name}.`);
  const from = single(ends[0] ?? '', kind);
  if (ends[1] !== undefined) return [from, single(ends[1], kind)];
  // A number with a step means from there to the end.
  return [from, hasStep ? last : from];
}

function single(text: string, kind: FieldKind): number {
  const named = kind.names?.indexOf(text.toLowerCase()) ?? -1;
  if (named >= 0) return named + kind.min;
  const number = /^\d{1,2}$/.test(text) ? Number(text) : NaN;
  if (!(number >= kind.min && number <= kind.max)) {
    throw new Mistake(`“${text}” is not one of the ${kind.name}, ${kind.min} to ${kind.max}.`);
  }
  return number;
}

function dayOfMonth(text: string): DayOfMonth {
  const plain: string[] = [];
  const nearest: number[] = [];
  let last = false;
  for (const part of text.split(',')) {
    const upper = part.toUpperCase();
    if (upper === 'L') last = true;
    else if (/^\d{1,2}W$/.test(upper)) nearest.push(single(upper.slice(0, -1), DAYS));
    else plain.push(part);
  }
  return {
    any: plain.length === 1 && !last && nearest.length === 0 && /^(?:\*|\?|\*\/1)$/.test(plain[0] ?? ''),
    numbers: plain.length > 0 ? numbers(plain.join(','), DAYS) : [],
    last,
    nearest,
  };
}

function dayOfWeek(text: string): Weekdays {
  const plain: string[] = [];
  const nth: { day: number; nth: number }[] = [];
  for (const part of text.split(',')) {
    const special = /^(\w{1,3}?)(?:#([1-5])|#?(L))$/i.exec(part);
    if (special && (special[2] || special[3])) {
      nth.push({ day: single(special[1] ?? '', WEEKDAYS) % 7, nth: special[2] ? Number(special[2]) : 0 });
    } else plain.push(part);
  }
  const days = plain.length > 0 ? numbers(plain.join(','), WEEKDAYS) : [];
  return {
    any: plain.length === 1 && nth.length === 0 && /^(?:\*|\?|\*\/1)$/.test(plain[0] ?? ''),
    // Sunday is both 0 and 7.
    numbers: [...new Set(days.map((day) => day % 7))].sort((a, b) => a - b),
    nth,
  };
}
