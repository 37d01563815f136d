/** A node type of the pattern's own, as fields. */

import type { NodeType } from '../graph/catalogue';
import type { Field } from './fields';
import type { JsonSchema } from './json-schema';
import { fieldsOf } from './schema';

const PORT_TYPES = ['any', 'string', 'number', 'integer', 'boolean', 'object', 'array'];

function ports(description: string): JsonSchema {
  return {
    type: 'array',
    description,
    'x-heddle': { literal: true },
    items: {
      type: 'object',
      required: ['name'],
      properties: {
        name: { type: 'string', 'x-heddle': { literal: true } },
        type: { enum: PORT_TYPES, default: 'any' },
      },
      additionalProperties: false,
    },
  };
}

const PORTS: Record<string, JsonSchema> = {
  inputs: ports('What arrives, by port. Without any there is one, `in`.'),
  outputs: ports('What leaves, by port. Without any there is one, `out`.'),
};

const OWN: Record<string, { required: string[]; properties: Record<string, JsonSchema> }> = {
  javascript: {
    required: ['code'],
    properties: {
      code: {
        type: 'string',
        contentMediaType: 'text/javascript',
        description:
          'The module. Its default export is called with `{input, params, item, log}`; with several outputs it returns an object of their values.',
      },
      ...PORTS,
    },
  },
  expression: {
    required: ['outputValues'],
    properties: {
      outputValues: {
        type: 'object',
        // The object is written out, its values need not be.
        additionalProperties: { 'x-heddle': { literal: false } },
        'x-heddle': { literal: true },
        description: 'The value of each output, by its port. Expressions see `$input`, `$item` and `$index`.',
      },
      ...PORTS,
    },
  },
  component: {
    required: [],
    properties: {
      hosts: {
        type: 'array',
        description:
          'Where it may send requests to, such as api.example.com; * is any host. Without any, nowhere.',
        'x-heddle': { literal: true },
        items: { type: 'string', 'x-heddle': { literal: true } },
      },
      ...PORTS,
    },
  },
  // Its graph is drawn.
  graph: { required: [], properties: PORTS },
};

/** The fields of a definition, but for a composite's graph and a component's file. */
export function definitionFields(kind: string): readonly Field[] {
  const schema = Object.hasOwn(OWN, kind) ? OWN[kind] : undefined;
  if (!schema) return [];
  const type: Pick<NodeType, 'type' | 'parameters'> = {
    type: `own ${kind}`,
    parameters: { type: 'object', ...schema },
  };
  return fieldsOf(type as NodeType);
}
