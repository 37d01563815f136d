import { expect, test, vi } from 'vitest';
import type { PreviewAnswer, PreviewRequest } from '../../../src/inspector/api';
import { durationText, parseDuration } from '../../../src/inspector/duration';
import { isWithin, pathText } from '../../../src/inspector/fields';
import { expressionsIn, PREVIEW_DELAY_MS, Previews, type PreviewState } from '../../../src/inspector/preview';
import { at, isSoleExpression, moved, withValue } from '../../../src/inspector/values';

test('values are changed without touching the rest', () => {
  const before = { a: { b: [1, { c: 2 }] }, d: { e: 1 } };
  const after = withValue(before, ['a', 'b', 1, 'c'], 3) as typeof before;
  expect(after).toEqual({ a: { b: [1, { c: 3 }] }, d: { e: 1 } });
  expect(after.d).toBe(before.d);
  expect(before.a.b[1]).toEqual({ c: 2 });
  expect(withValue({ a: 1, b: 2 }, ['a'], undefined)).toEqual({ b: 2 });
  expect(withValue([1, 2, 3], [1], undefined)).toEqual([1, 3]);
  expect(withValue(undefined, ['a', 0, 'b'], 1)).toEqual({ a: [{ b: 1 }] });
  expect(at(after, ['a', 'b', 1, 'c'])).toBe(3);
  expect(at({}, ['constructor'])).toBeUndefined();
  expect(Object.keys(withValue({}, ['__proto__'], 1) as object)).toEqual(['__proto__']);
});

test('paths are written as the validator does', () => {
  expect(pathText(['cases', 0, 'when'])).toBe('cases[0].when');
  expect(isWithin('cases[0].when', 'cases')).toBe(true);
  expect(isWithin('cases[0].when', 'cases[0]')).toBe(true);
  expect(isWithin('casesMore', 'cases')).toBe(false);
});

test('elements move', () => {
  expect(moved(['a', 'b', 'c'], 0, 2)).toEqual(['b', 'c', 'a']);
  expect(moved(['a', 'b', 'c'], 2, -1)).toEqual(['c', 'a', 'b']);
});

test.each([
  ['90 s', 90_000, '1 min 30 s'],
  ['1h 30min', 5_400_000, '1 h 30 min'],
  ['1.5 hours', 5_400_000, '1 h 30 min'],
  ['30000', 30_000, '30 s'],
  ['2 days', 172_800_000, '2 d'],
  ['0', 0, '0 ms'],
])('a duration: %s', (text, ms, shown) => {
  expect(parseDuration(text)).toBe(ms);
  expect(durationText(ms)).toBe(shown);
});

test.each(['', 'soon', '5 parsecs', '1 h x', '-1'])('no duration: %s', (text) => {
  expect(parseDuration(text)).toBeUndefined();
});

test('one expression alone keeps its type', () => {
  expect(isSoleExpression('{{ a }}')).toBe(true);
  expect(isSoleExpression('{{ a }} {{ b }}')).toBe(false);
  expect(isSoleExpression(' {{ a }}')).toBe(false);
});

test('expressions are found by path', () => {
  expect(expressionsIn({ url: 'x/{{ 1 }}', cases: [{ when: '{{ 2 }}', name: 'a' }], n: 1 })).toEqual({
    url: 'x/{{ 1 }}',
    'cases[0].when': '{{ 2 }}',
  });
});

test('only the newest question is answered, after a moment of rest', async () => {
  vi.useFakeTimers();
  const asked: { request: PreviewRequest; signal: AbortSignal; answer: (it: PreviewAnswer) => void }[] = [];
  const states: PreviewState[] = [];
  const preview = (request: PreviewRequest, signal: AbortSignal) =>
    new Promise<PreviewAnswer>((answer, refuse) => {
      asked.push({ request, signal, answer });
      signal.addEventListener('abort', () => refuse(new DOMException('stopped', 'AbortError')));
    });
  const previews = new Previews({ preview }, (state) => states.push(state));
  const request = (text: string): PreviewRequest => ({
    definition: null,
    nodeId: 'n',
    expressions: { url: text },
  });
  previews.ask(request('{{ 1 }}'));
  vi.advanceTimersByTime(PREVIEW_DELAY_MS - 1);
  previews.ask(request('{{ 12 }}'));
  vi.advanceTimersByTime(PREVIEW_DELAY_MS - 1);
  expect(asked).toHaveLength(0);
  vi.advanceTimersByTime(1);
  expect(asked.map((it) => it.request.expressions['url'])).toEqual(['{{ 12 }}']);
  previews.ask(request('{{ 123 }}'));
  expect(asked[0]?.signal.aborted).toBe(true);
  vi.advanceTimersByTime(PREVIEW_DELAY_MS);
  asked[1]?.answer({ url: { ok: true, value: 123 } });
  await vi.runAllTimersAsync();
  expect(states.at(-1)).toMatchObject({
    busy: false,
    answers: { url: { ok: true, value: 123 } },
    failure: undefined,
  });
  previews.ask(request(''));
  vi.useRealTimers();
});
