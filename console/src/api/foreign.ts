/** Workflows of n8n and flows of Node-RED, as patterns. */

import { answer, api, type Schemas } from './client';

export type Imported = Schemas['N8nPattern'];

/** Where workflows come from. */
export type System = 'n8n' | 'Node-RED';

/** Workflows of n8n; of Node-RED the nodes of all flows. */
export interface Foreign {
  readonly system: System;
  readonly parts: readonly object[];
}

/** As many as are taken at once. */
const WORKFLOWS_MAX = 50;

type Translated = Pick<Schemas['N8nPattern'], 'graphData' | 'nodeDefinitions' | 'report'>;

/** The pattern of what is in the clipboard, which is not stored; what differs is in the notes of its nodes. */
export async function translated(copied: Foreign): Promise<Translated> {
  const [pattern, ...others] = await imported(copied, { dryRun: true, fragment: true });
  if (!pattern) throw new Error(`The clipboard has nothing from ${copied.system} in it.`);
  if (others.length > 0) {
    const what = copied.system === 'n8n' ? 'workflows' : 'flows';
    throw new Error(`These are ${others.length + 1} ${what}: import their file on the page of patterns.`);
  }
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
export const howWell = (summary: Schemas['N8nSummary'], system: System): string =>
  `${nodeCounts(summary, system)}. Their notes say more.`;

/** For example `5 nodes from n8n: 4 as in n8n, 1 to be replaced`. */
export function nodeCounts(summary: Schemas['N8nSummary'], system: System): string {
  const { nodes, exact, approximate, stub } = summary;
  const parts = [
    exact && `${exact} as in ${system}`,
    approximate && `${approximate} with differences`,
    stub && `${stub} to be replaced`,
  ].filter(Boolean);
  return `${nodes} node${nodes === 1 ? '' : 's'} from ${system}: ${parts.join(', ')}`;
}

interface How {
  /** Whether nothing is made. */
  readonly dryRun: boolean;
  /** Whether they are parts of workflows, as n8n's editor copies them. */
  readonly fragment: boolean;
}

/** Workflows as patterns, with what differs: as they would be, or made. */
async function imported({ system, parts }: Foreign, { dryRun, fragment }: How): Promise<readonly Imported[]> {
  const given = parts as Record<string, unknown>[];
  if (system === 'Node-RED') {
    const body = { flows: given, dryRun };
    return (await answer(api.POST('/api/patterns/import/node-red', { body }))).patterns;
  }
  if (given.length > WORKFLOWS_MAX)
    throw new Error(`These are ${given.length} workflows: choose at most ${WORKFLOWS_MAX} at a time.`);
  const body = { workflows: given, dryRun, fragment };
  return (await answer(api.POST('/api/patterns/import/n8n', { body }))).patterns;
}

/** What would become of workflows; nothing is made. */
export const reviewed = (given: Foreign): Promise<readonly Imported[]> =>
  imported(given, { dryRun: true, fragment: false });

/** Makes a pattern of each workflow; those that call each other find each other. */
export const made = (given: Foreign): Promise<readonly Imported[]> =>
  imported(given, { dryRun: false, fragment: false });

/** What is said of one node, or of the workflow as a whole. */
export interface Remarks {
  readonly id: string;
  readonly label: string;
  /** Of Node-RED's nodes it is not told. */
  readonly n8nType: string;
  readonly level: string;
  readonly items: readonly Schemas['N8nItem'][];
}

const LEVELS = ['stub', 'approximate', 'exact'];

/** The report node by node: what has to be replaced first, then what differs. */
export function remarksOf({ graphData, report }: Pick<Imported, 'graphData' | 'report'>): readonly Remarks[] {
  const nodes = (graphData?.['nodes'] ?? []) as { id: string; data?: { label?: string } }[];
  const labels = new Map(nodes.map(({ id, data }) => [id, data?.label ?? id]));
  const byNode = new Map<string, Schemas['N8nItem'][]>();
  for (const item of report.items) {
    const id = item.nodeId ?? '';
    byNode.set(id, [...(byNode.get(id) ?? []), item]);
  }
  const rank = (level: string): number => LEVELS.indexOf(level);
  return Array.from(byNode, ([id, items]) => ({
    id,
    label: id ? (labels.get(id) ?? id) : 'The workflow',
    n8nType: items.find((item) => item.n8nType)?.n8nType ?? '',
    level: items.map((item) => item.level).sort((a, b) => rank(a) - rank(b))[0] ?? '',
    items,
  })).sort((a, b) => rank(a.level) - rank(b.level));
}

/** The numbers of all workflows together. */
export function inAll(patterns: readonly Imported[]): Schemas['N8nSummary'] {
  const sum = { nodes: 0, exact: 0, approximate: 0, stub: 0, repaired: 0 };
  for (const { report } of patterns)
    for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += report.summary[name];
  return sum;
}
