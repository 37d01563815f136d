/** What the keys of `{{ }}` do besides writing themselves: the same in a field of code and in what is there before its code is. */

import { expressionAt, pieces } from './template';

export interface TypedBraces {
  /** Range of the text that is replaced; empty, if only the caret moves. */
  from: number;
  to: number;
  insert: string;
  /** Where the caret stands afterwards, in the new text. */
  caret: number;
}

/** `undefined` where a key at this place is only what it writes. */
export function typedBraces(text: string, at: number, key: string): TypedBraces | undefined {
  if (key === '{') return begun(text, at);
  return key === ' ' || key === '}' ? typedOver(text, at, key) : undefined;
}

/** A second `{` outside of an expression begins one, and closes it. */
function begun(text: string, at: number): TypedBraces | undefined {
  if (text.charAt(at - 1) !== '{' || expressionAt(text, at)) return undefined;
  return { from: at, to: at, insert: '{  }}', caret: at + 2 };
}

/** Who types the space after `{{`, or the `}}`, that are there already goes over them. */
function typedOver(text: string, at: number, key: ' ' | '}'): TypedBraces | undefined {
  const piece = pieces(text).find((it) => it.kind === 'expression' && it.from <= at && at <= it.to + 1);
  if (!piece || !text.startsWith('}}', piece.to)) return undefined;
  const before = text.slice(piece.from, Math.min(at, piece.to));
  const after = text.slice(at, piece.to);
  if (key === ' ')
    return before === ' ' && after === ' ' ? { from: at, to: at, insert: '', caret: at } : undefined;
  const isOpen = before.split('{').length > before.split('}').length;
  if (isOpen || after.trim() !== '') return undefined;
  const isDouble = before.endsWith(' ') && after !== '';
  if (isDouble) return { from: at, to: piece.to, insert: '', caret: at + 1 };
  return { from: at, to: at, insert: '', caret: Math.max(at, piece.to) + 1 };
}
