/** From the JSON Schema of a node type's parameters to fields. Pure; what a schema can't say, the catalogue's `x-heddle` does. */

import type { NodeType } from '../graph/catalogue';
import type { Field, NumberShape, Option, Scope, Shape, TextShape, TextWidget, Variant } from './fields';
import type { Hint, JsonSchema } from './json-schema';

/** The fields of a node type, in the catalogue's order. */
export function fieldsOf(nodeType: NodeType): readonly Field[] {
  return objectFields(nodeType.parameters as JsonSchema);
}

/** The field of parameters that nobody has described: those of a type of one's own. */
export function anyParameters(): Field {
  return field('', { type: 'object', additionalProperties: {} }, false, {});
}

/** A field for any value, within one of this scope. */
export function anyField(scope: Scope): Field {
  return field('', {}, true, scope === 'run' ? {} : { scope });
}

function objectFields(schema: JsonSchema): Field[] {
  const required = new Set(schema.required);
  const fields = Object.entries(schema.properties ?? {}).map(([name, property]) =>
    field(name, property, required.has(name), {}),
  );
  return fields.map((it) => withCondition(it, fields));
}

/** A field; elements of lists and maps inherit what is said of the whole. */
function field(name: string, schema: JsonSchema, required: boolean, inherited: Hint): Field {
  const hint: Hint = { ...inherited, ...schema['x-heddle'] };
  const { shapes, takesExpression } = alternatives(schema);
  return {
    name,
    // A pattern is chosen by its name.
    label: labelOf(hint.widget === 'pattern' ? name.replace(/Id$/, '') : name),
    description: schema.description ?? '',
    required,
    default: schema.default,
    literal: hint.literal ?? !takesExpression,
    expressionFirst: hint.widget === 'expression',
    scope: scopeOf(hint.scope),
    advanced: hint.group === 'advanced',
    shape: shapeOf(shapes, hint),
  };
}

/**
 * The shapes that a schema allows, without the expression that may stand for each. Of a text alone the schema does not say
 * whether it may be one: most may.
 */
function alternatives(schema: JsonSchema): { shapes: JsonSchema[]; takesExpression: boolean } {
  if (!schema.anyOf) {
    const isText = schema.type === 'string' && schema.contentMediaType === undefined;
    return { shapes: [schema], takesExpression: isAny(schema) || isText };
  }
  const shapes: JsonSchema[] = [];
  let takesExpression = false;
  for (const inner of schema.anyOf) {
    if (isExpression(inner)) {
      takesExpression = true;
      continue;
    }
    const found = alternatives(inner);
    shapes.push(...found.shapes);
    takesExpression ||= found.takesExpression;
  }
  return { shapes, takesExpression };
}

function isExpression(schema: JsonSchema): boolean {
  return schema.type === 'string' && schema.pattern === '\\{\\{';
}

function isAny(schema: JsonSchema): boolean {
  return !schema.type && !schema.enum && !schema.anyOf;
}

function shapeOf(shapes: JsonSchema[], hint: Hint): Shape {
  const [first] = shapes;
  if (first === undefined) return anyShape(hint);
  if (shapes.length === 1) return single(first, hint);
  const options = shapes.map(optionsOf);
  if (options.every((it) => it !== undefined)) return { kind: 'select', options: options.flat() };
  const variants = shapes.map((shape): Variant => {
    const inner = single(shape, hint);
    return { label: variantLabel(inner), shape: inner };
  });
  return { kind: 'variants', variants };
}

/** The values of a schema that allows these only; a whole number without choice (`4` to `4`) counts as one. */
function optionsOf(schema: JsonSchema): Option[] | undefined {
  if (schema.type === 'integer' && schema.minimum !== undefined && schema.minimum === schema.maximum) {
    return [{ value: schema.minimum, label: String(schema.minimum) }];
  }
  return schema.enum?.map((value) =>
    typeof value === 'number'
      ? { value, label: String(value) }
      : { value: String(value), label: String(value) },
  );
}

function single(schema: JsonSchema, hint: Hint): Shape {
  const options = optionsOf(schema);
  if (options) return { kind: 'select', options };
  switch (schema.type) {
    case 'string':
      return text(schema, hint);
    case 'integer':
    case 'number':
      return number(schema, hint);
    case 'boolean':
      return { kind: 'boolean' };
    case 'array':
      return { kind: 'list', item: field('', schema.items ?? {}, true, inherit(hint)) };
    case 'object':
      return objectShape(schema, hint);
    default:
      return anyShape(hint);
  }
}

/** Elements are written out if the whole is; how they are shown, and the names that they have, are the same as well. */
function inherit({ group: _group, literal, ...hint }: Hint): Hint {
  return literal ? { ...hint, literal } : hint;
}

const MS = { milliseconds: 1, seconds: 1_000 };

function number(schema: JsonSchema, hint: Hint): NumberShape {
  const shape: NumberShape = { kind: 'number', integer: schema.type === 'integer' };
  if (schema.minimum !== undefined) shape.min = schema.minimum;
  if (schema.maximum !== undefined) shape.max = schema.maximum;
  if (hint.widget === 'duration') shape.unitMs = MS[hint.unit as keyof typeof MS] ?? 1;
  return shape;
}

function objectShape(schema: JsonSchema, hint: Hint): Shape {
  if (schema.properties && Object.keys(schema.properties).length > 0) {
    return { kind: 'object', fields: objectFields(schema) };
  }
  const values = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : {};
  return {
    kind: 'map',
    value: field('', values, true, inherit(hint)),
    json: hint.widget === 'json',
  };
}

const TEXT_WIDGETS = new Set<string>([
  'text',
  'multiline',
  'url',
  'cron',
  'zone',
  'connection',
  'secret',
  'pattern',
  'code',
  'path',
] satisfies TextWidget[]);

function text(schema: JsonSchema, hint: Hint): TextShape {
  const isModule = schema.contentMediaType === 'text/javascript';
  const hinted =
    hint.widget !== undefined && TEXT_WIDGETS.has(hint.widget) ? (hint.widget as TextWidget) : 'text';
  const shape: TextShape = { kind: 'text', widget: isModule ? 'code' : hinted };
  if (isModule) shape.language = 'javascript';
  else if (hint.language !== undefined) shape.language = hint.language;
  if (hint.offsets) shape.offsets = true;
  if (hint.connectionKinds) shape.connectionKinds = hint.connectionKinds;
  return shape;
}

function anyShape(hint: Hint): Shape {
  const isText = hint.widget === 'path' || hint.widget === 'multiline';
  return { kind: 'any', widget: isText ? (hint.widget as 'path' | 'multiline') : 'value' };
}

function scopeOf(scope: string | undefined): Scope {
  return scope === 'item' || scope === 'pair' || scope === 'deferred' ? scope : 'run';
}

function variantLabel(shape: Shape): string {
  switch (shape.kind) {
    case 'text':
      return 'Text';
    case 'number':
      return 'Number';
    case 'boolean':
      return 'Yes or no';
    case 'select':
      return 'Choice';
    case 'list':
      return 'List';
    case 'map':
      return 'Fields';
    case 'object':
      // The shapes of `auth` are told apart by their only field.
      return shape.fields.length === 1 && shape.fields[0] ? shape.fields[0].label : 'Object';
    case 'any':
      return 'Expression';
    case 'variants':
      return 'One of';
  }
}

/** "For `join`: …", "With the scheme `hmac`: …": the field is of use with these values of a choice beside it. */
const CONDITION = /^(?:For |With the [a-z ]+ )?((?:`[\w-]+`)(?:(?:, | and | or )`[\w-]+`)*): /;

function withCondition(it: Field, beside: readonly Field[]): Field {
  const values = CONDITION.exec(it.description)?.[1]?.match(/[\w-]+(?=`)/g);
  if (!values || it.required) return it;
  const choice = beside.find(
    ({ shape }) =>
      shape.kind === 'select' &&
      values.every((value) => shape.options.some((option) => option.value === value)),
  );
  return choice && choice.name !== it.name ? { ...it, onlyFor: { name: choice.name, values } } : it;
}

const WORDS: Record<string, string> = {
  url: 'URL',
  html: 'HTML',
  json: 'JSON',
  id: 'ID',
  sql: 'SQL',
  css: 'CSS',
  xml: 'XML',
  cc: 'Cc',
  bcc: 'Bcc',
  api: 'API',
  cors: 'CORS',
  hmac: 'HMAC',
  http: 'HTTP',
  ip: 'IP',
  ips: 'IPs',
  jwt: 'JWT',
};
/** Units that the control shows, so that the label need not. */
const UNITS = new Set(['ms', 'seconds']);

/** A label within a sentence: "Set headers", "Set HMAC". */
export const inSentence = (label: string): string =>
  /^[A-Z]{2}/.test(label) ? label : label.charAt(0).toLowerCase() + label.slice(1);

/** `responseMode` → `Response mode`, `timeoutMs` → `Timeout`, `bodyUrl` → `Body URL`. */
export function labelOf(name: string): string {
  const words = name
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .replace(/[_-]+/g, ' ')
    .split(' ')
    .filter((word, index, all) => !(index > 0 && index === all.length - 1 && UNITS.has(word.toLowerCase())));
  return words
    .map((word, index) => {
      const lower = word.toLowerCase();
      const known = WORDS[lower];
      if (known) return known;
      return index === 0 ? lower.charAt(0).toUpperCase() + lower.slice(1) : lower;
    })
    .join(' ');
}
