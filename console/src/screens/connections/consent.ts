/** The way to a connection's provider and back. What binds the two is at the server, which knows who has begun. */

import { answer, api } from '$/api/client';

const UNDER_WAY = 'heddle.connection.consent';

/** Where somebody was when they left for a provider. */
export interface UnderWay {
  workspace: string;
  connection: string;
}

/** Sends this tab to the connection's provider. */
export async function leave(workspace: string, connection: string): Promise<void> {
  const path = { id: connection };
  const begun = await answer(api.POST('/api/connections/{id}/oauth/begin', { params: { path } }));
  const underWay: UnderWay = { workspace, connection };
  sessionStorage.setItem(UNDER_WAY, JSON.stringify(underWay));
  window.location.assign(begun.authorizeUrl);
}

/** Where they were, once; undefined: they left in another tab, or not at all. */
export function takeUnderWay(): UnderWay | undefined {
  const kept = sessionStorage.getItem(UNDER_WAY);
  sessionStorage.removeItem(UNDER_WAY);
  return read(kept);
}

/** What was kept, if it is that. */
export function read(kept: string | null): UnderWay | undefined {
  try {
    const { workspace, connection } = JSON.parse(kept ?? '') as Partial<UnderWay>;
    return typeof workspace === 'string' && typeof connection === 'string'
      ? { workspace, connection }
      : undefined;
  } catch {
    return undefined;
  }
}
