import { describe, expect, test } from 'vitest';
import type { GraphNode } from '../../../src/graph/model';
import { eventRead } from '../../../src/graph/reads';
import { catalogue, doc, graph } from './support';

/** A graph in the short form, with the parameters of its nodes. */
function reading(nodes: string, edges: string, parameters: Record<string, object>): unknown {
  const drawn = graph(nodes, edges);
  const filled = drawn.nodes.map((node): GraphNode => {
    const given = parameters[node.id];
    return given ? { ...node, data: { ...node.data, parameters: { ...given } } } : node;
  });
  return eventRead(catalogue, doc({ ...drawn, nodes: filled }), 't');
}
const one = (value: string) => reading('t:OnWebhook a:Transform', 't>a', { a: { value } });

describe('what a graph reads of an event', () => {
  test.each([
    ['{{ $trigger.body.name }}', { body: { name: 'example' } }],
    [
      'Dear {{ $trigger.body?.name }}, {{ $trigger.query["from"] }}',
      { body: { name: 'example' }, query: { from: 'example' } },
    ],
    ['{{ $input.body.total > 100 && 3 < $input.body.tax }}', { body: { total: 1, tax: 1 } }],
    ['{{ $trigger.body.kind === "gold" }}', { body: { kind: 'gold' } }],
    ['{{ $trigger.body.isNew != true }}', { body: { isNew: true } }],
    ['{{ $("T").body.lines[0].sku }}', { body: { lines: [{ sku: 'example' }] } }],
    ['{{ $nodes["t"].body.lines.map((it) => it.sku) }}', { body: { lines: ['example'] } }],
    ['{{ $trigger.body.name.toUpperCase() }}', { body: { name: 'example' } }],
    ['{{ $trigger.body.lines.length }}', { body: { lines: ['example'] } }],
    ['{{ "$trigger.body.no" /* $trigger.body.no */ + x.$trigger.body.no }}', undefined],
    ['{{ $("A").body.no }}', undefined],
    ['{{ $trigger.body.__proto__.x }}', undefined],
    ['$trigger.body.no', undefined],
  ])('%s', (text, event) => expect(one(text)).toEqual(event));

  test('it follows a part of the event through the nodes that send it on', () => {
    const event = reading(
      't:OnWebhook a:Transform i:If b:Transform c:Transform f:ForEach',
      't>a a>i i>b i.false>c a>f',
      {
        a: { value: '{{ $input.body.order }}' },
        i: { condition: '{{ $input.total > 100 }}' },
        b: { value: '{{ $input.id }}' },
        c: { value: '{{ ({ to: $("A")?.customer.email }) }}' },
        f: { items: '{{ $input.lines }}' },
      },
    );
    expect(event).toEqual({
      body: { order: { total: 1, id: 'example', customer: { email: 'example' }, lines: ['example'] } },
    });
  });

  test('it follows it as far as the catalogue says that it is sent on', () => {
    const through = (type: string) =>
      reading(`t:OnWebhook n:${type} a:Transform`, 't>n n>a', { a: { value: '{{ $input.body.id }}' } });
    for (const type of ['If', 'Switch', 'NoOp', 'Merge', 'Log', 'Wait', 'RespondToWebhook'])
      expect(through(type), type).toEqual({ body: { id: 'example' } });
    for (const type of ['SetFields', 'ForEach', 'NobodyKnows']) expect(through(type), type).toBeUndefined();
  });

  test('what is made of it is no part of it, and circles end', () => {
    expect(
      reading('t:OnWebhook a:Transform b:Transform c:NoOp d:NoOp', 't>a a>b c>d d>c', {
        a: { value: '{{ ({ made: $input.body.x }) }}' },
        b: { value: '{{ $input.made.y }}' },
        d: { value: '{{ $input.z }}' },
      }),
    ).toEqual({ body: { x: 'example' } });
  });
});
