/** What goes wrong, as exceptions. */

import type { Schemas } from './types.js';

/** The details of an error: which field, and what is wrong with it. */
export type Detail = Schemas['Detail'];

export interface Described {
  status?: number;
  details?: readonly Detail[];
  requestId?: string | undefined;
  retryAfterMs?: number | undefined;
  body?: unknown;
  cause?: unknown;
}

/**
 * A request that failed. `code` is stable: match on it. Besides the server's codes there are `NETWORK` (no answer), `TIMEOUT` (none in
 * time), `INVALID_GRAPH` (422, `details` by node) and `HTTP_…` (an answer that is none of heddle's, such as a proxy's).
 */
export class HeddleError extends Error {
  readonly code: string;
  /** The HTTP status; 0 without an answer. */
  readonly status: number;
  readonly details: readonly Detail[];
  /** Find it in the server's log by this. */
  readonly requestId: string | undefined;
  readonly retryAfterMs: number | undefined;
  /** The body of the answer, as it came. */
  readonly body: unknown;

  constructor(code: string, message: string, described: Described = {}) {
    super(message, described.cause === undefined ? undefined : { cause: described.cause });
    this.name = 'HeddleError';
    this.code = code;
    this.status = described.status ?? 0;
    this.details = described.details ?? [];
    this.requestId = described.requestId;
    this.retryAfterMs = described.retryAfterMs;
    this.body = described.body;
  }
}

/** A run that did not succeed. `code` and `message` say why. */
export class RunFailedError extends HeddleError {
  readonly run: Schemas['WholeRun'];
  readonly nodeId: string | undefined;

  constructor(run: Schemas['WholeRun']) {
    super(run.error?.code ?? 'RUN_FAILED', run.error?.message ?? `the run ${run.id} ended as ${run.status}`);
    this.name = 'RunFailedError';
    this.run = run;
    this.nodeId = run.error?.nodeId ?? undefined;
  }
}
