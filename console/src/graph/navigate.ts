/** Where the arrow keys lead: along edges, and to what stands above and below. */
import { portsOf } from './catalogue';
import type { Here } from './actions';
import { boxOf, type Box } from './geometry';
import { graphOf, indexOf, type GraphNode } from './model';

export type Direction = 'left' | 'right' | 'up' | 'down';

/** The node that comes next in a direction; undefined if there is none. */
export function nodeTowards(here: Here, from: string, direction: Direction): string | undefined {
  const graph = graphOf(here.doc, here.definition);
  const index = indexOf(graph);
  const node = index.nodes.get(from);
  if (!node) return undefined;
  if (direction === 'right') return firstAfter(here, node) ?? nearest(here, node, direction);
  if (direction === 'left') {
    const sources = (index.incoming.get(from) ?? []).map((edge) => edge.source);
    return sources.find((id) => id !== from && index.nodes.has(id)) ?? nearest(here, node, direction);
  }
  return nearest(here, node, direction);
}

/** Along the first port that leads anywhere. */
function firstAfter(here: Here, node: GraphNode): string | undefined {
  const { nodes, outgoing } = indexOf(graphOf(here.doc, here.definition));
  const { outputs } = portsOf(here.catalogue, here.doc, node);
  const rank = (handle: string | null | undefined) =>
    handle ? outputs.findIndex((port) => port.name === handle) : 0;
  const edges = (outgoing.get(node.id) ?? []).filter(
    (edge) => edge.target !== node.id && nodes.has(edge.target),
  );
  return [...edges].sort((a, b) => rank(a.sourceHandle) - rank(b.sourceHandle))[0]?.target;
}

/** The nearest one on that side; what is off the line counts more. */
function nearest(here: Here, node: GraphNode, direction: Direction): string | undefined {
  const from = middle(boxOf(here.catalogue, here.doc, node));
  let best: string | undefined;
  let least = Infinity;
  for (const other of graphOf(here.doc, here.definition).nodes) {
    if (other === node) continue;
    const to = middle(boxOf(here.catalogue, here.doc, other));
    const [x, y] = [to.x - from.x, to.y - from.y];
    const [ahead, aside] = { right: [x, y], left: [-x, y], down: [y, x], up: [-y, x] }[direction] as [
      number,
      number,
    ];
    if (ahead <= 0) continue;
    const score = ahead + 3 * Math.abs(aside);
    if (score < least) [best, least] = [other.id, score];
  }
  return best;
}

function middle(box: Box): { x: number; y: number } {
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

/** Where the keyboard begins: the first node that nothing leads to. */
export function firstNode(here: Here): string | undefined {
  const graph = graphOf(here.doc, here.definition);
  const { incoming } = indexOf(graph);
  return (graph.nodes.find((node) => !incoming.get(node.id)?.length) ?? graph.nodes[0])?.id;
}
