/**
 * What the inspector knows of parameters where the catalogue's `x-heddle` says nothing: by their name, and for a few by
 * their place.
 */

import type { Hint } from './json-schema';

/** By `Type.path`, `[]` for elements of lists and `*` for those of maps. */
const BY_PLACE: Record<string, Hint> = {
  'OnWebhook.alias': { literal: true },
  'OnEmail.alias': { literal: true },
  'OnSchedule.cron': { widget: 'cron', literal: true },
  'OnSchedule.timezone': { widget: 'zone', literal: true },
  'Switch.cases[].name': { literal: true },
  'JavaScript.code': { widget: 'code', literal: true },
  'SqlQuery.query': { widget: 'code', language: 'sql', literal: true },
  'CallPattern.patternId': { widget: 'pattern' },
  'Template.text': { widget: 'multiline' },
  'Regex.text': { widget: 'multiline' },
  'Regex.pattern': { widget: 'code', language: 'regex', literal: true },
  'Html.html': { widget: 'code', language: 'html' },
  'Markdown.value': { widget: 'code', language: 'markdown' },
  'SendEmail.text': { widget: 'multiline' },
  'SendEmail.html': { widget: 'code', language: 'html' },
  'ChatCompletion.prompt': { widget: 'multiline' },
  'ChatCompletion.system': { widget: 'multiline' },
  'ChatCompletion.jsonSchema': { widget: 'json' },
  'ChatCompletion.connection': { widget: 'connection', connectionKinds: ['chat'] },
  'SqlQuery.connection': { widget: 'connection', connectionKinds: ['sql'] },
  'SendEmail.connection': { widget: 'connection', connectionKinds: ['smtp'] },
  'HttpRequest.connection': { widget: 'connection', connectionKinds: ['http'] },
  'HttpRequest.url': { widget: 'url' },
  'HttpRequest.followRedirects': { group: 'advanced' },
  'HttpRequest.acceptStatuses': { group: 'advanced' },
  'HttpRequest.responseType': { group: 'advanced' },
  'HttpRequest.timeoutMs': { widget: 'duration', group: 'advanced' },
  'HttpRequest.pagination': { group: 'advanced' },
  'DateTime.timezone': { widget: 'zone', offsets: true },
  'Html.selectors.*.selector': { widget: 'code', language: 'css-selector' },
  'Jwt.expiresInSeconds': { widget: 'duration', unit: 'seconds' },
  'Jwt.leewaySeconds': { widget: 'duration', unit: 'seconds', group: 'advanced' },
  'Hmac.secret': { widget: 'secret' },
  'Jwt.secret': { widget: 'secret' },
  'HttpRequest.auth.basic.password': { widget: 'secret' },
  'HttpRequest.auth.bearer': { widget: 'secret' },
  'HttpRequest.auth.header.value': { widget: 'secret' },
  'HttpRequest.pagination.items': { widget: 'path' },
  'HttpRequest.pagination.cursor': { widget: 'path' },
  'PickFields.fields[]': { widget: 'path' },
  'If.condition': { widget: 'expression' },
  'Filter.condition': { widget: 'expression', scope: 'item' },
  'Switch.cases[].when': { widget: 'expression', scope: 'deferred' },
  'Loop.condition': { widget: 'expression', scope: 'deferred' },
  'Sort.by': { widget: 'expression', scope: 'pair' },
  'Sort.by[].value': { widget: 'path', scope: 'item' },
  'Merge.key': { widget: 'path', scope: 'item' },
  'Merge.rightKey': { widget: 'path', scope: 'item' },
  'Unique.by': { widget: 'path', scope: 'item' },
  'Aggregate.groupBy[]': { widget: 'path', scope: 'item' },
  'Aggregate.values.*.value': { widget: 'path', scope: 'item' },
  'Join.leftKey': { widget: 'path', scope: 'item' },
  'Join.rightKey': { widget: 'path', scope: 'item' },
  'Compare.key': { widget: 'path', scope: 'item' },
};

/** By name, wherever it stands. */
const BY_NAME: Record<string, Hint> = {
  connection: { widget: 'connection' },
  timezone: { widget: 'zone' },
};

/** What is known of a parameter; nothing for most. */
export function derivedHint(place: string): Hint {
  const name = place.slice(place.lastIndexOf('.') + 1);
  const byName = BY_NAME[name] ?? (name.endsWith('Ms') ? { widget: 'duration' } : {});
  return { ...byName, ...BY_PLACE[place] };
}
