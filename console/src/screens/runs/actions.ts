/** What can be done with a run, or with several. */

import { answer, api } from '$/api/client';
import type { RunRow } from '$/api/runs';
import { toast } from '$/parts/toasts.svelte';

/** What is to be known of a run. */
type Run = Pick<RunRow, 'deploymentId' | 'id' | 'status'>;
export type Act = 'retry' | 'replay' | 'cancel';

const at = (run: Run) => ({ params: { path: { id: run.deploymentId, runId: run.id } } });

export const canRetry = (run: Run): boolean => run.status === 'failure' || run.status === 'dead_letter';
export const canReplay = (run: Run): boolean => run.status !== 'running';
export const canCancel = (run: Run): boolean => run.status === 'running';

/** What is shown as its status: a run that is under way may be queued, or wait for something. */
export const phaseOf = (run: Pick<RunRow, 'status' | 'phase'>): string =>
  run.status === 'running' && (run.phase === 'queued' || run.phase === 'waiting') ? run.phase : run.status;

const CAN: Record<Act, (run: Run) => boolean> = { retry: canRetry, replay: canReplay, cancel: canCancel };
const SEND: Record<Act, (run: Run) => Promise<unknown>> = {
  retry: (run) => answer(api.POST('/api/deployments/{id}/runs/{runId}/retry', at(run))),
  replay: (run) => answer(api.POST('/api/deployments/{id}/runs/{runId}/replay', at(run))),
  cancel: (run) => answer(api.POST('/api/deployments/{id}/runs/{runId}/cancel', at(run))),
};
const DONE: Record<Act, string> = { retry: 'Retried', replay: 'Replayed', cancel: 'Cancelled' };

export async function retry(run: Run): Promise<void> {
  await SEND.retry(run);
  toast.ok('Retried as a new run.');
}

export async function replay(run: Run): Promise<void> {
  await SEND.replay(run);
  toast.ok('Replayed as a new run, with the same event.');
}

export async function cancel(run: Run): Promise<void> {
  await SEND.cancel(run);
  toast.ok('The run is being cancelled.');
}

/** Those of the runs with which it can be done. */
export const fit = <R extends Run>(act: Act, runs: readonly R[]): R[] => runs.filter(CAN[act]);

/**
 * Does it with each run that it can be done with, one after the other; those that fail don't stop the rest. What came of it
 * is told at the end.
 */
export async function withAll(act: Act, runs: readonly Run[]): Promise<void> {
  const all = fit(act, runs);
  let done = 0;
  let failed: unknown;
  for (const run of all) {
    try {
      await SEND[act](run);
      done += 1;
    } catch (error) {
      failed ??= error;
    }
  }
  if (failed === undefined) toast.ok(`${DONE[act]} ${done} ${done === 1 ? 'run' : 'runs'}.`);
  else {
    const why = failed instanceof Error ? failed.message : String(failed);
    toast.bad(`${DONE[act]} ${done} of ${all.length} runs. ${why}`);
  }
}
