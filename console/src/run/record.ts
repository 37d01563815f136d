/** A run as it is known so far: from the stream's events, or from what was stored. Immutable. */

import { makeTrace, type Trace, type TraceEntry } from '../graph/trace';
import {
  type EffectEvent,
  type LogLine,
  type NodeEvent,
  outputOf,
  type RunError,
  type TestEvent,
  type TestResult,
} from './events';

export type RunStatus = 'running' | 'completed' | 'failed' | 'paused' | 'cancelled';

/** One execution of a node. */
export interface Execution extends TraceEntry {
  readonly state: 'running' | 'waiting' | 'ended';
}

export interface Effect {
  readonly nodeId: string | null;
  readonly kind: string;
  readonly host: string | null;
  readonly status: number | null;
  readonly error: string | null;
  readonly startedAtMs: number;
  readonly durationUs: number;
}

export interface RunRecord {
  readonly id: string;
  readonly status: RunStatus;
  readonly executions: readonly Execution[];
  readonly effects: readonly Effect[];
  readonly logs: readonly (LogLine & { readonly atMs?: number })[];
  /** Events that are missing. */
  readonly omitted: number;
  readonly output: unknown;
  readonly response?: unknown;
  readonly error: RunError | null;
  readonly breakpoint: { readonly nodeId: string; readonly input?: unknown } | null;
  readonly pinnedNodes: Readonly<Record<string, unknown>> | null;
  readonly durationMs: number;
  readonly fuelUsed: number;
}

export function newRecord(id: string): RunRecord {
  return {
    id,
    status: 'running',
    executions: [],
    effects: [],
    logs: [],
    omitted: 0,
    output: null,
    error: null,
    breakpoint: null,
    pinnedNodes: null,
    durationMs: 0,
    fuelUsed: 0,
  };
}

/** The record after a batch of events. */
export function withEvents(record: RunRecord, events: readonly TestEvent[]): RunRecord {
  if (events.length === 0) return record;
  const executions = [...record.executions];
  const effects = [...record.effects];
  const logs = [...record.logs];
  let next = record;
  for (const event of events) {
    switch (event.type) {
      case 'node':
        addNode(executions, event);
        break;
      case 'log':
        logs.push({
          level: event.level,
          message: event.message,
          nodeId: event.nodeId ?? null,
          atMs: event.atUs / 1_000,
        });
        break;
      case 'effect':
        effects.push(effectOf(event));
        break;
      case 'omitted':
        next = { ...next, omitted: next.omitted + event.events };
        break;
      case 'end':
        return ended({ ...next, executions, effects, logs }, event.result, event.error);
    }
  }
  const last = executions.at(-1);
  const durationMs = Math.max(next.durationMs, last ? last.startedAtMs + last.durationUs / 1_000 : 0);
  return { ...next, executions, effects, logs, durationMs };
}

function addNode(executions: Execution[], event: NodeEvent): void {
  const known = executions[event.execution];
  const startedAtMs = known?.startedAtMs ?? event.atUs / 1_000;
  const isOver = event.phase === 'ended';
  const state = isOver ? 'ended' : event.phase === 'waiting' ? 'waiting' : 'running';
  executions[event.execution] = {
    nodeId: event.nodeId,
    path: event.path,
    startedAtMs: isOver && !known ? Math.max(0, (event.atUs - (event.durationUs ?? 0)) / 1_000) : startedAtMs,
    durationUs: event.durationUs ?? Math.max(0, event.atUs - startedAtMs * 1_000),
    fuel: event.fuel ?? known?.fuel ?? 0,
    port: event.port ?? null,
    output: event.output ?? null,
    error: event.error ?? null,
    pinned: event.pinned ?? false,
    state,
  };
}

function effectOf({ type: _type, seq: _seq, atUs, ...effect }: EffectEvent): Effect {
  return { ...effect, startedAtMs: Math.max(0, (atUs - effect.durationUs) / 1_000) };
}

/** The end: its trace is complete, while events may have been left out. */
function ended(
  record: RunRecord,
  result: TestResult | null,
  error: { readonly code: string; readonly message: string } | null,
): RunRecord {
  if (!result)
    return { ...record, executions: stopped(record.executions), status: 'failed', error: error ?? LOST };
  return {
    ...record,
    status: result.status,
    executions: result.trace?.map((entry) => ({ ...entry, state: 'ended' })) ?? stopped(record.executions),
    logs: result.logs.length >= record.logs.length && record.omitted > 0 ? result.logs : record.logs,
    output: result.output,
    response: result.response,
    error: result.error,
    breakpoint: result.breakpoint ?? null,
    pinnedNodes: result.pinnedNodes ?? null,
    durationMs: result.durationMs,
    fuelUsed: result.fuelUsed,
    omitted: result.traceOmitted ?? (result.trace ? 0 : record.omitted),
  };
}

const LOST: RunError = { code: 'UNAVAILABLE', message: 'The server stopped before the run had ended.' };

function stopped(executions: readonly Execution[]): Execution[] {
  return executions.filter(Boolean).map((it) => (it.state === 'ended' ? it : { ...it, state: 'ended' }));
}

/** The stream has broken off, or was closed by whoever looks on. */
export function brokenOff(record: RunRecord, reason?: RunError): RunRecord {
  if (record.status !== 'running') return record;
  const executions = stopped(record.executions);
  return reason
    ? { ...record, executions, status: 'failed', error: reason }
    : { ...record, executions, status: 'cancelled' };
}

/** The shape of a stored run that its record is made of. */
export interface StoredRun {
  readonly id: string;
  readonly status: string;
  readonly trace?: readonly TraceEntry[] | null;
  readonly logOutput?: readonly LogLine[] | null;
  readonly output?: unknown;
  readonly error?: RunError | null;
  readonly durationMs?: number | null;
  readonly fuelUsed?: number | null;
}

export function recordOf(run: StoredRun): RunRecord {
  const status = run.status === 'running' ? 'running' : run.status === 'success' ? 'completed' : 'failed';
  return {
    ...newRecord(run.id),
    status,
    executions: (run.trace ?? []).map((entry) => ({
      ...entry,
      // Of a run that is parked, the trace ends with the nodes that wait.
      state: status === 'running' && !entry.port && !entry.error ? 'waiting' : 'ended',
    })),
    logs: run.logOutput ?? [],
    output: outputOf(run.output),
    error: run.error ?? null,
    durationMs: run.durationMs ?? 0,
    fuelUsed: run.fuelUsed ?? 0,
  };
}

/** For the graph's overlay and cursor. Executions of which no event has come yet are left out. */
export function traceOf(record: RunRecord): Trace {
  return makeTrace(record.executions.filter(Boolean));
}
