import { describe, expect, test } from 'vitest';
import type { NodeType } from '../../../src/graph/catalogue';
import type { Field, Shape } from '../../../src/inspector/fields';
import { definitionFields } from '../../../src/inspector/own-type';
import { fieldsOf, labelOf } from '../../../src/inspector/schema';
import { fit, initialOf } from '../../../src/inspector/values';
import nodes from './nodes.json';

/** The real catalogue, as the server answers `GET /api/nodes`. */
const types = nodes as unknown as NodeType[];

/** One line for each field: what it is edited by. */
function lines(fields: readonly Field[], indent = ''): string[] {
  return fields.flatMap((field) => {
    const marks = [
      field.required ? 'required' : '',
      field.literal ? 'literal' : '',
      field.expressionFirst ? 'expression' : '',
      field.scope === 'run' ? '' : field.scope,
      field.advanced ? 'advanced' : '',
      field.onlyFor ? `for ${field.onlyFor.name} ${field.onlyFor.values.join(', ')}` : '',
    ];
    const head = `${indent}${field.name || '·'}: ${shapeWord(field.shape)} ${marks.filter(Boolean).join(' ')}`;
    return [head.trimEnd(), ...inner(field.shape, `${indent}  `)];
  });
}

function shapeWord(shape: Shape): string {
  if (shape.kind === 'text') return `text/${shape.widget} ${shape.language ?? ''}`.trim();
  if (shape.kind === 'any') return `any/${shape.widget}`;
  if (shape.kind === 'select') return `select ${shape.options.map(({ label }) => label).join('|')}`;
  if (shape.kind === 'number') {
    return (
      (shape.integer ? 'integer' : 'number') + (shape.unitMs ? ` as a duration of ${shape.unitMs} ms` : '')
    );
  }
  if (shape.kind === 'map' && shape.json) return 'map as JSON';
  return shape.kind;
}

function inner(shape: Shape, indent: string): string[] {
  switch (shape.kind) {
    case 'list':
      return lines([shape.item], indent);
    case 'map':
      return lines([shape.value], indent);
    case 'object':
      return lines(shape.fields, indent);
    case 'variants':
      return shape.variants.flatMap(({ label, shape }) => [
        `${indent}| ${label}: ${shapeWord(shape)}`,
        ...inner(shape, `${indent}    `),
      ]);
    default:
      return [];
  }
}

describe('fields of the catalogue', () => {
  test('every parameter of every type has a control', () => {
    const all = types.map((type) => [type.type, ...lines(fieldsOf(type), '  ')].join('\n')).join('\n');
    expect(all).toMatchSnapshot();
  });

  test('every example fits its controls', () => {
    for (const type of types) {
      const fields = new Map(fieldsOf(type).map((field) => [field.name, field]));
      for (const example of type.examples ?? []) {
        for (const [name, value] of Object.entries(example.parameters as Record<string, unknown>)) {
          const field = fields.get(name);
          const isExpression = typeof value === 'string' && value.includes('{{');
          expect(field, `${type.type}.${name}`).toBeDefined();
          expect(isExpression || fit(value, field!.shape) > 0, `${type.type}.${name}: ${example.title}`).toBe(
            true,
          );
          if (isExpression) expect(field!.literal, `${type.type}.${name}`).toBe(false);
        }
      }
    }
  });

  test('what a new value begins with has its shape', () => {
    const check = (field: Field) => {
      expect(fit(initialOf(field.shape), field.shape), field.name).toBeGreaterThan(0);
    };
    for (const type of types) fieldsOf(type).forEach(check);
  });

  test('what the catalogue says of a parameter counts', () => {
    const type = {
      type: 'Own',
      parameters: {
        type: 'object',
        properties: {
          when: { type: 'string', 'x-heddle': { widget: 'cron', literal: true, group: 'advanced' } },
          by: { 'x-heddle': { scope: 'item', widget: 'path' } },
          body: {
            anyOf: [{ type: 'string' }, { type: 'string', pattern: '\\{\\{' }],
            'x-heddle': { widget: 'no-such' },
          },
        },
      },
    } as unknown as NodeType;
    const [when, by, body] = fieldsOf(type);
    expect(when).toMatchObject({ literal: true, advanced: true, shape: { kind: 'text', widget: 'cron' } });
    expect(by).toMatchObject({ literal: false, scope: 'item', shape: { kind: 'any', widget: 'path' } });
    expect(body).toMatchObject({ literal: false, shape: { kind: 'text', widget: 'text' } });
  });

  test('what is said of a list holds for its elements, and of a text for any value', () => {
    const either = (strict: object) => ({ anyOf: [strict, { type: 'string', pattern: '\\{\\{' }] });
    const type = {
      type: 'Own',
      parameters: {
        type: 'object',
        properties: {
          groupBy: { ...either({ type: 'array', items: {} }), 'x-heddle': { widget: 'path', scope: 'item' } },
          cases: {
            ...either({
              type: 'array',
              items: either({ type: 'object', properties: { name: { type: 'string' } } }),
            }),
            'x-heddle': { widget: 'list', literal: true, scope: 'node', group: 'main' },
          },
          message: { 'x-heddle': { widget: 'multiline', literal: false, scope: 'node', group: 'main' } },
        },
      },
    } as unknown as NodeType;
    expect(lines(fieldsOf(type))).toEqual([
      'groupBy: list item',
      '  ·: any/path required item',
      'cases: list literal',
      '  ·: object required literal',
      '    name: text/text',
      'message: any/multiline',
    ]);
  });

  test('types of one’s own are fields as well', () => {
    expect(lines(definitionFields('expression')).slice(0, 3)).toEqual([
      'outputValues: map required literal',
      '  ·: any/value required',
      'inputs: list literal',
    ]);
    expect(lines(definitionFields('javascript'))[0]).toBe('code: text/code javascript required literal');
    // Its graph is drawn, and a component's file is chosen.
    expect(definitionFields('graph').map(({ name }) => name)).toEqual(['inputs', 'outputs']);
    expect(definitionFields('component').map(({ name }) => name)).toEqual(['hosts', 'inputs', 'outputs']);
  });

  test.each([
    ['responseMode', 'Response mode'],
    ['timeoutMs', 'Timeout'],
    ['url', 'URL'],
    ['patternId', 'Pattern ID'],
    ['urlSafe', 'URL safe'],
    ['replyTo', 'Reply to'],
    ['ms', 'Ms'],
  ])('%s reads as %s', (name, label) => {
    expect(labelOf(name)).toBe(label);
  });
});
