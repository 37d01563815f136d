/** The way to the login provider and back. What binds the two is in a cookie that the page can't read. */

const NEXT = 'heddle.sign-in.next';

/** Remembers, in this tab, where somebody wanted to be. */
export function keepNext(next: string): void {
  sessionStorage.setItem(NEXT, next);
}

/** Where they wanted to be, once. */
export function takeNext(): string {
  const next = sessionStorage.getItem(NEXT) ?? '';
  sessionStorage.removeItem(NEXT);
  return next;
}

/** What the provider's refusal means (RFC 6749, section 4.1.2.1). Its own words are not shown: anybody can link here. */
export function refusal(error: string | null): string {
  switch (error) {
    case null:
      return 'The login provider sent nothing to sign in with: begin the sign-in again.';
    case 'access_denied':
      return 'You did not allow the sign-in, or the login provider does not let you use heddle.';
    case 'login_required':
    case 'interaction_required':
    case 'consent_required':
      return 'The login provider has to ask you first: begin the sign-in again.';
    case 'temporarily_unavailable':
    case 'server_error':
      return 'The login provider is not working right now: try again in a few minutes.';
    default:
      return 'The login provider refused the request: ask the operator of this service to check the settings of the external login.';
  }
}
