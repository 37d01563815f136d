/** Where nodes go when a graph is tidied: columns by order, branches in the order of their ports, on the grid. */
import { Graph as Dagre, layout as dagreLayout } from '@dagrejs/dagre';
import type { Point } from './model';

/** What is laid out, as plain data: it travels to a worker. */
export interface LayoutInput {
  readonly nodes: readonly LayoutNode[];
  readonly edges: readonly LayoutEdge[];
  readonly notes: readonly LayoutNote[];
  readonly grid: number;
}

export interface LayoutNode {
  readonly id: string;
  readonly width: number;
  readonly height: number;
  /** Where it is now; without it, nothing has to stay near it. */
  readonly position?: Point;
}

export interface LayoutEdge {
  readonly source: string;
  readonly target: string;
  /** Place of the port among its node's outputs. */
  readonly port: number;
  /** Ends an iteration of its target: drawn backwards, it orders nothing. */
  readonly returns: boolean;
  /** Leaves a loop that is done, so its target stands behind the loop's body. */
  readonly leaves: boolean;
}

export interface LayoutNote {
  readonly id: string;
  readonly position: Point;
  readonly width: number;
  readonly height: number;
}

export interface Layout {
  readonly nodes: Record<string, Point>;
  readonly notes: Record<string, Point>;
}

const COLUMN_GAP = 80;
const ROW_GAP = 40;

export function tidied(input: LayoutInput): Layout {
  if (input.nodes.length === 0) return { nodes: {}, notes: {} };
  const graph = new Dagre();
  graph.setGraph({ rankdir: 'LR', ranksep: COLUMN_GAP, nodesep: ROW_GAP, edgesep: 20, rankalign: 'top' });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of input.nodes) graph.setNode(node.id, { width: node.width, height: node.height });
  const forward = input.edges.filter((edge) => !edge.returns).sort((a, b) => a.port - b.port);
  for (const edge of forward) graph.setEdge(edge.source, edge.target, { weight: 2 });
  for (const [source, target] of behindBodies(input.edges)) {
    if (!graph.hasEdge(source, target)) graph.setEdge(source, target, { weight: 0 });
  }
  dagreLayout(graph, { constraints: portOrder(forward) });
  const corners = new Map<string, Point>();
  for (const node of input.nodes) {
    const { x, y } = graph.node(node.id) as { x: number; y: number };
    corners.set(node.id, { x: x - node.width / 2, y: y - node.height / 2 });
  }
  const nodes = anchored(input, corners);
  return { nodes, notes: movedNotes(input, nodes) };
}

/** Where a loop is left, from the ends of its body to what follows, so that this stands behind the body. */
function behindBodies(edges: readonly LayoutEdge[]): [string, string][] {
  return edges
    .filter((edge) => edge.leaves)
    .flatMap((leave) =>
      edges
        .filter((edge) => edge.returns && edge.target === leave.source && edge.source !== leave.source)
        .map((edge): [string, string] => [edge.source, leave.target]),
    );
}

/** Nodes that only one other leads to stand in the order of its ports. */
function portOrder(edges: readonly LayoutEdge[]): { left: string; right: string }[] {
  const sources = new Map<string, Set<string>>();
  for (const edge of edges)
    sources.set(edge.target, (sources.get(edge.target) ?? new Set()).add(edge.source));
  const alone = new Map<string, string[]>();
  for (const edge of edges) {
    if (sources.get(edge.target)?.size !== 1) continue;
    const targets = alone.get(edge.source) ?? [];
    if (!targets.includes(edge.target)) alone.set(edge.source, [...targets, edge.target]);
  }
  return [...alone.values()].flatMap((targets) =>
    targets.slice(1).map((right, place) => ({ left: targets[place] ?? right, right })),
  );
}

/** On the grid, with the upper left corner where it was. */
function anchored(input: LayoutInput, corners: ReadonlyMap<string, Point>): Record<string, Point> {
  const placed = input.nodes.flatMap((node) => (node.position ? [node.position] : []));
  const least = (points: readonly Point[]): Point => ({
    x: Math.min(...points.map((point) => point.x)),
    y: Math.min(...points.map((point) => point.y)),
  });
  const from = least([...corners.values()]);
  const to = placed.length ? least(placed) : { x: 0, y: 0 };
  const snap = (value: number) => Math.round(value / input.grid) * input.grid;
  return Object.fromEntries(
    [...corners].map(([id, point]) => [
      id,
      { x: snap(point.x - from.x + to.x), y: snap(point.y - from.y + to.y) },
    ]),
  );
}

/** A note keeps its place beside the node that is nearest to it. */
function movedNotes(input: LayoutInput, nodes: Readonly<Record<string, Point>>): Record<string, Point> {
  const moved: Record<string, Point> = {};
  for (const note of input.notes) {
    const nearest = nearestNode(note, input.nodes);
    const [before, after] = [nearest?.position, nearest && nodes[nearest.id]];
    if (!before || !after) continue;
    moved[note.id] = {
      x: note.position.x + after.x - before.x,
      y: note.position.y + after.y - before.y,
    };
  }
  return moved;
}

export function nearestNode<T extends LayoutNode>(note: LayoutNote, nodes: readonly T[]): T | undefined {
  let best: T | undefined;
  let least = Infinity;
  for (const node of nodes) {
    if (!node.position) continue;
    const distance =
      gap(note.position.x, note.width, node.position.x, node.width) ** 2 +
      gap(note.position.y, note.height, node.position.y, node.height) ** 2;
    // Of those that it covers, the one whose middle is nearest.
    const middle = Math.hypot(
      note.position.x + note.width / 2 - node.position.x - node.width / 2,
      note.position.y + note.height / 2 - node.position.y - node.height / 2,
    );
    const score = distance + middle / 1e6;
    if (score < least) [best, least] = [node, score];
  }
  return best;
}

function gap(a: number, aLength: number, b: number, bLength: number): number {
  return Math.max(0, b - (a + aLength), a - (b + bLength));
}
