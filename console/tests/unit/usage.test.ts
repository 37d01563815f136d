import { describe, expect, it } from 'vitest';
import type { QuotaStanding, UsageSpan } from '$/api/usage';
import { bytes } from '$/parts/bytes';
import { daysOf, share, title, totals, used } from '$/screens/usage/figures';

const quota = (changes: Partial<QuotaStanding>): QuotaStanding => ({
  name: 'runsPerMonth',
  counts: 'runs per month',
  limit: 100,
  used: 12,
  isNearlyUsed: false,
  period: 'month',
  ...changes,
});

const span = (beganAt: string, changes: Partial<UsageSpan> = {}): UsageSpan => ({
  tenantId: '01932c07-209e-7f64-b0a3-5c1f1b0e6f3a',
  beganAt,
  runs: 3,
  failedRuns: 1,
  fuel: 1_500_000,
  memoryMibSeconds: 0.5,
  effects: 2,
  egressBytes: 2_048,
  storedBytes: 0,
  testRuns: 0,
  testFuel: 0,
  testMemoryMibSeconds: 0,
  testEffects: 0,
  testEgressBytes: 0,
  ...changes,
});

describe('quotas', () => {
  it('say how much is used, in bytes where they count bytes', () => {
    expect(used(quota({}))).toBe('12 of 100');
    expect(used(quota({ limit: null }))).toBe('12, no limit');
    expect(used(quota({ used: null }))).toBe('at most 100');
    expect(used(quota({ used: null, limit: null }))).toBe('no limit');
    expect(used(quota({ name: 'storageBytes', used: 1_536, limit: 1_048_576 }))).toBe('1.5 KiB of 1 MiB');
    expect(title(quota({}))).toBe('Runs per month');
    expect(title(quota({ name: 'storageBytes', counts: 'bytes of storage' }))).toBe('Storage');
  });

  it('are used in part, or wholly where nothing is allowed', () => {
    expect(share(quota({}))).toBe(0.12);
    expect(share(quota({ used: 500 }))).toBe(1);
    expect(share(quota({ used: 0, limit: 0 }))).toBe(1);
    expect(share(quota({ limit: null }))).toBeUndefined();
  });
});

describe('a month', () => {
  it('has a bar for each day so far, also for those without runs', () => {
    const days = daysOf([span('2026-11-02T00:00:00.000Z')], new Date('2026-11-03T12:00:00Z'));
    expect(days.map((day) => [day.time.slice(0, 10), day.success, day.failure])).toEqual([
      ['2026-11-01', 0, 0],
      ['2026-11-02', 2, 1],
      ['2026-11-03', 0, 0],
    ]);
  });

  it('has sums', () => {
    const sums = totals([span('2026-11-01T00:00:00.000Z'), span('2026-11-02T00:00:00.000Z')]);
    expect(Object.fromEntries(sums.map((sum) => [sum.label, sum.value]))).toEqual({
      Runs: '6',
      Failed: '2',
      Fuel: '3 M',
      Memory: '1 MiB s',
      Effects: '4',
      'Data sent': '4 KiB',
    });
  });

  it('writes bytes in the largest unit of which there is one', () => {
    expect([0, 1_023, 1_024, 1_073_741_824].map(bytes)).toEqual(['0 bytes', '1023 bytes', '1 KiB', '1 GiB']);
  });
});
