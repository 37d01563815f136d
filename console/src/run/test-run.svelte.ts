/** A test run: compiles the graph on the screen, runs it, and follows it live. */

import type { Doc } from '../graph/model';
import type { RunError, TestEvent } from './events';
import { brokenOff, newRecord, withEvents, type RunRecord } from './record';
import { eventsOf } from './stream';

/** What a test run needs of a server; the editor's screen gives it. */
export interface TestApi {
  /** `POST /api/execute/transpile` with a trace; rejects with an error for people if the graph is not valid. */
  transpile: (request: TestRequest, signal: AbortSignal) => Promise<{ code: string }>;
  /** `POST /api/execute/stream`; rejects if it is not answered with a stream. */
  stream: (request: StreamRequest, signal: AbortSignal) => Promise<ReadableStream<Uint8Array>>;
}

export interface TestRequest {
  doc: Doc;
  breakpoints: readonly string[];
  pinnedNodes: Readonly<Record<string, unknown>>;
}

export interface StreamRequest {
  code: string;
  eventData: unknown;
  triggerNodeId?: string;
  environmentId?: string;
  seed?: number;
  startedAt?: string;
}

export interface Start extends TestRequest, Omit<StreamRequest, 'code'> {
  /** Outputs of an earlier run to go on with, beside the pins. */
  continueWith?: Readonly<Record<string, unknown>>;
}

/** What the run on the screen began with. */
export type Started = Readonly<Start>;

let runs = 0;

export class TestRun {
  record = $state.raw<RunRecord>();
  /** What the record began with; of another run than the one that is being compiled. */
  started = $state.raw<Started>();
  /** How far it is: `compiling` before the run itself. */
  phase = $state<'idle' | 'compiling' | 'running'>('idle');
  /** Why it did not begin. */
  refusal = $state<string>();
  private running: AbortController | undefined;

  constructor(private readonly api: TestApi) {}

  /** Runs; one that is still under way is cancelled. */
  async start(start: Start): Promise<void> {
    this.cancel();
    const controller = new AbortController();
    this.running = controller;
    this.refusal = undefined;
    this.phase = 'compiling';
    try {
      const { doc, breakpoints, pinnedNodes, continueWith, ...rest } = start;
      const pins = { ...continueWith, ...pinnedNodes };
      const { code } = await this.api.transpile({ doc, breakpoints, pinnedNodes: pins }, controller.signal);
      const body = await this.api.stream({ ...rest, code }, controller.signal);
      if (this.running !== controller) return void body.cancel();
      this.phase = 'running';
      runs += 1;
      this.started = start;
      this.record = newRecord(`test-${runs}`);
      await this.follow(body, controller);
    } catch (error) {
      if (this.running !== controller) return;
      const message = error instanceof Error ? error.message : String(error);
      if (this.phase === 'running' && this.record) this.record = brokenOff(this.record, lost(message));
      else this.refusal = message;
    } finally {
      if (this.running === controller) {
        this.running = undefined;
        this.phase = 'idle';
      }
    }
  }

  /** Ends a run by closing its stream. */
  cancel(): void {
    if (!this.running) return;
    this.running.abort();
    this.running = undefined;
    this.phase = 'idle';
    if (this.record) this.record = brokenOff(this.record);
  }

  private async follow(body: ReadableStream<Uint8Array>, controller: AbortController): Promise<void> {
    let batch: TestEvent[] = [];
    let scheduled = false;
    const flush = () => {
      scheduled = false;
      if (this.running !== controller || !this.record) return;
      this.record = withEvents(this.record, batch);
      batch = [];
    };
    for await (const event of eventsOf(body)) {
      if (this.running !== controller) return;
      batch.push(event);
      if (!scheduled) {
        scheduled = true;
        requestAnimationFrame(flush);
      }
    }
    flush();
    if (this.record?.status === 'running') this.record = brokenOff(this.record, lost());
  }
}

function lost(message = 'The connection was lost before the run had ended.'): RunError {
  return { code: 'UNAVAILABLE', message };
}
