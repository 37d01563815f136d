/** What `⌘K` offers beyond places: the commands of the page that is open. */

import type { IconNode } from 'lucide';
import { untrack } from 'svelte';

export interface Command {
  label: string;
  /** For example `mod+s`, or `g p` for two keys one after the other. */
  keys?: string;
  icon?: IconNode;
  /** Other words that find it. */
  words?: string;
  run: () => void;
}

class Commands {
  #lists = $state.raw<readonly (readonly Command[])[]>([]);
  readonly all = $derived(this.#lists.flat());
  isOpen = $state(false);

  /** Offers commands until the returned function is called: for `$effect`. */
  offer(list: readonly Command[]): () => void {
    // An effect that offers commands must not run again because they are offered.
    this.#lists = [...untrack(() => this.#lists), list];
    return () => {
      this.#lists = this.#lists.filter((other) => other !== list);
    };
  }
}

export const commands = new Commands();
