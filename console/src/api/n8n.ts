/** Workflows of n8n, as patterns. */

import { answer, api, type Schemas } from './client';

type Translated = Pick<Schemas['N8nPattern'], 'graphData' | 'nodeDefinitions' | 'report'>;

/** A workflow's pattern, which is not stored; what differs is in the notes of its nodes. */
export async function translateN8n(workflow: object): Promise<Translated> {
  const workflows = [workflow as Record<string, unknown>];
  const { patterns } = await answer(
    api.POST('/api/patterns/import/n8n', { body: { workflows, dryRun: true } }),
  );
  const [pattern] = patterns;
  if (!pattern) throw new Error('There is no workflow of n8n in the clipboard.');
  return noted(pattern);
}

interface Node {
  readonly id: string;
  readonly data?: { readonly notes?: string };
}

/** The same with what the report says of each node in its notes. */
export function noted(pattern: Translated): Translated {
  const { graphData, report } = pattern;
  const remarks = new Map<string, string[]>();
  for (const { nodeId, message } of report.items) {
    if (nodeId) remarks.set(nodeId, [...(remarks.get(nodeId) ?? []), message]);
  }
  const nodes = ((graphData?.['nodes'] ?? []) as Node[]).map((node) => {
    const own = node.data?.notes ? [node.data.notes] : [];
    const notes = [...own, ...(remarks.get(node.id) ?? [])].join('\n');
    return notes ? { ...node, data: { ...node.data, notes } } : node;
  });
  return { ...pattern, graphData: { ...graphData, nodes } };
}

/** What people are told when a workflow has become a pattern. */
export function howWell({ nodes, exact, approximate, stub }: Schemas['N8nSummary']): string {
  const parts = [
    exact && `${exact} as in n8n`,
    approximate && `${approximate} with differences`,
    stub && `${stub} to be replaced`,
  ].filter(Boolean);
  return `${nodes} node${nodes === 1 ? '' : 's'} from n8n: ${parts.join(', ')}. Their notes say more.`;
}
