/** Filters of runs under names, kept in this browser for each workspace. */

import { queryText } from '../../router';

export interface SavedView {
  readonly name: string;
  /** As the address has it: `?status=failure`, or nothing for all runs. */
  readonly query: string;
}

/** Of a workspace; more would be no help to find one. */
const VIEWS_MAX = 20;
export const NAME_MAX = 60;
/** What of an address says which runs are listed. */
const FILTERS = ['status', 'trigger', 'pattern', 'environment', 'q', 'from', 'to'] as const;

/** The filters of an address, always in the same order. */
export function filtersOf(query: URLSearchParams): string {
  return queryText(Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? undefined])));
}

export class SavedViews {
  list = $state.raw<readonly SavedView[]>([]);
  private readonly key: string;

  constructor(workspace: string) {
    this.key = `heddle.views.${workspace}`;
    this.list = this.read() ?? [];
  }

  get isFull(): boolean {
    return this.list.length >= VIEWS_MAX;
  }

  /** Keeps filters under a name; what had the name before is replaced. */
  save(name: string, query: URLSearchParams): void {
    const view = { name: name.trim().slice(0, NAME_MAX), query: filtersOf(query) };
    const others = this.current().filter((each) => each.name !== view.name);
    this.keep([...others, view].sort((a, b) => a.name.localeCompare(b.name)).slice(0, VIEWS_MAX));
  }

  remove(name: string): void {
    this.keep(this.current().filter((each) => each.name !== name));
  }

  /** With what other tabs have kept meanwhile. */
  private current(): readonly SavedView[] {
    return this.read() ?? this.list;
  }

  private keep(list: readonly SavedView[]): void {
    this.list = list;
    try {
      localStorage.setItem(this.key, JSON.stringify(list));
    } catch {
      // Without storage, they last as long as the page.
    }
  }

  /** Whatever else is stored there counts as nothing; undefined: there is no storage. */
  private read(): SavedView[] | undefined {
    try {
      const text = localStorage.getItem(this.key);
      return text === null ? undefined : viewsIn(text);
    } catch {
      return undefined;
    }
  }
}

function viewsIn(text: string): SavedView[] {
  try {
    const found: unknown = JSON.parse(text);
    return Array.isArray(found) ? found.filter(isView).slice(0, VIEWS_MAX) : [];
  } catch {
    return [];
  }
}

function isView(value: unknown): value is SavedView {
  const { name, query } = (value ?? {}) as Partial<Record<string, unknown>>;
  return typeof name === 'string' && name.length <= NAME_MAX && typeof query === 'string';
}
