/** Icons of node types, which the catalogue names, and the kinds that decide their colours. */
import {
  ArrowUpDown,
  Binary,
  Bot,
  Boxes,
  Braces,
  Calendar,
  Circle,
  Clock,
  Code,
  CodeXml,
  Combine,
  CornerDownLeft,
  CornerDownRight,
  Database,
  Diff,
  Dices,
  FileText,
  Fingerprint,
  FoldVertical,
  Funnel,
  Globe,
  Hand,
  HardDrive,
  Hash,
  IdCard,
  Image,
  KeyRound,
  Link,
  ListChecks,
  ListEnd,
  Mail,
  Merge,
  OctagonX,
  PanelTop,
  Pencil,
  Play,
  Puzzle,
  Regex,
  RefreshCw,
  Repeat,
  Reply,
  Route,
  ScrollText,
  Send,
  ShieldCheck,
  Shuffle,
  Sigma,
  Split,
  SquareFunction,
  Table,
  Tag,
  TextQuote,
  Timer,
  TriangleAlert,
  Webhook,
  Workflow,
  type IconNode,
} from 'lucide';
import type { Catalogue } from '../graph/catalogue';
import { definitionOf, type Doc } from '../graph/model';

const BY_NAME: Record<string, IconNode> = {
  'arrow-up-down': ArrowUpDown,
  binary: Binary,
  bot: Bot,
  braces: Braces,
  calendar: Calendar,
  circle: Circle,
  clock: Clock,
  code: Code,
  'code-xml': CodeXml,
  combine: Combine,
  'corner-down-left': CornerDownLeft,
  'corner-down-right': CornerDownRight,
  database: Database,
  diff: Diff,
  dices: Dices,
  'file-text': FileText,
  fingerprint: Fingerprint,
  'fold-vertical': FoldVertical,
  funnel: Funnel,
  globe: Globe,
  hand: Hand,
  hash: Hash,
  'hard-drive': HardDrive,
  'id-card': IdCard,
  image: Image,
  'key-round': KeyRound,
  link: Link,
  'list-checks': ListChecks,
  'list-end': ListEnd,
  mail: Mail,
  merge: Merge,
  'octagon-x': OctagonX,
  'panel-top': PanelTop,
  pencil: Pencil,
  play: Play,
  regex: Regex,
  'refresh-cw': RefreshCw,
  repeat: Repeat,
  reply: Reply,
  route: Route,
  'scroll-text': ScrollText,
  send: Send,
  'shield-check': ShieldCheck,
  shuffle: Shuffle,
  sigma: Sigma,
  split: Split,
  table: Table,
  tag: Tag,
  'text-quote': TextQuote,
  timer: Timer,
  'triangle-alert': TriangleAlert,
  webhook: Webhook,
  workflow: Workflow,
};

const BY_KIND: Record<string, IconNode> = {
  graph: Boxes,
  javascript: Code,
  expression: SquareFunction,
  component: Puzzle,
};

export const iconOfKind = (kind: string): IconNode => own(BY_KIND, kind) ?? Puzzle;

export function iconOf(catalogue: Catalogue, doc: Doc, type: string): IconNode {
  const known = catalogue.byName.get(type);
  if (known) return own(BY_NAME, known.icon) ?? Circle;
  return own(BY_KIND, definitionOf(doc, type)?.kind) ?? Puzzle;
}

function own(icons: Record<string, IconNode>, name: string | undefined): IconNode | undefined {
  return name !== undefined && Object.hasOwn(icons, name) ? icons[name] : undefined;
}

/** What a node is for, which decides its colour. */
export type Kind = 'trigger' | 'flow' | 'data' | 'action' | 'code' | 'human';

const BY_CATEGORY: Record<string, Kind> = {
  triggers: 'trigger',
  flow: 'flow',
  code: 'code',
  effects: 'action',
};

/** The effect of waiting until somebody calls: a person, as a rule. */
const CALLBACK = 'callback';

export function kindOf(catalogue: Catalogue, doc: Doc, type: string): Kind {
  const known = catalogue.byName.get(type);
  if (!known) return definitionOf(doc, type)?.kind === 'graph' ? 'flow' : 'code';
  if (known.effects?.includes(CALLBACK)) return 'human';
  return BY_CATEGORY[known.category] ?? 'data';
}
