/** What can be done with a pattern in the list. */

import { answer, api, type Schemas } from '$/api/client';
import { isOpenApi } from '$/api/openapi';
import type { Pattern } from '$/api/queries';
import { toast } from '$/parts/toasts.svelte';
import type { Example } from './examples';

const IMPORT_BYTES_MAX = 8 << 20;

export async function cloned(pattern: Pattern): Promise<void> {
  const made = await answer(
    api.POST('/api/patterns/{id}/clone', { params: { path: { id: pattern.id } }, body: {} }),
  );
  toast.ok(`Cloned as “${made.name}”.`);
}

/** Downloads the pattern as a file. */
export async function exported(pattern: Pattern): Promise<void> {
  const file = await answer(api.GET('/api/patterns/{id}/export', { params: { path: { id: pattern.id } } }));
  saveAs(`${pattern.name.replace(/[^\w.-]+/g, '-').replace(/^-+|-+$/g, '') || 'pattern'}.json`, file);
}

/** Gives the browser a value to keep as a file. */
export function saveAs(name: string, value: unknown): void {
  const blob = new Blob([JSON.stringify(value, null, 2)], { type: 'application/json' });
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 0);
}

/** A file with only a graph, and its definitions if there are any, is a pattern by the file's name. */
function named(body: unknown, file: string): unknown {
  const isGraph = typeof body === 'object' && body !== null && 'nodes' in body && !('graphData' in body);
  if (!isGraph) return body;
  const { nodeDefinitions, ...graphData } = body as Record<string, unknown>;
  const name = file.replace(/\.json$/i, '').slice(0, 200) || 'Imported';
  return { name, graphData, ...(nodeDefinitions !== undefined && { nodeDefinitions }) };
}

/** What chosen files hold: patterns, workflows of n8n, nodes of Node-RED's flows, and OpenAPI documents. */
export interface Chosen {
  readonly patterns: readonly Schemas['ImportRequest'][];
  readonly workflows: readonly object[];
  readonly flows: readonly object[];
  readonly documents: readonly Record<string, unknown>[];
}

/** Reads files that Export made, those with a graph, those that n8n and Node-RED export, and OpenAPI documents. */
export async function readFiles(files: readonly File[]): Promise<Chosen> {
  // Of the editor, which lists have no other use for.
  const { foreignIn } = await import('$/graph/clipboard');
  const patterns: Schemas['ImportRequest'][] = [];
  const workflows: object[] = [];
  const flows: object[] = [];
  const documents: Record<string, unknown>[] = [];
  for (const file of files) {
    const body = await contentOf(file);
    const foreign = foreignIn(body);
    if (foreign) (foreign.system === 'n8n' ? workflows : flows).push(...foreign.parts);
    else if (isOpenApi(body)) documents.push(body);
    else patterns.push(named(body, file.name) as Schemas['ImportRequest']);
  }
  return { patterns, workflows, flows, documents };
}

/** The JSON in a file. */
export async function contentOf(file: File): Promise<unknown> {
  if (/\.ya?ml$/i.test(file.name))
    throw new Error(`“${file.name}” is YAML: convert it to JSON first, for example with “yq -o=json”.`);
  if (file.size > IMPORT_BYTES_MAX)
    throw new Error(`“${file.name}” is larger than 8 MiB, so it can’t be imported here.`);
  try {
    return JSON.parse(await file.text());
  } catch {
    throw new Error(
      `“${file.name}” is not JSON: choose a file that Export made, one with a graph, or an OpenAPI document.`,
    );
  }
}

/** Creates a pattern without nodes that has node types of its own. */
export const createdWith = (
  name: string,
  nodeDefinitions: Record<string, unknown>,
): Promise<Schemas['Created']> =>
  imported({
    name: name.slice(0, 200) || 'API',
    graphData: { nodes: [], edges: [] },
    nodeDefinitions,
  } as Schemas['ImportRequest']);

/** Creates a pattern of what a file holds. */
export const imported = (pattern: Schemas['ImportRequest']): Promise<Schemas['Created']> =>
  answer(api.POST('/api/patterns/import', { body: pattern }));

export const removed = (id: string): Promise<unknown> =>
  answer(api.DELETE('/api/patterns/{id}', { params: { path: { id } } }));

/** Creates a pattern: empty, or with the graph of an example. */
export const created = (
  name: string,
  description: string,
  example: Pick<Example, 'graphData' | 'nodeDefinitions'> | undefined,
): Promise<{ id: string }> =>
  example
    ? answer(
        api.POST('/api/patterns/import', {
          body: { name, description, ...example } as Schemas['ImportRequest'],
        }),
      )
    : answer(api.POST('/api/patterns', { body: { name, description } }));

/** Stars a pattern, or takes the star away. */
export const starred = (id: string): Promise<unknown> =>
  answer(api.POST('/api/patterns/{id}/star', { params: { path: { id } } }));
