/** Opens a pattern for editing: the newest version, the user's draft of it, and what a crashed tab had left. */

import { ApiError } from '$/api/client';
import { getDraft, getPattern, getVersion, type Pattern } from '$/api/editor';
import { openJournal } from '$/graph/indexed-db';
import { type JournalStorage, type Recovered, recover } from '$/graph/journal';
import { mergeDocuments } from '$/graph/merge';
import { readDocument } from '$/graph/read';
import { holding, ofGoneTabs } from './alive';
import { catalogue } from './catalogue';
import { Work } from './work.svelte';

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
  const { doc: saved, repairs } = readDocument(pattern.graphData, pattern.nodeDefinitions);
  const notices = [...repairs];
  let doc = saved;
  if (draft) {
    doc = readDocument(draft.graphData, draft.nodeDefinitions).doc;
    if (draft.baseVersion < pattern.versionNumber) {
      // Somebody saved meanwhile: theirs comes into the draft, and what differs is told.
      const base = await baseOf(id, draft.baseVersion);
      const merged = base ? mergeDocuments(base, doc, saved) : { doc, conflicts: [] };
      doc = merged.doc;
      notices.push(
        `Version ${pattern.versionNumber} was saved since your draft began: both are joined.` +
          (merged.conflicts.length > 0
            ? ` Where they differ (${merged.conflicts.length}), yours was kept.`
            : ''),
      );
    }
  }
  const work = new Work({
    pattern: id,
    catalogue: types,
    version: pattern.versionNumber,
    saved,
    doc,
    kept: draft && doc !== saved ? { at: 'draft', time: new Date(draft.updatedAt) } : { at: 'version' },
    storage,
    readOnly,
  });
  const recovered = storage && (await lost(storage, id, draft ? Date.parse(draft.updatedAt) : 0));
  const forget = (session: string) => void storage?.drop(session);
  const leave = () => held?.release();
  return { work, pattern, notices, recovered, forget, leave };
}

async function baseOf(id: string, version: number) {
  try {
    const { graphData, nodeDefinitions } = await getVersion(id, version);
    return readDocument(graphData, nodeDefinitions).doc;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}

/** The newest work of a tab that is gone, if it is newer than the draft. */
async function lost(storage: JournalStorage, id: string, draftAt: number): Promise<Recovered | undefined> {
  const found = await recover(storage, id)
    .then(ofGoneTabs)
    .catch(() => []);
  return found.find((each) => each.at > draftAt);
}
