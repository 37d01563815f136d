/** Serves the page of the measurements under the console's policy. */
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, normalize } from 'node:path';

/** What the server sends with the console, and what the canvas must live with. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "style-src-attr 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types svelte-trusted-html heddle-worker',
].join('; ');

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
  '.woff2': 'font/woff2',
};

export interface Served {
  readonly url: string;
  close(): void;
}

/** Serves files of these folders, the first that has one; `catalogue.json` is given. */
export async function serve(folders: readonly string[], catalogue: string): Promise<Served> {
  const server: Server = createServer((request, response) => {
    void (async () => {
      const path = normalize(new URL(request.url ?? '/', 'http://localhost').pathname);
      const file = path === '/' ? '/index.html' : path;
      const headers = {
        'content-type': TYPES[extname(file)] ?? 'text/plain',
        'content-security-policy': POLICY,
      };
      if (file === '/favicon.ico') return response.writeHead(204).end();
      if (file === '/catalogue.json') return response.writeHead(200, headers).end(catalogue);
      for (const folder of folders) {
        const body = await readFile(join(folder, file)).catch(() => undefined);
        if (body) return response.writeHead(200, headers).end(body);
      }
      return response.writeHead(404).end();
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() };
}
