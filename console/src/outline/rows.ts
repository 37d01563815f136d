/** The rows of the outline: nodes in the order in which they run, bodies of loops within their loop, edges as items. */
import type { Here } from '../graph/actions';
import { isLoop, portsOf, sourcePort, targetPort } from '../graph/catalogue';
import { flowOf } from '../graph/flow';
import {
  edgeKey,
  graphOf,
  indexOf,
  nodeName,
  type Graph,
  type GraphEdge,
  type GraphNode,
} from '../graph/model';

export interface Row {
  /** Unique in the outline; an edge is there twice, at both of its ends. */
  readonly key: string;
  readonly kind: 'node' | 'out' | 'in';
  readonly level: number;
  /** The node that it is, or at which the edge stands. */
  readonly node: string;
  readonly edge?: string;
  /** The node at the other end of the edge. */
  readonly other?: string;
  readonly text: string;
  readonly expanded?: boolean;
  readonly setSize: number;
  readonly position: number;
  /** The row around this one. */
  readonly parent?: string;
}

/** `toggled` holds nodes that are not as they are at first: loops are open, others closed. */
export function outlineRows(here: Here, toggled: ReadonlySet<string>): Row[] {
  const graph = graphOf(here.doc, here.definition);
  const flow = flowOf(here.catalogue, here.doc, graph);
  const rank = new Map(flow.order.map((id, place) => [id, place]));
  const inOrder = [...graph.nodes].sort(
    (a, b) => (rank.get(a.id) ?? Infinity) - (rank.get(b.id) ?? Infinity),
  );
  const children = new Map<string | undefined, GraphNode[]>();
  for (const node of inOrder) {
    const loop = flow.cycle.length ? undefined : flow.loopOf.get(node.id);
    children.set(loop, [...(children.get(loop) ?? []), node]);
  }
  const rows: Row[] = [];
  addNodes({ here, graph, children, toggled, rows, open: new Set() }, undefined, 1, 0);
  return rows;
}

interface Walk {
  readonly here: Here;
  readonly graph: Graph;
  readonly children: ReadonlyMap<string | undefined, readonly GraphNode[]>;
  readonly toggled: ReadonlySet<string>;
  readonly rows: Row[];
  /** Loops that are being walked: a graph that is wrong may have them in each other. */
  readonly open: Set<string>;
}

function addNodes(walk: Walk, parent: GraphNode | undefined, level: number, before: number): void {
  const nodes = walk.children.get(parent?.id) ?? [];
  nodes.forEach((node, place) => {
    const expanded = isLoop(walk.here.catalogue, node.type) !== walk.toggled.has(node.id);
    const edges = edgeRows(walk, node, level + 1);
    const inside = walk.open.has(node.id) ? [] : (walk.children.get(node.id) ?? []);
    const count = edges.length + inside.length;
    walk.rows.push({
      key: node.id,
      kind: 'node',
      level,
      node: node.id,
      text: nodeName(node),
      setSize: before + nodes.length,
      position: before + place + 1,
      ...(count ? { expanded } : {}),
      ...(parent ? { parent: parent.id } : {}),
    });
    if (!expanded || count === 0) return;
    walk.rows.push(...edges.map((row) => ({ ...row, setSize: count })));
    if (inside.length === 0) return;
    walk.open.add(node.id);
    addNodes(walk, node, level + 1, edges.length);
    walk.open.delete(node.id);
  });
}

function edgeRows(walk: Walk, node: GraphNode, level: number): Row[] {
  const { incoming, outgoing } = indexOf(walk.graph);
  const enters = (incoming.get(node.id) ?? []).map((edge) => ({ edge, kind: 'in' as const }));
  const leaves = (outgoing.get(node.id) ?? []).map((edge) => ({ edge, kind: 'out' as const }));
  return [...enters, ...leaves].map(({ edge, kind }, place) => ({
    key: `${node.id} ${kind} ${edgeKey(edge)}`,
    kind,
    level,
    node: node.id,
    edge: edgeKey(edge),
    other: kind === 'in' ? edge.source : edge.target,
    text: edgeText(walk, edge, kind),
    setSize: 0,
    position: place + 1,
    parent: node.id,
  }));
}

/** "true → Merge, port b"; ports are named where there are several. */
function edgeText({ here, graph }: Walk, edge: GraphEdge, kind: 'in' | 'out'): string {
  const { nodes } = indexOf(graph);
  const [source, target] = [nodes.get(edge.source), nodes.get(edge.target)];
  const outputs = source && portsOf(here.catalogue, here.doc, source);
  const inputs = target && portsOf(here.catalogue, here.doc, target);
  const out = outputs && outputs.outputs.length > 1 ? sourcePort(outputs, edge.sourceHandle) : undefined;
  const into = inputs && inputs.inputs.length > 1 ? targetPort(inputs, edge.targetHandle) : undefined;
  const names = {
    source: source ? nodeName(source) : edge.source,
    target: target ? nodeName(target) : edge.target,
  };
  if (kind === 'out') return `${out ?? 'out'} → ${names.target}${into ? `, port ${into}` : ''}`;
  return `${into ?? 'in'} ← ${names.source}${out ? `, port ${out}` : ''}`;
}

/** The edges that enter a node, with one of them moved up or down; undefined if it is at the end. */
export function reordered(graph: Graph, node: string, edge: string, by: 1 | -1): string[] | undefined {
  const keys = (indexOf(graph).incoming.get(node) ?? []).map(edgeKey);
  const from = keys.indexOf(edge);
  const to = from + by;
  const other = keys[to];
  if (from < 0 || other === undefined) return undefined;
  keys[to] = edge;
  keys[from] = other;
  return keys;
}

/** The set with a member more, or one less if it has it. */
export function toggledWith(set: ReadonlySet<string>, member: string): ReadonlySet<string> {
  const next = new Set(set);
  if (!next.delete(member)) next.add(member);
  return next;
}
