/** Graphs and edges to ask about, made from a seed: the same everywhere. Used by the tests and by make-verdicts.mjs. */
import type { Doc, Graph, GraphEdge, GraphNode } from '../../../src/graph/model';

/** A small random generator (mulberry32). */
export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const TYPES = [
  'NoOp',
  'If',
  'ForEach',
  'Loop',
  'Join',
  'Merge',
  'Switch',
  'Filter',
  'SetFields',
  'Return',
  'OnManual',
  'Hash',
  'SqlQuery',
  'Uuid',
  'WaitForCallback',
  'Pair',
] as const;

const PORTS: Record<string, { inputs: string[]; outputs: string[] }> = {
  If: { inputs: ['in'], outputs: ['true', 'false'] },
  ForEach: { inputs: ['in', 'next'], outputs: ['item', 'done'] },
  Loop: { inputs: ['in', 'next'], outputs: ['item', 'done'] },
  Join: { inputs: ['left', 'right'], outputs: ['out'] },
  Switch: { inputs: ['in'], outputs: ['a', 'b', 'default'] },
  Filter: { inputs: ['in'], outputs: ['out', 'rejected'] },
  Return: { inputs: ['in'], outputs: [] },
  OnManual: { inputs: [], outputs: ['out'] },
  WaitForCallback: { inputs: ['in'], outputs: ['out', 'timeout'] },
  Pair: { inputs: ['one', 'two'], outputs: ['sum', 'list'] },
};

/** A definition with typed ports, so that types are asked about too. */
export const DEFINITIONS: Doc['definitions'] = {
  Pair: {
    kind: 'expression',
    inputs: [
      { name: 'one', type: 'object' },
      { name: 'two', type: 'array', required: false },
    ],
    outputs: [
      { name: 'sum', type: 'number' },
      { name: 'list', type: 'array' },
    ],
    outputValues: { sum: 1, list: [] },
  },
};

export interface Case {
  readonly graph: Graph;
  readonly edges: readonly GraphEdge[];
}

export function makeCase(seed: number): Case {
  const next = random(seed);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(next() * items.length)] as T;
  const nodes: GraphNode[] = [{ id: 'start', type: 'OnManual' }];
  const count = 4 + Math.floor(next() * 8);
  for (let at = 1; at < count; at += 1) {
    const type = pick(TYPES);
    const onError =
      type !== 'OnManual' && type !== 'Pair' && next() < 0.15 ? { onError: 'branch' as const } : {};
    const each = !['OnManual', 'ForEach', 'Loop'].includes(type) && next() < 0.1 ? { each: true } : {};
    const disabled = next() < 0.05 ? { disabled: true } : {};
    const parameters = type === 'Switch' ? { parameters: { cases: [{ name: 'a' }, { name: 'b' }] } } : {};
    nodes.push({ id: `n${at}`, type, data: { ...parameters, ...onError, ...each, ...disabled } });
  }
  const edge = (): GraphEdge => {
    const [source, target] = [pick(nodes), pick(nodes)];
    const outputs = PORTS[source.type]?.outputs ?? ['out'];
    const all = source.data?.onError === 'branch' || next() < 0.05 ? [...outputs, 'error'] : outputs;
    const sourceHandle = next() < 0.15 ? undefined : pick(all);
    const targetHandle = next() < 0.15 ? undefined : pick(PORTS[target.type]?.inputs ?? ['in']);
    return {
      source: source.id,
      target: target.id,
      ...(sourceHandle === undefined ? {} : { sourceHandle }),
      ...(targetHandle === undefined ? {} : { targetHandle }),
    };
  };
  return {
    graph: { nodes, edges: Array.from({ length: count + 2 }, edge) },
    edges: Array.from({ length: 24 }, edge),
  };
}
