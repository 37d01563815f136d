/** What a snippet sends: a body that fits the pattern, of what really came before what was only drawn. */

import { answer, api, type Schemas, unwrap } from '$/api/client';
import { getVersion } from '$/api/editor';
import { query } from '$/api/queries';
import { listTests } from '$/api/tests';
import { catalogue } from '../editor/catalogue';
import { drawnBody, bodyOf, NOTHING_KNOWN, readBody, type SampleBody } from './snippet-body';
import { readDocument } from '$/graph/read';

/** How many runs or tests are asked for an event of the webhook. */
const ASKED = 3;

interface Asked {
  deployment: string;
  pattern: string;
  version: number;
  nodeId: string;
}

async function ofTaps({ pattern, nodeId }: Asked, signal: AbortSignal): Promise<unknown> {
  const params = { path: { id: pattern } };
  const { events } = await answer(api.GET('/api/patterns/{id}/tap-events', { params, signal }));
  const own = events.filter((event) => event.nodeId === nodeId);
  const newest = own.sort((a, b) => b.receivedAt.localeCompare(a.receivedAt)).map((it) => it.eventData);
  return newest.map(bodyOf).find((body) => body !== undefined);
}

async function ofRuns({ deployment, nodeId }: Asked, signal: AbortSignal): Promise<unknown> {
  const query = { triggeredBy: 'webhook' as const, page: 1, limit: ASKED };
  const params = { path: { id: deployment }, query };
  const { data } = await answer(api.GET('/api/deployments/{id}/runs', { params, signal }));
  for (const { id } of data) {
    const path = { id: deployment, runId: id };
    const run = await unwrap(api.GET('/api/deployments/{id}/runs/{runId}', { params: { path }, signal }));
    const body = run.nodeId === nodeId ? bodyOf(run.eventData) : undefined;
    if (body !== undefined) return body;
  }
  return undefined;
}

async function ofTests({ pattern, nodeId }: Asked): Promise<unknown> {
  for (const { id } of (await listTests(pattern)).slice(0, ASKED)) {
    const path = { id: pattern, testId: id };
    const test = await answer(api.GET('/api/patterns/{id}/tests/{testId}', { params: { path } }));
    const isOwn = (test.case.triggerNodeId ?? nodeId) === nodeId;
    const body = isOwn ? bodyOf(test.case.event) : undefined;
    if (body !== undefined) return body;
  }
  return undefined;
}

async function found(asked: Asked, signal: AbortSignal): Promise<SampleBody> {
  const tap = await ofTaps(asked, signal);
  if (tap !== undefined) return { value: tap, from: 'the body of the last event' };
  const run = await ofRuns(asked, signal);
  if (run !== undefined) return { value: run, from: 'the body of the last run’s event' };
  const { graphData, nodeDefinitions } = await getVersion(asked.pattern, asked.version);
  const { doc } = readDocument(graphData, nodeDefinitions);
  const drawn = drawnBody(doc, asked.nodeId);
  if (drawn) return drawn;
  const test = await ofTests(asked);
  if (test !== undefined) return { value: test, from: 'the body of a test’s event' };
  return readBody(await catalogue(), doc, asked.nodeId) ?? NOTHING_KNOWN;
}

/** Asked for while it is wanted. Whatever can't be told, such as of a pattern that is gone, a greeting stands for. */
export const sampleBody = (
  deployment: () => Schemas['Deployment'],
  endpoint: () => Schemas['WebhookEndpoint'],
  isWanted: () => boolean,
) =>
  query<SampleBody>(
    () => ['snippets', deployment().id, 'sample', endpoint().id, deployment().versionNumber],
    (signal) => {
      const { id, patternId: pattern, versionNumber: version } = deployment();
      const asked = { deployment: id, pattern, version, nodeId: endpoint().nodeId };
      return found(asked, signal).catch((error: unknown) => {
        if (signal.aborted) throw error;
        return NOTHING_KNOWN;
      });
    },
    () => ({ enabled: isWanted() }),
  );
