/** The files of a workspace: uploaded, received, and made by runs. */

import { answer, api, type Schemas, withWorkspace, workspaceHeaders } from './client';
import { errorOf, offline } from './error';
import { firstPages, PAGE } from './pages';
import { query, refresh } from './queries';

export type StoredFile = Schemas['StoredFile'];

/** The newest first; `pages` of a hundred. */
export const files = (pages: () => number) =>
  query(
    () => ['files', pages()],
    async (signal) => {
      const { pages: found, hasMore } = await firstPages(pages(), (cursor) =>
        answer(api.GET('/api/files', { params: { query: { limit: PAGE, cursor } }, signal })),
      );
      return { rows: found.flatMap((page) => page.data), hasMore };
    },
  );

/** Uploads a file as it is, whatever its size: the browser reads it while it is sent. */
export async function upload(file: File): Promise<void> {
  let response: Response;
  try {
    response = await fetch(`/api/files?name=${encodeURIComponent(file.name)}`, {
      method: 'POST',
      headers: { 'content-type': file.type || 'application/octet-stream', ...workspaceHeaders() },
      body: file,
    });
  } catch {
    throw offline();
  }
  if (!response.ok) throw errorOf(response, await response.json().catch(() => undefined));
  await refresh('files');
}

/** Removes a file that nothing refers to. */
export async function removeFile(id: string): Promise<void> {
  await answer(api.DELETE('/api/files/{id}', { params: { path: { id } } }));
  await refresh('files');
}

/** Where it is downloaded from. */
export const fileAddress = (id: string): string => withWorkspace(`/api/files/${encodeURIComponent(id)}`);

/** The value that refers to the file in events, pins and tests. */
export const valueOf = ({ $file, name, type, size, sha256 }: StoredFile): string =>
  JSON.stringify({ $file, name, type, size, sha256 });
