/** Failures by pattern and code, with the names of the patterns. Pure: `tests/unit/screens.test.ts`. */

import type { Schemas } from '$/api/client';

export interface Failure {
  patternId: string;
  patternName: string;
  code: string;
  count: number;
}

type Figures = Pick<Schemas['Figures'], 'failures' | 'deployments'>;

/** The most frequent ones; those of deployments that are gone are left out. */
export function frequentFailures({ failures, deployments }: Figures, shown: number): Failure[] {
  const named = new Map(deployments.map((each) => [each.deploymentId, each]));
  return failures
    .flatMap(({ deploymentId, code, count }) => {
      const of = named.get(deploymentId);
      return of ? [{ patternId: of.patternId, patternName: of.patternName, code, count }] : [];
    })
    .slice(0, shown);
}

/** The longer duration; null if nothing has ended. */
const slower = (one: number | null | undefined, other: number | null | undefined): number | null =>
  one == null ? (other ?? null) : Math.max(one, other ?? 0);

/** Figures of patterns: those of their deployments in several environments together, with the slowest one's duration. */
export function byPattern(
  deployments: readonly Schemas['DeploymentFigures'][],
): Pick<
  Schemas['DeploymentFigures'],
  'patternId' | 'patternName' | 'runs' | 'failures' | 'fuel' | 'p95DurationMs'
>[] {
  const patterns = new Map<string, Schemas['DeploymentFigures']>();
  for (const each of deployments) {
    const had = patterns.get(each.patternId);
    patterns.set(each.patternId, {
      ...each,
      runs: each.runs + (had?.runs ?? 0),
      failures: each.failures + (had?.failures ?? 0),
      fuel: each.fuel + (had?.fuel ?? 0),
      p95DurationMs: slower(each.p95DurationMs, had?.p95DurationMs),
    });
  }
  return [...patterns.values()].filter(({ runs }) => runs > 0).sort((a, b) => b.runs - a.runs);
}

/** Share of the runs that did not fail, in percent; undefined without runs. */
export function successRate(runs: number, failures: number): number | undefined {
  return runs > 0 ? ((runs - failures) * 100) / runs : undefined;
}

/** Runs for a length of time as people say it: by the second, minute or hour, whichever gives a number above one. */
export function rate(runs: number, ms: number): string {
  const units = [
    ['s', 1_000],
    ['min', 60_000],
    ['h', 3_600_000],
    ['day', 86_400_000],
  ] as const;
  const [unit, length] = units.find(([, length]) => (runs * length) / ms >= 1) ?? ['day', 86_400_000];
  const value = (runs * length) / ms;
  return `${value >= 10 ? Math.round(value) : Math.round(value * 10) / 10} / ${unit}`;
}
