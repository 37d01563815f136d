/** What the inspector and test runs ask of the server, with the document on the screen. */

import { getVocabulary, preview, streamTest, transpile } from '$/api/editor';
import { fetchConnections, fetchPatterns, fetchSecrets, previewSchedule } from '$/api/queries';
import { before } from '$/graph/before';
import type { Doc } from '$/graph/model';
import type { InspectorApi, Preview, Surroundings } from '$/inspector';
import type { TestApi } from '$/run';
import { drawingOf } from './work.svelte';

interface Screen {
  doc: () => Doc;
  environment: () => string;
  surroundings: () => Surroundings;
}

const EXCERPT_KEYS = ['truncated', 'bytes', 'excerpt'];

function valueOf(value: unknown): Preview {
  const isExcerpt = typeof value === 'object' && value !== null && EXCERPT_KEYS.every((key) => key in value);
  if (!isExcerpt) return { ok: true, value };
  const { bytes, excerpt } = value as { bytes: number; excerpt: unknown };
  return { ok: true, value: excerpt, truncatedBytes: bytes };
}

export function inspectorApi(screen: Screen): InspectorApi {
  return {
    async preview({ nodeId, expressions, definition }, signal) {
      const { graph, definitions } = screen.doc();
      const inner = definition === null ? undefined : definitions[definition];
      const graphData = before((inner?.kind === 'graph' && inner.graphData) || graph, nodeId);
      const { input, item, hasItem, trigger, upstream } = screen.surroundings();
      // Without an element, what names it has no value that could be shown.
      const asked = Object.entries(expressions).filter(
        ([, text]) => item || !hasItem || !/\$(item|index)\b/.test(text),
      );
      if (asked.length === 0) return {};
      const outputs = Object.fromEntries(
        upstream.flatMap(({ id, sample }) => (sample ? [[id, sample.value]] : [])),
      );
      const found = await preview(
        {
          graphData,
          nodeId,
          expressions: Object.fromEntries(asked),
          outputs,
          eventData: trigger?.value ?? null,
          ...(input && { input: input.value }),
          ...(item && { item: item.value }),
          ...(screen.environment() && { environmentId: screen.environment() }),
        },
        signal,
      );
      return Object.fromEntries(
        found.map(({ path, value, error }): [string, Preview] => [
          path,
          error
            ? {
                ok: false,
                message: error.message,
                ...(error.help && { help: error.help }),
                ...(error.span && { span: error.span }),
              }
            : valueOf(value),
        ]),
      );
    },
    connections: async () =>
      (await fetchConnections()).map(({ id, displayName, provider }) => ({
        id,
        name: displayName,
        provider,
      })),
    secrets: async () => (screen.environment() ? fetchSecrets(screen.environment()) : []),
    patterns: async (search) =>
      (await fetchPatterns(search)).map(({ id, name, overview }) => ({
        id,
        name,
        ...(overview && { deployed: overview.deployment?.status === 'active' }),
      })),
    async schedule(cron, timezone, signal) {
      const { nextTimes, error } = await previewSchedule(cron, timezone, signal);
      if (!error) return { times: nextTimes };
      const { field, message, span } = error;
      return { times: [], problem: { field, message, ...(span && { span }) } };
    },
    vocabulary: getVocabulary,
  };
}

export function testApi(): TestApi {
  return {
    transpile: ({ doc, breakpoints, pinnedNodes }, signal) =>
      transpile({ ...drawingOf(doc), trace: true, breakpoints: [...breakpoints], pinnedNodes }, signal),
    stream: (request, signal) => streamTest(request, signal),
  };
}
