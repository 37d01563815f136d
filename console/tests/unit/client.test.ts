import { afterEach, describe, expect, it, vi } from 'vitest';
import { answer, api, ApiError, onChange, unwrap, useWorkspace } from '$/api/client';
import { getDraft } from '$/api/editor';

/** What the server answers to the next requests, and what it was asked. */
function server(...replies: (Response | Error)[]): Request[] {
  const asked: Request[] = [];
  vi.stubGlobal('fetch', async (request: Request) => {
    asked.push(request);
    const reply = replies.shift();
    if (reply instanceof Error) throw reply;
    return reply;
  });
  return asked;
}
const json = (status: number, body: unknown, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json', ...headers } });

const failed = async (promise: Promise<unknown>): Promise<ApiError> => {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ApiError);
  return error as ApiError;
};

afterEach(() => {
  vi.unstubAllGlobals();
  useWorkspace('');
  onChange({ signedOut: () => {}, updated: () => {} });
});

describe('the client', () => {
  it('sends the workspace, and the cookie to its own origin alone', async () => {
    useWorkspace('w1');
    const requests = server(json(200, { success: true, data: [] }));
    await unwrap(api.GET('/api/workspaces'));
    expect(requests[0]?.headers.get('X-Heddle-Workspace')).toBe('w1');
    expect(requests[0]?.credentials).toBe('same-origin');
  });
  it('says what was wrong, by field', async () => {
    server(
      json(400, {
        success: false,
        error: {
          code: 'VALIDATION',
          message: '`name` is missing',
          details: [{ path: 'name', message: 'is missing' }],
        },
      }),
    );
    const error = await failed(answer(api.POST('/api/patterns', { body: { name: '' } })));
    expect(error).toMatchObject({
      status: 400,
      code: 'VALIDATION',
      message: '`name` is missing.',
      fields: { name: 'is missing' },
    });
  });
  it('asks for a draft that need not be there', async () => {
    const asked = server(new Response(null, { status: 204 }), json(200, { baseVersion: 3 }, { etag: '"a"' }));
    expect(await getDraft('p1')).toBeNull();
    expect(await getDraft('p1')).toMatchObject({ baseVersion: 3, tag: '"a"' });
    expect(asked[0]?.url).toMatch(/\/api\/patterns\/p1\/draft\?optional=true$/);
  });
  it('gives the request’s id where the server failed', async () => {
    server(
      json(500, { error: { code: 'INTERNAL', message: 'Something went wrong' } }, { 'x-request-id': 'r-1' }),
    );
    expect((await failed(answer(api.GET('/api/patterns')))).message).toBe(
      'Something went wrong. Request r-1.',
    );
  });
  it('says that the server can’t be reached', async () => {
    server(new TypeError('Failed to fetch'));
    expect(await failed(answer(api.GET('/api/patterns')))).toMatchObject({ status: 0, code: 'OFFLINE' });
  });
  it('notices that the session has ended, but not that a password was wrong', async () => {
    const signedOut = vi.fn();
    onChange({ signedOut, updated: () => {} });
    const body = { error: { code: 'UNAUTHORIZED', message: 'Sign in' } };
    const over = json(401, body, { 'www-authenticate': 'Bearer' });
    server(json(401, body), json(401, { error: { code: 'INVALID_CREDENTIALS' } }), over);
    await failed(answer(api.POST('/api/session', { body: { email: 'a', password: 'b' } })));
    await failed(answer(api.PUT('/api/auth/password', { body: { newPassword: 'b' } })));
    expect(signedOut).not.toHaveBeenCalled();
    await failed(answer(api.GET('/api/patterns')));
    expect(signedOut).toHaveBeenCalledOnce();
  });
  it('notices that the server was updated, once for each build', async () => {
    const updated = vi.fn();
    onChange({ signedOut: () => {}, updated });
    server(...['1', '1', '2', '2', '3'].map((build) => json(200, {}, { 'x-heddle-build': build })));
    await answer(api.GET('/api/patterns'));
    await answer(api.GET('/api/patterns'));
    expect(updated).not.toHaveBeenCalled();
    await answer(api.GET('/api/patterns'));
    expect(updated).toHaveBeenCalledOnce();
    await answer(api.GET('/api/patterns'));
    expect(updated).toHaveBeenCalledOnce();
    await answer(api.GET('/api/patterns'));
    expect(updated).toHaveBeenCalledTimes(2);
  });
});
