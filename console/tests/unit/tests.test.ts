import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Difference, ListedTest, MadeTest } from '$/api/tests';
import { withEvents, newRecord } from '$/run/record';
import { accepted, allAccepted, brief, rowsOf } from '$/screens/tests/differences';
import { caseOf } from '$/screens/tests/keep';
import { inEveryElement, pathOf, stepsOf, valueAt } from '$/screens/tests/paths';
import {
  checkedOf,
  differenceText,
  madeText,
  replayText,
  tallyText,
  unansweredText,
} from '$/screens/tests/words';

describe('paths', () => {
  it('are read as they are written', () => {
    const step = fc.oneof(fc.string({ minLength: 0 }), fc.nat(), fc.constant(null));
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 6 }), (steps) => {
        expect(stepsOf(pathOf(steps))).toEqual(steps);
      }),
    );
  });
  it.each([
    ['output.items[0].id', ['output', 'items', 0, 'id']],
    ['output[*].id', ['output', null, 'id']],
    ['output.*', ['output', null]],
    ['nodes["a/b"].x', ['nodes', 'a/b', 'x']],
  ])('%s', (path, steps) => expect(stepsOf(path)).toEqual(steps));
  it.each(['', 'output[x]', 'output..a', '[0'])('are not %s', (path) =>
    expect(stepsOf(path)).toBeUndefined(),
  );
  it('lead through lists to every element', () => {
    expect(inEveryElement('output.items[3].at[0]')).toBe('output.items[*].at[*]');
    expect(inEveryElement('output.at')).toBeUndefined();
  });
  it('lead to values', () => {
    expect(valueAt({ a: [{ b: null }] }, ['a', 0, 'b'])).toBeNull();
    expect(valueAt({ a: [] }, ['a', 0, 'b'])).toBeUndefined();
    expect(valueAt({}, ['toString'])).toBeUndefined();
  });
});

const changed = (path: string): Difference => ({ path, kind: 'changed', expected: 1, actual: 2 });

describe('differences', () => {
  it('are rows of a tree that count what is below', () => {
    const rows = rowsOf([changed('output.items[0].id'), changed('output.items[1]'), changed('error.code')]);
    expect(rows.map(({ name, depth, count }) => [name, depth, count])).toEqual([
      ['output', 0, 2],
      ['items', 1, 2],
      ['[0]', 2, 1],
      ['id', 3, 1],
      ['[1]', 2, 1],
      ['error', 0, 1],
      ['code', 1, 1],
    ]);
    expect(rows[3]?.path).toBe('output.items[0].id');
    expect(rows[3]?.difference?.actual).toBe(2);
    expect(rows[1]?.difference).toBeUndefined();
  });
  it('have values on one line', () => {
    expect(brief({ a: [1] })).toBe('{"a":[1]}');
    expect(brief('x'.repeat(500))).toHaveLength(121);
  });
});

describe('accepting', () => {
  const actual = { output: { n: 2, list: [1, { a: 2 }, 3], extra: true }, nodes: { x: [1] } };
  it('takes over what is at a path, and leaves the rest', () => {
    const expected = { output: { n: 1, list: [1, { a: 1 }], gone: 1 } };
    expect(accepted(expected, actual, 'output.n')).toEqual({ output: { ...expected.output, n: 2 } });
    expect(accepted(expected, actual, 'output.list[1].a')).toEqual({
      output: { n: 1, list: [1, { a: 2 }], gone: 1 },
    });
    expect(accepted(expected, actual, 'output.list[2]')).toEqual({
      output: { n: 1, list: [1, { a: 1 }, 3], gone: 1 },
    });
    expect(accepted(expected, actual, 'output.gone')).toEqual({ output: { n: 1, list: [1, { a: 1 }] } });
    expect(accepted(expected, actual, 'output.extra').output).toHaveProperty('extra', true);
    expect(expected.output.n).toBe(1);
  });
  it('fills a list up to the element', () => {
    expect(accepted({ output: [] }, { output: [1, 2, 3] }, 'output[2]')).toEqual({ output: [1, 2, 3] });
    expect(accepted({ output: [1, 2, 3] }, { output: [1] }, 'output[1]')).toEqual({ output: [1] });
  });
  it('of an error forgets the output, and of an output the error', () => {
    const failed = { error: { code: 'THROWN', message: 'at 14:02', nodeId: 'a' } };
    expect(accepted({ output: 1 }, failed, 'error')).toEqual({ error: { code: 'THROWN', nodeId: 'a' } });
    expect(accepted({ error: { code: 'X' } }, { output: 1 }, 'error')).toEqual({});
    expect(allAccepted(failed)).toEqual({ error: { code: 'THROWN', nodeId: 'a' } });
    expect(allAccepted(actual)).toBe(actual);
  });
  it('never changes what it was given', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (output, other) => {
        const before = JSON.stringify(output);
        const taken = accepted({ output }, { output: other }, 'output');
        expect(taken).toEqual({ output: other });
        expect(JSON.stringify(output)).toBe(before);
      }),
    );
  });
});

describe('words', () => {
  it('say how tests ended', () => {
    expect(tallyText({ passed: 0, failed: 0, errored: 0 })).toBe('No tests');
    expect(tallyText({ passed: 1, failed: 0, errored: 0 })).toBe('The test passes');
    expect(tallyText({ passed: 3, failed: 0, errored: 0 })).toBe('All 3 tests pass');
    expect(tallyText({ passed: 2, failed: 1, errored: 0 })).toBe('1 of 3 tests does not pass');
    expect(tallyText({ passed: 0, failed: 1, errored: 1 })).toBe('2 of 2 tests do not pass');
  });
  it('say what another version did with recorded events', () => {
    const counts = { same: 0, different: 0, unanswered: 0, skipped: 0 };
    expect(replayText(counts)).toBe('No events to compare');
    expect(replayText({ ...counts, same: 1 })).toBe('Does the same with 1 recorded event');
    expect(replayText({ ...counts, same: 4, skipped: 2 })).toBe(
      'Does the same with 4 recorded events, 2 can’t be replayed',
    );
    expect(replayText({ ...counts, same: 4, different: 1, unanswered: 1 })).toBe(
      'Differs with 2 of 6 recorded events, 1 with requests that no journal answers',
    );
    expect(replayText({ ...counts, same: 4, unanswered: 2 })).toBe(
      'Differs with 2 of 6 recorded events, with requests that no journal answers',
    );
    expect(differenceText({ path: 'output.n', kind: 'missing', expected: 6 })).toBe('output.n: 6 → nothing');
    const nameOf = (id: string) => `“${id}”`;
    expect(unansweredText({ nodeId: 'ask', kind: 'http', reason: 'changed' }, nameOf)).toBe(
      '“ask” has the effect http, with another request than in the run: no journal has an answer.',
    );
  });
  it('say what is known of a version', () => {
    const listed = (status: string | null, versionNumber = 2) =>
      ({ lastResult: status && { status, versionNumber, at: '' } }) as ListedTest;
    expect(checkedOf([], 2)).toBeUndefined();
    expect(checkedOf([listed('passed')], 2)?.status).toBe('passed');
    expect(checkedOf([listed('passed'), listed('errored')], 2)?.status).toBe('failed');
    expect(checkedOf([listed('passed'), listed(null)], 2)).toEqual({ status: 'unknown', text: '2 tests' });
    expect(checkedOf([listed('passed', 1)], 2)?.status).toBe('unknown');
  });
  it('say what a new test lets out', () => {
    const found = (...reasons: string[]) =>
      ({
        test: { case: { name: 'x' } },
        unpinned: reasons.map((reason, at) => ({ nodeId: `n${at}`, kinds: ['http'], reason })),
      }) as unknown as MadeTest;
    expect(madeText(found())).toBe('Made the test “x”.');
    expect(madeText(found('notReached'))).toBe('Made the test “x”.');
    expect(madeText(found('noTrace'))).toContain('Not pinned: n0. It ends before that reaches outside.');
    expect(madeText(found('noTrace'))).not.toContain('later');
    expect(madeText(found('notReplayed'))).toContain('outside. Make it again later.');
  });
});

describe('keeping a test run', () => {
  const execution = (nodeId: string, port: string | null, output: unknown, path = '') => ({
    ...{ nodeId, path, port, output, state: 'ended' as const },
    ...{ startedAtMs: 0, durationUs: 1, fuel: 1, pinned: false },
  });
  const effect = (nodeId: string, kind: string) => ({
    ...{ nodeId, kind, host: null, status: null, error: null, startedAtMs: 0, durationUs: 1 },
  });
  const record = {
    ...withEvents(newRecord('x'), []),
    status: 'completed' as const,
    output: { ok: true },
    executions: [
      execution('ask', 'out', { status: 200 }),
      execution('sign', 'out', 'abc'),
      execution('each', 'out', 1, 'loop[0]'),
      execution('large', 'out', { truncated: true, bytes: 90_000, excerpt: '' }),
    ],
    effects: [effect('ask', 'http'), effect('sign', 'hash'), effect('each', 'http'), effect('large', 'sql')],
  };
  const began = { triggerId: 'start', environmentId: undefined, event: { n: 1 }, pins: { note: 2 } };
  it('pins what one value says, and expects the output', () => {
    expect(caseOf('x', began, record)).toEqual({
      name: 'x',
      triggerNodeId: 'start',
      event: { n: 1 },
      pins: { note: 2, ask: { $pin: true, port: 'out', value: { status: 200 } } },
      expect: { output: { ok: true } },
    });
  });
  it('expects the error of one that failed', () => {
    const error = { code: 'THROWN', message: 'at 14:02', nodeId: 'a' };
    expect(caseOf('x', began, { ...record, error }).expect).toEqual({
      error: { code: 'THROWN', nodeId: 'a' },
    });
  });
});
