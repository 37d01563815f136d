/** A run that has ended, executed once more from its journal to show what each node did. Nothing leaves the server. */

import type { ReplayVerdict, TestEvent } from './events';
import { brokenOff, newRecord, withEvents, type RunRecord } from './record';
import { eventsOf } from './stream';

/** `POST …/runs/{id}/trace`; rejects with an error for people if the run can't be replayed. */
export type ReplayApi = (signal: AbortSignal) => Promise<ReadableStream<Uint8Array>>;

export class Replay {
  /** What the replay has done so far; undefined before it has begun. */
  record = $state.raw<RunRecord>();
  phase = $state<'idle' | 'running'>('idle');
  /** How it compares with the run, once it has ended. */
  verdict = $state.raw<ReplayVerdict>();
  /** Why there is none. */
  refusal = $state<string>();
  private running: AbortController | undefined;

  constructor(private readonly api: ReplayApi) {}

  async start(): Promise<void> {
    this.cancel();
    const controller = new AbortController();
    this.running = controller;
    this.refusal = undefined;
    this.verdict = undefined;
    this.phase = 'running';
    try {
      const body = await this.api(controller.signal);
      let record = newRecord('replay');
      for await (const event of eventsOf(body)) {
        if (this.running !== controller) return;
        record = this.hear(record, event);
      }
      if (this.running !== controller) return;
      this.record = record.status === 'running' ? brokenOff(record, LOST) : record;
      if (!this.verdict) this.refusal = (this.record.error ?? LOST).message;
    } catch (error) {
      if (this.running !== controller) return;
      this.refusal = error instanceof Error ? error.message : String(error);
    } finally {
      if (this.running === controller) {
        this.running = undefined;
        this.phase = 'idle';
      }
    }
  }

  /** Ends it by closing its stream. */
  cancel(): void {
    this.running?.abort();
    this.running = undefined;
    this.phase = 'idle';
  }

  private hear(record: RunRecord, event: TestEvent): RunRecord {
    if (event.type === 'end' && event.replay) this.verdict = event.replay;
    return withEvents(record, [event]);
  }
}

const LOST = {
  code: 'UNAVAILABLE',
  message: 'The connection was lost before the replay had ended. Try again.',
};

/** The run as it ended, with the steps of its replay. */
export function replayed(run: RunRecord, replay: RunRecord): RunRecord {
  return {
    ...run,
    executions: replay.executions,
    effects: replay.effects,
    omitted: replay.omitted,
    // The lines are the same, but those of the replay have their times.
    logs: replay.logs.length >= run.logs.length ? replay.logs : run.logs,
    // The scale of the steps, whose times are the replay's.
    durationMs: replay.durationMs,
  };
}
