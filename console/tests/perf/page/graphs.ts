/** Graphs of any size for measurements: chains with branches, 1.2 edges a node, as people draw them. */
import type { Graph, GraphEdge, GraphNode } from '../../../src/graph/model';

const TYPES = ['SetFields', 'HttpRequest', 'Transform', 'Filter', 'If', 'Merge', 'JavaScript', 'SqlQuery'];
const ROW = 8;

/** A graph of so many nodes, in rows of chains that are connected with each other here and there. */
export function largeGraph(count: number): Graph {
  const columns = Math.ceil(Math.sqrt(count * 1.4));
  const nodes: GraphNode[] = [];
  const edges: GraphEdge[] = [];
  const connect = (source: number, target: number, sourceHandle?: string) =>
    edges.push({
      id: `e${edges.length}`,
      source: `n${source}`,
      target: `n${target}`,
      ...(sourceHandle ? { sourceHandle } : {}),
    });
  for (let at = 0; at < count; at += 1) {
    const [row, column] = [Math.floor(at / columns), at % columns];
    const type = at === 0 ? 'OnManual' : (TYPES[(at * 7 + row) % TYPES.length] ?? 'NoOp');
    nodes.push({
      id: `n${at}`,
      type,
      position: { x: column * 280, y: row * 160 },
      data: { label: `${['Read', 'Check', 'Send', 'Count', 'Join'][at % 5]} order ${at}`, parameters: {} },
    });
    const isIf = nodes[at - 1]?.type === 'If';
    if (column > 0) connect(at - 1, at, isIf ? 'true' : undefined);
    else if (row > 0) connect(0, at);
    if (row > 0 && at % ROW === 3)
      connect(at - columns, at, nodes[at - columns]?.type === 'If' ? 'false' : undefined);
  }
  return { nodes, edges };
}
