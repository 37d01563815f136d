// n8n's engine and nodes, in a process: reads an array of [workflow, items of the node "Start"] as JSON, executes each as n8n
// does, and prints for each what the node "End" gave in all, or why the execution failed. Most of what n8n's nodes depend
// on is for services that no case has: package.json puts a small package in its place.

import { mkdtempSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// What n8n and its nodes have to say is not the answer.
const answer = process.stdout.write.bind(process.stdout);
process.stdout.write = process.stderr.write.bind(process.stderr);

// n8n looks for its settings in a home directory.
process.env.N8N_USER_FOLDER = mkdtempSync(join(tmpdir(), 'n8n-'));
process.env.N8N_RUNNERS_ENABLED = 'false';

const require = createRequire(import.meta.url);
require('reflect-metadata');
const { ExpressionEvaluatorProxy, NodeHelpers, Workflow } = require('n8n-workflow');
// As n8n's own settings have it.
ExpressionEvaluatorProxy.setEvaluator('tournament');
const { WorkflowExecute } = require('n8n-core');

const PREFIX = 'n8n-nodes-base.';
const files = require('n8n-nodes-base/package.json').n8n.nodes.map((path) => {
  const name = path.split('/').at(-1).replace('.node.js', '');
  return [name[0].toLowerCase() + name.slice(1), { path, name }];
});
const known = new Map(files);
const loaded = new Map();

function load(type) {
  const file = known.get(type.replace(PREFIX, ''));
  if (!file) throw new Error(`n8n has no node ${type}`);
  const { [file.name]: Node } = require(`n8n-nodes-base/${file.path}`);
  return new Node();
}

function nodeType(type) {
  if (!loaded.has(type)) loaded.set(type, load(type));
  return loaded.get(type);
}

const nodeTypes = {
  getByName: nodeType,
  getByNameAndVersion: (type, version) => NodeHelpers.getVersionedNodeType(nodeType(type), version),
  getKnownTypes: () => ({}),
};

async function execute([drawn, items]) {
  const { name, nodes, connections, settings } = drawn;
  const workflow = new Workflow({ id: '1', name, nodes, connections, active: false, nodeTypes, settings, staticData: {} });
  const additionalData = { variables: {}, executionId: '1', webhookWaitingBaseUrl: '', formWaitingBaseUrl: '' };
  const pinned = { Start: items.map((json) => ({ json })) };
  const execution = new WorkflowExecute(additionalData, 'integrated');
  const { data } = await execution.run(workflow, workflow.getNode('Start'), undefined, pinned);
  const { error, runData } = data.resultData;
  if (error) return { failed: error.message };
  const left = (runData.End ?? []).flatMap((executed) => executed.data?.main?.[0] ?? []);
  return { items: left.map(({ json }) => json) };
}

const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const answers = [];
for (const one of JSON.parse(Buffer.concat(chunks).toString())) {
  answers.push(await execute(one).catch((error) => ({ failed: error.message })));
}
// n8n has timers that outlive its work.
answer(JSON.stringify(answers), () => process.exit(0));
