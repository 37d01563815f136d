/** A difference in words, for people: nodes by their labels, fields by their names. Pure. */

import { typeTitle, type Catalogue } from '$/graph/catalogue';
import { levelDiff, type DocDiff, type FieldDiff, type GraphDiff, type NodeDiff } from '$/graph/diff';
import { edgeKey, indexOf, nodeName, type DefinitionName } from '$/graph/model';
import { labelOf } from '$/inspector/schema';
import { linesOf, type Line } from './lines';

/** What a change is about: what a pattern does, how things are called, or how it is drawn. */
export type Group = 'meaning' | 'names' | 'layout';

export interface ChangeText {
  key: string;
  group: Group;
  change: NodeDiff['change'];
  sign: string;
  text: string;
  fields: readonly FieldText[];
  /** The graph that it is in. */
  definition: DefinitionName;
  /** The nodes to show for it. */
  nodes: readonly string[];
}

export interface FieldText {
  name: string;
  before: string;
  after: string;
  /** Instead, for texts of several lines. */
  lines?: readonly Line[];
}

export const SIGNS: Readonly<Record<NodeDiff['change'], string>> = {
  added: '+',
  removed: '−',
  changed: '~',
  renamed: '“”',
  moved: '↔',
};
const VERBS = { added: 'Added', removed: 'Removed', changed: 'Changed' } as const;
/** Names that are written out in one sentence. */
const NAMES_MAX = 6;
/** Longer values have lines of their own. */
const SHORT = 70;

const plural = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

/** For example `1 node added, 2 changed; 1 edge removed; settings changed`. */
export function countsText(diff: DocDiff): string {
  const counts = new Map<string, number>();
  const count = (what: string, change: string) =>
    counts.set(`${what} ${change}`, (counts.get(`${what} ${change}`) ?? 0) + 1);
  const graphs = [diff.graph, ...[...diff.definitions.values()].flatMap(({ graph }) => graph ?? [])];
  for (const { change } of graphs.flatMap(({ nodes }) => [...nodes.values()])) count('node', change);
  for (const change of graphs.flatMap(({ edges }) => [...edges.values()])) count('edge', change);
  for (const { change } of diff.definitions.values()) count('definition', change);
  const said = ['node', 'edge', 'definition'].flatMap((what) => {
    const found = ['added', 'changed', 'removed', 'renamed', 'moved'].flatMap((change) => {
      const number = counts.get(`${what} ${change}`);
      return number ? [{ number, change }] : [];
    });
    // What is counted is said once.
    const parts = found.map(({ number, change }, at) =>
      at === 0 ? `${plural(number, what)} ${change}` : `${number} ${change}`,
    );
    return parts.length > 0 ? [parts.join(', ')] : [];
  });
  if (graphs.some(({ settings }) => settings.length > 0)) said.push('settings changed');
  const notes = graphs.reduce((sum, graph) => sum + graph.notes, 0);
  if (notes > 0) said.push(`${plural(notes, 'note')} changed`);
  return said.join('; ') || 'no difference';
}

/** All changes: the pattern's own graph first, then its definitions; in each what it does, names, layout. */
export function changeTexts(diff: DocDiff, catalogue: Catalogue): ChangeText[] {
  const definitions = [...diff.definitions].flatMap(([name, { change, fields, graph }]) => {
    const own: ChangeText = {
      key: `definition ${name}`,
      group: 'meaning',
      change,
      sign: SIGNS[change],
      text: `${VERBS[change]} the node type “${name}”`,
      fields: change === 'changed' ? fields.map(fieldText) : [],
      definition: null,
      nodes: [],
    };
    const inner = graph ? graphTexts(diff, name, catalogue) : [];
    // Of a composite it is enough to say what changed in it.
    return change === 'changed' && fields.length === 0 ? inner : [own, ...inner];
  });
  return [...graphTexts(diff, null, catalogue), ...definitions];
}

function graphTexts(diff: DocDiff, definition: DefinitionName, catalogue: Catalogue): ChangeText[] {
  const graph = levelDiff(diff, definition);
  const at = definition ?? '';
  return [
    ...settingTexts(graph, definition),
    ...nodeTexts(graph, definition, catalogue),
    ...edgeTexts(graph, definition),
    ...nameTexts(graph, definition),
    ...layoutTexts(graph, definition),
  ].map((text) => ({ ...text, key: `${at} ${text.key}` }));
}

function settingTexts(graph: GraphDiff, definition: DefinitionName): ChangeText[] {
  if (graph.settings.length === 0) return [];
  return [
    {
      key: 'settings',
      group: 'meaning',
      change: 'changed',
      sign: SIGNS.changed,
      text: 'Changed settings',
      fields: graph.settings.map(fieldText),
      definition,
      nodes: [],
    },
  ];
}

function nodeTexts(graph: GraphDiff, definition: DefinitionName, catalogue: Catalogue): ChangeText[] {
  return [...graph.nodes].flatMap(([id, diff]): ChangeText[] => {
    const node = indexOf(graph.union).nodes.get(id);
    const { change } = diff;
    if (!node || change === 'renamed' || change === 'moved') return [];
    const type = typeTitle(catalogue, node.type);
    const name = nodeName(node);
    return [
      {
        key: `node ${id}`,
        group: 'meaning',
        change,
        sign: SIGNS[change],
        text: `${VERBS[change]} “${name}”${type === name ? '' : ` (${type})`}`,
        fields: diff.fields.map(fieldText),
        definition,
        nodes: [id],
      },
    ];
  });
}

function edgeTexts(graph: GraphDiff, definition: DefinitionName): ChangeText[] {
  const { nodes, edges } = indexOf(graph.union);
  return [...graph.edges].flatMap(([key, change]): ChangeText[] => {
    const edge = edges.get(key);
    if (!edge) return [];
    const end = (id: string, port: string | null | undefined) => {
      const node = nodes.get(id);
      return `“${node ? nodeName(node) : id}”${port ? ` (${port})` : ''}`;
    };
    const from = end(edge.source, edge.sourceHandle);
    const to = end(edge.target, edge.targetHandle);
    return [
      {
        key: `edge ${edgeKey(edge)}`,
        group: 'meaning',
        change,
        sign: SIGNS[change],
        text: `${VERBS[change]} the edge ${from} → ${to}`,
        fields: [],
        definition,
        nodes: [edge.source, edge.target],
      },
    ];
  });
}

function nameTexts(graph: GraphDiff, definition: DefinitionName): ChangeText[] {
  return [...graph.nodes].flatMap(([id, { label }]): ChangeText[] =>
    label
      ? [
          {
            key: `name ${id}`,
            group: 'names',
            change: 'renamed',
            sign: SIGNS.renamed,
            text: `“${label.before || id}” is now called “${label.after || id}”`,
            fields: [],
            definition,
            nodes: [id],
          },
        ]
      : [],
  );
}

function layoutTexts(graph: GraphDiff, definition: DefinitionName): ChangeText[] {
  const { nodes } = indexOf(graph.union);
  const moved = [...graph.nodes].flatMap(([id, diff]) => (diff.moved ? [id] : []));
  const names = moved.map((id) => {
    const node = nodes.get(id);
    return `“${node ? nodeName(node) : id}”`;
  });
  const shown =
    names.length > NAMES_MAX
      ? `${names.slice(0, NAMES_MAX).join(', ')} and ${names.length - NAMES_MAX} more`
      : names.join(', ');
  const text = (key: string, said: string, change: 'changed' | 'moved', of: readonly string[]) => ({
    key,
    group: 'layout' as const,
    change,
    sign: SIGNS[change],
    text: said,
    fields: [],
    definition,
    nodes: of,
  });
  return [
    ...(moved.length ? [text('moved', `Moved ${shown}`, 'moved', moved)] : []),
    ...(graph.notes
      ? [text('notes', `Changed ${graph.notes === 1 ? 'a note' : `${graph.notes} notes`}`, 'changed', [])]
      : []),
  ];
}

/** `parameters.headers.Accept` becomes `Headers › Accept`. */
export function fieldName(field: string): string {
  const [first = '', ...rest] = field.replace(/^parameters\./, '').split('.');
  const [name = '', ...index] = first.split(/(?=\[)/);
  return [labelOf(name) + index.join(''), ...rest].join(' › ');
}

function fieldText({ field, before, after }: FieldDiff): FieldText {
  const name = fieldName(field);
  const [was, is] = [valueText(before), valueText(after)];
  const isLong = [was, is].some((text) => text.includes('\n') || text.length > SHORT);
  if (!isLong) return { name, before: was, after: is };
  const text = (value: unknown, said: string) => (value === undefined ? '' : said);
  return {
    name,
    before: was,
    after: is,
    lines: linesOf(text(before, was), text(after, is)).filter(({ kind, text }) => kind === 'same' || text),
  };
}

export function valueText(value: unknown): string {
  if (value === undefined) return 'not set';
  if (value === '') return 'empty';
  if (typeof value === 'string') return value;
  const short = JSON.stringify(value);
  return short.length > SHORT ? JSON.stringify(value, null, 2) : short;
}
