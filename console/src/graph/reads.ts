/**
 * What a graph reads of the event that a trigger gives it: a value with these fields, to begin with when nothing has come yet.
 * By the words of its expressions alone, so it may lack what is read in other ways.
 */

import { passesOn, type Catalogue } from './catalogue';
import { graphOf, indexOf, type Doc, type Graph, type GraphNode } from './model';
import { expressionsIn, literalValue, type Token } from './tokens';

/** A path to a value, and what it seems to be. */
interface Read {
  readonly path: readonly string[];
  readonly guess: unknown;
}
type Path = readonly string[];

/** An element of a list. */
const ELEMENT = '[]';
const NOTHING_KNOWN = 'example';
const OF_LISTS = new Set(
  'at concat every filter find findIndex flat flatMap forEach includes join length map reduce reverse slice some sort'.split(
    ' ',
  ),
);
/** No pattern is read deeper. */
const DEPTH_MAX = 20;

/** The event as far as expressions name its fields; undefined if none does. */
export function eventRead(catalogue: Catalogue, doc: Doc, trigger: string): unknown {
  const graph = graphOf(doc, null);
  const reader = new Reader(catalogue, graph, trigger);
  let event: unknown;
  for (const { path, guess } of graph.nodes.flatMap((node) => reader.readsOf(node)))
    if (path.length <= DEPTH_MAX && !path.includes('__proto__')) event = withRead(event, path, guess);
  return event;
}

/** The value with what is at the path; what is known of it already is more than a guess. */
function withRead(value: unknown, path: Path, guess: unknown): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return value === undefined || value === NOTHING_KNOWN ? guess : value;
  if (name === ELEMENT) {
    const [first] = Array.isArray(value) ? (value as unknown[]) : [];
    return [withRead(first, rest, guess)];
  }
  // What a list is asked for besides its elements is no field.
  if (Array.isArray(value) && value.length > 0) return value;
  const object =
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : {};
  const before = Object.hasOwn(object, name) ? object[name] : undefined;
  return { ...object, [name]: withRead(before, rest, guess) };
}

class Reader {
  private readonly index;
  private readonly labels = new Map<string, GraphNode>();

  constructor(
    private readonly catalogue: Catalogue,
    graph: Graph,
    private readonly trigger: string,
  ) {
    this.index = indexOf(graph);
    for (const node of graph.nodes) if (node.data?.label) this.labels.set(node.data.label, node);
  }

  readsOf(node: GraphNode): Read[] {
    return textsIn(node.data?.parameters).flatMap(([name, text]) =>
      expressionsIn(text).flatMap(({ tokens, start, end }) => {
        const chains = this.chains(node, text, tokens, new Set());
        const isAll = chains.length === 1 && text.trim() === `{{${text.slice(start, end)}}}`;
        // A list is what nodes take elements from.
        return chains.map(({ path, guess, isWhole }) =>
          isAll && isWhole && name === 'items' && guess === NOTHING_KNOWN
            ? { path: [...path, ELEMENT], guess }
            : { path, guess },
        );
      }),
    );
  }

  /** The parts of the event that an expression names. */
  private chains(
    node: GraphNode,
    text: string,
    tokens: readonly Token[],
    seen: ReadonlySet<string>,
  ): (Read & { isWhole: boolean })[] {
    const word = (at: number) => {
      const token = tokens[at];
      return token ? text.slice(token.start, token.end) : '';
    };
    const found: (Read & { isWhole: boolean })[] = [];
    for (let at = 0; at < tokens.length; at += 1) {
      if (at > 0 && ['.', '?.'].includes(word(at - 1))) continue;
      const base = this.base(node, word, at, seen);
      if (!base) continue;
      const { names, next } = fieldsFrom(word, base.next);
      const path = [...base.path, ...names];
      const isWhole = at === 0 && next === tokens.length;
      // A method's name is the last one, and no field.
      const method = word(next) === '(' ? path.at(-1) : undefined;
      const isList = method !== undefined ? OF_LISTS.has(method) : path.at(-1) === 'length';
      const fields = method !== undefined || isList ? path.slice(0, -1) : path;
      if (fields.length > 0)
        found.push({
          path: isList ? [...fields, ELEMENT] : fields,
          guess: isList ? NOTHING_KNOWN : guessed(word, at, next),
          isWhole,
        });
      at = next - 1;
    }
    return found;
  }

  /** Where in the event that begins which a name means, and the token after it. */
  private base(
    node: GraphNode,
    word: (at: number) => string,
    at: number,
    seen: ReadonlySet<string>,
  ): { path: Path; next: number } | undefined {
    const name = word(at);
    if (name === '$trigger') return { path: [], next: at + 1 };
    if (name === '$input') {
      const path = this.arrivesAt(node, seen);
      return path && { path, next: at + 1 };
    }
    const named =
      name === '$' && word(at + 1) === '(' && word(at + 3) === ')'
        ? this.labels.get(literalValue(word(at + 2)) ?? '')
        : name === '$nodes' && word(at + 1) === '[' && word(at + 3) === ']'
          ? this.index.nodes.get(literalValue(word(at + 2)) ?? '')
          : undefined;
    const path = named && this.leaves(named, seen);
    return path && { path, next: at + 4 };
  }

  private arrivesAt(node: GraphNode, seen: ReadonlySet<string>): Path | undefined {
    for (const { source } of this.index.incoming.get(node.id) ?? []) {
      const before = this.index.nodes.get(source);
      const path = before && this.leaves(before, seen);
      if (path) return path;
    }
    return undefined;
  }

  /** Which part of the event a node sends on. */
  private leaves(node: GraphNode, seen: ReadonlySet<string>): Path | undefined {
    if (node.id === this.trigger) return [];
    if (seen.has(node.id) || seen.size > DEPTH_MAX) return undefined;
    const further = new Set(seen).add(node.id);
    if (passesOn(this.catalogue, node.type)) return this.arrivesAt(node, further);
    const emitted = this.catalogue.byName.get(node.type)?.emitsParameter;
    const value = emitted === undefined ? undefined : node.data?.parameters?.[emitted];
    if (typeof value !== 'string') return undefined;
    const [only, ...others] = expressionsIn(value.trim());
    if (!only || others.length > 0 || only.start !== 2 || only.end !== value.trim().length - 2)
      return undefined;
    const [chain] = this.chains(node, value.trim(), only.tokens, further);
    return chain?.isWhole ? chain.path : undefined;
  }
}

/** The names of fields from a token on. */
function fieldsFrom(word: (at: number) => string, from: number): { names: string[]; next: number } {
  const names: string[] = [];
  let at = from;
  for (;;) {
    const isDotted = ['.', '?.'].includes(word(at));
    const open = isDotted && word(at + 1) === '[' ? at + 1 : at;
    if (word(open) === '[' && word(open + 2) === ']') {
      const within = word(open + 1);
      const name = /^\d+$/.test(within) ? ELEMENT : literalValue(within);
      if (name === undefined) break;
      names.push(name);
      at = open + 3;
    } else if (isDotted && /^[\p{ID_Start}_$]/u.test(word(at + 1))) {
      names.push(word(at + 1));
      at += 2;
    } else break;
  }
  return { names, next: at };
}

const NUMERIC = new Set(['>', '<', '*', '-', '/', '%']);

/** What a value seems to be by what is done with it. */
function guessed(word: (at: number) => string, from: number, next: number): unknown {
  const isCompared = ['=', '!'].includes(word(next)) && word(next + 1) === '=';
  if (isCompared) {
    const with_ = word(next + 2) === '=' ? word(next + 3) : word(next + 2);
    if (/^\d+(?:\.\d+)?$/.test(with_)) return Number(with_);
    if (with_ === 'true' || with_ === 'false') return with_ === 'true';
    return literalValue(with_) ?? NOTHING_KNOWN;
  }
  const isNumber = NUMERIC.has(word(next)) || (NUMERIC.has(word(from - 1)) && word(from - 2) !== '=');
  return isNumber ? 1 : NOTHING_KNOWN;
}

/** All texts of a node's parameters, each with the name that it stands under. */
function textsIn(parameters: unknown): [name: string, text: string][] {
  const found: [string, string][] = [];
  const open: [string, unknown][] = [['', parameters]];
  for (let next = open.pop(); next; next = open.pop()) {
    const [name, value] = next;
    if (typeof value === 'string') found.push([name, value]);
    else if (Array.isArray(value)) open.push(...value.map((each): [string, unknown] => [name, each]));
    else if (typeof value === 'object' && value !== null) open.push(...Object.entries(value));
  }
  return found.reverse();
}
