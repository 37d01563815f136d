/** Ids and labels that are not taken yet. */
import type { Graph } from './model';

/** Longest id of a node, as the compiler reads it. */
const ID_MAX = 64;

/** A readable id with a random end, so that two people who add a node at the same time do not choose the same one. */
export function newId(
  base: string,
  taken: (id: string) => boolean,
  random: () => number = Math.random,
): string {
  const slug =
    base
      .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-+|-+$/g, '')
      .slice(0, ID_MAX - 10) || 'node';
  for (let length = 4; ; length += 1) {
    const id = `${slug}-${suffix(Math.min(length, 9), random)}`;
    if (!taken(id)) return id;
  }
}

function suffix(length: number, random: () => number): string {
  const digits = 'abcdefghijkmnpqrstuvwxyz23456789';
  return Array.from({ length }, () => digits.charAt(Math.floor(random() * digits.length))).join('');
}

/** The label, or with a number behind it: "Filter", "Filter 2", "Filter 3". */
export function newLabel(wanted: string, taken: ReadonlySet<string>): string {
  if (!taken.has(wanted)) return wanted;
  const base = wanted.replace(/ \d+$/, '') || wanted;
  for (let number = 2; ; number += 1) {
    const label = `${base} ${number}`;
    if (!taken.has(label)) return label;
  }
}

/** Names by which expressions can already reach a node of the graph. */
export function namesIn(graph: Graph): Set<string> {
  const names = new Set<string>();
  for (const node of graph.nodes) {
    names.add(node.id);
    if (node.data?.label) names.add(node.data.label);
  }
  return names;
}
