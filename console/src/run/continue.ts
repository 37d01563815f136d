/**
 * Going on from a node of a run that has ended or paused: what ran before it is pinned to what it gave, so that nothing of
 * it happens again, and the rest runs with the graph as it is now. Pure.
 */

import {
  compositeOf,
  ERROR_PORT,
  executesEach,
  hasItems,
  isLoop,
  isTrigger,
  portsOf,
  sendsSeveral,
  type Catalogue,
  type NodePorts,
} from '../graph/catalogue';
import { flowOf, type Flow } from '../graph/flow';
import {
  definitionOf,
  graphOf,
  indexOf,
  type DefinitionName,
  type Doc,
  type Graph,
  type GraphNode,
  type Pin,
} from '../graph/model';
import { readPin, writtenPin, type GivenPin } from '../graph/pins';
import { isNoticed } from './effects';
import { isExcerpt } from './events';
import type { Execution, RunRecord } from './record';

export interface Continuation {
  /** Where it begins: the wanted nodes, or the loops and repeated composites around them, which can't be entered halfway. */
  readonly from: readonly string[];
  /** Outputs of what ran before, by the whole path of each node. */
  readonly pins: Readonly<Record<string, unknown>>;
  /** Nodes before it that had effects outside and execute again all the same: what they gave can't be pinned. */
  readonly again: readonly string[];
}

/** A run to go on with. */
export interface Basis {
  readonly catalogue: Catalogue;
  /** The graph as it is now. */
  readonly doc: Doc;
  readonly record: RunRecord;
}

/** A graph on the way to a node. */
interface Place {
  readonly definition: DefinitionName;
  /** Path of the composites that lead here, such as `checkout/`. */
  readonly prefix: string;
  readonly node: GraphNode;
}

/** Goes on from the nodes of these paths; those that are not in the graph any more are left out. */
export function continuationFrom(basis: Basis, wanted: readonly string[]): Continuation {
  const ways = wanted.map((path) => wayTo(basis, path)).filter((way) => way !== undefined);
  const pinning = new Pinning(basis);
  let from = pinning.level(
    null,
    '',
    ways.flatMap((way) => way.slice(0, 1)),
  );
  // Several nodes are known by what holds them in the pattern's own graph; one alone may be deep inside.
  const [way = []] = ways.length === 1 ? ways : [];
  for (const [depth, place] of way.slice(1).entries()) {
    const outer = way[depth];
    if (outer && (from[0] !== outer.prefix + outer.node.id || pinning.isRepeated(from[0]))) {
      pinning.repeats(outer.node, outer.prefix + outer.node.id);
      break;
    }
    from = pinning.level(place.definition, place.prefix, [place]);
  }
  const pins = Object.fromEntries([...pinning.pins].map(([path, { pin }]) => [path, writtenPin(pin)]));
  return { from, pins, again: pinning.again };
}

/**
 * What the nodes of a graph gave in a run, as far as pins can say it. Triggers are left out, whose event is chosen for each
 * test; so are nodes in loops, which gave several values.
 */
export function givenPins(basis: Basis, definition: DefinitionName, prefix: string): GivenPin[] {
  const pinning = new Pinning(basis);
  // The inside of a composite that executed several times gave several values as well.
  if (prefix !== '' && pinning.isRepeated(prefix.slice(0, -1))) return [];
  pinning.level(definition, prefix, []);
  return [...pinning.pins.values()].filter(({ node, definition: of }) => {
    const found = indexOf(graphOf(basis.doc, of)).nodes.get(node);
    return found !== undefined && !isTrigger(basis.catalogue, found.type);
  });
}

function wayTo({ doc }: Pick<Basis, 'doc'>, path: string): Place[] | undefined {
  const way: Place[] = [];
  let definition: DefinitionName = null;
  let prefix = '';
  for (const id of path.split('/')) {
    const node: GraphNode | undefined = indexOf(graphOf(doc, definition)).nodes.get(id);
    if (!node) return undefined;
    way.push({ definition, prefix, node });
    definition = node.type;
    prefix = `${prefix}${id}/`;
  }
  return way;
}

class Pinning {
  /** By the whole path of each node. */
  readonly pins = new Map<string, GivenPin>();
  readonly again: string[] = [];
  readonly #executions = new Map<string, Execution[]>();

  constructor(private readonly basis: Basis) {
    for (const execution of basis.record.executions) {
      if (!execution) continue;
      const known = this.#executions.get(execution.nodeId);
      if (known) known.push(execution);
      else this.#executions.set(execution.nodeId, [execution]);
    }
  }

  /** Pins what is not behind these nodes of one graph. Gives where it begins: a loop if a node is in its body. */
  level(definition: DefinitionName, prefix: string, starts: readonly Place[]): string[] {
    const { catalogue, doc } = this.basis;
    const graph = graphOf(doc, definition);
    const flow = flowOf(catalogue, doc, graph);
    const begin = new Set(starts.map(({ node }) => outermostLoop(flow, node.id)));
    const isBehind = (id: string) => begin.has(id) || [...begin].some((start) => flow.reaches(start, id));
    for (const node of graph.nodes) {
      const path = prefix + node.id;
      if (isBehind(node.id)) {
        // The body of a loop that is entered anew, not what is behind the loop: that is what should run.
        const loop = outermostLoop(flow, node.id);
        const isWanted = starts.some((start) => start.node.id === node.id);
        const isBefore = starts.some((start) => flow.reaches(node.id, start.node.id));
        if (loop !== node.id && begin.has(loop) && isBefore && !isWanted) this.repeats(node, path);
      } else if (!flow.loopOf.has(node.id)) this.pin(definition, node, path, loopBody(flow, graph, node));
    }
    return [...begin].map((id) => prefix + id);
  }

  /** Whether a composite executed more than once: then its inside has no one state to go on from. */
  isRepeated(path: string): boolean {
    if ((this.#executions.get(path)?.length ?? 0) > 1) return true;
    const inside = `${path}/`;
    return [...this.#executions.values()]
      .flat()
      .some(
        (it) =>
          it.nodeId.startsWith(inside) &&
          it.path.split('.').some((part) => part.startsWith(`${path}[`) || part.startsWith(`${path}~`)),
      );
  }

  private pin(definition: DefinitionName, node: GraphNode, path: string, body: readonly GraphNode[]): void {
    // A pin of the document is sent anyway; what is disabled hands on what came.
    if (node.data?.pin || node.data?.disabled) return;
    const fromServer = this.basis.record.pinnedNodes?.[path];
    if (fromServer !== undefined) {
      this.pins.set(path, { definition, node: node.id, pin: readPin(fromServer) });
      return;
    }
    const executions = this.#executions.get(path) ?? [];
    if (executions.length === 0) return;
    const { catalogue } = this.basis;
    const ports = portsOf(catalogue, this.basis.doc, node);
    const given = executesEach(catalogue, this.basis.doc, node)
      ? joined(this.basis, executions, node, ports)
      : givenBy(catalogue, executions.at(-1), node, ports);
    const prefix = path.slice(0, path.length - node.id.length);
    if (given) this.pins.set(path, { definition, node: node.id, pin: given });
    else if (isComposite(this.basis, node) && !this.isRepeated(path)) this.level(node.type, `${path}/`, []);
    else for (const it of [node, ...body]) this.repeats(it, prefix + it.id);
  }

  /** A node executes again: said if it had effects outside. */
  repeats(node: GraphNode, path: string): void {
    const isOf = (id: string | null) => id === path || id?.startsWith(`${path}/`);
    const hadEffects = this.basis.record.effects.some(({ kind, nodeId }) => isOf(nodeId) && isNoticed(kind));
    if (hadEffects && !node.data?.pin) this.again.push(path);
  }
}

function outermostLoop(flow: Flow, id: string): string {
  let outer = id;
  for (let loop = flow.loopOf.get(id); loop !== undefined; loop = flow.loopOf.get(loop)) outer = loop;
  return outer;
}

function loopBody(flow: Flow, graph: Graph, node: GraphNode): GraphNode[] {
  const body = flow.bodies.get(node.id);
  return body ? graph.nodes.filter((it) => body.has(it.id)) : [];
}

/** What an execution gave, if a pin can say it: one value by one port. */
function givenBy(
  catalogue: Catalogue,
  execution: Execution | undefined,
  node: GraphNode,
  ports: NodePorts,
): Pin | undefined {
  if (execution?.state !== 'ended') return undefined;
  const first = ports.outputs[0]?.name;
  if (execution.error) {
    const value = { error: execution.error };
    if (node.data?.onError === 'branch') return { value, port: ERROR_PORT };
    return node.data?.onError === 'continue' ? { value } : undefined;
  }
  const port = execution.port;
  if (typeof port !== 'string' || execution.output === undefined || isExcerpt(execution.output))
    return undefined;
  // Of several ports at once, a trace has the first alone.
  if (!ports.outputs.some(({ name }) => name === port) || sendsSeveral(catalogue, node, ports))
    return undefined;
  return port === first ? { value: execution.output } : { value: execution.output, port };
}

/** The outputs for all elements as one array, as they leave a node with `each`. */
function joined(
  { catalogue, doc }: { catalogue: Catalogue; doc: Doc },
  executions: readonly Execution[],
  node: GraphNode,
  ports: NodePorts,
): Pin | undefined {
  const whole = executions.find((it) => !it.path.includes('#'));
  // Composites, and values that are no arrays, have one entry for all.
  if (whole) return givenBy(catalogue, whole, node, ports);
  const elements = new Map<number, Pin>();
  for (const execution of executions) {
    const given = givenBy(catalogue, execution, node, ports);
    const element = Number(/#(\d+)$/.exec(execution.path)?.[1]);
    if (!given || !Number.isInteger(element)) return undefined;
    elements.set(element, given);
  }
  const inOrder = [...elements].sort(([a], [b]) => a - b).map(([, given]) => given);
  const [head] = inOrder;
  if (!head || inOrder.some(({ port }) => port !== head.port)) return undefined;
  const values = inOrder.map(({ value }): unknown => value);
  return { ...head, value: hasItems(doc) ? values.flat(1) : values };
}

/**
 * Nodes whose doing has changed between two graphs: their type, parameters and settings, what leads to them, or their
 * definition. Names, places and pins are left aside. By whole paths; nodes that are gone are not among them.
 */
export function changedNodes(before: Doc, now: Doc): string[] {
  if (before === now) return [];
  const found: string[] = [];
  changedIn(before, now, null, '', 0, found);
  return found;
}

function changedIn(
  before: Doc,
  now: Doc,
  definition: DefinitionName,
  prefix: string,
  depth: number,
  found: string[],
): void {
  const [old, graph] = [graphOf(before, definition), graphOf(now, definition)];
  const [was, is] = [indexOf(old), indexOf(graph)];
  const hasSameEdges = old.edges === graph.edges;
  for (const node of graph.nodes) {
    const known = was.nodes.get(node.id);
    const edges = (index: typeof is) =>
      JSON.stringify(
        (index.incoming.get(node.id) ?? []).map((it) => [
          it.source,
          it.sourceHandle ?? '',
          it.targetHandle ?? '',
        ]),
      );
    const isSame =
      known && (known === node || doing(known) === doing(node)) && (hasSameEdges || edges(was) === edges(is));
    if (!isSame) {
      found.push(prefix + node.id);
      continue;
    }
    const [then, own] = [definitionOf(before, node.type), definitionOf(now, node.type)];
    if (then === own) continue;
    const count = found.length;
    if (then?.kind === 'graph' && own?.kind === 'graph' && depth < 32) {
      changedIn(before, now, node.type, `${prefix}${node.id}/`, depth + 1, found);
      if (found.length > count || JSON.stringify(faceOf(then)) === JSON.stringify(faceOf(own))) continue;
    }
    found.push(prefix + node.id);
  }
}

function doing({ type, data }: GraphNode): string {
  const { label: _label, notes: _notes, pin: _pin, ...rest } = data ?? {};
  return JSON.stringify([type, rest]);
}

function faceOf({ graphData: _graph, ...face }: NonNullable<ReturnType<typeof definitionOf>>): object {
  return face;
}

/**
 * Where a run that is stepped pauses: before every node that has not run yet, as deep as `at` is, or one deeper. Loops and
 * composites are one step unless `at` is inside. `at` itself executes.
 */
export function stepPoints(
  { catalogue, doc }: Pick<Basis, 'catalogue' | 'doc'>,
  record: RunRecord | undefined,
  at: string | undefined,
  into = false,
): string[] {
  const points: string[] = [];
  const way = at === undefined || !record ? undefined : wayTo({ doc }, at);
  const add = (
    definition: DefinitionName,
    prefix: string,
    inside: GraphNode | undefined,
    enters: boolean,
  ) => {
    const graph = graphOf(doc, definition);
    const flow = flowOf(catalogue, doc, graph);
    const open = new Set<string>(enters && inside ? [inside.id] : []);
    for (let loop = inside && flow.loopOf.get(inside.id); loop !== undefined; loop = flow.loopOf.get(loop))
      open.add(loop);
    for (const node of graph.nodes) {
      const loop = flow.loopOf.get(node.id);
      if ((loop === undefined || open.has(loop)) && !isTrigger(catalogue, node.type))
        points.push(prefix + node.id);
    }
  };
  if (!way) add(null, '', undefined, false);
  for (const [depth, place] of (way ?? []).entries()) {
    const isLast = depth === (way?.length ?? 0) - 1;
    add(place.definition, place.prefix, place.node, into && isLast);
    if (into && isLast && isComposite({ catalogue, doc }, place.node))
      add(place.node.type, `${place.prefix}${place.node.id}/`, undefined, false);
  }
  const passed = new Set<string | undefined>((way && record?.executions.map((it) => it?.nodeId)) ?? []);
  // What is around the node has begun, whether or not its end was told.
  for (const { definition, prefix, node } of way ?? []) {
    const flow = flowOf(catalogue, doc, graphOf(doc, definition));
    passed.add(prefix + node.id);
    for (let loop = flow.loopOf.get(node.id); loop !== undefined; loop = flow.loopOf.get(loop))
      passed.add(prefix + loop);
  }
  return points.filter((path) => !passed.has(path));
}

/** Whether there is something to step into at a node: the body of a loop, or a composite's inside. */
export function canStepInto({ catalogue, doc }: Pick<Basis, 'catalogue' | 'doc'>, path: string): boolean {
  const node = wayTo({ doc }, path)?.at(-1)?.node;
  if (!node || node.data?.pin || node.data?.disabled) return false;
  if (isLoop(catalogue, node.type)) return true;
  return isComposite({ catalogue, doc }, node);
}

function isComposite({ catalogue, doc }: Pick<Basis, 'catalogue' | 'doc'>, node: GraphNode): boolean {
  return compositeOf(catalogue, doc, node.type) !== undefined;
}
