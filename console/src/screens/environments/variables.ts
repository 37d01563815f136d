/** Variables as they are typed. Pure: `tests/unit/variables.test.ts`. */

export interface Row {
  name: string;
  value: string;
}

type Value = string | number | boolean | null;

const isPlain = (text: string): boolean => typeof valueOf(text) === 'string' && valueOf(text) === text;

/** What a text stands for: a number, true, false, null, a quoted text, or itself. */
export function valueOf(text: string): Value {
  try {
    const value: unknown = JSON.parse(text);
    if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) return value as Value;
  } catch {
    // Not JSON: a text.
  }
  return text;
}

/** The text that stands for a value. */
export const textOf = (value: unknown): string =>
  typeof value === 'string' && isPlain(value) ? value : JSON.stringify(value);

export const rowsOf = (variables: object): Row[] =>
  Object.entries(variables).map(([name, value]) => ({ name, value: textOf(value) }));

/** Values by name; rows without a name are left out. */
export const valuesOf = (rows: readonly Row[]): Record<string, Value> =>
  Object.fromEntries(
    rows.filter((row) => row.name.trim()).map((row) => [row.name.trim(), valueOf(row.value)]),
  );
