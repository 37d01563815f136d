/** What patterns keep by KeyValue nodes: the values that a workspace's patterns share, or those of one of them. */

import { answer, api, type Schemas, unwrap } from './client';
import { firstPages, PAGE } from './pages';
import { query, refresh } from './queries';

export type KeptKey = Schemas['ListedKeyValue'];
export type KeptValue = Schemas['KeyValue'];

/** Whose values, and which. */
export interface KeptFilter {
  patternId?: string;
  prefix?: string;
}

const given = ({ patternId, prefix }: KeptFilter): KeptFilter => ({
  ...(patternId && { patternId }),
  ...(prefix && { prefix }),
});

/** Keys in their order; `pages` of a hundred. */
export const keptKeys = (workspace: () => string, filter: () => KeptFilter, pages: () => number) =>
  query(
    () => ['kept', workspace(), given(filter()), pages()],
    async (signal) => {
      const { pages: found, hasMore } = await firstPages(pages(), (cursor) => {
        const params = { path: { id: workspace() }, query: { ...given(filter()), limit: PAGE, cursor } };
        return answer(api.GET('/api/workspaces/{id}/key-values', { params, signal }));
      });
      return { rows: found.flatMap((page) => page.data), hasMore };
    },
  );

const of = (workspace: string, key: string, patternId: string) => ({
  path: { id: workspace, key },
  query: patternId ? { patternId } : {},
});

/** What is kept under a key. */
export const keptValue = (workspace: string, key: string, patternId: string): Promise<KeptValue> =>
  unwrap(api.GET('/api/workspaces/{id}/key-values/{key}', { params: of(workspace, key, patternId) }));

/** Puts a value in its place. */
export async function keep(
  workspace: string,
  key: string,
  patternId: string,
  body: Schemas['PutKeyValue'],
): Promise<void> {
  const params = of(workspace, key, patternId);
  await unwrap(api.PUT('/api/workspaces/{id}/key-values/{key}', { params, body }));
  await refresh('kept');
}

/** Deletes what is kept under a key. */
export async function forget(workspace: string, key: string, patternId: string): Promise<void> {
  const params = of(workspace, key, patternId);
  await unwrap(api.DELETE('/api/workspaces/{id}/key-values/{key}', { params }));
  await refresh('kept');
}
