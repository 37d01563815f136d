import { execFileSync } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './server';

/** Between choosing a free port and listening there, another program may take it. */
const STARTS_MAX = 3;
const DEBIAN = '/usr/lib/postgresql';

/** Where PostgreSQL's programs are: Debian keeps those of the server outside the path. */
function folder(): string {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort((a, b) => Number(a) - Number(b)) : [];
  const newest = versions.at(-1);
  return newest === undefined ? '' : join(DEBIAN, newest, 'bin');
}

/** Runs a program of PostgreSQL, which refuses to be root's. */
function run(name: string, options: readonly string[]): void {
  const program = join(folder(), name);
  const isRoot = process.getuid?.() === 0;
  const [command, given] = isRoot
    ? ['runuser', ['-u', 'postgres', '--', program, ...options]]
    : [program, options];
  // The server inherits what it is given: a pipe would stay open for as long as it lives.
  execFileSync(command, given, { stdio: 'ignore', cwd: '/' });
}

const idOf = (option: '-u' | '-g') => Number(execFileSync('id', [option, 'postgres'], { encoding: 'utf8' }));

/** A private PostgreSQL server: a cluster in a temporary directory, on a free port of loopback. */
export class Postgres {
  private constructor(
    private readonly data: string,
    readonly url: string,
  ) {}

  static async start(): Promise<Postgres> {
    const data = mkdtempSync(join(tmpdir(), 'heddle-e2e-postgres-'));
    if (process.getuid?.() === 0) chownSync(data, idOf('-u'), idOf('-g'));
    run('initdb', ['-D', data, '-A', 'trust', '-U', 'heddle', '--no-sync']);
    for (let start = 1; ; start += 1) {
      const port = await freePort();
      const options = `-c listen_addresses=127.0.0.1 -p ${port} -c unix_socket_directories='' -c fsync=off`;
      try {
        run('pg_ctl', ['-D', data, '-w', '-o', options, '-l', join(data, 'log'), 'start']);
        return new Postgres(data, `postgres://heddle@127.0.0.1:${port}/postgres`);
      } catch (error) {
        if (start === STARTS_MAX) throw error;
      }
    }
  }

  stop(): void {
    run('pg_ctl', ['-D', this.data, '-m', 'immediate', 'stop']);
    rmSync(this.data, { recursive: true, force: true });
  }
}
