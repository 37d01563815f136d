/**
 * The hash of all that artifact/ is built from. A test, and one in Rust without Node, compare it. openapi.json is not part of
 * it: only types are made of it, which leave nothing in what is built.
 */

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const INPUTS = [
  '../examples',
  'build.sh',
  'index.html',
  'package-lock.json',
  'package.json',
  'src',
  'svelte.config.js',
  'tools',
  'tsconfig.json',
  'vite.config.ts',
];
const isInput = (path) =>
  // Of the examples, what patterns begin with.
  (!path.startsWith('../examples/') || /\/(pattern|event)\.json$/.test(path)) &&
  path !== 'src/api/schema.d.ts' &&
  !path.endsWith('.test.ts') &&
  !path.endsWith('.md');

function filesBelow(root, path) {
  if (!statSync(join(root, path)).isDirectory()) return [path];
  return readdirSync(join(root, path)).flatMap((name) => filesBelow(root, `${path}/${name}`));
}

/** SHA-256 of the lines `HASH  PATH`, sorted by path, of all inputs. */
export function sourcesHash(root) {
  const paths = INPUTS.flatMap((path) => filesBelow(root, path)).filter(isInput);
  paths.sort((a, b) => (a < b ? -1 : 1));
  const sha256 = (data) => createHash('sha256').update(data).digest('hex');
  return sha256(paths.map((path) => `${sha256(readFileSync(join(root, path)))}  ${path}\n`).join(''));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) console.log(sourcesHash('.'));
