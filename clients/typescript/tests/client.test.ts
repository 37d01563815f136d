/** The package against a running server, and against one of its own where a server has to misbehave. */

import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import {
  Heddle,
  HeddleError,
  RunFailedError,
  sendWebhook,
  signWebhook,
  verifyWebhook,
  type Schemas,
} from '@heddle/client';

const url = process.env['HEDDLE_URL'] ?? '';
const apiKey = process.env['HEDDLE_API_KEY'] ?? '';
const heddle = new Heddle({ url, apiKey });

const node = (id: string, type: string, parameters: Record<string, unknown> = {}) => ({
  id,
  type,
  data: { parameters },
});

/** A pattern of nodes one after the other, deployed. */
async function deployed(
  name: string,
  ...nodes: ReturnType<typeof node>[]
): Promise<{ patternId: string; deploymentId: string }> {
  const edges = nodes.slice(1).map(({ id }, at) => ({ source: nodes[at]?.id ?? '', target: id }));
  const graphData: Schemas['Graph'] = { nodes, edges };
  const pattern = await heddle.POST('/api/patterns', { body: { name, graphData } });
  const { deploymentId } = await heddle.deploy(pattern.id);
  return { patternId: pattern.id, deploymentId };
}

let doubling: { patternId: string; deploymentId: string };
let hook: { patternId: string; deploymentId: string };

before(async () => {
  const twice = node('end', 'Return', { value: '{{ $input.n * 2 }}' });
  doubling = await deployed(
    'TypeScript: doubling',
    node('start', 'OnManual'),
    node('rest', 'Wait', { durationMs: 300 }),
    twice,
  );
  hook = await deployed(
    'TypeScript: hook',
    node('hook', 'OnWebhook'),
    node('end', 'Return', { value: '{{ $input.body }}' }),
  );
});

/** A server that answers as it is told, and its client. */
async function peer(listener: RequestListener): Promise<{ client: Heddle; address: string }> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  after(() => server.closeAllConnections());
  after(() => server.close());
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { client: new Heddle({ url: address, apiKey: 'hdl_peer' }), address };
}

function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(body));
}

const refused = (code: string) => ({ success: false, error: { code, message: 'not now' }, timestamp: '' });

test('a run is waited for, and gives its output', async () => {
  assert.equal(await heddle.run(doubling.deploymentId, { n: 21 }), 42);
});

test('a run that is waited for no longer goes on', async () => {
  const path = { id: doubling.deploymentId };
  const { runId } = await heddle.POST('/api/deployments/{id}/execute', {
    path,
    body: { eventData: { n: 1 } },
  });
  const waiting = heddle.waitForRun(path.id, runId, { timeoutMs: 50 });
  await assert.rejects(waiting, (error) => error instanceof HeddleError && error.code === 'TIMEOUT');
  const events: string[] = [];
  for await (const { event } of heddle.watchRun(path.id, runId)) events.push(event);
  assert.equal(events[0], 'run');
  assert.equal(events.at(-1), 'run');
  assert.equal((await heddle.waitForRun(path.id, runId)).output, 2);
});

test('what nodes do is told while a graph is tried, and afterwards of a run', async () => {
  const graphData: Schemas['CompleteGraph'] = {
    nodes: [node('start', 'OnManual'), node('end', 'Return', { value: 17 })],
    edges: [{ source: 'start', target: 'end' }],
  };
  const body = { graphData, nodeDefinitions: {}, trace: true };
  const { code } = await heddle.POST('/api/execute/transpile', { body });
  const seen: string[] = [];
  for await (const event of heddle.testRun({ code })) {
    seen.push(event.type);
    if (event.type === 'end') assert.equal(event.result?.output, 17);
  }
  assert(seen.includes('node'));
  assert.equal(seen.at(-1), 'end');

  const { deploymentId } = await deployed(
    'TypeScript: traced',
    node('start', 'OnManual'),
    node('end', 'Return'),
  );
  const path = { id: deploymentId };
  const { runId } = await heddle.POST('/api/deployments/{id}/execute', { path, query: { wait: true } });
  for await (const event of heddle.traceRun(deploymentId, runId)) {
    if (event.type === 'end') assert.equal(event.replay?.end, 'same');
  }
});

test('runs of a deployment are told as they change', async () => {
  const path = { id: doubling.deploymentId };
  // Whatever starts before the stream is there is not told.
  const starting = setInterval(() => {
    void heddle.POST('/api/deployments/{id}/execute', { path, body: { eventData: { n: 1 } } });
  }, 100);
  try {
    for await (const message of heddle.watchRuns(path.id)) {
      assert.equal(message.event, 'change');
      break;
    }
  } finally {
    clearInterval(starting);
  }
});

test('a run that fails is an exception with its node', async () => {
  const parameters = { message: 'no stock', code: 'NO_STOCK' };
  const { deploymentId } = await deployed(
    'TypeScript: failing',
    node('start', 'OnManual'),
    node('stop', 'Throw', parameters),
  );
  await assert.rejects(heddle.run(deploymentId), (error) => {
    assert(error instanceof RunFailedError);
    assert.equal(error.code, 'NO_STOCK');
    assert.equal(error.nodeId, 'stop');
    assert.equal(error.run.status, 'failure');
    return true;
  });
});

test('errors have what the server says', async () => {
  const path = { id: '01932c07-209e-7f64-b0a3-5c1f1b0e6f3a' };
  await assert.rejects(heddle.GET('/api/patterns/{id}', { path }), (error) => {
    assert(error instanceof HeddleError);
    assert.equal(error.status, 404);
    assert.equal(error.code, 'NOT_FOUND');
    assert(error.requestId);
    return true;
  });
  // @ts-expect-error the name is missing
  await assert.rejects(heddle.POST('/api/patterns', { body: {} }), (error) => {
    assert(error instanceof HeddleError);
    assert.equal(error.code, 'VALIDATION');
    assert.equal(error.details[0]?.path, 'name');
    return true;
  });
  const broken = deployed(
    'TypeScript: broken',
    node('start', 'OnManual'),
    node('end', 'Return', { value: '{{ $input. }}' }),
  );
  await assert.rejects(broken, (error) => {
    assert(error instanceof HeddleError);
    assert.equal(error.code, 'INVALID_GRAPH');
    assert.equal(error.details[0]?.path, 'end');
    return true;
  });
});

test('lists go on from page to page', async () => {
  // The server may have those of another time.
  const mark = crypto.randomUUID();
  for (let at = 0; at < 5; at += 1) await heddle.POST('/api/patterns', { body: { name: `${mark} ${at}` } });
  const names: string[] = [];
  const query = { search: mark, limit: 2, sortBy: 'name' as const };
  for await (const pattern of heddle.list('/api/patterns', { query })) names.push(pattern.name);
  assert.deepEqual(
    names,
    [0, 1, 2, 3, 4].map((at) => `${mark} ${at}`),
  );
});

test('paths and fields have types', async () => {
  // Only for the compiler.
  const unused = (): unknown => [
    // @ts-expect-error there is no such path
    heddle.GET('/api/pattern'),
    // @ts-expect-error the id is missing
    heddle.GET('/api/patterns/{id}'),
    // @ts-expect-error it takes no body
    heddle.GET('/api/nodes', { body: {} }),
    // @ts-expect-error it has no such list
    heddle.list('/api/workspaces'),
    heddle.GET('/api/nodes').then((types) => types[0]?.type.length),
  ];
  assert(unused);
  await assert.rejects(heddle.GET('/api/patterns/{id}', { path: { id: '..' } }), TypeError);
});

test('a webhook is signed, and its event starts one run', async () => {
  const { endpoints } = await heddle.GET('/api/patterns/{id}/webhooks', { path: { id: hook.patternId } });
  const { webhookId, webhookSecret } = endpoints[0] ?? assert.fail('there is no webhook');
  const secret = webhookSecret ?? '';
  const address = `${url}/webhooks/${webhookId}`;
  const options = { secret, idempotencyKey: 'order ts-17' };
  const first = await sendWebhook(address, { order: 'Zoë’s' }, options);
  assert.equal(first.status, 202);
  const run = await heddle.waitForRun(hook.deploymentId, first.runId ?? '');
  assert.deepEqual(run.output, { order: 'Zoë’s' });
  const again = await sendWebhook(address, { order: 'Zoë’s' }, options);
  assert.deepEqual([again.status, again.runId], [200, first.runId]);
  await assert.rejects(sendWebhook(address, {}, { secret: 'another' }), {
    code: 'SIGNATURE_INVALID',
    status: 401,
  });
});

test('signatures are checked', async () => {
  const signature = await signWebhook('key', 'The quick brown fox jumps over the lazy dog');
  assert.equal(signature, 'f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8');
  assert(
    await verifyWebhook(
      'key',
      'The quick brown fox jumps over the lazy dog',
      `sha256=${signature.toUpperCase()}`,
    ),
  );
  assert(!(await verifyWebhook('key', 'The quick brown fox jumps over the lazy cat', signature)));
  assert(!(await verifyWebhook('key', '', null)));
});

test('what happens in the workspace is told, and goes on after an id', async () => {
  const ending = new AbortController();
  let last: string | undefined;
  for await (const message of heddle.watch({ signal: ending.signal })) {
    last = message.id ?? last;
    if (message.event === 'server') await heddle.POST('/api/patterns', { body: { name: 'Watched' } });
    if (message.event === 'saved') break;
  }
  const events: string[] = [];
  for await (const { event } of heddle.watch({ lastEventId: last })) {
    events.push(event);
    if (event === 'missed') break;
  }
  assert(events.includes('missed'));
});

test('a file is stored and read', async () => {
  const file = await heddle.upload('a,b\n1,2\n', { name: 'table.csv', type: 'text/csv' });
  assert.deepEqual([file.name, file.type, file.size], ['table.csv', 'text/csv', 8]);
  assert.equal(await (await heddle.download(file.$file)).text(), 'a,b\n1,2\n');
});

test('a busy server is asked again, and nothing is sent twice that may have arrived', async () => {
  const asked: string[] = [];
  const { client } = await peer((request: IncomingMessage, response) => {
    asked.push(request.method ?? '');
    if (asked.length === 1) return json(response, 429, refused('RATE_LIMITED'), { 'Retry-After': '0' });
    if (request.method === 'GET') return json(response, 200, { success: true, data: [], timestamp: '' });
    return json(response, 503, refused('UNAVAILABLE'));
  });
  assert.deepEqual(await client.GET('/api/workspaces'), []);
  await assert.rejects(client.POST('/api/workspaces', { body: { name: 'Twice' } }), { code: 'UNAVAILABLE' });
  assert.deepEqual(asked, ['GET', 'GET', 'POST']);
});

test('a redirect is not followed with the key', async () => {
  let followed = false;
  const { client } = await peer((request, response) => {
    followed ||= request.url === '/elsewhere';
    response.writeHead(302, { Location: '/elsewhere' }).end();
  });
  await assert.rejects(client.GET('/api/workspaces'), { code: 'HTTP_302' });
  assert(!followed);
});

test('a stream that breaks is taken up where it was', async () => {
  const lasts: unknown[] = [];
  const { client } = await peer((request, response) => {
    lasts.push(request.headers['last-event-id']);
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    response.write(`: hello\r\nid: ${lasts.length}\r\nevent: missed\r\ndata: {"what":\r`);
    setTimeout(() => response.end('\ndata: "runs"}\n\nevent: missed\ndata: half'), 10);
  });
  const ids: unknown[] = [];
  for await (const message of client.watch()) {
    assert.deepEqual(message.data, { what: 'runs' });
    if (ids.push(message.id) === 2) break;
  }
  assert.deepEqual(ids, ['1', '2']);
  assert.deepEqual(lasts, [undefined, '1']);
});
