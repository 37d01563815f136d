/** CodeMirror for code: JavaScript modules, SQL, HTML, JSON. Heavy: only ever imported with `import()`. */

import { closeBrackets, closeBracketsKeymap } from '@codemirror/autocomplete';
import { indentWithTab } from '@codemirror/commands';
import { javascript, scopeCompletionSource } from '@codemirror/lang-javascript';
import { json } from '@codemirror/lang-json';
import { setDiagnostics } from '@codemirror/lint';
import { Compartment, EditorState, type Extension } from '@codemirror/state';
import { EditorView, keymap, lineNumbers, placeholder } from '@codemirror/view';
import { base } from '../../parts/code';
import { completing } from './completion';
import { lintOf, type Mark } from './marks';

export interface ModuleOptions {
  parent: HTMLElement;
  value: string;
  language: 'javascript' | 'json' | 'text';
  label: string;
  describedBy: string | undefined;
  placeholder: string;
  readOnly: boolean;
  lines: boolean;
  onchange: (value: string) => void;
  onblur: () => void;
}

export interface ModuleField {
  setValue: (value: string) => void;
  setReadOnly: (is: boolean) => void;
  setMarks: (marks: readonly Mark[]) => void;
  focus: () => void;
  destroy: () => void;
}

const look = EditorView.theme({
  '.cm-content': { minHeight: '28px' },
  '.cm-line': { padding: '0 var(--s2)' },
});

export function moduleField(options: ModuleOptions): ModuleField {
  const readOnly = new Compartment();
  const view = new EditorView({
    parent: options.parent,
    state: EditorState.create({
      doc: options.value,
      extensions: [
        base(options.label),
        options.describedBy
          ? EditorView.contentAttributes.of({ 'aria-describedby': options.describedBy })
          : [],
        look,
        options.lines ? lineNumbers() : [],
        readOnly.of(EditorState.readOnly.of(options.readOnly)),
        placeholder(options.placeholder),
        closeBrackets(),
        language(options.language),
        // Tab indents; Escape, then Tab, leaves the field.
        keymap.of([...closeBracketsKeymap, ...(options.lines ? [indentWithTab] : [])]),
        EditorView.updateListener.of((update) => {
          if (update.docChanged && !update.transactions.some((it) => it.isUserEvent('outside'))) {
            options.onchange(update.state.doc.toString());
          }
        }),
        EditorView.domEventHandlers({ blur: () => options.onblur() }),
      ],
    }),
  });
  return {
    setValue(value) {
      if (view.state.doc.toString() === value) return;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: value }, userEvent: 'outside' });
    },
    setReadOnly: (is) => view.dispatch({ effects: readOnly.reconfigure(EditorState.readOnly.of(is)) }),
    setMarks: (marks) => view.dispatch(setDiagnostics(view.state, lintOf(view.state.doc.length, marks))),
    focus: () => view.focus(),
    destroy: () => view.destroy(),
  };
}

/** What a module of the node JavaScript has besides the language itself. */
const MODULE_SCOPE = { Math, JSON, Object, Array, Number, String, Date, Map, Set, URL };

function language(name: ModuleOptions['language']): Extension {
  if (name === 'json') return json();
  if (name === 'text') return [];
  const own = scopeCompletionSource(MODULE_SCOPE);
  return [javascript(), completing({}), EditorState.languageData.of(() => [{ autocomplete: own }])];
}
