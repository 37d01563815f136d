/** A server that knows these answers by method and path; an answer that a test sets comes first. */

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

const KNOWN: Readonly<Record<string, unknown>> = {
  'GET /api/workspaces/w1/members': { data: [member('Ann', 'owner'), member('Ben', 'viewer')] },
  'GET /api/workspaces/w1/invitations': { data: [] },
  'GET /api/workspaces/w1/invitation-links': { data: [] },
  'GET /api/deployments': { data: [], meta: page },
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
  const search = searchParams.get('search');
  const wanted = `${request.method} ${pathname}${search ? `?search=${search}` : ''}`;
  asked.push(wanted);
  // As from a network: not in the task that asks.
  await new Promise((done) => setTimeout(done));
  const answer = set[wanted] ?? (KNOWN[wanted] ? { status: 200, body: KNOWN[wanted] } : undefined);
  if (answer === 'unreachable') throw new TypeError('Failed to fetch');
  const { status, body } = answer ?? GONE;
  return Response.json(body, { status });
}
