import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { meaningOf } from '../../../src/run/codes';

test('every code of a run that is documented has a meaning', () => {
  const page = readFileSync(new URL('../../../../docs/errors.md', import.meta.url), 'utf8');
  const [, table = ''] = /\n## Of a run\n([^]*?)\n## /.exec(page) ?? [];
  const rows = [...table.matchAll(/^\| (`[^|]+) \|/gm)].map(([, cell = '']) => cell);
  const codes = rows.flatMap((cell) => [...cell.matchAll(/`([A-Z0-9_]+)`/g)].map(([, code = '']) => code));
  expect(codes.length).toBeGreaterThan(40);
  expect(codes.filter((code) => !meaningOf(code))).toEqual([]);
});

test('statuses of services are told apart, and codes of patterns are their own', () => {
  expect(meaningOf('HTTP_404')).toEqual({ cause: 'A service answered 404', advice: 'Look at the URL.' });
  expect(meaningOf('HTTP_403')?.advice).toContain('connection');
  expect(meaningOf('HTTP_503')?.advice).toContain('again');
  expect(meaningOf('OUT_OF_STOCK')).toBeUndefined();
  expect(meaningOf('constructor')).toBeUndefined();
});
