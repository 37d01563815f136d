/** Sample data: what expressions would see, and where it was taken from. */

/** Where a sample comes from, best first. */
export type SampleKind = 'pin' | 'test' | 'run' | 'tap' | 'example' | 'type';

export interface Sample {
  value: unknown;
  kind: SampleKind;
  /** For people: "run of 14:02", "example of HTTP request". */
  from: string;
}

const RANK: readonly SampleKind[] = ['pin', 'test', 'run', 'tap', 'example', 'type'];

/** The best of some samples; the first among equals. What people prefer comes before all but pins. */
export function best(samples: readonly (Sample | undefined)[], preferred?: SampleKind): Sample | undefined {
  const rank = ({ kind }: Sample) => (kind === preferred && kind !== 'pin' ? 0.5 : RANK.indexOf(kind));
  return samples
    .filter((sample) => sample !== undefined)
    .reduce<Sample | undefined>(
      (found, sample) => (found && rank(found) <= rank(sample) ? found : sample),
      undefined,
    );
}

/** What expressions of a node's parameters can name, each with a sample if there is one. */
export interface Surroundings {
  /** `$input`: what arrives. */
  input?: Sample | undefined;
  /** `$trigger`: the event. */
  trigger?: Sample | undefined;
  /** `$item`, where the node stands in a loop or has `each`. */
  item?: Sample | undefined;
  hasItem: boolean;
  hasError: boolean;
  /** All nodes that can have run before, the nearest first. */
  upstream: readonly Upstream[];
  variables: readonly string[];
  secrets: readonly string[];
  /** In an expression definition there are only `$input`, `$item` and `$index`. */
  definitionOnly: boolean;
}

export interface Upstream {
  id: string;
  /** Its label, or its id where it has none. */
  name: string;
  type: string;
  /** How an expression names it: `$("Label")` or `$nodes["id"]`. */
  reference: string;
  sample?: Sample | undefined;
}

export const NO_SURROUNDINGS: Surroundings = {
  hasItem: false,
  hasError: false,
  upstream: [],
  variables: [],
  secrets: [],
  definitionOnly: false,
};
