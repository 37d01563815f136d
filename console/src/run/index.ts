/**
 * Runs, for whoever composes screens. No request leaves from here but by the `TestApi` that it is given.
 *
 * | component    |                                                                                            |
 * | ------------ | ------------------------------------------------------------------------------------------ |
 * | `TestPanel`  | starts test runs and shows them live; loaded when it is opened                             |
 * | `Trace`      | a run as it went: cursor, waterfall, the chosen execution, log, output                     |
 * | `Value`      | a JSON value as a tree of which only the visible rows are drawn                            |
 * | `ValueTable` | a list of objects as a table                                                               |
 *
 * `RunRecord` is the run as it is known: `recordOf(run)` of a stored one, `test.record` of a test. `traceOf(record)` is what
 * graph/trace.ts takes for the canvas.
 */
export type { ReplayVerdict, RunError, TestEvent, TestResult } from './events';
export { givenPins } from './continue';
export { recordOf, traceOf, type RunRecord, type StoredRun } from './record';
export type { Began, EventChoice, TestSetup, Trigger } from './setup';
export { ShownRun } from './shown-run.svelte';
export { default as Step } from './Step.svelte';
export { TestRun, type TestApi } from './test-run.svelte';
export { default as Trace } from './Trace.svelte';
export { default as Value } from './Value.svelte';
export { default as ValueTable } from './ValueTable.svelte';
