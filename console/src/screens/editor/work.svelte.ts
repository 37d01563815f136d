/** A pattern being edited: where its changes are kept, what is wrong with it, and saving it. */

import { ApiError } from '$/api/client';
import {
  deleteDraft,
  type Drawing,
  getDraft,
  getPattern,
  getVersion,
  putDraft,
  savePattern,
  validate,
  type Validation,
} from '$/api/editor';
import type { Catalogue } from '$/graph/catalogue';
import { resolved, type Side } from '$/graph/conflicts';
import { type Change, DocumentStore } from '$/graph/document';
import { isEqual } from '$/graph/equal';
import { Journal, type JournalStorage, type Recovered } from '$/graph/journal';
import { type Conflict, mergeDocuments } from '$/graph/merge';
import { type Doc, EMPTY_DOC } from '$/graph/model';
import { readDocument } from '$/graph/read';
import { Session } from '$/graph/session';
import { randomUuid } from '$/graph/uuid';
import { Checking } from './checking';
import { clock } from './clock';
import { Conflicts, type Decisions, NOTHING_TO_DECIDE, type Other } from './conflicts.svelte';

/** Where the document on the screen is kept. */
export type Kept = { at: 'version' } | { at: 'draft'; time: Date } | { at: 'browser' } | { at: 'memory' };

const DRAFT_MS = 1_200;
/** Other tabs draw too: so often in a row a draft is joined with theirs before the next edit tries again. */
const DRAFT_TRIES = 3;
const NOTHING_FOUND: Validation = { diagnostics: [], expressions: [], expressionsOmitted: 0 };

export const drawingOf = (doc: Doc): Drawing => ({ graphData: doc.graph, nodeDefinitions: doc.definitions });

/** A version, as far as documents are joined with it. */
export interface Saved {
  readonly version: number;
  readonly doc: Doc;
}

/** What changes belong to: the newest version that is known, and what is still to be decided about it. */
interface Basis extends Decisions, Saved {
  readonly settled: Saved;
}

/** A join or a decision, as a step that can be undone: what changes belong to before it and behind it. */
interface Join {
  /** The document before. */
  readonly from: Doc;
  readonly before: Basis;
  after: Basis;
  isUndone: boolean;
}

/** The draft on the server, as this tab knows it: null is the tag of none. */
interface Drafted extends Saved {
  readonly tag: string | null;
}

export interface Opened {
  pattern: string;
  catalogue: Catalogue;
  /** The version that the document was made from. */
  version: number;
  saved: Doc;
  /** The document to begin with: the newest version, a draft, or what the journal had. */
  doc: Doc;
  /** The tag of the draft that was taken up; null if there is none. */
  draftTag: string | null;
  kept: Kept;
  storage: JournalStorage | undefined;
  readOnly: boolean;
}

export class Work {
  readonly session: Session;
  readonly store: DocumentStore;
  readonly pattern: string;
  readonly readOnly: boolean;
  version = $state(0);
  kept = $state.raw<Kept>({ at: 'version' });
  isSaving = $state(false);
  /** The version that was saved last here; `version` is an older one if its join was undone. */
  made = 0;
  validation = $state.raw<Validation>(NOTHING_FOUND);
  /** Why what is shown of problems may be old. */
  validationNote = $state<string>();
  readonly conflicts = new Conflicts();
  /** The newest version as it was saved: what changes are compared with. */
  private saved: Doc;
  /** The newest version with which nothing is left to decide: what drafts are based on. */
  private settled: Saved;
  /** Oldest first; also those of versions that are saved, since they can be undone as well. */
  private joins: readonly Join[] = [];
  private drafted: Drafted;
  /** Drafts that were sent and not answered: they may have arrived. */
  private unanswered: readonly Doc[] = [];
  /** Told when what another tab has drawn came in. */
  onjoined: (() => void) | undefined;
  private readonly journal: Journal | undefined;
  private readonly stops: (() => void)[] = [];
  private draftTimer: ReturnType<typeof setTimeout> | undefined;
  /** The drafts that are on their way: one after the other, so that none overtakes a newer one or a version. */
  private drafting: Promise<unknown> = Promise.resolve();
  private readonly checking = new Checking((signal) => this.check(signal));

  constructor(opened: Opened) {
    this.pattern = opened.pattern;
    this.readOnly = opened.readOnly;
    this.version = opened.version;
    this.settled = { version: opened.version, doc: opened.saved };
    this.saved = opened.saved;
    this.kept = opened.kept;
    this.drafted = {
      tag: opened.draftTag,
      version: opened.version,
      doc: opened.draftTag === null ? opened.saved : opened.doc,
    };
    this.store = new DocumentStore(opened.doc);
    this.session = new Session(this.store, opened.catalogue);
    // Before the journal's, which asks what changes belong to once a join is undone.
    this.stops.push(this.store.onChange((change) => this.changed(change)));
    if (opened.storage && !opened.readOnly) {
      const onFailure = () => {
        if (this.kept.at === 'browser' || this.kept.at === 'memory') this.kept = this.keptHere;
      };
      const base = () => this.compared;
      this.journal = new Journal(opened.storage, this.store, opened.pattern, randomUuid(), base, {
        onFailure,
      });
    }
    this.stops.push(
      () => clearTimeout(this.draftTimer),
      () => this.checking.stop(),
    );
    void this.checking.start();
  }

  get doc(): Doc {
    return this.store.doc;
  }

  get isChanged(): boolean {
    return this.kept.at !== 'version';
  }

  /** The version of the number `version`, as it was saved. */
  get savedDoc(): Doc {
    return this.saved;
  }

  /** Ends the session; what is not saved stays in the journal and the draft. */
  close(): void {
    for (const stop of this.stops) stop();
    void this.journal?.close(this.kept.at === 'version');
  }

  /** Whether the journal has what is on the screen, once that is known. */
  async isJournaled(): Promise<boolean> {
    return (await this.journal?.written()) ?? false;
  }

  private changed(change: Change): void {
    this.followJoins(change);
    if (this.doc === this.saved) {
      this.kept = { at: 'version' };
      clearTimeout(this.draftTimer);
      void this.inTurn(async () => {
        if (this.doc !== this.saved || this.drafted.tag === null) return;
        await deleteDraft(this.pattern).catch(() => {});
        this.hasNoDraft();
      });
    } else if (!this.readOnly) {
      this.kept = this.keptHere;
      clearTimeout(this.draftTimer);
      this.draftTimer = setTimeout(() => void this.keepDraft(), DRAFT_MS);
    }
    this.checking.changed();
  }

  private get keptHere(): Kept {
    return this.journal && !this.journal.isFailing ? { at: 'browser' } : { at: 'memory' };
  }

  /** The version that unsaved changes belong to. While there is something to decide, they are to be joined again. */
  get compared(): Saved {
    return this.conflicts.open.length > 0 ? this.settled : { version: this.version, doc: this.saved };
  }

  /** A draft may be on the server no longer: a version that was saved in another tab took it along. */
  draftIsGone(): void {
    if (this.kept.at !== 'draft') return;
    this.kept = this.keptHere;
  }

  /** Keeps a draft on the server; without one, the journal has all. */
  keepDraft(): Promise<void> {
    clearTimeout(this.draftTimer);
    return this.inTurn(() => this.sendDraft());
  }

  private inTurn(task: () => Promise<void>): Promise<void> {
    const turn = this.drafting.then(task);
    this.drafting = turn;
    return turn;
  }

  private async sendDraft(): Promise<void> {
    try {
      for (let tries = 0; tries < DRAFT_TRIES; tries += 1) {
        const { doc, drafted } = this;
        if (doc === this.saved || this.isSaving || this.readOnly) return;
        // While there is something to decide, the draft stays one of the version before: opened again, it is joined again.
        if (this.conflicts.open.length === 0) this.settled = { version: this.version, doc: this.saved };
        const isKnown =
          drafted.tag !== null && drafted.doc === doc && drafted.version === this.settled.version;
        if (isKnown && this.kept.at === 'draft') return;
        if (await this.putDraft(doc, this.settled.version)) return;
        await this.takeDraft();
      }
    } catch {
      // Said by where it is kept; the next edit tries again, and so does `Presence`.
    }
  }

  /** Stores a draft in place of the one that is known. False if there is another one by now. */
  private async putDraft(doc: Doc, version: number): Promise<boolean> {
    // One is sent at a time; only after a broken connection there is another that may have arrived.
    this.unanswered = [...this.unanswered.slice(-DRAFT_TRIES), doc];
    try {
      const { tag, updatedAt } = await putDraft(this.pattern, version, drawingOf(doc), this.drafted.tag);
      this.drafted = { tag, version, doc };
      this.unanswered = [];
      if (this.doc === doc && doc !== this.saved) this.kept = { at: 'draft', time: new Date(updatedAt) };
      return true;
    } catch (error) {
      if (error instanceof ApiError && error.code === 'CONFLICT') return false;
      throw error;
    }
  }

  /** Joins the draft that another tab of the user has stored meanwhile. */
  private async takeDraft(): Promise<void> {
    const theirs = await getDraft(this.pattern);
    if (!theirs) return this.hasNoDraft();
    const { doc } = readDocument(theirs.graphData, theirs.nodeDefinitions);
    const known = { tag: theirs.tag, version: theirs.baseVersion, doc };
    // This tab's own, whose answer never came.
    const own = this.unanswered.find((sent) => isEqual(sent, doc));
    if (own) {
      this.drafted = { ...known, doc: own };
      return;
    }
    if (theirs.baseVersion > this.version) await this.fetchAndJoin();
    // It goes on from the one that this tab knew, or else from the version that it is a draft of.
    const { tag, version, doc: before } = this.drafted;
    const goesOn = tag !== null && version === theirs.baseVersion;
    const base = goesOn ? before : (await getSaved(this.pattern, theirs.baseVersion)).doc;
    this.drafted = known;
    const step = { title: 'Merge what another tab drew', group: `draft ${theirs.tag}` };
    if (this.takeIn({ base, doc }, 'draft', step)) this.onjoined?.();
  }

  private hasNoDraft(): void {
    this.drafted = { tag: null, version: this.version, doc: this.saved };
    this.unanswered = [];
  }

  /** Makes a version. False if it has to be decided first what it is to have where others have changed the same. */
  async save(): Promise<boolean> {
    if (this.conflicts.open.length > 0) return false;
    clearTimeout(this.draftTimer);
    this.isSaving = true;
    try {
      await this.drafting;
      for (;;) {
        const { doc } = this;
        const join = this.joins.findLast(({ isUndone }) => !isUndone);
        try {
          const { versionNumber } = await savePattern(this.pattern, this.version, drawingOf(doc));
          this.made = versionNumber;
          // The draft went with it.
          this.drafted = { tag: null, version: versionNumber, doc };
          this.unanswered = [];
          // Undone meanwhile: changes belong to the version before it again, until it is done again.
          if (join?.isUndone) join.after = savedBasis({ version: versionNumber, doc });
          else this.isSavedAs({ version: versionNumber, doc });
          return true;
        } catch (error) {
          if (!(error instanceof ApiError) || error.code !== 'CONFLICT') throw error;
          await this.fetchAndJoin();
          if (this.conflicts.open.length > 0) return false;
        }
      }
    } finally {
      this.isSaving = false;
      if (this.kept.at !== 'version') void this.keepDraft();
    }
  }

  private isSavedAs({ version, doc }: Saved): void {
    this.version = version;
    this.settled = { version, doc };
    this.saved = doc;
    this.conflicts.clear();
    this.journal?.rebase();
    if (this.doc === doc) this.kept = { at: 'version' };
  }

  /** The pattern has another name, which made a version with the same graph. */
  renamed(version: number): void {
    // If somebody else has saved in between, it is joined when this is saved.
    if (version !== this.version + 1) return;
    if (this.settled.version === this.version) this.settled = { ...this.settled, version };
    this.version = version;
    this.journal?.rebase();
  }

  /** Takes up what somebody else has saved. */
  async joinNewest(): Promise<void> {
    await this.fetchAndJoin();
    if (this.kept.at !== 'version') void this.keepDraft();
  }

  private async fetchAndJoin(): Promise<void> {
    const newest = await getPattern(this.pattern);
    const { doc } = readDocument(newest.graphData, newest.nodeDefinitions);
    this.join({ version: newest.versionNumber, doc });
  }

  /** Joins a version that somebody else has saved with the document on the screen. */
  join(theirs: Saved): void {
    this.take(
      { version: this.version, doc: this.saved },
      this.doc,
      theirs,
      `Merge version ${theirs.version}`,
    );
  }

  /** Joins what a tab that is gone had on the screen with what is there. What can't be joined is to be decided. */
  recover(lost: Recovered): void {
    const newest = { version: this.version, doc: this.saved };
    if (this.doc === this.saved)
      this.take({ version: lost.version ?? this.version, doc: lost.base }, lost.doc, newest, 'Recover');
    else this.takeIn(lost, 'recovered', { title: 'Recover', group: `recover ${lost.session}` });
  }

  /** Joins a document with a version, as one step that can be undone. What can't be joined is to be decided. */
  private take(base: Saved, mine: Doc, theirs: Saved, title: string): void {
    const from = this.doc;
    const before = this.basis;
    const { doc, conflicts } = mergeDocuments(base.doc, mine, theirs.doc);
    // What is not decided yet about an earlier version stays so.
    if (this.conflicts.open.length === 0) this.settled = base;
    this.version = theirs.version;
    this.saved = theirs.doc;
    this.conflicts.add(conflicts, 'version');
    this.put(doc, title, groupOf(theirs), from, before);
  }

  /**
   * Joins with changes that are not saved either: those on the screen stay until something else is decided. Whether there
   * was anything to join.
   */
  private takeIn(
    theirs: Pick<Recovered, 'base' | 'doc'>,
    other: Other,
    { title, group }: { title: string; group: string },
  ): boolean {
    const from = this.doc;
    const before = this.basis;
    const { doc, conflicts } = mergeDocuments(theirs.base, from, theirs.doc);
    if (this.conflicts.open.length === 0) this.settled = { version: this.version, doc: this.saved };
    this.conflicts.add(conflicts, other);
    return this.put(doc, title, group, from, before);
  }

  /** Whether it was a step: what changes nothing is none. */
  private put(doc: Doc, title: string, group: string, from: Doc, before: Basis): boolean {
    const isDone = this.store.dispatch({ kind: 'replace', doc: this.orSaved(doc), title }, { group });
    // Without a step there is nothing to undo.
    if (isDone) this.remember(from, before);
    else this.journal?.rebase();
    return isDone;
  }

  private remember(from: Doc, before: Basis): void {
    this.joins = [...this.joins, { from, before, after: this.basis, isUndone: false }];
  }

  /** Decides conflicts: part of the step that joined, as long as nothing else was done since. */
  decide(conflicts: readonly Conflict[], side: Side): void {
    const from = this.doc;
    const before = this.basis;
    const doc = conflicts.reduce((found, conflict) => resolved(found, conflict, side), this.doc);
    this.conflicts.decide(conflicts);
    const isDone = this.store.dispatch(
      { kind: 'replace', doc: this.orSaved(doc), title: `Merge version ${this.version}` },
      { group: groupOf(this) },
    );
    if (!isDone) this.journal?.rebase();
    // A step of its own, which opens them again when it is undone.
    else if (this.store.history.value.past.at(-1)?.before === from) this.remember(from, before);
    this.session.say(side === 'mine' ? 'Yours is in the graph.' : 'Theirs is in the graph.');
    // The last one makes it a draft of the newest version.
    if (this.conflicts.open.length === 0 && this.kept.at === 'draft') void this.keepDraft();
  }

  /** The saved document itself if there is no difference, so that nothing counts as changed. */
  private orSaved(doc: Doc): Doc {
    return isEqual(doc, this.saved) ? this.saved : doc;
  }

  private get basis(): Basis {
    return { ...this.conflicts.state, version: this.version, doc: this.saved, settled: this.settled };
  }

  /** A join that is undone or redone takes what changes belong to along. */
  private followJoins(change: Change): void {
    if (change.kind === 'edit') {
      // What was undone can't be done again any more.
      this.joins = this.joins.filter(({ isUndone }) => !isUndone);
      return;
    }
    if (change.kind === 'reset') this.joins = [];
    const isUndo = change.kind === 'undo';
    const join = isUndo
      ? this.joins.findLast(({ from, isUndone }) => !isUndone && from === this.doc)
      : this.joins.find(
          ({ from, isUndone }) => isUndone && from === this.store.history.value.past.at(-1)?.before,
        );
    if (!join) return;
    join.isUndone = isUndo;
    if (isUndo) join.after = this.basis;
    const { version, doc, settled, ...decisions } = isUndo ? join.before : join.after;
    this.version = version;
    this.saved = doc;
    this.settled = settled;
    this.conflicts.set(decisions);
  }

  /** Asks the validator about the document on the screen. */
  private async check(signal: AbortSignal): Promise<void> {
    try {
      const found = await validate(drawingOf(this.doc), signal);
      if (signal.aborted) return;
      this.validation = sharing(found, this.validation);
      this.validationNote = undefined;
    } catch (error) {
      if (signal.aborted) return;
      this.validationNote = `The graph could not be checked: ${error instanceof Error ? error.message : String(error)}`;
    }
  }
}

/** What was found, with the lists of before where they say the same, so that nothing is drawn again for them. */
const sharing = (found: Validation, before: Validation): Validation => ({
  ...found,
  diagnostics: isEqual(found.diagnostics, before.diagnostics) ? before.diagnostics : found.diagnostics,
  expressions: isEqual(found.expressions, before.expressions) ? before.expressions : found.expressions,
});

/** What changes belong to once a version is saved: nothing is left to decide. */
const savedBasis = ({ version, doc }: Saved): Basis => ({
  version,
  doc,
  settled: { version, doc },
  ...NOTHING_TO_DECIDE,
});

const groupOf = ({ version }: { version: number }): string => `join ${version}`;

/** A version to join from. Of one that is not there any more nothing is known: all that differs is to be decided. */
export async function getSaved(pattern: string, version: number): Promise<Saved> {
  try {
    const { graphData, nodeDefinitions } = await getVersion(pattern, version);
    return { version, doc: readDocument(graphData, nodeDefinitions).doc };
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return { version, doc: EMPTY_DOC };
    throw error;
  }
}

/** Where the document is kept, in words. */
export function keptText(kept: Kept, version: number, isSaving: boolean): string {
  if (isSaving) return 'Saving…';
  if (kept.at === 'version') return `Saved as ${version}`;
  if (kept.at === 'browser') return 'Only in this browser';
  if (kept.at === 'memory') return 'Not kept anywhere yet';
  const time = clock(kept.time);
  return `Draft on the server ${time}`;
}
