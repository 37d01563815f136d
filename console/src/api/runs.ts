/** Runs of one deployment or of the workspace, page after page. */

import { answer, api, type Schemas } from './client';
import { firstPages, PAGE } from './pages';
import { query } from './queries';

export interface RunFilter {
  status?: Schemas['RunStatus'];
  triggeredBy?: 'manual' | 'webhook' | 'schedule';
}

export interface WorkspaceFilter extends RunFilter {
  patternId?: string;
  /** Of deployments in this environment. */
  environmentId?: string;
  /** A run's id, or part of its error. */
  q?: string;
  /** Accepted then or later, and before; ISO 8601. */
  from?: string;
  to?: string;
}

/** A run in a list. */
export interface RunRow {
  id: string;
  deploymentId: string;
  patternName?: string;
  /** The environment of its deployment. */
  environmentName?: string;
  status: Schemas['RunStatus'];
  phase: Schemas['Phase'];
  triggeredBy: string;
  startedAt: string;
  durationMs: number | null;
  attempt: number;
  /** Why it failed. */
  message: string;
}

const EVERY_MS = 5_000;

function given<T extends object>(filter: T): Partial<T> {
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value)) as Partial<T>;
}

function rowOf(run: Schemas['Run']): RunRow {
  const { id, deploymentId, status, phase, triggeredBy, startedAt, attempt } = run;
  const durationMs = run.durationMs ?? null;
  return {
    id,
    deploymentId,
    status,
    phase,
    triggeredBy,
    startedAt,
    durationMs,
    attempt,
    message: run.errorMessage ?? '',
  };
}

function workspaceRowOf(run: Schemas['WorkspaceRun']): RunRow {
  const { id, deploymentId, patternName, status, phase, triggeredBy, startedAt, attempt, error } = run;
  const message = error ? (error.nodeId ? `${error.nodeId}: ${error.message}` : error.message) : '';
  const durationMs = run.durationMs ?? null;
  return {
    id,
    deploymentId,
    patternName,
    ...(run.environmentName && { environmentName: run.environmentName }),
    status,
    phase,
    triggeredBy,
    startedAt,
    durationMs,
    attempt,
    message,
  };
}

/** Runs of a deployment, the newest first; `pages` of a hundred. */
export function runsOf(deployment: () => string, filter: () => RunFilter, pages: () => number) {
  return query(
    () => ['runs', deployment(), filter(), pages()],
    async (signal) => {
      const get = (page: number) =>
        answer(
          api.GET('/api/deployments/{id}/runs', {
            params: { path: { id: deployment() }, query: { page, limit: PAGE, ...given(filter()) } },
            signal,
          }),
        );
      const all = await Promise.all(Array.from({ length: pages() }, (_, at) => get(at + 1)));
      const rows = all.flatMap((page) => page.data.map(rowOf));
      return { rows, hasMore: rows.length < (all[0]?.meta.total ?? 0) };
    },
    () => ({ refetchInterval: EVERY_MS }),
  );
}

/** Runs of the workspace, the newest first; `pages` of a hundred. */
export function workspaceRuns(filter: () => WorkspaceFilter, pages: () => number) {
  return query(
    () => ['runs', 'workspace', filter(), pages()],
    async (signal) => {
      const { pages: found, hasMore } = await firstPages(pages(), (cursor) => {
        const query = { limit: PAGE, ...given(filter()), cursor };
        return answer(api.GET('/api/runs', { params: { query }, signal }));
      });
      return { rows: found.flatMap((page) => page.data.map(workspaceRowOf)), hasMore };
    },
    () => ({ refetchInterval: EVERY_MS }),
  );
}
