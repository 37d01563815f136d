/** What answers say: their text, JSON, and errors. */

import { HeddleError, type Described, type Detail } from './error.js';
import type { Schemas } from './types.js';

/** For how long the rest of an error is waited for. */
const ERROR_MS = 10_000;

/** What a promise gives, unless that takes too long. */
export async function within<T>(promise: Promise<T>, ms: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new HeddleError('TIMEOUT', `nothing came for ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The pieces of a body, of which none may take longer than this. */
export async function* piecesOf(response: Response, ms: number): AsyncGenerator<string> {
  const reader = response.body?.getReader();
  if (!reader) return;
  const decoder = new TextDecoder();
  try {
    for (;;) {
      const { done, value } = await within(reader.read(), ms);
      if (done) break;
      yield decoder.decode(value, { stream: true });
    }
    yield decoder.decode();
  } catch (cause) {
    if (cause instanceof HeddleError) throw cause;
    throw new HeddleError('NETWORK', `the answer broke off: ${(cause as Error).message}`, { cause });
  } finally {
    // Also when whoever reads has seen enough.
    void reader.cancel().catch(() => undefined);
  }
}

async function textOf(response: Response, ms: number): Promise<string> {
  let text = '';
  for await (const piece of piecesOf(response, ms)) text += piece;
  return text;
}

/** A JSON body, or the text of anything else. */
export async function read(response: Response, ms: number): Promise<unknown> {
  const text = await textOf(response, ms);
  if (text === '') return undefined;
  return /^application\/([\w.-]+\+)?json\b/.test(response.headers.get('content-type') ?? '')
    ? JSON.parse(text)
    : text;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `Retry-After` as seconds or as a date. */
function retryAfter(headers: Headers): number | undefined {
  const value = headers.get('retry-after');
  if (value === null) return undefined;
  const ms = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

/** The error that an answer tells. */
export async function errorOf(response: Response): Promise<HeddleError> {
  const text = await textOf(response, ERROR_MS).catch(() => '');
  const { status } = response;
  const described: Described = {
    status,
    requestId: response.headers.get('x-request-id') ?? undefined,
    retryAfterMs: retryAfter(response.headers),
    body: text,
  };
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return new HeddleError(
      `HTTP_${status}`,
      `the server answered ${status} ${response.statusText}`.trim(),
      described,
    );
  }
  described.body = body;
  if (isRecord(body) && isRecord(body['error']) && typeof body['error']['code'] === 'string') {
    const { code, message, details } = body['error'];
    described.details = Array.isArray(details) ? (details as Detail[]) : [];
    return new HeddleError(code, typeof message === 'string' ? message : code, described);
  }
  if (isRecord(body) && Array.isArray(body['errors'])) {
    const findings = body['errors'] as Schemas['Finding'][];
    described.details = findings.map(({ nodeId, message }) => ({ path: nodeId ?? '', message }));
    const first = findings[0];
    const where = first?.nodeId ? `${first.nodeId}: ` : '';
    return new HeddleError(
      'INVALID_GRAPH',
      first ? where + first.message : 'the graph is not valid',
      described,
    );
  }
  return new HeddleError(`HTTP_${status}`, `the server answered ${status}`, described);
}
