/** Writes the artifact from Vite's dist/: compressed files, their table for Rust, and the licences of what is in them. */

import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { sourcesHash } from './sources.js';

const TYPES = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};
const LICENCE_FILE = /^(licen[cs]e|copying|ofl)/i;

const out = process.argv[2] ?? 'artifact';
const built = [
  'dist/index.html',
  ...readdirSync('dist/assets')
    .sort()
    .map((name) => `dist/assets/${name}`),
];

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });

const rows = built.map((path) => {
  const name = basename(path);
  const type = TYPES[extname(name)];
  if (!type) throw new Error(`${path}: no media type is known for it: add it to tools/pack.js`);
  // gzip(1), whose bytes don't depend on the version of Node.
  writeFileSync(
    join(out, `${name}.gz`),
    execFileSync('gzip', ['-9', '-n', '-c', path], { maxBuffer: 1 << 26 }),
  );
  return `    Asset { name: "${name}", content_type: "${type}", gzip: include_bytes!("${name}.gz") },\n`;
});
writeFileSync(join(out, 'assets.rs'), `&[\n${rows.join('')}]\n`);

function licence(name) {
  const folder = join('node_modules', name);
  const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const file = readdirSync(folder).find((each) => LICENCE_FILE.test(each));
  const text = file ? readFileSync(join(folder, file), 'utf8').trim() : `License: ${license}`;
  return `${name} ${version} (${license})\n\n${text}\n`;
}
const packages = JSON.parse(readFileSync('dist/.vite/packages.json', 'utf8'));
writeFileSync(join(out, 'LICENSES.txt'), packages.map(licence).join(`\n${'-'.repeat(80)}\n\n`));

// Which chunk needs which: a test holds the sizes of first loads against their limits.
const manifest = JSON.parse(readFileSync('dist/.vite/manifest.json', 'utf8'));
const named = (keys = []) => keys.map((key) => basename(manifest[key].file));
const chunks = Object.fromEntries(
  Object.values(manifest)
    .filter((chunk) => chunk.file.endsWith('.js'))
    .map((chunk) => [
      basename(chunk.file),
      {
        ...(chunk.src && { source: chunk.src }),
        imports: named(chunk.imports),
        isEntry: chunk.isEntry ?? false,
      },
    ])
    .sort(([a], [b]) => (a < b ? -1 : 1)),
);
writeFileSync(join(out, 'chunks.json'), `${JSON.stringify(chunks, null, 1)}\n`);

if (out === 'artifact') writeFileSync(join(out, 'SOURCES.sha256'), `${sourcesHash('.')}\n`);
