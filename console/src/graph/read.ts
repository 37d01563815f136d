/** Reads a document from what the API or a file gives. What can't be drawn is refused or put right, and said. */
import { newId } from './ids';
import { edgeKey, type Definition, type Doc, type Graph, type GraphEdge, type GraphNode } from './model';

export interface ReadDocument {
  readonly doc: Doc;
  /** What had to be changed so that it can be edited, in sentences. Empty for nearly all. */
  readonly repairs: readonly string[];
}

/** Reads `graphData` and `nodeDefinitions`. Throws an `Error` with a sentence for people if they are no graph. */
export function readDocument(graphData: unknown, nodeDefinitions?: unknown): ReadDocument {
  const repairs: string[] = [];
  const graph = readGraph(graphData, 'The graph', repairs);
  const given = nodeDefinitions ?? {};
  if (!isObject(given))
    throw new Error('The node definitions must be an object from type name to definition.');
  let definitions = given as Record<string, Definition>;
  for (const [name, definition] of Object.entries(definitions)) {
    if (!isObject(definition)) throw new Error(`The definition ${name} must be an object.`);
    if (definition.kind !== 'graph' || definition.graphData === undefined) continue;
    const inner = readGraph(definition.graphData, `The graph of ${name}`, repairs);
    if (inner !== definition.graphData) {
      definitions = { ...definitions, [name]: { ...definition, graphData: inner } };
    }
  }
  return { doc: { graph, definitions }, repairs };
}

/** The same object if nothing had to be changed. */
function readGraph(value: unknown, what: string, repairs: string[]): Graph {
  if (!isObject(value)) throw new Error(`${what} must be an object with nodes and edges.`);
  const nodes = value['nodes'] ?? [];
  const edges = value['edges'] ?? [];
  if (!Array.isArray(nodes)) throw new Error(`The nodes of ${what.toLowerCase()} must be a list.`);
  if (!Array.isArray(edges)) throw new Error(`The edges of ${what.toLowerCase()} must be a list.`);
  const read = {
    nodes: readNodes(nodes, what, repairs),
    edges: readEdges(edges, what, repairs),
  };
  const notes = readNotes(value['notes'], what, repairs);
  if (read.nodes === value['nodes'] && read.edges === value['edges'] && notes === value['notes']) {
    return value as unknown as Graph;
  }
  const graph = { ...value, ...read } as Graph;
  return notes === value['notes'] ? graph : { ...graph, notes: notes ?? [] };
}

function readNodes(nodes: unknown[], what: string, repairs: string[]): readonly GraphNode[] {
  const ids = new Set<string>();
  return mappedOrSame(nodes, (node, place) => {
    if (!isObject(node)) throw new Error(`${what}: node ${place + 1} is not an object.`);
    if (typeof node['type'] !== 'string') throw new Error(`${what}: node ${place + 1} has no type.`);
    const data = node['data'];
    if (data !== undefined && !isObject(data))
      throw new Error(`${what}: the data of node ${place + 1} is not an object.`);
    let read = node;
    const id = node['id'];
    if (typeof id !== 'string' || id === '' || ids.has(id)) {
      const fresh = newId(
        node['type'],
        (other) => ids.has(other) || nodes.some((it) => isObject(it) && it['id'] === other),
      );
      repairs.push(`${what}: node ${place + 1} had no id of its own and is now ${fresh}.`);
      read = { ...read, id: fresh };
    }
    if (read['position'] !== undefined && !isPoint(read['position'])) {
      repairs.push(`${what}: the position of ${String(read['id'])} could not be read.`);
      const { position: _, ...rest } = read;
      read = rest;
    }
    if (isObject(data) && data['parameters'] !== undefined && !isObject(data['parameters'])) {
      throw new Error(`${what}: the parameters of ${String(read['id'])} are not an object.`);
    }
    ids.add(read['id'] as string);
    return read;
  }) as readonly GraphNode[];
}

function readEdges(edges: unknown[], what: string, repairs: string[]): readonly GraphEdge[] {
  const keys = new Set<string>();
  const read = mappedOrSame(edges, (value, place) => {
    if (!isObject(value) || typeof value['source'] !== 'string' || typeof value['target'] !== 'string') {
      throw new Error(`${what}: edge ${place + 1} must have a source and a target.`);
    }
    for (const side of ['sourceHandle', 'targetHandle']) {
      const handle = value[side];
      if (handle !== undefined && handle !== null && typeof handle !== 'string') {
        throw new Error(`${what}: the ${side} of edge ${place + 1} is not text.`);
      }
    }
    let edge = value;
    if (edge['id'] !== undefined && typeof edge['id'] !== 'string')
      edge = { ...edge, id: String(edge['id']) };
    let key = edgeKey(edge as unknown as GraphEdge);
    if (keys.has(key)) {
      key = newId('edge', (id) => keys.has(id));
      repairs.push(`${what}: edge ${place + 1} had the id of another and is now ${key}.`);
      edge = { ...edge, id: key };
    }
    keys.add(key);
    return edge;
  });
  return read as readonly GraphEdge[];
}

function readNotes(notes: unknown, what: string, repairs: string[]): Graph['notes'] {
  if (notes === undefined) return undefined;
  const isNote = (note: unknown) =>
    isObject(note) &&
    typeof note['id'] === 'string' &&
    typeof note['text'] === 'string' &&
    isPoint(note['position']) &&
    Number.isFinite(note['width']) &&
    Number.isFinite(note['height']);
  if (Array.isArray(notes) && notes.every(isNote)) return notes as Graph['notes'];
  const kept = Array.isArray(notes) ? notes.filter(isNote) : [];
  repairs.push(`${what}: notes that could not be read were left out.`);
  return kept as unknown as Graph['notes'];
}

function mappedOrSame(items: unknown[], change: (item: unknown, place: number) => unknown): unknown[] {
  const changed = items.map(change);
  return changed.every((item, place) => item === items[place]) ? items : changed;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isPoint(value: unknown): boolean {
  return isObject(value) && Number.isFinite(value['x']) && Number.isFinite(value['y']);
}
