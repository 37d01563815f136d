/** The examples of this repository, to begin a pattern with. Heavy: only ever imported with `import()`. */

type Node = { type: string; data?: Record<string, unknown> };
interface File {
  nodes: Node[];
  edges: object[];
  nodeDefinitions?: object;
}

const PATTERNS = import.meta.glob<File>('../../../../examples/*/pattern.json', {
  eager: true,
  import: 'default',
});
const EVENTS = import.meta.glob<unknown>('../../../../examples/*/event.json', {
  eager: true,
  import: 'default',
});

/** By folder: what people call it, and what it does. The others are parts of the documentation. */
const NAMES: Readonly<Record<string, readonly [name: string, text: string]>> = {
  'order-routing': ['Order routing', 'A shop’s order goes to the warehouse for its country.'],
  'stripe-payments': ['Stripe payments', 'Tells a shop about payments and refunds.'],
  'slack-mention': ['Slack bot', 'Answers whoever mentions it in Slack.'],
  'github-issue-triage': ['GitHub issue triage', 'New issues are sorted, assigned and answered.'],
  'support-agent': ['Support agent', 'A language model answers customers, with a tool.'],
  'leave-approval': ['Leave approval', 'A person is asked by email, and the run waits.'],
  'expense-approval': ['Expense approval', 'Rules decide who approves a claim.'],
  'daily-report': ['Daily report', 'A report every morning.'],
  'nightly-sync': ['Nightly sync', 'Compares two systems and brings one into line with the other.'],
  'csv-import': ['CSV import', 'A file is read, cleaned and added up.'],
  'invoice-totals': ['Invoice totals', 'A loop within a loop.'],
  'fan-out-join': ['Fan out and join', 'Two services are asked at once.'],
  'flaky-api': ['Flaky API', 'Retries, and a fallback.'],
  'paged-download': ['Paged download', 'A list that comes in pages.'],
  'signed-webhook': ['Signed webhook', 'A signature of the sender’s own.'],
};

export interface Example {
  id: string;
  name: string;
  text: string;
  graphData: object;
  nodeDefinitions: object;
}

const folderOf = (path: string): string => path.split('/').at(-2) ?? '';
const events = new Map(Object.entries(EVENTS).map(([path, event]) => [folderOf(path), event]));

/** A graph whose trigger carries the example's event: with it, a test begins. */
function withEvent(nodes: readonly Node[], event: unknown): Node[] {
  const first = nodes.findIndex(({ type }) => type.startsWith('On'));
  return nodes.map((node, at) =>
    at === first && event !== undefined ? { ...node, data: { ...node.data, exampleEvent: event } } : node,
  );
}

/** In the order of their names above. */
export const EXAMPLES: readonly Example[] = Object.entries(NAMES).flatMap(([id, [name, text]]) => {
  const file = Object.entries(PATTERNS).find(([path]) => folderOf(path) === id)?.[1];
  if (!file) return [];
  const { nodes, nodeDefinitions = {}, ...graph } = file;
  return [
    { id, name, text, nodeDefinitions, graphData: { ...graph, nodes: withEvent(nodes, events.get(id)) } },
  ];
});
