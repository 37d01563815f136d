/** The audit log, page after page. */

import { answer, api, type Schemas, withWorkspace } from './client';
import { firstPages, PAGE } from './pages';
import { query } from './queries';

export type Entry = Schemas['AuditEntry'];

export interface AuditFilter {
  /** The user's email, or the id of a user or an API key. */
  actor?: string;
  /** An action, or the kind of several. */
  action?: string;
  /** An object's id or name. */
  object?: string;
  /** Days in the local time zone, the last one included, as `2026-11-21`. */
  from?: string;
  to?: string;
}

const EVERY_MS = 10_000;

/** The moment at which a day begins here; `undefined` if it is no day. */
function beginning(day: string | undefined, later = 0): string | undefined {
  const time = day ? new Date(`${day}T00:00`) : undefined;
  if (!time || Number.isNaN(time.getTime())) return undefined;
  time.setDate(time.getDate() + later);
  return time.toISOString();
}

/** What the server is asked for. */
export function parameters(filter: AuditFilter): AuditFilter {
  const { actor, action, object } = filter;
  const given = { actor, action, object, from: beginning(filter.from), to: beginning(filter.to, 1) };
  return Object.fromEntries(Object.entries(given).flatMap(([name, value]) => (value ? [[name, value]] : [])));
}

/** One page. The document has the export's lines as another form of the same answer. */
async function pageOf(
  wanted: AuditFilter & { of?: 'account'; limit: number; cursor?: string },
  signal: AbortSignal,
) {
  const found = await answer(api.GET('/api/audit', { params: { query: wanted }, signal }));
  if (!('meta' in found)) throw new Error('The server sent lines in place of a page.');
  return found;
}

/** Entries of the workspace's log, the newest first; `pages` of a hundred. */
export function auditLog(filter: () => AuditFilter, pages: () => number) {
  return query(
    () => ['audit', filter(), pages()],
    async (signal) => {
      const { pages: found, hasMore } = await firstPages(pages(), (cursor) =>
        pageOf({ ...parameters(filter()), limit: PAGE, cursor }, signal),
      );
      return { rows: found.flatMap((page) => page.data), hasMore };
    },
    () => ({ refetchInterval: EVERY_MS }),
  );
}

/** The latest entries of the user's own account. */
export const accountLog = () =>
  query(
    () => ['audit-of-account'],
    async (signal) => (await pageOf({ of: 'account', limit: 12 }, signal)).data,
  );

/** Where the entries are to be had as lines of JSON. */
export function exportAddress(filter: AuditFilter): string {
  const wanted = new URLSearchParams([...Object.entries(parameters(filter)), ['format', 'jsonl']]);
  return withWorkspace(`/api/audit?${wanted.toString()}`);
}
