import { afterEach, describe, expect, it, vi } from 'vitest';
import { toasts } from '$/parts/toasts.svelte';
import { fit, withAll } from '$/screens/runs/actions';

const run = (id: string, status: 'success' | 'failure' | 'running') => ({ id, deploymentId: 'd', status });
const RUNS = [run('a', 'failure'), run('b', 'success'), run('c', 'running'), run('d', 'failure')];

afterEach(() => {
  vi.unstubAllGlobals();
  toasts.items = [];
});

describe('several runs', () => {
  it('are those that it can be done with', () => {
    const ids = (act: 'retry' | 'replay' | 'cancel') => fit(act, RUNS).map(({ id }) => id);
    expect([ids('retry'), ids('replay'), ids('cancel')]).toEqual([['a', 'd'], ['a', 'b', 'd'], ['c']]);
  });
  it('are all tried, whichever of them fails', async () => {
    const asked: string[] = [];
    vi.stubGlobal('fetch', async (request: Request) => {
      asked.push(new URL(request.url).pathname);
      const status = asked.length === 1 ? 503 : 202;
      const error = { success: false, error: { code: 'UNAVAILABLE', message: 'Too many runs are waiting' } };
      return new Response(JSON.stringify(status === 503 ? error : { success: true, data: {} }), { status });
    });
    await withAll('retry', RUNS);
    expect(asked).toEqual(['a', 'd'].map((id) => `/api/deployments/d/runs/${id}/retry`));
    expect(toasts.items.map(({ text }) => text)).toEqual(['Retried 1 of 2 runs. Too many runs are waiting.']);
    await withAll('replay', RUNS);
    expect(toasts.items.at(-1)?.text).toBe('Replayed 3 runs.');
  });
});
