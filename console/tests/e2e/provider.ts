import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import {
  createServer,
  type IncomingMessage,
  type Server as HttpServer,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a code was given for. */
interface Grant {
  challenge: string;
  nonce: string;
  redirectUri: string;
}

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A login provider with OpenID Connect, whose only person allows or denies by a button. */
export class Provider {
  readonly #grants = new Map<string, Grant>();
  readonly #keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });

  private constructor(private readonly server: HttpServer) {}

  static async start(): Promise<Provider> {
    const server = createServer();
    const provider = new Provider(server);
    server.on('request', (request, reply) => void provider.#answer(request, reply));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return provider;
  }

  get address(): string {
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  get issuer(): string {
    return `http://${this.address}`;
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  async #answer(request: IncomingMessage, reply: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.issuer);
    const json = (body: object, status = 200) => {
      reply.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    if (url.pathname === '/.well-known/openid-configuration') {
      const at = (path: string) => this.issuer + path;
      return json({
        issuer: this.issuer,
        authorization_endpoint: at('/authorize'),
        token_endpoint: at('/token'),
        jwks_uri: at('/keys'),
      });
    }
    if (url.pathname === '/keys') {
      const key = this.#keys.publicKey.export({ format: 'jwk' });
      return json({ keys: [{ ...key, kid: 'first', use: 'sig', alg: 'ES256' }] });
    }
    if (url.pathname === '/authorize') return this.#ask(url, reply);
    if (url.pathname === '/token') {
      let body = '';
      for await (const chunk of request) body += String(chunk);
      const form = new URLSearchParams(body);
      const grant = this.#grants.get(form.get('code') ?? '');
      this.#grants.delete(form.get('code') ?? '');
      const challenge = createHash('sha256')
        .update(form.get('code_verifier') ?? '')
        .digest('base64url');
      if (!grant || grant.challenge !== challenge || grant.redirectUri !== form.get('redirect_uri'))
        return json({ error: 'invalid_grant' }, 400);
      return json({ access_token: 'x', token_type: 'Bearer', id_token: this.#idToken(grant) });
    }
    reply.writeHead(404).end();
  }

  /** A page with both answers. */
  #ask(url: URL, reply: ServerResponse): void {
    const asked = url.searchParams;
    const code = randomUUID();
    const redirectUri = asked.get('redirect_uri') ?? '';
    this.#grants.set(code, {
      challenge: asked.get('code_challenge') ?? '',
      nonce: asked.get('nonce') ?? '',
      redirectUri,
    });
    const link = (answer: Record<string, string>) =>
      `${redirectUri}?${new URLSearchParams({ ...answer, state: asked.get('state') ?? '' }).toString()}`;
    const page = `<!doctype html><title>Provider</title>
      <a href="${link({ code }).replaceAll('&', '&amp;')}">Allow</a>
      <a href="${link({ error: 'access_denied' }).replaceAll('&', '&amp;')}">Deny</a>`;
    reply.writeHead(200, { 'content-type': 'text/html' }).end(page);
  }

  #idToken({ nonce }: Grant): string {
    const claims = {
      iss: this.issuer,
      aud: 'heddle',
      sub: 'grace',
      exp: Math.floor(Date.now() / 1000) + 600,
      nonce,
      email: 'grace@example.com',
      email_verified: true,
      name: 'Grace Hopper',
    };
    const input = `${part({ alg: 'ES256', kid: 'first' })}.${part(claims)}`;
    const key = { key: this.#keys.privateKey, dsaEncoding: 'ieee-p1363' as const };
    return `${input}.${sign('sha256', Buffer.from(input), key).toString('base64url')}`;
  }
}
