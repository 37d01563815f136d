import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isKey, keyLabels } from '$/parts/keys';
import { beside, nextItem } from '$/parts/menu';
import { ago, count, duration } from '$/parts/time';
import { windowOf } from '$/parts/window';
import { hasRoom, linePath, niceMax } from '$/parts/chart';

describe('the rows that are drawn', () => {
  it('cover what is visible, and are few', () => {
    fc.assert(
      fc.property(
        fc.nat(1e6),
        fc.nat(2000),
        fc.integer({ min: 20, max: 80 }),
        fc.nat(50_000),
        (top, height, row, all) => {
          const { from, to } = windowOf(top, height, row, all);
          expect(from).toBeGreaterThanOrEqual(0);
          expect(to).toBeLessThanOrEqual(all);
          expect(to - from).toBeLessThanOrEqual(Math.ceil(height / row) + 18);
          const firstVisible = Math.floor(top / row);
          if (firstVisible < all && height > 0) {
            expect(from).toBeLessThanOrEqual(firstVisible);
            expect(to).toBeGreaterThanOrEqual(Math.min(all, Math.ceil((top + height) / row)));
          }
        },
      ),
    );
  });
});

describe('times', () => {
  const now = Date.parse('2026-11-23T12:00:00Z');
  it.each([
    ['2026-11-23T11:59:55Z', 'now'],
    ['2026-11-23T11:59:30Z', '30s ago'],
    ['2026-11-23T11:57:00Z', '3m ago'],
    ['2026-11-23T14:00:00Z', 'in 2h'],
    ['2026-11-22T12:00:00Z', 'yesterday'],
  ])('%s is %s', (time, said) => expect(ago(time, now)).toBe(said));
  it.each([
    [null, '–'],
    [0, '< 1 ms'],
    [480, '480 ms'],
    [2100, '2.1 s'],
    [185_000, '3 min 5 s'],
    [7_500_000, '2 h 5 min'],
  ])('%s ms are %s', (ms, said) => expect(duration(ms)).toBe(said));
  it('and counts are short', () => {
    expect(count(12_340)).toBe('12,340');
    expect(count(1_234_000)).toBe('1.2 M');
  });
});

describe('keys', () => {
  const event = (
    key: string,
    held: Partial<Record<'ctrlKey' | 'metaKey' | 'shiftKey' | 'altKey', boolean>> = {},
  ) => ({ key, ctrlKey: false, metaKey: false, shiftKey: false, altKey: false, ...held }) as KeyboardEvent;
  it('are shortcuts with exactly their modifiers', () => {
    expect(isKey(event('k', { ctrlKey: true }), 'mod+k')).toBe(true);
    expect(isKey(event('K', { ctrlKey: true, shiftKey: true }), 'mod+k')).toBe(false);
    expect(isKey(event('k'), 'mod+k')).toBe(false);
    expect(isKey(event('Z', { ctrlKey: true, shiftKey: true }), 'mod+shift+z')).toBe(true);
  });
  it('that are signs need Shift or not, as the layout has it', () => {
    expect(isKey(event('?', { shiftKey: true }), '?')).toBe(true);
    expect(isKey(event('/'), '/')).toBe(true);
  });
  it('are written as on a keyboard', () => {
    expect(keyLabels('mod+shift+z')).toEqual(['Ctrl', 'Shift', 'Z']);
    expect(keyLabels('+')).toEqual(['+']);
    expect(keyLabels('mod++')).toEqual(['Ctrl', '+']);
  });
});

describe('a menu', () => {
  const window = { width: 400, height: 300 };
  const button = (left: number, top: number) => ({
    left,
    top,
    right: left + 30,
    bottom: top + 30,
    width: 30,
    height: 30,
  });
  const menu = { width: 160, height: 120 };
  it('is below its button, aligned with it', () => {
    expect(beside(button(200, 20), menu, window, 'start')).toEqual({ left: 200, top: 54 });
    expect(beside(button(200, 20), menu, window, 'end')).toEqual({ left: 70, top: 54 });
  });
  it('stays inside the window', () => {
    expect(beside(button(360, 260), menu, window, 'start')).toEqual({ left: 232, top: 136 });
    expect(beside(button(0, 20), menu, window, 'end').left).toBe(8);
  });
  it('is walked through by arrows, Home, End and first letters', () => {
    const labels = ['Open', 'Clone', 'Copy', 'Delete'];
    expect(nextItem('ArrowDown', 3, labels)).toBe(0);
    expect(nextItem('ArrowUp', 0, labels)).toBe(3);
    expect(nextItem('End', 0, labels)).toBe(3);
    expect(nextItem('c', 0, labels)).toBe(1);
    expect(nextItem('c', 1, labels)).toBe(2);
    expect(nextItem('x', 1, labels)).toBeUndefined();
    expect(nextItem('Escape', 1, labels)).toBeUndefined();
  });
});

describe('charts', () => {
  it('leave a label out that would end beyond the chart', () => {
    expect(hasRoom('07:00', 280, 300)).toBe(true);
    expect(hasRoom('07:00', 290, 300)).toBe(false);
  });
  it('end their axes at round numbers', () => {
    expect([1, 3, 7, 12, 40, 99, 101].map(niceMax)).toEqual([1, 5, 10, 20, 50, 100, 200]);
  });

  it('break a line where there is no value', () => {
    const path = linePath(
      [1, 2, null, 3],
      (index) => index * 10,
      (value) => 100 - value,
    );
    expect(path).toBe('M0.0 99.0L10.0 98.0M30.0 97.0');
    expect(
      linePath(
        [null, null],
        (index) => index,
        (value) => value,
      ),
    ).toBe('');
  });
});
