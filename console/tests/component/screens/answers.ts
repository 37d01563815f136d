/** A server that knows these answers by method, path and what is told of in `TOLD`; an answer that a test sets comes first. */

export type Answer = { status: number; body: unknown } | 'unreachable';

export const GONE = { status: 404, body: { error: { code: 'NOT_FOUND', message: 'Not found' } } };

const at = '2026-11-27T10:00:00Z';
const page = { limit: 100, offset: 0, total: 1, nextCursor: null };
const member = (userId: string, role: string) => ({
  userId,
  role,
  email: `${userId}@example.com`,
  firstName: userId,
  lastName: 'Lee',
  joinedAt: at,
});
const pattern = (name: string) => ({ id: name, name, tags: [], updatedAt: at, createdAt: at });
const deployment = (name: string, status = 'active') => ({
  id: name,
  patternId: name,
  patternName: name,
  isMain: true,
  status,
  triggers: [],
  totalRuns: 0,
  versionNumber: 1,
});
const request = (at: number) => ({
  id: `l${at}`,
  status: 'accepted',
  statusCode: 200 + at,
  contentLength: 1,
  ipAddress: '127.0.0.1',
  createdAt: '2026-11-27T10:00:00Z',
});
const hundred = <T>(one: (at: number) => T): T[] => Array.from({ length: 100 }, (_, at) => one(at));
const run = {
  id: 'r1',
  deploymentId: 'd1',
  status: 'success',
  phase: null,
  versionNumber: 1,
  triggeredBy: 'webhook',
  startedAt: at,
  attempt: 1,
  eventData: {},
  logOutput: [],
  trace: [],
};

/** The query parameters on which an answer depends. */
const TOLD = ['search', 'status', 'cursor'];

const KNOWN: Readonly<Record<string, unknown>> = {
  'GET /api/workspaces/w1/members': { data: [member('Ann', 'owner'), member('Ben', 'viewer')] },
  'GET /api/workspaces/w1/invitations': { data: [] },
  'GET /api/workspaces/w1/invitation-links': { data: [] },
  'GET /api/deployments': {
    data: hundred((at) => deployment(`Flow ${at}`)),
    meta: { total: 102, nextCursor: 'c2' },
  },
  'GET /api/deployments?cursor=c2': {
    data: [deployment('Invoices'), deployment('Returns', 'failed')],
    meta: { total: 102, nextCursor: null },
  },
  'GET /api/deployments?status=failed': {
    data: [deployment('Returns', 'failed')],
    meta: { total: 1, nextCursor: null },
  },
  'GET /api/deployments/health/summary': { data: { deployments: { active: 101, paused: 0, failed: 1 } } },
  'GET /api/patterns/p1/webhook-logs': { logs: hundred(request), meta: { total: 101, nextCursor: 'c2' } },
  'GET /api/patterns/p1/webhook-logs?cursor=c2': {
    logs: [{ ...request(100), id: 'last', ipAddress: '192.0.2.1' }],
    meta: { total: 101, nextCursor: null },
  },
  'GET /api/workspaces/w1/key-values': { data: [{ key: 'count', bytes: 1, expiresAt: null }], meta: page },
  'GET /api/workspaces/w1/environments': { data: [{ id: 'e1', name: 'production', createdAt: at }] },
  'GET /api/workspaces/w1/environments/e1/secrets': { data: [] },
  'GET /api/workspaces/w1/environments/e1/variables': { data: { LIMIT: 5 } },
  'GET /api/workspaces/w1/environments/e1/rules': {
    data: { requireTests: false, requireReplay: false, requireApproval: false },
  },
  'GET /api/patterns': { data: [pattern('Orders')], meta: page },
  'GET /api/patterns?search=alerts': { data: [pattern('Alerts')], meta: page },
  'GET /api/deployments/d1': { data: { id: 'd1', patternId: 'p1', patternName: 'Orders', triggers: [] } },
  'GET /api/deployments/d1/runs/r1': { data: run },
  'POST /api/deployments/d1/runs/r1/replay': { data: { runId: 'r2' } },
};

export async function answerWith(
  request: Request,
  asked: string[],
  set: Readonly<Record<string, Answer>>,
): Promise<Response> {
  const { pathname, searchParams } = new URL(request.url);
  const told = TOLD.filter((name) => searchParams.get(name));
  const query = told.map((name) => `${name}=${searchParams.get(name)}`).join('&');
  const wanted = `${request.method} ${pathname}${query && '?'}${query}`;
  asked.push(wanted);
  // As from a network: not in the task that asks.
  await new Promise((done) => setTimeout(done));
  const answer = set[wanted] ?? (KNOWN[wanted] ? { status: 200, body: KNOWN[wanted] } : undefined);
  if (answer === 'unreachable') throw new TypeError('Failed to fetch');
  const { status, body } = answer ?? GONE;
  return Response.json(body, { status });
}
