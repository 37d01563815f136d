/** What a webhook takes, in words. */

import type { Schemas } from '$/api/client';

const PROOFS: Readonly<Record<string, string>> = {
  heddle: 'Sign with the secret',
  github: 'Sign as GitHub does',
  stripe: 'Sign as Stripe does',
  slack: 'Sign as Slack does',
  shopify: 'Sign as Shopify does',
  'standard-webhooks': 'Sign as Standard Webhooks has it',
  twilio: 'Sign as Twilio does',
  gitlab: 'Send the secret as GitLab does',
  hmac: 'Sign as the node describes it',
  header: 'Send the secret in a header',
  bearer: 'Send the secret as a bearer token',
  basic: 'Send the secret as a password',
  jwt: 'Send a JSON Web Token',
  none: 'Anyone who knows the address',
};

/** A page that people open at a webhook's address. */
export type Page = 'form' | 'chat';

const PAGES: Readonly<Record<Page, { kind: string; text: string; open: string }>> = {
  form: {
    kind: 'Form',
    text: 'Whoever opens this address can fill in the form, which starts a run.',
    open: 'Open the form',
  },
  chat: {
    kind: 'Chat',
    text: 'Whoever opens this address can write messages, each of which starts a run that answers it. Programs send them as JSON.',
    open: 'Open the chat',
  },
};

/** What is said of a page. */
export const pageText = (page: Page): string => PAGES[page].text;

/** What its link says. */
export const pageLink = (page: Page): string => PAGES[page].open;

/** The name of the card of a webhook or a page; one that has no other name is just that. */
export function titleOf(alias: string, page: Page | undefined): string {
  const kind = page ? PAGES[page].kind : 'Webhook';
  return alias.toLowerCase() === kind.toLowerCase() ? kind : `${kind}: ${alias}`;
}

/** How senders prove who they are. */
export const proof = (scheme: string): string => PROOFS[scheme] ?? scheme;

/** Whether the webhook's secret has a use. */
export const usesSecret = (scheme: string): boolean => scheme !== 'none';

const BODIES: Readonly<Record<string, string>> = {
  json: 'JSON',
  form: 'a form',
  multipart: 'a form with files',
  text: 'text',
  binary: 'any bytes',
};
const or = new Intl.ListFormat('en', { type: 'disjunction' });

/** For example `POST or PUT with JSON or a form`. */
export const takes = ({ methods, accept }: Pick<Schemas['WebhookEndpoint'], 'methods' | 'accept'>): string =>
  `${or.format(methods)} with ${or.format(accept.map((body) => BODIES[body] ?? body))}`;
