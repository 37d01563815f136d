// Makes a component of node.js: its path is the first argument.
import { componentize } from '@bytecodealliance/componentize-js';
import { writeFile } from 'node:fs/promises';

const { component } = await componentize({
  sourcePath: 'node.js',
  witPath: process.env.WIT ?? '../../../wit',
  worldName: 'node',
  // A node has none of these; without them the component imports nothing of WASI.
  disableFeatures: ['stdio', 'random', 'clocks', 'http', 'fetch-event'],
});
await writeFile(process.argv[2] ?? '../triage.wasm', component);
