/** Tests of a pattern: cases that are kept with it, and how they end. */

import { answer, api, type Schemas } from './client';
import type { Drawing } from './editor';
import { query } from './queries';

export type ListedTest = Schemas['ListedTest'];
export type WholeTest = Schemas['WholeTest'];
export type Case = Schemas['Case'];
export type Expectation = Schemas['Expectation'];
export type CaseResult = Schemas['CaseResult'];
export type Difference = Schemas['Difference'];
export type Tally = Schemas['Tally'];
export type MadeTest = Schemas['MadeTest'];

const at = (id: string) => ({ params: { path: { id } } });
const one = (id: string, testId: string) => ({ params: { path: { id, testId } } });

/** The tests of a pattern, the oldest first. */
export const tests = (pattern: () => string) =>
  query(
    () => ['tests', pattern()],
    async (signal) => (await answer(api.GET('/api/patterns/{id}/tests', { ...at(pattern()), signal }))).tests,
  );

/** A test with its case. */
export const test = (pattern: () => string, id: () => string) =>
  query(
    () => ['test', pattern(), id()],
    (signal) => answer(api.GET('/api/patterns/{id}/tests/{testId}', { ...one(pattern(), id()), signal })),
    () => ({ enabled: id() !== '' }),
  );

export const listTests = async (pattern: string): Promise<ListedTest[]> =>
  (await answer(api.GET('/api/patterns/{id}/tests', at(pattern)))).tests;

export const addTest = (pattern: string, body: Partial<Case> & { name: string }): Promise<WholeTest> =>
  answer(api.POST('/api/patterns/{id}/tests', { ...at(pattern), body: body as Case }));

export const changeTest = (pattern: string, id: string, changes: Partial<Case>): Promise<WholeTest> =>
  answer(api.PUT('/api/patterns/{id}/tests/{testId}', { ...one(pattern, id), body: changes }));

export const deleteTest = (pattern: string, id: string): Promise<unknown> =>
  answer(api.DELETE('/api/patterns/{id}/tests/{testId}', one(pattern, id)));

/** Runs tests: all or one; of the newest version, or of what is on the screen. */
export const runTests = (
  pattern: string,
  what: { tests?: string[]; drawing?: Drawing } = {},
): Promise<Tally> => {
  const { tests, drawing } = what;
  const body = { ...(tests && { tests }), ...drawing };
  return answer(api.POST('/api/patterns/{id}/tests/run', { ...at(pattern), body: body as never }));
};

export const testFromRun = (pattern: string, body: Schemas['FromRun']): Promise<MadeTest> =>
  answer(api.POST('/api/patterns/{id}/tests/from-run', { ...at(pattern), body }));

export const testFromEvent = (pattern: string, body: Schemas['FromEvent']): Promise<MadeTest> =>
  answer(api.POST('/api/patterns/{id}/tests/from-event', { ...at(pattern), body }));
