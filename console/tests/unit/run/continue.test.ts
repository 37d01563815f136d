import { describe, expect, test } from 'vitest';
import { applyEdit, type Edit } from '../../../src/graph/edit';
import type { Doc, GraphNode } from '../../../src/graph/model';
import { changedNodes, continuationFrom, givenPins, stepPoints } from '../../../src/run/continue';
import { begins, onFrom, stepOn } from '../../../src/run/next';
import { newRecord, type Effect, type Execution, type RunRecord } from '../../../src/run/record';
import { catalogue, doc, graph } from '../graph/support';

/** Executions from a short form: `id`, `id.port`, `id[path]`, `id!` for one that failed. */
function record(text: string, more: Partial<RunRecord> = {}): RunRecord {
  const executions = text.split(/\s+/).map((word, at): Execution => {
    const [, nodeId = '', port = 'out', path = '', failed] =
      /^([\w/]+)(?:\.(\w+))?(?:\[(\S*)\])?(!)?$/.exec(word) ?? [];
    const error = failed ? { message: 'no', code: 'TRAP' } : null;
    return {
      nodeId,
      path,
      port: error ? null : port,
      error,
      output: error ? null : `of ${nodeId}${path}`,
      startedAtMs: at,
      durationUs: 1,
      fuel: 1,
      pinned: false,
      state: 'ended',
    };
  });
  return { ...newRecord('r'), status: 'completed', executions, ...more };
}
const effect = (nodeId: string, kind = 'http'): Effect => ({
  nodeId,
  kind,
  host: 'shop.example',
  status: 200,
  error: null,
  startedAtMs: 0,
  durationUs: 1,
});
const on = (drawn: Doc, ran: RunRecord, ...from: string[]) =>
  continuationFrom({ catalogue, doc: drawn, record: ran }, from);
function withData(drawn: Doc, id: string, data: GraphNode['data']): Doc {
  const nodes = drawn.graph.nodes.map((node) =>
    node.id === id ? { ...node, data: { ...node.data, ...data } } : node,
  );
  return { ...drawn, graph: { ...drawn.graph, nodes } };
}

const LINE = doc(graph('t:OnManual a:HttpRequest b:NoOp c:NoOp', 't>a a>b b>c'));
const FORK = doc(
  graph('t:OnManual i:If a:NoOp b:HttpRequest m:Merge z:NoOp', 't>i i.true>a i.false>b t>b a>m b>m m>z'),
);
const LOOP = doc(
  graph('t:OnManual l:ForEach x:HttpRequest y:NoOp z:NoOp', 't>l l.item>x x>y y>l.next l.done>z'),
);
const INNER: Doc = {
  graph: graph('t:OnManual p:Pay z:NoOp', 't>p p>z'),
  definitions: {
    Pay: { kind: 'graph', graphData: graph('c:OnCall q:HttpRequest r:NoOp s:Return', 'c>q q>r r>s') },
  },
};

describe('what nodes gave', () => {
  const given = (drawn: Doc, ran: RunRecord, definition: string | null = null, prefix = '') =>
    givenPins({ catalogue, doc: drawn, record: ran }, definition, prefix).map(({ definition, node, pin }) => [
      definition,
      node,
      pin,
    ]);

  test('is pinned with its port; the trigger keeps its event, and what did not run or failed has no pin', () => {
    expect(given(FORK, record('t i.false b m!', { status: 'failed' }))).toEqual([
      [null, 'i', { value: 'of i', port: 'false' }],
      [null, 'b', { value: 'of b' }],
    ]);
  });

  test('by several ports at once is more than a pin can say', () => {
    const always = withData(FORK, 'i', { always: true });
    expect(given(always, record('t i.true a b m')).map(([, node]) => node)).toEqual(['a', 'b', 'm']);
  });

  test('in loops is several values, which no pin can say', () => {
    expect(given(LOOP, record('t x[l[0]] y[l[0]] x[l[1]] y[l[1]] l.done z'))).toEqual([
      [null, 'l', { value: 'of l', port: 'done' }],
      [null, 'z', { value: 'of z' }],
    ]);
  });

  test('of a composite is pinned by itself; where it is open, its nodes are', () => {
    const ran = record('t p/c p/q p/r p z');
    expect(given(INNER, ran).map(([, node]) => node)).toEqual(['p', 'z']);
    expect(given(INNER, ran, 'Pay', 'p/')).toEqual([
      ['Pay', 'q', { value: 'of p/q' }],
      ['Pay', 'r', { value: 'of p/r' }],
    ]);
    // It ran twice: there is no one state of its inside.
    expect(given(INNER, record('t p/q[p~0] p/q[p~1] p z'), 'Pay', 'p/')).toEqual([]);
  });

  test('stays pinned as the document has it', () => {
    const pinned = withData(LINE, 'a', { pin: { value: 1 } });
    expect(given(pinned, record('t a b c')).map(([, node]) => node)).toEqual(['b', 'c']);
  });
});

describe('going on from a node', () => {
  test('pins what ran before it, and nothing else', () => {
    const found = on(LINE, record('t a b c!', { status: 'failed' }), 'b');
    expect(found).toEqual({ from: ['b'], pins: { t: 'of t', a: 'of a' }, again: [] });
  });

  test('keeps branches beside it, with the port that was taken; what did not run, runs', () => {
    const found = on(FORK, record('t i.false b m'), 'm');
    expect(found.pins).toEqual({ t: 'of t', b: 'of b', i: { $pin: true, value: 'of i', port: 'false' } });
  });

  test('an error that was handed on is pinned as it was', () => {
    const branch = withData(LINE, 'a', { onError: 'branch' });
    const error = { error: { message: 'no', code: 'TRAP' } };
    expect(on(branch, record('t a! b'), 'b').pins['a']).toEqual({ $pin: true, value: error, port: 'error' });
    const goesOn = withData(LINE, 'a', { onError: 'continue' });
    expect(on(goesOn, record('t a! b'), 'b').pins['a']).toEqual(error);
    expect(on(LINE, record('t a!'), 'b').pins).toEqual({ t: 'of t' });
  });

  test('the outputs of a node for all elements are one array again', () => {
    const each = withData(LINE, 'a', { each: true });
    expect(on(each, record('t a[#1] a[#0] a[#2] b'), 'b').pins['a']).toEqual(['of a#0', 'of a#1', 'of a#2']);
  });

  test('a loop before it is done; one around it begins anew, and says what happens again', () => {
    const ran = record('t l.done x[l[0]] y[l[0]] x[l[1]] y[l[1]] z', { effects: [effect('x')] });
    expect(on(LOOP, ran, 'z')).toEqual({
      from: ['z'],
      pins: { t: 'of t', l: { $pin: true, value: 'of l', port: 'done' } },
      again: [],
    });
    expect(on(LOOP, ran, 'y')).toEqual({ from: ['l'], pins: { t: 'of t' }, again: ['x'] });
  });

  test('inside a composite, what ran before it inside is pinned too', () => {
    const ran = record('t p/c p/q p/r!', { status: 'failed', effects: [effect('p/q')] });
    expect(on(INNER, ran, 'p/r')).toEqual({
      from: ['p/r'],
      pins: { t: 'of t', 'p/c': 'of p/c', 'p/q': 'of p/q' },
      again: [],
    });
    const twice = record('t p/c[p~1] p/q[p~1] p/c[p~2] p/q[p~2] p/r[p~2]!', { effects: [effect('p/q')] });
    expect(on(INNER, twice, 'p/r')).toEqual({ from: ['p'], pins: { t: 'of t' }, again: ['p'] });
  });

  test('what several ports or a large value leave unsaid executes again: said if it was noticed outside', () => {
    const sorted = doc(graph('t:OnManual f:Filter b:NoOp', 't>f f.out>b f.rejected>b'));
    expect(on(sorted, record('t f b'), 'b')).toEqual({ from: ['b'], pins: { t: 'of t' }, again: [] });
    const ran = record('t a b', { effects: [effect('a')] });
    const [first, , ...rest] = ran.executions;
    const cut = { ...ran.executions[1]!, output: { truncated: true, bytes: 9_000_000, excerpt: '[' } };
    const found = on(LINE, { ...ran, executions: [first!, cut, ...rest] }, 'b');
    expect(found).toMatchObject({ pins: { t: 'of t' }, again: ['a'] });
    expect(
      on(LINE, { ...ran, executions: [first!, cut, ...rest], effects: [effect('a', 'hash')] }, 'b').again,
    ).toEqual([]);
  });

  test('a pin of the document stays one; the outputs of a pause are taken as they are', () => {
    const pinned = withData(LINE, 'a', { pin: { value: 7 } });
    expect(on(pinned, record('t a b'), 'b').pins).toEqual({ t: 'of t' });
    const paused = record('t a', {
      status: 'paused',
      pinnedNodes: { t: 1, a: { $pin: true, port: 'out', value: 2 } },
    });
    expect(on(LINE, paused, 'b').pins).toEqual({ t: 1, a: { $pin: true, port: 'out', value: 2 } });
  });
});

describe('what was changed since', () => {
  const edited = (drawn: Doc, ...edits: Edit[]) => changedNodes(drawn, edits.reduce(applyEdit, drawn));

  test('is what a node does, not how it is called or where it is', () => {
    expect(
      edited(
        LINE,
        { kind: 'rename', definition: null, node: 'a', label: 'Ask' },
        { kind: 'move', definition: null, nodes: { b: { x: 9, y: 9 } } },
        { kind: 'data', definition: null, nodes: ['c'], field: 'pin', value: { value: 1 } },
      ),
    ).toEqual([]);
    expect(edited(LINE, { kind: 'parameter', definition: null, node: 'b', name: 'x', value: 1 })).toEqual([
      'b',
    ]);
    expect(edited(LINE, { kind: 'remove', definition: null, edges: ['b>c'] })).toEqual(['c']);
  });

  test('is found inside composites', () => {
    expect(edited(INNER, { kind: 'parameter', definition: 'Pay', node: 'r', name: 'x', value: 1 })).toEqual([
      'p/r',
    ]);
  });
});

describe('what comes next', () => {
  const started = { doc: LINE, breakpoints: [], pinnedNodes: {}, eventData: { n: 1 }, triggerNodeId: 't' };
  const last = (now: Doc, ran: RunRecord) => ({ catalogue, doc: now, started, record: ran });

  test('begins at what was changed, or else where it failed', () => {
    const failed = record('t a b c!', {
      status: 'failed',
      error: { message: '', code: 'TRAP', nodeId: 'c' },
    });
    expect(begins(last(LINE, failed))).toEqual(['c']);
    const now = withData(LINE, 'b', { parameters: { x: 1 } });
    expect(begins(last(now, failed))).toEqual(['b']);
    expect(begins(last(LINE, record('t a b c')))).toEqual([]);
  });

  test('keeps the event, tells of changes that are kept out, and passes the breakpoint where it begins', () => {
    const now = withData(LINE, 'a', { parameters: { x: 1 } });
    const next = onFrom(last(now, record('t a b c')), ['b'], ['b', 'c']);
    expect(next?.stale).toEqual(['a']);
    expect(next?.start).toMatchObject({
      breakpoints: ['c'],
      eventData: { n: 1 },
      triggerNodeId: 't',
      continueWith: { t: 'of t', a: 'of a' },
    });
    expect(onFrom(last(now, record('t')), ['t'], [])).toBeUndefined();
    expect(onFrom(last(now, record('t a')), ['gone'], [])).toBeUndefined();
  });

  test('a step executes one node, and a loop or composite as one, unless it is stepped into', () => {
    const paused = (drawn: Doc, text: string, at: string) => ({
      ...last(drawn, record(text, { status: 'paused', breakpoint: { nodeId: at } })),
    });
    expect(stepOn(paused(LINE, 't', 'a'))?.start.breakpoints).toEqual(['b', 'c']);
    expect(stepOn(paused(LOOP, 't', 'l'))?.start.breakpoints).toEqual(['z']);
    expect(stepOn(paused(LOOP, 't', 'l'), true)?.start.breakpoints).toEqual(['x', 'y', 'z']);
    // What has executed in the loop is executed again, and must not pause.
    expect(stepOn(paused(LOOP, 't x[l[0]]', 'y'))?.start.breakpoints).toEqual(['z']);
    expect(stepOn(paused(INNER, 't', 'p'), true)?.start.breakpoints).toEqual(['z', 'p/q', 'p/r', 'p/s']);
    expect(stepOn(paused(INNER, 't p/c p/q', 'p/r'))?.start.breakpoints).toEqual(['z', 'p/s']);
    expect(stepPoints({ catalogue, doc: LOOP }, undefined, undefined)).toEqual(['l', 'z']);
  });
});
