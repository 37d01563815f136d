import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bucketsOf } from '$/screens/deployment/buckets';
import { rowsOf, valuesOf } from '$/screens/environments/variables';
import { found, placeOf, score } from '$/screens/palette';
import { browserName } from '$/screens/profile/browser';
import { triggerNames } from '$/screens/triggers';
import { proof, takes, titleOf, usesSecret } from '$/screens/deployment/webhook';
import { timeIn } from '$/screens/deployment/times';
import { byPattern, frequentFailures, rate, successRate } from '$/screens/home/failures';

describe('variables', () => {
  it('keep their type through the form', () => {
    const value = fc.oneof(
      fc.string(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.boolean(),
      fc.constant(null),
    );
    fc.assert(
      fc.property(fc.dictionary(fc.stringMatching(/^[A-Z][A-Z_]{0,9}$/), value), (variables) => {
        // JSON has no negative zero.
        expect(valuesOf(rowsOf(variables))).toEqual(JSON.parse(JSON.stringify(variables)));
      }),
    );
  });
  it('without a name are left out', () => expect(valuesOf([{ name: ' ', value: '1' }])).toEqual({}));
});

describe('webhooks', () => {
  it('say what they take', () => {
    expect(takes({ methods: ['GET', 'POST'], accept: ['json', 'form'] })).toBe(
      'GET or POST with JSON or a form',
    );
  });
  it('need their secret unless anyone may send', () => {
    expect([proof('gitlab'), usesSecret('gitlab')]).toEqual(['Send the secret as GitLab does', true]);
    expect([proof('none'), usesSecret('none')]).toEqual(['Anyone who knows the address', false]);
    const titles = [titleOf('Webhook', undefined), titleOf('orders', undefined), titleOf('Visit', 'form')];
    expect(titles).toEqual(['Webhook', 'Webhook: orders', 'Form: Visit']);
    expect(titleOf('chat', 'chat')).toBe('Chat');
    expect(proof('of a newer server')).toBe('of a newer server');
  });
});

describe('buckets of a period', () => {
  const now = new Date('2026-11-23T02:17:00Z');
  it('are all there, in order, and end now', () => {
    const buckets = bucketsOf(
      [{ bucket: '2026-11-23T01:00:00.000Z', count: 5, success: 3, failure: 1 }],
      '24h',
      now,
    );
    expect(buckets).toHaveLength(24);
    expect(buckets.at(-1)?.time).toBe('2026-11-23T02:00:00.000Z');
    expect(buckets.at(-2)).toEqual({ time: '2026-11-23T01:00:00.000Z', success: 3, failure: 1, other: 1 });
    expect(buckets.at(0)).toEqual({ time: '2026-11-22T03:00:00.000Z', success: 0, failure: 0, other: 0 });
  });
});

describe('the command palette', () => {
  const entry = (group: string, label: string, words?: string) => ({
    group,
    label,
    ...(words && { words }),
    run: () => {},
  });
  const all = [
    entry('Go to', 'Runs'),
    entry('Patterns', 'Order routing'),
    entry('Commands', 'Run now'),
    entry('Go to', 'Members', 'team'),
  ];
  it('shows everything before anything is typed', () => expect(found('', all)).toHaveLength(4));
  it('puts the best group first and keeps groups together', () => {
    expect(found('run', all).map((each) => each.label)).toEqual(['Runs', 'Run now']);
    expect(found('routing', all).map((each) => each.label)).toEqual(['Order routing']);
  });
  it('stays at the entry that was gone to, whatever comes from the server', () => {
    const [runs, order] = [all[0]!, all[1]!];
    expect(placeOf(undefined, all)).toBe(0);
    expect(placeOf(order, all)).toBe(1);
    const anew = [runs, entry('Patterns', 'Alerts'), { ...order }];
    expect(placeOf(order, anew)).toBe(2);
    expect(placeOf(order, [runs])).toBe(0);
    // Of two patterns with one name, the other is another.
    const twins = [
      { ...order, id: 'a' },
      { ...order, id: 'b' },
    ];
    expect(twins.map((twin) => placeOf(twin, twins))).toEqual([0, 1]);
    expect(placeOf({ ...order, id: 'b' }, twins)).toBe(1);
  });
  it('finds by other words, and by words in any order', () => {
    expect(found('team', all)[0]?.label).toBe('Members');
    expect(score('Order routing', 'routing order')).toBeGreaterThan(0);
    expect(score('Order routing', 'xyz')).toBe(0);
  });
});

describe('words', () => {
  it('name triggers and browsers', () => {
    expect(triggerNames([{ type: 'OnWebhook' }, { type: 'OnSchedule' }, { type: 'OnSchedule' }])).toBe(
      'Webhook, Schedule × 2',
    );
    expect(browserName('Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0')).toBe(
      'Firefox on Linux',
    );
    expect(browserName('curl/8.0')).toBe('A browser');
  });
});

describe('the dashboard', () => {
  const figures = {
    deployments: [
      { deploymentId: 'd1', patternId: 'p1', patternName: 'Orders', runs: 9, failures: 3, fuel: 0 },
      { deploymentId: 'd2', patternId: 'p2', patternName: 'Stock', runs: 1, failures: 1, fuel: 0 },
    ],
    failures: [
      { deploymentId: 'd1', code: 'HTTP_FAILED', count: 3 },
      { deploymentId: 'gone', code: 'TIMEOUT', count: 2 },
      { deploymentId: 'd2', code: 'TIMEOUT', count: 1 },
    ],
  };

  it('adds up what a pattern did in several environments, the busiest first', () => {
    const [orders, stock] = figures.deployments;
    const slow = { ...stock!, deploymentId: 'd3', runs: 20, fuel: 5, p95DurationMs: 80 };
    const idle = { ...stock!, deploymentId: 'd4', patternId: 'p4', runs: 0 };
    const found = byPattern([orders!, { ...stock!, p95DurationMs: 90 }, slow, idle]);
    expect(
      found.map((each) => [each.patternName, each.runs, each.failures, each.fuel, each.p95DurationMs]),
    ).toEqual([
      ['Stock', 21, 2, 5, 90],
      ['Orders', 9, 3, 0, null],
    ]);
  });
  it('names the patterns of failures, and leaves out those that are gone', () => {
    expect(frequentFailures(figures, 6)).toEqual([
      { patternId: 'p1', patternName: 'Orders', code: 'HTTP_FAILED', count: 3 },
      { patternId: 'p2', patternName: 'Stock', code: 'TIMEOUT', count: 1 },
    ]);
    expect(frequentFailures(figures, 1)).toHaveLength(1);
  });

  it('tells rates in the unit that gives a number above one', () => {
    expect(rate(90_000, 900_000)).toBe('100 / s');
    expect(rate(30, 900_000)).toBe('2 / min');
    expect(rate(100, 86_400_000)).toBe('4.2 / h');
    expect(rate(3, 7 * 86_400_000)).toBe('0.4 / day');
    expect(successRate(0, 0)).toBeUndefined();
    expect(successRate(8, 2)).toBe(75);
  });
});

it('times of a schedule are those of its zone', () => {
  expect(timeIn('2026-11-23T08:00:00.000Z', 'Europe/Berlin', '0 9 * * *')).toBe('Mon 23 Nov, 09:00');
  expect(timeIn('2026-11-23T08:00:30.000Z', 'UTC', '*/10 * * * * *')).toBe('Mon 23 Nov, 08:00:30');
  expect(timeIn('2026-11-23T08:00:00.000Z', 'Mars', '0 9 * * *')).toBe('Mon 23 Nov, 08:00 UTC');
});
