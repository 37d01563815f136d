/** Streams that are taken up again when they break. */

import { errorOf, piecesOf } from './answers.js';
import { HeddleError } from './error.js';
import { messages, type Message } from './sse.js';
import { backoff, pause } from './transport.js';

/** The server sends a comment every 15 s: after this long, the connection is dead. */
const IDLE_MS = 45_000;
/** Attempts in a row without one event; a minute and a half. */
const ATTEMPTS_MAX = 12;

export type Connect = (lastEventId: string | undefined) => Promise<Response>;

/** The events of one answer. */
export async function* eventsOf(response: Response): AsyncGenerator<Message> {
  if (!response.ok) throw await errorOf(response);
  yield* messages(piecesOf(response, IDLE_MS));
}

/** Errors that another attempt does not mend. */
function isFinal(error: unknown): boolean {
  if (!(error instanceof HeddleError)) return false;
  return error.status >= 300 && error.status < 500 && error.status !== 429 && error.status !== 408;
}

/** The events of a stream and of those that follow when it breaks, between which there is `undefined`. */
export async function* following(
  connect: Connect,
  signal?: AbortSignal,
  lastEventId?: string,
): AsyncGenerator<Message | undefined> {
  let last = lastEventId;
  for (let attempt = 0; ; attempt += 1) {
    let error: unknown;
    try {
      for await (const message of eventsOf(await connect(last))) {
        attempt = 0;
        last = message.id ?? last;
        yield message;
      }
    } catch (thrown) {
      signal?.throwIfAborted();
      if (isFinal(thrown)) throw thrown;
      error = thrown;
    }
    signal?.throwIfAborted();
    if (attempt >= ATTEMPTS_MAX)
      throw error ?? new HeddleError('STREAM_ENDED', 'the server ends the stream again and again');
    const asked = error instanceof HeddleError ? (error.retryAfterMs ?? 0) : 0;
    await pause(Math.max(asked, backoff(attempt)), signal);
    yield undefined;
  }
}
