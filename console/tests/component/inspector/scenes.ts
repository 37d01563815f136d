/** Nodes to show, each with what a server would say of it. */
import type { Diagnostic, Evaluated, Preview } from '../../../src/inspector/api';
import type { Definition, NodeData } from '../../../src/graph/model';

export interface Scene {
  type: string;
  data: NodeData;
  diagnostics?: Omit<Diagnostic, 'nodeId'>[];
  own?: Definition;
  evaluated?: Omit<Evaluated, 'nodeId'>[];
  previews?: Record<string, Preview>;
}

export const SCENES: Record<string, Scene> = {
  HttpRequest: {
    type: 'HttpRequest',
    data: {
      label: 'Fetch customer',
      parameters: {
        method: 'POST',
        url: 'https://api.example.com/customers/{{ $input.body.customer.id }}',
        headers: { 'x-source': 'heddle', 'x-trace': '{{ $run.id }}' },
        body: { total: '{{ $input.body.lines.reduce((sum, line) => sum + line.price, 0) }}', note: 'new' },
        connection: 'shop',
        bodyOnly: true,
      },
    },
    diagnostics: [
      {
        severity: 'error',
        code: 'unknown-name',
        parameter: 'headers.x-trace',
        message: 'there is no `$runn`',
        help: 'did you mean `$run`?',
        span: { start: 3, end: 7 },
      },
    ],
    evaluated: [
      { parameter: 'url', evaluation: 'compiled', reasons: [] },
      { parameter: 'body.total', evaluation: 'compiled', reasons: [] },
    ],
    previews: {
      url: { ok: true, value: 'https://api.example.com/customers/c-17' },
      'body.total': { ok: true, value: 129.5 },
    },
  },
  OnSchedule: {
    type: 'OnSchedule',
    data: { label: 'Every morning', parameters: { cron: '30 7 * * 1-5', timezone: 'Europe/Prague' } },
  },
  Switch: {
    type: 'Switch',
    data: {
      label: 'By size',
      parameters: {
        cases: [
          { name: 'large', when: '{{ $input.body.total >= 1000 }}' },
          { name: 'medium', when: '{{ $input.body.total >= 100 }}' },
        ],
      },
      retry: { maxAttempts: 4, backoffMs: 1000, factor: 2 },
      onError: 'branch',
    },
    previews: {
      'cases[0].when': { ok: true, value: false },
      'cases[1].when': { ok: false, message: 'Cannot read properties of null', help: 'use `?.`' },
    },
    evaluated: [
      { parameter: 'cases[0].when', evaluation: 'compiled', reasons: [] },
      { parameter: 'cases[1].when', evaluation: 'engine', reasons: [{ what: 'a regular expression' }] },
    ],
  },
  JavaScript: {
    type: 'JavaScript',
    data: {
      label: 'Score',
      parameters: {
        code: 'export default ({ input, params }) => {\n  const score = input.lines.length * params.weight;\n  return { ...input, score };\n};\n',
        params: { weight: 2 },
      },
    },
  },
  Own: {
    type: 'Discount',
    data: { label: 'Take 10 % off', parameters: {} },
    own: {
      kind: 'expression',
      outputs: [{ name: 'out', type: 'object' }],
      outputValues: { out: '{{ { ...$input, total: $input.body.total * 0.9 } }}' },
    },
  },
  Empty: { type: 'SendEmail', data: { label: 'Tell the shop' } },
  If: { type: 'If', data: {} },
  Jwt: { type: 'Jwt', data: { parameters: { operation: 'sign' } } },
  SetFields: {
    type: 'SetFields',
    data: {
      label: 'Set total',
      parameters: { fields: { total: '{{ $input.body.total }}', 'customer.vip': true, tags: ['a', 'b'] } },
    },
    previews: { 'fields.total': { ok: true, value: 59.9 } },
    evaluated: [{ parameter: 'fields.total', evaluation: 'compiled', reasons: [] }],
  },
};
