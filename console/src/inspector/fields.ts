/** Fields: what the inspector shows for a node type's parameters. */

/** Which names an expression has: `item` adds `$item` and `$index`, `pair` adds `$a` and `$b`. */
export type Scope = 'run' | 'item' | 'pair' | 'deferred';

/** Controls for a text. */
export type TextWidget =
  'text' | 'multiline' | 'url' | 'cron' | 'zone' | 'connection' | 'secret' | 'pattern' | 'code' | 'path';

export type Shape =
  | TextShape
  | NumberShape
  | { kind: 'boolean' }
  | { kind: 'select'; options: readonly Option[] }
  /** Any JSON value, of which a text may hold expressions. */
  | { kind: 'any'; widget: 'value' | 'path' | 'multiline' }
  | { kind: 'list'; item: Field }
  | { kind: 'map'; value: Field; json: boolean }
  | { kind: 'object'; fields: readonly Field[] }
  | { kind: 'variants'; variants: readonly Variant[] };

export interface TextShape {
  kind: 'text';
  widget: TextWidget;
  /** Of code: `javascript`, `sql`, `html`, `markdown`, `regex`, `css-selector`. */
  language?: string;
  /** Of zones: whether an offset such as `+02:00` will do. */
  offsets?: boolean;
  /** Which kinds of connections fit; all if it does not say. */
  connectionKinds?: readonly string[];
}

export interface NumberShape {
  kind: 'number';
  integer: boolean;
  min?: number;
  max?: number;
  /** A duration is shown with its units; how many milliseconds its number counts. */
  unitMs?: number;
}

export interface Option {
  value: string | number;
  label: string;
}

/** One of several shapes that a value may have. */
export interface Variant {
  label: string;
  shape: Shape;
}

export interface Field {
  /** The parameter's name; empty for the elements of a list or a map. */
  name: string;
  /** The name as people read it. */
  label: string;
  description: string;
  required: boolean;
  /** The value that counts when there is none; `undefined` if nothing does. */
  default: unknown;
  /** No expression may stand there. */
  literal: boolean;
  /** Without a value, an expression is asked for first. */
  expressionFirst: boolean;
  scope: Scope;
  /** Shown on demand only. */
  advanced: boolean;
  /** Only of use when another parameter beside it has one of these values. */
  onlyFor?: { name: string; values: readonly (string | number)[] };
  shape: Shape;
}

/** Steps from a node's parameters to a value: names and positions. */
export type Path = readonly (string | number)[];

/** The path as the validator writes it: `cases[0].when`, `values.total.op`. */
export function pathText(path: Path): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`;
    return text === '' ? step : `${text}.${step}`;
  }, '');
}

/** Whether one path text leads to something inside of another, or to the same. */
export function isWithin(path: string, outer: string): boolean {
  if (!path.startsWith(outer)) return false;
  const next = path[outer.length];
  return outer === '' || next === undefined || next === '.' || next === '[';
}
