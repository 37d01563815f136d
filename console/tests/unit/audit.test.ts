import { describe, expect, it } from 'vitest';
import { type Entry, parameters } from '$/api/audit';
import { sentence, told } from '$/screens/audit/words';
import { refusal } from '$/screens/external';

const entry = (action: string, more: Partial<Entry> = {}): Entry => ({
  id: '1',
  at: '2026-11-21T09:00:00.000Z',
  action,
  outcome: 'done',
  actor: { id: 'ann', name: 'Ann Lee', email: 'ann@example.com' },
  apiKey: null,
  address: '192.0.2.7',
  details: {},
  workspaceId: 'w',
  ...more,
  object: { kind: 'x', id: 'o', name: 'Order routing', within: null, ...more.object },
});

describe('entries of the audit log', () => {
  it('are sentences', () => {
    const object = { kind: 'deployment', id: 'o', name: 'Order routing', within: 'production' };
    expect(told(entry('pattern.deployed', { details: { version: 12 }, object }))).toBe(
      'Ann Lee deployed Order routing version 12 to production',
    );
    expect(told(entry('deployment.promoted', { details: { version: 12, from: 'staging' }, object }))).toBe(
      'Ann Lee promoted Order routing version 12 from staging to production',
    );
    expect(told(entry('secret.set', { object: { ...object, name: 'TOKEN' } }))).toBe(
      'Ann Lee set the secret TOKEN in production',
    );
    const roles = { from: 'viewer', to: 'editor' };
    const bob = { ...object, name: 'bob@example.com', within: null };
    expect(told(entry('member.role_changed', { details: roles, object: bob }))).toBe(
      'Ann Lee changed the role of bob@example.com from viewer to editor',
    );
    expect(told(entry('member.removed', { object: { ...bob, id: 'ann' } }))).toBe(
      'Ann Lee left the workspace',
    );
    expect(told(entry('invitation_link.created', { details: { role: 'editor' } }))).toBe(
      'Ann Lee made a link by which editors join',
    );
    expect(told(entry('member.account_removed', { object: { ...bob, id: 'ann' } }))).toBe(
      'Ann Lee removed their account',
    );
    expect(told(entry('member.account_removed', { actor: null, address: null, object: bob }))).toBe(
      'The operator removed the account bob@example.com',
    );
  });
  it('name an action that is not known yet', () => {
    expect(told(entry('webhook.address_moved'))).toBe('Ann Lee webhook address moved Order routing');
    expect(sentence(entry('constructor.name')).length).toBeGreaterThan(0);
  });
  it('tell nobody from the operator', () => {
    expect(told(entry('account.sign_in_refused', { actor: null }))).toMatch(/^Somebody tried/);
    expect(told(entry('account.disabled', { actor: null, address: null }))).toMatch(/^The operator disabled/);
  });
});

describe('filters of the audit log', () => {
  it('are of whole days here', () => {
    const { from, to } = parameters({ from: '2026-11-21', to: '2026-11-21' });
    expect(new Date(to ?? '').getTime() - new Date(from ?? '').getTime()).toBe(24 * 60 * 60 * 1000);
  });
  it('leave out what is no day', () => expect(parameters({ from: 'nonsense', actor: '' })).toEqual({}));
});

it('refusals of a provider never show words that a link brought', () => {
  expect(refusal('Your account is blocked: call 555')).not.toMatch(/555/);
  expect(refusal('access_denied')).toMatch(/did not allow/);
});
