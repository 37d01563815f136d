import { describe, expect, test } from 'vitest';
import { conflictText, titleOf } from '$/compare/conflicts';
import { applyEdit, type Edit } from '$/graph/edit';
import { mergeDocuments } from '$/graph/merge';
import type { Doc } from '$/graph/model';
import { Conflicts } from '$/screens/editor/conflicts.svelte';
import { BASE } from './graph/support';

const applied = (...edits: Edit[]): Doc => edits.reduce(applyEdit, BASE);
const set = (name: string, value: unknown): Edit => ({
  kind: 'parameter',
  definition: null,
  node: 'b',
  name,
  value,
});
function said(mine: Doc, theirs: Doc) {
  const { doc, conflicts } = mergeDocuments(BASE, mine, theirs);
  return conflicts.map((conflict) => {
    const text = conflictText(doc, conflict);
    return [titleOf(text), text.mine, text.theirs];
  });
}

describe('conflicts in words', () => {
  test('parameters, names and places', () => {
    const move = (x: number): Edit => ({ kind: 'move', definition: null, nodes: { b: { x, y: 0.4 } } });
    const rename = (label: string): Edit => ({ kind: 'rename', definition: null, node: 'b', label });
    expect(
      said(
        applied(set('headers', { a: 1 }), move(5), rename('Mine')),
        applied(set('headers', undefined), set('headers', { a: 2 }), move(9), rename('Theirs')),
      ),
    ).toEqual([
      ['Position of “Mine”', '5, 0', '9, 0'],
      ['Label of “Mine”', 'Mine', 'Theirs'],
      ['Headers of “Mine”', '{"a":1}', '{"a":2}'],
    ]);
  });

  test('nodes that one side has deleted, and edges by the nodes at their ends', () => {
    expect(
      said(applied({ kind: 'remove', definition: null, nodes: ['b'] }), applied(set('value', 'new'))),
    ).toEqual([['“B”', 'deleted', 'kept, as it was changed']]);
    const to = (target: string): Doc => ({
      ...BASE,
      graph: {
        ...BASE.graph,
        edges: BASE.graph.edges.map((edge, at) => (at === 0 ? { ...edge, target } : edge)),
      },
    });
    expect(said(to('a'), to('c'))).toEqual([['Target of the edge “A” → “A”', 'A', 'c']]);
  });

  test('settings and node types', () => {
    const timeout = (value: number): Edit => ({
      kind: 'setting',
      definition: null,
      field: 'timeoutMs',
      value,
    });
    const code = (text: string): Edit => ({
      kind: 'define',
      name: 'Own',
      value: { kind: 'javascript', code: text },
    });
    expect(said(applied(timeout(1), code('1')), applied(timeout(2), code('2')))).toEqual([
      ['Timeout of the settings', '1', '2'],
      ['Code of the node type “Own”', '1', '2'],
    ]);
  });
});

test('stepping goes on to what is not decided yet, round and round, then through all', () => {
  const fields = ['x', 'y', 'z'];
  const side = (value: string) => applied(...fields.map((name) => set(name, value)));
  const { conflicts: found } = mergeDocuments(BASE, side('mine'), side('theirs'));
  const conflicts = new Conflicts();
  conflicts.add(found, 'version');
  const step = (by: 1 | -1) => {
    conflicts.show(conflicts.neighbour(by));
    return conflicts.shown?.path.at(-1);
  };
  expect([step(1), step(1), step(1), step(1), step(-1)]).toEqual(['x', 'y', 'z', 'x', 'z']);
  conflicts.decide(found.filter(({ path }) => path.at(-1) === 'x'));
  expect([step(1), step(1)]).toEqual(['y', 'z']);
  conflicts.decide(found);
  expect([step(1), step(1)]).toEqual(['x', 'y']);
});

test('the focus goes there each time that a conflict is to be looked at, also if it is the only one', () => {
  const { conflicts: found } = mergeDocuments(BASE, applied(set('x', 'mine')), applied(set('x', 'theirs')));
  const conflicts = new Conflicts();
  conflicts.add(found, 'version');
  conflicts.show(conflicts.neighbour(1), 'card');
  expect([conflicts.takesFocus('row'), conflicts.takesFocus('card')]).toEqual([false, true]);
  expect(conflicts.takesFocus('card')).toBe(false);
  conflicts.show(conflicts.neighbour(1), 'card');
  expect(conflicts.takesFocus('card')).toBe(true);
  // Not later, once it was closed.
  conflicts.show(conflicts.neighbour(1), 'card');
  conflicts.show(undefined);
  conflicts.show(found[0]);
  expect(conflicts.takesFocus('card')).toBe(false);
});
