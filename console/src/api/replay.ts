/** Replays of runs that have ended. */

import { withWorkspace, workspaceHeaders } from './client';
import { errorOf, offline } from './error';

/** Executes an ended run once more from its journal and follows it: server-sent events. */
export async function streamReplay(
  deployment: string,
  run: string,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
  const path = `/api/deployments/${encodeURIComponent(deployment)}/runs/${encodeURIComponent(run)}/trace`;
  const response = await fetch(withWorkspace(path), {
    method: 'POST',
    headers: { accept: 'text/event-stream', ...workspaceHeaders() },
    signal,
  }).catch((error: unknown) => {
    throw signal.aborted ? error : offline();
  });
  if (!response.ok) throw errorOf(response, await response.json().catch(() => undefined));
  if (!response.body) throw offline();
  return response.body;
}
