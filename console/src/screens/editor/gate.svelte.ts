/** One attempt to deploy something to an environment: what is found about it, what people say to that, and what holds it. */

import type { Said } from '$/api/editor';
import type { DeployRules } from '$/api/rules';
import type { Right } from '$/compare/rights';
import { type Answers, type Findings, holdsOf, type Refusal, type Tested } from './gate';

export class Gate implements Findings, Answers {
  rules = $state.raw<DeployRules>();
  tested = $state<Tested>('none');
  differing = $state<number | undefined>(0);
  added = $state.raw<readonly Right[]>();
  isForced = $state(false);
  isAcknowledged = $state(false);
  isApproved = $state(false);

  constructor(
    readonly canApprove: boolean,
    readonly refusal: Refusal | undefined,
  ) {}

  /** Why it can't be deployed yet; empty if nothing holds it. */
  get hold(): string {
    return holdsOf(this, this).join(' ');
  }

  /** The answers, as the API takes them. */
  get said(): Said {
    return { acknowledgeDifferences: this.isAcknowledged, approveRights: this.isApproved };
  }
}
