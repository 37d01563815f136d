/** The palette's entries, found by what people call things. Pure. */
import { inWords, type Catalogue, type NodeType } from '../graph/catalogue';
import type { Doc } from '../graph/model';
import type { OwnKind } from '../graph/own-types';

export interface PaletteEntry {
  readonly type: string;
  readonly title: string;
  readonly detail: string;
  readonly group: string;
  readonly keywords: readonly string[];
}

/** All types that a document can use, the pattern's own first. */
export function paletteEntries(catalogue: Catalogue, doc: Doc): PaletteEntry[] {
  const own = Object.entries(doc.definitions).map(([name, definition]): PaletteEntry => {
    const kinds: Record<string, string> = {
      graph: 'Composite of this pattern',
      javascript: 'JavaScript of this pattern',
      expression: 'Expressions of this pattern',
      component: 'Component of this pattern',
    };
    const detail = kinds[definition.kind] ?? 'Node type of this pattern';
    return { type: name, title: name, detail, group: 'This pattern', keywords: ['custom', definition.kind] };
  });
  return [...own, ...catalogue.types.map(entry), ...NEW];
}

const NEW_TYPE = 'new ';
/** What begins a node type of the pattern's own. Their names are none that a type can have in the catalogue. */
const NEW: readonly PaletteEntry[] = (
  [
    ['graph', 'New composite', 'A graph within a node', 'subworkflow subflow group function reuse'],
    ['javascript', 'New JavaScript type', 'A module that several nodes share', 'code script function'],
    ['expression', 'New expression type', 'Outputs that expressions compute', 'formula function calculate'],
    ['component', 'New component…', 'A WebAssembly file, of Rust, Go or C', 'wasm upload file plugin'],
  ] satisfies [OwnKind, string, string, string][]
).map(([kind, title, detail, keywords]) => ({
  type: NEW_TYPE + kind,
  title,
  detail,
  group: 'Of your own',
  keywords: ['custom', 'own', 'definition', ...keywords.split(' ')],
}));

/** The kind of type that an entry begins; undefined for types that are there. */
export function newKind(type: string): OwnKind | undefined {
  return NEW.some((entry) => entry.type === type) ? (type.slice(NEW_TYPE.length) as OwnKind) : undefined;
}

function entry(type: NodeType): PaletteEntry {
  const group = type.group ?? type.category;
  return {
    type: type.type,
    title: type.title ?? inWords(type.type),
    detail: firstSentence(type.description),
    group: group.charAt(0).toUpperCase() + group.slice(1),
    keywords: type.keywords ?? [],
  };
}

/** Up to the first full stop that ends a sentence; without marks of code. */
export function firstSentence(text: string): string {
  const end = /[.:;](?=\s|$)/.exec(text);
  return (end ? text.slice(0, end.index) : text).replaceAll('`', '');
}

/** Entries that a search finds, best first; all of them, in their order, without one. */
export function found<
  T extends { title: string; detail?: string; keywords?: readonly string[]; type?: string },
>(entries: readonly T[], search: string): T[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [...entries];
  return entries
    .map((entry, place) => ({ entry, place, score: total(entry, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || a.place - b.place)
    .map(({ entry }) => entry);
}

/** 0 unless every word is found. */
function total(entry: Parameters<typeof found>[0][number], words: readonly string[]): number {
  const scores = words.map((word) => wordScore(entry, word));
  if (scores.includes(0)) return 0;
  const bonus = words.length > 1 ? phraseScore(entry, words.join(' ')) : 0;
  return scores.reduce((sum, score) => sum + score, bonus);
}

/** Words that belong together, such as "api call", are worth more than each of them somewhere. */
function phraseScore(entry: Parameters<typeof found>[0][number], phrase: string): number {
  if (entry.title.toLowerCase() === phrase) return 300;
  const keywords = (entry.keywords ?? []).map((keyword) => keyword.toLowerCase());
  if (keywords.includes(phrase)) return 200;
  return keywords.some((keyword) => keyword.startsWith(phrase)) ? 100 : 0;
}

function wordScore(entry: Parameters<typeof found>[0][number], word: string): number {
  const title = entry.title.toLowerCase();
  const keywords = (entry.keywords ?? []).map((keyword) => keyword.toLowerCase());
  if (title === word) return 100;
  if (title.startsWith(word)) return 80;
  if (keywords.includes(word)) return 70;
  if (title.split(/[\s_-]+/).some((part) => part.startsWith(word))) return 60;
  if (entry.type?.toLowerCase().startsWith(word)) return 55;
  if (keywords.some((keyword) => keyword.split(' ').some((part) => part.startsWith(word)))) return 40;
  if (title.includes(word) || entry.type?.toLowerCase().includes(word)) return 30;
  return entry.detail?.toLowerCase().includes(word) ? 10 : 0;
}
