/** What arrived at a node, from what left the nodes before it: values travel along edges unchanged. */

import { ERROR_PORT, hasItems, portsOf, sourcePort, targetPort, type Catalogue } from '../graph/catalogue';
import { graphOf, indexOf, type DefinitionName, type Doc, type GraphNode } from '../graph/model';
import type { Execution } from './record';

export interface Arrived {
  /** Whether a value is known at all. */
  known: boolean;
  value: unknown;
}

/**
 * The input of an execution: the newest output of each node before it, in the same iteration or one around it. As the
 * compiler has it: an object by port when several ports are wired, an array when several values end at one port. Where lists
 * of items travel, that is one list of all items, but for a Merge. With `once`, a list ends after its first item.
 */
export function inputOf(
  catalogue: Catalogue,
  doc: Doc,
  definition: DefinitionName,
  node: GraphNode,
  outputs: (nodeId: string, port: string | undefined) => { value: unknown } | undefined,
): Arrived {
  const graph = graphOf(doc, definition);
  const { nodes, incoming } = indexOf(graph);
  const ports = portsOf(catalogue, doc, node);
  const edges = (incoming.get(node.id) ?? []).filter(
    (edge) => targetPort(ports, edge.targetHandle) !== 'next',
  );
  const byPort = new Map<string, unknown[]>();
  for (const edge of edges) {
    const source = nodes.get(edge.source);
    const port = targetPort(ports, edge.targetHandle) ?? 'in';
    const values = byPort.get(port) ?? [];
    byPort.set(port, values);
    const from = source && sourcePort(portsOf(catalogue, doc, source), edge.sourceHandle);
    // With `continue` the error leaves by the first port.
    const continues = source?.data?.onError === 'continue' && outputs(source.id, ERROR_PORT);
    const found = source && (continues || outputs(source.id, from));
    if (found) values.push(found.value);
  }
  const filled = [...byPort].filter(([, values]) => values.length > 0);
  if (filled.length === 0) return { known: false, value: undefined };
  const joined = filled.map(([port, values]) => {
    const value = valueOf(values, hasItems(doc), catalogue.byName.get(node.type)?.role === 'merge');
    const isCut = node.data?.once === true && Array.isArray(value);
    return [port, isCut ? (value as unknown[]).slice(0, 1) : value] as const;
  });
  if (byPort.size === 1) return { known: true, value: joined[0]?.[1] };
  return { known: true, value: Object.fromEntries(joined) };
}

/** What the values are that have come by one port. */
function valueOf(values: readonly unknown[], areItems: boolean, isMerge: boolean): unknown {
  if (!areItems) return values.length === 1 ? values[0] : values;
  const lists = values.map((value) => (Array.isArray(value) ? (value as unknown[]) : [value]));
  return isMerge ? lists : lists.flat(1);
}

/** Outputs as an execution saw them: what had ended before it began, in its iteration or around it. */
export function outputsBefore(
  executions: readonly Execution[],
  of: Pick<Execution, 'path' | 'startedAtMs'> | undefined,
  prefix: string,
): (nodeId: string, port: string | undefined) => { value: unknown } | undefined {
  return (nodeId, port) => {
    const found = executions.findLast(
      (it) =>
        it.nodeId === prefix + nodeId &&
        it.state === 'ended' &&
        (of === undefined || (isAround(it.path, of.path) && it.startedAtMs <= of.startedAtMs)),
    );
    if (found?.error) return port === ERROR_PORT ? { value: { error: found.error } } : undefined;
    if (!found || found.output === undefined) return undefined;
    if (port !== undefined && typeof found.port === 'string' && found.port !== port) return undefined;
    return { value: found.output };
  };
}

/** Whether an iteration is another one or around it: `orders[1]` is around `orders[1].lines[0]`. */
export function isAround(outer: string, inner: string): boolean {
  return outer === '' || inner === outer || inner.startsWith(`${outer}.`);
}
