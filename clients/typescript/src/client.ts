/** The client: requests to all operations of the API, and what is more than one request. */

import { errorOf, read } from './answers.js';
import { HeddleError, RunFailedError } from './error.js';
import type { paths } from './schema.js';
import { eventsOf, following, type Connect } from './streams.js';
import { pathOf, queryOf, send, sendOnce, type Fetch } from './transport.js';
import type {
  Answer,
  Bytes,
  Common,
  Element,
  ListPath,
  Method,
  Operation,
  Options,
  PathsWith,
  Rest,
  RunMessage,
  RunsMessage,
  Schemas,
  WorkspaceMessage,
} from './types.js';

export interface Settings {
  /** Where heddle is, such as `https://heddle.example.com`. */
  url: string;
  /** An API key (`hdl_…`), or the token of a login. */
  apiKey: string;
  /** For how long an answer is waited for. Default: a minute. */
  timeoutMs?: number;
  /** How often a request is sent again after 429 and 503, and one that changes nothing after errors of the network. Default: 3. */
  retries?: number;
  /** By default that of the platform. */
  fetch?: Fetch;
}

export interface Following {
  signal?: AbortSignal | undefined;
}

export interface Waiting extends Following {
  /** For how long the run's end is waited for; the run itself goes on. Default: without a limit. */
  timeoutMs?: number | undefined;
}

/** What any request may have, whatever the document says. */
export interface AnyOptions extends Common {
  path?: Readonly<Record<string, unknown>> | undefined;
  query?: Readonly<Record<string, unknown>> | undefined;
  headers?: Readonly<Record<string, unknown>> | undefined;
  body?: unknown;
}

function isBytes(body: unknown): body is Bytes {
  return body instanceof Uint8Array || body instanceof ArrayBuffer || body instanceof Blob;
}

function unwrapped(answer: unknown): unknown {
  if (typeof answer !== 'object' || answer === null || 'meta' in answer) return answer;
  return 'success' in answer && 'data' in answer ? answer.data : answer;
}

export class Heddle {
  readonly #settings: Required<Settings>;

  constructor(settings: Settings) {
    this.#settings = {
      url: settings.url.replace(/\/+$/, ''),
      apiKey: settings.apiKey,
      timeoutMs: settings.timeoutMs ?? 60_000,
      retries: settings.retries ?? 3,
      fetch: settings.fetch ?? globalThis.fetch.bind(globalThis),
    };
  }

  /** Sends `GET` to an operation of the API: `heddle.GET('/api/patterns/{id}', { path: { id } })`. */
  GET<P extends PathsWith<'get'>>(path: P, ...[options]: Rest<Options<Operation<P, 'get'>>>) {
    return this.#answer<P, 'get'>('get', path, options);
  }

  POST<P extends PathsWith<'post'>>(path: P, ...[options]: Rest<Options<Operation<P, 'post'>>>) {
    return this.#answer<P, 'post'>('post', path, options);
  }

  PUT<P extends PathsWith<'put'>>(path: P, ...[options]: Rest<Options<Operation<P, 'put'>>>) {
    return this.#answer<P, 'put'>('put', path, options);
  }

  PATCH<P extends PathsWith<'patch'>>(path: P, ...[options]: Rest<Options<Operation<P, 'patch'>>>) {
    return this.#answer<P, 'patch'>('patch', path, options);
  }

  DELETE<P extends PathsWith<'delete'>>(path: P, ...[options]: Rest<Options<Operation<P, 'delete'>>>) {
    return this.#answer<P, 'delete'>('delete', path, options);
  }

  async #answer<P extends keyof paths, M extends Method>(method: M, path: P, options: unknown) {
    return unwrapped(await this.#read(method, path, (options ?? {}) as AnyOptions)) as Answer<
      Operation<P, M>
    >;
  }

  /** Sends any request and gives the response as it is, such as a file to be read piece by piece. Throws as all others do. */
  request(method: Method, path: string, options: AnyOptions = {}): Promise<Response> {
    return this.#send(method, path, options, (response) => response);
  }

  #read(method: Method, path: string, options: AnyOptions): Promise<unknown> {
    return this.#send(method, path, options, (response) =>
      read(response, options.timeoutMs ?? this.#settings.timeoutMs),
    );
  }

  async #send<T>(
    method: Method,
    path: string,
    options: AnyOptions,
    take: (response: Response) => T | Promise<T>,
  ): Promise<T> {
    const { fetch, timeoutMs, retries } = this.#settings;
    const sent = {
      ...this.#sent(method, options),
      timeoutMs: options.timeoutMs ?? timeoutMs,
      retries: options.retries ?? retries,
      isRepeatable: method === 'get',
    };
    return send(fetch, this.#urlOf(path, options), sent, take);
  }

  #urlOf(path: string, options: AnyOptions): string {
    return this.#settings.url + pathOf(path, options.path ?? {}) + queryOf(options.query ?? {});
  }

  #sent(method: Method, options: AnyOptions) {
    const headers: Record<string, string> = { Authorization: `Bearer ${this.#settings.apiKey}` };
    const { body, signal } = options;
    if (body !== undefined)
      headers['Content-Type'] = isBytes(body) ? 'application/octet-stream' : 'application/json';
    for (const [name, value] of Object.entries(options.headers ?? {})) {
      if (value !== undefined && value !== null) headers[name] = String(value);
    }
    const bytes = body === undefined || isBytes(body) ? body : JSON.stringify(body);
    return { method: method.toUpperCase(), headers, body: bytes, signal };
  }

  /** All elements of a list that goes on by `cursor`, page after page as they are asked for. */
  async *list<P extends ListPath>(
    path: P,
    ...[options]: Rest<Options<Operation<P, 'get'>>>
  ): AsyncGenerator<Element<P>> {
    const given = (options ?? {}) as AnyOptions;
    // An empty one is the beginning, and says that cursors are wanted rather than numbers of pages.
    let cursor: string | null | undefined = (given.query?.['cursor'] as string | undefined) ?? '';
    while (cursor !== null && cursor !== undefined) {
      const page = (await this.#read('get', path, { ...given, query: { ...given.query, cursor } })) as {
        data?: Element<P>[];
        logs?: Element<P>[];
        meta: { nextCursor?: string | null };
      };
      yield* page.data ?? page.logs ?? [];
      cursor = page.meta.nextCursor;
    }
  }

  /** Deploys the newest version of a pattern, with its own definitions, or as `body` says. */
  async deploy(
    patternId: string,
    body: Partial<Omit<Schemas['DeployBody'], 'dryRun'>> = {},
  ): Promise<Schemas['Deployed']> {
    const path = { id: patternId };
    const outcome = await this.POST('/api/patterns/{id}/deploy', {
      path,
      body: { nodeDefinitions: {}, ...body },
    });
    if ('dryRun' in outcome) throw new TypeError('deploy plans nothing: send a dry run as POST');
    return outcome;
  }

  /** Starts a run of a deployment, waits for its end and gives its output. Throws a RunFailedError if it fails. */
  async run(
    deploymentId: string,
    eventData: Record<string, unknown> = {},
    waiting: Waiting = {},
  ): Promise<unknown> {
    const { signal } = waiting;
    const started = await this.POST('/api/deployments/{id}/execute', {
      path: { id: deploymentId },
      body: { eventData },
      signal,
    });
    const run = await this.waitForRun(deploymentId, started.runId, waiting);
    if (run.status !== 'success') throw new RunFailedError(run);
    return run.output;
  }

  /** Waits for the end of a run, however it ends. Throws a HeddleError `TIMEOUT` if that takes longer than `timeoutMs`. */
  async waitForRun(deploymentId: string, runId: string, waiting: Waiting = {}): Promise<Schemas['WholeRun']> {
    const { timeoutMs } = waiting;
    const limit = new AbortController();
    const signal = waiting.signal ? AbortSignal.any([waiting.signal, limit.signal]) : limit.signal;
    const late = (): void =>
      limit.abort(new HeddleError('TIMEOUT', `the run ${runId} has not ended within ${timeoutMs} ms`));
    const timer = timeoutMs === undefined ? undefined : setTimeout(late, timeoutMs);
    try {
      for await (const message of this.watchRun(deploymentId, runId, { signal })) {
        if (message.event === 'run' && message.data.status !== 'running') return message.data;
      }
      throw new HeddleError('STREAM_ENDED', `the stream of the run ${runId} ended before the run`);
    } finally {
      clearTimeout(timer);
    }
  }

  /** A run as it is and as it changes, until it has ended. The last message is the whole run. Goes on when a connection breaks. */
  async *watchRun(
    deploymentId: string,
    runId: string,
    { signal }: Following = {},
  ): AsyncGenerator<RunMessage> {
    const path = { id: deploymentId, runId };
    const connect = this.#connect('/api/deployments/{id}/runs/{runId}/stream', { path, signal });
    for await (const message of following(connect, signal)) {
      if (!message) continue;
      const parsed = { event: message.event, data: JSON.parse(message.data) } as RunMessage;
      yield parsed;
      if (parsed.event === 'run' && parsed.data.status !== 'running') return;
    }
  }

  /** Changes of a deployment's runs as they happen. What happens while a connection is broken is missing: `reconnected`. */
  async *watchRuns(deploymentId: string, { signal }: Following = {}): AsyncGenerator<RunsMessage> {
    const connect = this.#connect('/api/deployments/{id}/runs/stream', {
      path: { id: deploymentId },
      signal,
    });
    for await (const message of following(connect, signal)) {
      if (message) yield { event: message.event, data: JSON.parse(message.data) } as RunsMessage;
      else yield { event: 'reconnected', data: null };
    }
  }

  /**
   * What happens in the workspace: runs, what is saved and deployed, what webhooks receive. After a broken connection it goes on with
   * what was saved, deployed and received meanwhile, and says what is `missed`. `lastEventId` goes on where an earlier one ended.
   */
  async *watch({
    signal,
    lastEventId,
  }: Following & { lastEventId?: string | undefined } = {}): AsyncGenerator<WorkspaceMessage> {
    for await (const message of following(this.#connect('/api/stream', { signal }), signal, lastEventId)) {
      if (message) yield { ...message, data: JSON.parse(message.data) } as WorkspaceMessage;
    }
  }

  /** Executes an ended run once more from its journal, to show what each node did. The last event is `end`. */
  traceRun(
    deploymentId: string,
    runId: string,
    { signal }: Following = {},
  ): AsyncGenerator<Schemas['TestEvent']> {
    return this.#testEvents('/api/deployments/{id}/runs/{runId}/trace', {
      path: { id: deploymentId, runId },
      signal,
    });
  }

  /** Executes transpiled code as a test run, and tells what each node does. The last event is `end`; stopping early cancels the run. */
  testRun(body: Schemas['RunBody'], { signal }: Following = {}): AsyncGenerator<Schemas['TestEvent']> {
    return this.#testEvents('/api/execute/stream', { body, signal });
  }

  async *#testEvents(path: string, options: AnyOptions): AsyncGenerator<Schemas['TestEvent']> {
    const response = await this.request('post', path, options);
    for await (const message of eventsOf(response)) {
      const event = JSON.parse(message.data) as Schemas['TestEvent'];
      yield event;
      if (event.type === 'end') return;
    }
    // It is not begun again: that would be another run.
    throw new HeddleError('STREAM_ENDED', 'the connection broke before the run had ended');
  }

  #connect(path: string, options: AnyOptions): Connect {
    const { fetch, timeoutMs } = this.#settings;
    return async (last) => {
      const headers = last === undefined ? {} : { 'Last-Event-ID': last };
      const response = await sendOnce(fetch, this.#urlOf(path, options), {
        ...this.#sent('get', { ...options, headers }),
        timeoutMs,
      });
      if (!response.ok) throw await errorOf(response);
      return response;
    };
  }

  /** Stores a file. The answer can stand anywhere in an event. */
  async upload(
    bytes: Bytes | string,
    file: Following & { name?: string; type?: string } = {},
  ): Promise<Schemas['StoredFile']> {
    const body = typeof bytes === 'string' ? new TextEncoder().encode(bytes) : bytes;
    const headers = { 'Content-Type': file.type ?? 'application/octet-stream' };
    const options = { query: { name: file.name }, headers, body, signal: file.signal };
    return unwrapped(await this.#read('post', '/api/files', options)) as Schemas['StoredFile'];
  }

  /** A file's bytes, as a response that can be read piece by piece. */
  download(fileId: string, { signal }: Following = {}): Promise<Response> {
    return this.request('get', '/api/files/{id}', { path: { id: fileId }, signal });
  }
}
