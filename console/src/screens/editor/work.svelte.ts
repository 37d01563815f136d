/** A pattern being edited: where its changes are kept, what is wrong with it, and saving it. */

import { ApiError } from '$/api/client';
import {
  deleteDraft,
  type Drawing,
  getPattern,
  getVersion,
  putDraft,
  savePattern,
  validate,
  type Validation,
} from '$/api/editor';
import type { Catalogue } from '$/graph/catalogue';
import { DocumentStore } from '$/graph/document';
import { Journal, type JournalStorage } from '$/graph/journal';
import { mergeDocuments } from '$/graph/merge';
import type { Doc } from '$/graph/model';
import { readDocument } from '$/graph/read';
import { Session } from '$/graph/session';

/** Where the document on the screen is kept. */
export type Kept = { at: 'version' } | { at: 'draft'; time: Date } | { at: 'browser' } | { at: 'memory' };

const DRAFT_MS = 1_200;
/** From the last key on: with the answer, within 120 ms a finding is shown. */
const VALIDATE_MS = 60;
const NOTHING_FOUND: Validation = { diagnostics: [], expressions: [], expressionsOmitted: 0 };

export const drawingOf = (doc: Doc): Drawing => ({ graphData: doc.graph, nodeDefinitions: doc.definitions });

export interface Opened {
  pattern: string;
  catalogue: Catalogue;
  /** The newest version. */
  version: number;
  saved: Doc;
  /** The document to begin with: the newest version, a draft, or what the journal had. */
  doc: Doc;
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
  validation = $state.raw<Validation>(NOTHING_FOUND);
  /** Why what is shown of problems may be old. */
  validationNote = $state<string>();
  /** The newest version as it was saved: what changes are compared with. */
  private saved: Doc;
  private readonly journal: Journal | undefined;
  private readonly stops: (() => void)[] = [];
  private draftTimer: ReturnType<typeof setTimeout> | undefined;
  private validateTimer: ReturnType<typeof setTimeout> | undefined;
  private validating: AbortController | undefined;

  constructor(opened: Opened) {
    this.pattern = opened.pattern;
    this.readOnly = opened.readOnly;
    this.version = opened.version;
    this.saved = opened.saved;
    this.kept = opened.kept;
    this.store = new DocumentStore(opened.doc);
    this.session = new Session(this.store, opened.catalogue);
    if (opened.storage && !opened.readOnly) {
      const onFailure = (failing: boolean) => {
        if (failing) this.kept = { at: 'memory' };
      };
      this.journal = new Journal(
        opened.storage,
        this.store,
        opened.pattern,
        crypto.randomUUID(),
        opened.version,
        {
          onFailure,
        },
      );
    }
    this.stops.push(this.store.onChange(() => this.changed()));
    this.stops.push(
      () => clearTimeout(this.draftTimer),
      () => clearTimeout(this.validateTimer),
    );
    void this.check();
  }

  get doc(): Doc {
    return this.store.doc;
  }

  get isChanged(): boolean {
    return this.kept.at !== 'version';
  }

  /** Ends the session; what is not saved stays in the journal and the draft. */
  close(): void {
    for (const stop of this.stops) stop();
    this.validating?.abort();
    void this.journal?.close(this.kept.at === 'version' || this.kept.at === 'draft');
  }

  private changed(): void {
    if (this.doc === this.saved) {
      this.kept = { at: 'version' };
      clearTimeout(this.draftTimer);
      void deleteDraft(this.pattern).catch(() => {});
    } else if (!this.readOnly) {
      this.kept = this.journal ? { at: 'browser' } : { at: 'memory' };
      clearTimeout(this.draftTimer);
      this.draftTimer = setTimeout(() => void this.keepDraft(), DRAFT_MS);
    }
    clearTimeout(this.validateTimer);
    this.validateTimer = setTimeout(() => void this.check(), VALIDATE_MS);
  }

  /** Keeps a draft on the server; without one, the journal has all. */
  async keepDraft(): Promise<void> {
    clearTimeout(this.draftTimer);
    const { doc } = this;
    if (doc === this.saved || this.isSaving || this.readOnly) return;
    try {
      const stored = await putDraft(this.pattern, this.version, drawingOf(doc));
      if (this.doc !== doc) return;
      this.kept = { at: 'draft', time: new Date(stored.updatedAt) };
      this.journal?.saved(this.version);
    } catch {
      // Said by where it is kept; the next edit tries again.
    }
  }

  /** Makes a version. Gives how many fields of others' changes could not be joined with ours. */
  async save(): Promise<{ version: number; conflicts: number }> {
    clearTimeout(this.draftTimer);
    this.isSaving = true;
    let conflicts = 0;
    try {
      for (;;) {
        const { doc } = this;
        try {
          const { versionNumber } = await savePattern(this.pattern, this.version, drawingOf(doc));
          this.version = versionNumber;
          this.saved = doc;
          this.journal?.saved(versionNumber);
          if (this.doc === doc) this.kept = { at: 'version' };
          return { version: versionNumber, conflicts };
        } catch (error) {
          if (!(error instanceof ApiError) || error.code !== 'CONFLICT') throw error;
          conflicts += await this.join();
        }
      }
    } finally {
      this.isSaving = false;
      if (this.kept.at !== 'version') void this.keepDraft();
    }
  }

  /** Takes up what somebody else has saved; gives how many fields of it could not be joined with ours. */
  async joinNewest(): Promise<number> {
    const conflicts = await this.join();
    if (this.kept.at !== 'version') void this.keepDraft();
    return conflicts;
  }

  /** Joins what somebody else has saved meanwhile with the document on the screen, as one step that can be undone. */
  private async join(): Promise<number> {
    const newest = await getPattern(this.pattern);
    const theirs = readDocument(newest.graphData, newest.nodeDefinitions).doc;
    const { doc, conflicts } = this.isChanged
      ? mergeDocuments(this.saved, this.doc, theirs)
      : { doc: theirs, conflicts: [] };
    this.version = newest.versionNumber;
    this.saved = theirs;
    this.store.dispatch({ kind: 'replace', doc, title: `Join version ${newest.versionNumber}` } as never);
    return conflicts.length;
  }

  /** Puts another version on the screen, as one step that can be undone. */
  async restore(version: number): Promise<void> {
    const whole = await getVersion(this.pattern, version);
    const { doc } = readDocument(whole.graphData, whole.nodeDefinitions);
    this.store.dispatch({ kind: 'replace', doc, title: `Restore version ${version}` } as never);
  }

  /** Asks the validator about the document on the screen. */
  private async check(): Promise<void> {
    this.validating?.abort();
    const controller = new AbortController();
    this.validating = controller;
    try {
      this.validation = await validate(drawingOf(this.doc), controller.signal);
      this.validationNote = undefined;
    } catch (error) {
      if (controller.signal.aborted) return;
      this.validationNote = `The graph could not be checked: ${error instanceof Error ? error.message : String(error)}`;
    }
  }
}

/** Where the document is kept, in words. */
export function keptText(kept: Kept, version: number, isSaving: boolean): string {
  if (isSaving) return 'Saving…';
  if (kept.at === 'version') return `Saved as ${version}`;
  if (kept.at === 'browser') return 'Only in this browser';
  if (kept.at === 'memory') return 'Not kept anywhere yet';
  const time = kept.time.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', hour12: false });
  return `Draft on the server ${time}`;
}
