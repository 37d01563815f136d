import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { copyText, makeClip, pasteEdit, readClip, readForeign } from '../../../src/graph/clipboard';
import { applyEdit } from '../../../src/graph/edit';
import { DocumentStore } from '../../../src/graph/document';
import { EMPTY_DOC } from '../../../src/graph/model';
import { Session } from '../../../src/graph/session';
import { anyEdit, BASE, catalogue, doc, graph } from './support';

const all = (of: { graph: { nodes: readonly { id: string }[]; notes?: readonly { id: string }[] } }) => ({
  nodes: new Set(of.graph.nodes.map((node) => node.id)),
  edges: new Set<string>(),
  notes: new Set((of.graph.notes ?? []).map((note) => note.id)),
});

describe('the clipboard', () => {
  test('round-trips: what is copied whole and pasted into nothing is the same', () => {
    fc.assert(
      fc.property(fc.array(anyEdit, { maxLength: 15 }), (edits) => {
        const from = edits.reduce(applyEdit, BASE);
        fc.pre(from.graph.nodes.length > 0);
        const clip = readClip(copyText(from, null, all(from)));
        expect(clip).toBeDefined();
        if (!clip) return;
        expect(clip).toEqual(makeClip(from, null, all(from)));
        const labels = from.graph.nodes.flatMap((node) => node.data?.label ?? []).filter(Boolean);
        const clash =
          new Set([...labels, ...from.graph.nodes.map((node) => node.id)]).size <
          labels.length + from.graph.nodes.length;
        const into = applyEdit(
          EMPTY_DOC,
          pasteEdit(EMPTY_DOC, null, clip, { at: middle(clip.nodes, clip.notes) }).edit,
        );
        if (!clash) expect(into.graph.nodes).toEqual(from.graph.nodes);
        expect(into.graph.edges).toEqual(from.graph.edges);
      }),
      { numRuns: 200 },
    );
  });

  test('a copy beside the original has its own ids and labels, and refers to itself', () => {
    const drawn = applyEdit(doc(graph('a:OnManual b:Transform c:NoOp', 'a>b b>c')), {
      kind: 'parameter',
      definition: null,
      node: 'c',
      name: 'value',
      value: '{{ $("B").x + $nodes["b"].y + $("A").z }}',
    });
    const { edit, selection } = pasteEdit(
      drawn,
      null,
      makeClip(drawn, null, {
        nodes: new Set(['b', 'c']),
        edges: new Set(),
        notes: new Set(),
      }),
    );
    const after = applyEdit(drawn, edit);
    const [first, second] = after.graph.nodes.slice(3);
    expect(after.graph.nodes.length).toBe(5);
    expect([first?.data?.label, second?.data?.label]).toEqual(['B 2', 'C 2']);
    expect(selection.nodes).toEqual(new Set([first?.id, second?.id]));
    expect(second?.data?.parameters).toEqual({
      value: `{{ $("B 2").x + $nodes["${first?.id}"].y + $("A").z }}`,
    });
    expect(after.graph.edges.at(-1)).toMatchObject({ source: first?.id, target: second?.id });
    expect(new Set(after.graph.edges.map((edge) => edge.id)).size).toBe(after.graph.edges.length);
  });

  test('definitions travel along; another one of that name gets a new name', () => {
    const from = { ...doc(graph('a:Inner')), definitions: BASE.definitions };
    const clip = readClip(copyText(from, null, all(from)));
    expect(clip?.definitions).toEqual(BASE.definitions);
    const other = { ...EMPTY_DOC, definitions: { Inner: { kind: 'expression' } } };
    const after = clip && applyEdit(other, pasteEdit(other, null, clip).edit);
    expect(after?.graph.nodes[0]?.type).toBe('Inner2');
    expect(after?.definitions['Inner2']).toEqual(BASE.definitions['Inner']);
  });

  test.each(['', 'hello', '{"nodes": 1}', '[]', '{"a": 1}', '{"nodes": [{"id": 1}], "edges": []}', '{'])(
    'what is not part of a pattern is left alone: %s',
    (text) => expect(readClip(text)).toBeUndefined(),
  );
});

describe('the clipboard of another system', () => {
  const copied = JSON.stringify({
    nodes: [{ name: 'Set', type: 'n8n-nodes-base.set', typeVersion: 3.4, position: [0, 0], parameters: {} }],
    connections: {},
    pinData: {},
  });

  test('is told from a part of a pattern', () => {
    expect(readForeign(copied)).toEqual({ system: 'n8n', parts: [JSON.parse(copied)] });
    const flow = [{ id: 'a', z: 't', type: 'inject', wires: [['b']] }];
    expect(readForeign(JSON.stringify(flow))).toEqual({ system: 'Node-RED', parts: flow });
    const own = copyText(BASE, null, all(BASE));
    for (const text of [
      own,
      '{"nodes": []}',
      '{"nodes": [null]}',
      '[]',
      '[{"id": "a", "type": "tab"}]',
      '{',
    ]) {
      expect(readForeign(text)).toBeUndefined();
    }
  });

  test('is translated, then pasted in one step', async () => {
    const session = new Session(new DocumentStore(EMPTY_DOC), catalogue);
    const translated = copyText(BASE, null, all(BASE));
    session.translate = async () => translated;
    expect(session.paste(copied)).toBe(true);
    await vi.waitFor(() => expect(session.graph.nodes).toHaveLength(BASE.graph.nodes.length));
    session.undo();
    expect(session.graph.nodes).toEqual([]);
  });

  test('that can not be translated says why, and changes nothing', async () => {
    const session = new Session(new DocumentStore(EMPTY_DOC), catalogue);
    const refused = vi.fn();
    session.onrefused = refused;
    session.translate = () => Promise.reject(new Error('It has no nodes.'));
    expect(session.paste(copied)).toBe(true);
    await vi.waitFor(() => expect(refused).toHaveBeenCalledWith('It has no nodes.'));
    expect(session.graph.nodes).toEqual([]);
  });
});

function middle(
  nodes: readonly { position?: { x: number; y: number } }[],
  notes: readonly { position: { x: number; y: number } }[],
) {
  const points = [...nodes, ...notes].flatMap((item) => (item.position ? [item.position] : []));
  const between = (values: number[]) => (values.length ? (Math.min(...values) + Math.max(...values)) / 2 : 0);
  return { x: between(points.map((point) => point.x)), y: between(points.map((point) => point.y)) };
}
