/** What a test run can do next: from the beginning, on from a pause, or on from a node. Pure. */

import type { Catalogue } from '../graph/catalogue';
import type { Doc } from '../graph/model';
import { pinnedNodes } from '../graph/pins';
import { canStepInto, changedNodes, continuationFrom, stepPoints, type Continuation } from './continue';
import type { RunRecord } from './record';
import type { Start, Started } from './test-run.svelte';

/** A test run that is over, with the graph as it is now. */
export interface Last {
  readonly catalogue: Catalogue;
  readonly doc: Doc;
  readonly started: Started;
  readonly record: RunRecord;
}

export interface Next extends Continuation {
  /** What to run. */
  readonly start: Start;
  /** Nodes before it that were changed since: what they gave before is used. */
  readonly stale: readonly string[];
}

/** Where the last run is gone on from if nobody says: what was changed since, else where it failed or paused. */
export function begins({ doc, started, record }: Last): string[] {
  const changed = changedNodes(started.doc, doc);
  const executed = new Set(record.executions.map((it) => it?.nodeId));
  const again = changed.filter((path) => executed.has(path));
  if (again.length > 0) return again;
  const stopped = record.breakpoint?.nodeId ?? record.error?.nodeId;
  return stopped ? [stopped] : [];
}

/** Goes on from these nodes, with what ran before them as it was; undefined if there is nothing to keep. */
export function onFrom(
  last: Last,
  wanted: readonly string[],
  breakpoints: readonly string[],
): Next | undefined {
  const { doc, started, record } = last;
  if (record.status === 'running' || wanted.length === 0) return undefined;
  const found = continuationFrom(last, wanted);
  if (found.from.length === 0 || Object.keys(found.pins).length === 0) return undefined;
  const stale = changedNodes(started.doc, doc).filter((path) => path in found.pins);
  const start: Start = {
    doc,
    breakpoints: breakpoints.filter((it) => !wanted.includes(it)),
    pinnedNodes: pinnedNodes(doc),
    continueWith: found.pins,
    eventData: started.eventData,
    ...(started.triggerNodeId !== undefined && { triggerNodeId: started.triggerNodeId }),
    ...(started.environmentId !== undefined && { environmentId: started.environmentId }),
  };
  return { ...found, start, stale };
}

/** Executes the node before which the last run has paused, and pauses again; `into` pauses inside of it. */
export function stepOn(last: Last, into = false): Next | undefined {
  const at = last.record.status === 'paused' ? last.record.breakpoint?.nodeId : undefined;
  if (at === undefined) return undefined;
  const next = onFrom(last, [at], stepPoints(last, last.record, at, into));
  return next;
}

/** Whether the node before which the last run has paused has an inside. */
export function hasInside(last: Last): boolean {
  const at = last.record.status === 'paused' ? last.record.breakpoint?.nodeId : undefined;
  return at !== undefined && canStepInto(last, at);
}

/** Where a run that is stepped from its beginning pauses: before what follows the trigger. */
export function firstStep(catalogue: Catalogue, doc: Doc): string[] {
  return stepPoints({ catalogue, doc }, undefined, undefined);
}
