/** The validator's findings as CodeMirror shows them. */

import type { Action, Diagnostic } from '@codemirror/lint';
import type { Span } from '../api';
import { clamp, type Fix } from '../findings';

export interface Mark {
  severity: 'error' | 'warning';
  message: string;
  help?: string | undefined;
  /** Without one, the whole text is meant. */
  span?: Span | null | undefined;
  fix?: Fix | undefined;
}

export function lintOf(length: number, marks: readonly Mark[]): Diagnostic[] {
  return marks.map((mark) => {
    const { start, end } = clamp(mark.span ?? { start: 0, end: length }, length);
    const actions: Action[] = mark.fix ? [fixAction(mark.fix)] : [];
    const message = mark.help ? `${mark.message}: ${mark.help}` : mark.message;
    return {
      from: start,
      to: Math.max(end, Math.min(start + 1, length)),
      severity: mark.severity,
      message,
      actions,
    };
  });
}

function fixAction(fix: Fix): Action {
  return {
    name: fix.label,
    apply: (view) => {
      const { start, end } = clamp(fix.span, view.state.doc.length);
      view.dispatch({ changes: { from: start, to: end, insert: fix.text }, userEvent: 'input.fix' });
    },
  };
}
