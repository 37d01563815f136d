/** Completion as all code fields have it. */

import {
  autocompletion,
  closeCompletion,
  completionKeymap,
  currentCompletions,
} from '@codemirror/autocomplete';
import { Prec, type Extension } from '@codemirror/state';
import { keymap, type EditorView } from '@codemirror/view';

type Config = Parameters<typeof autocompletion>[0];

/** Completion whose list Escape closes; one that is still being made must not keep Escape from leaving the field. */
export function completing(config: Config): Extension {
  const others = completionKeymap.filter(({ key }) => key !== 'Escape');
  return [
    autocompletion({ ...config, icons: false, defaultKeymap: false }),
    Prec.highest(keymap.of([...others, { key: 'Escape', run: close }])),
  ];
}

function close(view: EditorView): boolean {
  const isOpen = currentCompletions(view.state).length > 0;
  closeCompletion(view);
  return isOpen;
}
