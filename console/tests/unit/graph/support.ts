/** What the graph's tests share: a catalogue, small graphs, and random edits. */
import fc from 'fast-check';
import { makeCatalogue, type NodeType } from '../../../src/graph/catalogue';
import type { Edit } from '../../../src/graph/edit';
import type { JournalRecord, JournalStorage } from '../../../src/graph/journal';
import type { Doc, Graph, GraphEdge, GraphNode } from '../../../src/graph/model';
import types from './catalogue.json';

export const catalogue = makeCatalogue(types as unknown as NodeType[]);

export function doc(graph: Graph, definitions: Doc['definitions'] = {}): Doc {
  return { graph, definitions };
}

/** A graph from a short form: `a:OnManual b:If`, `a>b b.true>c`. */
export function graph(nodes: string, edges = ''): Graph {
  const words = (text: string) => text.split(/\s+/).filter(Boolean);
  return {
    nodes: words(nodes).map((word): GraphNode => {
      const [id = '', type = 'NoOp'] = word.split(':');
      return { id, type, position: { x: 0, y: 0 }, data: { label: id.toUpperCase(), parameters: {} } };
    }),
    edges: words(edges).map((word): GraphEdge => {
      const [from = '', to = ''] = word.split('>');
      const [source = '', sourceHandle] = from.split('.');
      const [target = '', targetHandle] = to.split('.');
      return {
        id: word,
        source,
        target,
        ...(sourceHandle ? { sourceHandle } : {}),
        ...(targetHandle ? { targetHandle } : {}),
      };
    }),
  };
}

const IDS = ['a', 'b', 'c', 'd', 'e', 'f'];
const id = fc.constantFrom(...IDS);
const point = fc.record({ x: fc.integer({ min: -500, max: 500 }), y: fc.integer({ min: -500, max: 500 }) });
const text = fc.constantFrom('x', 'Read', '{{ $("A").id }}', '{{ `${$nodes["b"].n}` }}', '');
const definition = fc.constantFrom(null, 'Inner');

const node = fc.record({
  id,
  type: fc.constantFrom('NoOp', 'If', 'Merge', 'Switch', 'Inner'),
  position: point,
  data: fc.record({ label: text, parameters: fc.record({ value: text }) }),
});
const edge = fc.record({ id: fc.constantFrom('e1', 'e2', 'e3', 'e4'), source: id, target: id });
const note = fc.record({ id, text, position: point, width: fc.constant(100), height: fc.constant(60) });

/** Any edit at all, whether it fits the document or not. */
export const anyEdit: fc.Arbitrary<Edit> = fc.letrec<{ edit: Edit; leaf: Edit }>((tie) => ({
  edit: fc.oneof(
    { weight: 8, arbitrary: tie('leaf') },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('batch' as const),
        title: fc.constant('Several'),
        edits: fc.array(tie('leaf'), { maxLength: 4 }),
      }),
    },
  ),
  leaf: fc.oneof(
    fc.record({
      kind: fc.constant('add' as const),
      definition,
      nodes: fc.array(node, { maxLength: 3 }),
      edges: fc.array(edge, { maxLength: 3 }),
      notes: fc.array(note, { maxLength: 1 }),
    }),
    fc.record({
      kind: fc.constant('remove' as const),
      definition,
      nodes: fc.array(id, { maxLength: 2 }),
      edges: fc.array(fc.constantFrom('e1', 'e2'), { maxLength: 1 }),
      notes: fc.array(id, { maxLength: 1 }),
    }),
    fc.record({
      kind: fc.constant('move' as const),
      definition,
      nodes: fc.dictionary(id, point, { maxKeys: 3 }),
    }),
    fc.record({
      kind: fc.constant('parameter' as const),
      definition,
      node: id,
      name: fc.constantFrom('value', 'other'),
      value: fc.option(text, { nil: undefined }),
    }),
    fc.record({
      kind: fc.constant('data' as const),
      definition,
      nodes: fc.array(id, { maxLength: 2 }),
      field: fc.constantFrom('disabled', 'onError', 'pin'),
      value: fc.option(fc.constantFrom('branch', true), { nil: undefined }),
    }),
    fc.record({ kind: fc.constant('rename' as const), definition, node: id, label: text }),
    fc.record({
      kind: fc.constant('order' as const),
      definition,
      node: id,
      edges: fc.shuffledSubarray(['e1', 'e2', 'e3']),
    }),
    fc.record({ kind: fc.constant('note' as const), definition, note: id, fields: fc.record({ text }) }),
    fc.record({
      kind: fc.constant('setting' as const),
      definition,
      field: fc.constant('timeoutMs'),
      value: fc.option(fc.integer(), { nil: undefined }),
    }),
    fc.record({
      kind: fc.constant('define' as const),
      name: fc.constantFrom('Inner', 'Other'),
      value: fc.option(fc.constant({ kind: 'graph', graphData: { nodes: [], edges: [] } }), {
        nil: undefined,
      }),
    }),
    fc.record({
      kind: fc.constant('renameDefinition' as const),
      from: fc.constantFrom('Inner', 'Other'),
      to: fc.constantFrom('Inner', 'Other', 'Third'),
    }),
  ) as fc.Arbitrary<Edit>,
})).edit;

export const BASE: Doc = {
  graph: {
    nodes: [
      { id: 'a', type: 'OnManual', position: { x: 0, y: 0 }, data: { label: 'A' } },
      {
        id: 'b',
        type: 'Switch',
        position: { x: 280, y: 0 },
        data: { label: 'B', parameters: { value: '{{ $("A").n }}' } },
      },
      { id: 'c', type: 'Merge', data: {}, extra: { kept: true } },
    ],
    edges: [
      { id: 'e1', source: 'a', target: 'b' },
      { source: 'b', sourceHandle: 'default', target: 'c' },
    ],
    viewport: { zoom: 1 },
  },
  definitions: { Inner: { kind: 'graph', graphData: { nodes: [{ id: 'a', type: 'OnCall' }], edges: [] } } },
};

/** A journal's storage that keeps copies, as a database does. */
export function memory(): JournalStorage & { records: JournalRecord[]; failing: boolean } {
  return {
    records: [],
    failing: false,
    async put(record) {
      if (this.failing) throw new Error('The disk is full.');
      this.records.push(structuredClone(record));
    },
    async read(pattern) {
      return structuredClone(this.records.filter((record) => record.pattern === pattern));
    },
    async drop(session, before = Infinity) {
      this.records = this.records.filter((record) => record.session !== session || record.seq >= before);
    },
  };
}
