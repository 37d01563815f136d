import { afterEach, expect, test, vi } from 'vitest';
import { howWell, inAll, noted, remarksOf, reviewed, translated } from '../../src/api/foreign';
import { readFiles } from '$/screens/patterns/actions';

const item = (nodeId: string | null, message: string) => ({
  nodeId,
  level: 'approximate',
  code: 'x',
  message,
});

afterEach(() => vi.unstubAllGlobals());

test('what is pasted is imported as a part of a workflow, and a file as a whole', async () => {
  const bodies: unknown[] = [];
  vi.stubGlobal('fetch', async (request: Request) => {
    bodies.push(await request.json());
    const summary = { nodes: 0, exact: 0, approximate: 0, stub: 0, repaired: 0 };
    const report = { summary, valid: true, connections: [], items: [] };
    return Response.json({ patterns: [{ name: 'P', report, graphData: { nodes: [] } }] });
  });
  const workflow = { nodes: [], connections: {} };
  await translated({ system: 'n8n', parts: [workflow] });
  await reviewed({ system: 'n8n', parts: [workflow] });
  expect(bodies).toEqual([
    { workflows: [workflow], dryRun: true, fragment: true },
    { workflows: [workflow], dryRun: true, fragment: false },
  ]);
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
  expect(howWell(summary, 'n8n')).toBe(
    '3 nodes from n8n: 2 with differences, 1 to be replaced. Their notes say more.',
  );
  expect(howWell({ ...summary, exact: 1, stub: 0 }, 'Node-RED')).toBe(
    '3 nodes from Node-RED: 1 as in Node-RED, 2 with differences. Their notes say more.',
  );
});

test('the report goes node by node, and what has to be replaced comes first', () => {
  const nodes = [{ id: 'a', data: { label: 'Fetch' } }, { id: 'b' }];
  const summary = { nodes: 2, exact: 0, approximate: 1, stub: 1, repaired: 0 };
  const stub = { ...item('b', 'Not there.'), level: 'stub', n8nType: 'n8n-nodes-base.matrix' };
  const items = [item(null, 'Of all.'), item('a', 'One.'), stub, item('a', 'Two.')];
  const pattern = {
    name: 'P',
    graphData: { nodes },
    report: { summary, valid: true, connections: [], items },
  };
  expect(
    remarksOf(pattern).map(({ label, n8nType, level, items }) => [label, n8nType, level, items.length]),
  ).toEqual([
    ['b', 'n8n-nodes-base.matrix', 'stub', 1],
    ['The workflow', '', 'approximate', 1],
    ['Fetch', '', 'approximate', 2],
  ]);
  expect(inAll([pattern, pattern])).toEqual({ nodes: 4, exact: 0, approximate: 2, stub: 2, repaired: 0 });
});

test('files hold patterns, graphs by their name, workflows of n8n and flows of Node-RED', async () => {
  const file = (name: string, value: unknown) => new File([JSON.stringify(value)], name);
  const workflow = { nodes: [{ type: 'n8n-nodes-base.set' }], connections: {} };
  const flow = [
    { id: 't', type: 'tab', label: 'Flow' },
    { id: 'a', z: 't', type: 'inject', wires: [] },
  ];
  const graph = { nodes: [{ id: 'a', type: 'Return' }], edges: [] };
  const chosen = await readFiles([
    file('one.json', workflow),
    file('all.json', [workflow, workflow]),
    file('flows.json', flow),
    file('revised.json', { rev: '1', flows: flow }),
    file('Orders.json', graph),
    file('made.json', { name: 'Made', graphData: graph }),
  ]);
  expect(chosen.workflows).toEqual([workflow, workflow, workflow]);
  expect(chosen.flows).toEqual([...flow, ...flow]);
  expect(chosen.patterns).toEqual([
    { name: 'Orders', graphData: graph },
    { name: 'Made', graphData: graph },
  ]);
  await expect(readFiles([new File(['{'], 'torn.json')])).rejects.toThrow('“torn.json” is not JSON');
});
