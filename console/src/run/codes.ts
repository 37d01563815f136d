/** What the codes of runs mean, and what to do: docs/errors.md in a line each, with the words that the console has for things. */

interface Meaning {
  /** What happened, without the details that the message has. */
  readonly cause: string;
  readonly advice?: string;
}

const RETRY = 'Let the node try again (Settings, “Try again”), or continue by its error port.';
const LOOK = 'Look at the node’s input and at what its expressions gave.';

const MEANINGS: Readonly<Record<string, Meaning>> = {
  EXPRESSION: {
    cause: 'An expression failed',
    advice: 'Look at the node’s input. “?.” instead of “.” reads what may be missing.',
  },
  PARAMETER: { cause: 'A parameter does not fit', advice: LOOK },
  PARSE: {
    cause: 'Data could not be read',
    advice: 'Look at the node’s input, or continue by its error port.',
  },
  THROWN: { cause: 'A Throw node ended it' },
  JAVASCRIPT: { cause: 'Code threw an error', advice: 'The message has the line of the code.' },
  COMPONENT: { cause: 'A component failed', advice: 'Look at the run’s log.' },
  TIMEOUT: {
    cause: 'It took too long',
    advice: 'Raise the time limit: of a request in the node’s settings, of the run in the pattern’s.',
  },
  HTTP_FAILED: { cause: 'A request failed', advice: RETRY },
  EGRESS_DENIED: {
    cause: 'The address is not allowed',
    advice: 'Private addresses are out of reach. The operator of the server can allow them.',
  },
  OAUTH_FAILED: {
    cause: 'A connection got no token',
    advice: 'Test the connection. If it needs consent, choose “Connect…” there.',
  },
  CONNECTION_MISSING: {
    cause: 'A connection or secret is missing',
    advice: 'Add the connection to the workspace, or the secret to the run’s environment.',
  },
  NOT_PERMITTED: {
    cause: 'The pattern may not do this',
    advice: 'Look at the allowed hosts of the connection or secret, and deploy again.',
  },
  SQL_FAILED: {
    cause: 'The database refused',
    advice: 'The message is the database’s. Test the connection.',
  },
  SQL_ROW_LIMIT: { cause: 'Too many rows', advice: 'Put a limit into the statement.' },
  MAIL_FAILED: { cause: 'The mail server refused', advice: 'Test the connection.' },
  CHAT_REFUSED: { cause: 'The model refused', advice: 'Change the prompt, or continue by the error port.' },
  CHAT_JSON: {
    cause: 'The model gave other JSON',
    advice: 'Let the node try again, or ask for simpler JSON.',
  },
  KEY_VALUE_TYPE: {
    cause: 'A kept value has the wrong type',
    advice: '“increment” needs a number, “append” an array. Kept values can be changed in the console.',
  },
  KEY_VALUE_LIMIT: {
    cause: 'Too many or too large kept values',
    advice: 'Let old ones expire, with “ttlMs”.',
  },
  FILE_NOT_FOUND: {
    cause: 'A file was not found',
    advice: 'It has expired, or this run may not read it.',
  },
  FILE_LIMIT: { cause: 'A file is too large', advice: 'Read it in parts, by “offset” and “limit”.' },
  STREAM_GONE: {
    cause: 'A streamed response is no longer open',
    advice: 'Request it again; don’t wait for long between reads.',
  },
  STREAM_LIMIT: {
    cause: 'Too many streams, or too large an entry',
    advice: 'Read streams to their ends, or close them.',
  },
  JWT_INVALID: {
    cause: 'A token was refused',
    advice: 'Its signature, algorithm, issuer or audience is wrong.',
  },
  JWT_EXPIRED: { cause: 'A token has expired', advice: 'The sender has to get a new one.' },
  JWT_NOT_YET_VALID: { cause: 'A token is not valid yet', advice: 'Compare the clocks of both sides.' },
  CALL_TARGET: { cause: 'The called pattern can’t run', advice: 'Deploy it; it has to start with OnCall.' },
  CALL_INPUTS: { cause: 'The called pattern takes other inputs', advice: 'The message names the field.' },
  CALL_DEPTH: {
    cause: 'Patterns call each other too deeply',
    advice: 'Look for patterns that call themselves.',
  },
  NO_SERVICE: { cause: 'It works only when deployed', advice: 'Pin the node to test without it.' },
  UNAVAILABLE: { cause: 'It could not be reached', advice: 'Try again in a moment.' },
  EVENT: { cause: 'The event is not JSON, or too large', advice: 'Look at what the sender sends.' },
  TRIGGER: { cause: 'There is no such trigger', advice: 'Deploy a version that has it.' },
  DEPTH_LIMIT: {
    cause: 'A value is nested too deeply',
    advice: 'Look for a loop that wraps its value once more in each round.',
  },
  OUT_OF_FUEL: {
    cause: 'It computed too long',
    advice: 'Look for a loop without an end. The pattern’s settings have the compute time.',
  },
  OUT_OF_MEMORY: {
    cause: 'It needed too much memory',
    advice: 'Work on the data in parts. The pattern’s settings have the memory of a run.',
  },
  TABLE_LIMIT: { cause: 'It needed too much memory', advice: 'Work on the data in parts.' },
  STACK_OVERFLOW: { cause: 'Calls were nested too deeply', advice: 'Look for a recursion without an end.' },
  LOG_LIMIT: { cause: 'Too much was logged', advice: 'Log less, above all in loops.' },
  OUTPUT_LIMIT: { cause: 'The output is too large', advice: 'Return less, or a file.' },
  EFFECT_LIMIT: {
    cause: 'Too many requests and waits',
    advice:
      'Divide the work among several runs, by CallPattern. The pattern’s settings have the number of effects.',
  },
  JOURNAL_LIMIT: { cause: 'Answers were too large', advice: 'Ask for pages, and keep only the body.' },
  CANCELLED: { cause: 'Somebody cancelled it' },
  INTERRUPTED: { cause: 'The server ended it', advice: 'Retry the run. The server’s log says why it ended.' },
  NOT_PINNED: {
    cause: 'A test would have reached outside',
    advice: 'Pin the node, or allow effects in the test.',
  },
  NOT_RECORDED: { cause: 'The journal lacks a result', advice: 'This run can’t be replayed further.' },
  MODULE_CHANGED: {
    cause: 'The module was changed in the database',
    advice: 'Tell the operator of the server. Deploy again, and replay the run.',
  },
  QUOTA_EXCEEDED: { cause: 'A quota is used up', advice: 'The operator of the server sets quotas.' },
  WORKSPACE_QUOTA_EXCEEDED: {
    cause: 'A quota of the workspace is used up',
    advice: 'Usage has the quotas. The operator of the server sets them.',
  },
  NOT_IMPORTED: {
    cause: 'A node stands for one that was not imported',
    advice: 'Replace the node. Its notes say what it did before.',
  },
  TRAP: { cause: 'The module ended unexpectedly', advice: 'Deploy again.' },
  INTERNAL: { cause: 'A bug in heddle', advice: 'Please report it, with the run’s log.' },
};

const BY_STATUS: readonly [from: number, advice: string][] = [
  [500, RETRY],
  [429, 'Let the node try again after a wait (Settings, “Try again”).'],
  [405, LOOK],
  [404, 'Look at the URL.'],
  [401, 'Test the connection: its credentials may be wrong, or not allow this.'],
  [0, LOOK],
];

/** What a code means; undefined for a pattern's own. */
export function meaningOf(code: string): Meaning | undefined {
  const status = /^HTTP_(\d{3})$/.exec(code)?.[1];
  if (status === undefined) return Object.hasOwn(MEANINGS, code) ? MEANINGS[code] : undefined;
  const advice = BY_STATUS.find(([from]) => Number(status) >= from)?.[1];
  return { cause: `A service answered ${status}`, ...(advice !== undefined && { advice }) };
}
