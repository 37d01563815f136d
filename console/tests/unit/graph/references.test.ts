import { describe, expect, test } from 'vitest';
import { applyEdit } from '../../../src/graph/edit';
import { referencesIn, renameIn } from '../../../src/graph/references';
import { expressionsIn } from '../../../src/graph/tokens';
import { doc, graph } from './support';

const names = (text: string) => referencesIn(text).map(({ by, name }) => `${by} ${name}`);
const renamed = (text: string, to: string) => renameIn(text, ({ name }) => (name === 'A' ? to : undefined));

describe('references', () => {
  test.each([
    ['{{ $("A").x }}', ['label A']],
    ["{{ $('A') }} and {{ $(`A`) }}", ['label A', 'label A']],
    ['{{ $nodes["a-1"].x + $nodes.b }}', ['id a-1', 'id b']],
    ['{{ $node["A"].json + $node.B.json }}', ['label A', 'label B']],
    ['{{ $items("A", 0) }}', ['label A']],
    ['{{ `text $("no") ${ $("A") }` }}', ['label A']],
    ['{{ "$(\\"A\\")" }}', []],
    ['{{ /\\$("A")/.test("}}") && $("B") }}', ['label B']],
    ['{{ // $("A")\n $("B") }}', ['label B']],
    ['{{ /* $("A") */ 1 }}', []],
    ['{{ x.$("A") }}', []],
    ['{{ $item(0).$node["A"].json }}', ['label A']],
    ['{{ $(label) }}', []],
    ['$("A") outside of braces', []],
    ['{{ $("A" }', []],
    ['{{ { a: { b: $("A") } } }} {{ $("B") }}', ['label A', 'label B']],
    ['{{ $("\\u0041") }}', ['label A']],
  ])('%s', (text, found) => expect(names(text)).toEqual(found));

  test('a }} within a string, a template or braces ends nothing', () => {
    expect(expressionsIn('{{ "}}" }}x{{ `}}` }}{{ {a:{}} }}').length).toBe(3);
  });
});

describe('renaming', () => {
  test.each([
    ['{{ $("A").x }}', 'B', '{{ $("B").x }}'],
    ["{{ $('A') }}", "it's", "{{ $('it\\'s') }}"],
    ['{{ $("A") }}', 'say "x"', '{{ $("say \\"x\\"") }}'],
    ['{{ $(`A`) }}', 'a ${b} `c`', '{{ $(`a \\${b} \\`c\\``) }}'],
    ['{{ $node.A.json }}', 'B', '{{ $node.B.json }}'],
    ['{{ $node.A.json }}', 'two words', '{{ $node["two words"].json }}'],
    ['no {{ "A" }}', 'B', 'no {{ "A" }}'],
  ])('%s to %s', (text, to, result) => expect(renamed(text, to)).toBe(result));

  test('a name that is written can be read again', () => {
    for (const name of ['x', '"', "'", '`${', '\\', '\n', '😀', '}}']) {
      for (const text of ['{{ $("A") }}', "{{ $('A') }}", '{{ $(`A`) }}', '{{ $node["A"] }}']) {
        expect(names(renamed(text, name))).toEqual([`label ${name}`]);
      }
    }
  });

  test('a node takes the references to it along, in its own graph', () => {
    const before = doc(graph('a:OnManual b:Transform c:JavaScript', 'a>b b>c'));
    const set = (node: string, name: string, value: unknown) => ({
      kind: 'parameter' as const,
      definition: null,
      node,
      name,
      value,
    });
    const filled = [
      set('b', 'value', { deep: ['{{ $("A").x }}'] }),
      set('c', 'code', 'export default () => `{{ $("A") }}`'),
      set('c', 'params', { x: '{{ $("A") }}' }),
    ].reduce(applyEdit, before);
    const after = applyEdit(filled, { kind: 'rename', definition: null, node: 'a', label: 'Order' });
    expect(after.graph.nodes[1]?.data?.parameters).toEqual({ value: { deep: ['{{ $("Order").x }}'] } });
    expect(after.graph.nodes[2]?.data?.parameters).toEqual({
      code: 'export default () => `{{ $("A") }}`',
      params: { x: '{{ $("Order") }}' },
    });
    const bare = applyEdit(after, { kind: 'rename', definition: null, node: 'a', label: '' });
    expect(bare.graph.nodes[1]?.data?.parameters).toEqual({ value: { deep: ['{{ $("a").x }}'] } });
  });

  test('where two nodes have the label, nothing is rewritten', () => {
    const two = applyEdit(doc(graph('a b c')), { kind: 'rename', definition: null, node: 'b', label: 'A' });
    const filled = applyEdit(two, {
      kind: 'parameter',
      definition: null,
      node: 'c',
      name: 'value',
      value: '{{ $("A") }}',
    });
    const after = applyEdit(filled, { kind: 'rename', definition: null, node: 'a', label: 'Z' });
    expect(after.graph.nodes[2]?.data?.parameters).toEqual({ value: '{{ $("A") }}' });
  });
});
