/** The sample value that a chain stands for. */

import type { Binding, Step } from './chain';
import type { Sample, Surroundings } from './sample';
import { isObject } from './values';

export interface Resolved {
  value: unknown;
  /** The sample that it comes from; undefined for what is written out. */
  sample: Sample | undefined;
}

/** The value of a chain, as far as it is known without evaluating anything. */
export function resolve(
  chain: readonly Step[],
  surroundings: Surroundings,
  bindings: readonly Binding[],
  depth = 0,
): Resolved | undefined {
  const [first, ...rest] = chain;
  if (!first || depth > 8) return undefined;
  if (first.kind === 'literal') return walk({ value: first.value, sample: undefined }, rest);
  if (first.kind !== 'root') return undefined;
  const found = root(first.name, rest, surroundings, bindings, depth);
  return found && walk(found.resolved, found.rest);
}

interface Root {
  resolved: Resolved;
  rest: readonly Step[];
}

function root(
  name: string,
  rest: readonly Step[],
  surroundings: Surroundings,
  bindings: readonly Binding[],
  depth: number,
): Root | undefined {
  const bound = bindings.findLast((binding) => binding.name === name);
  if (bound) {
    const list = resolve(bound.of, surroundings, bindings, depth + 1);
    const [element] = Array.isArray(list?.value) ? (list.value as unknown[]) : [];
    return list && element !== undefined
      ? { resolved: { value: element, sample: list.sample }, rest }
      : undefined;
  }
  const of = (sample: Sample | undefined, rest: readonly Step[]): Root | undefined =>
    sample && { resolved: { value: sample.value, sample }, rest };
  switch (name) {
    case '$input':
    case '$json':
      return of(surroundings.input, rest);
    case '$trigger':
      return of(surroundings.trigger, rest);
    case '$item':
      return of(surroundings.item, rest);
    case '$':
    case '$nodes':
    case '$node': {
      const [step, ...after] = rest;
      const written = step?.kind === 'call' ? step.argument : step?.kind === 'member' ? step.name : undefined;
      const node = surroundings.upstream.find((it) =>
        name === '$nodes' ? it.id === written : it.name === written || it.id === written,
      );
      return of(node?.sample, name === '$node' && isMember(after[0], 'json') ? after.slice(1) : after);
    }
    default:
      return undefined;
  }
}

function isMember(step: Step | undefined, name: string): boolean {
  return step?.kind === 'member' && step.name === name;
}

function walk(from: Resolved, steps: readonly Step[]): Resolved | undefined {
  let value = from.value;
  for (let index = 0; index < steps.length; index += 1) {
    const step = steps[index];
    if (step?.kind !== 'member') return undefined;
    if (steps[index + 1]?.kind === 'call') {
      const given = called(value, String(step.name));
      if (!given) return undefined;
      value = given.value;
      index += 1;
      continue;
    }
    value = memberOf(value, step.name);
    if (value === undefined) return undefined;
  }
  return { value, sample: from.sample };
}

function memberOf(value: unknown, name: string | number | undefined): unknown {
  if (name === undefined) return Array.isArray(value) ? (value[0] as unknown) : undefined;
  if (Array.isArray(value)) return typeof name === 'number' ? (value[name] as unknown) : undefined;
  return isObject(value) && Object.hasOwn(value, String(name)) ? value[String(name)] : undefined;
}

/** Methods whose result has the shape of what they are called on, or of its elements. */
function called(value: unknown, method: string): { value: unknown } | undefined {
  if (!Array.isArray(value)) {
    return method === 'first' || method === 'last' || method === 'all' ? { value } : undefined;
  }
  const list = value as unknown[];
  switch (method) {
    case 'first':
    case 'find':
    case 'at':
      return { value: list[0] };
    case 'last':
    case 'findLast':
      return { value: list.at(-1) };
    case 'all':
    case 'filter':
    case 'slice':
    case 'sort':
    case 'toSorted':
    case 'reverse':
    case 'toReversed':
    case 'unique':
    case 'compact':
    case 'concat':
      return { value: list };
    default:
      return undefined;
  }
}
