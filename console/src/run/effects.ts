/**
 * How far the kinds of effects reach: `nothing` (it computes or waits), `service` (what heddle keeps or expects), `requests` (by
 * its requests only, which are effects of their own), `outside`. A copy of the catalogue's, which `tests/tidy` compares: a
 * run names kinds that no node type has.
 */
const REACH: Readonly<Record<string, 'nothing' | 'service' | 'requests' | 'outside'>> = {
  call: 'outside',
  callback: 'service',
  chat: 'outside',
  component: 'requests',
  hash: 'nothing',
  hmac: 'nothing',
  http: 'outside',
  jwt: 'nothing',
  file: 'service',
  'file-piece': 'service',
  'key-value': 'service',
  mail: 'outside',
  sleep: 'nothing',
  sql: 'outside',
  stream: 'service',
  'stream-read': 'outside',
  wait: 'nothing',
};

/** Whether others than heddle notice an effect of this kind. */
export const reachesOutside = (kind: string): boolean => (REACH[kind] ?? 'outside') === 'outside';

/** Whether having it once more changes anything: outside, or what heddle keeps. */
export const isNoticed = (kind: string): boolean => reachesOutside(kind) || REACH[kind] === 'service';
