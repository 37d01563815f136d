/**
 * What the expressions of a node can name, with sample data: by rank a pin, the last test, the opened run, a tap event,
 * the catalogue's example. Names come from graph/scope.ts, which has the validator's rule. Pure.
 */

import {
  executesEach,
  hasItems,
  isTrigger,
  portsOf,
  repeats,
  typeTitle,
  type Catalogue,
} from '../graph/catalogue';
import { flowOf } from '../graph/flow';
import { graphOf, indexOf, type DefinitionName, type Doc, type GraphNode } from '../graph/model';
import { namesInScope } from '../graph/scope';
import { inputOf, outputsBefore, type Arrived } from '../run/inputs';
import type { RunRecord } from '../run/record';
import { best, NO_SURROUNDINGS, type Sample, type SampleKind, type Surroundings } from './sample';
import { isObject } from './values';

/** A run that samples come from. */
export interface SourceRun {
  kind: 'test' | 'run';
  /** For people: "the last test", "the run of 14:02". */
  from: string;
  record: RunRecord;
  event?: unknown;
  /** The trigger that the event came to. */
  triggerId?: string | undefined;
}

/** Where samples come from. */
export interface Sources {
  /** The last test, and the run that is opened. */
  runs: readonly SourceRun[];
  /** Events that came to a trigger, the newest first. */
  taps: readonly { triggerId: string | undefined; from: string; value: unknown }[];
  variables: readonly string[];
  secrets: readonly string[];
  /** What comes before the others, but for pins. */
  preferred?: SampleKind | undefined;
}

export const NO_SOURCES: Sources = { runs: [], taps: [], variables: [], secrets: [] };

interface Place {
  catalogue: Catalogue;
  doc: Doc;
  definition: DefinitionName;
  /** Path of the composites that lead here, such as `checkout/`. */
  prefix: string;
  sources: Sources;
  /** How many loops have been gone out of. */
  loops?: number;
}

/** What a node's expressions see. */
export function surroundingsOf(place: Place, nodeId: string): Surroundings {
  const { catalogue, doc, definition, sources } = place;
  const graph = graphOf(doc, definition);
  const node = indexOf(graph).nodes.get(nodeId);
  if (!node) return { ...NO_SURROUNDINGS, variables: sources.variables, secrets: sources.secrets };
  const names = namesInScope(catalogue, doc, definition, nodeId);
  const input = inputSample(place, node);
  // Where lists of items travel, it sees one of them at a time.
  const isOne = hasItems(doc) && executesEach(catalogue, doc, node);
  return {
    input: isOne && Array.isArray(input?.value) ? elementOf(input) : input,
    trigger: triggerSample(place),
    item: names.item ? itemSample(place, node, input) : undefined,
    hasItem: names.item,
    hasError: names.error,
    upstream: names.nodes.map(({ id, name, type, reference }) => {
      const other = indexOf(graph).nodes.get(id);
      return { id, name, type, reference, sample: other && outputSample(place, other) };
    }),
    variables: sources.variables,
    secrets: sources.secrets,
    definitionOnly: false,
  };
}

/** What a node emits, by the port if it has several. */
export function outputSample(place: Place, node: GraphNode, port?: string): Sample | undefined {
  const { catalogue, sources, prefix } = place;
  const first = portsOf(catalogue, place.doc, node).outputs[0]?.name;
  const pin = node.data?.pin;
  const isPin = pin && (port === undefined || (pin.port ?? first) === port);
  const candidates: (Sample | undefined)[] = [
    isPin
      ? { value: pin.value, kind: 'pin', from: pin.from ? `the pin (${pin.from})` : 'the pin' }
      : undefined,
    ...sources.runs.map((run): Sample | undefined => {
      const { kind, from, record } = run;
      const found =
        outputsBefore(record.executions, undefined, prefix)(node.id, port) ?? eventAt(place, run, node);
      return found && { value: found.value, kind, from };
    }),
    isTrigger(catalogue, node.type) ? tapSample(place, node.id) : undefined,
    port === 'item' ? firstElement(place, node) : undefined,
    exampleSample(catalogue, node, port ?? first),
  ];
  return best(candidates, sources.preferred);
}

/** What a trigger emitted in a run of which only the event is known. */
function eventAt(
  { catalogue, prefix }: Place,
  run: SourceRun,
  node: GraphNode,
): { value: unknown } | undefined {
  const { record, event, triggerId } = run;
  if (event === undefined || record.executions.length > 0 || prefix !== '') return undefined;
  return isTrigger(catalogue, node.type) && (triggerId ?? node.id) === node.id ? { value: event } : undefined;
}

function tapSample({ sources }: Place, triggerId: string): Sample | undefined {
  const tap = sources.taps.find((it) => it.triggerId === triggerId || it.triggerId === undefined);
  return tap && { value: tap.value, kind: 'tap', from: tap.from };
}

function exampleSample(catalogue: Catalogue, node: GraphNode, port: string | undefined): Sample | undefined {
  const from = `the example of ${typeTitle(catalogue, node.type)}`;
  for (const { output } of catalogue.byName.get(node.type)?.examples ?? []) {
    if (!isObject(output)) continue;
    const value = port !== undefined && Object.hasOwn(output, port) ? output[port] : undefined;
    if (value !== undefined) return { value, kind: 'example', from };
  }
  return undefined;
}

/** What arrives: in a run that had it, else put together of what the nodes before emit. */
export function inputSample(place: Place, node: GraphNode): Sample | undefined {
  const { catalogue, doc, definition } = place;
  const used: Sample[] = [];
  const graph = graphOf(doc, definition);
  const arrived = inputOf(catalogue, doc, definition, node, (id, port) => {
    const source = indexOf(graph).nodes.get(id);
    const sample = source && outputSample(place, source, port);
    if (sample) used.push(sample);
    return sample && { value: sample.value };
  });
  if (!arrived.known) return undefined;
  // The worst of what it is made of says how far to trust it.
  const worst = used.reduce<Sample | undefined>(
    (found, it) => (found ? (best([found, it], place.sources.preferred) === found ? it : found) : it),
    undefined,
  );
  return worst && { value: arrived.value, kind: worst.kind, from: worst.from };
}

/** The input of one execution of a run. */
export function arrivedAt(place: Omit<Place, 'sources'>, record: RunRecord, execution: number): Arrived {
  const { catalogue, doc, definition, prefix } = place;
  const found = record.executions[execution];
  const node = found && indexOf(graphOf(doc, definition)).nodes.get(found.nodeId.slice(prefix.length));
  if (!found || !node || !found.nodeId.startsWith(prefix)) return { known: false, value: undefined };
  return inputOf(catalogue, doc, definition, node, outputsBefore(record.executions, found, prefix));
}

function triggerSample(place: Place): Sample | undefined {
  const { catalogue, doc, sources } = place;
  const triggers = doc.graph.nodes.filter((node) => isTrigger(catalogue, node.type));
  const events = sources.runs.map(({ kind, from, event }): Sample | undefined =>
    event === undefined ? undefined : { value: event, kind, from },
  );
  return best(
    [...events, ...triggers.map((node) => outputSample({ ...place, definition: null, prefix: '' }, node))],
    sources.preferred,
  );
}

/** The element: of the list around, or of the input where the node has `each`. */
function itemSample(place: Place, node: GraphNode, input: Sample | undefined): Sample | undefined {
  const { catalogue, doc, definition } = place;
  if (executesEach(catalogue, doc, node)) return elementOf(input);
  const graph = graphOf(doc, definition);
  const loopId = repeats(catalogue, node.type) ? node.id : flowOf(catalogue, doc, graph).loopOf.get(node.id);
  const loop = loopId === undefined ? undefined : indexOf(graph).nodes.get(loopId);
  if (!loop) return undefined;
  if (repeats(catalogue, loop.type)) return inputSample(place, loop);
  return (
    outputSample(withoutExamples(place), loop, 'item') ??
    firstElement(place, loop) ??
    elementOf(inputSample(place, loop))
  );
}

function elementOf(sample: Sample | undefined): Sample | undefined {
  const [first] = Array.isArray(sample?.value) ? (sample.value as unknown[]) : [];
  return first === undefined || !sample ? undefined : { ...sample, value: first };
}

/** Loops around a loop that are looked at; drafts may go in circles. */
const LOOPS_MAX = 10;
const PATH = /^\{\{\s*\$(input|item)((?:\.[\p{ID_Continue}$]+)*)\s*\}\}$/u;

/** The first element of a loop's list, where that is a field of what arrives: traces tell only what leaves by `done`. */
function firstElement(place: Place, loop: GraphNode): Sample | undefined {
  const { loops = 0 } = place;
  const items = loop.data?.parameters?.['items'];
  const found = typeof items === 'string' ? PATH.exec(items.trim()) : null;
  if (!found || loops >= LOOPS_MAX) return undefined;
  const around = { ...place, loops: loops + 1 };
  const input = inputSample(around, loop);
  const list = found[1] === 'item' ? itemSample(around, loop, input) : input;
  const fields = (found[2] ?? '').split('.').slice(1);
  const at = (value: unknown, name: string) =>
    isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return list && elementOf({ ...list, value: fields.reduce(at, list.value) });
}

function withoutExamples(place: Place): Place {
  return { ...place, catalogue: { ...place.catalogue, byName: new Map() } };
}
