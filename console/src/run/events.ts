/** What `POST /api/execute/stream` and replays send, and what stored runs have: the shapes of the API. */

import type { TraceEntry } from '../graph/trace';

export type TestEvent = NodeEvent | LogEvent | EffectEvent | OmittedEvent | EndEvent;

interface Numbered {
  readonly seq: number;
}

/** What an execution of a node does. */
export interface NodeEvent extends Numbered {
  readonly type: 'node';
  readonly atUs: number;
  /** The execution's place in the trace. */
  readonly execution: number;
  readonly nodeId: string;
  readonly path: string;
  readonly phase: 'started' | 'waiting' | 'resumed' | 'ended';
  readonly durationUs?: number;
  readonly fuel?: number;
  readonly port?: string | null;
  readonly output?: unknown;
  readonly error?: RunError | null;
  readonly pinned?: boolean;
}

export interface LogEvent extends Numbered, LogLine {
  readonly type: 'log';
  readonly atUs: number;
}

/** An effect that has ended. */
export interface EffectEvent extends Numbered {
  readonly type: 'effect';
  readonly atUs: number;
  readonly nodeId: string | null;
  readonly kind: string;
  readonly host: string | null;
  readonly status: number | null;
  readonly error: string | null;
  readonly durationUs: number;
}

/** Events that were left out, as this side was too slow for them. */
export interface OmittedEvent extends Numbered {
  readonly type: 'omitted';
  readonly events: number;
}

export interface EndEvent extends Numbered {
  readonly type: 'end';
  readonly result: TestResult | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  /** Of a replay: how it compares with the run. */
  readonly replay?: ReplayVerdict;
}

/** What a replay is worth. */
export interface ReplayVerdict {
  readonly end: 'same' | 'stopped' | 'incomplete' | 'different';
  readonly variables: 'same' | 'unsure' | 'unknown';
  /** The same for people. */
  readonly message: string;
}

export interface RunError {
  readonly message: string;
  readonly code: string;
  readonly nodeId?: string | null;
}

export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly nodeId?: string | null;
}

export interface TestResult {
  readonly status: 'completed' | 'failed' | 'paused';
  readonly logs: readonly LogLine[];
  readonly output: unknown;
  readonly error: RunError | null;
  readonly response?: unknown;
  /** Where it paused. */
  readonly breakpoint?: { readonly nodeId: string; readonly input?: unknown } | null;
  /** Outputs of what has run: pins to go on with. */
  readonly pinnedNodes?: Readonly<Record<string, unknown>> | null;
  readonly durationMs: number;
  readonly fuelUsed: number;
  readonly trace?: readonly TraceEntry[];
  readonly traceOmitted?: number;
}

/** The value's place was taken by an excerpt, since it is large. */
export interface Excerpt {
  readonly truncated: true;
  readonly bytes: number;
  readonly excerpt?: string;
}

/** Whether a value is the mark of one that was cut. */
export function isExcerpt(value: unknown): value is Excerpt {
  return (
    typeof value === 'object' &&
    value !== null &&
    (value as { truncated?: unknown }).truncated === true &&
    typeof (value as { bytes?: unknown }).bytes === 'number' &&
    Object.keys(value).every((name) => ['truncated', 'bytes', 'excerpt'].includes(name))
  );
}

/** A stored run's output. The mark of one that was cut is named otherwise there than in traces. */
export function outputOf(stored: unknown): unknown {
  if (typeof stored !== 'object' || stored === null) return stored ?? null;
  const { $truncated, bytes, excerpt } = stored as Record<string, unknown>;
  if ($truncated !== true || typeof bytes !== 'number') return stored;
  return { truncated: true, bytes, ...(typeof excerpt === 'string' && { excerpt }) } satisfies Excerpt;
}
