/** A graph as far as a preview looks at it: the node, those from which edges lead to it, and what they are called. */
import { indexOf, type Graph } from './model';

export function before(graph: Graph, nodeId: string): { nodes: object[]; edges: object[] } {
  const { incoming } = indexOf(graph);
  const found = new Set([nodeId]);
  // It grows while it is gone through.
  for (const id of found) for (const { source } of incoming.get(id) ?? []) found.add(source);
  return {
    nodes: graph.nodes
      .filter(({ id }) => found.has(id))
      .map(({ id, type, data }) => ({ id, type, data: { label: data?.label, once: data?.once } })),
    edges: graph.edges.filter(({ target }) => found.has(target)),
  };
}
