/** Entries of the audit log as sentences. Pure: `tests/unit/audit.test.ts`. */

import type { Entry } from '$/api/audit';

/** A part of a sentence; names stand out. */
export interface Part {
  text: string;
  isName?: boolean;
}

const plain = (text: string): Part => ({ text });
const name = (text: string): Part => ({ text, isName: true });

/** A detail as text; what is not there is empty. */
function detail(entry: Entry, key: string): string {
  const value = (entry.details as Record<string, unknown>)[key];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

/** `before`, the object's name, and `after`. */
const about =
  (before: string, after: (entry: Entry) => Part[] = () => []) =>
  (entry: Entry): Part[] => [
    plain(before),
    ...(entry.object.name ? [name(entry.object.name)] : []),
    ...after(entry),
  ];
const within = (entry: Entry): Part[] =>
  entry.object.within ? [plain(' in '), name(entry.object.within)] : [];
const to = (entry: Entry): Part[] => (entry.object.within ? [plain(' to '), name(entry.object.within)] : []);
const version = (entry: Entry): Part[] =>
  detail(entry, 'version') ? [plain(` version ${detail(entry, 'version')}`)] : [];
const promotedFrom = (entry: Entry): Part[] =>
  detail(entry, 'from') ? [plain(' from '), name(detail(entry, 'from'))] : [];
const schedule = (entry: Entry): Part[] =>
  detail(entry, 'cron')
    ? [plain(` to ${detail(entry, 'cron')} (${detail(entry, 'timezone')})`)]
    : [plain(' back to that of its nodes')];
const said = (text: string) => (): Part[] => [plain(text)];
const ofPattern =
  (text: string) =>
  (entry: Entry): Part[] =>
    entry.object.within ? [plain(`${text} of `), name(entry.object.within)] : [plain(text)];
const keptBy = (entry: Entry): Part[] =>
  entry.object.kind === 'pattern' && entry.object.name ? [plain(' of '), name(entry.object.name)] : [];
const byWay = (entry: Entry): string =>
  detail(entry, 'way') === 'external' ? ' through the login provider' : '';

const SENTENCES: Readonly<Record<string, (entry: Entry) => Part[]>> = {
  'account.registered': (entry) => [plain(`registered${byWay(entry)}`)],
  'account.signed_in': (entry) => [plain(`signed in${byWay(entry)}`)],
  'account.sign_in_refused': said('tried to sign in and was refused'),
  'account.signed_out': said('signed out'),
  'account.signed_out_everywhere': said('signed out everywhere'),
  'account.session_ended': said('ended a session of another browser'),
  'account.password_changed': said('changed the password'),
  'account.profile_changed': said('changed the profile'),
  'account.proven': said('proved that the email address is theirs, which ended all other access'),
  'account.enabled': about('enabled the account '),
  'account.disabled': about('disabled the account '),
  'account.verified': about('declared the email verified: '),
  'account.address_verified': said('verified the email address'),
  'account.password_reset_asked': said('asked for a link to reset the password'),
  'account.password_link_made': about('made a password reset link for '),
  'account.password_recovered': said('reset the password by a link'),
  'account.authenticator_added': said('set up an authenticator'),
  'account.authenticator_removed': said('removed the authenticator'),
  'account.recovery_codes_made': said('made new recovery codes'),
  'account.recovery_code_used': said('signed in with a recovery code'),
  'account.password_reset': about('reset the password of '),
  'account.promoted': about('made an admin of the service: '),
  'api_key.created': about('created the API key '),
  'api_key.deleted': about('revoked the API key '),
  'workspace.created': about('created the workspace '),
  'workspace.exported': said('exported the workspace with everything in it'),
  'workspace.imported': said('imported the workspace'),
  'workspace.suspended': said('suspended the workspace'),
  'workspace.resumed': said('resumed the workspace'),
  'workspace.quotas_set': said('set the quotas of the workspace'),
  'workspace.quota_warned': (entry) => [plain(`used 80 % of the quota ${detail(entry, 'quota')}`)],
  'workspace.renamed': about('renamed the workspace ', (entry) => [plain(' to '), name(detail(entry, 'to'))]),
  'workspace.deleted': about('deleted the workspace '),
  'member.invited': about('invited ', (entry) => [plain(` as ${detail(entry, 'role')}`)]),
  'member.added': (entry) => [
    plain(`became ${detail(entry, 'to')} by a group of the login provider ${detail(entry, 'provider')}`),
  ],
  'member.role_changed': about('changed the role of ', (entry) => [
    plain(` from ${detail(entry, 'from')} to ${detail(entry, 'to')}`),
  ]),
  'member.removed': (entry) =>
    entry.actor?.id === entry.object.id ? [plain('left the workspace')] : about('removed ')(entry),
  'member.account_removed': (entry) =>
    entry.actor?.id === entry.object.id
      ? [plain('removed their account')]
      : about('removed the account ')(entry),
  'invitation_link.created': (entry) => [plain(`made a link by which ${detail(entry, 'role')}s join`)],
  'invitation_link.revoked': said('revoked a link by which others join'),
  'invitation.withdrawn': about('withdrew the invitation of '),
  'invitation.accepted': (entry) => [plain(`joined as ${detail(entry, 'role')}`)],
  'invitation.declined': said('declined the invitation'),
  'environment.created': about('created the environment '),
  'environment.rules_set': about('changed the rules for deploys to '),
  'environment.test_run_approved': about('approved a test run with the secrets of '),
  'environment.deleted': about('deleted the environment '),
  'secret.set': about('set the secret ', within),
  'secret.deleted': about('deleted the secret ', within),
  'variables.set': about('changed the variables of '),
  'key_value.set': (entry) => [plain('set the kept value '), name(detail(entry, 'key')), ...keptBy(entry)],
  'key_value.deleted': (entry) => [
    plain('deleted the kept value '),
    name(detail(entry, 'key')),
    ...keptBy(entry),
  ],
  'connection.created': about('added the connection '),
  'connection.changed': about('changed the connection '),
  'connection.deleted': about('deleted the connection '),
  'connection.tested': about('tested the connection ', (entry) =>
    entry.outcome === 'failed' ? [plain(', which failed')] : [],
  ),
  'connection.connected': about('connected '),
  'connection.disconnected': about('disconnected '),
  'pattern.created': about('created '),
  'pattern.saved': about('saved ', version),
  'pattern.rolled_back': about('restored ', (entry) => [plain(` version ${detail(entry, 'restored')}`)]),
  'pattern.deleted': about('deleted '),
  'pattern.call_interface_set': about('set the call interface of '),
  'pattern.call_interface_removed': about('removed the call interface of '),
  'pattern.deployed': about('deployed ', (entry) => [...version(entry), ...to(entry)]),
  'deployment.promoted': about('promoted ', (entry) => [
    ...version(entry),
    ...promotedFrom(entry),
    ...to(entry),
  ]),
  'pattern.undeployed': about('undeployed '),
  'test.added': about('added the test ', ofPattern('')),
  'test.changed': about('changed the test ', ofPattern('')),
  'test.deleted': about('deleted the test ', ofPattern('')),
  'deployment.paused': about('paused '),
  'deployment.resumed': about('resumed '),
  'deployment.redeployed': about('redeployed '),
  'deployment.failed': about('could not load '),
  'deployment.deleted': about('deleted the deployment of '),
  'deployment.schedule_changed': about('set the schedule of ', schedule),
  'webhook.secret_replaced': (entry) => [plain('replaced the secret of a webhook'), ...ofPattern('')(entry)],
  'webhook.secret_read': (entry) => [plain('was shown the secret of a webhook'), ...ofPattern('')(entry)],
  'webhook_log.cleared': about('cleared the webhook log of '),
  'tap_events.cleared': about('cleared the captured events of '),
  'run.cancelled': (entry) => [plain('cancelled a run'), ...ofPattern('')(entry)],
  'run.retried': (entry) => [plain('retried a run'), ...ofPattern('')(entry)],
  'run.replayed': (entry) => [plain('replayed a run'), ...ofPattern('')(entry)],
  'run.callback_answered': (entry) => [plain('answered what a run waited for'), ...ofPattern('')(entry)],
};

/** Who did it. */
export function who(entry: Entry): string {
  if (entry.actor) return entry.actor.name ?? entry.actor.email ?? 'A former user';
  if (entry.action === 'workspace.quota_warned') return 'The workspace';
  // Whoever changes a workspace without being signed in has the operator's token.
  const isOperator = entry.action.startsWith('workspace.') || !entry.address;
  return isOperator ? 'The operator' : 'Somebody';
}

/** What was done, to follow who did it. An action that this build does not know is named. */
export function sentence(entry: Entry): Part[] {
  const known = SENTENCES[entry.action];
  if (known) return known(entry);
  return [
    plain(`${entry.action.replace(/[._]/g, ' ')} `),
    ...(entry.object.name ? [name(entry.object.name)] : []),
  ];
}

/** The sentence as text. */
export const told = (entry: Entry): string =>
  `${who(entry)} ${sentence(entry)
    .map((part) => part.text)
    .join('')}`;

/** Kinds of actions, to filter by. */
export const KINDS: readonly { value: string; label: string }[] = [
  { value: '', label: 'Everything' },
  { value: 'pattern', label: 'Patterns' },
  { value: 'deployment', label: 'Deployments' },
  { value: 'run', label: 'Runs' },
  { value: 'secret', label: 'Secrets' },
  { value: 'variables', label: 'Variables' },
  { value: 'connection', label: 'Connections' },
  { value: 'webhook', label: 'Webhooks' },
  { value: 'environment', label: 'Environments' },
  { value: 'member', label: 'Members' },
  { value: 'invitation', label: 'Invitations' },
  { value: 'api_key', label: 'API keys' },
  { value: 'workspace', label: 'Workspace' },
  { value: 'test', label: 'Tests' },
];
