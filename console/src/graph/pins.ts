/** Pins of a document, as test runs take them. */
import { graphOf, type DefinitionName, type Doc, type Pin } from './model';

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

/** Whether anything is pinned: what is deployed leaves pins out, which should be said. */
export function hasPins(doc: Doc): boolean {
  return Object.keys(pinnedNodes(doc)).length > 0;
}
