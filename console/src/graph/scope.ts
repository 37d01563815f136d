/** Which names an expression may use at a node, by the compiler's rules (compiler/src/check/names.rs). */
import { executesEach, isLoop, repeats, type Catalogue } from './catalogue';
import { flowOf, type Flow } from './flow';
import {
  graphOf,
  indexOf,
  nodeName,
  type DefinitionName,
  type Doc,
  type Graph,
  type GraphNode,
} from './model';
import { quoted } from './tokens';

export interface NamesInScope {
  /** Nodes that may have run before, the nearest first. */
  readonly nodes: readonly NamedNode[];
  /** `$item` and `$index`. A parameter that is evaluated for each item has them in any case. */
  readonly item: boolean;
  /** `$error`. */
  readonly error: boolean;
}

export interface NamedNode {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  /** How an expression refers to it: `$("Label")`, or `$nodes["id"]` where the label would not do. */
  readonly reference: string;
  /** Edges on the shortest way from there. */
  readonly distance: number;
}

export function namesInScope(
  catalogue: Catalogue,
  doc: Doc,
  definition: DefinitionName,
  nodeId: string,
): NamesInScope {
  const graph = graphOf(doc, definition);
  const node = indexOf(graph).nodes.get(nodeId);
  if (!node) return { nodes: [], item: false, error: false };
  const flow = flowOf(catalogue, doc, graph);
  const distances = distancesTo(graph, nodeId);
  const labels = labelCounts(graph);
  const nodes = graph.nodes
    .filter((other) => mayPrecede(catalogue, flow, other.id, node))
    .map((other) => ({
      id: other.id,
      name: nodeName(other),
      type: other.type,
      reference: referenceTo(graph, other, labels),
      distance: distances.get(other.id) ?? graph.nodes.length,
    }))
    .sort((a, b) => a.distance - b.distance);
  return {
    nodes,
    item:
      flow.cycle.length > 0 ||
      flow.loopOf.has(nodeId) ||
      executesEach(catalogue, doc, node) ||
      repeats(catalogue, node.type),
    error: flow.cycle.length > 0 || afterErrors(catalogue, flow, graph).has(nodeId),
  };
}

/**
 * Whether a node may have emitted when the reader runs: a path leads there, or it is in the body of a loop that was
 * done before, or of the loop whose condition reads it.
 */
export function mayPrecede(catalogue: Catalogue, flow: Flow, id: string, reader: GraphNode): boolean {
  if (flow.cycle.length > 0) return true;
  if (flow.reaches(id, reader.id)) return true;
  for (let loop = flow.loopOf.get(id); loop !== undefined; loop = flow.loopOf.get(loop)) {
    const isCondition = reader.id === loop && repeats(catalogue, reader.type);
    const inside = flow.bodies.get(loop)?.has(reader.id) === true;
    if (isCondition || (!inside && flow.reaches(loop, reader.id))) return true;
  }
  return false;
}

/** How an expression of the same graph refers to a node. */
export function referenceTo(graph: Graph, node: GraphNode, labels = labelCounts(graph)): string {
  const label = node.data?.label;
  if (label && labels.get(label) === 1) return `$(${quoted(label, '"')})`;
  return `$nodes[${quoted(node.id, '"')}]`;
}

function labelCounts(graph: Graph): Map<string, number> {
  const counts = new Map<string, number>();
  for (const node of graph.nodes) {
    const label = node.data?.label;
    if (label) counts.set(label, (counts.get(label) ?? 0) + 1);
  }
  return counts;
}

function distancesTo(graph: Graph, nodeId: string): Map<string, number> {
  const { incoming } = indexOf(graph);
  const distances = new Map([[nodeId, 0]]);
  const queue = [nodeId];
  for (let id = queue.shift(); id !== undefined; id = queue.shift()) {
    for (const edge of incoming.get(id) ?? []) {
      if (distances.has(edge.source)) continue;
      distances.set(edge.source, (distances.get(id) ?? 0) + 1);
      queue.push(edge.source);
    }
  }
  return distances;
}

/** Nodes before which one may have emitted an error. */
function afterErrors(catalogue: Catalogue, flow: Flow, graph: Graph): Set<string> {
  const { nodes, outgoing } = indexOf(graph);
  const after = new Set<string>();
  for (const id of flow.order) {
    const handling = nodes.get(id)?.data?.onError;
    const emits = after.has(id) || handling === 'continue' || handling === 'branch';
    if (!emits) continue;
    for (const edge of outgoing.get(id) ?? []) {
      const target = nodes.get(edge.target);
      if (!target) continue;
      const returns = isLoop(catalogue, target.type) && edge.targetHandle === 'next';
      if (!returns) after.add(edge.target);
    }
  }
  return after;
}
