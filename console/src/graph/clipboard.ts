/** Nodes, edges and notes as plain JSON, to copy and paste between patterns, tabs, chats and files. */
import { newId, newLabel, namesIn } from './ids';
import {
  definitionOf,
  edgeKey,
  graphOf,
  indexOf,
  type Definition,
  type DefinitionName,
  type Doc,
  type GraphEdge,
  type GraphNode,
  type Note,
  type Point,
} from './model';
import { mapTexts, renameIn, type Reference } from './references';
import { readDocument } from './read';
import { mapped, type AddEdit, type Edit } from './edit';

/** What is copied. */
export interface Selection {
  readonly nodes: ReadonlySet<string>;
  readonly edges: ReadonlySet<string>;
  readonly notes: ReadonlySet<string>;
}

export const NO_SELECTION: Selection = { nodes: new Set(), edges: new Set(), notes: new Set() };

/** What the clipboard holds, whole: definitions that its nodes use are with it. */
export interface Clip {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  readonly notes: readonly Note[];
  readonly definitions: Readonly<Record<string, Definition>>;
}

/** The text that is copied: a graph of its own, which the API and `heddle` read too. */
export function copyText(doc: Doc, definition: DefinitionName, selection: Selection): string {
  const clip = makeClip(doc, definition, selection);
  const { nodes, edges, notes, definitions } = clip;
  const text = {
    heddle: 'clip',
    graphData: { nodes, edges, ...(notes.length ? { notes } : {}) },
    ...(Object.keys(definitions).length ? { nodeDefinitions: definitions } : {}),
  };
  return JSON.stringify(text, null, 2);
}

/** The selected nodes and notes, the edges between those nodes, and the definitions that they need. */
export function makeClip(doc: Doc, definition: DefinitionName, selection: Selection): Clip {
  const graph = graphOf(doc, definition);
  const nodes = graph.nodes.filter((node) => selection.nodes.has(node.id));
  const inside = (edge: GraphEdge) => selection.nodes.has(edge.source) && selection.nodes.has(edge.target);
  return {
    nodes,
    edges: graph.edges.filter(inside),
    notes: (graph.notes ?? []).filter((note) => selection.notes.has(note.id)),
    definitions: definitionsFor(doc.definitions, nodes),
  };
}

function definitionsFor(all: Doc['definitions'], nodes: readonly GraphNode[]): Record<string, Definition> {
  const needed: Record<string, Definition> = {};
  const queue = nodes.map((node) => node.type);
  for (let type = queue.pop(); type !== undefined; type = queue.pop()) {
    const definition = Object.hasOwn(all, type) ? all[type] : undefined;
    if (!definition || Object.hasOwn(needed, type)) continue;
    needed[type] = definition;
    queue.push(...(definition.graphData?.nodes ?? []).map((node) => node.type));
  }
  return needed;
}

/** Texts longer than this are no clip. */
const TEXT_MAX = 8 << 20;

/** What a text holds, if it is an object or a list as JSON. */
function valueIn(text: string): unknown {
  if (text.length > TEXT_MAX || !/^\s*[{[]/.test(text)) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** What another system's editor copies: workflows of n8n, or the nodes of Node-RED's flows. */
export interface Foreign {
  readonly system: 'n8n' | 'Node-RED';
  readonly parts: readonly object[];
}

/** A copied text of another system. */
export const readForeign = (text: string): Foreign | undefined => foreignIn(valueIn(text));

/** What a value has of another system. Exports of n8n may have several workflows. */
export function foreignIn(value: unknown): Foreign | undefined {
  const all: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (all.length > 0 && all.every(isN8n)) return { system: 'n8n', parts: all };
  // Node-RED's own API has them in an object.
  const flows = (value as { flows?: unknown } | null | undefined)?.flows ?? value;
  return isNodeRed(flows) ? { system: 'Node-RED', parts: flows } : undefined;
}

/** Whether these are nodes of Node-RED: all have an id and a type, and some are on a canvas. */
function isNodeRed(value: unknown): value is readonly object[] {
  if (!Array.isArray(value)) return false;
  const nodes = value as readonly ({ id?: unknown; type?: unknown; wires?: unknown } | null)[];
  const isNode = (node: (typeof nodes)[number]): boolean =>
    typeof node?.id === 'string' && typeof node.type === 'string';
  return nodes.every(isNode) && nodes.some((node) => Array.isArray(node?.wires));
}

/** Whether this is a workflow of n8n, or a part of one: types of nodes have the name of their package before them. */
function isN8n(value: unknown): value is Record<string, unknown> {
  const nodes = (value as { nodes?: unknown } | null | undefined)?.nodes;
  if (!Array.isArray(nodes) || nodes.length === 0) return false;
  const types = nodes.map((node) => (node as { type?: unknown } | null)?.type);
  return types.every((type) => typeof type === 'string' && type.includes('.'));
}

/** Reads a copied text: a clip, a whole pattern as the API or a file has it, or undefined if it is something else. */
export function readClip(text: string): Clip | undefined {
  const value = valueIn(text) as Record<string, unknown> | undefined;
  const graphData = value?.['graphData'] ?? (Array.isArray(value?.['nodes']) ? value : undefined);
  if (!value || graphData === undefined) return undefined;
  try {
    const { doc } = readDocument(graphData, value['nodeDefinitions']);
    const { nodes, edges, notes } = doc.graph;
    if (nodes.length === 0 && !notes?.length) return undefined;
    return { nodes, edges, notes: notes ?? [], definitions: doc.definitions };
  } catch {
    return undefined;
  }
}

/** What is pasted, and what is to be selected then. */
export interface Paste {
  readonly edit: Edit;
  readonly selection: Selection;
}

export interface PasteOptions {
  /** Where the middle of what is pasted goes; without it, a little beside where it came from. */
  readonly at?: Point;
  readonly verb?: string;
  readonly random?: () => number;
}

/** Puts a clip into a graph: ids and labels are made unique, and references between its nodes follow them. */
export function pasteEdit(
  doc: Doc,
  definition: DefinitionName,
  clip: Clip,
  options: PasteOptions = {},
): Paste {
  const graph = graphOf(doc, definition);
  const verb = options.verb ?? 'Paste';
  const types = newTypes(doc, clip);
  const ids = freshIds(
    graph.nodes.map((node) => node.id),
    clip.nodes,
    options.random,
  );
  const labels = freshLabels(namesIn(graph), clip.nodes);
  const offset = offsetFor(clip, options.at);
  const nodes = clip.nodes.map((node) =>
    moved(withReferences(withIdentity(node, ids, labels, types), ids, labels), offset),
  );
  const edges = freshEdges(indexOf(graph).edges, clip.edges, ids, options.random);
  const notes = clip.notes.map((note) => ({
    ...moved(note, offset),
    id: newId('note', (id) => indexOf(graph).notes.has(id), options.random),
  }));
  const add: AddEdit = { kind: 'add', definition, nodes, edges, verb, ...(notes.length ? { notes } : {}) };
  const define = [...types].map(([from, to]): Edit => {
    const value = clip.definitions[from] as Definition;
    return { kind: 'define', name: to, value: retyped(value, types) };
  });
  const edit: Edit = define.length
    ? {
        kind: 'batch',
        title: `${verb} ${nodes.length} node${nodes.length === 1 ? '' : 's'}`,
        edits: [...define, add],
      }
    : add;
  const selection = {
    nodes: new Set(nodes.map((node) => node.id)),
    edges: new Set<string>(),
    notes: new Set(notes.map((note) => note.id)),
  };
  return { edit, selection };
}

/** Names of definitions that have to be added, old to new. One that is there already, and is the same, is used. */
function newTypes(doc: Doc, clip: Clip): Map<string, string> {
  const names = new Map<string, string>();
  const taken = new Set(Object.keys(doc.definitions));
  for (const [name, definition] of Object.entries(clip.definitions)) {
    const there = definitionOf(doc, name);
    if (there && JSON.stringify(there) === JSON.stringify(definition)) continue;
    const fresh = newLabel(name, taken).replaceAll(' ', '');
    taken.add(fresh);
    names.set(name, fresh);
  }
  return names;
}

function retyped(definition: Definition, types: ReadonlyMap<string, string>): Definition {
  if (!definition.graphData) return definition;
  const nodes = mapped(definition.graphData.nodes, (node) => {
    const type = types.get(node.type);
    return type === undefined || type === node.type ? node : { ...node, type };
  });
  return nodes === definition.graphData.nodes
    ? definition
    : { ...definition, graphData: { ...definition.graphData, nodes } };
}

function freshIds(
  taken: readonly string[],
  nodes: readonly GraphNode[],
  random?: () => number,
): Map<string, string> {
  const used = new Set(taken);
  const ids = new Map<string, string>();
  for (const node of nodes) {
    const id = used.has(node.id) ? newId(node.type, (other) => used.has(other), random) : node.id;
    used.add(id);
    ids.set(node.id, id);
  }
  return ids;
}

/** New labels by node, and by the label that they replace. */
interface Labels {
  readonly byNode: Names;
  readonly byLabel: Names;
}

function freshLabels(taken: Set<string>, nodes: readonly GraphNode[]): Labels {
  const byNode = new Map<string, string>();
  const byLabel = new Map<string, string>();
  for (const node of nodes) {
    const label = node.data?.label;
    if (!label) continue;
    const fresh = newLabel(label, taken);
    taken.add(fresh);
    byNode.set(node.id, fresh);
    if (!byLabel.has(label)) byLabel.set(label, fresh);
  }
  return { byNode, byLabel };
}

type Names = ReadonlyMap<string, string>;

function withIdentity(node: GraphNode, ids: Names, labels: Labels, types: Names): GraphNode {
  const [id, label] = [ids.get(node.id) ?? node.id, labels.byNode.get(node.id)];
  const type = types.get(node.type) ?? node.type;
  const data = label === undefined || label === node.data?.label ? node.data : { ...node.data, label };
  return { ...node, id, type, ...(data ? { data } : {}) };
}

/** References between copied nodes mean the copies; others stay as they are. */
function withReferences(node: GraphNode, ids: Names, labels: Labels): GraphNode {
  const parameters = node.data?.parameters;
  if (!parameters) return node;
  // A label that no copied node has may be an id, which expressions can use in its place.
  const rename = ({ by, name }: Reference) =>
    by === 'id' ? ids.get(name) : (labels.byLabel.get(name) ?? ids.get(name));
  const changed = mapTexts(parameters, (text) => renameIn(text, rename));
  if (changed === parameters) return node;
  return { ...node, data: { ...node.data, parameters: changed as Record<string, unknown> } };
}

function freshEdges(
  there: ReadonlyMap<string, GraphEdge>,
  edges: readonly GraphEdge[],
  ids: Names,
  random?: () => number,
): GraphEdge[] {
  const used = new Set(there.keys());
  return edges.map((edge) => {
    const ends = { source: ids.get(edge.source) ?? edge.source, target: ids.get(edge.target) ?? edge.target };
    const next = { ...edge, ...ends };
    if (used.has(edgeKey(next))) return { ...next, id: newId('edge', (id) => used.has(id), random) };
    used.add(edgeKey(next));
    return next;
  });
}

/** How far copies stand from their originals. */
const BESIDE = 48;

function offsetFor(clip: Clip, at: Point | undefined): Point {
  if (!at) return { x: BESIDE, y: BESIDE };
  const points = [...clip.nodes, ...clip.notes].flatMap((item) => (item.position ? [item.position] : []));
  if (points.length === 0) return { x: 0, y: 0 };
  const [xs, ys] = [points.map((point) => point.x), points.map((point) => point.y)];
  const middle = { x: (Math.min(...xs) + Math.max(...xs)) / 2, y: (Math.min(...ys) + Math.max(...ys)) / 2 };
  return { x: Math.round(at.x - middle.x), y: Math.round(at.y - middle.y) };
}

function moved<T extends { readonly position?: Point }>(item: T, offset: Point): T {
  if (!item.position) return item;
  return { ...item, position: { x: item.position.x + offset.x, y: item.position.y + offset.y } };
}
