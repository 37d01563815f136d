/** Node types of a pattern's own: made anew, or of nodes that are there. */
import { addNode, type Added, type Here, type NewNode } from './actions';
import { isTrigger, portsOf, sourcePort, targetPort, type Catalogue } from './catalogue';
import type { Edit } from './edit';
import { boundsOf, boxOf, COLUMN, NODE_WIDTH } from './geometry';
import { namesIn, newId, newLabel } from './ids';
import {
  graphOf,
  indexOf,
  nodeName,
  withGraph,
  type Definition,
  type Doc,
  type Graph,
  type GraphEdge,
  type GraphNode,
} from './model';
import { referencesInValue } from './references';

export type OwnKind = 'graph' | 'javascript' | 'expression' | 'component';

/** What new types are called, unless there is one of that name. */
const NAMES: Record<OwnKind, string> = {
  graph: 'Composite',
  javascript: 'Script',
  expression: 'Formula',
  component: 'Component',
};

const BEGIN = 'begin';
const END = 'end';
/** As the API's document has it for ports. */
const PORT_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** A definition to begin with, which passes on what arrives. Of a component, `content` is the file in base64. */
export function newDefinition(kind: OwnKind, content = ''): Definition {
  switch (kind) {
    case 'javascript':
      return { kind, code: 'export default ({ input }) => {\n  return input;\n};\n' };
    case 'expression':
      return { kind, outputValues: { out: '{{ $input }}' } };
    case 'component':
      return { kind, component: content };
    case 'graph':
      return {
        kind,
        graphData: {
          nodes: [
            { id: BEGIN, type: 'OnCall', position: { x: 0, y: 0 }, data: { label: 'Input' } },
            outcome(END, 'Output', '{{ $input }}', { x: COLUMN, y: 0 }),
          ],
          edges: [{ id: 'edge-begin', source: BEGIN, target: END }],
        },
      };
  }
}

function outcome(id: string, label: string, value: string, position: { x: number; y: number }): GraphNode {
  return { id, type: 'Return', position, data: { label, parameters: { value } } };
}

/** Whether a type may have this name; if not, why. */
export function nameRefusal(
  catalogue: Catalogue,
  doc: Doc,
  name: string,
  present?: string,
): string | undefined {
  if (name === '') return 'A node type needs a name.';
  if (name === present) return undefined;
  if (catalogue.byName.has(name)) return `“${name}” is a node type that every pattern has.`;
  return Object.hasOwn(doc.definitions, name) ? `There is a node type “${name}” already.` : undefined;
}

function freeName(catalogue: Catalogue, doc: Doc, wanted: string): string {
  const taken = new Set([...catalogue.byName.keys(), ...Object.keys(doc.definitions)]);
  const base = wanted.replaceAll(' ', '');
  let name = base;
  for (let number = 2; taken.has(name); number++) name = `${base}${String(number)}`;
  return name;
}

/** A new type, and a node of it. */
export function addOwnType(here: Here, kind: OwnKind, wanted: NewNode, content = '', name = ''): Added {
  const type = freeName(here.catalogue, here.doc, name || NAMES[kind]);
  const value = newDefinition(kind, content);
  const definitions = { ...here.doc.definitions, [type]: value };
  const added = addNode({ ...here, doc: { ...here.doc, definitions } }, { ...wanted, type });
  const edits: Edit[] = [{ kind: 'define', name: type, value }, added.edit];
  return { ...added, edit: { kind: 'batch', title: `Add the node type ${type}`, edits } };
}

/** Makes a composite of nodes, or says why that is not possible. */
export type Composed = { readonly edit: Edit; readonly node: string } | { readonly refusal: string };

/** Puts nodes into a composite that does what they did; one step to undo. */
export function compose(here: Here, ids: ReadonlySet<string>): Composed {
  const graph = graphOf(here.doc, here.definition);
  const nodes = graph.nodes.filter((node) => ids.has(node.id));
  const refusal = unfit(here, graph, nodes, ids);
  if (refusal !== undefined) return { refusal };
  const rim = rimOf(here, graph, ids);
  if (typeof rim === 'string') return { refusal: rim };

  const type = freeName(here.catalogue, here.doc, NAMES.graph);
  const id = newId(type, (other) => indexOf(graph).nodes.has(other));
  const label = newLabel(NAMES.graph, namesIn(graph));
  const inner = innerGraph(here, graph, nodes, ids, rim);
  const { outputs } = rim;
  const names = outputs.length === 1 ? undefined : outputs.map((port) => ({ name: port }));
  const definition: Definition = { kind: 'graph', ...(names && { outputs: names }), graphData: inner };
  const position = (rim.entry && indexOf(graph).nodes.get(rim.entry.node)?.position) ?? nodes[0]?.position;
  const node: GraphNode = { id, type, ...(position && { position }), data: { label } };

  const first = graph.nodes.findIndex((it) => ids.has(it.id));
  const around = graph.nodes.flatMap((it, at) => (at === first ? [node] : ids.has(it.id) ? [] : [it]));
  const edges = graph.edges.flatMap((edge) => outerEdge(here, edge, ids, id, rim));
  const doc = withGraph(
    { ...here.doc, definitions: { ...here.doc.definitions, [type]: definition } },
    here.definition,
    {
      ...graph,
      nodes: around,
      edges,
    },
  );
  const what = nodes.length === 1 ? nodeName(nodes[0] as GraphNode) : `${nodes.length} nodes`;
  return { edit: { kind: 'replace', title: `Make a composite of ${what}`, doc }, node: id };
}

/** Why these nodes can't be inside of a composite, whatever leads to them. */
function unfit(
  here: Here,
  graph: Graph,
  nodes: readonly GraphNode[],
  ids: ReadonlySet<string>,
): string | undefined {
  if (nodes.length === 0) return 'Select the nodes that the composite is to have.';
  for (const node of nodes) {
    const name = nodeName(node);
    if (isTrigger(here.catalogue, node.type))
      return `Runs start at “${name}”: a composite can’t have it. Leave it out.`;
    if (here.catalogue.byName.get(node.type)?.role === 'return')
      return `“${name}” ends the run with a result: inside a composite it would end only that. Leave it out.`;
  }
  // Names of the other side are not known inside, nor those inside around it.
  for (const reader of graph.nodes) {
    const read = readBy(graph, reader).find((node) => ids.has(node.id) !== ids.has(reader.id));
    if (!read) continue;
    const [one, other] = [nodeName(reader), nodeName(read)];
    return ids.has(reader.id)
      ? `“${one}” reads “${other}”, which would be outside: select both, or pass it on with the input.`
      : `“${one}” reads “${other}”, which would be inside: select both.`;
  }
  return undefined;
}

/** The nodes that a node's expressions name. */
function readBy(graph: Graph, reader: GraphNode): GraphNode[] {
  const { code, ...parameters } = reader.data?.parameters ?? {};
  const texts = reader.type === 'JavaScript' ? parameters : { ...parameters, code };
  return referencesInValue(texts).flatMap(({ by, name }) => {
    const byId = indexOf(graph).nodes.get(name);
    if (by === 'id') return byId ? [byId] : [];
    const labelled = graph.nodes.filter((node) => node.data?.label === name);
    return labelled.length > 0 ? labelled : byId ? [byId] : [];
  });
}

/** Where values come in and go out. */
interface Rim {
  /** The node and its input; none if nothing leads in. */
  readonly entry: { readonly node: string; readonly port: string | undefined } | undefined;
  /** The node from which everything leaves, if anything does. */
  readonly exit: string | undefined;
  /** Its outputs that lead out, which are those of the composite; a single one is called `out`. */
  readonly outputs: readonly string[];
}

function rimOf(here: Here, graph: Graph, ids: ReadonlySet<string>): Rim | string {
  const { nodes } = indexOf(graph);
  const ports = (id: string) => portsOf(here.catalogue, here.doc, nodes.get(id) ?? { id, type: '' });
  const nameOf = (id: string) => `“${nodeName(nodes.get(id) ?? { id, type: '' })}”`;
  const list = (names: readonly string[]) => new Intl.ListFormat('en').format([...new Set(names)]);

  const incoming = graph.edges.filter((edge) => ids.has(edge.target) && !ids.has(edge.source));
  const entries = new Map(
    incoming.map((edge) => {
      const port = targetPort(ports(edge.target), edge.targetHandle);
      return [`${edge.target} ${port}`, { node: edge.target, port }];
    }),
  );
  if (entries.size > 1) {
    const names = [...entries.values()].map(({ node }) => nameOf(node));
    return new Set(names).size > 1
      ? `A composite has one input, and what leads into the selection leads to ${list(names)}.`
      : `A composite has one input, and what leads into the selection leads to several of ${list(names)}.`;
  }
  const [entry] = entries.values();
  const isMerge = here.catalogue.byName.get(nodes.get(entry?.node ?? '')?.type ?? '')?.role === 'merge';
  if (entry && isMerge && incoming.length > 1)
    return `${nameOf(entry.node)} joins what comes from outside: leave it out.`;

  const outgoing = graph.edges.filter((edge) => ids.has(edge.source) && !ids.has(edge.target));
  const exits = [...new Set(outgoing.map((edge) => edge.source))];
  if (exits.length > 1)
    return `A composite ends at one node, and the selection is left from ${list(exits.map(nameOf))}.`;
  const [exit] = exits;
  const left = new Set(outgoing.map((edge) => sourcePort(ports(edge.source), edge.sourceHandle) ?? 'out'));
  const bad = [...left].find((port) => left.size > 1 && !PORT_NAME.test(port));
  if (bad !== undefined) return `The output “${bad}” can’t be one of a composite: give it a name of letters.`;
  return { entry, exit, outputs: left.size > 1 ? [...left] : left.size === 1 ? ['out'] : [] };
}

function innerGraph(
  here: Here,
  graph: Graph,
  nodes: readonly GraphNode[],
  ids: ReadonlySet<string>,
  { entry, exit, outputs }: Rim,
): Graph {
  const taken = new Set(ids);
  const names = new Set(nodes.flatMap((node) => [node.id, ...(node.data?.label ? [node.data.label] : [])]));
  const fresh = (base: string) => {
    const id = taken.has(base) ? newId(base, (other) => taken.has(other)) : base;
    taken.add(id);
    return id;
  };
  const called = (label: string) => {
    const name = newLabel(label, names);
    names.add(name);
    return name;
  };
  const box = boundsOf(nodes.map((node) => boxOf(here.catalogue, here.doc, node)));
  const yOf = (id: string | undefined) => nodes.find((node) => node.id === id)?.position?.y ?? box?.y ?? 0;
  const begin: GraphNode = {
    id: fresh(BEGIN),
    type: 'OnCall',
    position: { x: (box?.x ?? 0) - COLUMN, y: yOf(entry?.node) },
    data: { label: called('Input') },
  };
  const edges = graph.edges.filter((edge) => ids.has(edge.source) && ids.has(edge.target));
  // Without anything that leads in, the first node is where it begins.
  const starts = new Set(edges.map((edge) => edge.target));
  const heads = entry
    ? [entry]
    : nodes.filter((node) => !starts.has(node.id)).map(({ id }) => ({ node: id, port: undefined }));
  const isFirst = (port: string | undefined, id: string) => {
    const node = nodes.find((it) => it.id === id);
    return !node || port === portsOf(here.catalogue, here.doc, node).inputs[0]?.name;
  };
  const into = heads.map(({ node, port }): GraphEdge => ({
    id: fresh('edge-in'),
    source: begin.id,
    target: node,
    ...(port !== undefined && !isFirst(port, node) && { targetHandle: port }),
  }));
  const right = box ? box.x + box.width + COLUMN - NODE_WIDTH : 0;
  const ends = outputs.map((port, at) => {
    const value = outputs.length > 1 ? `{{ ({${JSON.stringify(port)}: $input}) }}` : '{{ $input }}';
    const label = called(outputs.length > 1 ? `Output ${port}` : 'Output');
    return outcome(fresh(END), label, value, { x: right, y: yOf(exit) + at * 100 });
  });
  const only = graph.edges.find((edge) => ids.has(edge.source) && !ids.has(edge.target))?.sourceHandle;
  const out = ends.map((end, at): GraphEdge => {
    const handle = outputs.length > 1 ? outputs[at] : only;
    return {
      id: fresh('edge-out'),
      source: exit ?? '',
      target: end.id,
      ...(handle && { sourceHandle: handle }),
    };
  });
  return { nodes: [begin, ...nodes, ...ends], edges: [...into, ...edges, ...out] };
}

/** What an edge becomes outside: of those at the rim, the composite is an end; those within are gone. */
function outerEdge(
  here: Here,
  edge: GraphEdge,
  ids: ReadonlySet<string>,
  composite: string,
  { outputs }: Rim,
): GraphEdge[] {
  const [from, to] = [ids.has(edge.source), ids.has(edge.target)];
  if (from && to) return [];
  if (to) {
    const { targetHandle: _, ...rest } = edge;
    return [{ ...rest, target: composite }];
  }
  if (!from) return [edge];
  const { sourceHandle, ...rest } = edge;
  if (outputs.length < 2) return [{ ...rest, source: composite }];
  const source = indexOf(graphOf(here.doc, here.definition)).nodes.get(edge.source);
  const port = source && sourcePort(portsOf(here.catalogue, here.doc, source), sourceHandle);
  return [{ ...rest, source: composite, ...(port !== undefined && { sourceHandle: port }) }];
}
