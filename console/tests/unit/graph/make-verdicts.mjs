// Asks the compiler which edges it takes: `node make-verdicts.mjs /path/to/heddle`, in this folder; writes verdicts.json.
// Each graph is grown from nothing by the edges that the compiler takes; of every edge the answer is kept.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runnerImport } from 'vite';

const GRAPHS = 80;
/** What an edge alone can be blamed for. */
const CODES = new Set([
  'cycle',
  'edge-into-trigger',
  'unknown-port',
  'type-mismatch',
  'loop-entry',
  'loop-return',
  'duplicate-edge',
]);
const { module } = await runnerImport(new URL('./cases.ts', import.meta.url).pathname);
const folder = mkdtempSync(join(tmpdir(), 'verdicts-'));
const heddle = process.argv[2];

/** The codes of each graph's findings, all asked at once. */
function ask(graphs) {
  const files = graphs.map((graph, place) => {
    const file = join(folder, `${place}.json`);
    writeFileSync(file, JSON.stringify(graph));
    return file;
  });
  writeFileSync(join(folder, 'definitions.json'), JSON.stringify(module.DEFINITIONS));
  const options = ['validate', '--json', '--definitions', join(folder, 'definitions.json'), ...files];
  let text;
  try {
    text = execFileSync(heddle, options, { maxBuffer: 1 << 30, stdio: ['ignore', 'pipe', 'ignore'] });
  } catch (error) {
    text = error.stdout;
  }
  return JSON.parse(text).files.map(({ errors, warnings }) =>
    [...errors, ...warnings]
      .filter(({ code, severity }) => CODES.has(code) && (severity === 'error' || code === 'duplicate-edge'))
      .map(({ code }) => code),
  );
}

const states = Array.from({ length: GRAPHS }, (_, seed) => {
  const { graph, edges } = module.makeCase(seed + 1);
  return { nodes: graph.nodes, taken: [], asked: [...graph.edges, ...edges], answers: [] };
});
for (let round = 0; states.some(({ asked }) => round < asked.length); round += 1) {
  const open = states.filter(({ asked }) => round < asked.length);
  const codes = ask(open.map(({ nodes, taken, asked }) => ({ nodes, edges: [...taken, asked[round]] })));
  open.forEach((state, place) => {
    const code = codes[place].length ? [...new Set(codes[place])].sort().join(' ') : null;
    state.answers.push(code);
    if (code === null) state.taken.push(state.asked[round]);
  });
}
const lines = states.map(({ answers }, seed) => `  ${JSON.stringify({ seed: seed + 1, answers })}`);
writeFileSync(new URL('./verdicts.json', import.meta.url), `[\n${lines.join(',\n')}\n]\n`);
rmSync(folder, { recursive: true });
