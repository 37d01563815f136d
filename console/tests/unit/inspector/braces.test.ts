import { describe, expect, test } from 'vitest';
import { typedBraces } from '../../../src/inspector/braces';

/** Types keys at `|` one by one, as a field does; the text with the caret. */
function typed(text: string, keys: string): string {
  let at = text.indexOf('|');
  let now = text.replace('|', '');
  for (const key of keys) {
    const done = typedBraces(now, at, key) ?? { from: at, to: at, insert: key, caret: at + 1 };
    now = now.slice(0, done.from) + done.insert + now.slice(done.to);
    at = done.caret;
  }
  return `${now.slice(0, at)}|${now.slice(at)}`;
}

describe('braces', () => {
  test.each([
    ['|', '{{', '{{ | }}'],
    ['|', '{{ $input.id', '{{ $input.id| }}'],
    ['|', '{{$input.id', '{{ $input.id| }}'],
    ['|', '{{ $input.id }}', '{{ $input.id }}|'],
    ['|', '{{ $input.id}}', '{{ $input.id }}|'],
    ['Order |', '{{ $input.id }} came', 'Order {{ $input.id }} came|'],
    ['{{ $input.id| }}', '}', '{{ $input.id }|}'],
    // An object's own brace is written.
    ['{{ ({ a: 1| }}', '}', '{{ ({ a: 1}| }}'],
    // Within an expression, braces begin no other.
    ['{{ {| }}', '{', '{{ {{| }}'],
    ['|', '{ a }', '{ a }|'],
  ])('%s, then %s', (text, keys, expected) => {
    expect(typed(text, keys)).toBe(expected);
  });
});
