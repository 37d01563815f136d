/** Parameter values: reading, changing (immutably), and whether they hold expressions. */

import type { Field, Path, Shape } from './fields';

/** Whether a value is a text with `{{`. */
export function hasExpression(value: unknown): value is string {
  return typeof value === 'string' && value.includes('{{');
}

/** Whether a value is one expression and nothing else, so that it keeps its type. */
export function isSoleExpression(value: unknown): boolean {
  return typeof value === 'string' && /^\{\{[^]*\}\}$/.test(value) && value.indexOf('{{', 2) === -1;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value at a path; `undefined` where there is none. */
export function at(value: unknown, path: Path): unknown {
  let found = value;
  for (const step of path) {
    if (typeof step === 'number') found = Array.isArray(found) ? found[step] : undefined;
    else found = isObject(found) && Object.hasOwn(found, step) ? found[step] : undefined;
  }
  return found;
}

/**
 * A copy in which the value at `path` is another; what is not on the path is shared. `undefined` removes a field of an
 * object or an element of a list. Missing objects and lists on the way are made.
 */
export function withValue(value: unknown, path: Path, next: unknown): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return next;
  if (typeof step === 'number') {
    const list = Array.isArray(value) ? [...(value as unknown[])] : [];
    const inner = withValue(list[step], rest, next);
    if (inner === undefined) list.splice(step, 1);
    else list[step] = inner;
    return list;
  }
  const inner = withValue(
    isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined,
    rest,
    next,
  );
  const entries = Object.entries(isObject(value) ? value : {});
  const index = entries.findIndex(([name]) => name === step);
  if (inner === undefined) return Object.fromEntries(entries.filter(([name]) => name !== step));
  if (index === -1) entries.push([step, inner]);
  else entries[index] = [step, inner];
  // fromEntries, so that `__proto__` is a field like any other.
  return Object.fromEntries(entries);
}

/** A copy of a list in which the element at `from` stands at `to`. */
export function moved<T>(list: readonly T[], from: number, to: number): T[] {
  const copy = [...list];
  const [element] = copy.splice(from, 1);
  if (element !== undefined) copy.splice(Math.max(0, Math.min(to, copy.length)), 0, element);
  return copy;
}

/** What a new element or a newly chosen shape begins with. */
export function initial(field: Field): unknown {
  if (field.default !== undefined) return structuredClone(field.default);
  return initialOf(field.shape);
}

export function initialOf(shape: Shape): unknown {
  switch (shape.kind) {
    case 'text':
    case 'any':
      return '';
    case 'number':
      return shape.min ?? 0;
    case 'boolean':
      return false;
    case 'select':
      return shape.options[0]?.value ?? '';
    case 'list':
      return [];
    case 'map':
      return {};
    case 'object':
      return Object.fromEntries(
        shape.fields.filter((inner) => inner.required).map((inner) => [inner.name, initial(inner)]),
      );
    case 'variants':
      return shape.variants[0] ? initialOf(shape.variants[0].shape) : '';
  }
}

/** How well a value has a shape: 0 not at all, more is better. Expressions inside of it are not looked at. */
export function fit(value: unknown, shape: Shape): number {
  switch (shape.kind) {
    case 'text':
      return typeof value === 'string' ? 2 : 0;
    case 'select':
      return shape.options.some((option) => option.value === value) ? 3 : 0;
    case 'number':
      return typeof value === 'number' &&
        value >= (shape.min ?? -Infinity) &&
        value <= (shape.max ?? Infinity)
        ? 2
        : 0;
    case 'boolean':
      return typeof value === 'boolean' ? 2 : 0;
    case 'list':
      return Array.isArray(value) ? 2 : 0;
    case 'map':
      return isObject(value) ? 1 : 0;
    case 'object':
      return isObject(value)
        ? 1 + shape.fields.filter((inner) => Object.hasOwn(value, inner.name)).length
        : 0;
    case 'variants':
      return Math.max(0, ...shape.variants.map((variant) => fit(value, variant.shape)));
    case 'any':
      return 1;
  }
}

/** The variant that a value has; the first one if it has none of them. */
export function variantOf(value: unknown, shapes: readonly Shape[]): number {
  const fits = shapes.map((shape) => fit(value, shape));
  const best = Math.max(...fits);
  return best > 0 ? fits.indexOf(best) : 0;
}
