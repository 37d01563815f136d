/** What the editor begins with if its address says so: a run, at the node that failed, or the event of a test. */

import { answer, api, unwrap } from '$/api/client';
import { streamReplay } from '$/api/replay';
import { ShownRun, type StoredRun, type TestSetup } from '$/run';
import { clock } from './clock';
import type { OpenedRun } from './view.svelte';

export interface Beginning {
  setup: TestSetup;
  /** The node to show. */
  node: string | undefined;
  /** The run whose data is shown. */
  run?: OpenedRun;
}

type Found = Awaited<ReturnType<typeof getRun>>;
const getRun = (deployment: string, run: string) =>
  unwrap(api.GET('/api/deployments/{id}/runs/{runId}', { params: { path: { id: deployment, runId: run } } }));

const opened = (found: Found, canEdit: boolean): OpenedRun => ({
  from: `the run of ${clock(found.startedAt)}`,
  version: found.versionNumber,
  event: found.eventData ?? null,
  triggerId: found.nodeId ?? undefined,
  shown: new ShownRun(
    () => found as unknown as StoredRun,
    () => canEdit,
    (signal) => streamReplay(found.deploymentId, found.id, signal),
  ),
});

/** How many runs are looked at for what they recorded. */
const LOOKED_AT = 3;

/** The newest run that has recorded what its nodes gave, or else the newest one, whose event is known. */
export async function recentRun(pattern: string, canEdit: boolean): Promise<OpenedRun | undefined> {
  const query = { patternId: pattern, limit: LOOKED_AT };
  const { data } = await answer(api.GET('/api/runs', { params: { query } }));
  let newest: OpenedRun | undefined;
  for (const { id, deploymentId, status } of data) {
    if (status === 'running') continue;
    const run = opened(await getRun(deploymentId, id), canEdit);
    if (run.shown.record.executions.length > 0) return run;
    newest ??= run;
  }
  return newest;
}

export async function beginning(
  pattern: string,
  query: URLSearchParams,
  canEdit: boolean,
): Promise<Beginning | undefined> {
  const [deployment, run, test] = ['deployment', 'run', 'test'].map((name) => query.get(name));
  if (deployment && run) {
    const found = await getRun(deployment, run);
    return {
      setup: {
        triggerId: found.nodeId ?? undefined,
        eventText: JSON.stringify(found.eventData ?? null, null, 2),
        eventFrom: `run of ${clock(found.startedAt)}`,
      },
      node: found.error?.nodeId ?? undefined,
      run: opened(found, canEdit),
    };
  }
  if (test) {
    const path = { id: pattern, testId: test };
    const found = await answer(api.GET('/api/patterns/{id}/tests/{testId}', { params: { path } }));
    return {
      setup: {
        triggerId: found.case.triggerNodeId ?? undefined,
        environmentId: found.case.environmentId ?? undefined,
        eventText: JSON.stringify(found.case.event ?? null, null, 2),
        eventFrom: `test “${found.case.name}”`,
      },
      node: undefined,
    };
  }
  return undefined;
}
