/** Workflows of n8n, as patterns. */

import { answer, api, type Schemas } from './client';

/** A workflow's pattern, which is not stored. */
export async function translateN8n(workflow: object): Promise<Schemas['N8nPattern']> {
  const workflows = [workflow as Record<string, unknown>];
  const { patterns } = await answer(
    api.POST('/api/patterns/import/n8n', { body: { workflows, dryRun: true } }),
  );
  const [pattern] = patterns;
  if (!pattern) throw new Error('There is no workflow of n8n in the clipboard.');
  return pattern;
}

/** What people are told when a workflow has become a pattern. */
export function howWell({ nodes, exact, approximate, stub }: Schemas['N8nSummary']): string {
  const parts = [
    exact && `${exact} as in n8n`,
    approximate && `${approximate} with differences`,
    stub && `${stub} to be replaced`,
  ].filter(Boolean);
  return `${nodes} node${nodes === 1 ? '' : 's'} from n8n: ${parts.join(', ')}. Notes on the nodes say more.`;
}
