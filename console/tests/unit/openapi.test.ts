/** OpenAPI documents: what is one, what is shown of it, and what becomes of it in the editor. */

import { describe, expect, it } from 'vitest';
import { type ImportedApi, isOpenApi, matches, type Operation, reviewed, tagsOf } from '$/api/openapi';
import { applyEdit } from '$/graph/edit';
import { EMPTY_DOC } from '$/graph/model';
import { definingEdit } from '$/screens/editor/openapi';
import { readFiles } from '$/screens/patterns/actions';

const PETS = {
  openapi: '3.1.0',
  info: { title: 'Pets', version: '1' },
  paths: {
    '/pets': { get: { tags: ['pets', 'pets'] }, post: { tags: ['pets', 'admin'] }, parameters: [] },
    '/health': { get: {} },
    '/odd': null,
  },
};
const operation = (id: string, definition: string | null): Operation => ({
  id,
  method: 'GET',
  path: `/${id}`,
  title: `Reads ${id}`,
  tags: [],
  definition,
  fields: [],
});

describe('a document', () => {
  it('is told from patterns, in files too', async () => {
    expect(isOpenApi(PETS)).toBe(true);
    expect(isOpenApi({ swagger: '2.0' })).toBe(true);
    expect(isOpenApi({ nodes: [], edges: [] })).toBe(false);
    expect(isOpenApi([PETS])).toBe(false);
    const chosen = await readFiles([new File([JSON.stringify(PETS)], 'pets.json')]);
    expect(chosen).toEqual({ patterns: [], workflows: [], flows: [], documents: [PETS] });
    await expect(readFiles([new File(['openapi: 3.1.0'], 'pets.yaml')])).rejects.toThrow(
      'convert it to JSON first',
    );
  });

  it('has its operations counted by tag, whatever else is in it', () => {
    const { count, tags } = tagsOf(PETS);
    expect(count).toBe(3);
    expect([...tags]).toEqual([
      ['pets', 2],
      ['admin', 1],
    ]);
    expect(tagsOf({ openapi: '3.1.0', paths: 'none' }).count).toBe(0);
  });
});

describe('what became of operations', () => {
  const report: ImportedApi['report'] = {
    connections: [],
    operations: [operation('upload', null), operation('pets', 'listPets')],
    items: [
      { operationId: null, isLeftOut: false, message: 'No server.' },
      { operationId: 'upload', isLeftOut: true, message: 'A cookie.' },
    ],
  };

  it('is shown with those first that can be imported', () => {
    const { operations, remarks } = reviewed({ report });
    expect(operations.map((each) => [each.operation.id, each.remarks])).toEqual([
      ['pets', []],
      ['upload', ['A cookie.']],
    ]);
    expect(remarks).toEqual(['No server.']);
  });

  it('is found by words of its name, path and title', () => {
    expect(matches(operation('pets', 'listPets'), 'get LIST')).toBe(true);
    expect(matches(operation('pets', 'listPets'), 'reads post')).toBe(false);
    expect(matches(operation('pets', null), '')).toBe(true);
  });
});

describe('definitions in the editor', () => {
  const graph = (id: string) => ({
    kind: 'graph',
    graphData: { nodes: [{ id, type: 'OnCall' }], edges: [] },
  });

  it('are added once, under names that are free', () => {
    const add = (doc: typeof EMPTY_DOC, definitions: Record<string, unknown>) =>
      applyEdit(doc, definingEdit(doc, 'Pets', definitions));
    const once = add(EMPTY_DOC, { getPet: graph('a'), getPet2: graph('b') });
    expect(Object.keys(once.definitions)).toEqual(['getPet', 'getPet2']);
    expect(add(once, { getPet: graph('a') })).toBe(once);
    const twice = add(once, { getPet: graph('c') });
    expect(Object.keys(twice.definitions)).toEqual(['getPet', 'getPet2', 'getPet3']);
  });
});
