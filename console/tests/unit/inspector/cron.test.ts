import { expect, test } from 'vitest';
import { parseCron } from '../../../src/inspector/cron/cron';
import { cronWords } from '../../../src/inspector/cron/words';

function read(text: string) {
  const parsed = parseCron(text);
  if (!parsed.ok) throw new Error(parsed.message);
  return parsed.cron;
}

test.each([
  ['0 9 * * 1-5', 'At 09:00, Monday to Friday'],
  ['* * * * *', 'Every minute'],
  ['*/15 * * * *', 'Every 15 minutes'],
  ['0 * * * *', 'Every hour'],
  ['30 * * * *', 'At 30 minutes past every hour'],
  ['0,30 8-18 * * *', 'Every 30 minutes from 08:00 to 18:59'],
  ['0 0 1 * *', 'At 00:00, on the 1st of the month'],
  ['0 12 L * *', 'At 12:00, on the last day of the month'],
  ['0 6,18 * * *', 'At 06:00 and 18:00'],
  ['0 8 * * 1#1', 'At 08:00, on the first Monday of the month'],
  ['0 8 * 1-3 *', 'At 08:00, from January to March'],
  ['0 8 13 * 5', 'At 08:00, on the 13th of the month and on Friday'],
  ['*/10 * * * * *', 'Every 10 seconds, every minute'],
  ['0 0 * * 0,6', 'At 00:00, on Sunday and Saturday'],
])('%s reads “%s”', (cron, words) => {
  expect(cronWords(read(cron))).toBe(words);
});

test.each([
  ['', /five fields/],
  ['0 9 * *', /here is 4 fields/],
  ['0 25 * * *', /“25” is not one of the hours/],
  ['0 9 * foo *', /“foo”/],
  ['*/0 * * * *', /not a step/],
  ['0 17-9 * * *', /begins after its end/],
])('%s is refused with a reason', (cron, message) => {
  const parsed = parseCron(cron);
  expect(parsed.ok).toBe(false);
  if (!parsed.ok) expect(parsed.message).toMatch(message);
});
