/** Secrets of links that were opened before signing in: kept in this tab, until they are used. */

import { ApiError } from '$/api/error';

export type Kind = 'invitation' | 'verification';

const key = (kind: Kind): string => `heddle.${kind}`;

export const keep = (kind: Kind, secret: string): void => sessionStorage.setItem(key(kind), secret);

/** The secret; empty if there is none. */
export const kept = (kind: Kind): string => sessionStorage.getItem(key(kind)) ?? '';

export const drop = (kind: Kind): void => sessionStorage.removeItem(key(kind));

/** Whether whoever comes with an invitation can't use it again after this refusal. */
export const isSpent = (error: unknown): boolean =>
  error instanceof ApiError && ['NOT_FOUND', 'FORBIDDEN', 'EMAIL_NOT_VERIFIED'].includes(error.code);

/** What stands after the `#` of the page's address, which then has it no more: neither the history nor a bookmark keeps it. */
export function takeFromAddress(): string {
  const secret = window.location.hash.slice(1);
  const { pathname, search } = window.location;
  if (secret) history.replaceState(null, '', pathname + search);
  return secret;
}
