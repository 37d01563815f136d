/**
 * Three-way merge of documents: what either side has changed since their common base, by node id and field.
 *
 * A field that both have changed differently is a conflict: the result has mine, and the conflict says what was theirs.
 * What one side has deleted and the other changed stays, which is a conflict too. Nothing is thrown away unseen.
 */
import { isEqual } from './equal';
import {
  definitionOf,
  edgeKey,
  graphNames,
  graphOf,
  type Definition,
  type DefinitionName,
  type Doc,
  type Graph,
  type GraphEdge,
} from './model';

export interface Conflict {
  readonly definition: DefinitionName;
  /** What it is about: a node's id, an edge's key, a note's id, or the graph itself. */
  readonly kind: 'node' | 'edge' | 'note' | 'graph' | 'definition';
  readonly id: string;
  /** Where the field is, such as `['data', 'label']`; empty if one side has deleted what the other changed. */
  readonly path: readonly string[];
  readonly mine: unknown;
  readonly theirs: unknown;
  /** Of a node that one side has deleted: the edges that the other has at it. */
  readonly edges?: readonly GraphEdge[];
}

export interface Merged {
  readonly doc: Doc;
  readonly conflicts: readonly Conflict[];
}

/** `undefined` is a value that is not there. */
type Value = unknown;

export function mergeDocuments(base: Doc, mine: Doc, theirs: Doc): Merged {
  const conflicts: Conflict[] = [];
  const graph = mergeGraph(null, base.graph, mine.graph, theirs.graph, conflicts);
  const definitions = mergeDefinitions(base, mine, theirs, conflicts);
  const same = graph === mine.graph && definitions === mine.definitions;
  return { doc: same ? mine : { graph, definitions }, conflicts };
}

function mergeDefinitions(base: Doc, mine: Doc, theirs: Doc, conflicts: Conflict[]): Doc['definitions'] {
  const inner = new Set([base, mine, theirs].flatMap((doc) => graphNames(doc)));
  const merged: [string, Definition][] = [];
  const names = new Set([...Object.keys(mine.definitions), ...Object.keys(theirs.definitions)]);
  for (const name of names) {
    const [was, my, their] = [definitionOf(base, name), definitionOf(mine, name), definitionOf(theirs, name)];
    if (!my || !their) {
      const kept = keptOf(was, my, their);
      if (kept.conflict)
        conflicts.push({
          definition: null,
          kind: 'definition',
          id: name,
          path: [],
          mine: my,
          theirs: their,
        });
      if (kept.value) merged.push([name, kept.value as Definition]);
      continue;
    }
    const report: Report = (path, mineValue, theirsValue) =>
      conflicts.push({
        definition: null,
        kind: 'definition',
        id: name,
        path,
        mine: mineValue,
        theirs: theirsValue,
      });
    const shallow = mergeFields(was, my, their, [], ['graphData'], report) as Definition;
    const isComposite = inner.has(name) && my.kind === 'graph' && their.kind === 'graph';
    const inside = () =>
      mergeGraph(name, graphOf(base, name), graphOf(mine, name), graphOf(theirs, name), conflicts);
    merged.push([name, isComposite ? { ...shallow, graphData: inside() } : shallow]);
  }
  const definitions = Object.fromEntries(merged);
  return isEqual(definitions, mine.definitions) ? mine.definitions : definitions;
}

function mergeGraph(
  definition: DefinitionName,
  base: Graph,
  mine: Graph,
  theirs: Graph,
  conflicts: Conflict[],
): Graph {
  if (isEqual(mine, theirs) || isEqual(base, theirs)) return mine;
  if (isEqual(base, mine)) return theirs;
  /** Edges at nodes that one side has deleted and the other changed: they stay with them. */
  const staying: GraphEdge[] = [];
  const list = (kind: 'node' | 'edge' | 'note'): ListMerge => ({
    report: (id, path, my, their) => {
      const conflict: Conflict = { definition, kind, id, path, mine: my, theirs: their };
      if (kind !== 'node' || path.length > 0) return conflicts.push(conflict);
      const { edges } = my === undefined ? theirs : mine;
      const own = edges.filter((edge) => edge.source === id || edge.target === id);
      staying.push(...own);
      return conflicts.push({ ...conflict, edges: own });
    },
    // Layout and parameters are merged by their own fields.
    deep: kind === 'node' ? ['data', 'data.parameters'] : [],
  });
  const id = (item: { readonly id: string }) => item.id;
  const nodes = mergeList(list('node'), id, base.nodes, mine.nodes, theirs.nodes);
  const ids = new Set(nodes.map((node) => node.id));
  const edges = mergeList(list('edge'), edgeKey, base.edges, mine.edges, theirs.edges);
  const there = new Set(edges.map(edgeKey));
  for (const edge of staying) {
    if (!there.has(edgeKey(edge))) edges.push(edge);
    there.add(edgeKey(edge));
  }
  const notes = mergeList(list('note'), id, base.notes ?? [], mine.notes ?? [], theirs.notes ?? []);
  const report: Report = (path, my, their) =>
    conflicts.push({ definition, kind: 'graph', id: '', path, mine: my, theirs: their });
  const rest = mergeFields(base, mine, theirs, [], ['nodes', 'edges', 'notes'], report, ['settings']);
  return {
    ...(rest as Graph),
    nodes,
    // An edge whose node the other side has deleted goes with it.
    edges: edges.filter((edge) => ids.has(edge.source) && ids.has(edge.target)),
    ...(notes.length || mine.notes || theirs.notes ? { notes } : {}),
  };
}

/** Tells of a field that both have changed. */
type Report = (path: readonly string[], mine: Value, theirs: Value) => void;

interface ListMerge {
  report(id: string, path: readonly string[], mine: Value, theirs: Value): void;
  /** Fields that are merged by their own fields. */
  readonly deep: readonly string[];
}

function mergeList<T extends object>(
  merge: ListMerge,
  key: (item: T) => string,
  base: readonly T[],
  mine: readonly T[],
  theirs: readonly T[],
): T[] {
  const byKey = (items: readonly T[]) => new Map(items.map((item) => [key(item), item]));
  const [was, my, their] = [byKey(base), byKey(mine), byKey(theirs)];
  return orderOf(base, mine, theirs, key).flatMap((id): T[] => {
    const [before, one, other] = [was.get(id), my.get(id), their.get(id)];
    if (one && other) {
      const report: Report = (path, a, b) => merge.report(id, path, a, b);
      return [mergeFields(before, one, other, [], [], report, merge.deep) as T];
    }
    const kept = keptOf(before, one, other);
    if (kept.conflict) merge.report(id, [], one, other);
    return kept.value ? [kept.value as T] : [];
  });
}

/** What is left of something that one side does not have: deleted, added, or both changed and deleted. */
function keptOf(before: Value, mine: Value, theirs: Value): { value: Value; conflict: boolean } {
  const left = mine ?? theirs;
  if (before === undefined || left === undefined) return { value: left, conflict: false };
  return isEqual(before, left) ? { value: undefined, conflict: false } : { value: left, conflict: true };
}

/** Mine in my order if I have changed it, else theirs in theirs; what only the other has stands behind. */
function orderOf<T>(
  base: readonly T[],
  mine: readonly T[],
  theirs: readonly T[],
  key: (item: T) => string,
): string[] {
  const keys = (items: readonly T[]) => items.map(key);
  const was = new Set(keys(base));
  const kept = (items: readonly T[]) => keys(items).filter((id) => was.has(id));
  const both = (items: readonly T[], others: readonly T[]) => {
    const there = new Set(keys(others));
    return kept(items).filter((id) => there.has(id));
  };
  const reordered = !isEqual(both(mine, base), both(base, mine));
  const [first, second] = reordered ? [mine, theirs] : [theirs, mine];
  // Old ones first, as one of the sides has them; then the new ones.
  const old = [...new Set([...kept(first), ...kept(second)])];
  const fresh = (items: readonly T[]) => keys(items).filter((id) => !was.has(id));
  return [...old, ...freshOrder(fresh(mine), fresh(theirs))];
}

/** As the side has them that has all of them; else in an order that does not depend on the side. */
function freshOrder(mine: readonly string[], theirs: readonly string[]): readonly string[] {
  const [my, their] = [new Set(mine), new Set(theirs)];
  const all = [...new Set([...mine, ...theirs])];
  if (isEqual(mine, theirs)) return mine;
  if (my.size === all.length && their.size < all.length) return mine;
  if (their.size === all.length && my.size < all.length) return theirs;
  return all.sort();
}

/** Merges objects field by field; those named in `deep` again so, `skipped` ones not at all. */
function mergeFields(
  base: Value,
  mine: object,
  theirs: object,
  path: readonly string[],
  skipped: readonly string[],
  report: Report,
  deep: readonly string[] = [],
): object {
  if (mine === theirs) return mine;
  const read = (object: Value, name: string): Value =>
    typeof object === 'object' && object !== null && Object.hasOwn(object, name)
      ? (object as Record<string, unknown>)[name]
      : undefined;
  const fields: [string, Value][] = [];
  for (const name of new Set([...Object.keys(mine), ...Object.keys(theirs)])) {
    if (skipped.includes(name)) continue;
    const [was, my, their] = [read(base, name), read(mine, name), read(theirs, name)];
    const field = [...path, name];
    let value: Value;
    if (isEqual(my, their) || isEqual(was, their)) value = my;
    else if (isEqual(was, my)) value = their;
    else if (deep.includes(field.join('.')) && isObject(my) && isObject(their)) {
      value = mergeFields(was, my, their, field, [], report, deep);
    } else {
      report(field, my, their);
      value = my;
    }
    if (value !== undefined) fields.push([name, value]);
  }
  const merged = Object.fromEntries(fields);
  return isEqual(merged, mine) && skipped.length === 0 ? mine : merged;
}

function isObject(value: Value): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
