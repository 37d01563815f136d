/** What the command palette finds. Pure: `tests/unit/palette.test.ts`. */

import type { IconNode } from 'lucide';

export interface Entry {
  group: string;
  label: string;
  /** Tells it from others of its name. */
  id?: string;
  icon?: IconNode;
  keys?: string;
  /** Behind the label. */
  detail?: string;
  /** Other words that find it. */
  words?: string;
  run: () => void;
}

const SHOWN_MAX = 40;
const STARTS = 3;
const WORD_STARTS = 2;
const CONTAINS = 1;

/** How well a text matches what was typed: 0 is not at all. */
export function score(text: string, needle: string): number {
  const at = text.toLowerCase().indexOf(needle);
  if (at === 0) return STARTS;
  if (at > 0 && /\W/.test(text.charAt(at - 1))) return WORD_STARTS;
  if (at > 0) return CONTAINS;
  // All words, in any order.
  const words = needle.split(/\s+/).filter(Boolean);
  return words.length > 1 && words.every((word) => text.toLowerCase().includes(word)) ? CONTAINS : 0;
}

/** The entries that match, in their groups; the best group is first. */
export function found(typed: string, entries: readonly Entry[]): readonly Entry[] {
  const needle = typed.trim().toLowerCase();
  if (!needle) return entries.slice(0, SHOWN_MAX);
  const scored = entries
    .map((entry) => ({
      entry,
      points: Math.max(score(entry.label, needle), score(entry.words ?? '', needle) && CONTAINS),
    }))
    .filter(({ points }) => points > 0);
  const best = new Map<string, number>();
  for (const { entry, points } of scored) best.set(entry.group, Math.max(points, best.get(entry.group) ?? 0));
  const rank = (group: string) => best.get(group) ?? 0;
  const groups = [...new Set(scored.map(({ entry }) => entry.group))].sort((a, b) => rank(b) - rank(a));
  return groups
    .flatMap((group) =>
      scored.filter(({ entry }) => entry.group === group).sort((a, b) => b.points - a.points),
    )
    .map(({ entry }) => entry)
    .slice(0, SHOWN_MAX);
}

/** Where the entry stands that was at this place before others came or went; the first where it is gone. */
export function placeOf(before: Entry | undefined, entries: readonly Entry[]): number {
  if (!before) return 0;
  const at = entries.indexOf(before);
  if (at >= 0) return at;
  // Made anew of what the server answered.
  const isSame = ({ group, label, id }: Entry) =>
    group === before.group && label === before.label && id === before.id;
  return Math.max(0, entries.findIndex(isSame));
}
