import type { Problem } from '../../../src/graph/model';
import type { RunOverlay } from '../../../src/graph/trace';

/** What a test sets from outside. */
class PageState {
  outline = $state(false);
  readOnly = $state(false);
  problems = $state.raw<Problem[]>([]);
  run = $state.raw<RunOverlay | null>(null);
  opened = $state<string>();
}

export const page = new PageState();
