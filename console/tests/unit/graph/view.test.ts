import { describe, expect, test } from 'vitest';
import { Cells, fitting, mountBox, viewBox } from '../../../src/canvas/cells';
import { firstSentence, found, paletteEntries } from '../../../src/canvas/palette';
import { layoutInput } from '../../../src/canvas/tidy-input';
import { makeScene } from '../../../src/canvas/scene';
import { addNode, insertOnEdge } from '../../../src/graph/actions';
import { portsOf } from '../../../src/graph/catalogue';
import { applyEdit } from '../../../src/graph/edit';
import { diffGraphs } from '../../../src/graph/diff';
import { boxOf, fitted, overlaps, shapeOf, textWidth } from '../../../src/graph/geometry';
import { tidied } from '../../../src/graph/layout';
import { nodeTowards } from '../../../src/graph/navigate';
import { pinnedNodes } from '../../../src/graph/pins';
import { readDocument } from '../../../src/graph/read';
import { hopsOf, makeTrace, overlayOf, step, takenTimes, type TraceEntry } from '../../../src/graph/trace';
import { outlineRows, reordered } from '../../../src/outline/rows';
import { BASE, catalogue, doc, graph } from './support';

const drawn = doc(
  graph(
    'a:OnManual l:ForEach i:If x:NoOp y:NoOp m:Merge b:Return',
    'a>l l.item>i i.true>x i.false>y x>m y>m m>l.next l.done>b',
  ),
);
const here = { catalogue, doc: drawn, definition: null };

describe('shapes', () => {
  test('follow from the ports: a single one is in the middle, several have rows', () => {
    const shape = (id: string) =>
      shapeOf(portsOf(catalogue, drawn, drawn.graph.nodes.find((node) => node.id === id) as never));
    expect(shape('x')).toMatchObject({
      width: 200,
      height: 60,
      inputs: [{ x: 0, y: 30 }],
      outputs: [{ x: 200, y: 30 }],
    });
    expect(shape('i')).toMatchObject({
      height: 100,
      inputs: [{ y: 30 }],
      outputs: [
        { name: 'true', y: 60 },
        { name: 'false', y: 80 },
      ],
    });
    expect(shape('l').inputs.map((port) => port.y)).toEqual([60, 80]);
  });
  test('a text is cut to its room', () => {
    expect(fitted('Short', 13, 132)).toBe('Short');
    const cut = fitted('A label that is much too long for a node', 13, 132);
    expect(cut).toMatch(/…$/);
    expect(textWidth(cut, 13)).toBeLessThanOrEqual(132 + 13);
  });
});

describe('tidying', () => {
  test('puts nodes in columns, branches in the order of their ports, bodies before what follows, apart from each other', () => {
    const { nodes } = tidied(layoutInput(here));
    const at = (id: string) => nodes[id] as { x: number; y: number };
    expect(at('a').x).toBeLessThan(at('l').x);
    expect(at('l').x).toBeLessThan(at('i').x);
    expect(at('x').y).toBeLessThan(at('y').y);
    expect(at('b').x).toBeGreaterThan(at('m').x);
    const boxes = drawn.graph.nodes.map((node) =>
      boxOf(catalogue, drawn, { ...node, position: at(node.id) }),
    );
    boxes.forEach((box, place) =>
      boxes.slice(place + 1).forEach((other) => expect(overlaps(box, other)).toBe(false)),
    );
    for (const { x, y } of Object.values(nodes)) expect([x % 10, y % 10].map(Math.abs)).toEqual([0, 0]);
  });
  test('takes notes along with the node that they are at', () => {
    const noted = {
      ...drawn,
      graph: {
        ...drawn.graph,
        notes: [{ id: 'n', text: '', position: { x: 10, y: 70 }, width: 100, height: 40 }],
      },
    };
    const { nodes, notes } = tidied({ ...layoutInput({ ...here, doc: noted }) });
    const moved = Object.values(nodes).some(
      ({ x, y }) => notes['n']?.x === x + 10 && notes['n']?.y === y + 70,
    );
    expect(moved).toBe(true);
  });
});

describe('adding', () => {
  test('goes on from a node, connected, beside it and on nothing', () => {
    const { edit, node } = addNode(here, { type: 'NoOp', from: { node: 'x' } });
    const after = applyEdit(drawn, edit);
    expect(after.graph.edges.at(-1)).toMatchObject({ source: 'x', target: node });
    expect(after.graph.nodes.at(-1)?.data?.label).toBe('No operation');
  });
  test('on an edge takes its place between the ends; a trigger leaves the edge alone', () => {
    const after = applyEdit(drawn, addNode(here, { type: 'Transform', edge: 'a>l' }).edit);
    const added = after.graph.nodes.at(-1)?.id;
    const ends = after.graph.edges.map((edge) => `${edge.source}>${edge.target}`);
    expect(ends).toContain(`a>${added}`);
    expect(ends).toContain(`${added}>l`);
    expect(ends).not.toContain('a>l');
    const trigger = applyEdit(drawn, addNode(here, { type: 'OnSchedule', edge: 'a>l' }).edit);
    expect(trigger.graph.edges.some((edge) => edge.id === 'a>l')).toBe(true);
  });
  test('a node that has edges is not put on another', () => {
    expect(insertOnEdge(here, 'x', 'a>l')).toBeUndefined();
    const lone = doc({ ...drawn.graph, nodes: [...drawn.graph.nodes, { id: 'z', type: 'NoOp' }] });
    expect(insertOnEdge({ ...here, doc: lone }, 'z', 'a>l')).toBeDefined();
  });
});

test('arrows follow edges, and go up and down', () => {
  const placed = applyEdit(drawn, { kind: 'move', definition: null, nodes: tidied(layoutInput(here)).nodes });
  const from = (id: string, direction: 'left' | 'right' | 'up' | 'down') =>
    nodeTowards({ ...here, doc: placed }, id, direction);
  expect(from('a', 'right')).toBe('l');
  expect(from('i', 'right')).toBe('x');
  expect(from('x', 'down')).toBe('y');
  expect(from('x', 'left')).toBe('i');
  expect(from('a', 'left')).toBeUndefined();
});

test('cells find what a search through everything finds', () => {
  const make = (at: number) => ({
    id: `n${at}`,
    x: (at * 379) % 5_000,
    y: (at * 911) % 3_000,
    width: 40 + (at % 7) * 300,
    height: 60,
  });
  const byId = (ids: readonly number[]) => new Map(ids.map((at) => [`n${at}`, make(at)]));
  // Some go, some come and all others stay as they are: as if all had been put in anew.
  const old = byId([...Array(280).keys()]);
  const items = new Map([...old].slice(20));
  for (const [id, item] of byId([290, 291, 292, 293])) items.set(id, item);
  items.set('n40', { ...make(40), x: 4_900, width: 100 });
  const cells = new Cells(items, new Cells(old));
  const boxes = [...items.values()];
  for (const box of [
    { x: 100, y: 100, width: 900, height: 500 },
    { x: -1e6, y: -1e6, width: 2e6, height: 2e6 },
    { x: 4_900, y: 0, width: 1, height: 1 },
  ]) {
    expect(cells.within(box)).toEqual(new Set(boxes.filter((other) => overlaps(box, other))));
  }
  const shown = viewBox(fitting({ x: 0, y: 0, width: 1_000, height: 400 }, 800, 600), 800, 600);
  expect(shown.x).toBeLessThan(0);
  expect(shown.x + shown.width).toBeGreaterThan(1_000);
  expect(mountBox(shown).width).toBeGreaterThan(shown.width);
});

describe('the scene', () => {
  const input = {
    catalogue,
    doc: drawn,
    level: { definition: null, prefix: '' },
    problems: [],
    run: null,
    diff: null,
  };
  test('keeps the views of what did not change', () => {
    const before = makeScene(input);
    const moved = applyEdit(drawn, { kind: 'move', definition: null, nodes: { x: { x: 50, y: 0 } } });
    const after = makeScene({ ...input, doc: moved }, before);
    const changed = [...after.nodes].filter(([id, view]) => before.nodes.get(id) !== view).map(([id]) => id);
    expect(changed).toEqual(['x']);
    expect(
      [...after.edges]
        .filter(([id, view]) => before.edges.get(id) !== view)
        .map(([id]) => id)
        .sort(),
    ).toEqual(['i.true>x', 'x>m']);
  });
  test('shows problems at their nodes, those of definitions at the nodes of that type', () => {
    const problem = (more: object) => ({ severity: 'error' as const, code: 'x', message: 'wrong', ...more });
    const problems = [
      problem({ nodeId: 'b' }),
      problem({ definition: 'Inner', nodeId: 'a', parameter: 'value' }),
    ];
    const inner = {
      ...BASE,
      graph: { ...BASE.graph, nodes: [...BASE.graph.nodes, { id: 'in', type: 'Inner' }] },
    };
    const main = makeScene({ ...input, doc: inner, problems });
    expect([main.nodes.get('b')?.errors, main.nodes.get('in')?.errors, main.nodes.get('a')?.errors]).toEqual([
      1, 1, 0,
    ]);
    const inside = makeScene({
      ...input,
      doc: inner,
      problems,
      level: { definition: 'Inner', prefix: 'in/' },
    });
    expect([inside.nodes.get('a')?.errors, inside.nodes.get('b')?.errors ?? 0]).toEqual([1, 0]);
  });
  test('makes new views for problems only where they come and go', () => {
    const found = [{ severity: 'error' as const, code: 'x', message: 'wrong', nodeId: 'x' }];
    const sound = makeScene(input);
    const wrong = makeScene({ ...input, problems: found }, sound);
    const mended = makeScene(input, wrong);
    const changed = (before: typeof sound, after: typeof sound) =>
      [...after.nodes].filter(([id, view]) => before.nodes.get(id) !== view).map(([id]) => id);
    expect([changed(sound, wrong), changed(wrong, mended)]).toEqual([['x'], ['x']]);
    expect([wrong.nodes.get('x')?.errors, mended.nodes.get('x')?.errors]).toEqual([1, 0]);
  });
});

describe('a run', () => {
  const entry = (nodeId: string, port: string, more: Partial<TraceEntry> = {}): TraceEntry => ({
    nodeId,
    path: '',
    startedAtMs: 0,
    durationUs: 10,
    fuel: 1,
    port,
    output: 1,
    pinned: false,
    ...more,
  });
  const trace = makeTrace([
    entry('a', 'out'),
    entry('l', 'done'),
    entry('i', 'true', { path: '0' }),
    entry('x', 'out', { path: '0' }),
    entry('i', 'false', { path: '1' }),
    entry('y', 'out', { path: '1', port: null, error: { message: 'no' } }),
  ]);
  test('counts what each node did, up to the cursor', () => {
    const all = overlayOf(trace, 'r');
    expect(all.nodes.get('i')).toMatchObject({ count: 2, ports: { true: 1, false: 1 }, status: 'ok' });
    expect(all.nodes.get('y')?.status).toBe('failed');
    const some = overlayOf(trace, 'r', { cursor: 3 });
    expect([some.current, some.nodes.get('i')?.count, some.nodes.has('y')]).toEqual(['i', 1, false]);
    expect([step(trace, 6, 1), step(trace, 0, -1), step(trace, 2, 1)]).toEqual([6, 0, 3]);
  });
  test('went into the body of a loop once for each iteration', () => {
    const times = (id: string) => {
      const edge = drawn.graph.edges.find((each) => each.id === id);
      return edge && takenTimes(overlayOf(trace, 'r'), '', edge, 'out');
    };
    expect([times('l.item>i'), times('l.done>b'), times('i.true>x')]).toEqual([2, 1, 1]);
  });
  test('is replayed along the edges that were taken, in their order', () => {
    const hops = hopsOf(overlayOf(trace, 'r'), '', drawn.graph, () => 'out').map((hop) => hop.edge.id);
    expect(hops).toEqual(['a>l', 'l.item>i', 'l.done>b', 'i.true>x', 'i.false>y', 'x>m']);
  });
});

describe('reading', () => {
  test('is the identity for what the API gives', () => {
    const data = JSON.parse(JSON.stringify(BASE.graph)) as unknown;
    const { doc: read, repairs } = readDocument(data, BASE.definitions);
    expect(read.graph).toBe(data);
    expect(read.definitions).toBe(BASE.definitions);
    expect(repairs).toEqual([]);
  });
  test('puts right what can be, and says so', () => {
    const { doc: read, repairs } = readDocument({
      nodes: [
        { id: 'a', type: 'NoOp' },
        { id: 'a', type: 'NoOp', position: 'here' },
      ],
      edges: [
        { id: 'e', source: 'a', target: 'a' },
        { id: 'e', source: 'a', target: 'b' },
      ],
    });
    expect(new Set(read.graph.nodes.map((node) => node.id)).size).toBe(2);
    expect(new Set(read.graph.edges.map((edge) => edge.id)).size).toBe(2);
    expect(repairs).toHaveLength(3);
  });
  test.each([null, 1, { nodes: 1 }, { nodes: [1] }, { nodes: [{ id: 'a' }] }, { nodes: [], edges: [{}] }])(
    'refuses what is no graph: %j',
    (value) => expect(() => readDocument(value)).toThrow(/must be|has no type|is not an object|must have/),
  );
});

test('a difference knows renames, moves and edges apart', () => {
  const after = [
    { kind: 'rename' as const, definition: null, node: 'x', label: 'New' },
    { kind: 'move' as const, definition: null, nodes: { y: { x: 9, y: 9 } } },
    { kind: 'remove' as const, definition: null, nodes: ['b'] },
  ].reduce(applyEdit, drawn);
  const diff = diffGraphs(drawn.graph, after.graph);
  expect(Object.fromEntries([...diff.nodes].map(([id, { change }]) => [id, change]))).toEqual({
    x: 'renamed',
    y: 'moved',
    b: 'removed',
  });
  expect(diff.nodes.get('x')).toMatchObject({ fields: [], label: { before: 'X', after: 'New' } });
  expect([...diff.edges]).toEqual([['l.done>b', 'removed']]);
});

test('pins are sent by the path of their nodes', () => {
  const pinned = {
    graph: {
      nodes: [
        { id: 'a', type: 'NoOp', data: { pin: { value: 1, port: 'out' } } },
        { id: 'c', type: 'Inner' },
      ],
      edges: [],
    },
    definitions: {
      Inner: {
        kind: 'graph',
        graphData: { nodes: [{ id: 'x', type: 'NoOp', data: { pin: { value: 2 } } }], edges: [] },
      },
    },
  };
  expect(pinnedNodes(pinned)).toEqual({ a: { $pin: true, value: 1, port: 'out' }, 'c/x': 2 });
});

describe('the palette', () => {
  const entries = paletteEntries(catalogue, BASE);
  test('has every type, the pattern’s own, and what begins another of them', () => {
    expect(entries.map((entry) => entry.type)).toEqual([
      'Inner',
      ...catalogue.types.map((type) => type.type),
      ...['graph', 'javascript', 'expression', 'component'].map((kind) => `new ${kind}`),
    ]);
  });
  test.each([
    ['http', 'HttpRequest'],
    ['for', 'ForEach'],
    ['sql', 'SqlQuery'],
    ['web', 'OnWebhook'],
  ])('finds %s', (search, type) => {
    expect(
      found(entries, search)
        .slice(0, 3)
        .map((entry) => entry.type),
    ).toContain(type);
  });
  test('finds by the words that people use, where the catalogue has them', () => {
    const words = [
      { title: 'Filter', keywords: ['where', 'keep only'] },
      { title: 'Somewhere', keywords: [] },
    ];
    expect(found(words, 'where')[0]?.title).toBe('Filter');
    expect(found(words, 'keep')).toHaveLength(1);
    expect(found(words, 'nothing')).toEqual([]);
    expect(firstSentence('Calls `it`. More.')).toBe('Calls it');
  });
});

describe('the outline', () => {
  test('has bodies within their loop, and edges where a node is open', () => {
    const rows = outlineRows(here, new Set());
    expect(rows.filter((row) => row.kind === 'node').map((row) => `${row.level} ${row.node}`)).toEqual([
      '1 a',
      '1 l',
      '2 i',
      '2 x',
      '2 y',
      '2 m',
      '1 b',
    ]);
    expect(rows.find((row) => row.key.startsWith('l out l.done'))?.text).toBe('done → B');
    expect(rows.find((row) => row.key.startsWith('l in m'))?.text).toBe('next ← M');
    for (const row of rows) expect(row.position).toBeLessThanOrEqual(row.setSize);
  });
  test('moves an edge among those that enter a node', () => {
    const edges = reordered(drawn.graph, 'm', 'y>m', -1) ?? [];
    expect(edges).toEqual(['y>m', 'x>m']);
    const after = applyEdit(drawn, { kind: 'order', definition: null, node: 'm', edges });
    expect(after.graph.edges.filter((edge) => edge.target === 'm').map((edge) => edge.id)).toEqual([
      'y>m',
      'x>m',
    ]);
    expect(reordered(drawn.graph, 'm', 'x>m', -1)).toBeUndefined();
  });
});
