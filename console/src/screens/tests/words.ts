/** Words about tests. Pure. */

import type { ReplayReport, UnansweredEffect } from '$/api/replay';
import type { Difference, ListedTest, MadeTest, Tally } from '$/api/tests';

/** A test that was made of a run or event, and what of it is not pinned. */
export function madeText({ test, unpinned }: MadeTest): string {
  const text = `Made the test “${test.case.name}”.`;
  // A node that the run did not come to does no harm as long as the test goes the same way.
  const loose = unpinned.filter((node) => node.reason !== 'notReached').map((node) => node.nodeId);
  if (loose.length === 0) return text;
  const names = loose.slice(0, 3).join(', ') + (loose.length > 3 ? ` and ${loose.length - 3} more` : '');
  const told = `${text} Not pinned: ${names}. It ends before ${loose.length === 1 ? 'that reaches' : 'they reach'} outside.`;
  // The server had no room to execute the run once more.
  return unpinned.some((node) => node.reason === 'notReplayed') ? `${told} Make it again later.` : told;
}

/** How tests ended, in words. */
export function tallyText({ passed, failed, errored }: Pick<Tally, 'passed' | 'failed' | 'errored'>): string {
  const all = passed + failed + errored;
  if (all === 0) return 'No tests';
  if (passed === all) return all === 1 ? 'The test passes' : `All ${all} tests pass`;
  return `${all - passed} of ${all} ${all === 1 ? 'test' : 'tests'} ${all - passed === 1 ? 'does' : 'do'} not pass`;
}

type Counts = Pick<ReplayReport, 'same' | 'different' | 'unanswered' | 'skipped'>;

/** What another version did with recorded events, in words. */
export function replayText({ same, different, unanswered, skipped }: Counts): string {
  const compared = same + different + unanswered;
  const left = skipped > 0 ? `, ${skipped} can’t be replayed` : '';
  if (compared === 0) return `No events to compare${left}`;
  const events = compared === 1 ? 'event' : 'events';
  if (same === compared) return `Does the same with ${compared} recorded ${events}${left}`;
  const differing = different + unanswered;
  const asks =
    unanswered === 0
      ? ''
      : unanswered === differing
        ? ', with requests that no journal answers'
        : `, ${unanswered} with requests that no journal answers`;
  return `Differs with ${differing} of ${compared} recorded ${events}${asks}${left}`;
}

const valueText = (value: unknown): string => (value === undefined ? 'nothing' : JSON.stringify(value));

/** A place at which values differ, in words. */
export const differenceText = ({ path, expected, actual }: Difference): string =>
  `${path}: ${valueText(expected)} → ${valueText(actual)}`;

/** What a journal has no answer to, in words. */
export const unansweredText = (
  { nodeId, kind, reason }: UnansweredEffect,
  nameOf: (id: string) => string,
): string => {
  const what = reason === 'changed' ? 'with another request than in the run' : 'which it did not in the run';
  return `${nodeId ? nameOf(nodeId) : 'A node'} has the effect ${kind}, ${what}: no journal has an answer.`;
};

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
