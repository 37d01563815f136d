import { readFileSync, statSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { sourcesHash } from '../../tools/sources.js';

const root = new URL('../..', import.meta.url).pathname;
const artifact = (name: string) => `${root}artifact/${name}`;

interface Chunk {
  source?: string;
  imports: string[];
  isEntry: boolean;
}
const chunks = JSON.parse(readFileSync(artifact('chunks.json'), 'utf8')) as Record<string, Chunk>;

/** Bytes of compressed JavaScript that these chunks need, themselves included, without what is there already. */
function needed(
  names: string[],
  there: ReadonlySet<string> = new Set(),
): { bytes: number; all: Set<string> } {
  const all = new Set<string>();
  const ahead = [...names];
  for (let name = ahead.pop(); name !== undefined; name = ahead.pop()) {
    if (all.has(name) || there.has(name)) continue;
    all.add(name);
    ahead.push(...(chunks[name]?.imports ?? []));
  }
  return { bytes: [...all].reduce((sum, name) => sum + statSync(artifact(`${name}.gz`)).size, 0), all };
}

const entry = Object.entries(chunks).filter(([, chunk]) => chunk.isEntry);
const of = (source: string): string[] =>
  Object.entries(chunks)
    .filter(([, chunk]) => chunk.source === source)
    .map(([name]) => name);

const KB = 1024;
const LISTS = ['patterns/Patterns', 'runs/Runs', 'deployments/Deployments', 'home/Home'].map(
  (name) => `src/screens/${name}.svelte`,
);
const first = needed(entry.map(([name]) => name));

describe('the artifact', () => {
  it('is built from these sources: run console/build.sh', () => {
    expect(readFileSync(artifact('SOURCES.sha256'), 'utf8').trim()).toBe(sourcesHash(root));
  });
  it.each(LISTS)('sends at most 90 KB of JavaScript for %s', (source) => {
    const names = of(source);
    expect(names).toHaveLength(1);
    expect(needed([...entry.map(([name]) => name), ...names]).bytes).toBeLessThanOrEqual(90 * KB);
  });
  it('sends at most 260 KB of JavaScript for the editor, without code fields', () => {
    const names = of('src/screens/editor/Editor.svelte');
    expect(names).toHaveLength(1);
    expect(needed([...entry.map(([name]) => name), ...names]).bytes).toBeLessThanOrEqual(260 * KB);
  });
  it('loads code fields only when there is one, 424 KB with the editor', () => {
    const code = of('src/parts/code.ts');
    expect(code).toHaveLength(1);
    expect(first.all.has(code[0]!)).toBe(false);
    const editor = of('src/screens/editor/Editor.svelte');
    expect(needed([...entry.map(([name]) => name), ...editor, ...code]).bytes).toBeLessThanOrEqual(424 * KB);
  });
  it('has every file in the table for the server', () => {
    const table = readFileSync(artifact('assets.rs'), 'utf8');
    for (const name of Object.keys(chunks)) expect(table).toContain(`include_bytes!("${name}.gz")`);
    expect(table).toContain('name: "index.html"');
  });
});
