// An OpenID Connect provider for the tests: oidc-provider, with people who log in without a page, by `login_hint`.
// Prints its port. Arguments: the client's id, its secret and its redirect URI.
import { createServer } from 'node:http';
import { generateKeyPairSync } from 'node:crypto';
import { createInterface } from 'node:readline';
import Provider from 'oidc-provider';

const [clientId, clientSecret, redirectUri] = process.argv.slice(2);

const people = {
  ann: { email: 'ann@example.com', email_verified: true, given_name: 'Ann', family_name: 'Lee', picture: 'https://example.com/ann.png' },
  bob: { email: 'bob@example.com', email_verified: false, name: 'Bob Ross' },
  carl: { email: 'carl@example.com', email_verified: true, name: 'Carl' },
  twin: { email: 'carl@example.com', email_verified: true },
  quiet: {},
};

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address();
  const provider = new Provider(`http://127.0.0.1:${port}`, {
    clients: [{
      client_id: clientId, client_secret: clientSecret, redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'], id_token_signed_response_alg: 'ES256',
    }],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'first', use: 'sig', alg: 'ES256' }] },
    claims: {
      openid: ['sub'], groups: ['groups'], email: ['email', 'email_verified'], profile: ['given_name', 'family_name', 'name', 'picture'],
    },
    cookies: { keys: ['of the tests'] },
    features: { devInteractions: { enabled: false }, revocation: { enabled: true } },
    // Each refresh token counts once; whoever brings one again loses the whole grant.
    rotateRefreshToken: true,
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...people[id] }) }),
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    pkce: { required: () => false },
  });
  provider.use(async (context, next) => {
    if (!context.path.startsWith('/interaction/')) return next();
    const { params } = await provider.interactionDetails(context.req, context.res);
    const grant = new provider.Grant({ accountId: params.login_hint, clientId });
    grant.addOIDCScope(params.scope);
    const result = { login: { accountId: params.login_hint }, consent: { grantId: await grant.save() } };
    await provider.interactionFinished(context.req, context.res, result, { mergeWithLastSubmission: false });
    context.respond = false;
  });
  const answer = provider.callback();
  let revocations = 0;
  const waiting = [];
  const granted = [];
  provider.on('refresh_token.saved', (token) => granted.push(token));
  provider.on('refresh_token.consumed', (token) => granted.push(token));
  server.on('request', (request, response) => {
    // A test puts somebody into other groups.
    const asked = new URL(request.url, 'http://localhost');
    const [, person] = /^\/groups-of\/(\w+)$/.exec(asked.pathname) ?? [];
    if (asked.pathname === '/token/revocation' && request.method === 'POST') {
      revocations += 1;
      for (const tell of waiting.splice(0)) tell();
    }
    if (asked.pathname === '/revocations') {
      const wanted = Number(asked.searchParams.get('wanted'));
      const tell = () => (revocations < wanted ? waiting.push(tell) : response.end(String(revocations)));
      return tell();
    }
    if (asked.pathname === '/forget') {
      return Promise.all(granted.splice(0).map((token) => token.destroy())).then(() => response.end());
    }
    if (!person) return answer(request, response);
    people[person].groups = asked.searchParams.getAll('group');
    response.end();
  });
  console.log(port);
});

// Ends with the test, which holds the other end of the input.
createInterface({ input: process.stdin }).on('close', () => process.exit());
