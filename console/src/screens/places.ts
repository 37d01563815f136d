/** The places of a workspace: side navigation, `⌘K` and `g` shortcuts have the same ones. */

import type { IconNode } from 'lucide';
import {
  Activity,
  ChartColumn,
  Database,
  Files,
  Hand,
  House,
  KeyRound,
  Layers,
  Plug,
  Rocket,
  ScrollText,
  Settings,
  Users,
  Workflow,
} from '$/parts/icons';
import type { RouteName } from '$/router';

type WorkspaceRoute = Extract<
  RouteName,
  | 'home'
  | 'patterns'
  | 'runs'
  | 'approvals'
  | 'deployments'
  | 'connections'
  | 'environments'
  | 'members'
  | 'keys'
  | 'settings'
>;

export interface Place {
  route: WorkspaceRoute;
  label: string;
  icon: IconNode;
  /** Pressed after `g`. */
  key: string;
  /** Screens that belong to it. */
  also?: readonly RouteName[];
}

/** Screens behind the settings: of the palette, not of the navigation. */
export const FURTHER_PLACES = [
  { route: 'usage', label: 'Usage and quotas', icon: ChartColumn, words: 'limits fuel' },
  { route: 'audit', label: 'Audit log', icon: ScrollText, words: 'who changed what' },
  { route: 'files', label: 'Files', icon: Files, words: 'uploads' },
  { route: 'kept', label: 'Kept values', icon: Database, words: 'key values state' },
] as const satisfies readonly { route: RouteName; label: string; icon: IconNode; words: string }[];

export const PLACES: readonly Place[] = [
  { route: 'home', label: 'Home', icon: House, key: 'h' },
  { route: 'patterns', label: 'Patterns', icon: Workflow, key: 'p', also: ['editor', 'versions', 'tests'] },
  { route: 'runs', label: 'Runs', icon: Activity, key: 'r', also: ['run'] },
  { route: 'deployments', label: 'Deployments', icon: Rocket, key: 'd', also: ['deployment'] },
  { route: 'approvals', label: 'Approvals', icon: Hand, key: 'a' },
];

export const WORKSPACE_PLACES: readonly Place[] = [
  { route: 'connections', label: 'Connections', icon: Plug, key: 'c' },
  { route: 'environments', label: 'Environments', icon: Layers, key: 'e', also: ['environment'] },
  { route: 'members', label: 'Members', icon: Users, key: 'm' },
  { route: 'keys', label: 'API keys', icon: KeyRound, key: 'k' },
  {
    route: 'settings',
    label: 'Settings',
    icon: Settings,
    key: 's',
    also: ['audit', 'usage', 'kept', 'files'],
  },
];
