/**
 * Everything that can change a document, as data.
 *
 * An edit is plain JSON, so that it can be kept in the journal and applied again. Ids of what it adds are in it.
 * Applying is total: an edit about something that is gone changes nothing, and then the same document comes back.
 */
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
  type Point,
} from './model';
import { followPorts } from './follow';
import { mapTexts, renameIn } from './references';

/** Every edit but those of the whole document names the graph that it is about. */
interface InGraph {
  readonly definition: DefinitionName;
}

export interface AddEdit extends InGraph {
  readonly kind: 'add';
  readonly nodes?: readonly GraphNode[];
  readonly edges?: readonly GraphEdge[];
  readonly notes?: readonly Note[];
  /** What people did, if it is more than adding: "Paste", "Duplicate". */
  readonly verb?: string;
}

export interface RemoveEdit extends InGraph {
  readonly kind: 'remove';
  readonly nodes?: readonly string[];
  /** Keys of edges; those of removed nodes go with them. */
  readonly edges?: readonly string[];
  readonly notes?: readonly string[];
  readonly verb?: string;
}

export interface MoveEdit extends InGraph {
  readonly kind: 'move';
  readonly nodes?: Readonly<Record<string, Point>>;
  readonly notes?: Readonly<Record<string, Point>>;
  readonly verb?: string;
}

/** Sets a parameter; without a value it is removed. */
export interface ParameterEdit extends InGraph {
  readonly kind: 'parameter';
  readonly node: string;
  readonly name: string;
  readonly value?: unknown;
}

/** Sets a field of `data`, such as `disabled`, `onError`, `pin`; without a value it is removed. */
export interface DataEdit extends InGraph {
  readonly kind: 'data';
  readonly nodes: readonly string[];
  readonly field: string;
  readonly value?: unknown;
}

/** Sets the label, and rewrites the references to it in the graph's expressions. */
export interface RenameEdit extends InGraph {
  readonly kind: 'rename';
  readonly node: string;
  readonly label: string;
}

export interface NoteEdit extends InGraph {
  readonly kind: 'note';
  readonly note: string;
  readonly fields: Partial<Note>;
}

/** Puts the edges that enter a node in another order, which is the order of their values. */
export interface OrderEdit extends InGraph {
  readonly kind: 'order';
  readonly node: string;
  readonly edges: readonly string[];
}

export interface SettingEdit extends InGraph {
  readonly kind: 'setting';
  readonly field: string;
  readonly value?: unknown;
}

/** Adds, changes or, without a value, removes a definition. */
export interface DefineEdit {
  readonly kind: 'define';
  readonly name: string;
  readonly value?: Definition;
}

/** Gives a definition another name, which its nodes get as their type. */
export interface RenameDefinitionEdit {
  readonly kind: 'renameDefinition';
  readonly from: string;
  readonly to: string;
}

/** Several edits as one step. */
export interface BatchEdit {
  readonly kind: 'batch';
  readonly title: string;
  readonly edits: readonly Edit[];
}

/** Another document in its place: a merge, an older version, an import. */
export interface ReplaceEdit {
  readonly kind: 'replace';
  readonly title: string;
  readonly doc: Doc;
}

export type GraphEdit =
  | AddEdit
  | RemoveEdit
  | MoveEdit
  | ParameterEdit
  | DataEdit
  | RenameEdit
  | NoteEdit
  | OrderEdit
  | SettingEdit;

export type Edit = GraphEdit | DefineEdit | RenameDefinitionEdit | BatchEdit | ReplaceEdit;

/** The document after an edit. */
export function applyEdit(doc: Doc, edit: Edit): Doc {
  switch (edit.kind) {
    case 'batch':
      return edit.edits.reduce(applyEdit, doc);
    case 'replace':
      return edit.doc;
    case 'define':
      return define(doc, edit);
    case 'renameDefinition':
      return renameDefinition(doc, edit);
    default:
      return withGraph(doc, edit.definition, applyToGraph(graphOf(doc, edit.definition), edit));
  }
}

function applyToGraph(graph: Graph, edit: GraphEdit): Graph {
  switch (edit.kind) {
    case 'add':
      return add(graph, edit);
    case 'remove':
      return remove(graph, edit);
    case 'move':
      return move(graph, edit);
    case 'parameter':
      return changeNode(graph, edit.node, (node) => setParameter(node, edit));
    case 'data':
      return edit.nodes.reduce(
        (changed, id) => changeNode(changed, id, (node) => withData(node, edit.field, edit.value)),
        graph,
      );
    case 'rename':
      return rename(graph, edit);
    case 'note':
      return changeNote(graph, edit.note, (note) => ({ ...note, ...edit.fields, id: note.id }));
    case 'order':
      return order(graph, edit);
    case 'setting':
      return setting(graph, edit);
  }
}

/** What is there already, or has no ends, is not added. */
function add(graph: Graph, edit: AddEdit): Graph {
  const index = indexOf(graph);
  const nodes = unique(
    edit.nodes ?? [],
    (node) => node.id,
    (id) => index.nodes.has(id),
  );
  const ids = new Set([...index.nodes.keys(), ...nodes.map((node) => node.id)]);
  const whole = (edit.edges ?? []).filter((edge) => ids.has(edge.source) && ids.has(edge.target));
  const edges = unique(whole, edgeKey, (key) => index.edges.has(key));
  const notes = unique(
    edit.notes ?? [],
    (note) => note.id,
    (id) => index.notes.has(id),
  );
  if (nodes.length + edges.length + notes.length === 0) return graph;
  return {
    ...graph,
    nodes: nodes.length ? [...graph.nodes, ...nodes] : graph.nodes,
    edges: edges.length ? [...graph.edges, ...edges] : graph.edges,
    ...(notes.length ? { notes: [...(graph.notes ?? []), ...notes] } : {}),
  };
}

function unique<T>(items: readonly T[], key: (item: T) => string, taken: (key: string) => boolean): T[] {
  const seen = new Set<string>();
  return items.filter((item) => {
    const name = key(item);
    if (seen.has(name) || taken(name)) return false;
    seen.add(name);
    return true;
  });
}

function remove(graph: Graph, edit: RemoveEdit): Graph {
  const nodes = new Set(edit.nodes);
  const edges = new Set(edit.edges);
  const notes = new Set(edit.notes);
  const gone = (edge: GraphEdge) =>
    edges.has(edgeKey(edge)) || nodes.has(edge.source) || nodes.has(edge.target);
  const kept = {
    nodes: without(graph.nodes, (node) => nodes.has(node.id)),
    edges: without(graph.edges, gone),
    notes: graph.notes && without(graph.notes, (note) => notes.has(note.id)),
  };
  if (kept.nodes === graph.nodes && kept.edges === graph.edges && kept.notes === graph.notes) return graph;
  const changed = { ...graph, nodes: kept.nodes, edges: kept.edges };
  return kept.notes ? { ...changed, notes: kept.notes } : changed;
}

function without<T>(items: readonly T[], gone: (item: T) => boolean): readonly T[] {
  return items.some(gone) ? items.filter((item) => !gone(item)) : items;
}

function move(graph: Graph, edit: MoveEdit): Graph {
  const moved = <T extends { readonly id: string; readonly position?: Point }>(
    items: readonly T[],
    places: Readonly<Record<string, Point>> | undefined,
  ): readonly T[] => {
    if (!places) return items;
    const change = (item: T): T => {
      const to = Object.hasOwn(places, item.id) ? places[item.id] : undefined;
      if (!to || (item.position?.x === to.x && item.position.y === to.y)) return item;
      return { ...item, position: to };
    };
    return mapped(items, change);
  };
  const nodes = moved(graph.nodes, edit.nodes);
  const notes = graph.notes && moved(graph.notes, edit.notes);
  if (nodes === graph.nodes && notes === graph.notes) return graph;
  return notes ? { ...graph, nodes, notes } : { ...graph, nodes };
}

/** The items with a change made to them; the same array if none has changed. */
export function mapped<T>(items: readonly T[], change: (item: T) => T): readonly T[] {
  let changed: T[] | undefined;
  items.forEach((item, place) => {
    const now = change(item);
    if (now !== item) (changed ??= [...items])[place] = now;
  });
  return changed ?? items;
}

function changeNode(graph: Graph, id: string, change: (node: GraphNode) => GraphNode): Graph {
  const node = indexOf(graph).nodes.get(id);
  if (!node) return graph;
  const changed = change(node);
  if (changed === node) return graph;
  const nodes = mapped(graph.nodes, (other) => (other === node ? changed : other));
  return followPorts({ ...graph, nodes }, node, changed);
}

function changeNote(graph: Graph, id: string, change: (note: Note) => Note): Graph {
  const note = indexOf(graph).notes.get(id);
  if (!note || !graph.notes) return graph;
  const changed = change(note);
  return { ...graph, notes: mapped(graph.notes, (other) => (other === note ? changed : other)) };
}

function setParameter(node: GraphNode, edit: ParameterEdit): GraphNode {
  const parameters = withField(node.data?.parameters ?? {}, edit.name, edit.value);
  return parameters === node.data?.parameters ? node : withData(node, 'parameters', parameters);
}

function withData(node: GraphNode, field: string, value: unknown): GraphNode {
  const data = withField(node.data ?? {}, field, value);
  return data === node.data ? node : { ...node, data };
}

function withField<T extends object>(object: T, field: string, value: unknown): T {
  if (value === undefined) {
    if (!Object.hasOwn(object, field)) return object;
    return Object.fromEntries(Object.entries(object).filter(([name]) => name !== field)) as T;
  }
  const now = Object.hasOwn(object, field) ? (object as Record<string, unknown>)[field] : undefined;
  return now === value ? object : { ...object, [field]: value };
}

function rename(graph: Graph, edit: RenameEdit): Graph {
  const node = indexOf(graph).nodes.get(edit.node);
  const before = node?.data?.label;
  if (!node || (before ?? '') === edit.label) return graph;
  const renamed = changeNode(graph, edit.node, (it) => withData(it, 'label', edit.label || undefined));
  // Where several nodes have the label, it is not known which of them an expression means.
  if (!before || graph.nodes.some((other) => other !== node && other.data?.label === before)) return renamed;
  const name = edit.label || node.id;
  const rewrite = (text: string) =>
    renameIn(text, (reference) => (reference.by === 'label' && reference.name === before ? name : undefined));
  return { ...renamed, nodes: mapped(renamed.nodes, (it) => rewriteTexts(it, rewrite)) };
}

function rewriteTexts(node: GraphNode, rewrite: (text: string) => string): GraphNode {
  const parameters = node.data?.parameters;
  if (!parameters) return node;
  // A module has no expressions in it.
  const map = (value: unknown, name: string) =>
    node.type === 'JavaScript' && name === 'code' ? value : mapTexts(value, rewrite);
  let changed: Record<string, unknown> | undefined;
  for (const [name, value] of Object.entries(parameters)) {
    const now = map(value, name);
    if (now !== value) (changed ??= { ...parameters })[name] = now;
  }
  return changed ? withData(node, 'parameters', changed) : node;
}

function order(graph: Graph, edit: OrderEdit): Graph {
  const wanted = new Map(edit.edges.map((key, place) => [key, place]));
  const places = graph.edges.flatMap((edge, place) =>
    edge.target === edit.node && wanted.has(edgeKey(edge)) ? [place] : [],
  );
  const sorted = places
    .flatMap((place) => graph.edges[place] ?? [])
    .sort((a, b) => (wanted.get(edgeKey(a)) ?? 0) - (wanted.get(edgeKey(b)) ?? 0));
  const edges = [...graph.edges];
  places.forEach((place, rank) => {
    const edge = sorted[rank];
    if (edge) edges[place] = edge;
  });
  return edges.every((edge, place) => edge === graph.edges[place]) ? graph : { ...graph, edges };
}

function setting(graph: Graph, edit: SettingEdit): Graph {
  const settings = withField(graph.settings ?? {}, edit.field, edit.value);
  if (settings === graph.settings || (!graph.settings && edit.value === undefined)) return graph;
  return { ...graph, settings };
}

function define(doc: Doc, edit: DefineEdit): Doc {
  const definitions = withField(doc.definitions, edit.name, edit.value);
  return definitions === doc.definitions ? doc : { ...doc, definitions };
}

function renameDefinition(doc: Doc, { from, to }: RenameDefinitionEdit): Doc {
  if (from === to || !definitionOf(doc, from) || definitionOf(doc, to)) return doc;
  const retype = (graph: Graph): Graph => ({
    ...graph,
    nodes: mapped(graph.nodes, (node) => (node.type === from ? { ...node, type: to } : node)),
  });
  const entries = Object.entries(doc.definitions).map(([name, value]): [string, Definition] => [
    name === from ? to : name,
    value.kind === 'graph' && value.graphData ? { ...value, graphData: retype(value.graphData) } : value,
  ]);
  return { ...doc, graph: retype(doc.graph), definitions: Object.fromEntries(entries) };
}
