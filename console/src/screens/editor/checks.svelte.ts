/** What is known of a pattern's tests while it is edited: they run after each save, and never hold it up. */

import { runTests, tests } from '$/api/tests';
import { refresh } from '$/api/queries';
import { type Checked, checkedOf } from '../tests/words';
import type { Work } from './work.svelte';

export class Checks {
  isRunning = $state(false);
  /** Why they could not be run. */
  problem = $state('');
  readonly #list;

  constructor(private readonly work: Work) {
    this.#list = tests(() => work.pattern);
  }

  get count(): number {
    return this.#list.data?.length ?? 0;
  }

  /** What to show, if the pattern has tests. */
  get now(): Checked | undefined {
    if (this.count === 0) return undefined;
    if (this.isRunning) return { status: 'running', text: 'Testing…' };
    if (this.problem) return { status: 'errored', text: 'Tests could not be run' };
    return checkedOf(this.#list.data ?? [], this.work.version);
  }

  /** Runs all tests on the newest version. */
  async run(): Promise<void> {
    if (this.count === 0) return;
    this.isRunning = true;
    this.problem = '';
    try {
      await runTests(this.work.pattern);
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
    } finally {
      this.isRunning = false;
      await refresh('tests', this.work.pattern);
    }
  }
}
