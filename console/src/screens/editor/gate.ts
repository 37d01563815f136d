/** What holds a deployment by the rules of its environment, and why one was refused. Pure. */

import { ApiError } from '$/api/error';
import type { DeployRules } from '$/api/rules';
import { listedRight, type Right } from '$/compare/rights';

/** How the tests of what would be deployed have ended; `bad` also if they could not be run. */
export type Tested = 'none' | 'running' | 'passed' | 'bad';

/** What was found about what would be deployed. */
export interface Findings {
  /** What the environment asks for; undefined until it is known. */
  readonly rules: DeployRules | undefined;
  readonly tested: Tested;
  /** How many recorded events it treats differently; undefined while they are tried. */
  readonly differing: number | undefined;
  /** What it may reach and what is deployed may not; undefined while that is compared. */
  readonly added: readonly Right[] | undefined;
  /** Whether whoever deploys may approve of that. */
  readonly canApprove: boolean;
  /** What the server has found at the last attempt. */
  readonly refusal: Refusal | undefined;
}

/** What people say to it. */
export interface Answers {
  readonly isForced: boolean;
  readonly isAcknowledged: boolean;
  readonly isApproved: boolean;
}

const CODES = ['TESTS_FAILED', 'REPLAY_DIFFERS', 'RIGHTS_NOT_APPROVED'] as const;

/** Which rule the server refused a deployment by. */
export interface Refusal {
  readonly code: (typeof CODES)[number];
  /** Rights that are to be approved. */
  readonly rights: readonly Right[];
}

/** What an error says of the rules; undefined if it is about something else. */
export function refusalOf(error: unknown): Refusal | undefined {
  if (!(error instanceof ApiError)) return undefined;
  const code = CODES.find((each) => each === error.code);
  if (!code) return undefined;
  const isRights = code === 'RIGHTS_NOT_APPROVED';
  const rights = isRights ? error.details.map(({ message }) => listedRight(message ?? '')) : [];
  return { code, rights };
}

/** What people are told of a refusal: what it is, and what to do about it in the sheet. */
export function refusalText({ code }: Refusal, canApprove: boolean): string {
  switch (code) {
    case 'TESTS_FAILED':
      return 'Nothing was deployed: not all tests pass. Those that do not are listed below.';
    case 'REPLAY_DIFFERS':
      return 'Nothing was deployed: recorded events are not treated as before. Look at the differences below, and confirm them if they are wanted.';
    case 'RIGHTS_NOT_APPROVED':
      return canApprove
        ? 'Nothing was deployed: this version may reach more than before. Look at the new rights below, and approve them if they are wanted.'
        : 'Nothing was deployed: this version may reach more than before. Ask an admin of the workspace to approve and deploy it.';
  }
}

/** Whether there are differences that have to be acknowledged. */
export const hasDifferences = ({ rules, differing, refusal }: Findings): boolean =>
  refusal?.code === 'REPLAY_DIFFERS' || (rules?.requireReplay === true && (differing ?? 0) > 0);

/** The rights that have to be approved. */
export function toApprove({ rules, added = [], refusal }: Findings): readonly Right[] {
  const refused = refusal?.rights ?? [];
  if (!rules?.requireApproval) return refused;
  const isKnown = ({ kind, name }: Right) => added.some((each) => each.kind === kind && each.name === name);
  return [...added, ...refused.filter((right) => !isKnown(right))];
}

/** Why it can't be deployed yet: what is still being looked at, and what somebody has to do. */
export function holdsOf(found: Findings, said: Answers): string[] {
  const { rules } = found;
  if (!rules) return ['Looking at what this environment requires…'];
  return [testsHold(found, said), replayHold(found, said), approvalHold(found, said)].filter(Boolean);
}

function testsHold({ rules, tested }: Findings, { isForced }: Answers): string {
  if (tested === 'running') return 'The tests are still running.';
  if (tested !== 'bad') return '';
  if (rules?.requireTests) return 'This environment requires that all tests pass.';
  return isForced ? '' : 'Not all tests pass.';
}

function replayHold(found: Findings, { isAcknowledged }: Answers): string {
  if (found.rules?.requireReplay && found.differing === undefined)
    return 'Recorded events are still being tried.';
  return hasDifferences(found) && !isAcknowledged ? 'Confirm that the differences are wanted.' : '';
}

function approvalHold(found: Findings, { isApproved }: Answers): string {
  if (found.rules?.requireApproval && !found.added) return 'Rights are still being compared.';
  if (toApprove(found).length === 0) return '';
  if (!found.canApprove) return 'An admin of the workspace has to approve the new rights and deploy it.';
  return isApproved ? '' : 'Approve the new rights.';
}
