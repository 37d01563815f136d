/** Edits for what people do: add a node where it belongs, insert it on an edge, duplicate. */
import { portsOf, typeTitle, type Catalogue } from './catalogue';
import { makeClip, pasteEdit, type Paste, type Selection } from './clipboard';
import { refusal, type Ends } from './connect';
import type { Edit } from './edit';
import { boxOf, COLUMN, freePlace, HEADER, NODE_WIDTH, snapped, type Box } from './geometry';
import { namesIn, newId, newLabel } from './ids';
import {
  edgeKey,
  graphOf,
  indexOf,
  nodeName,
  withGraph,
  type DefinitionName,
  type Doc,
  type GraphEdge,
  type GraphNode,
  type Note,
  type Point,
} from './model';

/** Where a graph is changed. */
export interface Here {
  readonly catalogue: Catalogue;
  readonly doc: Doc;
  readonly definition: DefinitionName;
}

export interface NewNode {
  readonly type: string;
  /** Where its middle goes. Without it: behind `from`, or beside what is there. */
  readonly at?: Point;
  /** The output that leads to it. */
  readonly from?: { readonly node: string; readonly port?: string };
  /** The input that it leads to. */
  readonly to?: { readonly node: string; readonly port?: string };
  /** The edge that it is put on. */
  readonly edge?: string;
}

export interface Added {
  readonly edit: Edit;
  readonly node: string;
}

/** A node of a type, connected as far as that is valid. */
export function addNode(here: Here, wanted: NewNode): Added {
  const graph = graphOf(here.doc, here.definition);
  const { nodes, edges } = indexOf(graph);
  const split = wanted.edge === undefined ? undefined : edges.get(wanted.edge);
  const from = wanted.from ?? (split && { node: split.source, ...handle('port', split.sourceHandle) });
  const to = wanted.to ?? (split && { node: split.target, ...handle('port', split.targetHandle) });
  const id = newId(wanted.type, (other) => nodes.has(other));
  const label = newLabel(typeTitle(here.catalogue, wanted.type), namesIn(graph));
  const draft: GraphNode = { id, type: wanted.type, position: { x: 0, y: 0 }, data: { label } };
  const position = placeFor(here, draft, wanted.at, from?.node, to?.node);
  const node = { ...draft, position };
  const add: Edit = { kind: 'add', definition: here.definition, nodes: [node] };
  const withNode = { ...here, doc: docWith(here, node, split) };
  const joined = [
    ...(from ? [ends(from, { node: id })] : []),
    ...(to ? [ends({ node: id, ...outputTo(here, draft) }, to)] : []),
  ].filter((it) => refusal(withNode.catalogue, withNode.doc, withNode.definition, it) === undefined);
  const connect = joined.map((it): Edit => connectEdit(here, it));
  // An edge is only taken apart if both halves come to be.
  const disconnect: Edit[] =
    split && joined.length === 2
      ? [{ kind: 'remove', definition: here.definition, edges: [edgeKey(split)] }]
      : [];
  const shift = split ? makeRoom(here, split, node) : [];
  const edits = [...disconnect, add, ...connect, ...shift];
  const edit: Edit = edits.length === 1 ? add : { kind: 'batch', title: `Add ${label}`, edits };
  return { edit, node: id };
}

function handle<K extends string>(key: K, value: string | null | undefined): Partial<Record<K, string>> {
  return typeof value === 'string' ? ({ [key]: value } as Record<K, string>) : {};
}

function ends(from: { node: string; port?: string }, to: { node: string; port?: string }): Ends {
  return {
    source: from.node,
    target: to.node,
    ...handle('sourceHandle', from.port),
    ...handle('targetHandle', to.port),
  };
}

/** By which output of a new node a chain goes on: a loop's `done`, else the first. */
function outputTo(here: Here, node: GraphNode): { port?: string } {
  const { outputs } = portsOf(here.catalogue, here.doc, node);
  const done = outputs.find((port) => port.name === 'done');
  return outputs.length > 1 ? handle('port', (done ?? outputs[0])?.name) : {};
}

function docWith(here: Here, node: GraphNode, without: GraphEdge | undefined): Doc {
  const graph = graphOf(here.doc, here.definition);
  const edges = graph.edges.filter((edge) => edge !== without);
  return withGraph(here.doc, here.definition, { ...graph, nodes: [...graph.nodes, node], edges });
}

function placeFor(here: Here, node: GraphNode, at: Point | undefined, from?: string, to?: string): Point {
  const graph = graphOf(here.doc, here.definition);
  const { nodes } = indexOf(graph);
  const size = boxOf(here.catalogue, here.doc, node);
  if (at) return snapped({ x: at.x - size.width / 2, y: at.y - HEADER / 2 });
  const boxes = graph.nodes.map((other) => boxOf(here.catalogue, here.doc, other));
  const [source, target] = [from && nodes.get(from), to && nodes.get(to)];
  if (source && target) {
    const [a, b] = [boxOf(here.catalogue, here.doc, source), boxOf(here.catalogue, here.doc, target)];
    const between = { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
    return b.x - a.x >= 2 * NODE_WIDTH + 80 ? snapped(between) : snapped({ x: a.x + COLUMN, y: between.y });
  }
  const beside = source ? boxOf(here.catalogue, here.doc, source) : undefined;
  const before = target ? boxOf(here.catalogue, here.doc, target) : undefined;
  const last = rightmost(boxes);
  const wanted: Point = beside
    ? { x: beside.x + COLUMN, y: beside.y }
    : before
      ? { x: before.x - COLUMN, y: before.y }
      : last
        ? { x: last.x + COLUMN, y: last.y }
        : { x: 0, y: 0 };
  return freePlace(boxes, { ...size, ...wanted });
}

function rightmost(boxes: readonly Box[]): Box | undefined {
  return boxes.reduce<Box | undefined>((best, box) => (!best || box.x > best.x ? box : best), undefined);
}

/** What stands behind an edge moves on, if the node that is put on it needs the room. */
function makeRoom(here: Here, edge: GraphEdge, node: GraphNode): Edit[] {
  const graph = graphOf(here.doc, here.definition);
  const { nodes, outgoing } = indexOf(graph);
  const [source, target] = [nodes.get(edge.source), nodes.get(edge.target)];
  if (!source?.position || !target?.position || !node.position || target.position.x <= source.position.x)
    return [];
  const missing = node.position.x + COLUMN - target.position.x;
  if (missing <= 0) return [];
  const behind = new Set<string>();
  const queue = [target.id];
  for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
    if (behind.has(id) || id === source.id) continue;
    behind.add(id);
    queue.push(...(outgoing.get(id) ?? []).map((next) => next.target));
  }
  const from = target.position.x;
  const moved = [...behind].flatMap((id): [string, Point][] => {
    const position = nodes.get(id)?.position;
    return position && position.x >= from ? [[id, { x: position.x + missing, y: position.y }]] : [];
  });
  return [{ kind: 'move', definition: here.definition, nodes: Object.fromEntries(moved) }];
}

/** Puts a node that stands alone on an edge; undefined if it does not fit there. */
export function insertOnEdge(here: Here, nodeId: string, key: string): Edit | undefined {
  const { nodes, edges, incoming, outgoing } = indexOf(graphOf(here.doc, here.definition));
  const [node, split] = [nodes.get(nodeId), edges.get(key)];
  if (!node || !split || incoming.has(nodeId) || outgoing.has(nodeId)) return undefined;
  const bare = { ...here, doc: withoutEdge(here, split) };
  const joined = [
    ends({ node: split.source, ...handle('port', split.sourceHandle) }, { node: nodeId }),
    ends(
      { node: nodeId, ...outputTo(here, node) },
      { node: split.target, ...handle('port', split.targetHandle) },
    ),
  ];
  if (joined.some((it) => refusal(bare.catalogue, bare.doc, bare.definition, it))) return undefined;
  const edits: Edit[] = [
    { kind: 'remove', definition: here.definition, edges: [key] },
    ...joined.map((it) => connectEdit(here, it)),
  ];
  return { kind: 'batch', title: `Insert ${nodeName(node)}`, edits };
}

function withoutEdge(here: Here, edge: GraphEdge): Doc {
  const graph = graphOf(here.doc, here.definition);
  return withGraph(here.doc, here.definition, {
    ...graph,
    edges: graph.edges.filter((other) => other !== edge),
  });
}

/** An edge with an id of its own. */
export function connectEdit(here: Here, ends: Ends): Edit {
  const taken = indexOf(graphOf(here.doc, here.definition)).edges;
  const id = newId('edge', (other) => taken.has(other));
  return { kind: 'add', definition: here.definition, edges: [{ id, ...ends }] };
}

export function duplicate(here: Here, selection: Selection): Paste {
  const clip = makeClip(here.doc, here.definition, selection);
  return pasteEdit(here.doc, here.definition, { ...clip, definitions: {} }, { verb: 'Duplicate' });
}

/** Disables what is selected, or enables it if all of it is disabled. */
export function toggleDisabled(here: Here, ids: readonly string[]): Edit {
  const { nodes } = indexOf(graphOf(here.doc, here.definition));
  const all = ids.every((id) => nodes.get(id)?.data?.disabled);
  return {
    kind: 'data',
    definition: here.definition,
    nodes: ids,
    field: 'disabled',
    ...(all ? {} : { value: true }),
  };
}

export function newNote(here: Here, at: Point): { edit: Edit; note: string } {
  const taken = indexOf(graphOf(here.doc, here.definition)).notes;
  const id = newId('note', (other) => taken.has(other));
  const note: Note = { id, text: '', position: snapped(at), width: 240, height: 120 };
  return { edit: { kind: 'add', definition: here.definition, notes: [note], verb: 'Add' }, note: id };
}

/** What a node says to who can't see it: label, type, ports, state. */
export function spokenNode(here: Here, node: GraphNode, more: readonly string[] = []): string {
  const graph = graphOf(here.doc, here.definition);
  const { incoming, outgoing, nodes } = indexOf(graph);
  const { inputs, outputs } = portsOf(here.catalogue, here.doc, node);
  const names = (ids: readonly string[]) =>
    ids.map((id) => nodeName(nodes.get(id) ?? { id, type: '' })).join(', ');
  const before = [...new Set((incoming.get(node.id) ?? []).map((edge) => edge.source))];
  const after = [...new Set((outgoing.get(node.id) ?? []).map((edge) => edge.target))];
  const list = (what: string, ports: readonly { name: string }[]) =>
    ports.length > 1 ? [`${what} ${ports.map((port) => port.name).join(', ')}`] : [];
  return [
    nodeName(node),
    typeTitle(here.catalogue, node.type),
    ...(node.data?.disabled ? ['disabled'] : []),
    ...(node.data?.pin ? ['pinned'] : []),
    ...list('inputs', inputs),
    ...list('outputs', outputs),
    before.length ? `from ${names(before)}` : 'nothing leads here',
    ...(after.length ? [`to ${names(after)}`] : []),
    ...more,
  ].join('; ');
}
