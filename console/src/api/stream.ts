/** One live tail of the workspace: what happens there is asked for again at once. Polling goes on behind it. */

import { withWorkspace } from './client';
import { refresh } from './queries';

/** Queries that an event makes old. */
const OLD: Readonly<Record<string, readonly string[]>> = {
  run: ['runs', 'run', 'deployments', 'stats', 'health'],
  saved: ['patterns', 'versions'],
  deployment: ['deployments', 'deployment', 'deployment-of', 'patterns'],
  webhook: ['taps', 'webhook-log'],
  missed: ['runs', 'patterns', 'deployments', 'taps', 'webhook-log'],
};
/** A busy workspace has thousands of runs a second: lists follow at this pace. */
const PACE_MS = 500;

/** Follows the workspace until the returned function is called. `onbuild` gets the server's build of the console. */
export function follow(onbuild: (build: string) => void): () => void {
  const source = new EventSource(withWorkspace('/api/stream'));
  const old = new Set<string>();
  let timer: ReturnType<typeof setTimeout> | undefined;

  function flush(): void {
    timer = undefined;
    const names = [...old];
    old.clear();
    for (const name of names) void refresh(name);
  }
  for (const [event, names] of Object.entries(OLD)) {
    source.addEventListener(event, () => {
      for (const name of names) old.add(name);
      timer ??= setTimeout(flush, PACE_MS);
    });
  }
  source.addEventListener('server', (event: MessageEvent<string>) => {
    try {
      onbuild((JSON.parse(event.data) as { build?: string }).build ?? '');
    } catch {
      // A server that says it otherwise is newer than this page; its chunks will say so.
    }
  });
  return () => {
    clearTimeout(timer);
    source.close();
  };
}
