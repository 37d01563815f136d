/** CodeMirror for a parameter's text with `{{ }}`. Heavy: only ever imported with `import()`. */

import {
  acceptCompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionStatus,
  startCompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
} from '@codemirror/autocomplete';
import { javascriptLanguage } from '@codemirror/lang-javascript';
import { setDiagnostics } from '@codemirror/lint';
import { Compartment, EditorState, Prec, RangeSetBuilder, type Extension } from '@codemirror/state';
import {
  Decoration,
  EditorView,
  keymap,
  placeholder,
  ViewPlugin,
  type DecorationSet,
  type ViewUpdate,
} from '@codemirror/view';
import { highlightTree, tagHighlighter, tags } from '@lezer/highlight';
import { base } from '../../parts/code';
import { typedBraces } from '../braces';
import type { Suggestion } from '../complete';
import { insertion } from '../insert';
import { expressionAt, pieces } from '../template';
import { completing } from './completion';
import { lintOf, type Mark } from './marks';

export interface TemplateOptions {
  parent: HTMLElement;
  value: string;
  label: string;
  describedBy: string | undefined;
  placeholder: string;
  readOnly: boolean;
  /** Line breaks outside of expressions. */
  multiline: boolean;
  onchange: (value: string) => void;
  onblur: () => void;
  /** Suggestions for an expression's text up to the caret. */
  complete: (before: string) => { from: number; suggestions: Suggestion[] } | undefined;
}

export interface TemplateField {
  setValue: (value: string) => void;
  setReadOnly: (is: boolean) => void;
  setMarks: (marks: readonly Mark[]) => void;
  /** Replaces the selection by an expression, with braces where they are needed. */
  insert: (expression: string) => void;
  focus: (at?: number | 'end' | 'expression') => void;
  /** Offset of the text under a pointer. */
  positionAt: (x: number, y: number) => number | null;
  destroy: () => void;
}

const highlighter = tagHighlighter([
  { tag: [tags.keyword, tags.controlKeyword, tags.operatorKeyword], class: 'x-keyword' },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], class: 'x-string' },
  { tag: [tags.number, tags.bool, tags.null], class: 'x-number' },
  { tag: [tags.propertyName, tags.variableName, tags.function(tags.variableName)], class: 'x-name' },
  { tag: tags.comment, class: 'x-comment' },
]);
const parser = javascriptLanguage.parser.configure({ top: 'SingleExpression' });
const braces = Decoration.mark({ class: 'x-braces' });
const expression = Decoration.mark({ class: 'x-expression' });
const classes = new Map<string, Decoration>();

/** Longer texts are not coloured. */
const COLOURED_MAX = 50_000;

function decorate(text: string): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  if (text.length > COLOURED_MAX) return builder.finish();
  for (const { kind, from, to } of pieces(text)) {
    if (kind === 'text') continue;
    builder.add(from - 2, from, braces);
    if (to > from) builder.add(from, to, expression);
    const tree = parser.parse(text.slice(from, to));
    highlightTree(tree, highlighter, (start, end, name) => {
      const known = classes.get(name) ?? Decoration.mark({ class: name });
      classes.set(name, known);
      builder.add(from + start, from + end, known);
    });
    if (text.startsWith('}}', to)) builder.add(to, to + 2, braces);
  }
  return builder.finish();
}

const colours = ViewPlugin.define(
  (view) => ({
    decorations: decorate(view.state.doc.toString()),
    update(update: ViewUpdate) {
      if (update.docChanged) this.decorations = decorate(update.state.doc.toString());
    },
  }),
  { decorations: (plugin) => plugin.decorations },
);

const look = EditorView.theme({
  '.cm-content': { padding: '5px 0', minHeight: '28px' },
  '.cm-line': { padding: '0 var(--s2)' },
  '.x-expression': { background: 'var(--accent-soft)' },
  '.x-braces': { background: 'var(--accent-soft)', color: 'var(--accent)', fontWeight: '600' },
  '.x-keyword': { color: 'var(--code-keyword)' },
  '.x-string': { color: 'var(--code-string)' },
  '.x-number': { color: 'var(--code-number)' },
  '.x-name': { color: 'var(--code-name)' },
  '.x-comment': { color: 'var(--code-comment)' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': {
    fontFamily: 'var(--sans)',
    fontSize: 'var(--text-s)',
    maxHeight: '15rem',
    minWidth: '16rem',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': {
    display: 'flex',
    gap: 'var(--s3)',
    alignItems: 'baseline',
    padding: '4px var(--s2)',
    lineHeight: '1.5',
  },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    background: 'var(--accent-soft)',
    color: 'var(--text)',
  },
  '.cm-completionLabel': { fontFamily: 'var(--mono)' },
  '.cm-completionMatchedText': { textDecoration: 'none', color: 'var(--accent)', fontWeight: '600' },
  '.cm-completionDetail': {
    marginLeft: 'auto',
    maxWidth: '14rem',
    overflow: 'hidden',
    textOverflow: 'ellipsis',
    whiteSpace: 'nowrap',
    color: 'var(--dim)',
    fontStyle: 'normal',
  },
  '.cm-completionInfo': {
    maxWidth: '18rem',
    padding: 'var(--s2) var(--s3)',
    fontFamily: 'var(--sans)',
    fontSize: 'var(--text-s)',
  },
});

/** The field. */
export function templateField(options: TemplateOptions): TemplateField {
  const readOnly = new Compartment();
  const view = new EditorView({
    parent: options.parent,
    state: EditorState.create({
      doc: options.value,
      extensions: [
        base(options.label),
        EditorView.contentAttributes.of({
          'aria-multiline': String(options.multiline),
          ...(options.describedBy ? { 'aria-describedby': options.describedBy } : {}),
        }),
        look,
        colours,
        readOnly.of(EditorState.readOnly.of(options.readOnly)),
        placeholder(options.placeholder),
        EditorState.languageData.of((state, position) => [
          { closeBrackets: { brackets: isInside(state, position) ? ['(', '[', '{', '"', "'", '`'] : [] } },
        ]),
        typing,
        closeBrackets(),
        completion(options),
        keymap.of(closeBracketsKeymap),
        Prec.high(keymap.of([{ key: 'Enter', run: (at) => !options.multiline && swallowEnter(at) }])),
        EditorView.updateListener.of((update) => {
          if (update.docChanged && !update.transactions.some((it) => it.isUserEvent('outside'))) {
            options.onchange(update.state.doc.toString());
          }
        }),
        EditorView.domEventHandlers({ blur: () => options.onblur() }),
      ],
    }),
  });
  return handle(view, readOnly);
}

function handle(view: EditorView, readOnly: Compartment): TemplateField {
  return {
    setValue(value) {
      if (view.state.doc.toString() === value) return;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: value }, userEvent: 'outside' });
    },
    setReadOnly: (is) => view.dispatch({ effects: readOnly.reconfigure(EditorState.readOnly.of(is)) }),
    setMarks: (marks) => view.dispatch(setDiagnostics(view.state, lintOf(view.state.doc.length, marks))),
    insert(expression) {
      const { from, to } = view.state.selection.main;
      const next = insertion(view.state.doc.toString(), from, to, expression);
      view.dispatch({
        changes: { from, to, insert: next.text },
        selection: { anchor: next.caret },
        userEvent: 'input.insert',
      });
      view.focus();
    },
    focus(at) {
      view.focus();
      if (at === undefined) return;
      const anchor = placeOf(view, at);
      view.dispatch({ selection: { anchor }, scrollIntoView: true });
      const inside = expressionAt(view.state.doc.toString(), anchor);
      if (inside && view.state.sliceDoc(inside.from, anchor).trim() === '') startCompletion(view);
    },
    positionAt: (x, y) => view.posAtCoords({ x, y }),
    destroy: () => view.destroy(),
  };
}

function placeOf(view: EditorView, at: number | 'end' | 'expression'): number {
  const text = view.state.doc.toString();
  if (typeof at === 'number') return Math.min(at, text.length);
  if (at === 'end') return text.length;
  const first = pieces(text).find(({ kind }) => kind === 'expression');
  return first ? first.to - (text.charAt(first.to - 1) === ' ' ? 1 : 0) : text.length;
}

function isInside(state: EditorState, position: number): boolean {
  return expressionAt(state.doc.toString(), position) !== undefined;
}

const typing: Extension = EditorView.inputHandler.of((view, from, to, typed) => {
  const done = from === to ? typedBraces(view.state.doc.toString(), from, typed) : undefined;
  if (!done) return false;
  const isChange = done.insert !== '' || done.from < done.to;
  // Where nothing becomes another, the list of completions stays.
  if (!isChange && done.caret === from) return true;
  view.dispatch({
    ...(isChange ? { changes: { from: done.from, to: done.to, insert: done.insert } } : {}),
    selection: { anchor: done.caret },
    userEvent: isChange ? 'input.type' : 'select',
  });
  if (typed === '{') startCompletion(view);
  return true;
});

/** In a field of one line, Enter is for expressions only. */
function swallowEnter(view: EditorView): boolean {
  if (completionStatus(view.state) === 'active') return false;
  return !isInside(view.state, view.state.selection.main.head);
}

function completion(options: TemplateOptions): Extension {
  const source = (context: CompletionContext): CompletionResult | null => {
    const text = context.state.doc.toString();
    const piece = expressionAt(text, context.pos);
    if (!piece) return null;
    const before = text.slice(piece.from, context.pos);
    const isAsked = context.explicit || /[\p{ID_Continue}$."'[(]$/u.test(before) || before.trim() === '';
    const found = isAsked ? options.complete(before) : undefined;
    if (!found) return null;
    const from = piece.from + found.from;
    return {
      from,
      options: found.suggestions.map((it) => completionOf(it)),
      validFor: /^[\p{ID_Continue}$]*$/u,
    };
  };
  return [
    completing({ override: [source], activateOnTypingDelay: 30, maxRenderedOptions: 60 }),
    Prec.highest(keymap.of([{ key: 'Tab', run: acceptCompletion }])),
  ];
}

function completionOf(suggestion: Suggestion): Completion {
  const { label, insert = label, back = 0, detail, info, rank } = suggestion;
  return {
    label,
    detail,
    boost: Math.max(-99, Math.min(99, rank - 50)),
    ...(info ? { info } : {}),
    apply(view, picked, from, to) {
      const start = from - back - (back > 0 && view.state.sliceDoc(from - 2, from - back) === '?' ? 1 : 0);
      view.dispatch({
        changes: { from: start, to, insert },
        selection: { anchor: start + insert.length },
        userEvent: 'input.complete',
        annotations: [],
      });
      if (/[("'.]$/.test(insert) || picked.label.startsWith('$')) queueMicrotask(() => startCompletion(view));
    },
  };
}
