import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const START_MS = 60_000;

/** A real server with a data directory of its own. */
export class Server {
  private constructor(
    private readonly child: ChildProcess,
    private readonly folder: string,
    readonly url: string,
  ) {}

  /** With these settings, as arguments and, where they are secret, variables. */
  static async start(
    settings: readonly string[] = ['--listen', '127.0.0.1:0'],
    secrets: Readonly<Record<string, string>> = {},
  ): Promise<Server> {
    const program = process.env['HEDDLE_BIN'];
    if (!program) throw new Error('HEDDLE_BIN must name the heddle program to test.');
    const folder = mkdtempSync(join(tmpdir(), 'heddle-e2e-'));
    const child = spawn(program, ['serve', '--data-dir', join(folder, 'data'), ...settings], {
      cwd: folder,
      // The server refuses settings that it does not know, such as HEDDLE_BIN.
      env: {
        ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('HEDDLE_'))),
        ...secrets,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return new Server(child, folder, await address(child));
  }

  async stop(): Promise<void> {
    const ended = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    await ended;
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** The settings of a server on a PostgreSQL database. Servers on one share these keys; on SQLite, a server makes its own. */
export const onPostgres = (database: string): Record<string, string> => ({
  HEDDLE_DATABASE_URL: database,
  HEDDLE_MASTER_KEY: randomBytes(32).toString('base64'),
  HEDDLE_JWT_SECRET: randomBytes(32).toString('base64'),
});

/** Below those that systems give to connections and to whoever asks for any port, which could take a free one before its server does. */
const PORTS = { from: 15_000, to: 30_000 };

/** A port that nobody has, for a server that must know its own address before it starts. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(PORTS.from, PORTS.to);
    const server = createServer();
    const isFree = new Promise<boolean>((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) => {
        if (error.code === 'EADDRINUSE') resolve(false);
        else reject(error);
      });
      server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
    });
    if (await isFree) return port;
  }
}

/** The address that the server prints once it listens. */
function address(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = '';
    const timer = setTimeout(() => reject(new Error(`The server did not start:\n${said}`)), START_MS);
    const read = (data: Buffer) => {
      said = (said + data.toString()).slice(-10_000);
      const found = /listening on (http:\/\/\S+)/.exec(said)?.[1];
      if (!found) return;
      clearTimeout(timer);
      resolve(found);
    };
    child.stdout?.on('data', read);
    child.stderr?.on('data', read);
    child.once('exit', (code) => reject(new Error(`The server ended with ${code}:\n${said}`)));
  });
}
