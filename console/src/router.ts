/** The addresses of the console. Pure: `tests/unit/router.test.ts`; `location.svelte.ts` is where one is. */

/** Every screen's address. */
export const ROUTES = {
  root: '/',
  signIn: '/sign-in',
  signInReturn: '/sign-in/return',
  connectionReturn: '/connections/return',
  register: '/register',
  join: '/join',
  forgotPassword: '/forgot-password',
  resetPassword: '/reset-password',
  verifyEmail: '/verify-email',
  home: '/w/:workspace',
  patterns: '/w/:workspace/patterns',
  editor: '/w/:workspace/patterns/:pattern',
  versions: '/w/:workspace/patterns/:pattern/versions',
  tests: '/w/:workspace/patterns/:pattern/tests',
  deployments: '/w/:workspace/deployments',
  deployment: '/w/:workspace/deployments/:deployment',
  run: '/w/:workspace/deployments/:deployment/runs/:run',
  runs: '/w/:workspace/runs',
  approvals: '/w/:workspace/approvals',
  connections: '/w/:workspace/connections',
  environments: '/w/:workspace/environments',
  environment: '/w/:workspace/environments/:environment',
  members: '/w/:workspace/members',
  keys: '/w/:workspace/keys',
  settings: '/w/:workspace/settings',
  audit: '/w/:workspace/audit',
  usage: '/w/:workspace/usage',
  kept: '/w/:workspace/kept-values',
  files: '/w/:workspace/files',
  profile: '/w/:workspace/profile',
} as const;

export type RouteName = keyof typeof ROUTES;

type Names<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | Names<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

/** The parameters of a route. */
export type Params<Name extends RouteName> = Record<Names<(typeof ROUTES)[Name]>, string>;

/** Parameters of whichever route. */
export type AnyParams = Readonly<Record<string, string>>;

/** Values of a query; what is empty is left out. */
export type Query = Readonly<Record<string, string | number | undefined>>;

const segments = (path: string): string[] => path.split('/').filter(Boolean);
const TABLE = Object.entries(ROUTES).map(([name, path]) => ({
  name: name as RouteName,
  parts: segments(path),
}));

/** The route of a path, and its parameters. */
export function match(path: string): { name: RouteName; params: AnyParams } | undefined {
  let given: string[];
  try {
    given = segments(path).map(decodeURIComponent);
  } catch {
    return undefined;
  }
  for (const { name, parts } of TABLE) {
    if (parts.length !== given.length) continue;
    const params: Record<string, string> = {};
    const isMatch = parts.every((part, at) => {
      if (!part.startsWith(':')) return part === given[at];
      params[part.slice(1)] = given[at] ?? '';
      return true;
    });
    if (isMatch) return { name, params };
  }
  return undefined;
}

/** `?a=1&b=2`, or nothing. */
export function queryText(query: Query): string {
  const kept = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const text = new URLSearchParams(kept.map(([name, value]) => [name, String(value)])).toString();
  return text && `?${text}`;
}

/** The address of a screen. */
export function href<Name extends RouteName>(name: Name, params: Params<Name>, query: Query = {}): string {
  const values: AnyParams = params;
  const parts = segments(ROUTES[name]).map((part) =>
    part.startsWith(':') ? encodeURIComponent(values[part.slice(1)] ?? '') : part,
  );
  return `/${parts.join('/')}${queryText(query)}`;
}

/** A path of this site to go on to after signing in; anything else is not followed. */
export function safeNext(next: string | null): string | undefined {
  if (!next?.startsWith('/') || next.startsWith('//') || next.includes('\\')) return undefined;
  return match(next.split(/[?#]/)[0] ?? '') ? next : undefined;
}
