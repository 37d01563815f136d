/** Words about tests. Pure. */

import type { ListedTest, MadeTest, Tally } from '$/api/tests';

/** A test that was made of a run or event, and what of it is not pinned. */
export function madeText({ test, unpinned }: MadeTest): string {
  const text = `Made the test “${test.case.name}”.`;
  // A node that the run did not come to does no harm as long as the test goes the same way.
  const loose = unpinned.filter((node) => node.reason !== 'notReached').map((node) => node.nodeId);
  if (loose.length === 0) return text;
  const names = loose.slice(0, 3).join(', ') + (loose.length > 3 ? ` and ${loose.length - 3} more` : '');
  return `${text} Not pinned: ${names}. It ends before ${loose.length === 1 ? 'that reaches' : 'they reach'} outside.`;
}

/** How tests ended, in words. */
export function tallyText({ passed, failed, errored }: Pick<Tally, 'passed' | 'failed' | 'errored'>): string {
  const all = passed + failed + errored;
  if (all === 0) return 'No tests';
  if (passed === all) return all === 1 ? 'The test passes' : `All ${all} tests pass`;
  return `${all - passed} of ${all} ${all === 1 ? 'test' : 'tests'} ${all - passed === 1 ? 'does' : 'do'} not pass`;
}

export interface Checked {
  /** As `Status` has it. */
  status: string;
  text: string;
}

/** How the tests of a version ended; undefined without any. */
export function checkedOf(list: readonly ListedTest[], version: number): Checked | undefined {
  if (list.length === 0) return undefined;
  const known = list.map(({ lastResult }) =>
    lastResult?.versionNumber === version ? lastResult.status : 'unknown',
  );
  const count = (status: string) => known.filter((each) => each === status).length;
  if (count('unknown') > 0)
    return { status: 'unknown', text: list.length === 1 ? '1 test' : `${list.length} tests` };
  const tally = { passed: count('passed'), failed: count('failed'), errored: count('errored') };
  return { status: tally.passed === list.length ? 'passed' : 'failed', text: tallyText(tally) };
}
