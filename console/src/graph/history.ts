/** One history of immutable documents: what was done, undone and can be done again. */
import { applyEdit, type Edit } from './edit';
import { describeEdit } from './describe';
import type { Doc } from './model';

/** A step, with the document before it. */
export interface Step {
  readonly title: string;
  readonly before: Doc;
  readonly after: Doc;
  /** Edits of the same group that follow each other at once are one step, such as the moves of one drag. */
  readonly group?: string;
  /** Milliseconds, as the clock of whoever dispatched it says. */
  readonly at: number;
}

export interface History {
  readonly present: Doc;
  readonly past: readonly Step[];
  readonly future: readonly Step[];
}

/** Steps that are kept. */
const STEPS_MAX = 1_000;

export function makeHistory(doc: Doc): History {
  return { present: doc, past: [], future: [] };
}

export interface EditOptions {
  /** See `Step.group`. */
  readonly group?: string;
  readonly now?: number;
}

/** Applies an edit; the same history if it changes nothing. */
export function edited(history: History, edit: Edit, options: EditOptions = {}): History {
  const before = history.present;
  const after = applyEdit(before, edit);
  if (after === before) return history;
  const at = options.now ?? Date.now();
  const last = history.past.at(-1);
  const continues =
    options.group !== undefined && last?.group === options.group && history.future.length === 0;
  const step: Step = {
    title: describeEdit(edit, before),
    before: continues ? last.before : before,
    after,
    at,
    ...(options.group === undefined ? {} : { group: options.group }),
  };
  const kept = continues ? history.past.slice(0, -1) : history.past.slice(-(STEPS_MAX - 1));
  return { present: after, past: [...kept, step], future: [] };
}

export function undone(history: History): History {
  const step = history.past.at(-1);
  if (!step) return history;
  return { present: step.before, past: history.past.slice(0, -1), future: [step, ...history.future] };
}

export function redone(history: History): History {
  const [step, ...future] = history.future;
  if (!step) return history;
  return { present: step.after, past: [...history.past, step], future };
}
