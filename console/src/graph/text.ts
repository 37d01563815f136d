/**
 * The JSON of requests that have a document in them. Documents share what an edit leaves alone, so nodes and edges that were written
 * once are not written again: of a large graph, a request for each key costs no more than what the key has changed.
 */

/** The texts of nodes, edges, notes and definitions; not of whole graphs, of which the history has one for each edit. */
const written = new WeakMap<object, string>();

/** The text of a request's body, as `JSON.stringify` gives it. */
export function bodyText(body: object): string {
  return fields(body, (name, value) => {
    if (name === 'graphData') return graphText(value);
    return name === 'nodeDefinitions' && isObject(value) ? fields(value, definitionText) : text(value);
  });
}

function graphText(graph: unknown): string | undefined {
  if (!isObject(graph)) return text(graph);
  return fields(graph, (_, value) => (Array.isArray(value) ? list(value) : text(value)));
}

function definitionText(_: string, definition: unknown): string | undefined {
  if (!isObject(definition)) return text(definition);
  if (!('graphData' in definition)) return once(definition);
  return fields(definition, (name, value) => (name === 'graphData' ? graphText(value) : text(value)));
}

const list = (items: readonly unknown[]): string =>
  `[${items.map((item) => (isObject(item) ? once(item) : (text(item) ?? 'null'))).join(',')}]`;

function once(value: object): string {
  let known = written.get(value);
  if (known === undefined) written.set(value, (known = JSON.stringify(value)));
  return known;
}

function fields(object: object, of: (name: string, value: unknown) => string | undefined): string {
  const all = Object.entries(object).flatMap(([name, value]) => {
    const told = of(name, value);
    // What is undefined is not there.
    return told === undefined ? [] : [`${JSON.stringify(name)}:${told}`];
  });
  return `{${all.join(',')}}`;
}

const text = (value: unknown): string | undefined => JSON.stringify(value) as string | undefined;

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
