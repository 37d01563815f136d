/** The node types that a document can use, and the ports that a node has. */
import { definitionOf, type Definition, type Doc, type GraphNode } from './model';

/** A node type as `GET /api/nodes` gives it. The optional fields come with newer servers. */
export interface NodeType {
  readonly type: string;
  readonly category: string;
  readonly description: string;
  readonly inputs: readonly Port[];
  readonly outputs: readonly Port[];
  readonly outputsPerCase: boolean;
  /** By how many of its outputs a node sends at a time. */
  readonly sends: 'one' | 'several';
  /** The parameter by which it is several as well, unless it is false. */
  readonly sendsSeveralIf?: string;
  /** What its nodes emit: a value of their own, what has come, or what a parameter is. */
  readonly emits?: 'own' | 'input' | 'parameter';
  /** That parameter. */
  readonly emitsParameter?: string;
  /** Where lists of items travel: what its nodes execute for, unless they say otherwise. */
  readonly executesPer?: 'item' | 'list';
  /** JSON Schema of the parameters. */
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly effects?: readonly string[];
  readonly examples?: readonly NodeExample[];
  readonly title?: string;
  readonly icon?: string;
  readonly keywords?: readonly string[];
  readonly group?: string;
  /** What its nodes do in the graph besides taking values and giving others. */
  readonly role?: string;
}

export interface NodeExample {
  readonly title: string;
  readonly parameters: unknown;
  readonly input: unknown;
  readonly output: unknown;
}

export interface Port {
  readonly name: string;
  readonly type: string;
  readonly required?: boolean;
  readonly description?: string;
}

/** The ports of a node as it is set up. */
export interface NodePorts {
  readonly inputs: readonly Port[];
  readonly outputs: readonly Port[];
  /** False for types that nobody knows: their edges may name any port. */
  readonly known: boolean;
}

export interface Catalogue {
  readonly types: readonly NodeType[];
  readonly byName: ReadonlyMap<string, NodeType>;
}

/** The port that `onError: "branch"` adds. */
export const ERROR_PORT = 'error';

const ERROR: Port = {
  name: ERROR_PORT,
  type: 'object',
  description: 'What failed: `{error: {message, code, nodeId}}`.',
};
const UNKNOWN: NodePorts = { inputs: [], outputs: [], known: false };

export function makeCatalogue(types: readonly NodeType[]): Catalogue {
  return { types, byName: new Map(types.map((type) => [type.type, type])) };
}

export const EMPTY_CATALOGUE: Catalogue = makeCatalogue([]);

export function isTrigger(catalogue: Catalogue, type: string): boolean {
  return catalogue.byName.get(type)?.category === 'triggers';
}

/** Whether nodes of a type have a body, between `item` and `next`. */
export function isLoop(catalogue: Catalogue, type: string): boolean {
  const role = catalogue.byName.get(type)?.role;
  return role === 'for-each' || role === 'while';
}

/** Whether nodes of a type have a body that is repeated while a condition holds, which reads what came back. */
export function repeats(catalogue: Catalogue, type: string): boolean {
  return catalogue.byName.get(type)?.role === 'while';
}

/** Whether what leaves nodes of a type is what has come, as far as that can be told without its values: a Merge's may be one of them. */
export function passesOn(catalogue: Catalogue, type: string): boolean {
  const known = catalogue.byName.get(type);
  return known?.emits === 'input' || known?.role === 'merge';
}

/** Whether lists of items travel along the edges of a document, those of its definitions as well. */
export function hasItems(doc: Doc): boolean {
  return doc.graph.settings?.items === true;
}

/** Whether a node executes for each element of a list if it does not say so, which it does only where lists of items travel. */
export function executesEachByDefault(catalogue: Catalogue, doc: Doc, type: string): boolean {
  if (!hasItems(doc)) return false;
  const known = catalogue.byName.get(type);
  if (known) return known.executesPer === 'item';
  const definition = definitionOf(doc, type);
  return definition?.kind !== 'graph' && (definition?.inputs?.length ?? 1) < 2;
}

/** Whether a node executes once for each element of a list. */
export function executesEach(catalogue: Catalogue, doc: Doc, node: GraphNode): boolean {
  return node.data?.each ?? executesEachByDefault(catalogue, doc, node.type);
}

/** Whether a node may send by several ports at once. Of a definition's, nobody knows. */
export function sendsSeveral(catalogue: Catalogue, node: GraphNode, ports: NodePorts): boolean {
  if (ports.outputs.filter(({ name }) => name !== ERROR_PORT).length <= 1) return false;
  const type = catalogue.byName.get(node.type);
  if (type?.sends !== 'one') return true;
  // Something leaves by the first port then as well.
  if (node.data?.always === true) return true;
  const several = type.sendsSeveralIf && node.data?.parameters?.[type.sendsSeveralIf];
  return several !== undefined && several !== '' && several !== false;
}

/** The composite's definition, for nodes of a type of kind `graph`. */
export function compositeOf(catalogue: Catalogue, doc: Doc, type: string): Definition | undefined {
  if (catalogue.byName.has(type)) return undefined;
  const definition = definitionOf(doc, type);
  return definition?.kind === 'graph' ? definition : undefined;
}

/** The title of a type: the catalogue's, or its name in words ("HttpRequest" → "HTTP request"). */
export function typeTitle(catalogue: Catalogue, type: string): string {
  return catalogue.byName.get(type)?.title ?? inWords(type);
}

const ACRONYMS = new Set(['http', 'sql', 'json', 'csv', 'xml', 'yaml', 'html', 'url', 'jwt', 'hmac', 'uuid']);

export function inWords(type: string): string {
  const words = type
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .split(/[\s_-]+/)
    .map((word) => (ACRONYMS.has(word.toLowerCase()) ? word.toUpperCase() : word.toLowerCase()));
  const text = words.join(' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const cache = new WeakMap<
  Catalogue,
  WeakMap<GraphNode, { definition: Definition | undefined; ports: NodePorts }>
>();

/** The ports of a node, in the order in which the compiler numbers them. */
export function portsOf(catalogue: Catalogue, doc: Doc, node: GraphNode): NodePorts {
  const definition = catalogue.byName.has(node.type) ? undefined : definitionOf(doc, node.type);
  let nodes = cache.get(catalogue);
  if (!nodes) cache.set(catalogue, (nodes = new WeakMap()));
  const known = nodes.get(node);
  if (known && known.definition === definition) return known.ports;
  const ports = findPorts(catalogue.byName.get(node.type), definition, node);
  nodes.set(node, { definition, ports });
  return ports;
}

function findPorts(
  type: NodeType | undefined,
  definition: Definition | undefined,
  node: GraphNode,
): NodePorts {
  const error = node.data?.onError === 'branch' ? [ERROR] : [];
  if (type) {
    const outputs = type.outputsPerCase ? [...casePorts(node), ...type.outputs] : type.outputs;
    return { inputs: type.inputs, outputs: [...outputs, ...error], known: true };
  }
  if (!definition) return error.length ? { ...UNKNOWN, outputs: error } : UNKNOWN;
  return {
    inputs: ownPorts(definition.inputs, 'in', false),
    outputs: [...ownPorts(definition.outputs, 'out', false), ...error],
    known: true,
  };
}

function casePorts(node: GraphNode): Port[] {
  const cases = node.data?.parameters?.['cases'];
  if (!Array.isArray(cases)) return [];
  return cases.map((item: unknown) => {
    const name = typeof item === 'object' && item !== null ? (item as { name?: unknown }).name : undefined;
    return { name: typeof name === 'string' ? name : '', type: 'any' };
  });
}

/** A definition without ports has one of each; a port that does not say so is required. */
function ownPorts(ports: Definition['inputs'], only: string, required: boolean): Port[] {
  if (ports === undefined || ports === null) return [{ name: only, type: 'any', required }];
  if (!Array.isArray(ports)) return [];
  return ports
    .filter((port) => typeof port?.name === 'string')
    .map((port) => ({ name: port.name, type: port.type ?? 'any', required: port.required ?? true }));
}

/** The port at which an edge begins: its handle, or the first output. */
export function sourcePort(ports: NodePorts, handle: string | null | undefined): string | undefined {
  return handle ?? ports.outputs[0]?.name;
}

/** The port at which an edge ends: its handle, or the first input. */
export function targetPort(ports: NodePorts, handle: string | null | undefined): string | undefined {
  return handle ?? ports.inputs[0]?.name;
}
