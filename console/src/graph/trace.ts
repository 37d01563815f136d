/** A run on its graph: the frames of its trace, a cursor over them, and what each node shows at the cursor. */
import { indexOf, type Graph, type GraphEdge } from './model';

/** An entry as the API's traces have it. */
export interface TraceEntry {
  readonly nodeId: string;
  /** Which iterations it was in, such as `3` or `3.0`; empty outside of loops. */
  readonly path: string;
  readonly startedAtMs: number;
  readonly durationUs: number;
  readonly fuel: number;
  readonly port?: string | null;
  readonly output?: unknown;
  readonly error?: { readonly message?: string; readonly code?: string } | null;
  readonly pinned: boolean;
  /** Of one that has not ended. */
  readonly state?: 'running' | 'waiting' | 'ended';
}

export type NodeStatus = 'waiting' | 'running' | 'ok' | 'failed' | 'pinned';

/** What a node shows. */
export interface NodeRun {
  readonly status: NodeStatus;
  /** How often it was executed. */
  readonly count: number;
  /** Microseconds, of all executions together. */
  readonly durationUs: number;
  readonly fuel: number;
  /** Executions that failed. */
  readonly failures: number;
  /** How often each port was taken. */
  readonly ports: Readonly<Record<string, number>>;
  /** Places in the trace of its entries. */
  readonly entries: readonly number[];
}

/** What the canvas and the outline show of a run. Nodes are named by their whole path through composites. */
export interface RunOverlay {
  readonly nodes: ReadonlyMap<string, NodeRun>;
  /** The node at the cursor. */
  readonly current?: string;
  /** Whether it is still under way. */
  readonly live: boolean;
  /** Changes with every run: its path is replayed along the edges once. */
  readonly id: string;
}

export interface Trace {
  readonly entries: readonly TraceEntry[];
  /** When it was over, in milliseconds since it began. */
  readonly endMs: number;
}

export function makeTrace(entries: readonly TraceEntry[]): Trace {
  const end = (entry: TraceEntry) => entry.startedAtMs + entry.durationUs / 1_000;
  return { entries, endMs: entries.reduce((latest, entry) => Math.max(latest, end(entry)), 0) };
}

/** The run as it was once the first `cursor` entries had ended; all of it without a cursor. */
export function overlayOf(
  trace: Trace,
  id: string,
  options: { cursor?: number; live?: boolean } = {},
): RunOverlay {
  const shown = Math.min(options.cursor ?? trace.entries.length, trace.entries.length);
  const nodes = new Map<string, MutableRun>();
  for (let place = 0; place < shown; place += 1) {
    const entry = trace.entries[place];
    if (entry) addEntry(nodes, entry, place);
  }
  const current = options.cursor === undefined ? undefined : trace.entries[shown - 1]?.nodeId;
  return { nodes, live: options.live ?? false, id, ...(current === undefined ? {} : { current }) };
}

interface MutableRun {
  status: NodeStatus;
  count: number;
  durationUs: number;
  fuel: number;
  failures: number;
  ports: Record<string, number>;
  entries: number[];
}

function addEntry(nodes: Map<string, MutableRun>, entry: TraceEntry, place: number): void {
  let run = nodes.get(entry.nodeId);
  if (!run) {
    run = { status: 'ok', count: 0, durationUs: 0, fuel: 0, failures: 0, ports: {}, entries: [] };
    nodes.set(entry.nodeId, run);
  }
  const failed = entry.error !== undefined && entry.error !== null;
  run.count += 1;
  run.durationUs += entry.durationUs;
  run.fuel += entry.fuel;
  run.failures += failed ? 1 : 0;
  run.entries.push(place);
  const isUnderWay = entry.state === 'running' || entry.state === 'waiting';
  run.status = isUnderWay ? entry.state : run.failures ? 'failed' : entry.pinned ? 'pinned' : 'ok';
  const port = entry.port;
  if (typeof port === 'string') run.ports[port] = (run.ports[port] ?? 0) + 1;
}

/** A node's entry in an overlay: `prefix` is the path of composites that are open, such as `checkout/`. */
export function runOf(
  run: RunOverlay | null | undefined,
  prefix: string,
  nodeId: string,
): NodeRun | undefined {
  return run?.nodes.get(prefix + nodeId);
}

/** How often values went along an edge; 0 if it was dead. */
export function takenTimes(
  run: RunOverlay,
  prefix: string,
  edge: GraphEdge,
  firstPort: string | undefined,
): number {
  const source = runOf(run, prefix, edge.source);
  const port = edge.sourceHandle ?? firstPort;
  // A loop leaves by `done`, once; into its body values go as often as the node there was executed.
  if (port === 'item' && source?.ports['item'] === undefined)
    return runOf(run, prefix, edge.target)?.count ?? 0;
  if (!source) return 0;
  if (port !== undefined && source.ports[port] !== undefined) return source.ports[port];
  // Traces of nodes that name no port have left by the first one.
  const named = Object.keys(source.ports).length > 0;
  const hasEnded = source.status !== 'waiting' && source.status !== 'running';
  return !named && hasEnded && port === firstPort && source.failures < source.count ? source.count : 0;
}

/** The place of the cursor one step on or back; steps over composites' inner entries if told so. */
export function step(trace: Trace, cursor: number, by: 1 | -1, within = ''): number {
  let at = cursor + by;
  while (at > 0 && at < trace.entries.length && !isWithin(trace.entries[at - 1], within)) at += by;
  return Math.max(0, Math.min(trace.entries.length, at));
}

function isWithin(entry: TraceEntry | undefined, prefix: string): boolean {
  return entry !== undefined && entry.nodeId.startsWith(prefix);
}

/** Edges in the order in which values went along them, for the replay; each with its share of the run, 0 to 1. */
export interface Hop {
  readonly edge: GraphEdge;
  readonly at: number;
}

/** Most hops that are shown; more would only flicker. */
const HOPS_MAX = 200;

export function hopsOf(
  run: RunOverlay,
  prefix: string,
  graph: Graph,
  firstPort: (nodeId: string) => string | undefined,
): Hop[] {
  const { outgoing } = indexOf(graph);
  const byStart = [...run.nodes]
    .filter(([id]) => id.startsWith(prefix) && !id.slice(prefix.length).includes('/'))
    .sort(([, a], [, b]) => (a.entries[0] ?? 0) - (b.entries[0] ?? 0));
  const hops = byStart.flatMap(([id], rank) => {
    const edges = outgoing.get(id.slice(prefix.length)) ?? [];
    const taken = edges.filter((edge) => takenTimes(run, prefix, edge, firstPort(edge.source)) > 0);
    return taken.map((edge): Hop => ({ edge, at: rank / byStart.length }));
  });
  return hops.slice(0, HOPS_MAX);
}
