/**
 * The graph of a pattern, as the API has it, and immutable.
 *
 * A document is what the API calls `graphData` and `nodeDefinitions`. It is kept in exactly that form: reading and
 * writing are the identity, and fields that are not known here survive every edit. An edit shares all that it does not
 * change with the document before it, so comparing by `===` tells what changed, and history costs little.
 *
 * How the parts fit together, for whoever composes them:
 *
 *     const catalogue = makeCatalogue(nodeTypes)                  // graph/catalogue.ts, from GET /api/nodes
 *     const store = new DocumentStore(readDocument(graphData, nodeDefinitions))   // graph/document.ts
 *     const session = new Session(store, catalogue)               // graph/session.ts: selection, level, commands
 *
 *     <Editor {session} {readOnly} {problems} {run} onopen={(nodeId) => …} />     // canvas/index.ts
 *     <Outline {session} {readOnly} {problems} {run} onopen={(nodeId) => …} />    // outline/index.ts
 *
 * Everything observable follows Svelte's store contract (`subscribe`), without importing Svelte. All changes are
 * `Edit`s (edit.ts): plain JSON, sent by `store.dispatch(edit)`. The inspector sets a parameter by
 * `store.dispatch({kind: "parameter", definition, node, name, value})` and a label by `{kind: "rename", …}`.
 */
import { Recent } from './recent';

/** A document: the pattern's graph and its own node types. */
export interface Doc {
  readonly graph: Graph;
  readonly definitions: Readonly<Record<string, Definition>>;
}

/** A graph, as `graphData` has it. `notes` are the editor's; the compiler leaves them alone. */
export interface Graph {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  readonly settings?: Settings;
  readonly notes?: readonly Note[];
  readonly [field: string]: unknown;
}

export interface Settings {
  readonly timeoutMs?: number;
  /** In MiB. */
  readonly memoryMb?: number;
  readonly computeSeconds?: number;
  readonly maxEffects?: number;
  readonly retry?: Retry;
  readonly errorPatternId?: string;
  readonly expressions?: 'strict' | 'lenient';
  /** Whether lists of items travel along the edges, and nodes execute for each of them. */
  readonly items?: boolean;
  readonly [field: string]: unknown;
}

export interface Retry {
  readonly maxAttempts?: number;
  readonly backoffMs?: number;
  readonly factor?: number;
  readonly [field: string]: unknown;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface GraphNode {
  readonly id: string;
  readonly type: string;
  /** The upper left corner, in pixels at zoom 1. Absent in graphs that nobody has drawn yet. */
  readonly position?: Point;
  readonly data?: NodeData;
  readonly [field: string]: unknown;
}

export interface NodeData {
  readonly label?: string;
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly onError?: 'fail' | 'continue' | 'branch';
  readonly retry?: Retry;
  readonly timeoutMs?: number;
  readonly each?: boolean;
  /** Of a list that comes, only the first item counts. */
  readonly once?: boolean;
  /** One empty item leaves rather than none. */
  readonly always?: boolean;
  readonly concurrency?: number;
  readonly disabled?: boolean;
  readonly notes?: string;
  /** What leaves the node in test runs, instead of executing it. */
  readonly pin?: Pin;
  readonly [field: string]: unknown;
}

export interface Pin {
  readonly value: unknown;
  /** The output port; the first one if there is none. */
  readonly port?: string;
  /** Where the value came from, for people: "run of 14:02". */
  readonly from?: string;
}

export interface GraphEdge {
  readonly id?: string;
  readonly source: string;
  readonly sourceHandle?: string | null;
  readonly target: string;
  readonly targetHandle?: string | null;
  readonly [field: string]: unknown;
}

/** A text on the canvas. */
export interface Note {
  readonly id: string;
  readonly text: string;
  readonly position: Point;
  readonly width: number;
  readonly height: number;
  readonly color?: string;
  readonly [field: string]: unknown;
}

/** A node type of the pattern's own, as `nodeDefinitions` has it. */
export interface Definition {
  readonly kind: 'expression' | 'javascript' | 'graph' | 'component' | (string & {});
  readonly inputs?: readonly DefinitionPort[];
  readonly outputs?: readonly DefinitionPort[];
  readonly graphData?: Graph;
  readonly code?: string;
  readonly outputValues?: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

export interface DefinitionPort {
  readonly name: string;
  readonly type?: string;
  readonly required?: boolean;
  readonly [field: string]: unknown;
}

/**
 * Which graph of a document is meant: its own (null), or the inner graph of a definition by its name.
 * All edits name it.
 */
export type DefinitionName = string | null;

/** What the validator says of a graph; the fields are those of the API's diagnostics. */
export interface Problem {
  readonly severity: 'error' | 'warning';
  readonly code: string;
  /** The definition that it is in; node and parameter are then those of its graph. */
  readonly definition?: string | null;
  readonly nodeId?: string | null;
  readonly parameter?: string;
  readonly message: string;
  readonly help?: string;
}

const EMPTY_GRAPH: Graph = { nodes: [], edges: [] };

export const EMPTY_DOC: Doc = { graph: EMPTY_GRAPH, definitions: {} };

/** The graph that a name means; an empty one if the definition is not there or has none. */
export function graphOf(doc: Doc, definition: DefinitionName): Graph {
  if (definition === null) return doc.graph;
  const found = definitionOf(doc, definition);
  return found?.kind === 'graph' && found.graphData ? found.graphData : EMPTY_GRAPH;
}

/** A definition by its name. */
export function definitionOf(doc: Doc, name: string): Definition | undefined {
  return Object.hasOwn(doc.definitions, name) ? doc.definitions[name] : undefined;
}

/** The same document with another graph in that place. */
export function withGraph(doc: Doc, definition: DefinitionName, graph: Graph): Doc {
  if (definition === null) return graph === doc.graph ? doc : { ...doc, graph };
  const found = definitionOf(doc, definition);
  if (found?.kind !== 'graph' || found.graphData === graph) return doc;
  return { ...doc, definitions: { ...doc.definitions, [definition]: { ...found, graphData: graph } } };
}

/** Names of all graphs of a document: its own, and those of its composites. */
export function graphNames(doc: Doc): DefinitionName[] {
  const composites = Object.keys(doc.definitions).filter((name) => doc.definitions[name]?.kind === 'graph');
  return [null, ...composites];
}

/** Look-ups in one graph, made once for each. */
export interface GraphIndex {
  readonly nodes: ReadonlyMap<string, GraphNode>;
  readonly edges: ReadonlyMap<string, GraphEdge>;
  readonly notes: ReadonlyMap<string, Note>;
  /** Edges that enter a node, in their order. */
  readonly incoming: ReadonlyMap<string, readonly GraphEdge[]>;
  readonly outgoing: ReadonlyMap<string, readonly GraphEdge[]>;
}

/** Graphs whose indices are kept: those that are open, with the versions before them that are compared with them. */
const INDICES_MAX = 32;
const indices = new Recent<Graph, GraphIndex>(INDICES_MAX);
/** Most edits change nodes only: the graphs before and after share their edges. */
const edgeIndices = new Recent<readonly GraphEdge[], Omit<GraphIndex, 'nodes' | 'notes'>>(INDICES_MAX);

export function indexOf(graph: Graph): GraphIndex {
  const known = indices.get(graph);
  if (known) return known;
  const index: GraphIndex = {
    nodes: new Map(graph.nodes.map((node) => [node.id, node])),
    notes: new Map((graph.notes ?? []).map((note) => [note.id, note])),
    ...indexEdges(graph.edges),
  };
  indices.set(graph, index);
  return index;
}

function indexEdges(list: readonly GraphEdge[]): Omit<GraphIndex, 'nodes' | 'notes'> {
  const known = edgeIndices.get(list);
  if (known) return known;
  const incoming = new Map<string, GraphEdge[]>();
  const outgoing = new Map<string, GraphEdge[]>();
  const add = (map: Map<string, GraphEdge[]>, key: string, edge: GraphEdge) => {
    const others = map.get(key);
    if (others) others.push(edge);
    else map.set(key, [edge]);
  };
  for (const edge of list) {
    add(incoming, edge.target, edge);
    add(outgoing, edge.source, edge);
  }
  const index = { edges: new Map(list.map((edge) => [edgeKey(edge), edge])), incoming, outgoing };
  edgeIndices.set(list, index);
  return index;
}

/** What an edge is known by: its id, or its ends, since the API does not ask for ids. */
export function edgeKey(edge: GraphEdge): string {
  return edge.id ?? `${edge.source} ${edge.sourceHandle ?? ''} ${edge.target} ${edge.targetHandle ?? ''}`;
}

/** How a node is called where people read it. */
export function nodeName(node: GraphNode): string {
  return node.data?.label || node.id;
}

export function parametersOf(node: GraphNode): Readonly<Record<string, unknown>> {
  return node.data?.parameters ?? {};
}
