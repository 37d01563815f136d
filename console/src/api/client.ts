/** The typed client: requests with the session's cookie, errors by code. */

import createClient, { defaultBodySerializer, type Middleware } from 'openapi-fetch';
import { bodyText } from '$/graph/text';
import { errorOf, offline } from './error';
import type { components, paths } from './schema';

export { ApiError } from './error';

/** What the API's document calls it. */
export type Schemas = components['schemas'];

let workspaceId = '';
let onSignedOut: () => void = () => {};
let onUpdated: () => void = () => {};
let build = '';
let told = '';

/** The workspace that requests are for, from now on. */
export function useWorkspace(id: string): void {
  workspaceId = id;
}

/** The workspace that requests are for. */
export const currentWorkspace = (): string => workspaceId;

/** What to do when the session has ended, and when the server is newer than this page. */
export function onChange(handlers: { signedOut: () => void; updated: () => void }): void {
  onSignedOut = handlers.signedOut;
  onUpdated = handlers.updated;
}

const WORKSPACE_HEADER = 'X-Heddle-Workspace';
const BUILD_HEADER = 'x-heddle-build';

/** The server's build of the console: when it is another one, this page is old, which is told once and not at every answer. */
export function noteBuild(served: string): void {
  build ||= served;
  if (!served || served === build || served === told) return;
  told = served;
  onUpdated();
}

const middleware: Middleware = {
  onRequest({ request }) {
    if (workspaceId) request.headers.set(WORKSPACE_HEADER, workspaceId);
    return request;
  },
  onResponse({ request, response }) {
    const isSession = new URL(request.url).pathname.startsWith('/api/session');
    // A wrong password or code in a form is a 401 as well, without the header.
    const isOver = response.status === 401 && response.headers.has('www-authenticate');
    if (isOver && !isSession) onSignedOut();
    noteBuild(response.headers.get(BUILD_HEADER) ?? '');
    return undefined;
  },
};

export const api = createClient<paths>({
  baseUrl: globalThis.location?.origin ?? 'http://localhost',
  credentials: 'same-origin',
  bodySerializer: (body: unknown) =>
    typeof body === 'object' && body !== null && 'graphData' in body
      ? bodyText(body)
      : defaultBodySerializer(body),
  // Looked up at each request, so that tests can replace it.
  fetch: (request) => globalThis.fetch(request),
});
api.use(middleware);

type Reply<T> = Promise<{ data?: T; error?: unknown; response: Response }>;

/** The body of the answer, or an `ApiError`. */
export async function answer<T>(reply: Reply<T>): Promise<T> {
  let settled: Awaited<Reply<T>>;
  try {
    settled = await reply;
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw offline();
  }
  const { data, error, response } = settled;
  if (!response.ok) throw errorOf(response, error);
  return data as T;
}

/** What is in the envelope of the answer, or an `ApiError`. */
export async function unwrap<T>(reply: Reply<{ data: T }>): Promise<T> {
  return (await answer(reply)).data;
}

/** Headers that name the workspace, for requests beside the client. */
export const workspaceHeaders = (): Record<string, string> =>
  workspaceId ? { [WORKSPACE_HEADER]: workspaceId } : {};

/** An address for what can't send headers: an event stream, a download. */
export function withWorkspace(path: string): string {
  const url = new URL(path, globalThis.location.origin);
  if (workspaceId) url.searchParams.set('workspace', workspaceId);
  return url.pathname + url.search;
}
