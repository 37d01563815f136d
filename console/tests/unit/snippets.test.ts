import { expect, test } from 'vitest';
import { bodyOf, drawnBody, readBody, sentTo } from '$/screens/deployment/snippet-body';
import type { GraphNode } from '$/graph/model';
import { catalogue, doc, graph } from './graph/support';

test('a webhook that takes only files or parts is sent a greeting', () => {
  const body = { value: { id: 1 }, from: 'x' };
  expect(sentTo(['multipart', 'json'], body)).toBe(body);
  expect(sentTo(['multipart', 'binary'], body).from).toBe('');
});

test('a message to a chat begins a conversation, and a form is sent what it was sent', () => {
  const from = 'the body of the last event';
  const value = { message: 'On Friday?', sessionId: 'ann-1' };
  expect(sentTo(['json', 'form'], { value, from }, 'chat')).toEqual({
    value: { message: 'On Friday?' },
    from,
  });
  expect(sentTo(['json', 'form'], { value: 'On Friday?', from }, 'chat').value).toBeUndefined();
  expect(sentTo(['json', 'form'], { value: {}, from }, 'chat').from).toBe('');
  expect(sentTo(['form', 'multipart'], { value, from }, 'form').value).toBe(value);
  expect(sentTo(['form', 'multipart'], { value: 'example', from }, 'form').from).toBe('');
});

test('a body is taken from a pin, the example, or what is read', () => {
  const drawn = graph('t:OnWebhook a:Transform', 't>a');
  const [t, a] = drawn.nodes as [GraphNode, GraphNode];
  const reading = { ...a, data: { parameters: { value: '{{ $trigger.body.id }}' } } };
  const of = (data: NonNullable<GraphNode['data']>) => doc({ ...drawn, nodes: [{ ...t, data }, reading] });
  expect(drawnBody(of({ pin: { value: { body: 1 } }, exampleEvent: { body: 2 } }), 't')?.value).toBe(1);
  expect(drawnBody(of({ exampleEvent: { body: 2 } }), 't')?.value).toBe(2);
  expect(drawnBody(of({}), 't')).toBeUndefined();
  expect(readBody(catalogue, of({}), 't')?.value).toEqual({ id: 'example' });
  expect(bodyOf({ body: 'x'.repeat(5_000) })).toBeUndefined();
  expect(bodyOf({ query: {} })).toBeUndefined();
});
