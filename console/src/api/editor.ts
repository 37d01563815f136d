/** What the editor asks of the server: the pattern, its draft, checks, tests, versions, deploying. */

import { answer, ApiError, api, type Schemas, unwrap, withWorkspace, workspaceHeaders } from './client';
import { errorOf, offline } from './error';

export type Pattern = Schemas['Pattern'];
export type Validation = Schemas['Validation'];

/** A graph and its definitions, as the API takes them. */
export interface Drawing {
  graphData: object;
  nodeDefinitions: object;
}
// What the document describes loosely, or more strictly than what people may save on the way.
type Sent = { graphData: never; nodeDefinitions: never };
const sent = (drawing: Drawing): Sent => drawing as Sent;

const at = (id: string) => ({ params: { path: { id } } });

export const getPattern = (id: string): Promise<Pattern> => answer(api.GET('/api/patterns/{id}', at(id)));

/** What can be written in an expression. */
export const getVocabulary = (): Promise<Schemas['Vocabulary']> => answer(api.GET('/api/expressions'));

/** A version with its graph. */
export const getVersion = (id: string, n: number): Promise<Schemas['WholeVersion']> =>
  answer(api.GET('/api/patterns/{id}/versions/{n}', { params: { path: { id, n } } }));

/** A draft as it is stored, with the tag that the next change of it names. */
export type Tagged<T> = T & { tag: string };

/** The body of an answer with its ETag. */
async function tagged<T extends object>(
  reply: Promise<{ data?: T; error?: unknown; response: Response }>,
): Promise<Tagged<T>> {
  const body = await answer(reply);
  const { response } = await reply;
  return { ...body, tag: response.headers.get('etag') ?? '' };
}

/** The caller's draft; null if there is none. */
export async function getDraft(id: string): Promise<Tagged<Schemas['Draft']> | null> {
  // Without `optional` no draft is an error, which browsers report in their consoles.
  const params = { path: { id }, query: { optional: true } };
  const reply = api.GET('/api/patterns/{id}/draft', { params });
  const draft = await answer(reply).catch((error: unknown) => {
    // A server of the version before, while several are being replaced, knows no `optional`.
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  });
  return draft ? { ...draft, tag: (await reply).response.headers.get('etag') ?? '' } : null;
}

/** Stores a draft in place of the one with this tag, or where there is none: 409 if there is another by now. */
export const putDraft = (
  id: string,
  baseVersion: number,
  drawing: Drawing,
  inPlaceOf: string | null,
): Promise<Tagged<Schemas['StoredDraft']>> =>
  tagged(
    api.PUT('/api/patterns/{id}/draft', {
      params: {
        path: { id },
        header: inPlaceOf === null ? { 'If-None-Match': '*' } : { 'If-Match': inPlaceOf },
      },
      body: { baseVersion, ...sent(drawing) },
    }),
  );

export const deleteDraft = (id: string): Promise<unknown> =>
  answer(api.DELETE('/api/patterns/{id}/draft', at(id)));

/** Makes a version; 409 if there is a newer one than `versionNumber`. */
export const savePattern = (
  id: string,
  versionNumber: number,
  drawing: Drawing,
): Promise<Schemas['Updated']> =>
  answer(api.PUT('/api/patterns/{id}', { ...at(id), body: { versionNumber, ...sent(drawing) } }));

export type OpenEditor = Schemas['OpenEditor'];

/** Tells that a tab has the pattern open; gives who else has. */
export const tellPresence = (id: string, tab: string, hasChanges: boolean): Promise<Schemas['Presence']> =>
  answer(
    api.PUT('/api/patterns/{id}/presence/{tab}', { params: { path: { id, tab } }, body: { hasChanges } }),
  );

/** Tells that the tab is closed, also while the page goes away. */
export const leavePresence = (id: string, tab: string): Promise<unknown> =>
  answer(api.DELETE('/api/patterns/{id}/presence/{tab}', { params: { path: { id, tab } }, keepalive: true }));

export const renamePattern = (id: string, name: string): Promise<Schemas['Updated']> =>
  answer(api.PUT('/api/patterns/{id}', { ...at(id), body: { name } }));

/** What people say to what the environment's rules find. */
export interface Said {
  acknowledgeDifferences: boolean;
  approveRights: boolean;
}

interface DeployWish extends Said {
  version: number;
  environmentId: string;
  trace: boolean;
  requireTests: boolean;
}

/**
 * Deploys this version to an environment, and leaves the deployments in others alone; `requireTests` refuses while one
 * of its tests does not pass.
 */
export const deployPattern = (
  id: string,
  { version, environmentId, trace, requireTests, acknowledgeDifferences, approveRights }: DeployWish,
): Promise<Schemas['Deployed']> =>
  // Only a dry run answers otherwise.
  unwrap(
    api.POST('/api/patterns/{id}/deploy', {
      ...at(id),
      body: {
        nodeDefinitions: {} as never,
        versionNumber: version,
        trace,
        requireTests,
        acknowledgeDifferences,
        approveRights,
        ...(environmentId && { environmentId, move: false }),
      },
    }),
  ) as Promise<Schemas['Deployed']>;

/**
 * Where webhooks would be if this version were deployed to an environment: the address of each node, null for one that gets it
 * only then. Changes nothing.
 */
export const webhooksOnceDeployed = async (
  id: string,
  version: number,
  environmentId: string,
  signal: AbortSignal,
): Promise<Schemas['DeployPlan']['webhooks']> => {
  const planned = await unwrap(
    api.POST('/api/patterns/{id}/deploy', {
      ...at(id),
      body: {
        nodeDefinitions: {} as never,
        versionNumber: version,
        dryRun: true,
        ...(environmentId && { environmentId, move: false }),
      },
      signal,
    }),
  );
  return (planned as Schemas['DeployPlan']).webhooks;
};

/** Deploys to an environment exactly what a deployment has, unless something is missing there. */
export const promote = (
  deployment: string,
  environmentId: string,
  said: Said,
): Promise<Schemas['Deployed']> =>
  unwrap(
    api.POST('/api/deployments/{id}/promote', { ...at(deployment), body: { environmentId, ...said } }),
  ) as Promise<Schemas['Deployed']>;

export const validate = (drawing: Drawing, signal: AbortSignal): Promise<Validation> =>
  answer(api.POST('/api/execute/validate', { body: sent(drawing), signal }));

/** What a graph could do; null if it has errors. */
export const rightsOfDrawing = async (drawing: Drawing): Promise<Schemas['NeededRights'] | null> =>
  (await answer(api.POST('/api/execute/validate', { body: { ...sent(drawing), rights: true } }))).rights ??
  null;

export const preview = (
  request: {
    graphData: object;
    nodeId: string;
    expressions: Record<string, string>;
    outputs: object;
    eventData: unknown;
  },
  signal: AbortSignal,
): Promise<Schemas['PreviewedExpression'][]> =>
  answer(api.POST('/api/execute/preview', { body: request as never, signal })).then((body) => body.previews);

export const transpile = (
  body: Drawing & { trace: boolean; breakpoints: string[]; pinnedNodes: object },
  signal: AbortSignal,
): Promise<Schemas['Transpiled']> =>
  answer(api.POST('/api/execute/transpile', { body: body as never, signal }));

/** Starts a test run and follows it: server-sent events. */
export async function streamTest(body: object, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
  const response = await fetch(withWorkspace('/api/execute/stream'), {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...workspaceHeaders() },
    body: JSON.stringify(body),
    signal,
  }).catch((error: unknown) => {
    throw signal.aborted ? error : offline();
  });
  if (!response.ok) throw errorOf(response, await response.json().catch(() => undefined));
  if (!response.body) throw offline();
  return response.body;
}
