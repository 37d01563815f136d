/** What can be done with a run. */

import { answer, api } from '$/api/client';
import type { RunRow } from '$/api/runs';
import { toast } from '$/parts/toasts.svelte';

/** What is to be known of a run. */
type Run = Pick<RunRow, 'deploymentId' | 'id' | 'status'>;

const at = (run: Run) => ({ params: { path: { id: run.deploymentId, runId: run.id } } });

export const canRetry = (run: Run): boolean => run.status === 'failure' || run.status === 'dead_letter';
export const canReplay = (run: Run): boolean => run.status !== 'running';
export const canCancel = (run: Run): boolean => run.status === 'running';

/** What is shown as its status: a run that is under way may be queued, or wait for something. */
export const phaseOf = (run: Pick<RunRow, 'status' | 'phase'>): string =>
  run.status === 'running' && (run.phase === 'queued' || run.phase === 'waiting') ? run.phase : run.status;

export async function retry(run: Run): Promise<void> {
  await answer(api.POST('/api/deployments/{id}/runs/{runId}/retry', at(run)));
  toast.ok('Retried as a new run.');
}

export async function replay(run: Run): Promise<void> {
  await answer(api.POST('/api/deployments/{id}/runs/{runId}/replay', at(run)));
  toast.ok('Replayed as a new run, with the same event.');
}

export async function cancel(run: Run): Promise<void> {
  await answer(api.POST('/api/deployments/{id}/runs/{runId}/cancel', at(run)));
  toast.ok('The run is being cancelled.');
}
