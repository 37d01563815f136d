import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { conflictKey, marksOf, nodesOf, resolved, sideOf, type Side } from '../../../src/graph/conflicts';
import { applyEdit, type Edit } from '../../../src/graph/edit';
import { mergeDocuments, type Conflict } from '../../../src/graph/merge';
import { edgeKey, graphNames, graphOf, type Doc } from '../../../src/graph/model';
import { anyEdit, BASE } from './support';

const applied = (...list: Edit[]): Doc => list.reduce(applyEdit, BASE);
const value = (text: string): Edit => ({
  kind: 'parameter',
  definition: null,
  node: 'b',
  name: 'value',
  value: text,
});
const only = (mine: Doc, theirs: Doc): { doc: Doc; conflict: Conflict } => {
  const { doc, conflicts } = mergeDocuments(BASE, mine, theirs);
  expect(conflicts).toHaveLength(1);
  return { doc, conflict: conflicts[0] as Conflict };
};
const node = (doc: Doc, id: string) => doc.graph.nodes.find((each) => each.id === id);
const edgesAt = (doc: Doc, id: string) =>
  doc.graph.edges.filter((edge) => edge.source === id || edge.target === id).map(edgeKey);

describe('deciding', () => {
  test('a parameter has the value of the side that was taken, to and fro', () => {
    const { doc, conflict } = only(applied(value('mine')), applied(value('theirs')));
    expect(sideOf(doc, conflict)).toBe('mine');
    const taken = resolved(doc, conflict, 'theirs');
    expect(node(taken, 'b')?.data?.parameters?.['value']).toBe('theirs');
    expect(sideOf(taken, conflict)).toBe('theirs');
    expect(resolved(taken, conflict, 'mine')).toEqual(doc);
    // What was edited since is neither.
    expect(sideOf(applyEdit(taken, value('both')), conflict)).toBeUndefined();
  });

  test('a parameter that one side has taken out is there or not', () => {
    const { doc, conflict } = only(
      applied({ kind: 'parameter', definition: null, node: 'b', name: 'value' }),
      applied(value('theirs')),
    );
    expect(node(doc, 'b')?.data?.parameters).toEqual({});
    expect(node(resolved(doc, conflict, 'theirs'), 'b')?.data?.parameters).toEqual({ value: 'theirs' });
  });

  test('a node that was deleted here and changed there comes back with its edges, or goes', () => {
    const { doc, conflict } = only(
      applied({ kind: 'remove', definition: null, nodes: ['b'] }),
      applied(value('theirs')),
    );
    // Nothing is thrown away unseen: not its edges either.
    expect(edgesAt(doc, 'b')).toEqual(edgesAt(BASE, 'b'));
    expect(edgesAt(BASE, 'b').length).toBeGreaterThan(0);
    expect(sideOf(doc, conflict)).toBe('theirs');
    expect(nodesOf(doc, conflict)).toEqual(['b']);
    const gone = resolved(doc, conflict, 'mine');
    expect(node(gone, 'b')).toBeUndefined();
    expect(edgesAt(gone, 'b')).toEqual([]);
    expect(sideOf(gone, conflict)).toBe('mine');
    expect(nodesOf(gone, conflict)).toEqual([]);
    const back = resolved(gone, conflict, 'theirs');
    expect(node(back, 'b')).toEqual(node(doc, 'b'));
    expect(edgesAt(back, 'b').sort()).toEqual(edgesAt(doc, 'b').sort());
  });

  test('settings, edges and definitions are decided too', () => {
    const timeout = (ms: number): Edit => ({
      kind: 'setting',
      definition: null,
      field: 'timeoutMs',
      value: ms,
    });
    const settings = only(applied(timeout(1)), applied(timeout(2)));
    expect(resolved(settings.doc, settings.conflict, 'theirs').graph.settings?.timeoutMs).toBe(2);

    const to = (target: string): Doc => ({
      ...BASE,
      graph: {
        ...BASE.graph,
        edges: BASE.graph.edges.map((edge, at) => (at === 0 ? { ...edge, target } : edge)),
      },
    });
    const edges = only(to('a'), to('c'));
    expect(edges.conflict).toMatchObject({ kind: 'edge', path: ['target'], mine: 'a', theirs: 'c' });
    expect(resolved(edges.doc, edges.conflict, 'theirs').graph.edges[0]?.target).toBe('c');
    // An end that is not there any more is not gone to.
    const without = applyEdit(edges.doc, { kind: 'remove', definition: null, nodes: ['c'] });
    expect(resolved(without, edges.conflict, 'theirs')).toBe(without);

    const code = (text: string): Edit => ({
      kind: 'define',
      name: 'Own',
      value: { kind: 'javascript', code: text },
    });
    const definitions = only(applied(code('1')), applied(code('2')));
    expect(resolved(definitions.doc, definitions.conflict, 'theirs').definitions['Own']?.code).toBe('2');
  });

  test('whatever two people did, each place takes either side, and graphs stay whole', () => {
    const edits = fc.array(anyEdit, { maxLength: 8 });
    fc.assert(
      fc.property(edits, edits, fc.constantFrom<Side>('mine', 'theirs'), (one, other, side) => {
        const merged = mergeDocuments(BASE, applied(...one), applied(...other));
        for (const conflict of merged.conflicts) {
          const taken = resolved(merged.doc, conflict, side);
          // An edge whose end is gone stays as it is.
          if (conflict.kind !== 'edge') expect(sideOf(taken, conflict)).toBe(side);
        }
        const all = merged.conflicts.reduce((doc, conflict) => resolved(doc, conflict, side), merged.doc);
        for (const name of graphNames(all)) {
          const graph = graphOf(all, name);
          const ids = graph.nodes.map(({ id }) => id);
          expect(new Set(ids).size).toBe(ids.length);
          expect(new Set(graph.edges.map(edgeKey)).size).toBe(graph.edges.length);
          for (const { source, target } of graph.edges)
            expect(ids).toEqual(expect.arrayContaining([source, target]));
        }
      }),
      { numRuns: 400 },
    );
  });
});

test('a node is marked until all of its conflicts are decided', () => {
  const both = (text: string) =>
    applied(value(text), { kind: 'rename', definition: null, node: 'b', label: text });
  const { conflicts } = mergeDocuments(BASE, both('mine'), both('theirs'));
  expect(conflicts).toHaveLength(2);
  const keys = conflicts.map(conflictKey);
  expect(new Set(keys).size).toBe(2);
  const state = (...decided: string[]) => marksOf(conflicts, new Set(decided), null).nodes.get('b');
  expect(state()).toBe('open');
  expect(state(keys[0] ?? '')).toBe('open');
  expect(state(...keys)).toBe('decided');
  expect(marksOf(conflicts, new Set(), 'Inner').nodes.size).toBe(0);
});
