/** Expressions that name values: what a click on a value in the data drawer inserts. */

import type { Path } from './fields';
import { pieces } from './template';

/** Where a value comes from, as an expression sees it. */
export type Origin =
  { kind: 'input' } | { kind: 'trigger' } | { kind: 'item' } | { kind: 'node'; reference: string };

const NAME = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;

/** `.name` or `["a name"]` or `[0]`. */
export function member(step: string | number): string {
  if (typeof step === 'number') return `[${step}]`;
  return NAME.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`;
}

/** The expression of a value: `$input.body.total`, `$("Fetch order").lines[0]["unit price"]`. */
export function reference(origin: Origin, path: Path): string {
  return root(origin) + path.map(member).join('');
}

function root(origin: Origin): string {
  switch (origin.kind) {
    case 'input':
      return '$input';
    case 'trigger':
      return '$trigger';
    case 'item':
      return '$item';
    case 'node':
      return origin.reference;
  }
}

export interface Insertion {
  text: string;
  from: number;
  to: number;
  /** Where the caret stands afterwards, in the new text. */
  caret: number;
}

/**
 * How an expression goes into a text at a selection: bare inside of `{{ }}`, with braces outside of them. An empty text
 * becomes the expression alone, which keeps the value's type.
 */
export function insertion(text: string, from: number, to: number, expression: string): Insertion {
  const inside = pieces(text).some(
    (piece) => piece.kind === 'expression' && piece.from <= from && to <= piece.to,
  );
  const inserted = inside ? expression : `{{ ${expression} }}`;
  return { text: inserted, from, to, caret: from + inserted.length - (inside ? 0 : 3) };
}

/** The text after an insertion. */
export function inserted(text: string, insertion: Insertion): string {
  return text.slice(0, insertion.from) + insertion.text + text.slice(insertion.to);
}
