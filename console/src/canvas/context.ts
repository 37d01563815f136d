/** What parts of the canvas may ask of the editor that they are in. */
import { getContext, setContext } from 'svelte';
import type { Note } from '../graph/model';

export interface EditorContext {
  /** Name of the flow, as handles carry it. */
  readonly flow: string;
  /** Whether fingers point: nothing hovers then. */
  readonly isCoarse: boolean;
  setNote(id: string, fields: Partial<Note>): void;
}

const KEY = Symbol('editor');

export function provideEditor(context: EditorContext): void {
  setContext(KEY, context);
}

export function useEditor(): EditorContext {
  return getContext<EditorContext>(KEY);
}
