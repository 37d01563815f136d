/** What environments ask of what is deployed to them. */

import { api, currentWorkspace, type Schemas, unwrap } from './client';
import { query } from './queries';

/** All of them: what an answer leaves out does not hold. */
export type DeployRules = Required<Schemas['DeployRules']>;

/** An environment that asks for nothing. */
export const NO_RULES: DeployRules = { requireTests: false, requireReplay: false, requireApproval: false };

const PATH = '/api/workspaces/{id}/environments/{envId}/rules' as const;
const at = (envId: string) => ({ params: { path: { id: currentWorkspace(), envId } } });

export const fetchRules = async (envId: string): Promise<DeployRules> => ({
  ...NO_RULES,
  ...(await unwrap(api.GET(PATH, at(envId)))),
});

export const deployRules = (environment: () => string) =>
  query(
    () => ['rules', environment()],
    () => fetchRules(environment()),
  );

/** Needs the role admin. */
export const setRules = (envId: string, rules: DeployRules): Promise<unknown> =>
  unwrap(api.PUT(PATH, { ...at(envId), body: rules }));
