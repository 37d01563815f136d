/** A document with its history, to subscribe to. */
import { describeEdit } from './describe';
import type { Edit } from './edit';
import { edited, makeHistory, redone, undone, type EditOptions, type History } from './history';
import type { Doc } from './model';

/** What has happened to a document, for those who keep or announce it. */
export type Change =
  | { readonly kind: 'edit'; readonly edit: Edit; readonly group?: string; readonly title: string }
  | { readonly kind: 'undo'; readonly title: string }
  | { readonly kind: 'redo'; readonly title: string }
  | { readonly kind: 'reset'; readonly title: string };

type Listener<T> = (value: T) => void;

/** A value to subscribe to, as Svelte's stores are. */
export class Observable<T> {
  private readonly listeners = new Set<Listener<T>>();

  constructor(private current: T) {}

  get value(): T {
    return this.current;
  }

  set(value: T): void {
    if (value === this.current) return;
    this.current = value;
    for (const listener of [...this.listeners]) listener(value);
  }

  update(change: (value: T) => T): void {
    this.set(change(this.current));
  }

  /** Calls at once and at each change; gives what ends it. */
  subscribe = (listener: Listener<T>): (() => void) => {
    this.listeners.add(listener);
    listener(this.current);
    return () => this.listeners.delete(listener);
  };
}

export class DocumentStore {
  /** The history; `history.value.present` is the document. */
  readonly history: Observable<History>;
  private readonly changed = new Set<Listener<Change>>();

  constructor(doc: Doc) {
    this.history = new Observable(makeHistory(doc));
  }

  get doc(): Doc {
    return this.history.value.present;
  }

  subscribe = (listener: Listener<Doc>): (() => void) =>
    this.history.subscribe((history) => listener(history.present));

  /** Applies an edit. False if it changes nothing. */
  dispatch(edit: Edit, options?: EditOptions): boolean {
    const before = this.doc;
    const after = edited(this.history.value, edit, options);
    if (after === this.history.value) return false;
    const group = options?.group;
    this.put(after, {
      kind: 'edit',
      edit,
      ...(group !== undefined && { group }),
      title: describeEdit(edit, before),
    });
    return true;
  }

  /** Takes the last step back; gives its title. */
  undo(): string | undefined {
    const title = this.history.value.past.at(-1)?.title;
    if (title !== undefined) this.put(undone(this.history.value), { kind: 'undo', title });
    return title;
  }

  redo(): string | undefined {
    const title = this.history.value.future[0]?.title;
    if (title !== undefined) this.put(redone(this.history.value), { kind: 'redo', title });
    return title;
  }

  /** Begins anew with another document, without history: another pattern, another tab's draft. */
  reset(doc: Doc): void {
    this.put(makeHistory(doc), { kind: 'reset', title: 'Open' });
  }

  /** Calls at every change, once the new document is there. */
  onChange(listener: Listener<Change>): () => void {
    this.changed.add(listener);
    return () => this.changed.delete(listener);
  }

  private put(history: History, change: Change): void {
    this.history.set(history);
    for (const listener of [...this.changed]) listener(change);
  }
}
