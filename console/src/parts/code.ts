/** CodeMirror as the console has it. The heaviest thing here: only ever imported with `import()`. */

import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { javascript } from '@codemirror/lang-javascript';
import { json, jsonParseLinter } from '@codemirror/lang-json';
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { lintGutter, linter } from '@codemirror/lint';
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search';
import { Compartment, EditorState, type Extension, Prec } from '@codemirror/state';
import {
  drawSelection,
  EditorView,
  highlightSpecialChars,
  keymap,
  lineNumbers,
  placeholder,
} from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { nonce } from './nonce';

export type Language = 'json' | 'javascript' | 'text';

export interface CodeOptions {
  parent: HTMLElement;
  value: string;
  language: Language;
  label: string;
  readonly: boolean;
  placeholder: string;
  onchange: (value: string) => void;
  extensions: Extension;
}

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier, tags.controlKeyword], color: 'var(--code-keyword)' },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: 'var(--code-string)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--code-number)' },
  { tag: [tags.propertyName, tags.function(tags.variableName)], color: 'var(--code-name)' },
  { tag: tags.comment, color: 'var(--code-comment)', fontStyle: 'italic' },
]);

const look = EditorView.theme({
  '&': { height: '100%', fontSize: 'var(--text-s)', color: 'var(--text)', backgroundColor: 'transparent' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.6' },
  '.cm-content': { caretColor: 'var(--text)', padding: '6px 0' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    background: 'var(--selection)',
  },
  '.cm-gutters': { background: 'transparent', border: 'none', color: 'var(--dim)' },
  '.cm-placeholder': { color: 'var(--dim)' },
  '.cm-tooltip': {
    border: 'none',
    borderRadius: 'var(--radius)',
    background: 'var(--raised)',
    boxShadow: 'var(--shadow-2)',
    color: 'var(--text)',
  },
  '.cm-matchingBracket': { background: 'var(--accent-soft)', color: 'inherit' },
  '.cm-searchMatch': { background: 'var(--warn-soft)' },
  '.cm-panels': { background: 'var(--panel)', color: 'var(--text)' },
});

/** So long after Escape, Tab leaves the field. */
const LEAVING_MS = 2_000;

/** In a dialog, the first Escape is the field's own, after which Tab leaves it. The next one closes the dialog. */
function escapeInDialog(): Extension {
  let leavingUntil = 0;
  const run = (view: EditorView): boolean => {
    const now = performance.now();
    if (view.state.readOnly || now < leavingUntil || !view.dom.closest('dialog')) return false;
    leavingUntil = now + LEAVING_MS;
    view.setTabFocusMode(LEAVING_MS);
    return true;
  };
  return Prec.lowest(keymap.of([{ key: 'Escape', run }]));
}

/** What every code field of the console has: look, history, search, Escape leaves the field. */
export function base(label: string): Extension {
  return [
    EditorView.cspNonce.of(nonce()),
    // It has the focus anyway; programs that check pages don't see that of what is edited.
    EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
    EditorView.lineWrapping,
    look,
    syntaxHighlighting(colours),
    highlightSpecialChars(),
    history(),
    drawSelection(),
    indentOnInput(),
    bracketMatching(),
    highlightSelectionMatches(),
    search({ top: true }),
    keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap]),
    escapeInDialog(),
  ];
}

function languageOf(language: Language): Extension {
  if (language === 'javascript') return javascript();
  if (language === 'json') return [json(), linter(jsonOrNothing), lintGutter()];
  return [];
}

/** An empty field is not yet wrong. */
function jsonOrNothing(view: EditorView) {
  return view.state.doc.length === 0 ? [] : jsonParseLinter()(view);
}

/** A code field in `parent`. */
export function codeField(options: CodeOptions) {
  const readonly = new Compartment();
  const whether = (is: boolean) => [EditorState.readOnly.of(is), EditorView.editable.of(true)];
  const view = new EditorView({
    parent: options.parent,
    state: EditorState.create({
      doc: options.value,
      extensions: [
        base(options.label),
        lineNumbers(),
        // Tab indents in code; Escape, then Tab, leaves the field.
        options.readonly ? [] : keymap.of([indentWithTab]),
        languageOf(options.language),
        placeholder(options.placeholder),
        readonly.of(whether(options.readonly)),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) options.onchange(update.state.doc.toString());
        }),
        options.extensions,
      ],
    }),
  });
  return {
    view,
    setValue(value: string): void {
      if (view.state.doc.toString() === value) return;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: value } });
    },
    setReadonly: (is: boolean) => view.dispatch({ effects: readonly.reconfigure(whether(is)) }),
    destroy: () => view.destroy(),
  };
}
