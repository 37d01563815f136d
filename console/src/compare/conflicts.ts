/** Conflicts of a merge in words, for people. Pure. */

import type { Conflict } from '$/graph/merge';
import { graphOf, indexOf, nodeName, type Doc } from '$/graph/model';
import { fieldName, valueText } from './words';

export interface ConflictText {
  /** What it is about: `“Fetch order”`, `The edge “A” → “B”`. */
  subject: string;
  /** Which field of it; empty if one side has deleted what the other changed. */
  field: string;
  mine: string;
  theirs: string;
}

export function conflictText(doc: Doc, conflict: Conflict): ConflictText {
  const { path, mine, theirs } = conflict;
  const isWhole = path.length === 0;
  return {
    subject: subjectOf(doc, conflict),
    field: isWhole ? '' : fieldOf(path),
    mine: isWhole ? wholeText(mine) : sideText(doc, conflict, mine),
    theirs: isWhole ? wholeText(theirs) : sideText(doc, conflict, theirs),
  };
}

const wholeText = (value: unknown): string => (value === undefined ? 'deleted' : 'kept, as it was changed');

/** For reading aloud and in one line: the subject with its field. */
export const titleOf = ({ subject, field }: ConflictText): string =>
  field ? `${field} of ${subject}` : subject;

function subjectOf(doc: Doc, { definition, kind, id, mine, theirs }: Conflict): string {
  const { nodes, edges } = indexOf(graphOf(doc, definition));
  const quoted = (name: string) => `“${name}”`;
  const named = (node: string) => {
    const found = nodes.get(node);
    return quoted(found ? nodeName(found) : node);
  };
  switch (kind) {
    case 'node': {
      // What is not there any more was called as one of the sides has it.
      const left = (mine ?? theirs) as { data?: { label?: string } } | undefined;
      return nodes.has(id) ? named(id) : quoted(left?.data?.label || id);
    }
    case 'edge': {
      const edge = edges.get(id) ?? (((mine ?? theirs) as { source?: string; target?: string }) || {});
      return edge.source && edge.target
        ? `the edge ${named(edge.source)} → ${named(edge.target)}`
        : `the edge ${quoted(id)}`;
    }
    case 'note':
      return 'a note';
    case 'definition':
      return `the node type ${quoted(id)}`;
    case 'graph':
      return 'the settings';
  }
}

/** `['data', 'parameters', 'url']` becomes `URL`. */
function fieldOf(path: readonly string[]): string {
  const [first, ...rest] = path;
  return fieldName((first === 'data' || first === 'settings' ? rest : path).join('.'));
}

function sideText(doc: Doc, { definition, kind, path }: Conflict, value: unknown): string {
  if (kind === 'edge' && (path[0] === 'source' || path[0] === 'target')) {
    const end = indexOf(graphOf(doc, definition)).nodes.get(String(value));
    return end ? nodeName(end) : String(value);
  }
  const point = value as { x?: unknown; y?: unknown } | null;
  const isPoint = path[0] === 'position' && typeof point?.x === 'number' && typeof point.y === 'number';
  return isPoint ? `${Math.round(point.x as number)}, ${Math.round(point.y as number)}` : valueText(value);
}
