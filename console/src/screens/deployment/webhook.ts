/** What a webhook takes, in words. */

import type { Schemas } from '$/api/client';

const PROOFS: Readonly<Record<string, string>> = {
  heddle: 'sign with the secret',
  github: 'sign as GitHub does',
  stripe: 'sign as Stripe does',
  slack: 'sign as Slack does',
  shopify: 'sign as Shopify does',
  'standard-webhooks': 'sign as Standard Webhooks has it',
  twilio: 'sign as Twilio does',
  gitlab: 'send the secret as GitLab does',
  hmac: 'sign as the node describes it',
  header: 'send the secret in a header',
  bearer: 'send the secret as a bearer token',
  basic: 'send the secret as a password',
  jwt: 'send a JSON Web Token',
  none: 'anyone who knows the address',
};

/** How senders prove who they are. */
export const proof = (scheme: string): string => PROOFS[scheme] ?? scheme;

/** Whether the webhook's secret has a use. */
export const usesSecret = (scheme: string): boolean => scheme !== 'none';

/** For example `POST, PUT: json, form`. */
export const takes = ({ methods, accept }: Pick<Schemas['WebhookEndpoint'], 'methods' | 'accept'>): string =>
  `${methods.join(', ')}: ${accept.join(', ')}`;
