import fc from 'fast-check';
import { expect, test } from 'vitest';
import { applyEdit } from '../../../src/graph/edit';
import { edited, makeHistory, redone, undone } from '../../../src/graph/history';
import { indexOf } from '../../../src/graph/model';
import { DocumentStore } from '../../../src/graph/document';
import { anyEdit, BASE } from './support';

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(frozen);
  }
  return value;
}

test('random edits, undone, give the first document; redone, the last', () => {
  fc.assert(
    fc.property(fc.array(anyEdit, { maxLength: 40 }), (edits) => {
      const first = frozen(structuredClone(BASE));
      let history = makeHistory(first);
      for (const edit of edits) {
        history = edited(history, frozen(edit));
        frozen(history.present);
      }
      const last = history.present;
      while (history.past.length) history = undone(history);
      expect(history.present).toBe(first);
      while (history.future.length) history = redone(history);
      expect(history.present).toBe(last);
    }),
    { numRuns: 300 },
  );
});

test('edits leave a graph whole: unique ids, edges with both ends, and plain JSON', () => {
  fc.assert(
    fc.property(fc.array(anyEdit, { maxLength: 30 }), (edits) => {
      const { graph } = edits.reduce(applyEdit, BASE);
      const ids = graph.nodes.map((node) => node.id);
      expect(new Set(ids).size).toBe(ids.length);
      expect(indexOf(graph).edges.size).toBe(graph.edges.length);
      for (const edge of graph.edges) expect(ids).toEqual(expect.arrayContaining([edge.source, edge.target]));
      expect(JSON.parse(JSON.stringify(graph))).toEqual(graph);
    }),
    { numRuns: 300 },
  );
});

test('what an edit does not touch is shared, and fields that nobody knows stay', () => {
  const after = applyEdit(BASE, { kind: 'parameter', definition: null, node: 'b', name: 'all', value: true });
  expect(after.graph.nodes[0]).toBe(BASE.graph.nodes[0]);
  expect(after.graph.nodes[2]).toBe(BASE.graph.nodes[2]);
  expect(after.graph.edges).toBe(BASE.graph.edges);
  expect(after.definitions).toBe(BASE.definitions);
  expect(after.graph['viewport']).toEqual({ zoom: 1 });
  expect(BASE.graph.nodes[1]?.data?.parameters).toEqual({ value: '{{ $("A").n }}' });
});

test('an edit that changes nothing is no step', () => {
  const history = makeHistory(BASE);
  expect(edited(history, { kind: 'remove', definition: null, nodes: ['nobody'] })).toBe(history);
  expect(edited(history, { kind: 'move', definition: null, nodes: { a: { x: 0, y: 0 } } })).toBe(history);
});

test('steps say what was done, and edits of one group are one step', () => {
  const store = new DocumentStore(BASE);
  store.dispatch(
    { kind: 'move', definition: null, nodes: { a: { x: 1, y: 0 }, b: { x: 2, y: 0 } } },
    { group: 'drag' },
  );
  store.dispatch(
    { kind: 'move', definition: null, nodes: { a: { x: 3, y: 0 }, b: { x: 4, y: 0 } } },
    { group: 'drag' },
  );
  store.dispatch({ kind: 'rename', definition: null, node: 'a', label: 'Start' });
  expect(store.history.value.past.map((step) => step.title)).toEqual(['Move 2 nodes', 'Rename A to Start']);
  expect(store.undo()).toBe('Rename A to Start');
  expect(store.undo()).toBe('Move 2 nodes');
  expect(store.doc).toBe(BASE);
  expect(store.undo()).toBeUndefined();
});

test('a thousand edits of a thousand nodes keep little more than what they changed', () => {
  const nodes = Array.from({ length: 1_000 }, (_, at) => ({
    id: `n${at}`,
    type: 'NoOp',
    position: { x: at, y: 0 },
  }));
  let history = makeHistory({ graph: { nodes, edges: [] }, definitions: {} });
  for (let at = 0; at < 1_000; at += 1) {
    history = edited(history, { kind: 'move', definition: null, nodes: { [`n${at}`]: { x: at, y: 10 } } });
  }
  const objects = new Set(history.past.flatMap((step) => step.after.graph.nodes));
  // The node objects alone: each edit made one.
  expect(objects.size).toBe(2_000 - 1);
});
