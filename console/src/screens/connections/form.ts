/** The form of a connection, from the JSON Schema of its kind. Pure: `tests/unit/connections.test.ts`. */

import type { Schemas } from '$/api/client';

export type Kind = Schemas['ConnectionKindForm'];

/** A field as a form shows it. */
export interface FieldOf {
  name: string;
  label: string;
  help: string;
  isSecret: boolean;
  isRequired: boolean;
  placeholder: string;
  /** The values it can have, the usual one first; none: any. */
  options: readonly string[];
}

interface Property {
  title?: string;
  description?: string;
  writeOnly?: boolean;
  enum?: readonly string[];
  examples?: readonly string[];
}

/** Without the marks of code, which stand in the reference, and the full stop that would look like a fourth dot. */
export const plain = (text: string): string => text.replaceAll('`', '').replaceAll('….', '…');

/** The fields of a kind, in the order of its schema. */
export function fieldsOf(kind: Pick<Kind, 'schema'>): FieldOf[] {
  const schema = kind.schema as { properties?: Record<string, Property>; required?: readonly string[] };
  return Object.entries(schema.properties ?? {}).map(([name, property]) => ({
    name,
    label: property.title ?? name,
    help: plain(property.description ?? ''),
    isSecret: property.writeOnly ?? false,
    isRequired: schema.required?.includes(name) ?? false,
    placeholder: property.examples?.[0] ?? '',
    options: property.enum ?? [],
  }));
}

/**
 * The kind of a stored connection: that of its provider, else the one that has all of its fields, of several the one with
 * the fewest besides. Undefined: it has fields of its own.
 */
export function kindOf(
  kinds: readonly Kind[],
  provider: string,
  stored: readonly string[],
): Kind | undefined {
  const named = kinds.find((kind) => kind.provider === provider);
  if (named) return named;
  const fit = kinds.filter((kind) => {
    const fields = fieldsOf(kind);
    const names = fields.map((field) => field.name);
    return (
      !kind.provider &&
      stored.every((name) => names.includes(name)) &&
      fields.every((field) => !field.isRequired || stored.includes(field.name))
    );
  });
  return fit.sort((a, b) => fieldsOf(a).length - fieldsOf(b).length)[0];
}

/** The fields of a stored connection: those of its kind, and its own besides. */
export function fieldsOfStored(kind: Kind | undefined, stored: readonly string[]): FieldOf[] {
  const fields = kind ? fieldsOf(kind) : [];
  const others = stored.filter((name) => !fields.some((field) => field.name === name));
  const own = (name: string): FieldOf => ({
    name,
    label: name,
    help: '',
    isSecret: true,
    isRequired: false,
    placeholder: '',
    options: [],
  });
  return [...fields, ...others.map(own)];
}

/** What was typed, without what is empty; where a new connection has a choice, its first value. */
export function credentialsOf(
  fields: readonly FieldOf[],
  typed: Readonly<Record<string, string>>,
  isNew: boolean,
): Record<string, string> {
  const given = fields.map((field) => [
    field.name,
    typed[field.name] || (isNew ? field.options[0] : '') || '',
  ]);
  return Object.fromEntries(given.filter(([, value]) => value));
}

/** Hosts as people write them: with spaces, commas or lines between them. */
export const hostsOf = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean);
