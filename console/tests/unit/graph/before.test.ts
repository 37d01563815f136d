import { expect, test } from 'vitest';
import { before } from '../../../src/graph/before';
import { graph } from './support';

test('a preview gets what lies before the node, without parameters', () => {
  const drawn = graph('a:OnManual b c:If d e:ForEach f', 'a>b b>c c.true>d a>d d>e e.item>f f>e.next');
  const found = before(drawn, 'd');
  expect(found.nodes).toEqual([
    { id: 'a', type: 'OnManual', data: { label: 'A' } },
    { id: 'b', type: 'NoOp', data: { label: 'B' } },
    { id: 'c', type: 'If', data: { label: 'C' } },
    { id: 'd', type: 'NoOp', data: { label: 'D' } },
  ]);
  expect(found.edges).toEqual(drawn.edges.filter(({ target }) => 'bcd'.includes(target)));
  // Round a loop and back.
  expect(before(drawn, 'f').nodes).toHaveLength(6);
  expect(before(drawn, 'a')).toEqual({
    nodes: [{ id: 'a', type: 'OnManual', data: { label: 'A' } }],
    edges: [],
  });
});
