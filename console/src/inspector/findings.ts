/** The validator's findings, at the fields that they are about. */

import type { Diagnostic, Evaluated, Span } from './api';
import { isWithin } from './fields';

/** What is about one node; findings without a parameter are about the node as a whole. */
export function ofNode<T extends Diagnostic | Evaluated>(
  found: readonly T[],
  definition: string | null,
  nodeId: string,
): readonly T[] {
  return found.filter((it) => it.nodeId === nodeId && (it.definition ?? null) === definition);
}

/** Findings about the value at a path and nothing inside of it. */
export function exactly(diagnostics: readonly Diagnostic[], path: string): readonly Diagnostic[] {
  return diagnostics.filter((it) => it.parameter === path);
}

/** How many findings are about a value or something inside of it. */
export function within(diagnostics: readonly Diagnostic[], path: string): readonly Diagnostic[] {
  return diagnostics.filter((it) => it.parameter !== undefined && isWithin(it.parameter, path));
}

/** How the expressions of a text are evaluated together: by the engine if one of them is. */
export function routeOf(
  expressions: readonly Evaluated[],
  path: string,
): { route: 'compiled' | 'engine'; reasons: readonly string[] } | undefined {
  const found = expressions.filter((it) => it.parameter === path);
  if (found.length === 0) return undefined;
  const reasons = [...new Set(found.flatMap((it) => it.reasons.map((reason) => reason.what)))];
  return { route: found.some((it) => it.evaluation === 'engine') ? 'engine' : 'compiled', reasons };
}

export interface Fix {
  label: string;
  /** What takes the place of the span. */
  text: string;
  span: Span;
}

/** The quick fix that a finding's help offers: `did you mean …?` of a name that the span covers. */
export function fixOf(text: string, finding: Pick<Diagnostic, 'help' | 'span'>): Fix | undefined {
  const meant = /did you mean `([^`]+)`/.exec(finding.help ?? '')?.[1];
  if (!meant || !finding.span) return undefined;
  const span = clamp(finding.span, text.length);
  const written = text.slice(span.start, span.end);
  const place = nameWithin(written, meant);
  if (!place) return undefined;
  const [start, end] = [span.start + place.from, span.start + place.to];
  return { label: `Change to ${meant}`, text: place.text, span: { start, end } };
}

/** A span that lies in a text of this length and is not empty where it can be helped. */
export function clamp(span: Span, length: number): Span {
  const start = Math.max(0, Math.min(span.start, length));
  return { start, end: Math.max(start, Math.min(span.end, length)) };
}

/** Where in the piece of text the mistyped name stands: all of it, a label in quotes, or the last name of a chain. */
function nameWithin(written: string, meant: string): { from: number; to: number; text: string } | undefined {
  const isName = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;
  if (isName.test(written)) return { from: 0, to: written.length, text: meant };
  const quoted = [...written.matchAll(/(["'])((?:\\.|(?!\1)[^\\])*)\1/g)].at(-1);
  if (quoted) {
    const text = quoted[1] === "'" ? `'${meant.replaceAll("'", "\\'")}'` : JSON.stringify(meant);
    return { from: quoted.index, to: quoted.index + quoted[0].length, text };
  }
  if (!isName.test(meant)) return undefined;
  const names = [...written.matchAll(/[\p{ID_Start}$_][\p{ID_Continue}$]*/gu)];
  const last = written.endsWith(')')
    ? /([\p{ID_Start}$_][\p{ID_Continue}$]*)\s*\(/u.exec(written)
    : names.at(-1);
  const name = last?.[1] ?? last?.[0];
  if (!last || name === undefined) return undefined;
  return { from: last.index, to: last.index + name.length, text: meant };
}
