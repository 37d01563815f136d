/** Roles in a workspace. */

import type { Schemas } from '$/api/client';

export type Role = Schemas['WorkspaceRole'];

export const ROLES: readonly { value: Role; label: string }[] = [
  { value: 'viewer', label: 'Viewer' },
  { value: 'editor', label: 'Editor' },
  { value: 'admin', label: 'Admin' },
  { value: 'owner', label: 'Owner' },
];

export const roleName = (role: string): string => ROLES.find((each) => each.value === role)?.label ?? role;

export const ROLE_HELP: Readonly<Record<Role, string>> = {
  viewer: 'Sees everything but secrets.',
  editor: 'Changes, tests and deploys patterns.',
  admin: 'Manages members, environments and secrets too.',
  owner: 'May also rename and delete the workspace.',
};
