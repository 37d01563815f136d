/** What differs between two documents: on the canvas, in words, in rights. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { linesOf } from '$/compare/lines';
import { diffRights, rightText, variablesOf } from '$/compare/rights';
import { changeTexts, countsText } from '$/compare/words';
import { diffDocuments, diffGraphs, hasMeaning, levelDiff } from '$/graph/diff';
import { applyEdit, type Edit } from '$/graph/edit';
import { edgeKey, graphOf, indexOf, type Doc } from '$/graph/model';
import { anyEdit, BASE, catalogue, doc, graph } from './graph/support';

const drawn = doc(graph('a:OnManual x:HttpRequest y:NoOp b:Return', 'a>x x>y y>b'));
const edited = (edits: readonly Edit[], of: Doc = drawn): Doc => edits.reduce(applyEdit, of);
const texts = (after: Doc, before: Doc = drawn) => changeTexts(diffDocuments(before, after), catalogue);
const said = (after: Doc, before: Doc = drawn) => texts(after, before).map(({ text }) => text);
const at = { definition: null };

describe('a difference', () => {
  it('keeps names and layout apart from meaning', () => {
    const using = edited([{ kind: 'parameter', ...at, node: 'b', name: 'value', value: '{{ $("X").id }}' }]);
    // The references of others follow the new name, which is no change of theirs.
    const after = edited(
      [
        { kind: 'rename', ...at, node: 'x', label: 'Ask' },
        { kind: 'parameter', ...at, node: 'b', name: 'value', value: '{{ $("Ask").id }}' },
        { kind: 'move', ...at, nodes: { y: { x: 9, y: 9 } } },
      ],
      using,
    );
    const diff = diffDocuments(using, after);
    expect([...diff.graph.nodes].map(([id, { change }]) => [id, change])).toEqual([
      ['x', 'renamed'],
      ['y', 'moved'],
    ]);
    expect(hasMeaning(diff)).toBe(false);
    expect(texts(after, using).map(({ group, text }) => [group, text])).toEqual([
      ['names', '“X” is now called “Ask”'],
      ['layout', 'Moved “Y”'],
    ]);
  });
  it('says the values of fields by their names', () => {
    const before = edited([
      { kind: 'parameter', ...at, node: 'x', name: 'headers', value: { Accept: 'a', Keep: 1 } },
      { kind: 'parameter', ...at, node: 'x', name: 'url', value: 'https://a.example' },
    ]);
    const after = edited(
      [
        { kind: 'parameter', ...at, node: 'x', name: 'headers', value: { Accept: 'b', Keep: 1.0 } },
        { kind: 'parameter', ...at, node: 'x', name: 'url' },
        { kind: 'data', ...at, nodes: ['x'], field: 'onError', value: 'branch' },
      ],
      before,
    );
    const [change] = texts(after, before);
    expect(change).toMatchObject({ change: 'changed', nodes: ['x'] });
    expect(change?.text).toMatch(/^Changed “X” \(/);
    expect(change?.fields.map(({ name, before, after }) => [name, before, after])).toEqual([
      ['On error', 'not set', 'branch'],
      ['Headers › Accept', 'a', 'b'],
      ['URL', 'https://a.example', 'not set'],
    ]);
  });
  it('names edges by the labels of their ends, and finds one that kept its id elsewhere', () => {
    const after: Doc = {
      ...drawn,
      graph: {
        ...drawn.graph,
        edges: drawn.graph.edges.map((edge) => (edge.id === 'x>y' ? { ...edge, target: 'b' } : edge)),
      },
    };
    expect(said(after)).toEqual(['Added the edge “X” → “B”', 'Removed the edge “X” → “Y”']);
    const { union, older, edges } = diffGraphs(drawn.graph, after.graph);
    expect([...edges]).toEqual([
      ['x>y', 'added'],
      ['x>y (removed)', 'removed'],
    ]);
    expect(indexOf(union).edges.get('x>y (removed)')).toMatchObject({ source: 'x', target: 'y' });
    expect(older.edges.map(edgeKey)).toContain('x>y (removed)');
  });
  it('has definitions, and what changed inside a composite at its level', () => {
    const inner = { ...BASE.definitions['Inner'], kind: 'graph', graphData: graph('i:NoOp o:Return', 'i>o') };
    const before: Doc = {
      graph: drawn.graph,
      definitions: { Inner: inner, Old: { kind: 'javascript', code: '1' } },
    };
    const after: Doc = {
      graph: drawn.graph,
      definitions: {
        Inner: { ...inner, graphData: graph('i:NoOp n:NoOp o:Return', 'i>n n>o') },
        New: { kind: 'javascript', code: '2' },
      },
    };
    const diff = diffDocuments(before, after);
    expect(said(after, before)).toEqual([
      'Added “N” (No operation)',
      'Added the edge “I” → “N”',
      'Added the edge “N” → “O”',
      'Removed the edge “I” → “O”',
      'Added the node type “New”',
      'Removed the node type “Old”',
    ]);
    expect(countsText(diff)).toBe(
      '1 node added; 2 edges added, 1 removed; 1 definition added, 1 changed, 1 removed',
    );
    expect(levelDiff(diff, 'Inner').nodes.get('n')?.change).toBe('added');
    expect(graphOf(diff.union, 'Inner').edges).toHaveLength(3);
    expect(Object.keys(diff.union.definitions).sort()).toEqual(['Inner', 'New', 'Old']);
  });
  it('of any edits names everything that differs, and draws it', () => {
    fc.assert(
      fc.property(fc.array(anyEdit, { maxLength: 8 }), (edits) => {
        const after = edited(edits, BASE);
        const diff = diffDocuments(BASE, after);
        const isSame = JSON.stringify(after) === JSON.stringify(BASE);
        if (isSame) expect(changeTexts(diff, catalogue)).toEqual([]);
        const keys = changeTexts(diff, catalogue).map(({ key }) => key);
        expect(new Set(keys).size).toBe(keys.length);
        for (const level of [
          diff.graph,
          ...[...diff.definitions.values()].flatMap(({ graph }) => graph ?? []),
        ]) {
          const { nodes, edges } = indexOf(level.union);
          for (const id of level.nodes.keys()) expect(nodes.has(id)).toBe(true);
          for (const key of level.edges.keys()) expect(edges.has(key)).toBe(true);
        }
        // The same the other way round: what was added is what is removed.
        const back = diffDocuments(after, BASE);
        const count = (of: typeof diff, change: string) =>
          [...of.graph.nodes.values()].filter((each) => each.change === change).length;
        expect(count(diff, 'added')).toBe(count(back, 'removed'));
      }),
    );
  });
});

describe('lines', () => {
  it('are told apart one by one, and unchanged ones far away are left out', () => {
    const before = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].join('\n');
    const after = ['a', 'b', 'c', 'd', 'e', 'f', 'G', 'h', 'i'].join('\n');
    expect(linesOf(before, after).map(({ kind, text }) => [kind, text])).toEqual([
      ['omitted', '4 unchanged lines'],
      ['same', 'e'],
      ['same', 'f'],
      ['removed', 'g'],
      ['added', 'G'],
      ['same', 'h'],
      ['added', 'i'],
    ]);
  });
  it('of any texts give both of them back', () => {
    const line = fc.constantFrom('a', 'b', 'c', '');
    const text = fc.array(line, { minLength: 1, maxLength: 6 }).map((lines) => lines.join('\n'));
    fc.assert(
      fc.property(text, text, (before, after) => {
        const lines = linesOf(before, after);
        fc.pre(!lines.some(({ kind }) => kind === 'omitted'));
        const only = (out: string) =>
          lines
            .filter(({ kind }) => kind !== out)
            .map(({ text }) => text)
            .join('\n');
        expect([only('added'), only('removed')]).toEqual([before, after]);
      }),
    );
  });
});

describe('rights', () => {
  it('find variables as expressions name them', () => {
    const of = (value: string) =>
      variablesOf(edited([{ kind: 'parameter', ...at, node: 'b', name: 'value', value }]));
    expect(of('{{ $vars.REGION + $vars["API BASE"] + $vars?.A }}')).toEqual(['A', 'API BASE', 'REGION']);
    expect(of('$vars.NOT {{ "$vars.TEXT" + $input.$vars.FIELD }}')).toEqual([]);
  });
  it('are new, gone or the same', () => {
    const host = (name: string) => ({ kind: 'host' as const, name });
    const secret = { kind: 'secret' as const, name: 'KEY' };
    const changes = diffRights([host('a'), secret], [secret, host('*')]);
    expect(changes.map((right) => [right.change, rightText(right)])).toEqual([
      ['added', 'requests to any host'],
      ['removed', 'requests to a'],
      ['same', 'the secret KEY'],
    ]);
  });
});
