/** An answer that is an error, or no answer at all. */
export class ApiError extends Error {
  constructor(
    /** HTTP status; 0 if the server did not answer. */
    readonly status: number,
    /** For example `VALIDATION`, `CONFLICT`; `OFFLINE` if the server did not answer. */
    readonly code: string,
    message: string,
    /** Messages by field. */
    readonly fields: Readonly<Record<string, string>> = {},
    /** For reports to whoever operates the server. */
    readonly requestId = '',
    /** The whole body, for answers with more in them: findings of a graph. */
    readonly body?: unknown,
  ) {
    super(message);
    this.name = 'ApiError';
  }

  /** All details in their order: several of them may be about one field. */
  get details(): readonly Detail[] {
    return bodyOf(this.body).error?.details ?? [];
  }
}

interface Detail {
  path?: string;
  message?: string;
}

interface Body {
  error?: { code?: string; message?: string; details?: Detail[] };
  errors?: { message?: string }[];
}

const bodyOf = (body: unknown): Body => (typeof body === 'object' && body !== null ? body : {});

const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);

/** The error that an answer describes. */
export function errorOf(response: Response, body: unknown): ApiError {
  const requestId = response.headers.get('x-request-id') ?? '';
  const { error, errors } = bodyOf(body);
  const details = error?.details ?? [];
  const fields = Object.fromEntries(details.map((detail) => [detail.path ?? '', detail.message ?? '']));
  const found = error?.message ?? errors?.map((each) => each.message).join(' ');
  const message = sentence(found || `The server answered ${response.status}`);
  const reference = response.status >= 500 && requestId ? ` Request ${requestId}.` : '';
  return new ApiError(
    response.status,
    error?.code ?? 'UNKNOWN',
    message + reference,
    fields,
    requestId,
    body,
  );
}

/** The error when no answer came. */
export const offline = (): ApiError =>
  new ApiError(0, 'OFFLINE', 'The server can’t be reached. Try again in a moment.');
