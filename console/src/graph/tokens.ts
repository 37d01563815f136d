/**
 * Reads the JavaScript of expressions as tokens, and splits a parameter's text at its `{{ }}`.
 *
 * Strings, templates, comments and brackets are followed exactly, as the compiler does; whether `/` divides or begins a
 * regular expression is decided by the token before it.
 */

export interface Token {
  readonly kind: 'word' | 'string' | 'template' | 'regex' | 'punctuation';
  /** Offsets within the whole text, in UTF-16 units. */
  readonly start: number;
  readonly end: number;
}

/** An expression within a parameter's text: what is between the braces. */
export interface Piece {
  readonly start: number;
  readonly end: number;
  readonly tokens: readonly Token[];
}

/** The expressions of a text. One that is never closed is left out, with all that follows. */
export function expressionsIn(text: string): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  for (;;) {
    const open = text.indexOf('{{', at);
    if (open < 0) return pieces;
    const scanner = new Scanner(text, open + 2, true);
    const tokens = scanner.all();
    if (!scanner.closed) return pieces;
    pieces.push({ start: open + 2, end: scanner.at, tokens });
    at = scanner.at + 2;
  }
}

/** The tokens of JavaScript that stands by itself, such as the inside of `{{ }}`. */
export function tokensOf(source: string): Token[] {
  return new Scanner(source, 0, false).all();
}

const WORD = /[A-Za-z0-9_$\u0080-\uffff]/;
const SPACE = /\s|\ufeff/;
/** Words before an operand, so that a `/` behind them begins a regular expression. */
const BEFORE_OPERAND = new Set(
  'await case default delete do else extends in instanceof new return throw typeof void yield'.split(' '),
);

class Scanner {
  closed = false;
  private readonly tokens: Token[] = [];
  /** What is open: brackets, `t` for a template's text, `$` for a substitution in one. */
  private readonly open: string[] = [];
  /** Open braces, substitutions and templates: within them `}}` ends nothing. */
  private braces = 0;
  private afterValue = false;

  constructor(
    private readonly text: string,
    public at: number,
    private readonly endsAtBraces: boolean,
  ) {}

  all(): Token[] {
    while (this.at < this.text.length) {
      if (this.endsAtBraces && this.braces === 0 && this.text.startsWith('}}', this.at)) {
        this.closed = true;
        break;
      }
      this.step(this.text.charAt(this.at));
    }
    return this.tokens;
  }

  private step(char: string): void {
    if (this.open.at(-1) === 't') return this.templateText();
    if (SPACE.test(char)) this.at += 1;
    else if (char === '"' || char === "'") this.string(char);
    else if (char === '`') this.template();
    else if (char === '/') this.slash();
    else if ('([{'.includes(char)) this.bracket(char);
    else if (')]}'.includes(char)) this.closeBracket(char);
    else if (WORD.test(char)) this.word();
    else this.operator(char);
  }

  private push(kind: Token['kind'], end: number, isValue: boolean): void {
    this.tokens.push({ kind, start: this.at, end });
    this.at = end;
    this.afterValue = isValue;
  }

  private string(quote: string): void {
    let end = this.at + 1;
    while (end < this.text.length && this.text.charAt(end) !== quote) {
      const char = this.text.charAt(end);
      if (char === '\n' || char === '\r') return this.push('punctuation', this.at + 1, false);
      end += char === '\\' ? (this.text.startsWith('\r\n', end + 1) ? 3 : 2) : 1;
    }
    if (end >= this.text.length) return this.push('punctuation', this.at + 1, false);
    this.push('string', end + 1, true);
  }

  /** A template without substitutions is one token; another is its pieces of text, with tokens between them. */
  private template(): void {
    this.open.push('t');
    this.braces += 1;
    this.templatePart(this.at + 1);
  }

  private templateText(): void {
    this.templatePart(this.at);
  }

  private templatePart(from: number): void {
    let end = from;
    while (end < this.text.length) {
      const char = this.text.charAt(end);
      if (char === '`') {
        this.open.pop();
        this.braces -= 1;
        return this.push('template', end + 1, true);
      }
      if (char === '$' && this.text.charAt(end + 1) === '{') {
        this.open.push('$');
        this.braces += 1;
        return this.push('template', end + 2, false);
      }
      end += char === '\\' ? 2 : 1;
    }
    this.push('template', this.text.length, false);
  }

  private slash(): void {
    const next = this.text.charAt(this.at + 1);
    if (next === '/') return this.lineComment();
    if (next === '*') {
      const end = this.text.indexOf('*/', this.at + 2);
      this.at = end < 0 ? this.text.length : end + 2;
      return;
    }
    const end = this.afterValue ? undefined : this.regexEnd();
    if (end === undefined) this.operator('/');
    else this.push('regex', end, true);
  }

  /** To the end of the line, or to a `}}` outside of braces: there the expression was meant to end. */
  private lineComment(): void {
    while (this.at < this.text.length) {
      if (/[\n\r\u2028\u2029]/.test(this.text.charAt(this.at))) return;
      if (this.endsAtBraces && this.braces === 0 && this.text.startsWith('}}', this.at)) return;
      this.at += 1;
    }
  }

  private regexEnd(): number | undefined {
    let inClass = false;
    for (let at = this.at + 1; at < this.text.length; at += 1) {
      const char = this.text.charAt(at);
      if (char === '\n' || char === '\r') return undefined;
      if (char === '\\') at += 1;
      else if (char === '[') inClass = true;
      else if (char === ']') inClass = false;
      else if (char === '/' && !inClass) return at + 1;
    }
    return undefined;
  }

  private bracket(char: string): void {
    this.open.push(char);
    if (char === '{') this.braces += 1;
    this.push('punctuation', this.at + 1, false);
  }

  private closeBracket(char: string): void {
    const opener = { ')': '(', ']': '[', '}': '{' }[char];
    const place = Math.max(
      opener ? this.open.lastIndexOf(opener) : -1,
      char === '}' ? this.open.lastIndexOf('$') : -1,
    );
    // What was left open within is closed with it.
    for (const left of place < 0 ? [] : this.open.splice(place)) {
      if (left === '{' || left === '$' || left === 't') this.braces -= 1;
    }
    this.push('punctuation', this.at + 1, true);
  }

  private word(): void {
    let end = this.at;
    while (end < this.text.length && WORD.test(this.text.charAt(end))) end += 1;
    const number = /^[0-9][0-9_]*$/.test(this.text.slice(this.at, end)) && this.text.charAt(end) === '.';
    if (number) {
      end += 1;
      while (end < this.text.length && WORD.test(this.text.charAt(end))) end += 1;
    }
    const isName = ['.', '?.'].includes(this.previousText());
    this.push('word', end, isName || !BEFORE_OPERAND.has(this.text.slice(this.at, end)));
  }

  private previousText(): string {
    const last = this.tokens.at(-1);
    return last ? this.text.slice(last.start, last.end) : '';
  }

  private operator(char: string): void {
    if (this.text.startsWith('...', this.at)) return this.push('punctuation', this.at + 3, false);
    if (this.text.startsWith('?.', this.at)) return this.push('punctuation', this.at + 2, false);
    const doubled = (char === '+' || char === '-') && this.text.charAt(this.at + 1) === char;
    this.push('punctuation', this.at + (doubled ? 2 : 1), doubled && this.afterValue);
  }
}

/** The value of a string or of a template without substitutions; undefined for anything else. */
export function literalValue(source: string): string | undefined {
  const quote = source.charAt(0);
  if (source.length < 2 || !'"\'`'.includes(quote) || !source.endsWith(quote)) return undefined;
  const inner = source.slice(1, -1);
  if (quote === '`' && /(^|[^\\])(\\\\)*\$\{/.test(inner)) return undefined;
  return inner.replace(
    /\\(?:u\{([0-9a-fA-F]+)\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r\n|[\s\S]))/g,
    (_all, braces?: string, four?: string, two?: string, char?: string) => {
      const code = braces ?? four ?? two;
      if (code !== undefined) return fromCodePoint(parseInt(code, 16));
      return escapes[char ?? ''] ?? char ?? '';
    },
  );
}

const escapes: Record<string, string> = {
  n: '\n',
  r: '\r',
  t: '\t',
  b: '\b',
  f: '\f',
  v: '\v',
  '0': '\0',
  '\n': '',
  '\r': '',
  '\r\n': '',
};

function fromCodePoint(code: number): string {
  return code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd';
}

/** A text as a literal with that quote. */
export function quoted(value: string, quote: string): string {
  const escaped = JSON.stringify(value).slice(1, -1);
  if (quote === '"') return `"${escaped}"`;
  const plain = escaped.replaceAll('\\"', '"');
  if (quote === "'") return `'${plain.replaceAll("'", "\\'")}'`;
  return '`' + plain.replaceAll('`', '\\`').replaceAll('${', '\\${') + '`';
}
