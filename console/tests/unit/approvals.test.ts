import { describe, expect, it } from 'vitest';
import { decisionOf, eventLine, placeIn } from '$/screens/approvals/place';
import { doc, graph } from './graph/support';

describe('what is asked', () => {
  const inner = { kind: 'graph', graphData: graph('ask:WaitForCallback') };
  const drawn = doc(graph('ask:WaitForCallback sub:Inner'), { Inner: inner });

  it('is the node, also in composites and loops', () => {
    expect(placeIn(drawn, 'ask')).toEqual({ name: 'ASK', notes: '', iteration: '' });
    expect(placeIn(drawn, 'sub/ask/orders[2]')).toEqual({
      name: 'SUB › ASK',
      notes: '',
      iteration: 'orders[2]',
    });
    expect(placeIn(drawn, 'gone/1')).toEqual({ name: 'gone/1', notes: '', iteration: '' });
  });
  it('is told apart by what the run is about', () => {
    expect(eventLine({ method: 'POST', headers: {}, query: {}, body: { claim: 'C-9' } })).toBe(
      '{"claim":"C-9"}',
    );
    expect(eventLine({ claim: 'C-9' })).toBe('{"claim":"C-9"}');
    expect(eventLine(null)).toBe('');
    expect(eventLine('x'.repeat(500))).toHaveLength(201);
  });
  it('is answered with a comment only if there is one', () => {
    expect(decisionOf(true, ' ')).toEqual({ approved: true });
    expect(decisionOf(false, ' too much ')).toEqual({ approved: false, comment: 'too much' });
  });
});
