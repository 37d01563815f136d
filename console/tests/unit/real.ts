/** The program of HEDDLE_BIN, for tests that hold the console against the compiler and catalogue of the day. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NodeType } from '../../src/graph/catalogue';
import type { Definition, Graph } from '../../src/graph/model';

/** tests/console/run always names one; without it, these tests are left out. */
export const program = process.env['HEDDLE_BIN'] ?? '';
if (process.env['CI'] && !program)
  throw new Error('HEDDLE_BIN must name the heddle program to test against.');

/** What `heddle` prints, whatever its status. */
function printed(options: readonly string[]): string {
  try {
    return execFileSync(program, options, {
      encoding: 'utf8',
      maxBuffer: 1 << 28,
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { PATH: process.env['PATH'] },
    });
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}

export const nodeTypes = (): NodeType[] => JSON.parse(printed(['nodes', '--json'])) as NodeType[];

interface Finding {
  readonly code: string;
  readonly severity: string;
}

/** The compiler's findings for each of these graphs. */
export function findings(
  graphs: readonly Graph[],
  definitions: Readonly<Record<string, Definition>>,
): Finding[][] {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-graphs-'));
  try {
    const files = graphs.map((graph, place) => {
      const file = join(folder, `${place}.json`);
      writeFileSync(file, JSON.stringify(graph));
      return file;
    });
    writeFileSync(join(folder, 'definitions.json'), JSON.stringify(definitions));
    const options = ['validate', '--json', '--definitions', join(folder, 'definitions.json'), ...files];
    const answer = JSON.parse(printed(options)) as { files: { errors: Finding[]; warnings: Finding[] }[] };
    return answer.files.map(({ errors, warnings }) => [...errors, ...warnings]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
