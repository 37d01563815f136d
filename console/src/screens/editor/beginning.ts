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

export async function beginning(
  pattern: string,
  query: URLSearchParams,
  canEdit: boolean,
): Promise<Beginning | undefined> {
  const [deployment, run, test] = ['deployment', 'run', 'test'].map((name) => query.get(name));
  if (deployment && run) {
    const path = { id: deployment, runId: run };
    const found = await unwrap(api.GET('/api/deployments/{id}/runs/{runId}', { params: { path } }));
    return {
      setup: {
        triggerId: found.nodeId ?? undefined,
        eventText: JSON.stringify(found.eventData ?? null, null, 2),
        eventFrom: `run of ${clock(found.startedAt)}`,
      },
      node: found.error?.nodeId ?? undefined,
      run: {
        from: `the run of ${clock(found.startedAt)}`,
        version: found.versionNumber,
        event: found.eventData ?? null,
        triggerId: found.nodeId ?? undefined,
        shown: new ShownRun(
          () => found as unknown as StoredRun,
          () => canEdit,
          (signal) => streamReplay(deployment, run, signal),
        ),
      },
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
