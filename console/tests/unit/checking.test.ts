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
