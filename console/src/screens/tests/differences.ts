/** Differences of a test as the rows of a tree, and what is expected once some of them are accepted. Pure. */

import type { Difference, Expectation } from '$/api/tests';
import { pathOf, type Step, stepsOf, valueAt } from './paths';

export interface Row {
  /** The row's key: its path. */
  path: string;
  /** The last step, for people. */
  name: string;
  depth: number;
  /** Differences at it and below. */
  count: number;
  /** What differs at the row itself. */
  difference: Difference | undefined;
}

interface Branch {
  step: Step;
  difference?: Difference;
  children: Map<Step, Branch>;
}

const nameOf = (step: Step): string => (typeof step === 'number' ? `[${step}]` : (step ?? '[*]'));

/** The rows, in the order of the differences. */
export function rowsOf(differences: readonly Difference[]): Row[] {
  const root: Branch = { step: '', children: new Map() };
  for (const difference of differences) {
    let branch = root;
    for (const step of stepsOf(difference.path) ?? [difference.path]) {
      const next = branch.children.get(step) ?? { step, children: new Map() };
      branch.children.set(step, next);
      branch = next;
    }
    branch.difference = difference;
  }
  const rows: Row[] = [];
  const visit = (branch: Branch, before: readonly Step[], depth: number): number => {
    const steps = [...before, branch.step];
    const { difference } = branch;
    const row = { path: pathOf(steps), name: nameOf(branch.step), depth, count: 0, difference };
    rows.push(row);
    row.count = difference ? 1 : 0;
    for (const child of branch.children.values()) row.count += visit(child, steps, depth + 1);
    return row.count;
  };
  for (const branch of root.children.values()) visit(branch, [], 0);
  return rows;
}

type Box = Record<PropertyKey, unknown>;

/** A copy of `value` with what `actual` has at this path, or without it if `actual` has nothing there. */
function taken(value: unknown, actual: unknown, steps: readonly Step[], at = 0): unknown {
  const step = steps[at];
  if (step === undefined) return actual;
  if (step === null) return value;
  const inner = valueAt(actual, [step]);
  if (Array.isArray(value)) {
    const list: unknown[] = [...(value as unknown[])];
    const index = Number(step);
    if (inner === undefined) return list.slice(0, index);
    // What comes before it has to be there as well.
    if (index > list.length) list.push(...(actual as unknown[]).slice(list.length, index));
    list[index] = taken(list[index], inner, steps, at + 1);
    return list;
  }
  if (typeof value !== 'object' || value === null) return actual;
  const copy: Box = { ...(value as Box) };
  if (inner === undefined) delete copy[step];
  else copy[step] = taken(copy[step], inner, steps, at + 1);
  return copy;
}

/** What is expected once what the run gave at a path is right. */
export function accepted(expected: Expectation, actual: Expectation, path: string): Expectation {
  const steps = stepsOf(path);
  if (!steps) return expected;
  const next = taken(expected, actual, steps) as Expectation;
  // A run that fails has no output, and one that completes no error.
  if (next.error && next.output !== undefined) {
    const { output: _, ...rest } = next;
    return { ...rest, error: errorOf(next) };
  }
  return next;
}

const errorOf = ({ error }: Expectation): NonNullable<Expectation['error']> => {
  const { code, nodeId } = error ?? {};
  return { ...(code != null && { code }), ...(nodeId != null && { nodeId }) };
};

/** What is expected once all that the run gave is right. Messages of errors often have in them what is another time. */
export function allAccepted(actual: Expectation): Expectation {
  return actual.error ? { ...actual, error: errorOf(actual) } : actual;
}

/** A value on one line. */
export function brief(value: unknown, max = 120): string {
  const text = JSON.stringify(value) ?? '';
  return text.length > max ? `${text.slice(0, max)}…` : text;
}
