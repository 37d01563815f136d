import { describe, expect, test } from 'vitest';
import { refusal, targetsFor } from '../../../src/graph/connect';
import { namesInScope } from '../../../src/graph/scope';
import { DEFINITIONS, makeCase } from './cases';
import { catalogue, doc, graph } from './support';
import verdicts from './verdicts.json';

test('an edge is refused exactly where the compiler refuses it, for one of its reasons', () => {
  const differing: unknown[] = [];
  let asked = 0;
  for (const { seed, answers } of verdicts) {
    const { graph: drawn, edges } = makeCase(seed);
    let current = doc({ nodes: drawn.nodes, edges: [] }, DEFINITIONS);
    [...drawn.edges, ...edges].forEach((edge, place) => {
      const ours = refusal(catalogue, current, null, edge)?.code ?? null;
      const theirs = answers[place] ?? null;
      asked += 1;
      if (ours === null ? theirs !== null : !theirs?.split(' ').includes(ours))
        differing.push({ seed, edge, ours, theirs });
      if (theirs === null)
        current = doc({ ...current.graph, edges: [...current.graph.edges, edge] }, DEFINITIONS);
    });
  }
  expect(asked).toBeGreaterThan(2_000);
  expect(differing).toEqual([]);
});

describe('what can be connected', () => {
  const drawn = doc(graph('a:OnManual l:ForEach i:NoOp b:NoOp j:Join', 'a>l l.item>i i>l.next l.done>b'));
  const places = (node: string, port: string) =>
    targetsFor(catalogue, drawn, null, { node, port }).map((place) => place.name);

  test('lists inputs by name, with ports where there are several', () => {
    expect(places('b', 'out')).toEqual(['J, port left', 'J, port right']);
  });
  test('leaves out triggers, cycles and bodies of loops', () => {
    expect(places('a', 'out')).not.toContain('A');
    expect(places('a', 'out')).not.toContain('I');
    expect(refusal(catalogue, drawn, null, { source: 'b', target: 'l', targetHandle: 'in' })?.code).toBe(
      'cycle',
    );
    expect(refusal(catalogue, drawn, null, { source: 'a', target: 'i' })?.code).toBe('loop-entry');
    expect(refusal(catalogue, drawn, null, { source: 'b', target: 'l', targetHandle: 'next' })?.code).toBe(
      'loop-return',
    );
  });
});

describe('names in scope', () => {
  const drawn = doc(graph('a:OnManual l:Loop i:NoOp b:NoOp o:NoOp', 'a>l l.item>i i>l.next l.done>b'));
  const reach = (node: string) => namesInScope(catalogue, drawn, null, node).nodes.map((it) => it.id);

  test('what comes before, the nearest first', () => {
    expect(reach('i')).toEqual(['l', 'a']);
    expect(reach('a')).toEqual([]);
    expect(reach('o')).toEqual([]);
  });
  test('behind a loop, its body too; in a Loop itself, what its condition reads', () => {
    expect(reach('b').sort()).toEqual(['a', 'i', 'l']);
    expect(reach('l').sort()).toEqual(['a', 'i']);
  });
  test('$item in bodies, $error behind what may fail', () => {
    expect(namesInScope(catalogue, drawn, null, 'i').item).toBe(true);
    expect(namesInScope(catalogue, drawn, null, 'b').item).toBe(false);
    expect(namesInScope(catalogue, drawn, null, 'b').error).toBe(false);
  });
  test('a label that two nodes have is no name', () => {
    const nodes = drawn.graph.nodes.map((node) =>
      node.id === 'i' ? { ...node, data: { label: 'A' } } : node,
    );
    const [, nearest] = namesInScope(catalogue, doc({ ...drawn.graph, nodes }), null, 'b').nodes;
    expect(['$nodes["a"]', '$nodes["i"]', '$("L")']).toContain(nearest?.reference);
  });
});
