/** The validator's findings by node, as the problems list shows them. Pure. */

import { graphOf, indexOf, nodeName, type DefinitionName, type Doc } from '../graph/model';
import type { Diagnostic } from './api';

export interface ProblemGroup {
  key: string;
  definition: DefinitionName;
  nodeId: string | undefined;
  name: string;
  type: string | undefined;
  problems: readonly Diagnostic[];
}

/** Nodes with errors first; within them errors first. */
export function problemGroups(doc: Doc, diagnostics: readonly Diagnostic[]): ProblemGroup[] {
  const groups = new Map<string, Diagnostic[]>();
  for (const found of diagnostics) {
    const key = JSON.stringify([found.definition ?? null, found.nodeId ?? null]);
    const list = groups.get(key) ?? [];
    list.push(found);
    groups.set(key, list);
  }
  const bySeverity = (a: Diagnostic, b: Diagnostic) => rank(a) - rank(b);
  return [...groups]
    .map(([key, problems]): ProblemGroup => {
      const definition = problems[0]?.definition ?? null;
      const nodeId = problems[0]?.nodeId ?? undefined;
      const node = nodeId === undefined ? undefined : indexOf(graphOf(doc, definition)).nodes.get(nodeId);
      const own = node ? nodeName(node) : (nodeId ?? definition ?? 'The graph');
      return {
        key,
        definition,
        nodeId,
        name: definition !== null && nodeId !== undefined ? `${definition} › ${own}` : own,
        type: node?.type,
        problems: problems.toSorted(bySeverity),
      };
    })
    .toSorted((a, b) => Math.min(...a.problems.map(rank)) - Math.min(...b.problems.map(rank)));
}

/** The parameter, where the message does not name it itself. With it, messages such as `must be a number` are sentences; before others stands a colon. */
export function leadOf({ parameter, message }: Pick<Diagnostic, 'parameter' | 'message'>): string {
  if (!parameter || message.startsWith(`\`${parameter}\``)) return '';
  return /^(must|may|can|has|is|are)\b/.test(message) ? parameter : `${parameter}:`;
}

function rank({ severity }: Diagnostic): number {
  return severity === 'error' ? 0 : 1;
}

/** `2 errors, 1 warning`; empty if there are none. */
export function countText(diagnostics: readonly Diagnostic[]): string {
  const errors = diagnostics.filter((it) => it.severity === 'error').length;
  const warnings = diagnostics.length - errors;
  const count = (number: number, word: string) =>
    number === 0 ? '' : `${number} ${word}${number === 1 ? '' : 's'}`;
  return [count(errors, 'error'), count(warnings, 'warning')].filter(Boolean).join(', ');
}
