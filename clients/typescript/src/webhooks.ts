/** Webhooks of the scheme `heddle`: signing, sending, checking. Needs no API key. */

import { read } from './answers.js';
import { send, type Fetch } from './transport.js';

type Bytes = Uint8Array | string;

async function hmac(secret: string, body: Bytes): Promise<Uint8Array> {
  const encoder = new TextEncoder();
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', encoder.encode(secret), algorithm, false, ['sign']);
  const bytes = typeof body === 'string' ? encoder.encode(body) : body;
  return new Uint8Array(await crypto.subtle.sign('HMAC', key, bytes as Uint8Array<ArrayBuffer>));
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The value of `X-Webhook-Signature` for a body, which must be sent as exactly these bytes. */
export async function signWebhook(secret: string, body: Bytes): Promise<string> {
  return hex(await hmac(secret, body));
}

/** Whether a signature (hex, with or without `sha256=`) is that of a body, in the same time whatever it is. */
export async function verifyWebhook(
  secret: string,
  body: Bytes,
  signature: string | null | undefined,
): Promise<boolean> {
  if (!signature) return false;
  const expected = await signWebhook(secret, body);
  const given = signature.replace(/^sha256=/, '').toLowerCase();
  if (given.length !== expected.length) return false;
  let difference = 0;
  for (let at = 0; at < expected.length; at += 1)
    difference |= expected.charCodeAt(at) ^ given.charCodeAt(at);
  return difference === 0;
}

export interface WebhookOptions {
  /** The webhook's secret. Without one, nothing is signed. */
  secret?: string | undefined;
  /** The event's key, by which it starts one run however often it arrives. Default: a new one for each call. */
  idempotencyKey?: string | undefined;
  /** Other headers of the request. */
  headers?: Record<string, string> | undefined;
  signal?: AbortSignal | undefined;
  /** For how long an answer is waited for. Default: a minute. */
  timeoutMs?: number | undefined;
  /** How often it is sent again after 429, 503 and errors of the network. Default: 3. */
  retries?: number | undefined;
  fetch?: Fetch | undefined;
}

export interface WebhookAnswer {
  /** 202 for an event that will run, 200 for what a pattern answers, and for an event that came before. */
  status: number;
  /** `{status, runId, …}`, or what the pattern's RespondToWebhook says. */
  body: unknown;
  /** The run that the event started, if the answer names it. */
  runId: string | undefined;
  headers: Headers;
}

/**
 * Sends an event as JSON to the address of a webhook. It is sent again with the same key until it is answered, so that it starts one
 * run. Throws a HeddleError if it is refused, or if the pattern answers with a status of 300 or more.
 */
export async function sendWebhook(
  url: string,
  event: unknown,
  options: WebhookOptions = {},
): Promise<WebhookAnswer> {
  const { secret, signal, timeoutMs = 60_000, retries = 3 } = options;
  const body = JSON.stringify(event);
  if (body === undefined) throw new TypeError('the event has no JSON');
  const headers: Record<string, string> = {
    ...options.headers,
    'Content-Type': 'application/json',
    'X-Idempotency-Key': options.idempotencyKey ?? hex(crypto.getRandomValues(new Uint8Array(16))),
  };
  if (secret !== undefined) headers['X-Webhook-Signature'] = await signWebhook(secret, body);
  const sent = { method: 'POST', headers, body, signal, timeoutMs, retries, isRepeatable: true };
  return send(options.fetch ?? globalThis.fetch, url, sent, async (response) => {
    const answer = await read(response, timeoutMs);
    const runId =
      typeof answer === 'object' && answer !== null ? (answer as { runId?: unknown }).runId : undefined;
    const { status, headers: answered } = response;
    return { status, body: answer, runId: typeof runId === 'string' ? runId : undefined, headers: answered };
  });
}
