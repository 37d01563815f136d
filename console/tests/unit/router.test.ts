import { describe, expect, it } from 'vitest';
import { href, match, queryText, safeNext } from '$/router';

describe('addresses', () => {
  it('lead to their screens and back', () => {
    const params = { workspace: 'w 1', deployment: 'd/2', run: 'r%3' };
    const path = href('run', params);
    expect(path).toBe('/w/w%201/deployments/d%2F2/runs/r%253');
    expect(match(path)).toEqual({ name: 'run', params });
  });
  it('are told apart by their fixed parts', () => {
    expect(match('/w/1/patterns')?.name).toBe('patterns');
    expect(match('/w/1/patterns/2')?.name).toBe('editor');
    expect(match('/w/1/patterns/2/versions')?.name).toBe('versions');
    expect(match('/')?.name).toBe('root');
    expect(match('/sign-in/')?.name).toBe('signIn');
  });
  it('that are unknown or broken match nothing', () => {
    expect(match('/elsewhere')).toBeUndefined();
    expect(match('/w/1/patterns/2/versions/3')).toBeUndefined();
    expect(match('/w/%E0%A4%A')).toBeUndefined();
  });
  it('carry a query without what is empty', () => {
    expect(queryText({ q: 'a b', tag: '', page: 2, none: undefined })).toBe('?q=a+b&page=2');
    expect(href('signIn', {}, { next: '' })).toBe('/sign-in');
  });
});

describe('where one goes on after signing in', () => {
  it('is a page of this site', () => {
    expect(safeNext('/w/1/runs?status=failure')).toBe('/w/1/runs?status=failure');
  });
  it.each([
    null,
    '',
    'https://evil.example',
    '//evil.example',
    '/\\evil.example',
    'javascript:alert(1)',
    '/docs',
  ])('is not %s', (next) => expect(safeNext(next)).toBeUndefined());
});
