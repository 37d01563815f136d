/** Where a run waits. Pure: `tests/unit/approvals.test.ts`. */

import { graphOf, indexOf, nodeName, type DefinitionName, type Doc, type GraphNode } from '$/graph/model';

export interface Place {
  /** The node's label, after those of the composites that it is in. */
  name: string;
  /** What is written at the node, for whoever has to answer. */
  notes: string;
  /** Which iteration of a loop, as the run counts; empty outside of loops. */
  iteration: string;
}

/** The node that a callback's place means: composites, the node, and its iteration, with slashes between. */
export function placeIn(doc: Doc, place: string): Place {
  const parts = place.split('/');
  let definition: DefinitionName = null;
  const names: string[] = [];
  let node: GraphNode | undefined;
  for (;;) {
    const found: GraphNode | undefined = indexOf(graphOf(doc, definition)).nodes.get(parts[0] ?? '');
    if (!found) break;
    node = found;
    names.push(nodeName(found));
    parts.shift();
    if (doc.definitions[found.type]?.kind !== 'graph' || parts.length === 0) break;
    definition = found.type;
  }
  if (!node) return { name: place, notes: '', iteration: '' };
  return { name: names.join(' › '), notes: node.data?.notes ?? '', iteration: parts.join('/') };
}

const SHOWN_MAX = 200;

/** What the run is about, in a line: the event that started it, of a request its body. */
export function eventLine(event: unknown): string {
  const isRequest = typeof event === 'object' && event !== null && 'body' in event && 'method' in event;
  const told = isRequest ? event.body : event;
  const text = told === undefined || told === null ? '' : JSON.stringify(told);
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text;
}

/** What the node emits as the request's body when somebody approves or rejects in the console. */
export function decisionOf(approved: boolean, comment: string): { approved: boolean; comment?: string } {
  const text = comment.trim();
  return text ? { approved, comment: text } : { approved };
}
