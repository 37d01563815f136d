/** Places that others have changed differently: what was decided about them, and which of them is looked at. */

import { conflictKey } from '$/graph/conflicts';
import type { Conflict } from '$/graph/merge';

/** How many there are, in words. */
export const places = (count: number): string => `${count} ${count === 1 ? 'place' : 'places'}`;

/** What the other side is: a version that was saved meanwhile, the work of a tab that is gone, or that of another tab. */
export type Other = 'version' | 'recovered' | 'draft';

export interface Decisions {
  readonly list: readonly Conflict[];
  readonly decided: ReadonlySet<string>;
  /** Of the conflicts that were added last. */
  readonly other: Other;
}

export const NOTHING_TO_DECIDE: Decisions = { list: [], decided: new Set(), other: 'version' };

/** What is asked to be looked at, and where the focus is to go: its card on the canvas, or its row in the list. */
interface Asked {
  readonly key: string;
  focus: 'card' | 'row' | undefined;
}

export class Conflicts {
  list = $state.raw<readonly Conflict[]>([]);
  /** Keys of those that were decided. */
  decided = $state.raw<ReadonlySet<string>>(new Set());
  other = $state<Other>('version');
  /** Another object each time, so that what is looked at already is gone to again. */
  #asked = $state.raw<Asked>();

  get open(): readonly Conflict[] {
    return this.list.filter((each) => !this.isDecided(each));
  }

  get shown(): Conflict | undefined {
    const key = this.#asked?.key;
    return this.list.find((each) => conflictKey(each) === key);
  }

  /** Looks at one; at none without it. */
  show(conflict: Conflict | undefined, focus?: Asked['focus']): void {
    this.#asked = conflict && { key: conflictKey(conflict), focus };
  }

  /** Whether the focus is to go there: once for each time that something is to be looked at. */
  takesFocus(where: 'card' | 'row'): boolean {
    const asked = this.#asked;
    if (asked?.focus !== where) return false;
    asked.focus = undefined;
    return true;
  }

  isDecided(conflict: Conflict): boolean {
    return this.decided.has(conflictKey(conflict));
  }

  /** The next one, or the one before: of those that are open, if any is; round and round. */
  neighbour(by: 1 | -1): Conflict | undefined {
    const { list, shown } = this;
    const at = shown ? list.indexOf(shown) : by === 1 ? -1 : 0;
    const around = list.map((_, place) => list[(at + by * (place + 1) + list.length * 2) % list.length]);
    return around.find((each) => each && each !== shown && !this.isDecided(each)) ?? around[0];
  }

  /** Adds those of another merge, which count instead of what was known of the same places. */
  add(conflicts: readonly Conflict[], other: Other): void {
    if (conflicts.length > 0) this.other = other;
    const fresh = new Set(conflicts.map(conflictKey));
    this.list = [...this.list.filter((each) => !fresh.has(conflictKey(each))), ...conflicts];
    this.decided = new Set([...this.decided].filter((key) => !fresh.has(key)));
  }

  decide(conflicts: readonly Conflict[]): void {
    this.decided = new Set([...this.decided, ...conflicts.map(conflictKey)]);
  }

  get state(): Decisions {
    return { list: this.list, decided: this.decided, other: this.other };
  }

  set({ list, decided, other }: Decisions): void {
    this.list = list;
    this.decided = decided;
    this.other = other;
  }

  clear(): void {
    this.set(NOTHING_TO_DECIDE);
    this.show(undefined);
  }
}
