import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Page } from '@playwright/test';

/** Whose page asks: requests with the session's cookie are refused to others. */
export const OWN_PAGE = { 'sec-fetch-site': 'same-origin' };
/** As long as what is pressed may take. */
const ANSWER_MS = 90_000;

/** Asks the API with the page's cookie, wherever the page is. */
export async function call<T>(page: Page, method: string, path: string, body?: unknown): Promise<T> {
  const reply = await page.request.fetch(path, {
    method,
    headers: OWN_PAGE,
    timeout: ANSWER_MS,
    ...(body !== undefined && { data: body }),
  });
  if (!reply.ok()) throw new Error(`${method} ${path}: ${reply.status()} ${await reply.text()}`);
  return (reply.status() === 204 ? undefined : await reply.json()) as T;
}

const example = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../../examples/order-routing/${name}`, import.meta.url), 'utf8'));

export interface Deployed {
  pattern: string;
  deployment: string;
  url: string;
  secret: string;
}

/** Imports the example of order routing and deploys it. */
export async function deployOrders(page: Page, name = 'Order routing', trace = false): Promise<Deployed> {
  const graphData = example('pattern.json');
  const { id } = await call<{ id: string }>(page, 'POST', '/api/patterns/import', { name, graphData });
  const { data } = await call<{ data: { deploymentId: string } }>(
    page,
    'POST',
    `/api/patterns/${id}/deploy`,
    {
      nodeDefinitions: {},
      ...(trace && { trace: true }),
    },
  );
  const hooks = await call<{ data: { endpoints: { webhookUrl: string; webhookSecret: string }[] } }>(
    page,
    'GET',
    `/api/patterns/${id}/webhooks`,
  );
  const [endpoint] = hooks.data.endpoints;
  if (!endpoint) throw new Error('The example has no webhook.');
  return {
    pattern: id,
    deployment: data.deploymentId,
    url: endpoint.webhookUrl,
    secret: endpoint.webhookSecret,
  };
}

/** Sends a signed event, from outside the browser. */
export async function send(to: Deployed, event: unknown): Promise<Response> {
  const body = JSON.stringify(event);
  const signature = createHmac('sha256', to.secret).update(body).digest('hex');
  return fetch(to.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-webhook-signature': signature },
    body,
  });
}

export const ORDER = {
  order: { id: 'A-1001', customer: { country: 'FR' }, lines: [{ sku: 'DESK-140' }], total: 607.5 },
};
