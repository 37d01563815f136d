/** The waterfall of a run: a bar for each execution and effect. Pure. */

import type { Effect, Execution, RunRecord } from './record';

export interface Bar {
  key: string;
  kind: 'node' | 'effect';
  /** Place of the execution in the trace; of an effect, that of the execution that it belongs to. */
  execution: number | undefined;
  nodeId: string | null;
  text: string;
  path: string;
  startMs: number;
  durationMs: number;
  status: 'running' | 'waiting' | 'ok' | 'failed' | 'pinned';
  /** How deep in loops and composites. */
  depth: number;
}

/** Bars in the order of their starts; effects below the execution that they belong to. */
export function barsOf(record: RunRecord, nameOf: (nodeId: string) => string): Bar[] {
  const byNode = new Map<string, Effect[]>();
  for (const effect of record.effects) {
    const list = byNode.get(effect.nodeId ?? '') ?? [];
    list.push(effect);
    byNode.set(effect.nodeId ?? '', list);
  }
  const bars: Bar[] = [];
  record.executions.forEach((execution, place) => {
    if (!execution) return;
    bars.push(barOf(execution, place, nameOf));
    const list = byNode.get(execution.nodeId) ?? [];
    const end = execution.startedAtMs + execution.durationUs / 1_000 + SLACK_MS;
    const own = list.filter(
      (it) => it.startedAtMs >= execution.startedAtMs - SLACK_MS && it.startedAtMs <= end,
    );
    for (const effect of own) bars.push(effectBar(effect, bars.length, place, execution));
    byNode.set(
      execution.nodeId,
      list.filter((it) => !own.includes(it)),
    );
  });
  return bars;
}

/** Clocks of the two are read at different moments. */
const SLACK_MS = 1;

function barOf(execution: Execution, place: number, nameOf: (nodeId: string) => string): Bar {
  return {
    key: `n${place}`,
    kind: 'node',
    execution: place,
    nodeId: execution.nodeId,
    text: nameOf(execution.nodeId),
    path: execution.path,
    startMs: execution.startedAtMs,
    durationMs: execution.durationUs / 1_000,
    status:
      execution.state !== 'ended'
        ? execution.state
        : execution.error
          ? 'failed'
          : execution.pinned
            ? 'pinned'
            : 'ok',
    depth: depthOf(execution),
  };
}

function effectBar(effect: Effect, place: number, execution: number, owner: Execution): Bar {
  const outcome = effect.error ?? (effect.status === null ? '' : String(effect.status));
  return {
    key: `e${place}`,
    kind: 'effect',
    execution,
    nodeId: effect.nodeId,
    text: [effect.kind, effect.host, outcome].filter(Boolean).join(' '),
    path: owner.path,
    startMs: effect.startedAtMs,
    durationMs: effect.durationUs / 1_000,
    status: effect.error ? 'failed' : 'ok',
    depth: depthOf(owner) + 1,
  };
}

/** `orders[3].lines[0]` is two deep, and so is `checkout/pay` in one loop. */
export function depthOf({ nodeId, path }: Pick<Execution, 'nodeId' | 'path'>): number {
  const loops = path === '' ? 0 : path.split('.').length;
  return loops + (nodeId.split('/').length - 1);
}

/** Marks of the axis: three to six round numbers up to the end. */
export function ticksOf(endMs: number): number[] {
  if (!(endMs > 0)) return [0];
  const raw = endMs / 5;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((it) => it * power).find((it) => it >= raw) ?? raw;
  const ticks: number[] = [];
  // Without the noise of 3 × 0.1.
  const at = (count: number) => Number((count * step).toPrecision(12));
  for (let count = 0; at(count) <= endMs; count += 1) ticks.push(at(count));
  return ticks;
}

/** Milliseconds of the whole run. Of a short one, which counts as 0 ms, the end of what it executed last. */
export function durationOf({ durationMs, executions }: RunRecord): number {
  if (durationMs > 0) return durationMs;
  return executions.reduce((end, each) => Math.max(end, each.startedAtMs + each.durationUs / 1_000), 0);
}

/** `12 µs`, `3.4 ms`, `1.2 s`. */
export function timeText(ms: number): string {
  if (ms === 0) return '0';
  if (ms < 1) return `${Math.round(ms * 1_000)} µs`;
  if (ms < 100) return `${Number(ms.toFixed(1))} ms`;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${Number((ms / 1_000).toFixed(1))} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
}

/** `1.2 M` instructions. */
export function fuelText(fuel: number): string {
  if (fuel < 1_000) return String(fuel);
  if (fuel < 1_000_000) return `${Number((fuel / 1_000).toFixed(1))} k`;
  return `${Number((fuel / 1_000_000).toFixed(1))} M`;
}
