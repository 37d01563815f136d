import { expect, test } from 'vitest';
import { Recent } from '../../../src/graph/recent';

test('what was asked for last is kept, and nothing more', () => {
  const recent = new Recent<object, string>(2);
  const [a, b, c] = [{}, {}, {}];
  recent.set(a, 'a');
  recent.set(b, 'b');
  expect(recent.get(a)).toBe('a');
  recent.set(c, 'c');
  expect([recent.get(a), recent.get(b), recent.get(c)]).toEqual(['a', undefined, 'c']);
});
