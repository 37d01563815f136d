// n8n's engine and nodes, in a process: reads an array of {workflow, runs, others} as JSON, where a run is the items of the node
// "Start" and others are workflows that can be called, executes each run as n8n does, and prints for each what the node "End" gave
// in all, or why the execution failed. Most of what n8n's nodes depend
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

// What lasts while the runs of a case are executed: the workflows, the static data of each, and what nobody waits for.
const worldOf = (others = []) => ({ others, kept: new Map(), running: [] });

function workflowOf({ id, name, nodes, connections, settings }, { kept }) {
  const staticData = JSON.parse(kept.get(id) ?? '{}');
  return new Workflow({ id, name, nodes, connections, active: false, nodeTypes, settings, staticData });
}

// What n8n's server gives its engine, as far as it is needed: other workflows, and a place for the static data that it says to save.
function additional(world, { id }) {
  const save = (changed) => id && changed && world.kept.set(id, JSON.stringify(changed));
  return {
    variables: {},
    executionId: '1',
    webhookWaitingBaseUrl: '',
    formWaitingBaseUrl: '',
    hooks: {
      executeHookFunctions: async (name, [, second]) => {
        if (name === 'workflowExecuteAfter') save(second);
      },
    },
    executeWorkflow: (called, _, options) => call(called, options, world),
  };
}

// As the server does it: by the trigger for calls, with the items that are given, and what the last node gave is the result.
async function call({ id, code }, { inputData, doNotWaitToFinish }, world) {
  const drawn = code ?? world.others.find((other) => other.id === id);
  if (!drawn) throw new Error(`there is no workflow ${id}`);
  const workflow = workflowOf(drawn, world);
  const node = Object.values(workflow.nodes).find(({ type }) => type === `${PREFIX}executeWorkflowTrigger`);
  const started = {
    startData: {},
    resultData: { runData: {}, pinData: {} },
    executionData: {
      contextData: {},
      metadata: {},
      nodeExecutionStack: [{ node, data: { main: [inputData] }, source: null }],
      waitingExecution: {},
      waitingExecutionSource: {},
    },
  };
  const execution = new WorkflowExecute(additional(world, drawn), 'integrated', started);
  const running = execution.processRunExecutionData(workflow);
  if (doNotWaitToFinish) {
    world.running.push(running);
    return { executionId: '2', data: [null] };
  }
  const { error, runData, lastNodeExecuted } = (await running).data.resultData;
  if (error) throw error;
  return { executionId: '2', data: runData[lastNodeExecuted].at(-1).data.main };
}

async function execute(given, items, world) {
  const drawn = { ...given, id: given.id ?? '1' };
  const workflow = workflowOf(drawn, world);
  const pinned = { Start: items.map((json) => ({ json })) };
  const execution = new WorkflowExecute(additional(world, drawn), 'integrated');
  const { data } = await execution.run(workflow, workflow.getNode('Start'), undefined, pinned);
  const { error, runData } = data.resultData;
  if (error) return { failed: error.message };
  const left = (runData.End ?? []).flatMap((executed) => executed.data?.main?.[0] ?? []);
  return { items: left.map(({ json }) => json) };
}

// The runs of a workflow, one after the other.
async function executeAll({ workflow, runs, others }) {
  const world = worldOf(others);
  const answers = [];
  for (const items of runs) {
    answers.push(await execute(workflow, items, world).catch((error) => ({ failed: error.message })));
  }
  await Promise.allSettled(world.running);
  return answers;
}

const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const answers = [];
for (const one of JSON.parse(Buffer.concat(chunks).toString())) answers.push(await executeAll(one));
// n8n has timers that outlive its work.
answer(JSON.stringify(answers), () => process.exit(0));
