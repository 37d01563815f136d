/** What can be written at the caret: names, nodes, and fields of real data with where they were seen. Pure. */

import type { Callable, Vocabulary } from './api';
import { caretOf, type Binding, type Caret, type Step } from './chain';
import type { Scope } from './fields';
import { member } from './insert';
import { brief, typeWord } from './kind';
import { resolve } from './resolve';
import type { Surroundings, Upstream } from './sample';
import { isObject } from './values';

export interface Suggestion {
  label: string;
  /** What is written; the label if there is nothing else. */
  insert?: string;
  /** Characters before the replaced range that go as well: the dot before `["a name"]`. */
  back?: number;
  kind: 'name' | 'node' | 'field' | 'method' | 'function';
  /** The value, or what it is, in a line. */
  detail: string;
  /** A sentence, and where the data is from. */
  info?: string;
  /** Higher comes first. */
  rank: number;
}

export interface Completion {
  /** Offset in the expression's text at which the replaced range begins. */
  from: number;
  suggestions: Suggestion[];
}

/** Fields beyond these are found by writing more of their name. */
const FIELDS_MAX = 500;

/** Suggestions for an expression's text up to the caret; undefined where there is nothing to suggest. */
export function complete(
  before: string,
  surroundings: Surroundings,
  scope: Scope,
  vocabulary: Vocabulary | null,
): Completion | undefined {
  const caret = caretOf(before);
  const from = before.length - caret.prefix.length;
  const suggestions = suggest(caret, surroundings, scope, vocabulary);
  return suggestions.length > 0 ? { from, suggestions } : undefined;
}

function suggest(
  caret: Caret,
  around: Surroundings,
  scope: Scope,
  vocabulary: Vocabulary | null,
): Suggestion[] {
  if (caret.quote) return caret.base ? inString(caret.base, caret.quote, around, caret.bindings) : [];
  if (!caret.base) return alone(caret.bindings, around, scope, vocabulary);
  return members(caret.base, around, caret.bindings, vocabulary);
}

/** Inside of `$("`, `$nodes["` or `$input["`. */
function inString(
  base: readonly Step[],
  quote: string,
  around: Surroundings,
  bindings: readonly Binding[],
): Suggestion[] {
  const [first, second] = base;
  if (first?.kind === 'root' && (second === undefined || second.kind === 'call')) {
    if (first.name === '$' && second)
      return around.upstream.map((node, index) => nodeName(node, 'label', index));
    if (first.name === '$nodes') return around.upstream.map((node, index) => nodeName(node, 'id', index));
    if (first.name === '$node') return around.upstream.map((node, index) => nodeName(node, 'label', index));
  }
  const resolved = resolve(base, around, bindings);
  if (!isObject(resolved?.value)) return [];
  return Object.entries(resolved.value)
    .slice(0, FIELDS_MAX)
    .map(([name, value], index) => ({
      ...field(name, value, index, resolved.sample?.from),
      insert: JSON.stringify(name)
        .slice(1, -1)
        .replaceAll(quote === "'" ? '\\"' : '', quote === "'" ? '"' : ''),
    }));
}

function nodeName(node: Upstream, by: 'id' | 'label', index: number): Suggestion {
  const label = by === 'label' ? node.name : node.id;
  return {
    label,
    kind: 'node',
    detail: node.sample ? brief(node.sample.value, 40) : node.type,
    info: node.sample ? `Emitted: ${node.sample.from}` : `${node.type}, nothing known of what it emits`,
    rank: 100 - index,
  };
}

const OWN: readonly (readonly [name: string, detail: string, insert?: string])[] = [
  ['$input', 'what arrives at this node'],
  ['$trigger', 'the event that started the run'],
  ['$run', 'id, attempt, startedAt, … of the run'],
  ['$now', 'when the run started'],
  ['$today', 'the beginning of that day'],
  ['$vars', 'variables of the environment'],
  ['$secrets', 'secrets of the environment'],
  ['$nodes', 'what a node emitted, by its id', '$nodes["'],
  ['$jmespath', 'finds parts of a value by a query', '$jmespath('],
  ['$uuid', 'a new identifier', '$uuid()'],
  ['$random', 'a random number from 0 to 1', '$random()'],
];

/** Names that stand alone: parameters of functions, heddle's own, nodes, and what JavaScript has. */
function alone(
  bindings: readonly Binding[],
  around: Surroundings,
  scope: Scope,
  vocabulary: Vocabulary | null,
): Suggestion[] {
  const found: Suggestion[] = bindings.map(({ name, of }) => {
    const list = resolve(of, around, bindings);
    const [element] = Array.isArray(list?.value) ? (list.value as unknown[]) : [];
    return {
      label: name,
      kind: 'name',
      detail: element === undefined ? 'element' : brief(element, 40),
      rank: 120,
    };
  });
  const sampled = { $input: around.input, $trigger: around.trigger, $item: around.item };
  const name = (label: string, detail: string, rank: number, insert?: string): Suggestion => {
    const sample = sampled[label as keyof typeof sampled];
    return {
      label,
      kind: 'name',
      detail: sample ? brief(sample.value, 40) : detail,
      info: sample ? `${sentence(detail)} Shown: ${sample.from}.` : sentence(detail),
      rank,
      ...(insert ? { insert } : {}),
    };
  };
  const hasItem = around.hasItem || scope === 'item';
  if (hasItem)
    found.push(name('$item', 'the current item', 115), name('$index', 'its position, from 0', 114));
  if (scope === 'pair')
    found.push(name('$a', 'the first of two items', 115), name('$b', 'the second of two items', 114));
  if (around.definitionOnly)
    return [...found, name('$input', 'what arrives at this node', 110), ...words(vocabulary)];
  if (around.hasError) found.push(name('$error', 'message, code and node of the error', 112));
  OWN.forEach(([label, detail, insert], index) => found.push(name(label, detail, 110 - index, insert)));
  around.upstream.forEach((node, index) => found.push(nodeReference(node, index)));
  return [...found, ...words(vocabulary)];
}

function nodeReference(node: Upstream, index: number): Suggestion {
  return { ...nodeName(node, 'label', index), label: node.reference, rank: 80 - index };
}

const KNOWN = new Set([...OWN.map(([name]) => name), '$', '$json', '$item', '$index', '$a', '$b', '$error']);

/** What JavaScript has: functions, and the names that have some, such as `Math`. */
function words(vocabulary: Vocabulary | null): Suggestion[] {
  const functions = vocabulary?.functions.filter(({ name }) => !KNOWN.has(name)) ?? [];
  const plain = functions.filter(({ name }) => !name.includes('.'));
  const holders = new Set(
    functions.filter(({ name }) => name.includes('.')).map(({ name }) => name.split('.')[0] ?? ''),
  );
  return [
    ...plain.map((it): Suggestion => ({ ...method(it), kind: 'function', rank: 10 })),
    ...[...holders].map((label): Suggestion => ({ label, kind: 'name', detail: '', rank: 9 })),
  ];
}

/** Members of a chain. */
function members(
  base: readonly Step[],
  around: Surroundings,
  bindings: readonly Binding[],
  vocabulary: Vocabulary | null,
): Suggestion[] {
  const [first, ...rest] = base;
  if (first?.kind === 'root' && rest.length === 0) {
    if (first.name === '$vars') return around.variables.map((name, index) => plain(name, 'variable', index));
    if (first.name === '$secrets') return around.secrets.map((name, index) => plain(name, 'secret', index));
    if (first.name === '$run') return RUN.map(([name, detail], index) => plain(name, detail, index));
    if (first.name === '$error') return ERROR.map(([name, detail], index) => plain(name, detail, index));
    const own = staticsOf(first.name, vocabulary);
    if (own.length > 0) return own;
    if (first.name === '$now' || first.name === '$today') return membersOf('dateTime', vocabulary);
  }
  const resolved = resolve(base, around, bindings);
  if (!resolved) return membersOf('any', vocabulary);
  return [...fields(resolved.value, resolved.sample?.from), ...methods(resolved.value, vocabulary)];
}

const RUN = [
  ['id', 'id of the run'],
  ['patternId', 'id of the pattern'],
  ['attempt', 'attempts so far, from 1'],
  ['triggeredBy', 'what started it'],
  ['startedAt', 'when it started'],
  ['callbackUrl', 'URL that resumes it'],
  ['callbackUrls', 'such URLs by node id'],
] as const;
const ERROR = [
  ['message', 'what went wrong'],
  ['code', 'such as HTTP_404'],
  ['nodeId', 'where it happened'],
] as const;

function plain(name: string, detail: string, index: number): Suggestion {
  return { label: name, kind: 'field', detail, rank: 100 - index };
}

function fields(value: unknown, from: string | undefined): Suggestion[] {
  if (Array.isArray(value)) {
    if (value.length === 0) return [];
    return [{ ...field('0', value[0], 0, from), label: '[0]', insert: '[0]', back: 1 }];
  }
  if (!isObject(value)) return [];
  return Object.entries(value)
    .slice(0, FIELDS_MAX)
    .map(([name, inner], index) => {
      const written = member(name);
      const suggestion = field(name, inner, index, from);
      return written.startsWith('.') ? suggestion : { ...suggestion, insert: written, back: 1 };
    });
}

function field(name: string, value: unknown, index: number, from: string | undefined): Suggestion {
  return {
    label: name,
    kind: 'field',
    detail: brief(value, 40),
    info: from ? `${sentence(typeWord(value))} From ${from}.` : sentence(typeWord(value)),
    rank: 100 - Math.min(index, 60),
  };
}

function methods(value: unknown, vocabulary: Vocabulary | null): Suggestion[] {
  return [...membersOf(kindOf(value), vocabulary), ...membersOf('any', vocabulary)];
}

/** Methods and properties of a type. */
function membersOf(type: string, vocabulary: Vocabulary | null): Suggestion[] {
  const found = vocabulary?.types.find((it) => it.type === type);
  const properties = found?.properties.map(({ name, about }): Suggestion => {
    return { label: name, kind: 'field', detail: about, info: sentence(about), rank: 30 };
  });
  return [...(properties ?? []), ...(found?.methods.map(method) ?? [])];
}

/** `max` of `Math.max`, and its like. */
function staticsOf(holder: string, vocabulary: Vocabulary | null): Suggestion[] {
  const prefix = `${holder}.`;
  const own = vocabulary?.functions.filter(({ name }) => name.startsWith(prefix)) ?? [];
  return own.map((it) => method({ ...it, name: it.name.slice(prefix.length) }));
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  const type = typeof value;
  return type === 'string' || type === 'number' || type === 'boolean' ? type : 'object';
}

function method({ name, arguments: parameters, about }: Callable): Suggestion {
  return {
    label: name,
    insert: parameters.length === 0 ? `${name}()` : `${name}(`,
    kind: 'method',
    detail: `(${parameters.join(', ')})`,
    info: sentence(about),
    rank: 20,
  };
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
