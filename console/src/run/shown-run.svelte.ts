/** A stored run to look at: what each node did as it was recorded, or else as a replay from its journal tells. */

import { recordOf, type RunRecord, type StoredRun } from './record';
import { Replay, replayed, type ReplayApi } from './replay.svelte';

/** Of runs that are replayed at once: well below a second. */
const QUICK_FUEL = 200_000_000;

export class ShownRun {
  readonly replay: Replay;

  constructor(
    private readonly run: () => StoredRun,
    /** Whether whoever looks may have runs executed again. */
    private readonly canEdit: () => boolean,
    api: ReplayApi,
  ) {
    this.replay = new Replay(api);
  }

  /** As it was stored. */
  readonly stored = $derived.by(() => recordOf(this.run()));

  get record(): RunRecord {
    return this.replay.record ? replayed(this.stored, this.replay.record) : this.stored;
  }

  /** Whether only a replay can tell what each node did. */
  get canReplay(): boolean {
    return this.canEdit() && this.run().status !== 'running' && this.stored.executions.length === 0;
  }

  /** What took long then would take as long now: only then is it asked for. */
  get isQuick(): boolean {
    return (this.run().fuelUsed ?? 0) <= QUICK_FUEL;
  }
}
