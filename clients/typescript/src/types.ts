/** What an operation takes and answers, read from the types that are generated of the API's document. */

import type { components, paths } from './schema.js';

export type Schemas = components['schemas'];
/** Bodies that are sent as they are; everything else is sent as JSON. */
export type Bytes = Uint8Array<ArrayBuffer> | ArrayBuffer | Blob;
export type Method = 'get' | 'put' | 'post' | 'patch' | 'delete';

/** The paths that have a method. */
export type PathsWith<M extends Method> = {
  [P in keyof paths]: paths[P] extends { [K in M]: unknown } ? P : never;
}[keyof paths];

/** The operation of a path by a method. */
export type Operation<P extends keyof paths, M extends Method> = paths[P] extends { [K in M]: infer O }
  ? O
  : never;

/** A field that must be given, may be given, or is not there, as it is in the document. */
type Field<Name extends string, T> = [T] extends [undefined]
  ? { [N in Name]?: undefined }
  : undefined extends T
    ? { [N in Name]?: T }
    : { [N in Name]: T };

type ParametersOf<O> = O extends { parameters: infer P } ? P : never;
type In<O, Place extends string> = Place extends keyof ParametersOf<O> ? ParametersOf<O>[Place] : undefined;
type RequestBody<O> = 'requestBody' extends keyof O ? O['requestBody'] : undefined;
type BodyOf<B> = B extends { content: { 'application/json': infer T } }
  ? T
  : B extends undefined
    ? undefined
    : Bytes;

/** What every request takes. */
export interface Common {
  /** Ends the request, with all of its repetitions. */
  signal?: AbortSignal | undefined;
  /** For how long an answer is waited for. Default: the client's. */
  timeoutMs?: number | undefined;
  /** How often it is sent again after 429 and 503. Default: the client's. */
  retries?: number | undefined;
}

export type Options<O> = Common &
  Field<'path', In<O, 'path'>> &
  Field<'query', In<O, 'query'>> &
  Field<'headers', In<O, 'header'>> &
  Field<'body', BodyOf<RequestBody<O>>>;

/** Options that can be left out altogether if nothing in them is required. */
export type Rest<T> = {} extends T ? [options?: T] : [options: T];

type Succeeded = 200 | 201 | 202 | 204;
type Content<R> = R extends { content: infer C }
  ? C extends { 'application/json': infer J }
    ? J
    : string
  : undefined;
type Bodies<O> = O extends { responses: infer R }
  ? { [S in keyof R & Succeeded]: Content<R[S]> }[keyof R & Succeeded]
  : never;

/** `{success, data, timestamp}` is its `data`; pages of lists keep their `meta`. */
type Unwrapped<T> = T extends { meta: unknown } ? T : T extends { success: boolean; data: infer D } ? D : T;

/** What a successful request gives. */
export type Answer<O> = Unwrapped<Bodies<O>>;

/** The lists that go on by `cursor`. */
export type ListPath = {
  [P in PathsWith<'get'>]: In<Operation<P, 'get'>, 'query'> extends infer Q
    ? Q extends { cursor?: unknown; limit?: unknown }
      ? 'cursor' extends keyof Q
        ? P
        : never
      : never
    : never;
}[PathsWith<'get'>];

/** An element of a list that goes on by `cursor`. */
export type Element<P extends ListPath> =
  Answer<Operation<P, 'get'>> extends infer A
    ? A extends { data: (infer T)[] }
      ? T
      : A extends { logs: (infer T)[] }
        ? T
        : never
    : never;

/** What happens in a workspace, by the event's name. */
export type WorkspaceMessage = { id?: string | undefined } & (
  | { event: 'server'; data: Schemas['ServerEvent'] }
  | { event: 'run'; data: Schemas['RunEvent'] }
  | { event: 'saved'; data: Schemas['SavedEvent'] }
  | { event: 'deployment'; data: Schemas['DeploymentEvent'] }
  | { event: 'webhook'; data: Schemas['WebhookReceived'] }
  | { event: 'missed'; data: Schemas['MissedEvent'] }
);

/** What happens to the runs of a deployment. After `lagged` and `reconnected`, changes may be missing. */
export type RunsMessage =
  | { event: 'change'; data: Schemas['RunChange'] }
  | { event: 'lagged'; data: { missed: number } }
  | { event: 'reconnected'; data: null };

/** What happens to a run: how it is at first (`run`), its changes, and how it has ended (`run`). */
export type RunMessage =
  | { event: 'run'; data: Schemas['WholeRun'] }
  | { event: 'change'; data: Schemas['RunChange'] }
  | { event: 'lagged'; data: { missed: number } };
