/** The console against the program: its catalogue, and what its compiler takes. */
import { describe, expect, test } from 'vitest';
import { found, paletteEntries } from '../../src/canvas/palette';
import { makeCatalogue } from '../../src/graph/catalogue';
import { refusal } from '../../src/graph/connect';
import { EMPTY_DOC, type Graph, type GraphEdge } from '../../src/graph/model';
import type { Field } from '../../src/inspector/fields';
import type { JsonSchema } from '../../src/inspector/json-schema';
import { fieldsOf } from '../../src/inspector/schema';
import { DEFINITIONS, makeCase } from './graph/cases';
import { findings, nodeTypes, program } from './real';

describe.runIf(program)('the catalogue of the program', () => {
  const types = program ? nodeTypes() : [];

  test('every parameter has a control of its own: raw JSON only where the catalogue says so', () => {
    const isRaw = ({ shape }: Field) =>
      (shape.kind === 'map' && shape.json) || (shape.kind === 'any' && shape.widget === 'value');
    const undeclared = types.flatMap((type) => {
      const properties = (type.parameters as JsonSchema).properties ?? {};
      return fieldsOf(type)
        .filter(isRaw)
        .filter(({ name }) => !['json', 'expression'].includes(properties[name]?.['x-heddle']?.widget ?? ''))
        .map(({ name }) => `${type.type}.${name}`);
    });
    expect(types.length).toBeGreaterThanOrEqual(53);
    expect(undeclared).toEqual([]);
  });

  test('what a webhook asks for one scheme alone is shown with that one', () => {
    const webhook = types.find(({ type }) => type === 'OnWebhook');
    const only = Object.fromEntries(
      (webhook ? fieldsOf(webhook) : []).flatMap(({ name, label, onlyFor }) =>
        onlyFor ? [[label, `${name}: ${onlyFor.values.join()}`]] : [],
      ),
    );
    expect(only).toMatchObject({
      'Token header': 'tokenHeader: header',
      User: 'user: basic',
      HMAC: 'hmac: hmac',
      JWT: 'jwt: jwt',
    });
  });

  test.each([
    ['api call', 'HttpRequest'],
    ['curl', 'HttpRequest'],
    ['cron', 'OnSchedule'],
    ['every day', 'OnSchedule'],
    ['by hand', 'OnManual'],
    ['delay', 'Wait'],
    ['approval', 'WaitForCallback'],
    ['human in the loop', 'WaitForCallback'],
    ['execute workflow', 'CallPattern'],
    ['edit fields', 'SetFields'],
    ['split in batches', 'ForEach'],
    ['while', 'Loop'],
    ['group by', 'Aggregate'],
    ['remove duplicates', 'Unique'],
    ['split out', 'Flatten'],
    ['database', 'SqlQuery'],
    ['postgres', 'SqlQuery'],
    ['smtp', 'SendEmail'],
    ['imap', 'OnMailbox'],
    ['llm', 'ChatCompletion'],
    ['gpt', 'ChatCompletion'],
    ['excel', 'Xlsx'],
    ['vlookup', 'Join'],
    ['regular expression', 'Regex'],
    ['console', 'Log'],
    ['guid', 'Uuid'],
    ['http request', 'HttpRequest'],
    ['format date', 'DateTime'],
    ['json web token', 'Jwt'],
    ['script', 'JavaScript'],
  ])('the palette finds what people call “%s”', (words, type) => {
    const entries = paletteEntries(makeCatalogue(types), EMPTY_DOC);
    expect(found(entries, words)[0]?.type).toBe(type);
  });
});

/** What an edge alone can be blamed for. */
const CODES = [
  'cycle',
  'edge-into-trigger',
  'unknown-port',
  'type-mismatch',
  'loop-entry',
  'loop-return',
  'duplicate-edge',
];
const GRAPHS = 25;

test.runIf(program)(
  'an edge can be drawn exactly where the compiler takes it',
  () => {
    const catalogue = makeCatalogue(nodeTypes());
    // Other graphs each time; the seed is in what a failure shows.
    const first = Math.floor(Math.random() * 1e9);
    const asked: { seed: number; edge: GraphEdge; graph: Graph; ours: string | undefined }[] = [];
    for (let seed = first; seed < first + GRAPHS; seed += 1) {
      const { graph, edges } = makeCase(seed);
      let taken: readonly GraphEdge[] = [];
      for (const edge of [...graph.edges, ...edges]) {
        const drawn = { graph: { nodes: graph.nodes, edges: taken }, definitions: DEFINITIONS };
        const ours = refusal(catalogue, drawn, null, edge)?.code;
        asked.push({ seed, edge, graph: { nodes: graph.nodes, edges: [...taken, edge] }, ours });
        if (ours === undefined) taken = [...taken, edge];
      }
    }
    const answers = findings(
      asked.map(({ graph }) => graph),
      DEFINITIONS,
    );
    const differing = asked.flatMap(({ seed, edge, ours }, place) => {
      const theirs = (answers[place] ?? [])
        .filter(
          ({ code, severity }) => CODES.includes(code) && (severity === 'error' || code === 'duplicate-edge'),
        )
        .map(({ code }) => code);
      const isSame = ours === undefined ? theirs.length === 0 : theirs.includes(ours);
      return isSame ? [] : [{ seed, edge, ours, theirs }];
    });
    expect(answers).toHaveLength(asked.length);
    expect(asked.length).toBeGreaterThan(GRAPHS * 20);
    expect(differing).toEqual([]);
  },
  60_000,
);
