/** What can be connected, by the rules of the compiler (compiler/src/check: level.rs, flow.rs, types.rs). */
import {
  compositeOf,
  executesEach,
  hasItems,
  isLoop,
  isTrigger,
  portsOf,
  sourcePort,
  targetPort,
  type Catalogue,
  type Port,
} from './catalogue';
import { flowOf } from './flow';
import {
  edgeKey,
  graphOf,
  indexOf,
  nodeName,
  type DefinitionName,
  type Doc,
  type Graph,
  type GraphEdge,
} from './model';

/** An edge as it may come to be. */
export interface Ends {
  readonly source: string;
  readonly sourceHandle?: string | null;
  readonly target: string;
  readonly targetHandle?: string | null;
}

/** Where an edge would be wrong, and why, as a sentence. */
export interface Refusal {
  readonly code:
    | 'unknown-node'
    | 'unknown-port'
    | 'edge-into-trigger'
    | 'cycle'
    | 'type-mismatch'
    | 'duplicate-edge'
    | 'loop-entry'
    | 'loop-return';
  readonly message: string;
}

/** Why these ends can't be connected in a graph; undefined if they can. */
export function refusal(
  catalogue: Catalogue,
  doc: Doc,
  definition: DefinitionName,
  ends: Ends,
): Refusal | undefined {
  const graph = graphOf(doc, definition);
  const { nodes } = indexOf(graph);
  const [source, target] = [nodes.get(ends.source), nodes.get(ends.target)];
  if (!source || !target) return { code: 'unknown-node', message: 'This node no longer exists.' };
  const names = { source: nodeName(source), target: nodeName(target) };
  if (isTrigger(catalogue, target.type)) {
    return { code: 'edge-into-trigger', message: `A run starts at ${names.target}: nothing can lead there.` };
  }
  const from = port(portsOf(catalogue, doc, source).outputs, ends.sourceHandle);
  const to = port(portsOf(catalogue, doc, target).inputs, ends.targetHandle);
  const known = { from: portsOf(catalogue, doc, source).known, to: portsOf(catalogue, doc, target).known };
  // The error port is an output only if it is asked for.
  const errorAlone = ends.sourceHandle === undefined && from?.name === 'error';
  if (known.from && (!from || errorAlone)) return missingPort(names.source, 'output', ends.sourceHandle);
  if (known.to && !to) return missingPort(names.target, 'input', ends.targetHandle);
  if (graph.edges.some((edge) => sameEnds(catalogue, doc, graph, edge, ends))) {
    return {
      code: 'duplicate-edge',
      message: `${names.source} is already connected to ${names.target} there.`,
    };
  }
  return (
    flowRefusal(catalogue, doc, definition, ends) ?? typeRefusal(doc, catalogue, definition, ends, from, to)
  );
}

function port(ports: readonly Port[], handle: string | null | undefined): Port | undefined {
  return handle === undefined || handle === null ? ports[0] : ports.find((it) => it.name === handle);
}

function missingPort(name: string, side: string, handle: string | null | undefined): Refusal {
  const message = handle ? `${name} has no ${side} “${handle}”.` : `${name} has no ${side}.`;
  return { code: 'unknown-port', message };
}

function sameEnds(catalogue: Catalogue, doc: Doc, graph: Graph, edge: GraphEdge, ends: Ends): boolean {
  if (edge.source !== ends.source || edge.target !== ends.target) return false;
  const { nodes } = indexOf(graph);
  const [source, target] = [nodes.get(edge.source), nodes.get(edge.target)];
  if (!source || !target) return false;
  const [outputs, inputs] = [portsOf(catalogue, doc, source), portsOf(catalogue, doc, target)];
  return (
    sourcePort(outputs, edge.sourceHandle) === sourcePort(outputs, ends.sourceHandle) &&
    targetPort(inputs, edge.targetHandle) === targetPort(inputs, ends.targetHandle)
  );
}

/** A list does not fit where an object is wanted. Only a port with one edge is judged: several give a list. */
function typeRefusal(
  doc: Doc,
  catalogue: Catalogue,
  definition: DefinitionName,
  ends: Ends,
  from: Port | undefined,
  to: Port | undefined,
): Refusal | undefined {
  const graph = graphOf(doc, definition);
  const { nodes, incoming } = indexOf(graph);
  const [source, target] = [nodes.get(ends.source), nodes.get(ends.target)];
  if (!from || !to || !source || !target || source.data?.disabled || target.data?.disabled) return undefined;
  const inputs = portsOf(catalogue, doc, target);
  const wired = (incoming.get(target.id) ?? []).some(
    (edge) => targetPort(inputs, edge.targetHandle) === to.name,
  );
  if (wired) return undefined;
  const isList = hasItems(doc);
  const takesItems =
    executesEach(catalogue, doc, target) || compositeOf(catalogue, doc, target.type) !== undefined;
  if (isList && !takesItems) return undefined;
  // Where lists of items travel, ports speak of the items. Of those of an array nothing is known.
  const item = from.type === 'array' ? 'any' : from.type;
  const given = isList ? item : source.data?.each ? 'array' : from.type;
  const taken = !isList && target.data?.each ? 'array' : to.type;
  if (!isBad(given, taken)) return undefined;
  const message = `${nodeName(source)} gives ${article(given)}, but ${nodeName(target)} takes ${article(taken)}.`;
  return { code: 'type-mismatch', message };
}

function isBad(given: string, taken: string): boolean {
  if (given === 'any' || taken === 'any' || given === taken) return false;
  const structured = (type: string) => type === 'array' || type === 'object';
  return structured(given) || structured(taken);
}

function article(type: string): string {
  if (type === 'array') return 'a list';
  return type === 'object' || type === 'integer' ? `an ${type}` : `a ${type}`;
}

/** Cycles, and edges that enter a loop's body from outside or return from there. */
function flowRefusal(
  catalogue: Catalogue,
  doc: Doc,
  definition: DefinitionName,
  ends: Ends,
): Refusal | undefined {
  const graph = graphOf(doc, definition);
  const { nodes } = indexOf(graph);
  const edge: GraphEdge = { ...ends, id: 'new edge' };
  const next: Graph = { ...graph, edges: [...graph.edges, edge] };
  const [source, target] = [nodes.get(ends.source), nodes.get(ends.target)];
  if (!source || !target) return undefined;
  const flow = flowOf(catalogue, doc, graph);
  const returns =
    isLoop(catalogue, target.type) &&
    targetPort(portsOf(catalogue, doc, target), ends.targetHandle) === 'next';
  if (!returns && (source === target || flow.reaches(target.id, source.id))) {
    const message = `${nodeName(target)} leads to ${nodeName(source)}: they would wait for each other. To repeat, use a For each or Loop node.`;
    return { code: 'cycle', message };
  }
  if (flow.bodies.size === 0 || flow.cycle.length > 0) return undefined;
  const leaves =
    isLoop(catalogue, source.type) &&
    sourcePort(portsOf(catalogue, doc, source), ends.sourceHandle) === 'item';
  // Within one body nothing changes: what the target leads to is in it already.
  if (!returns && !leaves && flow.loopOf.get(source.id) === flow.loopOf.get(target.id)) return undefined;
  const before = new Set(loopProblems(catalogue, doc, graph).map((problem) => problem.key));
  const found = loopProblems(catalogue, doc, next).find((problem) => !before.has(problem.key));
  return found?.refusal;
}

interface LoopProblem {
  readonly key: string;
  readonly refusal: Refusal;
}

/** Edges that break the rules of loop bodies. */
export function loopProblems(catalogue: Catalogue, doc: Doc, graph: Graph): LoopProblem[] {
  const flow = flowOf(catalogue, doc, graph);
  const { nodes } = indexOf(graph);
  return graph.edges.flatMap((edge): LoopProblem[] => {
    const [source, target] = [nodes.get(edge.source), nodes.get(edge.target)];
    if (!source || !target) return [];
    const leaves =
      isLoop(catalogue, source.type) &&
      sourcePort(portsOf(catalogue, doc, source), edge.sourceHandle) === 'item';
    const from = leaves ? source.id : flow.loopOf.get(source.id);
    const returns =
      isLoop(catalogue, target.type) &&
      targetPort(portsOf(catalogue, doc, target), edge.targetHandle) === 'next';
    const to = returns ? target.id : flow.loopOf.get(target.id);
    if (from === to || (!returns && to === undefined)) return [];
    const names = {
      source: nodeName(source),
      target: nodeName(target),
      loop: nodeName(nodes.get(to ?? '') ?? target),
    };
    const message = returns
      ? `${names.source} is not directly in the body of ${names.target}: only what its port “item” leads to can return to it.`
      : `${names.target} is in the body of ${names.loop}, which can only be entered by the port “item” of ${names.loop}.`;
    return [{ key: edgeKey(edge), refusal: { code: returns ? 'loop-return' : 'loop-entry', message } }];
  });
}

/** A place where an edge may end or begin. */
export interface Place {
  readonly node: string;
  readonly port: string;
  /** What it is called: "Merge", or "Join, port left" if there are several. */
  readonly name: string;
}

/** Inputs that an output can be connected to, nearest nodes first if `near` ranks them. */
export function targetsFor(
  catalogue: Catalogue,
  doc: Doc,
  definition: DefinitionName,
  from: { readonly node: string; readonly port: string },
): Place[] {
  const graph = graphOf(doc, definition);
  return graph.nodes.flatMap((node) => {
    const { inputs } = portsOf(catalogue, doc, node);
    return inputs.flatMap((input): Place[] => {
      const ends = { source: from.node, sourceHandle: from.port, target: node.id, targetHandle: input.name };
      if (refusal(catalogue, doc, definition, ends)) return [];
      const name = inputs.length > 1 ? `${nodeName(node)}, port ${input.name}` : nodeName(node);
      return [{ node: node.id, port: input.name, name }];
    });
  });
}
