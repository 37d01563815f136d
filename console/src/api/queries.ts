/** What screens ask for, kept and refreshed by TanStack Query. Only this folder knows it. */

import { createQuery, keepPreviousData, QueryClient } from '@tanstack/svelte-query';
import { answer, ApiError, api, currentWorkspace, type Schemas, unwrap } from './client';
import { firstPages, PAGE } from './pages';

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

/** What a list of deployments may be narrowed to. */
export type DeploymentState = 'active' | 'paused' | 'failed';

/** So many pages of a list are read where all of it is wanted. */
const ALL_PAGES = 20;

async function deploymentPages(most: number, status: DeploymentState | undefined, signal: AbortSignal) {
  const { pages, hasMore } = await firstPages(most, (cursor) => {
    const query = { limit: PAGE, cursor, ...(status && { status }) };
    return answer(api.GET('/api/deployments', { params: { query }, signal }));
  });
  return { rows: pages.flatMap((page) => page.data), hasMore, total: pages[0]?.meta.total ?? 0 };
}

/** Deployments of the workspace, the newest first; `pages` of a hundred. */
export const deployments = (
  status: () => DeploymentState | undefined = () => undefined,
  pages: () => number = () => 1,
) =>
  query(
    () => ['deployments', status(), pages()],
    (signal) => deploymentPages(pages(), status(), signal),
    () => ({ refetchInterval: 15_000 }),
  );

/** All deployments of the workspace, or its newest two thousand. */
export const allDeployments = (isWanted: () => boolean = () => true) =>
  query(
    () => ['deployments', 'all'],
    async (signal) => (await deploymentPages(ALL_PAGES, undefined, signal)).rows,
    () => ({ enabled: isWanted(), refetchInterval: 60_000 }),
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
      const { pages: found, hasMore } = await firstPages(pages(), (cursor) =>
        answer(api.GET('/api/callbacks', { params: { query: { limit: PAGE, cursor } }, signal })),
      );
      return { rows: found.flatMap((page) => page.data), hasMore };
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

/** Requests to a pattern's webhooks, the newest first; `pages` of a hundred. */
export const webhookLog = (
  pattern: () => string,
  status: () => Schemas['WebhookStatus'] | undefined,
  pages: () => number,
) =>
  query(
    () => ['webhook-log', pattern(), status(), pages()],
    async (signal) => {
      const only = status();
      const { pages: found, hasMore } = await firstPages(pages(), (cursor) => {
        const query = { limit: PAGE, cursor, ...(only && { status: only }) };
        const params = { path: { id: pattern() }, query };
        return answer(api.GET('/api/patterns/{id}/webhook-logs', { params, signal }));
      });
      return { rows: found.flatMap((page) => page.logs), hasMore, total: found[0]?.meta.total ?? 0 };
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

/** Patterns to choose from. Fields search through what they were given, so it is all of them, or the two thousand that changed last. */
export const fetchPatterns = (search: string): Promise<Pattern[]> =>
  queryClient.fetchQuery({
    queryKey: [currentWorkspace(), 'patterns', 'all', search],
    staleTime: FRESH_MS,
    queryFn: async ({ signal }) => {
      const { pages } = await firstPages(ALL_PAGES, (cursor) => {
        const query = { limit: PAGE, cursor, owner: 'workspace' as const, ...(search && { search }) };
        return answer(api.GET('/api/patterns', { params: { query }, signal }));
      });
      return pages.flatMap((page) => page.data);
    },
  });

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
