/** A JSON value as the rows of a tree, of which only the open ones are made. Pure. */

import type { Path } from '../inspector/fields';

export interface Row {
  path: Path;
  /** The path as one text: the row's key. */
  key: string;
  /** Name or position within what is around it; undefined for the value itself. */
  name: string | number | undefined;
  value: unknown;
  depth: number;
  /** Values inside; undefined for what has none. */
  size: number | undefined;
  isOpen: boolean;
  /** Place among those beside it, from 1, and how many these are. */
  position: number;
  count: number;
}

/** Elements that are shown of one list or object before "more" is asked for. */
export const CHILDREN_MAX = 200;

export interface More {
  path: Path;
  key: string;
  depth: number;
  /** How many are not shown yet. */
  left: number;
}

export type Line = ({ kind: 'row' } & Row) | ({ kind: 'more' } & More);

export function keyOf(path: Path): string {
  return JSON.stringify(path);
}

/** The lines of a value; `open` says which of its objects and lists are open, `shown` how much of them. */
export function linesOf(
  value: unknown,
  open: (path: Path, depth: number, size: number) => boolean,
  shown: (key: string) => number = () => CHILDREN_MAX,
): Line[] {
  const lines: Line[] = [];
  const visit = (
    path: Path,
    name: Row['name'],
    inner: unknown,
    depth: number,
    position: number,
    count: number,
  ) => {
    const size = sizeOf(inner);
    const isOpen = size !== undefined && size > 0 && open(path, depth, size);
    const key = keyOf(path);
    lines.push({ kind: 'row', path, key, name, value: inner, depth, size, isOpen, position, count });
    if (!isOpen || size === undefined) return;
    const limit = shown(key);
    let place = 0;
    for (const [child, childValue] of childrenOf(inner)) {
      if (place >= limit) break;
      place += 1;
      visit([...path, child], child, childValue, depth + 1, place, size);
    }
    if (size > limit)
      lines.push({ kind: 'more', path, key: `${key} more`, depth: depth + 1, left: size - limit });
  };
  visit([], undefined, value, 0, 1, 1);
  return lines;
}

function sizeOf(value: unknown): number | undefined {
  if (Array.isArray(value)) return value.length;
  return typeof value === 'object' && value !== null ? Object.keys(value).length : undefined;
}

function* childrenOf(value: unknown): Generator<[string | number, unknown]> {
  if (Array.isArray(value)) yield* value.entries();
  else yield* Object.entries(value as object);
}

/** Opened at first: the value itself, and small things in it. */
export function opensByItself(_path: Path, depth: number, size: number): boolean {
  return depth === 0 || (depth === 1 && size <= 8) || (depth === 2 && size <= 4);
}

/** The columns of a list of objects; undefined if it is none. */
export function columnsOf(value: unknown): string[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const columns = new Set<string>();
  for (const row of value.slice(0, 100) as unknown[]) {
    if (typeof row !== 'object' || row === null || Array.isArray(row)) return undefined;
    for (const name of Object.keys(row)) columns.add(name);
    if (columns.size > COLUMNS_MAX) break;
  }
  return [...columns].slice(0, COLUMNS_MAX);
}

const COLUMNS_MAX = 40;

/** Rows whose name or value has the text in it, with those around them; undefined for an empty text. */
export function matching(value: unknown, text: string): ReadonlySet<string> | undefined {
  const needle = text.trim().toLowerCase();
  if (needle === '') return undefined;
  const found = new Set<string>();
  let visited = 0;
  const visit = (path: Path, name: Row['name'], inner: unknown): boolean => {
    visited += 1;
    if (visited > VISITED_MAX) return false;
    let matches = name !== undefined && String(name).toLowerCase().includes(needle);
    if (sizeOf(inner) === undefined) matches ||= String(inner).toLowerCase().includes(needle);
    else
      for (const [child, childValue] of childrenOf(inner))
        matches = visit([...path, child], child, childValue) || matches;
    if (matches) found.add(keyOf(path));
    return matches;
  };
  visit([], undefined, value);
  return found;
}

const VISITED_MAX = 100_000;
