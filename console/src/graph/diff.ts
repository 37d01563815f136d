/**
 * What differs between two documents: nodes by id, edges by their ends, definitions by name. Names and layout are kept
 * apart from meaning: a reference that only follows a renamed node is no change.
 */
import { isEqual } from './equal';
import { edgeKey, graphOf, indexOf, type Definition, type DefinitionName, type Doc } from './model';
import type { Graph, GraphEdge, GraphNode } from './model';
import { mapTexts, renameIn } from './references';

export type Change = 'added' | 'removed' | 'changed';

export interface DocDiff {
  readonly graph: GraphDiff;
  /** Definitions that differ, by name. */
  readonly definitions: ReadonlyMap<string, DefinitionDiff>;
  /** The newer document together with what was removed from the older: what a difference is drawn on. */
  readonly union: Doc;
  /** The older document, with edges by the keys that they have in `union`. */
  readonly older: Doc;
}

export interface DefinitionDiff {
  readonly change: Change;
  /** Fields that differ, without the inner graph. */
  readonly fields: readonly FieldDiff[];
  /** Of the inner graphs, if both are composites. */
  readonly graph?: GraphDiff;
}

export interface GraphDiff {
  readonly nodes: ReadonlyMap<string, NodeDiff>;
  /** By their keys in `union`. */
  readonly edges: ReadonlyMap<string, 'added' | 'removed'>;
  /** The graph's own fields: settings and whatever else it has. */
  readonly settings: readonly FieldDiff[];
  /** Texts on the canvas that were added, removed, moved or written anew. */
  readonly notes: number;
  readonly union: Graph;
  readonly older: Graph;
}

export interface NodeDiff {
  /** What says most: a node that changed may have another name and place as well. */
  readonly change: Change | 'renamed' | 'moved';
  /** Fields that differ in meaning. */
  readonly fields: readonly FieldDiff[];
  /** The labels, if they differ. */
  readonly label?: { readonly before: string; readonly after: string };
  readonly moved: boolean;
}

export interface FieldDiff {
  /** `type`, `onError`, `parameters.url`, `parameters.cases[0].when` */
  readonly field: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** Levels of a value that are looked into; what is deeper differs as a whole. */
const LEVELS = 4;
/** Fields that say how something is drawn. */
const DRAWING = new Set([
  'position',
  'positionAbsolute',
  'selected',
  'dragging',
  'resizing',
  'measured',
  'width',
  'height',
  'zIndex',
  'viewport',
]);

export function diffDocuments(before: Doc, after: Doc): DocDiff {
  const graph = diffGraphs(before.graph, after.graph);
  const definitions = new Map<string, DefinitionDiff>();
  const union: Record<string, Definition> = { ...after.definitions };
  const older: Record<string, Definition> = { ...before.definitions };
  for (const [name, is] of Object.entries(after.definitions)) {
    const was = own(before.definitions, name);
    if (was === is) continue;
    const diff: DefinitionDiff | undefined = was ? diffDefinition(was, is) : { change: 'added', fields: [] };
    if (diff) definitions.set(name, diff);
    if (was && diff?.graph) {
      union[name] = { ...is, graphData: diff.graph.union };
      older[name] = { ...was, graphData: diff.graph.older };
    }
  }
  for (const [name, was] of Object.entries(before.definitions)) {
    if (Object.hasOwn(after.definitions, name)) continue;
    definitions.set(name, { change: 'removed', fields: [] });
    union[name] = was;
  }
  return {
    graph,
    definitions,
    union: { graph: graph.union, definitions: union },
    older: { graph: graph.older, definitions: older },
  };
}

/** The difference of one graph of the documents; everything of a definition that is new or gone is so too. */
export function levelDiff(diff: DocDiff, definition: DefinitionName): GraphDiff {
  if (definition === null) return diff.graph;
  const found = diff.definitions.get(definition);
  if (found?.graph) return found.graph;
  const union = graphOf(diff.union, definition);
  const { change } = found ?? {};
  if (change !== 'added' && change !== 'removed') return { ...NOTHING, union, older: union };
  return {
    ...NOTHING,
    nodes: new Map(union.nodes.map((node) => [node.id, { change, fields: [], moved: false }])),
    edges: new Map(union.edges.map((edge) => [edgeKey(edge), change])),
    union,
    older: union,
  };
}

const NOTHING = { nodes: new Map(), edges: new Map(), settings: [], notes: 0 };

/** Whether anything but names and layout differs. */
export function hasMeaning(diff: DocDiff): boolean {
  const differs = ({ nodes, edges, settings }: GraphDiff) =>
    edges.size > 0 ||
    settings.length > 0 ||
    [...nodes.values()].some(({ change }) => change !== 'moved' && change !== 'renamed');
  return (
    differs(diff.graph) ||
    [...diff.definitions.values()].some(
      ({ change, fields, graph }) => change !== 'changed' || fields.length > 0 || (graph && differs(graph)),
    )
  );
}

export function diffGraphs(before: Graph, after: Graph): GraphDiff {
  const [was, is] = [indexOf(before), indexOf(after)];
  const follow = renaming(before, after);
  const nodes = new Map<string, NodeDiff>();
  for (const node of after.nodes) {
    const old = was.nodes.get(node.id);
    const diff = !old
      ? { change: 'added' as const, fields: [], moved: false }
      : old === node
        ? undefined
        : diffNode(old, node, follow);
    if (diff) nodes.set(node.id, diff);
  }
  const removed = before.nodes.filter((node) => !is.nodes.has(node.id));
  for (const node of removed) nodes.set(node.id, { change: 'removed', fields: [], moved: false });
  const { edges, gone, older } = diffEdges(before, after);
  const union =
    removed.length + gone.length === 0
      ? after
      : { ...after, nodes: [...after.nodes, ...removed], edges: [...after.edges, ...gone] };
  return {
    nodes,
    edges,
    settings: diffSettings(before, after),
    notes: changedNotes(before, after),
    union,
    older,
  };
}

function diffDefinition(was: Definition, is: Definition): DefinitionDiff | undefined {
  const areGraphs = was.kind === 'graph' && is.kind === 'graph';
  const [{ graphData: inner, ...before }, { graphData, ...after }] = [was, is];
  const graph =
    areGraphs && inner && graphData && inner !== graphData ? diffGraphs(inner, graphData) : undefined;
  const fields = diffFields(before, after, '');
  const differs = graph && graph.nodes.size + graph.edges.size + graph.settings.length + graph.notes > 0;
  if (!differs && fields.length === 0) return undefined;
  return { change: 'changed', fields, ...(graph && { graph }) };
}

type Follow = (value: unknown) => unknown;

/** What a value of the older graph becomes when its references follow the nodes that were renamed. */
function renaming(before: Graph, after: Graph): Follow {
  const is = indexOf(after).nodes;
  const counts = new Map<string, number>();
  for (const { data } of before.nodes) {
    if (data?.label) counts.set(data.label, (counts.get(data.label) ?? 0) + 1);
  }
  const renamed = new Map<string, string>();
  for (const { id, data } of before.nodes) {
    const now = is.get(id);
    const label = now && (now.data?.label || id);
    // Where several nodes have the label, it is not known which of them is meant.
    if (data?.label && label && label !== data.label && counts.get(data.label) === 1)
      renamed.set(data.label, label);
  }
  if (renamed.size === 0) return (value) => value;
  return (value) =>
    mapTexts(value, (text) =>
      renameIn(text, ({ by, name }) => (by === 'label' ? renamed.get(name) : undefined)),
    );
}

function diffNode(old: GraphNode, node: GraphNode, follow: Follow): NodeDiff | undefined {
  const { parameters: was, label: labelBefore = '', ...dataBefore } = old.data ?? {};
  const { parameters: is, label: labelAfter = '', ...dataAfter } = node.data ?? {};
  const fields = [
    ...diffFields(plain(old), plain(node), ''),
    ...diffFields(dataBefore, dataAfter, ''),
    ...diffFields(follow(was ?? {}) as object, is ?? {}, 'parameters.'),
  ];
  const moved = !isEqual(old.position, node.position);
  const label = labelBefore === labelAfter ? undefined : { before: labelBefore, after: labelAfter };
  const change = fields.length ? 'changed' : label ? 'renamed' : moved ? 'moved' : undefined;
  return change && { change, fields, moved, ...(label && { label }) };
}

/** A node's own fields that say what it does, without its data. */
function plain(node: GraphNode): object {
  return Object.fromEntries(
    Object.entries(node).filter(([name]) => name !== 'data' && name !== 'id' && !DRAWING.has(name)),
  );
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function own<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

function diffFields(before: object, after: object, prefix: string, levels = LEVELS): FieldDiff[] {
  const [was, is] = [before as Record<string, unknown>, after as Record<string, unknown>];
  return [...new Set([...Object.keys(is), ...Object.keys(was)])].flatMap((name) =>
    diffValue(own(was, name), own(is, name), prefix + name, levels),
  );
}

function diffValue(before: unknown, after: unknown, field: string, levels: number): FieldDiff[] {
  if (isEqual(before, after)) return [];
  if (levels > 0 && isObject(before) && isObject(after))
    return diffFields(before, after, `${field}.`, levels - 1);
  // Of lists of different lengths it is not known which elements belong together.
  if (levels > 0 && Array.isArray(before) && Array.isArray(after) && before.length === after.length)
    return before.flatMap((item, at) => diffValue(item, after[at], `${field}[${at}]`, levels - 1));
  return [{ field, before, after }];
}

function diffSettings(before: Graph, after: Graph): FieldDiff[] {
  const rest = (graph: Graph) =>
    Object.fromEntries(
      Object.entries(graph).filter(
        ([name]) => !['nodes', 'edges', 'notes', 'settings'].includes(name) && !DRAWING.has(name),
      ),
    );
  return [
    ...diffFields(before.settings ?? {}, after.settings ?? {}, ''),
    ...diffFields(rest(before), rest(after), ''),
  ];
}

function changedNotes(before: Graph, after: Graph): number {
  const [was, is] = [indexOf(before).notes, indexOf(after).notes];
  const differs = [...is].filter(([id, note]) => !isEqual(was.get(id), note)).length;
  return differs + [...was.keys()].filter((id) => !is.has(id)).length;
}

interface EdgesDiff {
  readonly edges: Map<string, 'added' | 'removed'>;
  readonly gone: GraphEdge[];
  readonly older: Graph;
}

/** Edges are known by their ends: an id alone means nothing. */
function diffEdges(before: Graph, after: Graph): EdgesDiff {
  const ends = ({ source, sourceHandle, target, targetHandle }: GraphEdge) =>
    edgeKey({ source, sourceHandle, target, targetHandle });
  const endsIn = (graph: Graph) => new Set(graph.edges.map(ends));
  const [was, is] = [endsIn(before), endsIn(after)];
  const edges = new Map<string, 'added' | 'removed'>();
  for (const edge of after.edges) if (!was.has(ends(edge))) edges.set(edgeKey(edge), 'added');
  const taken = new Set(after.edges.map(edgeKey));
  const gone = new Map<GraphEdge, GraphEdge>();
  for (const edge of before.edges) {
    if (is.has(ends(edge))) continue;
    // An edge may have kept its id and been put elsewhere.
    let id = edgeKey(edge);
    while (taken.has(id)) id = `${id} (removed)`;
    taken.add(id);
    gone.set(edge, id === edgeKey(edge) ? edge : { ...edge, id });
    edges.set(id, 'removed');
  }
  const isSame = [...gone].every(([edge, kept]) => edge === kept);
  const older = isSame ? before : { ...before, edges: before.edges.map((edge) => gone.get(edge) ?? edge) };
  return { edges, gone: [...gone.values()], older };
}
