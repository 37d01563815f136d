/** Whether two JSON values have the same content; the order of fields does not matter. */
export function isEqual(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) {
    return Number.isNaN(one) && Number.isNaN(other);
  }
  if (Array.isArray(one) || Array.isArray(other)) {
    return (
      Array.isArray(one) &&
      Array.isArray(other) &&
      one.length === other.length &&
      one.every((item, place) => isEqual(item, other[place]))
    );
  }
  const [names, others] = [definedNames(one), definedNames(other)];
  return (
    names.length === others.length &&
    names.every(
      (name) =>
        Object.hasOwn(other, name) &&
        isEqual((one as Record<string, unknown>)[name], (other as Record<string, unknown>)[name]),
    )
  );
}

/** A field that is undefined does not survive JSON. */
function definedNames(object: object): string[] {
  return Object.entries(object).flatMap(([name, value]) => (value === undefined ? [] : [name]));
}
