/** Requests: time limits, and what is sent again after which answer. */

import { errorOf } from './answers.js';
import { HeddleError } from './error.js';

export interface Sent {
  method: string;
  headers: Record<string, string>;
  body?: BodyInit | undefined;
  signal?: AbortSignal | undefined;
  timeoutMs: number;
  retries: number;
  /** Whether it may arrive twice, so that it can be sent again when nobody knows whether it has arrived. */
  isRepeatable: boolean;
}

export type Fetch = typeof globalThis.fetch;

const PAUSE_MS = 500;
const PAUSE_MAX_MS = 10_000;
/** A server that asks for more patience than this is not waited for. */
const RETRY_AFTER_MAX_MS = 60_000;

/** Between two attempts: longer each time, and not for all clients the same. */
export function backoff(attempt: number): number {
  return Math.min(PAUSE_MS * 2 ** attempt, PAUSE_MAX_MS) * (0.5 + Math.random() / 2);
}

/** Waits, unless the signal ends it. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    if (signal?.aborted) abort();
    else signal?.addEventListener('abort', abort, { once: true });
  });
}

/** Sends once. The time limit is that of the answer's head; a body may take as long as it needs. */
export async function sendOnce(
  fetch: Fetch,
  url: string,
  sent: Omit<Sent, 'retries' | 'isRepeatable'>,
): Promise<Response> {
  const { method, headers, body, signal, timeoutMs } = sent;
  const limit = new AbortController();
  const timer = setTimeout(
    () => limit.abort(new HeddleError('TIMEOUT', `no answer within ${timeoutMs} ms`)),
    timeoutMs,
  );
  // Whoever ends the request ends the reading of its body as well.
  const ended = signal ? AbortSignal.any([signal, limit.signal]) : limit.signal;
  try {
    // A redirect could lead the key to somebody else.
    return await fetch(url, {
      method,
      headers,
      redirect: 'manual',
      signal: ended,
      ...(body !== undefined && { body }),
    });
  } catch (cause) {
    if (signal?.aborted) throw signal.reason;
    if (limit.signal.reason instanceof HeddleError) throw limit.signal.reason;
    throw new HeddleError('NETWORK', `${method} ${url} got no answer: ${(cause as Error).message}`, {
      cause,
    });
  } finally {
    clearTimeout(timer);
  }
}

/** After how long to send again, or undefined. */
function repetition(error: HeddleError, attempt: number, sent: Sent): number | undefined {
  if (attempt >= sent.retries) return undefined;
  const asked = error.retryAfterMs;
  if (error.status === 429 || error.status === 503) {
    // Nothing was done, as `Retry-After` says. Without it that is not known.
    if (asked === undefined && !sent.isRepeatable) return undefined;
    if (asked !== undefined && asked > RETRY_AFTER_MAX_MS) return undefined;
    return Math.max(asked ?? 0, backoff(attempt));
  }
  return error.status === 0 && sent.isRepeatable ? backoff(attempt) : undefined;
}

/** Sends until there is an answer that counts. What is taken of it, if it is a good one: taking it may fail as well. */
export async function send<T>(
  fetch: Fetch,
  url: string,
  sent: Sent,
  take: (response: Response) => T | Promise<T>,
): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    let error: HeddleError;
    try {
      const response = await sendOnce(fetch, url, sent);
      if (response.ok || response.status === 304) return await take(response);
      error = await errorOf(response);
    } catch (thrown) {
      sent.signal?.throwIfAborted();
      if (!(thrown instanceof HeddleError)) throw thrown;
      error = thrown;
    }
    const ms = repetition(error, attempt, sent);
    if (ms === undefined) throw error;
    await pause(ms, sent.signal);
  }
}

/** Objects as they are in the query: lists repeat their name, and what is undefined or null is left out. */
export function queryOf(query: Readonly<Record<string, unknown>>): string {
  const fields = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one === undefined || one === null) continue;
      fields.append(name, one instanceof Date ? one.toISOString() : String(one));
    }
  }
  const text = fields.toString();
  return text && `?${text}`;
}

/** A path of the document with its values. */
export function pathOf(template: string, values: Readonly<Record<string, unknown>>): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = String(values[name] ?? '');
    // URLs leave these segments out, so that the request would be another one.
    if (['', '.', '..'].includes(value))
      throw new TypeError(`${template}: ${name} can't be ${JSON.stringify(value)}`);
    return encodeURIComponent(value);
  });
}
