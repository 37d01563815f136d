import { describe, expect, test } from 'vitest';
import type { ReplayVerdict, TestEvent, TestResult } from '../../../src/run/events';
import { recordOf } from '../../../src/run/record';
import { Replay, replayed } from '../../../src/run/replay.svelte';
import captured from './run.json';

const result = captured.result as unknown as TestResult;
const same: ReplayVerdict = { end: 'same', variables: 'same', message: 'The replay ended as the run did.' };
const end: TestEvent = { type: 'end', seq: 1, result, error: null, replay: same };
const log: TestEvent = { type: 'log', seq: 0, atUs: 2_000, level: 'info', message: 'hello', nodeId: 'note' };

/** A stream of these events, cut where no event ends. */
function stream(events: readonly TestEvent[]): ReadableStream<Uint8Array> {
  const text = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
  const bytes = new TextEncoder().encode(text);
  return new ReadableStream({
    start(controller) {
      for (let at = 0; at < bytes.length; at += 1_000) controller.enqueue(bytes.slice(at, at + 1_000));
      controller.close();
    },
  });
}

const stored = recordOf({
  id: 'r',
  status: 'failure',
  logOutput: [{ level: 'info', message: 'hello', nodeId: 'note' }],
  error: { code: 'UNLUCKY', message: 'no luck', nodeId: 'boom' },
  durationMs: 7_200_000,
  fuelUsed: 1_234,
});

describe('a replay', () => {
  test('gives the run its steps and leaves its end as it was', async () => {
    const replay = new Replay(async () => stream([log, end]));
    await replay.start();
    expect(replay.verdict).toEqual(same);
    expect(replay.refusal).toBeUndefined();
    const record = replayed(stored, replay.record!);
    expect(record.executions.map(({ nodeId }) => nodeId)).toEqual(result.trace?.map(({ nodeId }) => nodeId));
    expect(record).toMatchObject({ id: 'r', status: 'failed', error: { code: 'UNLUCKY' }, fuelUsed: 1_234 });
    expect(record.logs).toEqual([{ level: 'info', message: 'hello', nodeId: 'note', atMs: 2 }]);
    expect(record.durationMs).toBe(result.durationMs);
  });

  test('that is refused says why, and can be tried again', async () => {
    const answers = [
      async () => Promise.reject(new Error('The module of this run is not kept any more.')),
      async () => stream([end]),
    ];
    const replay = new Replay(async () => answers.shift()!());
    await replay.start();
    expect([replay.refusal, replay.record, replay.phase]).toEqual([
      'The module of this run is not kept any more.',
      undefined,
      'idle',
    ]);
    await replay.start();
    expect([replay.refusal, replay.verdict]).toEqual([undefined, same]);
  });

  test('whose stream breaks off, or whose time is over, says so', async () => {
    const broken = new Replay(async () => stream([log]));
    await broken.start();
    expect([broken.verdict, broken.refusal]).toEqual([
      undefined,
      expect.stringContaining('connection was lost'),
    ]);
    const error = { code: 'EXECUTION_TIMEOUT', message: 'The execution took longer than 300 ms.' };
    const late = new Replay(async () => stream([{ type: 'end', seq: 0, result: null, error }]));
    await late.start();
    expect(late.refusal).toBe(error.message);
  });

  test('that is cancelled is told nothing more', async () => {
    let aborted = false;
    const replay = new Replay(async (signal) => {
      signal.addEventListener('abort', () => (aborted = true));
      return stream([end]);
    });
    const started = replay.start();
    replay.cancel();
    await started;
    expect([aborted, replay.record, replay.verdict, replay.phase]).toEqual([
      true,
      undefined,
      undefined,
      'idle',
    ]);
  });
});
