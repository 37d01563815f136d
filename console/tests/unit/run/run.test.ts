import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { makeCatalogue, type NodeType } from '../../../src/graph/catalogue';
import type { Doc } from '../../../src/graph/model';
import { overlayOf } from '../../../src/graph/trace';
import { copied } from '../../../src/run/copied';
import { isExcerpt, outputOf, type TestEvent, type TestResult } from '../../../src/run/events';
import { inputOf, isAround } from '../../../src/run/inputs';
import { brokenOff, newRecord, recordOf, traceOf, withEvents } from '../../../src/run/record';
import { EventParser } from '../../../src/run/sse';
import { exampleOf } from '../../../src/run/setup';
import { barsOf, depthOf, fuelText, ticksOf, timeText } from '../../../src/run/timeline';
import { columnsOf, keyOf, linesOf, matching, opensByItself } from '../../../src/run/tree';
import {
  arrivedAt,
  NO_SOURCES,
  outputSample,
  surroundingsOf,
  type Sources,
} from '../../../src/inspector/surroundings';
import { countText, leadOf, problemGroups } from '../../../src/inspector/problems';
import nodes from '../inspector/nodes.json';
import captured from './run.json';

/** A run of a real server: a loop of three, a failed request with an error port, and a failure at the end. */
const result = captured.result as unknown as TestResult;
const doc = { graph: captured.graph, definitions: {} } as unknown as Doc;
const catalogue = makeCatalogue(nodes as unknown as NodeType[]);
const place = { catalogue, doc, definition: null, prefix: '' };
const trace = result.trace ?? [];

/** The run as the stream would have told it. */
const events: TestEvent[] = [
  ...trace.flatMap((entry, execution): TestEvent[] => {
    const node = { type: 'node', seq: 0, execution, nodeId: entry.nodeId, path: entry.path } as const;
    const atUs = entry.startedAtMs * 1_000;
    const { durationUs, fuel, port = null, output, error, pinned } = entry;
    const ended = { durationUs, fuel, port, output, pinned, error: error as TestResult['error'] };
    return [
      { ...node, phase: 'started', atUs },
      { ...node, ...ended, phase: 'ended', atUs: atUs + durationUs },
    ];
  }),
  { type: 'log', seq: 0, atUs: 10, level: 'info', message: 'hello', nodeId: 'note' },
  {
    type: 'effect',
    seq: 0,
    atUs: 23_300,
    nodeId: 'shop',
    kind: 'http',
    host: 'x',
    status: null,
    error: 'EGRESS_DENIED',
    durationUs: 500,
  },
];
const record = withEvents(newRecord('r'), [...events, { type: 'end', seq: 0, result, error: null }]);

describe('a run', () => {
  test('is the same by its events as by its result', () => {
    const live = withEvents(newRecord('r'), events);
    expect(live.status).toBe('running');
    expect(live.executions.map(({ nodeId, output, state }) => [nodeId, output, state])).toEqual(
      record.executions.map(({ nodeId, output, state }) => [nodeId, output, state]),
    );
    const inPieces = events.reduce((found, event) => withEvents(found, [event]), newRecord('r'));
    expect(inPieces.executions).toEqual(live.executions);
    expect(record).toMatchObject({
      status: 'failed',
      fuelUsed: result.fuelUsed,
      error: { nodeId: 'broken' },
    });
  });

  test('under way, is known as far as it went', () => {
    const half = withEvents(newRecord('r'), [
      { type: 'node', seq: 0, atUs: 5, execution: 0, nodeId: 'a', path: '', phase: 'started' },
      { type: 'node', seq: 1, atUs: 9, execution: 0, nodeId: 'a', path: '', phase: 'waiting' },
    ]);
    expect(half.executions[0]).toMatchObject({ state: 'waiting', startedAtMs: 0.005, durationUs: 4 });
    expect(brokenOff(half).status).toBe('cancelled');
    expect(brokenOff(half, { code: 'X', message: 'gone' })).toMatchObject({
      status: 'failed',
      error: { code: 'X' },
    });
    expect(brokenOff(record)).toBe(record);
  });

  test('left by its server, says so', () => {
    const lost = withEvents(newRecord('r'), [
      { type: 'end', seq: 0, result: null, error: { code: 'EXECUTION_TIMEOUT', message: 'too long' } },
    ]);
    expect(lost).toMatchObject({ status: 'failed', error: { code: 'EXECUTION_TIMEOUT' } });
  });

  test('stored, is shown on the graph', () => {
    const stored = recordOf({ id: '1', status: 'success', trace, logOutput: [], output: 1, fuelUsed: 3 });
    expect(stored.status).toBe('completed');
    expect(overlayOf(traceOf(stored), '1').nodes.get('price')).toMatchObject({ count: 3 });
    expect(recordOf({ id: '1', status: 'dead_letter' })).toMatchObject({ status: 'failed', executions: [] });
  });
});

describe('the stream', () => {
  test('is read however it is cut', () => {
    const text = 'event: node\ndata: {"a":1}\n\n: alive\n\ndata: x\r\ndata: y\r\n\r\nevent: end\ndata:z\n\n';
    const whole = [...new EventParser().push(text)];
    expect(whole).toEqual([
      { name: 'node', data: '{"a":1}' },
      { name: 'message', data: 'x\ny' },
      { name: 'end', data: 'z' },
    ]);
    fc.assert(
      fc.property(fc.array(fc.nat(text.length)), (cuts) => {
        const parser = new EventParser();
        const at = [0, ...cuts.sort((a, b) => a - b), text.length];
        const found = at.slice(1).flatMap((end, index) => [...parser.push(text.slice(at[index], end))]);
        expect(found).toEqual(whole);
      }),
    );
  });
});

describe('the waterfall', () => {
  const bars = barsOf(record, (id) => id);
  test('has a bar for each execution and effect', () => {
    expect(bars.filter(({ kind }) => kind === 'node')).toHaveLength(trace.length);
    const effect = bars.findIndex(({ kind }) => kind === 'effect');
    expect(bars[effect]).toMatchObject({ text: 'http x EGRESS_DENIED', status: 'failed', depth: 1 });
    expect(bars[effect - 1]?.nodeId).toBe('shop');
  });
  test('knows how deep it is', () => {
    expect(depthOf({ nodeId: 'a', path: '' })).toBe(0);
    expect(depthOf({ nodeId: 'checkout/pay', path: 'orders[3].lines[0]' })).toBe(3);
  });
  test('has round numbers at its axis', () => {
    expect(ticksOf(24)).toEqual([0, 5, 10, 15, 20]);
    expect(ticksOf(0.3)).toEqual([0, 0.1, 0.2, 0.3]);
    expect(ticksOf(0)).toEqual([0]);
    fc.assert(
      fc.property(fc.double({ min: 1e-6, max: 1e9, noNaN: true }), (end) => ticksOf(end).length <= 12),
    );
  });
  test('tells times and fuel in few letters', () => {
    expect([0, 0.012, 3.44, 250.6, 1_234, 61_000].map(timeText)).toEqual([
      '0',
      '12 µs',
      '3.4 ms',
      '251 ms',
      '1.2 s',
      '1 min 1 s',
    ]);
    expect([12, 1_500, 2_340_000].map(fuelText)).toEqual(['12', '1.5 k', '2.3 M']);
  });
});

describe('inputs', () => {
  const inputOfNode = (id: string, path = '') =>
    arrivedAt(
      place,
      record,
      record.executions.findIndex((it) => it.nodeId === id && it.path === path),
    );
  test('are what left the node before, in the same iteration', () => {
    expect(inputOfNode('total').value).toEqual(trace.find((it) => it.nodeId === 'lines')?.output);
    expect(inputOfNode('note', 'lines[1]').value).toMatchObject({ sku: 'LAMP-2' });
    expect(inputOfNode('large').value).toMatchObject({ error: { code: 'EGRESS_DENIED' } });
    expect(inputOfNode('start').known).toBe(false);
  });
  test('come from the iteration around as well', () => {
    expect(isAround('', 'a[0]')).toBe(true);
    expect(isAround('a[1]', 'a[1].b[0]')).toBe(true);
    expect(isAround('a[1]', 'a[10]')).toBe(false);
  });
});

test('a node with `once` gets the first item of a list', () => {
  const nodes = [
    { id: 'a', type: 'NoOp' },
    { id: 'b', type: 'NoOp', data: { once: true } },
  ] as const;
  const small: Doc = { graph: { nodes, edges: [{ source: 'a', target: 'b' }] }, definitions: {} };
  const arrived = (value: unknown) => inputOf(catalogue, small, null, nodes[1], () => ({ value })).value;
  expect(arrived([1, 2])).toEqual([1]);
  expect(arrived('text')).toBe('text');
});

test('where lists of items travel, a node sees one of them, and one on lists those of all edges', () => {
  const type = (name: string, executesPer: 'item' | 'list') =>
    ({
      type: name,
      category: 'data',
      inputs: [{ name: 'in', type: 'any' }],
      outputs: [{ name: 'out', type: 'any' }],
      executesPer,
    }) as unknown as NodeType;
  const own = makeCatalogue([type('Each', 'item'), type('List', 'list')]);
  const pinned = (id: string, value: unknown) => ({ id, type: 'List', data: { pin: { value } } });
  const list = { id: 'list', type: 'List' };
  const all = { id: 'all', type: 'Each', data: { each: false } };
  const small: Doc = {
    graph: {
      settings: { items: true },
      nodes: [pinned('a', [1, 2]), pinned('b', 3), list, all, { id: 'each', type: 'Each' }],
      edges: ['list', 'all', 'each'].flatMap((target) => [
        { source: 'a', target },
        { source: 'b', target },
      ]),
    },
    definitions: {},
  };
  const around = (id: string) =>
    surroundingsOf({ catalogue: own, doc: small, definition: null, prefix: '', sources: NO_SOURCES }, id);
  expect(around('each')).toMatchObject({ input: { value: 1 }, item: { value: 1 }, hasItem: true });
  expect(around('list')).toMatchObject({ input: { value: [1, 2, 3] }, hasItem: false });
  expect(around('all')).toMatchObject({ input: { value: [1, 2, 3] }, hasItem: false });
});

describe('surroundings', () => {
  const run = { kind: 'test' as const, from: 'test of 14:02', record, event: captured.event };
  const around = (id: string, sources: Sources = { ...NO_SOURCES, runs: [run] }) =>
    surroundingsOf({ ...place, sources }, id);
  test('have the element of a list that is a field of what arrived', () => {
    const [first] = captured.event.lines;
    expect(around('price').item).toMatchObject({ value: first, from: 'test of 14:02' });
    expect(around('price').input).toMatchObject({ value: first });
  });

  test('have what really ran, the nearest first', () => {
    const found = around('wait');
    expect(found.input).toMatchObject({ value: { total: 349.2 }, from: 'test of 14:02' });
    expect(found.trigger?.value).toEqual(captured.event);
    expect(found.upstream.map(({ reference }) => reference)).toEqual(
      expect.arrayContaining(['$("Total")', '$("Each line")', '$("By hand")', '$("Price it")']),
    );
    expect(found.upstream[0]?.name).toBe('Total');
    expect(found.hasItem).toBe(false);
    expect(around('large').hasError).toBe(true);
  });
  test('have the element in a loop', () => {
    expect(around('note').hasItem).toBe(true);
  });
  test('take a pin before a run, and an example after all', () => {
    const pinned = {
      ...doc,
      graph: {
        ...doc.graph,
        nodes: doc.graph.nodes.map((it) =>
          it.id === 'total' ? { ...it, data: { ...it.data, pin: { value: 7 } } } : it,
        ),
      },
    };
    const sources = { ...NO_SOURCES, runs: [run] };
    expect(surroundingsOf({ ...place, doc: pinned, sources }, 'wait').input).toMatchObject({
      value: 7,
      kind: 'pin',
    });
    expect(around('wait', NO_SOURCES).input).toMatchObject({
      kind: 'example',
      from: 'the example of Aggregate',
    });
  });
  test('are of what is preferred, where it has any, but for pins', () => {
    const opened = {
      kind: 'run' as const,
      from: 'the run of 9:00',
      record: { ...record, executions: record.executions.map((it) => ({ ...it, output: 'then' })) },
    };
    const runs = [run, opened];
    const input = (preferred?: Sources['preferred']) =>
      around('wait', { ...NO_SOURCES, runs, preferred }).input;
    expect(input()?.from).toBe('test of 14:02');
    expect(input('run')).toMatchObject({ value: 'then', from: 'the run of 9:00' });
    expect(input('example')?.kind).toBe('example');
    // There is no such event: the next best counts.
    expect(input('tap')?.from).toBe('test of 14:02');
  });
  test('have the event of a run of which nothing else is known', () => {
    const event = { hello: 1 };
    const bare = { ...record, executions: [] };
    const opened = { kind: 'run' as const, from: 'the run', record: bare, event, triggerId: 'start' };
    const trigger = doc.graph.nodes.find((it) => it.id === 'start')!;
    const sample = (triggerId: string) =>
      outputSample({ ...place, sources: { ...NO_SOURCES, runs: [{ ...opened, triggerId }] } }, trigger);
    expect(sample('start')).toMatchObject({ value: event, kind: 'run' });
    expect(sample('another')?.kind).not.toBe('run');
  });
  test('know the ports', () => {
    const large = doc.graph.nodes.find((it) => it.id === 'large')!;
    const sources = { ...NO_SOURCES, runs: [run] };
    expect(outputSample({ ...place, sources }, large, 'true')?.kind).toBe('test');
    expect(outputSample({ ...place, sources }, large, 'false')?.kind).not.toBe('test');
  });
});

describe('values as trees', () => {
  const value = { a: [1, { b: null }], 'c d': 'text' };
  test('have a line for each open value', () => {
    const lines = linesOf(value, () => true);
    expect(lines.map((line) => [line.kind === 'row' ? line.name : 'more', line.depth])).toEqual([
      [undefined, 0],
      ['a', 1],
      [0, 2],
      [1, 2],
      ['b', 3],
      ['c d', 1],
    ]);
    expect(linesOf(value, () => false)).toHaveLength(1);
    expect(linesOf([], opensByItself)[0]).toMatchObject({ size: 0, isOpen: false });
  });
  test('are cut where they are long', () => {
    const lines = linesOf(
      Array.from({ length: 1_000 }, (_, at) => at),
      () => true,
      () => 200,
    );
    expect(lines).toHaveLength(202);
    expect(lines.at(-1)).toMatchObject({ kind: 'more', left: 800 });
  });
  test('are searched in names and values', () => {
    expect(matching(value, '')).toBeUndefined();
    expect(matching(value, 'TEX')).toEqual(new Set([keyOf([]), keyOf(['c d'])]));
    expect(matching(value, 'b')?.has(keyOf(['a', 1]))).toBe(true);
    expect(matching(value, 'nothing')?.size).toBe(0);
  });
  test('are tables if they are lists of objects', () => {
    expect(columnsOf([{ a: 1 }, { b: 2, a: 3 }])).toEqual(['a', 'b']);
    expect(columnsOf([{ a: 1 }, 2])).toBeUndefined();
    expect(columnsOf([])).toBeUndefined();
  });
  test('may be excerpts', () => {
    expect(isExcerpt({ truncated: true, bytes: 20_000, excerpt: '{' })).toBe(true);
    expect(isExcerpt({ truncated: true, bytes: 1, other: 2 })).toBe(false);
  });
});

test('problems are told by node, errors first', () => {
  const groups = problemGroups(doc, [
    { severity: 'warning', code: 'w', nodeId: 'end', message: 'm' },
    { severity: 'warning', code: 'w', nodeId: 'total', message: 'm' },
    { severity: 'error', code: 'e', nodeId: 'total', message: 'm' },
    { severity: 'error', code: 'e', definition: 'Checkout', nodeId: 'pay', message: 'm' },
    { severity: 'error', code: 'e', nodeId: null, message: 'm' },
  ]);
  expect(groups.map(({ name, problems }) => [name, problems[0]?.severity])).toEqual([
    ['Total', 'error'],
    ['Checkout › pay', 'error'],
    ['The graph', 'error'],
    ['Answer', 'warning'],
  ]);
  expect(countText(groups.flatMap(({ problems }) => problems))).toBe('3 errors, 2 warnings');
  // The parameter begins the sentence, unless it is in it already.
  expect(leadOf({ parameter: 'scheme', message: 'must be a text' })).toBe('scheme');
  expect(leadOf({ parameter: 'code', message: 'this is no module' })).toBe('code:');
  expect(leadOf({ parameter: 'from', message: '`from` is required' })).toBe('');
});

test('the event of a test begins with the example', () => {
  const trigger = {
    id: 'hook',
    name: 'Hook',
    type: 'OnWebhook',
    examples: catalogue.byName.get('OnWebhook')?.examples,
  };
  expect(JSON.parse(exampleOf(trigger))).toMatchObject({ method: 'POST' });
  expect(JSON.parse(exampleOf({ ...trigger, ownExample: { order: 7 } }))).toEqual({ order: 7 });
  expect(exampleOf({ id: 'x', name: 'x', type: 'Own' })).toBe('null');
});

test('what is copied of a value is its text, JSON, or what there is of one that was cut', () => {
  expect([copied('a "b"'), copied({ a: [1] }), copied(null)]).toEqual([
    'a "b"',
    '{\n  "a": [\n    1\n  ]\n}',
    'null',
  ]);
  const cut = outputOf({ $truncated: true, bytes: 300_000, excerpt: '[1, 2' });
  expect([isExcerpt(cut), copied(cut)]).toEqual([true, '[1, 2']);
  expect([outputOf({ $truncated: 'no' }), outputOf(undefined)]).toEqual([{ $truncated: 'no' }, null]);
});
