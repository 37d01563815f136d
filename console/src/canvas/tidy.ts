/** Tidies what is selected, or everything: laid out in a worker, put into the document as one step. */
import type { Layout, LayoutInput } from '../graph/layout';
import { layoutInput } from './tidy-input';
import type { Session } from '../graph/session';
import workerUrl from './layout.worker.ts?worker&url';

/** How often what was drawn meanwhile is laid out again. */
const ATTEMPTS = 3;

export async function tidySelection(session: Session): Promise<void> {
  const chosen = session.selection.value.nodes.size > 1 ? session.selection.value.nodes : undefined;
  let { here } = session;
  let found = await layOut(layoutInput(here, chosen));
  // Places are those of the graph that was laid out: one that has changed would be scattered by them.
  for (let attempt = 1; session.here.doc !== here.doc; attempt += 1) {
    if (session.here.definition !== here.definition || attempt === ATTEMPTS) return;
    ({ here } = session);
    found = await layOut(layoutInput(here, chosen));
  }
  const { nodes, notes } = found;
  session.dispatch({ kind: 'move', definition: here.definition, nodes, notes, verb: 'Tidy' });
  session.ask({ kind: 'fit' });
}

/** Lays out in a worker, so that the page stays quick. */
function layOut(input: LayoutInput): Promise<Layout> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(scriptUrl(workerUrl), { type: 'module' });
    worker.onmessage = ({ data }: MessageEvent<Layout>) => {
      worker.terminate();
      resolve(data);
    };
    worker.onerror = (event) => {
      worker.terminate();
      reject(new Error(event.message || 'No layout was found.'));
    };
    worker.postMessage(input);
  });
}

interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL(url: string): string },
  ): { createScriptURL(url: string): string };
}

let policy: { createScriptURL(url: string): string } | undefined;

/** A worker's address, which browsers with Trusted Types take from a policy that the server names only. */
function scriptUrl(url: string): string {
  const factory = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes;
  if (!factory) return url;
  policy ??= factory.createPolicy('heddle-worker', {
    createScriptURL(given) {
      if (given !== workerUrl) throw new Error('This is not a script of the console.');
      return given;
    },
  });
  return policy.createScriptURL(url);
}
