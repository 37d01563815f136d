/** What snippets send in the place of a greeting. Pure: `tests/unit/snippets.test.ts`. */

import { indexOf, type Doc } from '$/graph/model';
import { eventRead } from '$/graph/reads';

export interface SampleBody {
  /** Undefined: nothing is known, and the greeting is sent. */
  value: unknown;
  /** For people: "the body of the last event". */
  from: string;
}
export type Language = 'curl' | 'python' | 'javascript' | 'pwsh';

export const NOTHING_KNOWN: SampleBody = { value: undefined, from: '' };

/** As much as anybody wants to have in a terminal, in characters. */
const CHARS_MAX = 4000;
/** What the server's snippets send as JSON and as a form, in the quotes that all languages have. */
const JSON_GREETING = `'{"hello":"world"}'`;
const FORM_GREETING = `'hello=world'`;

/** The body of an event; undefined if it has none, or one that is too large for a snippet. */
export function bodyOf(event: unknown): unknown {
  if (typeof event !== 'object' || event === null || !('body' in event)) return undefined;
  const { body } = event;
  if (body === null || body === undefined || body === '') return undefined;
  return JSON.stringify(body).length <= CHARS_MAX ? body : undefined;
}

/** What the graph has at hand: the trigger's pin, or the event that it carries along. */
export function drawnBody(doc: Doc, nodeId: string): SampleBody | undefined {
  const data = indexOf(doc.graph).nodes.get(nodeId)?.data;
  const pinned = bodyOf(data?.pin?.value);
  if (pinned !== undefined)
    return { value: pinned, from: 'the body of the event that is pinned to the node' };
  const own = bodyOf(data?.['exampleEvent']);
  return own === undefined ? undefined : { value: own, from: 'the body of the pattern’s example' };
}

/** The fields that expressions read. */
export function readBody(doc: Doc, nodeId: string): SampleBody | undefined {
  const value = bodyOf(eventRead(doc, nodeId));
  return value === undefined ? undefined : { value, from: 'a body with the fields that the pattern reads' };
}

/** A snippet that sends this body instead of the greeting, and what to say of it; as it is if it has no greeting to replace. */
export function withBody(
  snippet: string,
  language: Language,
  { value, from }: SampleBody,
  scheme: string,
): { text: string; from: string } {
  const asIs = { text: snippet, from: '' };
  // What Twilio signs has been worked out from the body already.
  if (value === undefined || scheme === 'twilio') return asIs;
  for (const [greeting, body] of [
    [JSON_GREETING, inAscii(value)],
    [FORM_GREETING, formOf(value)],
  ] as const) {
    const at = snippet.indexOf(greeting);
    if (at < 0 || body === undefined) continue;
    const text = snippet.slice(0, at) + quoted(body, language) + snippet.slice(at + greeting.length);
    return { text, from };
  }
  return asIs;
}

/** JSON in which every other letter is escaped: Python's bytes have none, and not every terminal keeps them. */
const inAscii = (value: unknown): string =>
  JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

function formOf(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const fields = Object.entries(value).filter(([, each]) => each !== null);
  const text = (each: unknown) => (typeof each === 'string' ? each : JSON.stringify(each));
  const form = new URLSearchParams(fields.map(([name, each]) => [name, text(each)])).toString();
  // The form's encoding leaves no quotes and nothing that a language reads otherwise.
  return form === '' ? undefined : form;
}

/** A text of one line as a literal. */
function quoted(text: string, language: Language): string {
  if (language === 'curl') return `'${text.replaceAll("'", `'\\''`)}'`;
  if (language === 'pwsh') return `'${text.replaceAll("'", "''")}'`;
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
