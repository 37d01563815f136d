/**
 * What stands before the caret in an expression: a chain such as `$input.lines[0].` and the beginning of the name that is
 * being written. A forward scan of tokens, since half-written expressions don't parse.
 */

export type Step =
  | { kind: 'root'; name: string }
  | { kind: 'literal'; value: string }
  | { kind: 'member'; name: string | number | undefined }
  | { kind: 'call'; argument: string | undefined };

export interface Caret {
  /** What the name belongs to; undefined for a name that stands alone. */
  base: readonly Step[] | undefined;
  /** The name's beginning, which is to be replaced. */
  prefix: string;
  /** Inside of a string that names a node or a field: `$("`, `$nodes["`, `$input["`. */
  quote: '"' | "'" | undefined;
  /** Names of functions' parameters that can be used here. */
  bindings: readonly Binding[];
}

/** A parameter of a function: the element of what its method was called on. */
export interface Binding {
  name: string;
  of: readonly Step[];
}

interface Frame {
  open: string;
  /** The chain before the bracket. */
  chain: Step[] | undefined;
  from: number;
  bindings: Binding[];
}

const TOKEN =
  /\s+|\/\*[^]*?(?:\*\/|$)|\/\/[^\n]*|(?:[\p{ID_Start}$_][\p{ID_Continue}$]*)|\d[\w.]*|=>|\?\.(?!\d)|[^]/uy;

/** Looks at an expression's text up to the caret. */
export function caretOf(text: string): Caret {
  const scanner = new Scanner(text);
  return scanner.run();
}

class Scanner {
  private at = 0;
  private chain: Step[] | undefined;
  private dot = false;
  private readonly frames: Frame[] = [{ open: '', chain: undefined, from: 0, bindings: [] }];
  /** Where the last closed parenthesis's content is, for `(a, b) =>`. */
  private closed: { from: number; to: number } | undefined;
  private lastWord = '';

  constructor(private readonly text: string) {}

  run(): Caret {
    while (this.at < this.text.length) {
      const char = this.text.charAt(this.at);
      if (char === '"' || char === "'" || char === '`') {
        const open = this.string(char);
        if (open) return open;
        continue;
      }
      TOKEN.lastIndex = this.at;
      const token = TOKEN.exec(this.text)?.[0] ?? char;
      const end = this.at + token.length;
      if (end === this.text.length && isWord(token)) return this.answer(token);
      if (end === this.text.length && /^\d/.test(token)) return this.answer('', '"');
      this.token(token);
      this.at = end;
    }
    return this.answer('');
  }

  private answer(prefix: string, quote?: '"' | "'"): Caret {
    return {
      base: this.dot || quote ? this.chain : undefined,
      prefix,
      quote,
      bindings: this.frames.flatMap((frame) => frame.bindings),
    };
  }

  /** Passes a string; the answer if the caret is inside of it. */
  private string(quote: string): Caret | undefined {
    const from = this.at + 1;
    let at = from;
    while (at < this.text.length && this.text.charAt(at) !== quote)
      at += this.text.charAt(at) === '\\' ? 2 : 1;
    const value = this.text.slice(from, at);
    if (at >= this.text.length) {
      if (quote === '`') {
        const hole = value.lastIndexOf('${');
        if (hole < 0 || value.indexOf('}', hole) >= 0)
          return { base: undefined, prefix: '', quote: '"', bindings: [] };
        const inner = caretOf(value.slice(hole + 2));
        return { ...inner, bindings: [...this.frames.flatMap((frame) => frame.bindings), ...inner.bindings] };
      }
      const frame = this.frames.at(-1);
      this.chain = frame && frame.open !== '{' ? this.named(frame) : undefined;
      return this.answer(value, quote === '"' ? '"' : "'");
    }
    this.chain = [{ kind: 'literal', value }];
    this.dot = false;
    this.at = at + 1;
    return undefined;
  }

  /** The chain that a string within this bracket would name something of. */
  private named(frame: Frame): Step[] | undefined {
    if (!frame.chain) return undefined;
    return frame.open === '(' ? [...frame.chain, { kind: 'call', argument: undefined }] : frame.chain;
  }

  private token(token: string): void {
    if (/^(?:\s|\/[*/])/.test(token)) return;
    if (isWord(token)) return this.word(token);
    switch (token) {
      case '.':
      case '?.':
        this.dot = this.chain !== undefined;
        return;
      case '(':
      case '[':
      case '{':
        this.frames.push({ open: token, chain: this.chain, from: this.at + 1, bindings: [] });
        this.chain = undefined;
        this.dot = false;
        return;
      case ')':
      case ']':
      case '}':
        this.close(token);
        return;
      case '=>':
        this.arrow();
        break;
    }
    this.chain = undefined;
    this.dot = false;
  }

  private word(word: string): void {
    if (this.dot && this.chain) this.chain = [...this.chain, { kind: 'member', name: word }];
    else this.chain = [{ kind: 'root', name: word }];
    this.lastWord = word;
    this.closed = undefined;
    this.dot = false;
  }

  private close(token: string): void {
    const open = { ')': '(', ']': '[', '}': '{' }[token];
    const frame = this.frames.length > 1 && this.frames.at(-1)?.open === open ? this.frames.pop() : undefined;
    this.dot = false;
    if (!frame) {
      this.chain = undefined;
      return;
    }
    const content = this.text.slice(frame.from, this.at);
    this.closed = token === ')' ? { from: frame.from, to: this.at } : undefined;
    if (!frame.chain) this.chain = undefined;
    else if (token === ')')
      this.chain = [...frame.chain, { kind: 'call', argument: literal(content)?.toString() }];
    else if (token === ']') this.chain = [...frame.chain, { kind: 'member', name: literal(content) }];
    else this.chain = undefined;
  }

  /** Binds the parameters of a function that is an argument of a method. */
  private arrow(): void {
    const frame = this.frames.at(-1);
    const method = frame?.chain?.at(-1);
    if (frame?.open !== '(' || method?.kind !== 'member' || !frame.chain) return;
    const first = this.closed
      ? this.text.slice(this.closed.from, this.closed.to).split(',')
      : [this.lastWord];
    // `reduce` gives its function the sum first.
    const name = first[/^reduce/.test(String(method.name)) ? 1 : 0]?.trim();
    if (name && isWord(name)) frame.bindings.push({ name, of: frame.chain.slice(0, -1) });
  }
}

function isWord(token: string): boolean {
  return /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(token);
}

/** A string or a number that is written out. */
function literal(text: string): string | number | undefined {
  const trimmed = text.trim();
  if (/^\d+$/.test(trimmed)) return Number(trimmed);
  const quoted = /^(["'])([^]*)\1$/.exec(trimmed);
  return quoted?.[2]?.replace(/\\(["'\\])/g, '$1');
}
