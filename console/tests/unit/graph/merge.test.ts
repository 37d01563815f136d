import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { applyEdit, type Edit } from '../../../src/graph/edit';
import { isEqual } from '../../../src/graph/equal';
import { mergeDocuments } from '../../../src/graph/merge';
import { graphNames, graphOf, type Doc } from '../../../src/graph/model';
import { anyEdit, BASE } from './support';

/** The same document whatever the order of its lists. */
function canonical(doc: Doc): unknown {
  const sorted = (items: readonly unknown[] | undefined) =>
    [...(items ?? [])].map((item) => JSON.stringify(item, (_, value) => sortedKeys(value))).sort();
  return graphNames(doc)
    .sort()
    .map((name) => {
      const graph = graphOf(doc, name);
      return [name, sorted(graph.nodes), sorted(graph.edges), sorted(graph.notes), graph.settings ?? {}];
    });
}
function sortedKeys(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

const edits = fc.array(anyEdit, { maxLength: 8 });
const applied = (list: readonly Edit[]) => list.reduce(applyEdit, BASE);

describe('merging', () => {
  test('commutes where nothing is in conflict', () => {
    fc.assert(
      fc.property(edits, edits, (one, other) => {
        const [mine, theirs] = [applied(one), applied(other)];
        const there = mergeDocuments(BASE, mine, theirs);
        const back = mergeDocuments(BASE, theirs, mine);
        expect(there.conflicts.length).toBe(back.conflicts.length);
        if (there.conflicts.length === 0) expect(canonical(there.doc)).toEqual(canonical(back.doc));
      }),
      { numRuns: 400 },
    );
  });

  test('with nothing of theirs gives mine, with nothing of mine gives theirs, and the same twice is the same', () => {
    fc.assert(
      fc.property(edits, (list) => {
        const changed = applied(list);
        expect(isEqual(mergeDocuments(BASE, changed, BASE).doc, changed)).toBe(true);
        expect(isEqual(mergeDocuments(BASE, BASE, changed).doc, changed)).toBe(true);
        const both = mergeDocuments(BASE, changed, structuredClone(changed));
        expect(both.conflicts).toEqual([]);
        expect(isEqual(both.doc, changed)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  test('different fields of one node go together', () => {
    const mine = applied([{ kind: 'parameter', definition: null, node: 'b', name: 'all', value: true }]);
    const theirs = applied([
      { kind: 'rename', definition: null, node: 'b', label: 'Where to' },
      { kind: 'move', definition: null, nodes: { b: { x: 5, y: 5 } } },
    ]);
    const { doc, conflicts } = mergeDocuments(BASE, mine, theirs);
    expect(conflicts).toEqual([]);
    expect(doc.graph.nodes[1]).toMatchObject({
      position: { x: 5, y: 5 },
      data: { label: 'Where to', parameters: { all: true, value: '{{ $("A").n }}' } },
    });
  });

  test('one field changed by both is a conflict that says both; mine stays', () => {
    const value = (text: string): Edit => ({
      kind: 'parameter',
      definition: null,
      node: 'b',
      name: 'value',
      value: text,
    });
    const { doc, conflicts } = mergeDocuments(BASE, applied([value('mine')]), applied([value('theirs')]));
    expect(conflicts).toEqual([
      {
        definition: null,
        kind: 'node',
        id: 'b',
        path: ['data', 'parameters', 'value'],
        mine: 'mine',
        theirs: 'theirs',
      },
    ]);
    expect(doc.graph.nodes[1]?.data?.parameters).toEqual({ value: 'mine' });
  });

  test('what one has deleted and the other changed stays, and is said', () => {
    const mine = applied([{ kind: 'remove', definition: null, nodes: ['b'] }]);
    const theirs = applied([{ kind: 'parameter', definition: null, node: 'b', name: 'all', value: true }]);
    const { doc, conflicts } = mergeDocuments(BASE, mine, theirs);
    expect(doc.graph.nodes.map((node) => node.id)).toContain('b');
    expect(conflicts).toMatchObject([{ kind: 'node', id: 'b' }]);
    const clean = mergeDocuments(
      BASE,
      mine,
      applied([{ kind: 'move', definition: null, nodes: { a: { x: 9, y: 9 } } }]),
    );
    expect(clean.doc.graph.nodes.map((node) => node.id)).toEqual(['a', 'c']);
    expect(clean.conflicts).toEqual([]);
  });
});
