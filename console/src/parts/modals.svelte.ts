/** The modal dialogs that are open, the last one on top. What is outside of that one can't be reached, nor is it read out. */

import { untrack } from 'svelte';

class Modals {
  #open = $state.raw<readonly HTMLDialogElement[]>([]);

  get top(): HTMLDialogElement | undefined {
    return this.#open.at(-1);
  }

  /** Until the returned function is called. */
  add(dialog: HTMLDialogElement): () => void {
    this.#set((open) => [...open, dialog]);
    return () => this.#set((open) => open.filter((other) => other !== dialog));
  }

  #set(change: (open: readonly HTMLDialogElement[]) => readonly HTMLDialogElement[]): void {
    this.#open = change(untrack(() => this.#open));
  }
}

export const modals = new Modals();
