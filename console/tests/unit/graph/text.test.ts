import fc from 'fast-check';
import { expect, test } from 'vitest';
import { applyEdit } from '../../../src/graph/edit';
import { bodyText } from '../../../src/graph/text';
import { anyEdit, BASE } from './support';

test('the text of a body is its JSON, whatever was edited before', () => {
  fc.assert(
    fc.property(fc.array(anyEdit, { maxLength: 8 }), (edits) => {
      let doc = BASE;
      for (const edit of edits) {
        doc = applyEdit(doc, edit);
        const body = {
          baseVersion: 3,
          graphData: doc.graph,
          nodeDefinitions: doc.definitions,
          no: undefined,
        };
        expect(bodyText(body)).toBe(JSON.stringify(body));
      }
    }),
  );
});

test('odd bodies are written as they are', () => {
  for (const body of [
    { graphData: null, nodeDefinitions: [] },
    { graphData: { nodes: [1, null, undefined, [{}]], edges: 'none', settings: { a: undefined } } },
    { graphData: [], nodeDefinitions: { A: 1, B: null, C: { graphData: 7 }, D: { kind: 'expression' } } },
  ]) {
    expect(bodyText(body)).toBe(JSON.stringify(body));
  }
});

test('a node that is the same is not written again', () => {
  let times = 0;
  const node = { id: 'a', toJSON: () => ({ id: 'a', times: (times += 1) }) };
  const written = [1, 2].map((n) => bodyText({ n, graphData: { nodes: [node, { id: 'b' }] } }));
  expect(times).toBe(1);
  expect(written[1]).toBe('{"n":2,"graphData":{"nodes":[{"id":"a","times":1},{"id":"b"}]}}');
});
