/** What a workspace has used, and what it may use. */

import { answer, api, type Schemas, unwrap, withWorkspace } from './client';
import { query } from './queries';

export type UsageSpan = Schemas['UsageSpan'];
export type QuotaStanding = Schemas['QuotaStanding'];

const EVERY_MS = 60_000;

/** This month by day, the oldest first; days without any use are left out. */
export const usageByDay = (workspace: () => string, isAllowed: () => boolean) =>
  query(
    () => ['usage', workspace()],
    async (signal) => {
      const found = await answer(
        api.GET('/api/workspaces/{id}/usage', {
          params: { path: { id: workspace() }, query: { by: 'day' } },
          signal,
        }),
      );
      if (typeof found === 'string') throw new Error('The server sent CSV in place of a page.');
      return found.data;
    },
    () => ({ enabled: isAllowed(), refetchInterval: EVERY_MS }),
  );

/** All quotas, and how much of each is used. */
export const quotas = (workspace: () => string, isAllowed: () => boolean) =>
  query(
    () => ['quotas', workspace()],
    (signal) =>
      unwrap(api.GET('/api/workspaces/{id}/quotas', { params: { path: { id: workspace() } }, signal })),
    () => ({ enabled: isAllowed(), refetchInterval: EVERY_MS }),
  );

/** Where this month is to be had by hour, as CSV. */
export const usageAddress = (workspace: string): string =>
  withWorkspace(`/api/workspaces/${workspace}/usage?by=hour&format=csv`);
