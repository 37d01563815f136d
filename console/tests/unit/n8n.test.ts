import { expect, test } from 'vitest';
import { howWell, noted } from '../../src/api/n8n';

const item = (nodeId: string | null, message: string) => ({
  nodeId,
  level: 'approximate',
  code: 'x',
  message,
});

test('what differs from n8n is in the notes of the nodes, after what was there', () => {
  const nodes = [{ id: 'a', data: { notes: 'Ours.' } }, { id: 'b', data: { label: 'B' } }, { id: 'c' }];
  const summary = { nodes: 3, exact: 1, approximate: 2, stub: 0, repaired: 0 };
  const items = [item('a', 'One.'), item('b', 'Two.'), item('a', 'Three.'), item(null, 'Of all.')];
  const report = { summary, valid: true, connections: [], items };
  const { graphData } = noted({ graphData: { nodes, edges: [] }, nodeDefinitions: {}, report });
  expect(graphData).toEqual({
    nodes: [
      { id: 'a', data: { notes: 'Ours.\nOne.\nThree.' } },
      { id: 'b', data: { label: 'B', notes: 'Two.' } },
      { id: 'c' },
    ],
    edges: [],
  });
});

test('it is told how many nodes are as they were', () => {
  const summary = { nodes: 3, exact: 0, approximate: 2, stub: 1, repaired: 0 };
  expect(howWell(summary)).toBe(
    '3 nodes from n8n: 2 with differences, 1 to be replaced. Their notes say more.',
  );
});
