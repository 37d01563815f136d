/** Who is signed in. The page never sees a token: the session is a cookie that scripts can't read. */

import { answer, api, type Schemas, unwrap } from './client';

type Current = Schemas['CurrentSession'];

class Session {
  /** `undefined` until the server was asked; `null` if nobody is signed in. */
  current = $state.raw<Current | null>();

  async load(): Promise<void> {
    this.current = (await unwrap(api.GET('/api/session'))).session ?? null;
  }

  /** `more`: a code of an authenticator, the secret of a link that was sent to the address. */
  async signIn(
    email: string,
    password: string,
    more: Pick<Schemas['LoginRequest'], 'code' | 'verification'> = {},
  ): Promise<void> {
    this.current = await unwrap(api.POST('/api/session', { body: { email, password, ...more } }));
  }

  /** Goes to the page of this login provider; without an id, of the only one. */
  async beginExternal(provider?: string): Promise<void> {
    const body = provider ? { provider } : {};
    const { authorizeUrl } = await unwrap(api.POST('/api/session/ext/begin', { body }));
    window.location.assign(authorizeUrl);
  }

  /** Signs in with what the login provider has sent along; a notice about the account, if there is one. */
  async signInExternally(body: Schemas['ExtRequest']): Promise<string | undefined> {
    this.current = await unwrap(api.POST('/api/session/ext', { body }));
    return this.current.notice ?? undefined;
  }

  /** Ends all logins of the user, this one too. */
  async signOutEverywhere(): Promise<void> {
    await unwrap(api.POST('/api/auth/logout-all'));
    this.current = null;
  }

  /** The account is removed: nobody is signed in any more. */
  async removeAccount(proof: Schemas['RemoveRequest']): Promise<void> {
    await unwrap(api.POST('/api/auth/me/remove', { body: proof }));
    this.current = null;
  }

  async register(account: Schemas['RegisterRequest']): Promise<void> {
    this.current = await unwrap(api.POST('/api/session/register', { body: account }));
  }

  async signOut(): Promise<void> {
    await answer(api.DELETE('/api/session'));
    this.current = null;
  }

  /** The workspace of this id, if the user is a member of it. */
  workspace(id: string): Schemas['Workspace'] | undefined {
    return this.current?.workspaces.find((workspace) => workspace.id === id);
  }
}

export const session = new Session();
