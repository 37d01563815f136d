/**
 * Splits a parameter's text at its `{{ }}`, as the compiler does: a `}}` inside a string, a template literal or an object
 * of the expression does not end it. Good enough to colour and complete; what counts is what the validator says.
 */

export interface Piece {
  kind: 'text' | 'expression';
  /** Range in UTF-16 units; of an expression, what is between the braces. */
  from: number;
  to: number;
}

/** The pieces, in order; an expression that is never closed goes on to the end. */
export function pieces(text: string): Piece[] {
  const found: Piece[] = [];
  let at = 0;
  for (;;) {
    const open = text.indexOf('{{', at);
    if (open === -1) break;
    if (open > at) found.push({ kind: 'text', from: at, to: open });
    const end = expressionEnd(text, open + 2);
    found.push({ kind: 'expression', from: open + 2, to: end });
    at = end + 2;
  }
  if (at < text.length) found.push({ kind: 'text', from: at, to: text.length });
  return found;
}

/** The expression around a position; between its braces counts as inside. */
export function expressionAt(text: string, position: number): Piece | undefined {
  return pieces(text).find(
    (piece) => piece.kind === 'expression' && piece.from <= position && position <= piece.to,
  );
}

type Open = '(' | '[' | '{' | '${' | '`';

/** Where the `}}` stands that ends the expression beginning at `start`; the text's end if there is none. */
function expressionEnd(text: string, start: number): number {
  const open: Open[] = [];
  let at = start;
  let afterValue = false;
  while (at < text.length) {
    const char = text.charAt(at);
    if (open.at(-1) === '`') {
      at = templateStep(text, at, open);
      continue;
    }
    if (char === '}' && text.charAt(at + 1) === '}' && !open.some((kind) => kind !== '(' && kind !== '[')) {
      return at;
    }
    const next = token(text, at, open, afterValue);
    afterValue = next.afterValue ?? afterValue;
    at = next.at;
  }
  return text.length;
}

function templateStep(text: string, at: number, open: Open[]): number {
  const char = text.charAt(at);
  if (char === '\\') return at + 2;
  if (char === '`') open.pop();
  if (char === '$' && text.charAt(at + 1) === '{') {
    open.push('${');
    return at + 2;
  }
  return at + 1;
}

/** Passes one token; `afterValue` tells whether `/` divides behind it. */
function token(
  text: string,
  at: number,
  open: Open[],
  afterValue: boolean,
): { at: number; afterValue?: boolean } {
  const char = text.charAt(at);
  if (/\s/.test(char)) return { at: at + 1 };
  if (char === '"' || char === "'") return { at: stringEnd(text, at), afterValue: true };
  if (char === '`') {
    open.push('`');
    return { at: at + 1, afterValue: true };
  }
  if (char === '(' || char === '[' || char === '{') {
    open.push(char);
    return { at: at + 1, afterValue: false };
  }
  if (char === ')' || char === ']' || char === '}') {
    close(char, open);
    return { at: at + 1, afterValue: true };
  }
  if (char === '/') return slash(text, at, afterValue);
  const word = /[\p{ID_Continue}$_]+/uy;
  word.lastIndex = at;
  const match = word.exec(text);
  if (match) return { at: at + match[0].length, afterValue: !/^(?:return|typeof|in|case)$/.test(match[0]) };
  return { at: at + 1, afterValue: false };
}

function close(char: string, open: Open[]): void {
  const wanted: Open[] = char === ')' ? ['('] : char === ']' ? ['['] : ['{', '${'];
  const index = open.findLastIndex((kind) => wanted.includes(kind));
  if (index >= 0) open.length = index;
}

function slash(text: string, at: number, afterValue: boolean): { at: number; afterValue?: boolean } {
  const next = text.charAt(at + 1);
  if (next === '*') {
    const end = text.indexOf('*/', at + 2);
    return { at: end === -1 ? text.length : end + 2 };
  }
  if (next === '/') {
    const rest = /\n|\}\}/g;
    rest.lastIndex = at;
    return { at: rest.exec(text)?.index ?? text.length };
  }
  if (afterValue) return { at: at + 1, afterValue: false };
  const expression = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/\w*/y;
  expression.lastIndex = at;
  const match = expression.exec(text);
  return match ? { at: at + match[0].length, afterValue: true } : { at: at + 1, afterValue: false };
}

/** Behind a string; behind its quote alone if its line does not close it. */
function stringEnd(text: string, at: number): number {
  const quote = text.charAt(at);
  for (let next = at + 1; next < text.length; next += 1) {
    const char = text.charAt(next);
    if (char === '\\') next += 1;
    else if (char === '\n' || char === '\r') break;
    else if (char === quote) return next + 1;
  }
  return at + 1;
}
