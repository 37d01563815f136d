import { describe, expect, test } from 'vitest';
import { found, newKind, paletteEntries } from '../../../src/canvas/palette';
import { applyEdit } from '../../../src/graph/edit';
import { graphOf, type Doc, type Graph } from '../../../src/graph/model';
import { addOwnType, compose, nameRefusal, type OwnKind } from '../../../src/graph/own-types';
import { catalogue, doc, graph } from './support';

const here = (document: Doc, definition: string | null = null) => ({ catalogue, doc: document, definition });
const edgesOf = ({ edges }: Graph) =>
  edges.map(
    ({ source, sourceHandle, target, targetHandle }) =>
      `${source}${sourceHandle ? `.${sourceHandle}` : ''}>${target}${targetHandle ? `.${targetHandle}` : ''}`,
  );
function composed(document: Doc, ...ids: string[]): { doc: Doc; node: string; type: string; inner: Graph } {
  const made = compose(here(document), new Set(ids));
  if ('refusal' in made) throw new Error(made.refusal);
  const after = applyEdit(document, made.edit);
  const type = after.graph.nodes.find(({ id }) => id === made.node)?.type ?? '';
  return { doc: after, node: made.node, type, inner: graphOf(after, type) };
}
const refused = (document: Doc, ...ids: string[]): string => {
  const made = compose(here(document), new Set(ids));
  return 'refusal' in made ? made.refusal : '';
};

describe('a composite of a selection', () => {
  test('stands where its nodes stood, and passes on what comes and leaves', () => {
    const {
      doc: after,
      node,
      type,
      inner,
    } = composed(doc(graph('a:OnManual b c d', 'a>b b>c c>d')), 'b', 'c');
    expect(type).toBe('Composite');
    expect(after.graph.nodes.map(({ id }) => id)).toEqual(['a', node, 'd']);
    expect(edgesOf(after.graph)).toEqual([`a>${node}`, `${node}>d`]);
    expect(inner.nodes.map((it) => it.type)).toEqual(['OnCall', 'NoOp', 'NoOp', 'Return']);
    expect(edgesOf(inner).sort()).toEqual(['b>c', 'begin>b', 'c>end']);
    expect(after.definitions[type]?.outputs).toBeUndefined();
  });

  test('has an output for each port by which it is left', () => {
    const drawn = doc(graph('a:OnManual b:If c d', 'a>b b>c b.false>d'));
    const { doc: after, node, type, inner } = composed(drawn, 'b');
    expect(after.definitions[type]?.outputs).toEqual([{ name: 'true' }, { name: 'false' }]);
    expect(edgesOf(after.graph)).toEqual([`a>${node}`, `${node}.true>c`, `${node}.false>d`]);
    const values = inner.nodes.flatMap((it) => it.data?.parameters?.['value'] ?? []);
    expect(values).toEqual(['{{ ({"true": $input}) }}', '{{ ({"false": $input}) }}']);
  });

  test('goes on from the port that was used, and into the one', () => {
    const drawn = doc(graph('a:OnManual l:Join f:Filter z', 'a>l.right l>f f.rejected>z'));
    const { inner } = composed(drawn, 'l', 'f');
    expect(edgesOf(inner).sort()).toEqual(['begin>l.right', 'f.rejected>end', 'l>f']);
  });

  test('gets another name where there is one of that name', () => {
    const first = composed(doc(graph('a:OnManual b c', 'a>b b>c')), 'b');
    expect(composed(first.doc, 'c').type).toBe('Composite2');
  });

  test('is refused with the reason', () => {
    const drawn = doc(graph('a:OnManual b c d e:Return', 'a>b a>c b>d c>e'));
    expect(refused(drawn)).toMatch(/Select the nodes/);
    expect(refused(drawn, 'a', 'b')).toMatch(/Runs start at “A”/);
    expect(refused(drawn, 'c', 'e')).toMatch(/“E” ends the run/);
    expect(refused(drawn, 'b', 'c')).toMatch(/one input.*“B” and “C”/);
    const branches = doc(graph('a:OnManual b c d e', 'a>b b>c b>d c>e d>e'));
    expect(refused(branches, 'b', 'c', 'd')).toMatch(/ends at one node.*“C” and “D”/);
    const joins = doc(graph('a:OnManual b c m:Merge e', 'a>b a>c b>m c>m m>e'));
    expect(refused(joins, 'm')).toMatch(/“M” joins/);
  });

  test('is refused where an expression would lose what it reads', () => {
    const drawn = doc(graph('a:OnManual b c', 'a>b b>c'));
    const reads = (id: string, value: string): Doc =>
      applyEdit(drawn, { kind: 'parameter', definition: null, node: id, name: 'value', value });
    expect(refused(reads('c', '{{ $("B").x }}'), 'c')).toMatch(/“C” reads “B”, which would be outside/);
    expect(refused(reads('c', '{{ $nodes.b.x }}'), 'b')).toMatch(/“C” reads “B”, which would be inside/);
    expect(refused(reads('c', '{{ $("B").x }}'), 'b', 'c')).toBe('');
  });
});

describe('a new type of one’s own', () => {
  test.each(['graph', 'javascript', 'expression', 'component'] satisfies OwnKind[])(
    'of kind %s comes with a node that goes on from the chosen one, as one step',
    (kind) => {
      const drawn = doc(graph('a:OnManual'));
      const { edit, node } = addOwnType(here(drawn), kind, { type: '', from: { node: 'a' } }, 'AGFzbQ==');
      expect(edit.kind).toBe('batch');
      const after = applyEdit(drawn, edit);
      const [type] = Object.keys(after.definitions);
      expect(after.definitions[type ?? '']?.kind).toBe(kind);
      expect(after.graph.nodes.find(({ id }) => id === node)?.type).toBe(type);
      expect(edgesOf(after.graph)).toEqual([`a>${node}`]);
    },
  );

  test('is found in the palette by what people call it', () => {
    const entries = paletteEntries(catalogue, doc(graph('a')));
    const kind = (words: string) => newKind(found(entries, words)[0]?.type ?? '');
    expect([kind('new composite'), kind('subworkflow'), kind('wasm')]).toEqual([
      'graph',
      'graph',
      'component',
    ]);
    expect(newKind('If')).toBeUndefined();
  });

  test('may not be called as another one', () => {
    const { doc: after } = composed(doc(graph('a:OnManual b', 'a>b')), 'b');
    expect(nameRefusal(catalogue, after, 'Composite', 'Composite')).toBeUndefined();
    expect(nameRefusal(catalogue, after, 'Composite')).toMatch(/already/);
    expect(nameRefusal(catalogue, after, 'If')).toMatch(/every pattern/);
    expect(nameRefusal(catalogue, after, '')).toMatch(/needs a name/);
  });
});
