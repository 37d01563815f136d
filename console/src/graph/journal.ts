/**
 * The local journal: every edit is kept in the browser before the next frame, and survives a crash of the tab.
 *
 * A session begins with the document as it was opened. What follows are its edits; applied in order, they give the
 * document that was on the screen. Each tab writes a session of its own, so that two tabs never mix.
 */
import type { Change, DocumentStore } from './document';
import { edited, makeHistory, redone, undone } from './history';
import type { Edit } from './edit';
import type { Doc } from './model';

export interface JournalRecord {
  readonly session: string;
  readonly pattern: string;
  /** Place in the session; 0 is its beginning. */
  readonly seq: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly entry:
    | { readonly kind: 'base'; readonly doc: Doc; readonly version: number | null }
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
  /** What could not be kept; once told, edits live in memory alone until one can be kept again. */
  private failing = false;

  constructor(
    private readonly storage: JournalStorage,
    private readonly store: DocumentStore,
    private readonly pattern: string,
    readonly session: string,
    private version: number | null,
    private readonly options: { onFailure?: (failing: boolean) => void; now?: () => number } = {},
  ) {
    this.begin();
    this.stop = store.onChange((change) => this.note(change));
  }

  /** The document is kept elsewhere now, as this version or as a draft on the server. */
  saved(version: number | null): void {
    this.version = version;
    this.begin();
  }

  /** What was kept elsewhere is there no longer: the document on the screen counts as edited again. */
  lost(): void {
    this.replace('Edit');
  }

  /** Ends the session. With `forget`, nothing of it is offered again. */
  async close(forget: boolean): Promise<void> {
    this.stop();
    if (forget) await this.storage.drop(this.session);
  }

  /** From here on, what is done, undone and redone can be replayed. */
  private anew(): void {
    this.floor = this.store.history.value.past.length;
    this.undone = 0;
  }

  private begin(): void {
    const first = this.seq;
    this.anew();
    void this.put({ kind: 'base', doc: this.store.doc, version: this.version }).then((kept) => {
      if (kept && first > 0) return this.storage.drop(this.session, first).catch(() => undefined);
      return undefined;
    });
  }

  private note(change: Change): void {
    if (change.kind === 'reset') return this.begin();
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

  private async put(entry: JournalRecord['entry']): Promise<boolean> {
    const at = (this.options.now ?? Date.now)();
    const record = { session: this.session, pattern: this.pattern, seq: this.seq, at, entry };
    this.seq += 1;
    try {
      await this.storage.put(record);
      this.tell(false);
      return true;
    } catch {
      this.tell(true);
      return false;
    }
  }

  private tell(failing: boolean): void {
    if (failing === this.failing) return;
    this.failing = failing;
    this.options.onFailure?.(failing);
  }
}

/** Work that a session has left behind. */
export interface Recovered {
  readonly session: string;
  /** When the last edit was. */
  readonly at: number;
  /** The version that it began with. */
  readonly version: number | null;
  readonly base: Doc;
  readonly doc: Doc;
  readonly edits: number;
}

/** Sessions of a pattern with edits that were kept nowhere else, the newest first. */
export async function recover(storage: JournalStorage, pattern: string): Promise<Recovered[]> {
  const sessions = new Map<string, JournalRecord[]>();
  for (const record of await storage.read(pattern)) {
    sessions.set(record.session, [...(sessions.get(record.session) ?? []), record]);
  }
  return [...sessions.values()]
    .flatMap((records) => replayed(records) ?? [])
    .filter((found) => found.edits > 0 && found.doc !== found.base)
    .sort((a, b) => b.at - a.at);
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
  const { doc: base, version } = first.entry;
  const edits = last.seq - first.seq;
  return { session: first.session, at: last.at, version, base, doc: history.present, edits };
}
