/** Which tabs are still there: a session's lock is let go of when its tab leaves the editor, is closed or crashes. */

import type { JournalStorage, Recovered } from '$/graph/journal';

/** Browsers have locks on https and on this machine only. Elsewhere, what was written to so lately counts as alive. */
const ALIVE_MS = 30_000;
const nameOf = (session: string): string => `heddle editing ${session}`;

export interface Held {
  readonly storage: JournalStorage;
  /** Says that this tab has left its sessions. */
  release(): void;
}

/** A storage that holds the lock of each session that is written to it. */
export function holding(storage: JournalStorage): Held {
  const releases = new Map<string, () => void>();
  const hold = (session: string) => {
    if (releases.has(session) || !navigator.locks) return;
    const left = new Promise<void>((resolve) => releases.set(session, resolve));
    void navigator.locks.request(nameOf(session), () => left).catch(() => {});
  };
  return {
    storage: {
      put: (record) => {
        hold(record.session);
        return storage.put(record);
      },
      read: (pattern) => storage.read(pattern),
      drop: (session, before) => storage.drop(session, before),
    },
    release: () => releases.forEach((release) => release()),
  };
}

/** Those of tabs that are gone. */
export async function ofGoneTabs(found: readonly Recovered[]): Promise<Recovered[]> {
  if (!navigator.locks) return found.filter(({ at }) => Date.now() - at > ALIVE_MS);
  const { held = [] } = await navigator.locks.query();
  const alive = new Set(held.map(({ name }) => name));
  return found.filter(({ session }) => !alive.has(nameOf(session)));
}
