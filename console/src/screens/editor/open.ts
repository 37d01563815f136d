/** Opens a pattern for editing: the newest version, the user's draft of it, and what a crashed tab had left. */

import { getDraft, getPattern, type Pattern } from '$/api/editor';
import { openJournal } from '$/graph/indexed-db';
import { type JournalStorage, type Recovered, recover } from '$/graph/journal';
import { readDocument } from '$/graph/read';
import { holding, ofGoneTabs } from './alive';
import { catalogue } from './catalogue';
import { places } from './conflicts.svelte';
import { getSaved, Work } from './work.svelte';

export interface Editing {
  work: Work;
  pattern: Pattern;
  /** What to tell: repairs, a draft that was taken up, lost work that was found. */
  notices: string[];
  recovered: Recovered | undefined;
  forget: (session: string) => void;
  /** This tab has left it: what it had not kept is offered to the next one. */
  leave: () => void;
}

export async function open(id: string, readOnly: boolean): Promise<Editing> {
  const [pattern, draft, types, held] = await Promise.all([
    getPattern(id),
    readOnly ? null : getDraft(id),
    catalogue(),
    readOnly
      ? undefined
      : openJournal(indexedDB)
          .then(holding)
          .catch(() => undefined),
  ]);
  const storage = held?.storage;
  const { doc, repairs } = readDocument(pattern.graphData, pattern.nodeDefinitions);
  const newest = { version: pattern.versionNumber, doc };
  const notices = [...repairs];
  // A draft of an older version begins with that one, and is then joined with what was saved since.
  const isOld = draft !== null && draft.baseVersion < newest.version;
  const base = isOld ? await getSaved(id, draft.baseVersion) : newest;
  const work = new Work({
    pattern: id,
    catalogue: types,
    version: base.version,
    saved: base.doc,
    doc: draft ? readDocument(draft.graphData, draft.nodeDefinitions).doc : base.doc,
    kept: draft ? { at: 'draft', time: new Date(draft.updatedAt) } : { at: 'version' },
    storage,
    readOnly,
  });
  if (base !== newest) {
    work.join(newest);
    const differing = work.conflicts.open.length;
    notices.push(
      `Version ${newest.version} was saved since your draft began: both are joined.` +
        (differing > 0 ? ` In ${places(differing)} they differ.` : ''),
    );
  }
  const recovered = storage && (await lost(storage, id, draft ? Date.parse(draft.updatedAt) : 0));
  const forget = (session: string) => void storage?.drop(session);
  const leave = () => held?.release();
  return { work, pattern, notices, recovered, forget, leave };
}

/** The newest work of a tab that is gone, if it is newer than the draft. */
async function lost(storage: JournalStorage, id: string, draftAt: number): Promise<Recovered | undefined> {
  const found = await recover(storage, id)
    .then(ofGoneTabs)
    .catch(() => []);
  return found.find((each) => each.at > draftAt);
}
