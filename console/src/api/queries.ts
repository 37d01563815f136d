/** What screens ask for, kept and refreshed by TanStack Query. Only this folder knows it. */

import { createQuery, keepPreviousData, QueryClient } from '@tanstack/svelte-query';
import { answer, ApiError, api, currentWorkspace, type Schemas, unwrap } from './client';

const RETRIES = 2;
const FRESH_MS = 5_000;

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: FRESH_MS,
      placeholderData: keepPreviousData,
      // A server on this machine or in this house is there without the Internet. Where it is not, the request says so, instead of
      // a screen that loads for ever.
      networkMode: 'always',
      refetchOnReconnect: true,
      // What the server refused, it will refuse again.
      retry: (count, error) =>
        count < RETRIES && error instanceof ApiError && (error.status === 0 || error.status >= 500),
    },
  },
});

interface More {
  enabled?: boolean;
  /** How long an answer is good, in ms. */
  staleTime?: number;
  /** How often it is asked for again while it is shown, in ms. */
  refetchInterval?: number | false;
}

/** A query whose key is `[workspace, ...key()]`; both functions may read state. */
export function query<T>(
  key: () => readonly unknown[],
  get: (signal: AbortSignal) => Promise<T>,
  more: () => More = () => ({}),
) {
  return createQuery<T, Error>(
    () => ({
      queryKey: [currentWorkspace(), ...key()],
      queryFn: ({ signal }) => get(signal),
      ...more(),
    }),
    () => queryClient,
  );
}

/** Asks again for everything whose key begins so. */
export const refresh = (...key: readonly unknown[]): Promise<void> =>
  queryClient.invalidateQueries({ queryKey: [currentWorkspace(), ...key] });

/** Forgets all answers, as when somebody else signs in. */
export const forget = (): void => queryClient.clear();

export type Pattern = Schemas['PatternSummary'];
export type Run = Schemas['Run'];
export type Deployment = Schemas['ListedDeployment'];
export type Period = '15m' | '24h' | '7d' | '30d';

export interface PatternFilter {
  search?: string;
  tags?: string[];
  sortBy?: 'name' | 'createdAt' | 'updatedAt';
}

const PAGE = 100;

/** Patterns, all pages of them that `pages` says. */
export function patterns(filter: () => PatternFilter, pages: () => number = () => 1) {
  return query(
    () => ['patterns', filter(), pages()],
    async (signal) => {
      const list = await answer(
        api.GET('/api/patterns', {
          params: { query: { owner: 'workspace', ...filter(), limit: PAGE, offset: 0 } },
          signal,
        }),
      );
      const { total } = list.meta;
      const rest = Array.from({ length: Math.min(pages(), Math.ceil(total / PAGE)) - 1 }, (_, at) =>
        answer(
          api.GET('/api/patterns', {
            params: { query: { owner: 'workspace', ...filter(), limit: PAGE, offset: (at + 1) * PAGE } },
            signal,
          }),
        ),
      );
      return { rows: [list, ...(await Promise.all(rest))].flatMap((page) => page.data), total };
    },
  );
}

export const pattern = (id: () => string) =>
  query(
    () => ['pattern', id()],
    (signal) => answer(api.GET('/api/patterns/{id}', { params: { path: { id: id() } }, signal })),
  );

export const versions = (id: () => string) =>
  query(
    () => ['versions', id()],
    (signal) => answer(api.GET('/api/patterns/{id}/versions', { params: { path: { id: id() } }, signal })),
  );

/** All deployments of the workspace, the newest hundred. */
export const deployments = () =>
  query(
    () => ['deployments'],
    async (signal) =>
      (await answer(api.GET('/api/deployments', { params: { query: { limit: PAGE } }, signal }))).data,
    () => ({ refetchInterval: 15_000 }),
  );

export const deployment = (id: () => string) =>
  query(
    () => ['deployment', id()],
    (signal) =>
      unwrap(
        api.GET('/api/deployments/{id}', {
          params: { path: { id: id() }, query: { secrets: false } },
          signal,
        }),
      ),
  );

/** What senders of a webhook sign with. The audit log tells that it was shown. */
export async function webhookSecret(deployment: string, endpointId: string): Promise<string> {
  const params = { path: { id: deployment }, query: { endpointId, secrets: true } };
  const [found] = await unwrap(api.GET('/api/deployments/{id}/webhook', { params }));
  if (!found?.webhookSecret) throw new Error('The webhook is gone, or you may not see its secret.');
  return found.webhookSecret;
}

export type WaitingCallback = Schemas['WaitingCallbackItem'];

/** What runs of the workspace wait for somebody to answer, all pages of it that `pages` says. */
export const waitingCallbacks = (pages: () => number = () => 1) =>
  query(
    () => ['callbacks', pages()],
    async (signal) => {
      const rows: WaitingCallback[] = [];
      let cursor: string | undefined;
      for (let page = 0; page < pages(); page += 1) {
        const params = { query: { limit: PAGE, ...(cursor && { cursor }) } };
        const { data, meta } = await answer(api.GET('/api/callbacks', { params, signal }));
        rows.push(...data);
        cursor = meta.nextCursor ?? undefined;
        if (!cursor) break;
      }
      return { rows, hasMore: cursor !== undefined };
    },
    () => ({ refetchInterval: 5_000 }),
  );

/** Lets a run go on that waits, with an answer in the name of who is signed in. */
export const answerCallback = (
  { deploymentId, runId, place }: WaitingCallback,
  body: unknown,
): Promise<unknown> =>
  unwrap(
    api.POST('/api/deployments/{id}/runs/{runId}/callback', {
      params: { path: { id: deploymentId, runId } },
      body: { place, body } as never,
    }),
  );

/** What is deployed of a pattern, and where: its main deployment first. */
export const deploymentsOf = (pattern: () => string) =>
  query(
    () => ['deployment-of', pattern(), 'all'],
    (signal) =>
      unwrap(api.GET('/api/patterns/{id}/deployments', { params: { path: { id: pattern() } }, signal })),
  );

/** A pattern's main deployment; null if it was never deployed. */
export const deploymentOf = (pattern: () => string) => {
  const all = deploymentsOf(pattern);
  return {
    get data() {
      return all.data && (all.data.find((each) => each.isMain) ?? null);
    },
  };
};

export const stats = (id: () => string, period: () => Period) =>
  query(
    () => ['stats', id(), period()],
    (signal) =>
      unwrap(
        api.GET('/api/deployments/{id}/runs/stats', {
          params: { path: { id: id() }, query: { period: period() } },
          signal,
        }),
      ),
    () => ({ refetchInterval: 15_000 }),
  );

export const health = () =>
  query(
    () => ['health'],
    (signal) => unwrap(api.GET('/api/deployments/health/summary', { signal })),
    () => ({ refetchInterval: 10_000 }),
  );

export const run = (deployment: () => string, id: () => string) =>
  query(
    () => ['run', deployment(), id()],
    (signal) =>
      unwrap(
        api.GET('/api/deployments/{id}/runs/{runId}', {
          params: { path: { id: deployment(), runId: id() } },
          signal,
        }),
      ),
  );

export const endpoints = (pattern: () => string) =>
  query(
    () => ['endpoints', pattern()],
    async (signal) =>
      (
        await unwrap(
          api.GET('/api/patterns/{id}/webhooks', {
            params: { path: { id: pattern() }, query: { secrets: false } },
            signal,
          }),
        )
      ).endpoints,
    () => ({ enabled: pattern() !== '' }),
  );

/** What they send is JSON, a greeting if it is undefined. Not asked for while there is no endpoint. */
export const snippets = (deployment: () => string, endpoint: () => string, sent: () => string | undefined) =>
  query(
    () => ['snippets', deployment(), endpoint(), sent()],
    (signal) => {
      const body = sent();
      const query = { endpointId: endpoint(), ...(body !== undefined && { body }) };
      return unwrap(
        api.GET('/api/deployments/{id}/webhook/snippets', {
          params: { path: { id: deployment() }, query },
          signal,
        }),
      );
    },
    () => ({ enabled: endpoint() !== '' }),
  );

export const tapEvents = (pattern: () => string) =>
  query(
    () => ['taps', pattern()],
    async (signal) =>
      (
        await answer(
          api.GET('/api/patterns/{id}/tap-events', { params: { path: { id: pattern() } }, signal }),
        )
      ).events,
    () => ({ enabled: pattern() !== '', refetchInterval: 3_000 }),
  );

export const webhookLog = (pattern: () => string, status: () => Schemas['WebhookStatus'] | undefined) =>
  query(
    () => ['webhook-log', pattern(), status()],
    (signal) => {
      const only = status();
      return answer(
        api.GET('/api/patterns/{id}/webhook-logs', {
          params: { path: { id: pattern() }, query: { limit: PAGE, ...(only && { status: only }) } },
          signal,
        }),
      );
    },
    () => ({ enabled: pattern() !== '', refetchInterval: 5_000 }),
  );

export const connections = () =>
  query(
    () => ['connections'],
    async (signal) => (await answer(api.GET('/api/connections', { signal }))).connections,
  );

const enabledBy = (id: string) => ({ enabled: id !== '' });

/** One connection; not asked for while there is no id. */
export const connectionDetail = (id: () => string) =>
  query(
    () => ['connection', id(), 'detail'],
    (signal) => answer(api.GET('/api/connections/{id}', { params: { path: { id: id() } }, signal })),
    () => enabledBy(id()),
  );

/** Names of the fields that are stored of a connection. */
export const connectionFields = (id: () => string) =>
  query(
    () => ['connection', id(), 'fields'],
    async (signal) =>
      (await answer(api.GET('/api/connections/{id}/fields', { params: { path: { id: id() } }, signal })))
        .fields,
    () => enabledBy(id()),
  );

/** The nodes that refer to a connection. */
export const connectionUses = (id: () => string) =>
  query(
    () => ['connection', id(), 'uses'],
    (signal) => answer(api.GET('/api/connections/{id}/uses', { params: { path: { id: id() } }, signal })),
    () => enabledBy(id()),
  );

/** The kinds of connections and their fields; they change with the server's version only. */
export const connectionKinds = (isWanted: () => boolean) =>
  query(
    () => ['connection-kinds'],
    async (signal) => (await answer(api.GET('/api/connections/kinds', { signal }))).kinds,
    () => ({ enabled: isWanted(), staleTime: Infinity }),
  );

/** The redirect URI to register at providers, and where the operator has a client. */
export const oauthClient = (isWanted: () => boolean) =>
  query(
    () => ['oauth-client'],
    (signal) => answer(api.GET('/api/connections/oauth/client', { signal })),
    () => ({ enabled: isWanted(), staleTime: Infinity }),
  );

/** A deployment's schedules with their next times. */
export const schedulesOf = (deployment: () => string) =>
  query(
    () => ['deployment', deployment(), 'schedules'],
    (signal) =>
      unwrap(api.GET('/api/deployments/{id}/schedules', { params: { path: { id: deployment() } }, signal })),
    () => ({ refetchInterval: 30_000 }),
  );

/** What a deployment's triggers have told their services. */
export const subscriptionsOf = (deployment: () => string) =>
  query(
    () => ['deployment', deployment(), 'subscriptions'],
    (signal) =>
      unwrap(
        api.GET('/api/deployments/{id}/subscriptions', { params: { path: { id: deployment() } }, signal }),
      ),
    () => ({ refetchInterval: 10_000 }),
  );

/** What is due next in the workspace. */
export const nextSchedules = () =>
  query(
    () => ['next-schedules'],
    (signal) => unwrap(api.GET('/api/schedules', { params: { query: { limit: 6 } }, signal })),
    () => ({ refetchInterval: 30_000 }),
  );

/** When a schedule comes that is being written. */
export const previewSchedule = (
  cron: string,
  timezone: string,
  signal: AbortSignal,
): Promise<Schemas['SchedulePreview']> =>
  answer(api.POST('/api/schedules/preview', { body: { cron, timezone }, signal }));

/** Runs of the workspace over time. */
export const figures = (period: () => Period) =>
  query(
    () => ['figures', period()],
    (signal) => unwrap(api.GET('/api/figures', { params: { query: { period: period() } }, signal })),
    () => ({ refetchInterval: 10_000 }),
  );

const here = () => ({ path: { id: currentWorkspace() } });

export const environments = () =>
  query(
    () => ['environments'],
    (signal) => unwrap(api.GET('/api/workspaces/{id}/environments', { params: here(), signal })),
  );

const environmentPath = (envId: string) => ({ path: { id: currentWorkspace(), envId } });

export const secrets = (environment: () => string) =>
  query(
    () => ['secrets', environment()],
    (signal) =>
      unwrap(
        api.GET('/api/workspaces/{id}/environments/{envId}/secrets', {
          params: environmentPath(environment()),
          signal,
        }),
      ),
  );

export const variables = (environment: () => string) =>
  query(
    () => ['variables', environment()],
    (signal) =>
      unwrap(
        api.GET('/api/workspaces/{id}/environments/{envId}/variables', {
          params: environmentPath(environment()),
          signal,
        }),
      ),
  );

export const members = () =>
  query(
    () => ['members'],
    (signal) => unwrap(api.GET('/api/workspaces/{id}/members', { params: here(), signal })),
  );

export const invitations = (isAllowed: () => boolean) =>
  query(
    () => ['invitations'],
    (signal) => unwrap(api.GET('/api/workspaces/{id}/invitations', { params: here(), signal })),
    () => ({ enabled: isAllowed() }),
  );

export const invitationLinks = (isAllowed: () => boolean) =>
  query(
    () => ['invitation-links'],
    (signal) => unwrap(api.GET('/api/workspaces/{id}/invitation-links', { params: here(), signal })),
    () => ({ enabled: isAllowed() }),
  );

export const authenticator = () =>
  query(
    () => ['authenticator'],
    (signal) => unwrap(api.GET('/api/auth/authenticator', { signal })),
  );

/** How people sign in here, and whether the server sends mail. */
export const providers = () =>
  query(
    () => ['providers'],
    (signal) => unwrap(api.GET('/api/auth/providers', { signal })),
    () => ({ staleTime: Infinity }),
  );

export const received = () =>
  query(
    () => ['received-invitations'],
    (signal) => unwrap(api.GET('/api/auth/invitations', { signal })),
  );

export const apiKeys = () =>
  query(
    () => ['keys'],
    (signal) => unwrap(api.GET('/api/auth/api-keys', { signal })),
  );

export const sessions = () =>
  query(
    () => ['sessions'],
    (signal) => unwrap(api.GET('/api/sessions', { signal })),
  );

/** All node types, asked for once. */
export const fetchNodeTypes = (): Promise<Schemas['NodeType'][]> =>
  queryClient.fetchQuery({
    queryKey: ['node-types'],
    staleTime: Infinity,
    queryFn: () => answer(api.GET('/api/nodes')),
  });

/** Once, for the editor's fields. */
export const fetchConnections = (): Promise<Schemas['Connection'][]> =>
  queryClient.fetchQuery({
    queryKey: [currentWorkspace(), 'connections'],
    staleTime: FRESH_MS,
    queryFn: () => answer(api.GET('/api/connections')).then((list) => list.connections),
  });

export const fetchPatterns = (search: string): Promise<Pattern[]> =>
  answer(
    api.GET('/api/patterns', {
      params: { query: { limit: 20, owner: 'workspace', ...(search && { search }) } },
    }),
  ).then((list) => list.data);

/** Names of the secrets in an environment. */
export const fetchSecrets = (environment: string): Promise<string[]> =>
  unwrap(
    api.GET('/api/workspaces/{id}/environments/{envId}/secrets', { params: environmentPath(environment) }),
  ).then((list) => list.map((secret) => secret.name));

/** Names of the variables in an environment. */
export const fetchVariables = (environment: string): Promise<string[]> =>
  unwrap(
    api.GET('/api/workspaces/{id}/environments/{envId}/variables', { params: environmentPath(environment) }),
  ).then((values) => Object.keys(values));
