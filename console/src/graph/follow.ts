/** Edges follow the ports of their node: a renamed case keeps its edge, one that is gone loses it. */
import { ERROR_PORT } from './catalogue';
import type { Graph, GraphNode } from './model';

/** The graph with the edges of a node that has just changed put right. */
export function followPorts(graph: Graph, before: GraphNode, after: GraphNode): Graph {
  const renamed = after.type === 'Switch' ? renamedCases(before, after) : undefined;
  const lostError = before.data?.onError === 'branch' && after.data?.onError !== 'branch';
  if (!renamed && !lostError) return graph;
  const edges = graph.edges.flatMap((edge) => {
    const port = edge.source === after.id ? edge.sourceHandle : undefined;
    if (typeof port !== 'string') return [edge];
    if (lostError && port === ERROR_PORT) return [];
    if (!renamed?.has(port)) return [edge];
    const now = renamed.get(port);
    return now === undefined ? [] : [{ ...edge, sourceHandle: now }];
  });
  const same =
    edges.length === graph.edges.length && edges.every((edge, place) => edge === graph.edges[place]);
  return same ? graph : { ...graph, edges };
}

/** Old names of cases with their new ones, or undefined where the case is gone. */
function renamedCases(before: GraphNode, after: GraphNode): Map<string, string | undefined> | undefined {
  const [old, now] = [caseNames(before), caseNames(after)];
  if (!old || !now) return undefined;
  const renamed = new Map<string, string | undefined>();
  old.forEach((name, place) => {
    if (name === '' || now.includes(name) || old.indexOf(name) !== place) return;
    const successor = now[place];
    // With as many cases as before, what stands in its place is the same case.
    if (old.length !== now.length) renamed.set(name, undefined);
    else if (successor && !old.includes(successor)) renamed.set(name, successor);
  });
  return renamed.size ? renamed : undefined;
}

/** Names of the cases; undefined if they are not written out. */
function caseNames(node: GraphNode): string[] | undefined {
  const cases = node.data?.parameters?.['cases'];
  if (!Array.isArray(cases)) return undefined;
  return cases.map((item: unknown) => {
    const name = typeof item === 'object' && item !== null ? (item as { name?: unknown }).name : undefined;
    return typeof name === 'string' ? name : '';
  });
}
