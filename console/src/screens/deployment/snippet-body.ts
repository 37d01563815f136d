/** What snippets send in the place of a greeting. Pure: `tests/unit/snippets.test.ts`. */

import type { Catalogue } from '$/graph/catalogue';
import { indexOf, type Doc } from '$/graph/model';
import { eventRead } from '$/graph/reads';
import type { Page } from './webhook';

export interface SampleBody {
  /** Undefined: nothing is known, and the greeting is sent. */
  value: unknown;
  /** For people: "the body of the last event". */
  from: string;
}

export const NOTHING_KNOWN: SampleBody = { value: undefined, from: '' };

/** As much as the server puts into a snippet, in bytes. */
const BYTES_MAX = 4096;
/** Kinds of bodies that can say it. */
const SAID_BY = ['json', 'form', 'text'];

/** The body of an event; undefined if it has none, or one that is too large for a snippet. */
export function bodyOf(event: unknown): unknown {
  if (typeof event !== 'object' || event === null || !('body' in event)) return undefined;
  const { body } = event;
  if (body === null || body === undefined || body === '') return undefined;
  return new TextEncoder().encode(JSON.stringify(body)).length <= BYTES_MAX ? body : undefined;
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
export function readBody(catalogue: Catalogue, doc: Doc, nodeId: string): SampleBody | undefined {
  const value = bodyOf(eventRead(catalogue, doc, nodeId));
  return value === undefined ? undefined : { value, from: 'a body with the fields that the pattern reads' };
}

/**
 * What snippets for a webhook that takes these kinds of bodies are asked to send. A message to a chat begins a conversation: that of
 * the last event is somebody else's.
 */
export function sentTo(accept: readonly string[], body: SampleBody, page?: Page): SampleBody {
  if (!accept.some((kind) => SAID_BY.includes(kind))) return NOTHING_KNOWN;
  if (!page) return body;
  const { value } = body;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return NOTHING_KNOWN;
  if (page === 'form') return body;
  return 'message' in value ? { value: { message: value.message }, from: body.from } : NOTHING_KNOWN;
}
