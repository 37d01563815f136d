import { applyEdit } from '../../src/graph/edit';
import type { Doc } from '../../src/graph/model';
import { call } from './api';
import { expect, test } from './fixtures';

const TEXTS = [
  '{{ $("Order").total }}',
  "🦀 {{ $('Order').total }} and {{ $(`Order`).id }}",
  '{{ $node.Order.json.id + $node["Order"].json.id }}',
  '{{ $item(0).$node["Order"].json }}',
  '{{ /Order/.test($items("Order", 0)[0].name) ? `${ $("Order").a }` : {} }}',
  '{{ $("\\u004frder").total }}',
  // None of these names it.
  '$("Order") {{ \'$("Order")\' + /* $("Order") */ $nodes.order.id }}',
  '{{ $("Other").x + x.$("Order") }}',
  '{{ $(("Order" + "")) }}',
];
const LABELS = ['Two', 'two words', 'Ann\'s "order"', 'a ${b} `c`', '\\', '😀', ''];

interface Edit {
  nodeId: string;
  parameter: string;
  span: { start: number; end: number };
  text: string;
}

/** The text with the edits of its parameter made; spans are in their order and don't overlap. */
function edited(text: string, edits: readonly Edit[]): string {
  return edits.reduceRight(
    (now, { span, text: by }) => now.slice(0, span.start) + by + now.slice(span.end),
    text,
  );
}

// The console renames by itself, so that it is instant and one step to undo; the server has the grammar.
test('a new label changes the same places here and at the server', async ({ page, account }) => {
  expect(account.workspace).not.toBe('');
  const nodes = [
    { id: 'order', type: 'Transform', position: { x: 0, y: 0 }, data: { label: 'Order' } },
    { id: 'other', type: 'Transform', position: { x: 0, y: 0 }, data: { label: 'Other' } },
    ...TEXTS.map((value, at) => ({
      id: `text${at}`,
      type: 'Transform',
      position: { x: 0, y: 0 },
      data: { parameters: { value } },
    })),
  ];
  const doc: Doc = { graph: { nodes, edges: [], notes: [] }, definitions: {} };
  for (const label of LABELS) {
    const renamed = applyEdit(doc, { kind: 'rename', definition: null, node: 'order', label });
    const { edits } = await call<{ edits: Edit[] }>(page, 'POST', '/api/execute/rename', {
      graphData: { nodes, edges: [] },
      nodeDefinitions: {},
      nodeId: 'order',
      label,
    });
    TEXTS.forEach((text, at) => {
      const node = renamed.graph.nodes.find(({ id }) => id === `text${at}`);
      const of = edits.filter(({ nodeId, parameter }) => nodeId === `text${at}` && parameter === 'value');
      expect(node?.data?.parameters?.['value'], `${text} to “${label}”`).toBe(edited(text, of));
    });
  }
});
