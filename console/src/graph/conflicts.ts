/**
 * What is done about the conflicts of a merge: either side's value put in its place. Which side the document has is read
 * from the document, so that undoing and editing by hand are seen as well. Pure.
 */
import { applyEdit, mapped } from './edit';
import { isEqual } from './equal';
import type { Conflict } from './merge';
import {
  definitionOf,
  edgeKey,
  graphOf,
  indexOf,
  withGraph,
  type Definition,
  type DefinitionName,
  type Doc,
  type Graph,
  type GraphEdge,
  type GraphNode,
  type Note,
} from './model';

export type Side = 'mine' | 'theirs';

/** What a conflict is known by. */
export function conflictKey({ definition, kind, id, path }: Conflict): string {
  return JSON.stringify([definition, kind, id, ...path]);
}

/** The document with this side's value in the place of a conflict. */
export function resolved(doc: Doc, conflict: Conflict, side: Side): Doc {
  const { kind, id, path, definition } = conflict;
  const value = conflict[side];
  if (kind === 'definition') {
    const there = definitionOf(doc, id);
    if (path.length > 0 && !there) return doc;
    const next = path.length > 0 ? withPath(there, path, value) : value;
    return applyEdit(doc, { kind: 'define', name: id, value: next as Definition | undefined });
  }
  const graph = graphOf(doc, definition);
  if (kind === 'graph') return withGraph(doc, definition, withPath(graph, path, value) as Graph);
  if (path.length > 0)
    return withGraph(
      doc,
      definition,
      withItem(graph, conflict, (item) => withPath(item, path, value)),
    );
  return value === undefined
    ? without(doc, conflict)
    : withGraph(doc, definition, whole(graph, conflict, value));
}

/** Which side's value the document has; undefined if it has neither any more. */
export function sideOf(doc: Doc, conflict: Conflict): Side | undefined {
  const { path, mine, theirs } = conflict;
  const item = itemOf(doc, conflict);
  if (path.length === 0) {
    // One side has deleted it; whoever has it still may have changed it since.
    if (item === undefined) return mine === undefined ? 'mine' : 'theirs';
    return mine === undefined ? 'theirs' : 'mine';
  }
  if (item === undefined) return undefined;
  const value = valueAt(item, path);
  if (isEqual(value, mine)) return 'mine';
  return isEqual(value, theirs) ? 'theirs' : undefined;
}

/** Whether a node or an edge is in conflict, and whether that is decided. */
export type ConflictState = 'open' | 'decided';

export interface ConflictMarks {
  readonly nodes: ReadonlyMap<string, ConflictState>;
  /** By their keys. */
  readonly edges: ReadonlyMap<string, ConflictState>;
}

/** The conflicts of one graph, for those who draw it. */
export function marksOf(
  conflicts: readonly Conflict[],
  decided: ReadonlySet<string>,
  definition: DefinitionName,
): ConflictMarks {
  const marks = { nodes: new Map<string, ConflictState>(), edges: new Map<string, ConflictState>() };
  for (const conflict of conflicts) {
    if (conflict.definition !== definition) continue;
    const found = conflict.kind === 'node' ? marks.nodes : conflict.kind === 'edge' ? marks.edges : undefined;
    if (!found || found.get(conflict.id) === 'open') continue;
    found.set(conflict.id, decided.has(conflictKey(conflict)) ? 'decided' : 'open');
  }
  return marks;
}

/** The nodes to show for a conflict. */
export function nodesOf(doc: Doc, { definition, kind, id }: Conflict): string[] {
  const { nodes, edges } = indexOf(graphOf(doc, definition));
  if (kind === 'node') return nodes.has(id) ? [id] : [];
  const edge = kind === 'edge' ? edges.get(id) : undefined;
  return edge ? [edge.source, edge.target] : [];
}

function itemOf(doc: Doc, { definition, kind, id }: Conflict): unknown {
  if (kind === 'definition') return definitionOf(doc, id);
  const graph = graphOf(doc, definition);
  const { nodes, edges, notes } = indexOf(graph);
  return { node: nodes.get(id), edge: edges.get(id), note: notes.get(id), graph }[kind];
}

function without(doc: Doc, { definition, kind, id }: Conflict): Doc {
  const list = { node: 'nodes', edge: 'edges', note: 'notes' }[kind as 'node' | 'edge' | 'note'];
  return applyEdit(doc, { kind: 'remove', definition, [list]: [id] });
}

/** The graph with a node, an edge or a note as one side has it; a node with its edges, as far as they lead somewhere. */
function whole(graph: Graph, conflict: Conflict, value: unknown): Graph {
  const replaced = withItem(graph, conflict, () => value as object);
  const { nodes, edges, notes } = indexOf(replaced);
  const { kind, id } = conflict;
  if (kind === 'note') {
    return notes.has(id) ? replaced : { ...replaced, notes: [...(replaced.notes ?? []), value as Note] };
  }
  const added = kind === 'node' && !nodes.has(id) ? [value as GraphNode] : [];
  const ids = new Set([...nodes.keys(), ...added.map((node) => node.id)]);
  const wanted = kind === 'node' ? (conflict.edges ?? []) : [value as GraphEdge];
  const missing = wanted.filter(
    (edge) => !edges.has(edgeKey(edge)) && ids.has(edge.source) && ids.has(edge.target),
  );
  if (added.length + missing.length === 0) return replaced;
  return { ...replaced, nodes: [...replaced.nodes, ...added], edges: [...replaced.edges, ...missing] };
}

/** Changes the node, edge or note that a conflict is about, if it is there. */
function withItem(graph: Graph, { kind, id }: Conflict, change: (item: object) => object): Graph {
  if (kind === 'node') {
    const nodes = mapped(graph.nodes, (it) => (it.id === id ? (change(it) as GraphNode) : it));
    return nodes === graph.nodes ? graph : { ...graph, nodes };
  }
  if (kind === 'edge') {
    const { nodes } = indexOf(graph);
    const edges = mapped(graph.edges, (it) => {
      if (edgeKey(it) !== id) return it;
      const changed = change(it) as GraphEdge;
      // An end that is not there any more can't be gone back to.
      return nodes.has(changed.source) && nodes.has(changed.target) ? changed : it;
    });
    return edges === graph.edges ? graph : { ...graph, edges };
  }
  const notes = graph.notes && mapped(graph.notes, (it) => (it.id === id ? (change(it) as Note) : it));
  return !notes || notes === graph.notes ? graph : { ...graph, notes };
}

function valueAt(item: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (found, name) =>
      typeof found === 'object' && found !== null && Object.hasOwn(found, name)
        ? (found as Record<string, unknown>)[name]
        : undefined,
    item,
  );
}

/** An object with a value at a path; without a value, the field is removed. */
function withPath(item: unknown, path: readonly string[], value: unknown): object {
  const object = (typeof item === 'object' && item !== null ? item : {}) as Record<string, unknown>;
  const [name, ...rest] = path;
  if (name === undefined) return object;
  const own = Object.hasOwn(object, name) ? object[name] : undefined;
  const next = rest.length > 0 ? withPath(own, rest, value) : value;
  if (next !== undefined) return own === next ? object : { ...object, [name]: next };
  if (!Object.hasOwn(object, name)) return object;
  return Object.fromEntries(Object.entries(object).filter(([field]) => field !== name));
}
