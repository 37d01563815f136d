import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Checking, REST_MAX_MS, REST_MS } from '$/screens/editor/checking';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Someone who is asked, and answers after so many milliseconds. */
function asked(takesMs: () => number) {
  const signals: AbortSignal[] = [];
  const checking = new Checking(async (signal) => {
    signals.push(signal);
    await new Promise((resolve) => setTimeout(resolve, takesMs()));
  });
  return { checking, signals };
}
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

test('a single change is asked about at once, and several in a row when they pause', async () => {
  const { checking, signals } = asked(() => 10);
  checking.changed();
  await pass(1);
  expect(signals).toHaveLength(1);
  for (let key = 0; key < 5; key += 1) {
    checking.changed();
    await pass(REST_MS / 2);
  }
  expect(signals).toHaveLength(1);
  expect(signals[0]?.aborted).toBe(true);
  await pass(REST_MS);
  expect(signals).toHaveLength(2);
  // Answered, and at rest: the next one need not wait.
  await pass(1_000);
  checking.changed();
  await pass(1);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, false, false]);
});

test('who takes long is asked once changes have rested for as long, within bounds', async () => {
  let takesMs = 150;
  const { checking, signals } = asked(() => takesMs);
  const restOf = async () => {
    await pass(5_000);
    checking.changed();
    await pass(1);
    const before = signals.length;
    // It is under way.
    checking.changed();
    let rest = 0;
    while (signals.length === before) {
      await pass(1);
      rest += 1;
    }
    return rest;
  };
  void checking.start();
  await pass(1_000);
  expect(await restOf()).toBe(150);
  takesMs = 10_000;
  await restOf();
  await pass(20_000);
  expect(await restOf()).toBe(REST_MAX_MS);
});

test('a change that comes while another one still waits is no single one, however long ago that was', async () => {
  const { checking, signals } = asked(() => 200);
  void checking.start();
  await pass(1_000);
  // Answers take 200 ms: as long as that, changes have to rest.
  checking.changed();
  await pass(50);
  checking.changed();
  for (let key = 0; key < 4; key += 1) {
    await pass(REST_MS + 20);
    checking.changed();
    await pass(1);
    expect(signals).toHaveLength(2);
  }
  await pass(198);
  expect(signals).toHaveLength(2);
  await pass(1);
  expect(signals).toHaveLength(3);
});

test('a change in the moment in which the one before would be asked about waits as well', async () => {
  const { checking, signals } = asked(() => 10);
  checking.changed();
  await pass(1);
  checking.changed();
  // The clock has gone on, and the timer has not fired yet: the thread was busy.
  vi.setSystemTime(Date.now() + REST_MS);
  vi.spyOn(performance, 'now').mockReturnValue(performance.now() + REST_MS);
  checking.changed();
  vi.restoreAllMocks();
  await pass(REST_MS - 1);
  expect(signals).toHaveLength(1);
  await pass(1);
  expect(signals).toHaveLength(2);
});

test('nothing is asked any more once it is stopped', async () => {
  const { checking, signals } = asked(() => 100);
  checking.changed();
  checking.stop();
  await pass(1_000);
  expect(signals).toHaveLength(0);
  void checking.start();
  checking.stop();
  expect(signals[0]?.aborted).toBe(true);
});
