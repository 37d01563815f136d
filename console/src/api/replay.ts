/** Replays of runs that have ended. */

import { answer, api, type Schemas, withWorkspace, workspaceHeaders } from './client';
import type { Drawing } from './editor';
import { errorOf, offline } from './error';

export type ReplayReport = Schemas['ReplayReport'];
export type UnansweredEffect = Schemas['UnansweredEffect'];

/** Tries a graph with the last events of what is deployed to an environment; nothing leaves. */
export const replayAgainst = (id: string, environmentId: string, drawing: Drawing): Promise<ReplayReport> =>
  answer(
    api.POST('/api/patterns/{id}/replay', {
      params: { path: { id } },
      body: { ...drawing, ...(environmentId && { environmentId }) } as never,
    }),
  );

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
