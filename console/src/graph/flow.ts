/**
 * Order, reachability and loop bodies of a graph, by the compiler's rules (compiler/src/reach.rs, scopes.rs).
 *
 * Edges into a loop's `next` are left out of the order. The body of a loop is what can be reached from its `item`
 * without passing through the loop.
 */
import { isLoop, portsOf, sourcePort, targetPort, type Catalogue } from './catalogue';
import { indexOf, type Doc, type Graph } from './model';
import { Recent } from './recent';

export interface Flow {
  /** Nodes on a cycle, in the order of its edges; empty in a graph that is right. */
  readonly cycle: readonly string[];
  /** Nodes, every one after those before it. Incomplete if there is a cycle. */
  readonly order: readonly string[];
  /** The loop in whose body a node is; the innermost one. */
  readonly loopOf: ReadonlyMap<string, string>;
  /** For each loop, the nodes of its body, those of inner loops included. */
  readonly bodies: ReadonlyMap<string, ReadonlySet<string>>;
  /** Whether a value can get from one node to another. */
  reaches(from: string, to: string): boolean;
}

/** Graphs whose flow is kept: those that are open, with the versions before them that are compared with them. */
const FLOWS_MAX = 32;
const flows = new Recent<Graph, { doc: Doc; catalogue: Catalogue; flow: Flow }>(FLOWS_MAX);

export function flowOf(catalogue: Catalogue, doc: Doc, graph: Graph): Flow {
  const known = flows.get(graph);
  if (known && known.catalogue === catalogue && known.doc.definitions === doc.definitions) return known.flow;
  const flow = findFlow(catalogue, doc, graph);
  flows.set(graph, { doc, catalogue, flow });
  return flow;
}

function findFlow(catalogue: Catalogue, doc: Doc, graph: Graph): Flow {
  const { nodes } = indexOf(graph);
  const successors = new Map<string, string[]>(graph.nodes.map((node) => [node.id, []]));
  const entries = new Map<string, string[]>();
  const open = new Map<string, number>(graph.nodes.map((node) => [node.id, 0]));
  for (const edge of graph.edges) {
    const [source, target] = [nodes.get(edge.source), nodes.get(edge.target)];
    if (!source || !target) continue;
    const inputs = portsOf(catalogue, doc, target);
    if (isLoop(catalogue, target.type) && targetPort(inputs, edge.targetHandle) === 'next') continue;
    successors.get(source.id)?.push(target.id);
    open.set(target.id, (open.get(target.id) ?? 0) + 1);
    if (
      isLoop(catalogue, source.type) &&
      sourcePort(portsOf(catalogue, doc, source), edge.sourceHandle) === 'item'
    ) {
      entries.set(source.id, [...(entries.get(source.id) ?? []), target.id]);
    }
  }
  const order = sorted(successors, open);
  const after = new Map<string, Set<string>>();
  const reachable = (from: string): Set<string> => {
    const known = after.get(from);
    if (known) return known;
    const reached = walk(successors.get(from) ?? [], successors);
    after.set(from, reached);
    return reached;
  };
  const bodies = new Map<string, Set<string>>();
  for (const node of graph.nodes.filter((it) => isLoop(catalogue, it.type))) {
    const starts = entries.get(node.id) ?? [];
    bodies.set(node.id, walk(starts, successors));
  }
  return {
    order,
    cycle: order.length < graph.nodes.length ? findCycle(successors, new Set(order)) : [],
    bodies,
    loopOf: innermost(bodies, order),
    reaches: (from, to) => reachable(from).has(to),
  };
}

/** Kahn's order; what is on a cycle or behind one is missing. */
function sorted(successors: ReadonlyMap<string, string[]>, open: Map<string, number>): string[] {
  const order = [...open].filter(([, count]) => count === 0).map(([id]) => id);
  for (let next = 0; next < order.length; next += 1) {
    for (const target of successors.get(order[next] ?? '') ?? []) {
      const left = (open.get(target) ?? 0) - 1;
      open.set(target, left);
      if (left === 0) order.push(target);
    }
  }
  return order;
}

function walk(starts: readonly string[], successors: ReadonlyMap<string, string[]>): Set<string> {
  const reached = new Set<string>();
  const queue = [...starts];
  for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
    if (reached.has(id)) continue;
    reached.add(id);
    queue.push(...(successors.get(id) ?? []));
  }
  return reached;
}

/** The larger bodies first, so that the last to claim a node is the innermost. */
function innermost(bodies: ReadonlyMap<string, Set<string>>, order: readonly string[]): Map<string, string> {
  const loopOf = new Map<string, string>();
  const inOrder = order.flatMap((id): [string, Set<string>][] => {
    const body = bodies.get(id);
    return body ? [[id, body]] : [];
  });
  const largestFirst = inOrder.sort(([, a], [, b]) => b.size - a.size);
  for (const [loop, members] of largestFirst) for (const member of members) loopOf.set(member, loop);
  return loopOf;
}

function findCycle(successors: ReadonlyMap<string, string[]>, ordered: ReadonlySet<string>): string[] {
  for (const start of successors.keys()) {
    if (ordered.has(start)) continue;
    const cameFrom = new Map<string, string>();
    const queue = [start];
    for (let id = queue.shift(); id !== undefined; id = queue.shift()) {
      for (const target of successors.get(id) ?? []) {
        if (target === start) return backwards(start, id, cameFrom);
        if (cameFrom.has(target) || ordered.has(target)) continue;
        cameFrom.set(target, id);
        queue.push(target);
      }
    }
  }
  return [];
}

function backwards(start: string, last: string, cameFrom: ReadonlyMap<string, string>): string[] {
  const cycle = [last];
  for (let id = last; id !== start;) {
    const previous = cameFrom.get(id);
    if (previous === undefined) break;
    cycle.unshift(previous);
    id = previous;
  }
  return cycle;
}
