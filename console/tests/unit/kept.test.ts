import { expect, test } from 'vitest';
import { read, size, written } from '$/screens/kept/values';

test('what is shown is read back as what it was', () => {
  for (const value of [
    null,
    true,
    7,
    '',
    'plain',
    '7',
    'null',
    '{"a": 1}',
    'two\nlines',
    [1, 'a'],
    { id: 7, tags: ['x'] },
  ])
    expect(read(written(value))).toEqual(value);
});

test('texts are shown without quotes unless they could be something else', () => {
  expect(written('hello')).toBe('hello');
  expect(written('7')).toBe('"7"');
  expect(size(5)).toBe('5 B');
  expect(size(2560)).toBe('2.5 KiB');
});
