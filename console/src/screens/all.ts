/** Every screen, loaded when it is gone to. */

import type { Component } from 'svelte';
import type { RouteName } from '$/router';

// Screens get the parameters of their route as properties; their types are checked where they are declared.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Load = () => Promise<{ default: Component<any> }>;

/** What people see who need not be signed in, besides signing in. */
export const ENTRANCES: Partial<Record<RouteName, Load>> = {
  join: () => import('./people/Join.svelte'),
  forgotPassword: () => import('./people/ForgotPassword.svelte'),
  resetPassword: () => import('./people/ResetPassword.svelte'),
  verifyEmail: () => import('./people/VerifyEmail.svelte'),
};

export const SCREENS: Partial<Record<RouteName, Load>> = {
  home: () => import('./home/Home.svelte'),
  patterns: () => import('./patterns/Patterns.svelte'),
  editor: () => import('./editor/Editor.svelte'),
  run: () => import('./run/Run.svelte'),
  versions: () => import('./versions/Versions.svelte'),
  tests: () => import('./tests/Tests.svelte'),
  runs: () => import('./runs/Runs.svelte'),
  approvals: () => import('./approvals/Approvals.svelte'),
  deployments: () => import('./deployments/Deployments.svelte'),
  deployment: () => import('./deployment/Deployment.svelte'),
  connections: () => import('./connections/Connections.svelte'),
  environments: () => import('./environments/Environments.svelte'),
  environment: () => import('./environments/Environment.svelte'),
  members: () => import('./members/Members.svelte'),
  keys: () => import('./keys/Keys.svelte'),
  audit: () => import('./audit/Audit.svelte'),
  usage: () => import('./usage/Usage.svelte'),
  kept: () => import('./kept/KeptValues.svelte'),
  files: () => import('./files/Files.svelte'),
  settings: () => import('./settings/Settings.svelte'),
  profile: () => import('./profile/Profile.svelte'),
};
