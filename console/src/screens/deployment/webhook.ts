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

/** The name of a webhook's or a form's card; one that has no other name is just that. */
export function titleOf(alias: string, isForm: boolean): string {
  const kind = isForm ? 'Form' : 'Webhook';
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
