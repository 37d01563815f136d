/** OpenAPI documents, as node types of a pattern. */

import { answer, api, type Schemas } from './client';

export type ImportedApi = Schemas['OpenApiAnswer'];
export type Operation = Schemas['OpenApiOperation'];

/** Operations that are imported together. */
export const OPERATIONS_MAX = 500;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether this is such a document. Of the versions that can't be imported, the server says what to do. */
export const isOpenApi = (value: unknown): value is Record<string, unknown> =>
  isObject(value) && (typeof value['openapi'] === 'string' || typeof value['swagger'] === 'string');

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];

/** How many operations a document has, and how many of them have which tag. */
export function tagsOf(document: Record<string, unknown>): { count: number; tags: Map<string, number> } {
  const tags = new Map<string, number>();
  const paths = isObject(document['paths']) ? Object.values(document['paths']) : [];
  const operations = paths
    .filter(isObject)
    .flatMap((path) => METHODS.map((method) => path[method]).filter(isObject));
  for (const operation of operations) {
    const own: unknown[] = Array.isArray(operation['tags']) ? operation['tags'] : [];
    for (const tag of new Set(own)) if (typeof tag === 'string') tags.set(tag, (tags.get(tag) ?? 0) + 1);
  }
  return { count: operations.length, tags };
}

/** The node types of a document's operations, or of those with a tag. Nothing is stored. */
export const readOpenApi = (document: Record<string, unknown>, tag: string): Promise<ImportedApi> =>
  answer(
    api.POST('/api/patterns/import/openapi', { body: { document, ...(tag && { tags: [tag] }) } as never }),
  );

/** An operation, and what could not be taken over of it. */
export interface Reviewed {
  readonly operation: Operation;
  readonly remarks: readonly string[];
}

/** What became of each operation, those that can be imported first, and what is said of the document as a whole. */
export function reviewed({ report }: Pick<ImportedApi, 'report'>): {
  operations: readonly Reviewed[];
  remarks: readonly string[];
} {
  const about = new Map<string | null, string[]>();
  for (const { operationId, message } of report.items)
    about.set(operationId, [...(about.get(operationId) ?? []), message]);
  const operations = report.operations
    .map((operation) => ({ operation, remarks: about.get(operation.id) ?? [] }))
    .sort((a, b) => Number(a.operation.definition === null) - Number(b.operation.definition === null));
  return { operations, remarks: about.get(null) ?? [] };
}

/** Whether what people look for is in an operation's name, path or title. */
export function matches({ definition, id, method, path, title }: Operation, search: string): boolean {
  const text = `${definition ?? id} ${method} ${path} ${title}`.toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
