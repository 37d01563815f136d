/** What holds a deployment, and what a refusal says. */

import { describe, expect, it } from 'vitest';
import { errorOf } from '$/api/error';
import { addedRights, diffRights, listedRight, rightText } from '$/compare/rights';
import {
  type Answers,
  type Findings,
  holdsOf,
  refusalOf,
  refusalText,
  toApprove,
} from '$/screens/editor/gate';

const NO_RULES = { requireTests: false, requireReplay: false, requireApproval: false };
const FOUND: Findings = {
  rules: NO_RULES,
  tested: 'none',
  differing: 0,
  added: [],
  canApprove: true,
  refusal: undefined,
};
const SILENT: Answers = { isForced: false, isAcknowledged: false, isApproved: false };
const HOST = { kind: 'host', name: 'api.example.com' } as const;

const holds = (found: Partial<Findings>, said: Partial<Answers> = {}) =>
  holdsOf({ ...FOUND, ...found }, { ...SILENT, ...said });
const refused = (code: string, details: object[] = []) =>
  errorOf(new Response(null, { status: 409 }), { error: { code, message: 'No', details } });

describe('a deployment', () => {
  it('is held until it is known what is required', () => {
    expect(holds({ rules: undefined })).toEqual(['Looking at what this environment requires…']);
    expect(holds({})).toEqual([]);
  });

  it('is held by tests, against which people can insist only where no rule requires them', () => {
    expect(holds({ tested: 'running' })).toEqual(['The tests are still running.']);
    expect(holds({ tested: 'passed' })).toEqual([]);
    expect(holds({ tested: 'bad' })).toEqual(['Not all tests pass.']);
    expect(holds({ tested: 'bad' }, { isForced: true })).toEqual([]);
    const rules = { ...NO_RULES, requireTests: true };
    expect(holds({ rules, tested: 'bad' }, { isForced: true })).toEqual([
      'This environment requires that all tests pass.',
    ]);
  });

  it('is held by differences until they are confirmed, where a rule asks for that', () => {
    const rules = { ...NO_RULES, requireReplay: true };
    expect(holds({ differing: 3 })).toEqual([]);
    expect(holds({ differing: undefined })).toEqual([]);
    expect(holds({ rules, differing: undefined })).toEqual(['Recorded events are still being tried.']);
    expect(holds({ rules, differing: 3 })).toEqual(['Confirm that the differences are wanted.']);
    expect(holds({ rules, differing: 3 }, { isAcknowledged: true })).toEqual([]);
  });

  it('is held by new rights until an admin approves them, where a rule asks for that', () => {
    const rules = { ...NO_RULES, requireApproval: true };
    expect(holds({ added: [HOST] })).toEqual([]);
    expect(holds({ rules, added: undefined })).toEqual(['Rights are still being compared.']);
    expect(holds({ rules, added: [HOST] })).toEqual(['Approve the new rights.']);
    expect(holds({ rules, added: [HOST] }, { isApproved: true })).toEqual([]);
    expect(holds({ rules, added: [HOST], canApprove: false }, { isApproved: true })).toEqual([
      'An admin of the workspace has to approve the new rights and deploy it.',
    ]);
  });

  it('is held by all of that at once', () => {
    const rules = { requireTests: true, requireReplay: true, requireApproval: true };
    expect(holds({ rules, tested: 'bad', differing: 1, added: [HOST] })).toHaveLength(3);
  });
});

describe('a refusal', () => {
  it('is one of the rules, or none', () => {
    expect(refusalOf(refused('TESTS_FAILED'))).toEqual({ code: 'TESTS_FAILED', rights: [] });
    expect(refusalOf(refused('CONFLICT'))).toBeUndefined();
    expect(refusalOf(new Error('TESTS_FAILED'))).toBeUndefined();
  });

  it('holds the next attempt by what the server has found, whatever was found here', () => {
    const rights = refusalOf(
      refused('RIGHTS_NOT_APPROVED', [
        { path: 'rights', message: 'host: api.example.com' },
        { path: 'rights', message: 'code for the JavaScript engine' },
      ]),
    );
    expect(toApprove({ ...FOUND, refusal: rights }).map(rightText)).toEqual([
      'requests to api.example.com',
      'execute JavaScript',
    ]);
    const rules = { ...NO_RULES, requireApproval: true };
    expect(toApprove({ ...FOUND, rules, added: [HOST], refusal: rights })).toHaveLength(2);
    expect(holds({ refusal: rights })).toEqual(['Approve the new rights.']);
    const differs = refusalOf(refused('REPLAY_DIFFERS'));
    expect(holds({ refusal: differs })).toEqual(['Confirm that the differences are wanted.']);
    expect(holds({ refusal: differs }, { isAcknowledged: true })).toEqual([]);
  });

  it('tells who can do something about it what to do', () => {
    const rights = { code: 'RIGHTS_NOT_APPROVED', rights: [HOST] } as const;
    expect(refusalText(rights, true)).toContain('approve them');
    expect(refusalText(rights, false)).toContain('Ask an admin');
  });
});

describe('rights', () => {
  it('that are listed are read again', () => {
    expect(listedRight('secret: API: KEY')).toEqual({ kind: 'secret', name: 'API: KEY' });
    expect(listedRight('effect: http')).toEqual({ kind: 'effect', name: 'http' });
    const issuer = listedRight('issuer: https://id.example.com/keys');
    expect(issuer).toEqual({ kind: 'issuer', name: 'https://id.example.com/keys' });
    expect(rightText(issuer)).toBe('senders with tokens by the keys at https://id.example.com/keys');
  });

  it('that are to be approved are what is added, but for variables', () => {
    const variable = { kind: 'variable', name: 'REGION' } as const;
    const gone = { kind: 'secret', name: 'KEY' } as const;
    expect(addedRights(diffRights([gone], [HOST, variable]))).toEqual([HOST]);
  });
});
