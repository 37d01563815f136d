/** Opens a pattern for editing: the newest version, the user's draft of it, and what a crashed tab had left. */

import { getDraft, getPattern, type Pattern } from '$/api/editor';
import { openJournal } from '$/graph/indexed-db';
import { isKeptIn, type JournalStorage, type Recovered, recover } from '$/graph/journal';
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
  /** What tabs that are gone have left behind in this browser alone, the newest first. */
  lost: readonly Recovered[];
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
    draftTag: draft?.tag ?? null,
    kept: draft ? { at: 'draft', time: new Date(draft.updatedAt) } : { at: 'version' },
    storage,
    readOnly,
  });
  if (base !== newest) {
    work.join(newest);
    const differing = work.conflicts.open.length;
    notices.push(
      `Version ${newest.version} was saved since your draft began: the two are merged.` +
        (differing > 0 ? ` In ${places(differing)} they differ.` : ''),
    );
  }
  const lost = storage ? await leftBehind(storage, id, work) : [];
  const forget = (session: string) => void storage?.drop(session).catch(() => {});
  const leave = () => held?.release();
  return { work, pattern, notices, lost, forget, leave };
}

/** The work of tabs that are gone, as far as it is not in what was opened. What is there is forgotten. */
async function leftBehind(storage: JournalStorage, id: string, work: Work): Promise<readonly Recovered[]> {
  try {
    const found = await ofGoneTabs(await recover(storage, id));
    const lost = found.filter((each) => !isKeptIn(work.doc, each));
    // A draft can be replaced by that of another tab: what was in it is forgotten once this tab's journal has it too.
    if (!work.isChanged || (await work.isJournaled()))
      await Promise.all(
        found.filter((each) => !lost.includes(each)).map(({ session }) => storage.drop(session)),
      );
    return lost;
  } catch {
    // A browser without a journal has nothing to offer; what it could not forget, it forgets the next time.
    return [];
  }
}
