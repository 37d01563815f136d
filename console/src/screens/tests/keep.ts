/** A test run of the editor as a test that is kept. Pure. */

import type { Case } from '$/api/tests';
import type { Began, RunRecord } from '$/run';
import { reachesOutside } from '$/run/effects';
import { isExcerpt } from '$/run/events';

/** A case that expects what this run gave. What it did outside is pinned, where one value says it. */
export function caseOf(name: string, began: Began, record: RunRecord): Partial<Case> & { name: string } {
  const pins: Record<string, unknown> = { ...began.pins };
  const outside = record.effects.filter(({ kind, nodeId }) => nodeId !== null && reachesOutside(kind));
  for (const { nodeId } of outside) {
    const executions = record.executions.filter((execution) => execution.nodeId === nodeId);
    const [only] = executions;
    if (nodeId === null || nodeId in pins || executions.length !== 1 || !only?.port || only.path) continue;
    if (isExcerpt(only.output)) continue;
    pins[nodeId] = { $pin: true, port: only.port, value: only.output ?? null };
  }
  const { error } = record;
  return {
    name,
    event: began.event ?? null,
    pins,
    ...(began.triggerId && { triggerNodeId: began.triggerId }),
    ...(began.environmentId && { environmentId: began.environmentId }),
    expect: error
      ? { error: { code: error.code, ...(error.nodeId && { nodeId: error.nodeId }) } }
      : { output: record.output ?? null },
  };
}
