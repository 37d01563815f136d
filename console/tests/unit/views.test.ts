import { beforeEach, describe, expect, test, vi } from 'vitest';
import { filtersOf, NAME_MAX, SavedViews } from '$/screens/runs/views.svelte';

/** What the browser keeps. */
let kept: Map<string, string>;
beforeEach(() => {
  kept = new Map();
  vi.stubGlobal('localStorage', {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => kept.set(key, value),
  });
  return () => vi.unstubAllGlobals();
});
const query = (text: string) => new URLSearchParams(text);

describe('saved views of runs', () => {
  test('have the filters of the address, in one order, and nothing else of it', () => {
    expect(filtersOf(query('q=no%20stock&run=1&status=failure&trigger='))).toBe('?status=failure&q=no+stock');
    expect(filtersOf(query(''))).toBe('');
  });

  test('are kept by name, for each workspace, and removed', () => {
    const views = new SavedViews('one');
    views.save(' Failed ', query('status=failure'));
    views.save('By hand', query('trigger=manual'));
    views.save('Failed', query('status=dead_letter'));
    const expected = [
      { name: 'By hand', query: '?trigger=manual' },
      { name: 'Failed', query: '?status=dead_letter' },
    ];
    expect(views.list).toEqual(expected);
    expect(new SavedViews('one').list).toEqual(expected);
    expect(new SavedViews('another').list).toEqual([]);
    views.remove('By hand');
    expect(new SavedViews('one').list.map(({ name }) => name)).toEqual(['Failed']);
  });

  test('of several tabs are all kept', () => {
    const [first, second] = [new SavedViews('one'), new SavedViews('one')];
    first.save('Failed', query('status=failure'));
    second.save('By hand', query('trigger=manual'));
    expect(new SavedViews('one').list.map(({ name }) => name)).toEqual(['By hand', 'Failed']);
  });

  test('are at most so many, and names are cut', () => {
    const views = new SavedViews('one');
    for (let at = 0; at < 30; at += 1) views.save(`${at}`.padStart(100, '0'), query(`q=${at}`));
    views.save('x'.repeat(100), query('q=x'));
    expect(views.list.every(({ name }) => name.length === NAME_MAX)).toBe(true);
    for (let at = 0; at < 30; at += 1) views.save(`view ${at}`, query(`q=${at}`));
    expect(views.list).toHaveLength(20);
    expect(views.isFull).toBe(true);
  });

  test('are none where something else is stored, or nothing can be', () => {
    for (const text of ['{', '{}', '[1, {"name": 1, "query": ""}, null]']) {
      kept.set('heddle.views.one', text);
      expect(new SavedViews('one').list).toEqual([]);
    }
    const refuse = () => {
      throw new Error('There is no storage.');
    };
    vi.stubGlobal('localStorage', { getItem: refuse, setItem: refuse });
    const views = new SavedViews('one');
    views.save('Failed', query('status=failure'));
    expect(views.list).toHaveLength(1);
  });
});
