/** What a strip of runs says. Pure: `tests/unit/screens.test.ts`. */

import type { Schemas } from '$/api/client';

const COUNTED: readonly (readonly [word: string, statuses: readonly string[]])[] = [
  ['succeeded', ['success']],
  ['failed', ['failure', 'dead_letter']],
  ['running', ['running']],
];

/** For example `Last 12 runs: 10 succeeded, 2 failed`. */
export function stripWords(runs: readonly Pick<Schemas['LatestRun'], 'status'>[]): string {
  const counts = COUNTED.map(([word, statuses]) => {
    const count = runs.filter(({ status }) => statuses.includes(status)).length;
    return count > 0 ? `${count} ${word}` : '';
  }).filter(Boolean);
  return `${runs.length === 1 ? 'Last run' : `Last ${runs.length} runs`}: ${counts.join(', ')}`;
}
