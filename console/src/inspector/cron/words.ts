/** A cron expression in words: `0 9 * * 1-5` → "At 09:00, Monday to Friday". */

import type { Cron } from './cron';

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];
const NTH = ['last', 'first', 'second', 'third', 'fourth', 'fifth'];
/** More times than this are not listed one by one. */
const TIMES_MAX = 6;

export function cronWords(cron: Cron): string {
  const parts = [times(cron), ...days(cron), ...months(cron)];
  const text = parts.filter(Boolean).join(', ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function times(cron: Cron): string {
  const { hours, minutes, seconds } = cron;
  const fixed = hours.length * minutes.length * seconds.length;
  if (fixed <= TIMES_MAX && hours.length < 24) {
    const list: string[] = [];
    for (const hour of hours) {
      for (const minute of minutes) {
        for (const second of seconds) list.push(clock(cron, hour, minute, second));
      }
    }
    return `at ${listed(list)}`;
  }
  return [secondWords(cron), minuteWords(cron), hourWords(cron)].filter(Boolean).join(' ');
}

function clock(cron: Cron, hour: number, minute: number, second: number): string {
  const two = (number: number) => String(number).padStart(2, '0');
  const seconds =
    cron.hasSeconds && !(cron.seconds.length === 1 && cron.seconds[0] === 0) ? `:${two(second)}` : '';
  return `${two(hour)}:${two(minute)}${seconds}`;
}

function secondWords({ hasSeconds, seconds }: Cron): string {
  if (!hasSeconds || (seconds.length === 1 && seconds[0] === 0)) return '';
  const step = stepOf(seconds, 60);
  if (step === 1) return 'every second,';
  if (step) return `every ${step} seconds,`;
  return seconds.length === 1 ? `at second ${seconds[0]},` : `at seconds ${listed(seconds.map(String))},`;
}

function minuteWords({ minutes, hours }: Cron): string {
  const step = stepOf(minutes, 60);
  if (step === 1) return 'every minute';
  if (step) return `every ${step} minutes`;
  const inEach = hours.length === 24 ? ' past every hour' : ' past the hour';
  if (minutes.length === 1 && minutes[0] === 0) return hours.length === 24 ? 'every hour' : 'on the hour';
  return `at ${listed(minutes.map(String))} ${minutes.length === 1 && minutes[0] === 1 ? 'minute' : 'minutes'}${inEach}`;
}

function hourWords({ hours }: Cron): string {
  if (hours.length === 24) return '';
  const step = stepOf(hours, 24);
  if (step && step > 1) return `of every ${step === 2 ? 'second' : `${step}th`} hour`;
  const pad = (hour: number) => `${String(hour).padStart(2, '0')}:00`;
  const run = runOf(hours);
  if (run && hours.length > 1) return `from ${pad(run[0])} to ${pad(run[1]).slice(0, 3)}59`;
  return `in the hours ${listed(hours.map(pad))}`;
}

function days({ days: month, weekdays }: Cron): string[] {
  const parts: string[] = [];
  if (!month.any) {
    const list = month.numbers.map(ordinal);
    if (month.last) list.push('last day');
    list.push(...month.nearest.map((day) => `working day nearest to the ${ordinal(day)}`));
    parts.push(`on the ${listed(list)} of the month`);
  }
  if (!weekdays.any) {
    const text = [
      plainDays(weekdays.numbers),
      ...weekdays.nth.map(({ day, nth }) => `the ${NTH[nth]} ${DAYS[day]}`),
    ];
    const joined = listed(text.filter(Boolean));
    const before = parts.length > 0 ? 'and ' : '';
    const on =
      weekdays.numbers.length === 0 || !runOf(weekdays.numbers) || weekdays.numbers.length < 3 ? 'on ' : '';
    parts.push(`${before}${on}${joined}${weekdays.nth.length > 0 ? ' of the month' : ''}`);
  }
  return parts.length > 1 ? [parts.join(' ')] : parts;
}

function plainDays(numbers: readonly number[]): string {
  if (numbers.length === 0) return '';
  if (numbers.length === 7) return 'every day of the week';
  const run = runOf(numbers);
  if (run && numbers.length > 2) return `${DAYS[run[0]]} to ${DAYS[run[1]]}`;
  return listed(numbers.map((day) => DAYS[day] ?? ''));
}

function months({ months: numbers }: Cron): string[] {
  if (numbers.length === 12) return [];
  const run = runOf(numbers);
  if (run && numbers.length > 2) return [`from ${MONTHS[run[0] - 1]} to ${MONTHS[run[1] - 1]}`];
  return [`in ${listed(numbers.map((month) => MONTHS[month - 1] ?? ''))}`];
}

/** The step if the numbers are 0, step, 2·step, … below `size`. */
function stepOf(numbers: readonly number[], size: number): number | undefined {
  const [first, second] = numbers;
  if (first !== 0 || second === undefined || size % second !== 0) return undefined;
  const full =
    numbers.length === size / second && numbers.every((number, index) => number === index * second);
  return full ? second : undefined;
}

/** First and last if the numbers follow each other without a gap. */
function runOf(numbers: readonly number[]): [number, number] | undefined {
  const first = numbers[0];
  const last = numbers.at(-1);
  if (first === undefined || last === undefined) return undefined;
  return last - first === numbers.length - 1 ? [first, last] : undefined;
}

function ordinal(day: number): string {
  const rest = day % 100;
  if (rest >= 11 && rest <= 13) return `${day}th`;
  return `${day}${['th', 'st', 'nd', 'rd'][day % 10] ?? 'th'}`;
}

function listed(words: readonly string[]): string {
  if (words.length < 2) return words[0] ?? '';
  return `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}
