/** How the tests of a pattern ended, while a screen is open. */

import { type CaseResult, runTests, type Tally } from '$/api/tests';
import type { Drawing } from '$/api/editor';
import { refresh } from '$/api/queries';

export class Results {
  #of = $state.raw<ReadonlyMap<string, CaseResult>>(new Map());
  /** Tests that are running; `all` of them. */
  running = $state.raw<'all' | ReadonlySet<string>>(new Set<string>());

  constructor(private readonly pattern: string) {}

  of(id: string): CaseResult | undefined {
    return this.#of.get(id);
  }

  isRunning(id: string): boolean {
    return this.running === 'all' || this.running.has(id);
  }

  /** Runs all tests, or one. */
  async run(only?: string, drawing?: Drawing): Promise<Tally> {
    this.running = only ? new Set([only]) : 'all';
    try {
      const tally = await runTests(this.pattern, {
        ...(only && { tests: [only] }),
        ...(drawing && { drawing }),
      });
      this.#of = new Map([
        ...this.#of,
        ...tally.results.map((result): [string, CaseResult] => [result.testId, result]),
      ]);
      return tally;
    } finally {
      this.running = new Set<string>();
      await refresh('tests', this.pattern);
    }
  }

  /** A test has changed: what is known of it says nothing any more. */
  forget(id: string): void {
    const next = new Map(this.#of);
    next.delete(id);
    this.#of = next;
  }
}
