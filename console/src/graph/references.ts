/** References to nodes in expressions: where they are, and what they become when a node gets another name. */
import { expressionsIn, literalValue, quoted, type Token } from './tokens';

/** A reference: by label as in `$("Label")`, or by id as in `$nodes["id"]`. */
export interface Reference {
  readonly by: 'label' | 'id';
  readonly name: string;
  /** What a new name replaces, in UTF-16 units of the text. */
  readonly start: number;
  readonly end: number;
  /** `.name` after a dot, which a new name may turn into `["name"]`. */
  readonly dotted: boolean;
}

/** The references in a parameter's text. */
export function referencesIn(text: string): Reference[] {
  if (!text.includes('{{') || !text.includes('$')) return [];
  return expressionsIn(text).flatMap((piece) => referencesOf(text, piece.tokens));
}

function referencesOf(text: string, tokens: readonly Token[]): Reference[] {
  const read = (place: number): string => {
    const token = tokens[place];
    return token ? text.slice(token.start, token.end) : '';
  };
  const found: Reference[] = [];
  tokens.forEach((token, place) => {
    if (token.kind !== 'word') return;
    const word = read(place);
    const isMember = ['.', '?.'].includes(read(place - 1));
    // `$item(0).$node["Label"]` is n8n's.
    if (isMember && !(word === '$node' && read(place - 2) === ')')) return;
    const reference =
      word === '$' || word === '$items'
        ? called(tokens, read, place, word)
        : word === '$node'
          ? member(tokens, read, place, 'label')
          : word === '$nodes'
            ? member(tokens, read, place, 'id')
            : undefined;
    if (reference) found.push(reference);
  });
  return found;
}

type Read = (place: number) => string;

/** `$("Label")`, also with parentheses around the text. */
function called(tokens: readonly Token[], read: Read, place: number, word: string): Reference | undefined {
  let at = place + 1;
  if (read(at) !== '(') return undefined;
  while (read(at) === '(') at += 1;
  const token = tokens[at];
  const name = token && literalValue(read(at));
  const after = read(at + 1);
  if (!token || name === undefined || (after !== ')' && !(after === ',' && word === '$items')))
    return undefined;
  return { by: 'label', name, start: token.start, end: token.end, dotted: false };
}

/** `$nodes["id"]` and `$nodes.id`. */
function member(
  tokens: readonly Token[],
  read: Read,
  place: number,
  by: 'label' | 'id',
): Reference | undefined {
  let at = place + 1;
  if (read(at) === '?.' && read(at + 1) === '[') at += 1;
  const token = tokens[at + 1];
  if (!token) return undefined;
  if (read(at) === '[') {
    const name = literalValue(read(at + 1));
    if (name === undefined || read(at + 2) !== ']') return undefined;
    return { by, name, start: token.start, end: token.end, dotted: false };
  }
  const dot = tokens[at];
  if ((read(at) !== '.' && read(at) !== '?.') || !dot || token.kind !== 'word') return undefined;
  return { by, name: read(at + 1), start: dot.start, end: token.end, dotted: true };
}

const NAME = /^[A-Za-z_$][A-Za-z0-9_$]*$/;

/** The text with references renamed; `rename` gives the new name, or undefined to leave it. */
export function renameIn(text: string, rename: (reference: Reference) => string | undefined): string {
  let result = '';
  let at = 0;
  for (const reference of referencesIn(text)) {
    const name = rename(reference);
    if (name === undefined || name === reference.name) continue;
    result += text.slice(at, reference.start) + written(text, reference, name);
    at = reference.end;
  }
  return at === 0 ? text : result + text.slice(at);
}

function written(text: string, reference: Reference, name: string): string {
  const now = text.slice(reference.start, reference.end);
  if (!reference.dotted) return quoted(name, now.charAt(0));
  const dot = now.startsWith('?.') ? '?.' : '.';
  if (NAME.test(name)) return dot + name;
  return `${dot === '?.' ? '?.' : ''}[${quoted(name, '"')}]`;
}

/** The value with every text in it mapped; shares what did not change. Deeper than 128 levels nothing is read. */
export function mapTexts(value: unknown, map: (text: string) => string, depth = 0): unknown {
  if (typeof value === 'string') return map(value);
  if (typeof value !== 'object' || value === null || depth > 128) return value;
  if (Array.isArray(value)) {
    const mapped = value.map((item) => mapTexts(item, map, depth + 1));
    return mapped.some((item, place) => item !== value[place]) ? mapped : value;
  }
  let changed: Record<string, unknown> | undefined;
  for (const [key, item] of Object.entries(value)) {
    const mapped = mapTexts(item, map, depth + 1);
    if (mapped !== item) (changed ??= { ...value })[key] = mapped;
  }
  return changed ?? value;
}

/** All references in a value's texts. */
export function referencesInValue(value: unknown): Reference[] {
  const found: Reference[] = [];
  mapTexts(value, (text) => {
    found.push(...referencesIn(text));
    return text;
  });
  return found;
}
