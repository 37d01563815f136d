/**
 * What is drawn of a graph, from the document and what is known about it. Pure.
 *
 * Views are shared from one scene to the next while nothing about their node changes, so that a change of one node
 * draws one node.
 */
import { compositeOf, isLoop, portsOf, typeTitle, type Catalogue } from '../graph/catalogue';
import type { ConflictMarks, ConflictState } from '../graph/conflicts';
import type { GraphDiff, NodeDiff } from '../graph/diff';
import { boxOf, fitted, portAt, shapeOf, type Box, type NodeShape } from '../graph/geometry';
import {
  edgeKey,
  graphOf,
  nodeName,
  type Doc,
  type Graph,
  type GraphEdge,
  type GraphNode,
  type Note,
  type Problem,
} from '../graph/model';
import type { Level } from '../graph/session';
import { runOf, takenTimes, type NodeRun, type RunOverlay } from '../graph/trace';
import { iconOf, kindOf, type Kind } from './icons';
import type { IconNode } from 'lucide';
import { edgeBox, lineBelow, type Ends } from './paths';

export interface NodeView extends Box {
  readonly id: string;
  readonly node: GraphNode;
  readonly name: string;
  /** The name and the type, cut to fit. */
  readonly label: string;
  readonly typeLine: string;
  readonly typeName: string;
  readonly icon: IconNode;
  readonly kind: Kind;
  readonly shape: NodeShape;
  /** `start` and `end` nodes have a round side. */
  readonly form: 'start' | 'end' | 'both' | 'inner';
  readonly composite: boolean;
  readonly unknown: boolean;
  readonly errors: number;
  readonly warnings: number;
  readonly problem: string;
  readonly run: NodeRun | undefined;
  readonly current: boolean;
  /** A run is shown, and it has not come here. */
  readonly skipped: boolean;
  /** In a difference: how it changed; `same` if it did not. */
  readonly change: NodeDiff['change'] | 'same' | undefined;
  /** Others have changed it differently. */
  readonly conflict: ConflictState | undefined;
}

export interface EdgeView extends Box {
  readonly id: string;
  readonly edge: GraphEdge;
  readonly source: string;
  readonly target: string;
  /** For who can't see it: "From Read to Merge". */
  readonly name: string;
  readonly ends: Ends;
  readonly below: number;
  readonly sourcePort: string | undefined;
  readonly targetPort: string | undefined;
  /** Ends an iteration of a loop, or begins one. */
  readonly loop: boolean;
  readonly error: boolean;
  /** How often values went along it in the run that is shown; undefined without one. */
  readonly times: number | undefined;
  readonly change: 'added' | 'removed' | 'same' | undefined;
  readonly conflict: ConflictState | undefined;
}

export interface Scene {
  readonly graph: Graph;
  readonly nodes: ReadonlyMap<string, NodeView>;
  readonly edges: ReadonlyMap<string, EdgeView>;
  readonly notes: readonly Note[];
  /** What it was made from. */
  readonly input?: SceneInput;
}

export interface SceneInput {
  readonly catalogue: Catalogue;
  readonly doc: Doc;
  readonly level: Level;
  readonly problems: readonly Problem[];
  readonly run: RunOverlay | null;
  readonly diff: GraphDiff | null;
  readonly conflicts?: ConflictMarks | null;
}

export const EMPTY_SCENE: Scene = {
  graph: { nodes: [], edges: [] },
  nodes: new Map(),
  edges: new Map(),
  notes: [],
};

/** In a difference, what did not change. */
const SAME = 'same' as const;
const LABEL_SIZE = 13;
const TYPE_SIZE = 11;
const LABEL_ROOM = 132;

export function makeScene(input: SceneInput, before: Scene = EMPTY_SCENE): Scene {
  const graph = graphOf(input.doc, input.level.definition);
  const problems = byNode(input.problems, graph, input.level);
  const sameAround = before.input !== undefined && isSameAround(input, before.input);
  const sameProblems = input.problems === before.input?.problems;
  const nodes = new Map<string, NodeView>();
  for (const node of graph.nodes) {
    const known = before.nodes.get(node.id);
    const own = problems.get(node.id) ?? NONE;
    const isSound = own === NONE && known?.errors === 0 && known.warnings === 0;
    if (sameAround && known?.node === node && (sameProblems || isSound)) nodes.set(node.id, known);
    else nodes.set(node.id, nodeView(input, node, own, known));
  }
  const edges = new Map<string, EdgeView>();
  for (const edge of graph.edges) {
    const old = before.edges.get(edgeKey(edge));
    const isSame =
      sameAround &&
      old?.edge === edge &&
      nodes.get(edge.source) === before.nodes.get(edge.source) &&
      nodes.get(edge.target) === before.nodes.get(edge.target);
    const view = isSame ? old : edgeView(input, edge, nodes, old);
    if (view) edges.set(view.id, view);
  }
  return { graph, nodes, edges, notes: graph.notes ?? [], input };
}

/** Whether a node that is the same looks the same: all that its view is made from, but for itself and its problems. */
function isSameAround(one: SceneInput, other: SceneInput): boolean {
  return (
    one.doc.definitions === other.doc.definitions &&
    (['catalogue', 'level', 'run', 'diff', 'conflicts'] as const).every((key) => one[key] === other[key])
  );
}

const NONE: readonly Problem[] = [];

/** Problems by node of the open graph; what is wrong inside a definition counts at the nodes of that type as well. */
function byNode(problems: readonly Problem[], graph: Graph, level: Level): Map<string, Problem[]> {
  const found = new Map<string, Problem[]>();
  const note = (id: string, problem: Problem) => found.set(id, [...(found.get(id) ?? []), problem]);
  for (const problem of problems) {
    const definition = problem.definition ?? null;
    if (definition === level.definition) {
      if (problem.nodeId) note(problem.nodeId, problem);
    } else if (definition !== null) {
      for (const { id, type } of graph.nodes) if (type === definition) note(id, problem);
    }
  }
  return found;
}

function nodeView(
  input: SceneInput,
  node: GraphNode,
  problems: readonly Problem[],
  before: NodeView | undefined,
): NodeView {
  const { catalogue, doc, level, run, diff, conflicts } = input;
  const ports = portsOf(catalogue, doc, node);
  const executed = runOf(run, level.prefix, node.id);
  const now = {
    node,
    shape: shapeOf(ports),
    run: sharedRun(before?.run, executed),
    current: run?.current === level.prefix + node.id,
    skipped: run !== null && !run.live && !executed,
    change: diff ? (diff.nodes.get(node.id)?.change ?? SAME) : undefined,
    conflict: conflicts?.nodes.get(node.id),
    problem: problems.map((problem) => problem.message).join('\n'),
    errors: problems.filter((problem) => problem.severity === 'error').length,
    composite: compositeOf(catalogue, doc, node.type) !== undefined,
    typeName: typeTitle(catalogue, node.type),
  };
  if (before && Object.entries(now).every(([key, value]) => before[key as keyof NodeView] === value))
    return before;
  const name = nodeName(node);
  const begins =
    ports.known && (ports.inputs.length === 0 || catalogue.byName.get(node.type)?.category === 'triggers');
  const ends = ports.known && ports.outputs.length === 0;
  return {
    ...now,
    ...boxOf(catalogue, doc, node),
    id: node.id,
    name,
    label: fitted(name, LABEL_SIZE, LABEL_ROOM),
    typeLine: fitted(typeLineOf(node, name, now.typeName), TYPE_SIZE, LABEL_ROOM),
    icon: iconOf(catalogue, doc, node.type),
    kind: kindOf(catalogue, doc, node.type),
    form: begins && ends ? 'both' : begins ? 'start' : ends ? 'end' : 'inner',
    unknown: !ports.known,
    warnings: problems.length - now.errors,
  };
}

/** A node that is called as its type says so once. */
function typeLineOf(node: GraphNode, name: string, typeName: string): string {
  const set = (['each', 'once', 'always'] as const).filter((option) => node.data?.[option] === true);
  if (set.length > 0) return [typeName, ...set].join(', ');
  return name === typeName ? '' : typeName;
}

/** Overlays are made anew at every step; a run that says the same is the one before. */
function sharedRun(before: NodeRun | undefined, now: NodeRun | undefined): NodeRun | undefined {
  if (!before || !now) return now;
  const ports = Object.keys(now.ports);
  const same =
    (['status', 'count', 'durationUs', 'fuel', 'failures'] as const).every(
      (key) => before[key] === now[key],
    ) &&
    ports.length === Object.keys(before.ports).length &&
    ports.every((port) => before.ports[port] === now.ports[port]);
  return same ? before : now;
}

function edgeView(
  input: SceneInput,
  edge: GraphEdge,
  nodes: ReadonlyMap<string, NodeView>,
  before: EdgeView | undefined,
): EdgeView | undefined {
  const [source, target] = [nodes.get(edge.source), nodes.get(edge.target)];
  if (!source || !target) return undefined;
  const id = edgeKey(edge);
  const from = portAt(source.shape.outputs, edge.sourceHandle) ?? {
    name: '',
    x: source.width,
    y: source.height / 2,
  };
  const to = portAt(target.shape.inputs, edge.targetHandle) ?? { name: '', x: 0, y: target.height / 2 };
  const ends = {
    sourceX: source.x + from.x,
    sourceY: source.y + from.y,
    targetX: target.x + to.x,
    targetY: target.y + to.y,
  };
  const first = source.shape.outputs[0]?.name;
  const now = {
    edge,
    below: lineBelow(source, target),
    name: `From ${source.name} to ${target.name}`,
    sourcePort: from.name,
    targetPort: to.name,
    times: input.run ? takenTimes(input.run, input.level.prefix, edge, first) : undefined,
    change: input.diff ? (input.diff.edges.get(id) ?? SAME) : undefined,
    conflict: input.conflicts?.edges.get(id),
  };
  const same =
    before &&
    Object.entries(now).every(([key, value]) => before[key as keyof EdgeView] === value) &&
    Object.entries(ends).every(([key, value]) => before.ends[key as keyof Ends] === value);
  if (same) return before;
  return {
    ...now,
    ...edgeBox(ends, now.below),
    id,
    source: source.id,
    target: target.id,
    ends,
    loop:
      (from.name === 'item' && isLoop(input.catalogue, source.node.type)) ||
      (to.name === 'next' && isLoop(input.catalogue, target.node.type)),
    error: from.name === 'error',
  };
}
