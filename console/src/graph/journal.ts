/**
 * The local journal: every edit is kept in the browser before the next frame, and survives a crash of the tab.
 *
 * A session begins with the document as it was opened, and the version that it was made from. What follows are its edits;
 * applied in order, they give the document that was on the screen. Each tab writes a session of its own, so that two tabs
 * never mix. Only a saved version ends what a session has to keep: a draft on the server can be replaced by that of
 * another tab at any time. Whoever opens the pattern next looks whether all of it is there (`isKeptIn`).
 */
import type { Change, DocumentStore } from './document';
import { isEqual } from './equal';
import { edited, makeHistory, redone, undone } from './history';
import type { Edit } from './edit';
import { mergeDocuments } from './merge';
import type { Doc } from './model';

/** The version that changes belong to. */
export interface JournalBase {
  readonly version: number;
  readonly doc: Doc;
}

export interface JournalRecord {
  readonly session: string;
  readonly pattern: string;
  /** Place in the session; 0 is its beginning. */
  readonly seq: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly entry:
    | {
        readonly kind: 'base';
        readonly doc: Doc;
        readonly version: number | null;
        /** What the version has. Consoles of before 0.2 kept none: their sessions began with what was kept elsewhere. */
        readonly saved?: Doc;
      }
    | { readonly kind: 'edit'; readonly edit: Edit; readonly group?: string }
    | { readonly kind: 'undo' }
    | { readonly kind: 'redo' };
}

/** Where records are kept. `put` must have been issued when it returns; its promise says that it is done. */
export interface JournalStorage {
  put(record: JournalRecord): Promise<void>;
  /** All records of a pattern, by session and place. */
  read(pattern: string): Promise<JournalRecord[]>;
  /** Deletes a session's records before a place; all without one. */
  drop(session: string, before?: number): Promise<void>;
}

/** Edits after which the session begins anew with the document as it is. */
const EDITS_MAX = 500;

export class Journal {
  private seq = 0;
  /** Steps of the history when the session began anew: what is undone beyond them can't be replayed. */
  private floor = 0;
  /** Steps undone since then, which can be redone. */
  private undone = 0;
  private readonly stop: () => void;
  /** What the session's last beginning says of the version. */
  private recorded: JournalBase;
  /** A record is missing: what follows it can't be replayed, unless the session begins anew. */
  private hasGap = false;
  /** What could not be kept; once told, edits live in memory alone until one can be kept again. */
  private failing = false;
  private last: Promise<boolean> = Promise.resolve(true);

  /** `base` gives the version that changes belong to; it is asked at every change. */
  constructor(
    private readonly storage: JournalStorage,
    private readonly store: DocumentStore,
    private readonly pattern: string,
    readonly session: string,
    private readonly base: () => JournalBase,
    private readonly options: { onFailure?: (failing: boolean) => void; now?: () => number } = {},
  ) {
    this.recorded = base();
    this.begin();
    this.stop = store.onChange((change) => this.note(change));
  }

  get isFailing(): boolean {
    return this.failing;
  }

  /** Whether the document on the screen is kept, once that is known. */
  written(): Promise<boolean> {
    return this.last.then((isWritten) => isWritten && !this.hasGap);
  }

  /** Changes may belong to another version, although the document has not changed: one was saved, or is undone. */
  rebase(): void {
    if (this.isRebased()) this.begin();
  }

  /** Ends the session. With `forget`, nothing of it is offered again. */
  async close(forget: boolean): Promise<void> {
    this.stop();
    if (forget) await this.storage.drop(this.session);
  }

  private isRebased(): boolean {
    const { version, doc } = this.base();
    return version !== this.recorded.version || doc !== this.recorded.doc;
  }

  /** From here on, what is done, undone and redone can be replayed. */
  private anew(): void {
    this.floor = this.store.history.value.past.length;
    this.undone = 0;
  }

  private begin(): void {
    const first = this.seq;
    this.anew();
    this.hasGap = false;
    this.recorded = this.base();
    const { version, doc: saved } = this.recorded;
    void this.put({ kind: 'base', doc: this.store.doc, version, saved }).then((isKept) => {
      if (isKept && first > 0) return this.storage.drop(this.session, first).catch(() => undefined);
      return undefined;
    });
  }

  private note(change: Change): void {
    if (change.kind === 'reset' || this.hasGap || this.isRebased()) return this.begin();
    if (!this.canReplay(change)) return this.replace(change.title);
    if (change.kind === 'edit') {
      const { edit, group } = change;
      // Edits of one group are undone at once, also when they are replayed.
      void this.put({ kind: 'edit', edit, ...(group !== undefined && { group }) });
    } else void this.put({ kind: change.kind });
    if (this.seq % EDITS_MAX === 0) this.begin();
  }

  /** Keeps the whole document, as an edit. */
  private replace(title: string): void {
    this.anew();
    void this.put({ kind: 'edit', edit: { kind: 'replace', title, doc: this.store.doc } });
  }

  /** Whether the history since the session began anew is enough for it. */
  private canReplay({ kind }: Change): boolean {
    if (kind === 'undo') this.undone += 1;
    else if (kind === 'redo') this.undone -= 1;
    else this.undone = 0;
    return this.undone >= 0 && this.store.history.value.past.length >= this.floor;
  }

  private put(entry: JournalRecord['entry']): Promise<boolean> {
    const at = (this.options.now ?? Date.now)();
    const record = { session: this.session, pattern: this.pattern, seq: this.seq, at, entry };
    this.seq += 1;
    this.last = this.storage.put(record).then(
      () => {
        if (!this.hasGap) this.tell(false);
        return true;
      },
      () => {
        this.hasGap = true;
        this.tell(true);
        return false;
      },
    );
    return this.last;
  }

  private tell(failing: boolean): void {
    if (failing === this.failing) return;
    this.failing = failing;
    this.options.onFailure?.(failing);
  }
}

/** What a session has left behind. */
export interface Recovered {
  readonly session: string;
  /** When the last edit was. */
  readonly at: number;
  /** The version that its changes belong to. */
  readonly version: number | null;
  /** What that version has. */
  readonly base: Doc;
  /** What was on the screen. */
  readonly doc: Doc;
}

/** The sessions of a pattern, the newest first. */
export async function recover(storage: JournalStorage, pattern: string): Promise<Recovered[]> {
  const sessions = new Map<string, JournalRecord[]>();
  for (const record of await storage.read(pattern)) {
    sessions.set(record.session, [...(sessions.get(record.session) ?? []), record]);
  }
  return [...sessions.values()].flatMap((records) => replayed(records) ?? []).sort((a, b) => b.at - a.at);
}

/** Whether a document has all that a session has changed. */
export function isKeptIn(stored: Doc, { base, doc }: Pick<Recovered, 'base' | 'doc'>): boolean {
  const joined = mergeDocuments(base, stored, doc);
  return joined.conflicts.length === 0 && isEqual(joined.doc, stored);
}

/** Applies a session's records from its last beginning on, up to the first that is missing. */
function replayed(records: readonly JournalRecord[]): Recovered | undefined {
  const sorted = [...records].sort((a, b) => a.seq - b.seq);
  const start = sorted.findLastIndex((record) => record.entry.kind === 'base');
  const first = sorted[start];
  if (first?.entry.kind !== 'base') return undefined;
  let history = makeHistory(first.entry.doc);
  let last = first;
  for (const record of sorted.slice(start + 1)) {
    if (record.seq !== last.seq + 1) break;
    const { entry } = record;
    if (entry.kind === 'edit') {
      const { edit, group } = entry;
      history = edited(history, edit, group === undefined ? {} : { group });
    } else history = entry.kind === 'undo' ? undone(history) : redone(history);
    last = record;
  }
  const { doc, version, saved: base = doc } = first.entry;
  return { session: first.session, at: last.at, version, base, doc: history.present };
}
