/** What a pattern could do, and how that differs from what was deployed. Pure. */

import type { Schemas } from '$/api/client';
import type { Doc } from '$/graph/model';
import { mapTexts } from '$/graph/references';
import { expressionsIn, literalValue } from '$/graph/tokens';

export type Kind =
  'host' | 'issuer' | 'connection' | 'secret' | 'variable' | 'pattern' | 'effect' | 'javascript';

export interface Right {
  kind: Kind;
  name: string;
}

export interface RightChange extends Right {
  change: 'added' | 'removed' | 'same';
}

const KINDS: readonly Kind[] = [
  'host',
  'issuer',
  'connection',
  'secret',
  'variable',
  'pattern',
  'effect',
  'javascript',
];

/** The rights of a graph, with the variables that its expressions name. */
export function rightsOf(rights: Schemas['NeededRights'] | null | undefined, doc: Doc): Right[] {
  const all = (kind: Kind, names: readonly string[]) => names.map((name) => ({ kind, name }));
  return [
    ...all('host', rights?.hosts ?? []),
    ...all('issuer', rights?.issuers ?? []),
    ...all('connection', rights?.connections ?? []),
    ...all('secret', rights?.secrets ?? []),
    ...all('variable', variablesOf(doc)),
    ...all('pattern', rights?.patterns ?? []),
    ...all('effect', rights?.effects ?? []),
    ...(rights?.javascript ? [JAVASCRIPT] : []),
  ];
}

const JAVASCRIPT: Right = { kind: 'javascript', name: '' };

/** A right as refusals list it, such as `host: api.example.com`. */
export function listedRight(text: string): Right {
  const [kind = '', name] = text.split(/: (.*)/s);
  const known = KINDS.find((each) => each === kind);
  return known && name !== undefined ? { kind: known, name } : JAVASCRIPT;
}

/** What a version could reach and the other one could not. All variables of an environment can be read: they are no right. */
export const addedRights = (changes: readonly RightChange[]): Right[] =>
  changes
    .filter(({ kind, change }) => change === 'added' && kind !== 'variable')
    .map(({ kind, name }) => ({ kind, name }));

/** What is new, then what is gone, then what stays; each by kind. */
export function diffRights(before: readonly Right[], after: readonly Right[]): RightChange[] {
  const key = ({ kind, name }: Right) => `${kind} ${name}`;
  const [was, is] = [new Set(before.map(key)), new Set(after.map(key))];
  const sorted = (rights: readonly Right[], change: RightChange['change']) =>
    [...rights]
      .sort((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) || (a.name < b.name ? -1 : 1))
      .map((right) => ({ ...right, change }));
  return [
    ...sorted(
      after.filter((right) => !was.has(key(right))),
      'added',
    ),
    ...sorted(
      before.filter((right) => !is.has(key(right))),
      'removed',
    ),
    ...sorted(
      after.filter((right) => was.has(key(right))),
      'same',
    ),
  ];
}

const EFFECTS: Readonly<Record<string, string>> = {
  http: 'send requests',
  sql: 'use databases',
  mail: 'send e-mail',
  chat: 'ask language models',
  call: 'call other patterns',
  callback: 'wait for callbacks',
  wait: 'wait for a time',
  sleep: 'pause',
  key_value: 'keep values',
  component: 'execute components',
};

/** For example `requests to api.example.com`. */
export function rightText({ kind, name }: Right): string {
  if (kind === 'effect') return EFFECTS[name] ?? name;
  if (kind === 'javascript') return 'execute JavaScript';
  const any = name === '*';
  switch (kind) {
    case 'host':
      return any ? 'requests to any host' : `requests to ${name}`;
    case 'issuer':
      return `senders with tokens by the keys at ${name}`;
    case 'pattern':
      return any ? 'calls of any pattern' : `calls of the pattern ${name}`;
    default:
      return any ? `any ${kind}` : `the ${kind} ${name}`;
  }
}

/** Names of variables in expressions, in alphabetical order. */
export function variablesOf(doc: Doc): string[] {
  const found = new Set<string>();
  mapTexts([doc.graph.nodes, doc.definitions], (text) => {
    if (text.includes('$vars')) for (const name of variablesIn(text)) found.add(name);
    return text;
  });
  return [...found].sort();
}

/** `$vars.NAME`, `$vars?.NAME` and `$vars["NAME"]`. */
function variablesIn(text: string): string[] {
  return expressionsIn(text).flatMap(({ tokens }) => {
    const read = (place: number): string => {
      const token = tokens[place];
      return token ? text.slice(token.start, token.end) : '';
    };
    return tokens.flatMap((_, place) => {
      if (read(place) !== '$vars' || ['.', '?.'].includes(read(place - 1))) return [];
      let at = place + 1;
      if (read(at) === '?.' && read(at + 1) === '[') at += 1;
      if (read(at) === '[') {
        const name = literalValue(read(at + 1));
        return name !== undefined && read(at + 2) === ']' ? [name] : [];
      }
      const isName = (read(at) === '.' || read(at) === '?.') && tokens[at + 1]?.kind === 'word';
      return isName ? [read(at + 1)] : [];
    });
  });
}
