/** Pins of a document, as test runs take them. */
import { counted } from './describe';
import type { Edit } from './edit';
import { graphNames, graphOf, indexOf, type DefinitionName, type Doc, type Pin } from './model';

/** Composites within each other; deeper the compiler refuses them. */
const DEPTH_MAX = 32;
/** Pins that are sent at most: a composite that is used often has its pins as often. */
const PINS_MAX = 5_000;

/** `pinnedNodes` of a test run: by the whole path of each node, with composites as often as they are used. */
export function pinnedNodes(doc: Doc): Record<string, unknown> {
  const pins: [string, unknown][] = [];
  collect(doc, null, '', 0, pins);
  return Object.fromEntries(pins);
}

function collect(
  doc: Doc,
  definition: DefinitionName,
  prefix: string,
  depth: number,
  pins: [string, unknown][],
): void {
  for (const node of graphOf(doc, definition).nodes) {
    if (pins.length >= PINS_MAX) return;
    const pin = node.data?.pin;
    if (pin) pins.push([prefix + node.id, writtenPin(pin)]);
    else if (
      depth < DEPTH_MAX &&
      doc.definitions[node.type]?.kind === 'graph' &&
      Object.hasOwn(doc.definitions, node.type)
    ) {
      collect(doc, node.type, `${prefix}${node.id}/`, depth + 1, pins);
    }
  }
}

/** A pin as test runs take it: with its port if it has one, or if the value alone could be taken for that form. */
export function writtenPin(pin: Pin): unknown {
  const { value, port } = pin;
  const looksLikePin =
    typeof value === 'object' && value !== null && (value as Record<string, unknown>)['$pin'] === true;
  return port !== undefined || looksLikePin
    ? { $pin: true, value, ...(port === undefined ? {} : { port }) }
    : value;
}

/** A pin in the form that test runs take. */
export function readPin(written: unknown): Pin {
  if (typeof written !== 'object' || written === null) return { value: written };
  const { $pin, value, port } = written as Record<string, unknown>;
  if ($pin !== true) return { value: written };
  return typeof port === 'string' ? { value, port } : { value };
}

/** What a node gave in a run, for its pin. */
export interface GivenPin {
  readonly definition: DefinitionName;
  readonly node: string;
  readonly pin: Pin;
}

/** Pins nodes to what they gave, as one step; those that are pinned already stay as they are. */
export function pinEdit(doc: Doc, given: readonly GivenPin[]): Edit | undefined {
  const fresh = given.filter(({ definition, node }) => {
    const found = indexOf(graphOf(doc, definition)).nodes.get(node);
    return found !== undefined && found.data?.pin === undefined;
  });
  return batch(
    fresh.map(({ definition, node, pin }) => ({
      kind: 'data',
      definition,
      nodes: [node],
      field: 'pin',
      value: pin,
    })),
    `Pin ${nodesText(fresh.length)}`,
  );
}

/** Removes all pins, also those inside composites. */
export function unpinAllEdit(doc: Doc): Edit | undefined {
  const graphs = graphNames(doc).map((definition) => ({
    definition,
    nodes: graphOf(doc, definition)
      .nodes.filter((node) => node.data?.pin)
      .map((node) => node.id),
  }));
  const pinned = graphs.filter(({ nodes }) => nodes.length > 0);
  const count = pinned.reduce((sum, { nodes }) => sum + nodes.length, 0);
  return batch(
    pinned.map(({ definition, nodes }) => ({ kind: 'data', definition, nodes, field: 'pin' })),
    `Unpin ${nodesText(count)}`,
  );
}

const nodesText = (count: number): string => counted(count, 0, 0);

function batch(edits: readonly Edit[], title: string): Edit | undefined {
  return edits.length > 0 ? { kind: 'batch', title, edits } : undefined;
}

/** Whether anything is pinned, also in composites that no node uses. */
export function hasPins(doc: Doc): boolean {
  return graphNames(doc).some((name) =>
    graphOf(doc, name).nodes.some((node) => node.data?.pin !== undefined),
  );
}
