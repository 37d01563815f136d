/** What a test run is set up with. Pure. */

import type { NodeExample } from '../graph/catalogue';

export interface Trigger {
  id: string;
  name: string;
  type: string;
  /** Examples of the type, whose input is the event. */
  examples?: readonly NodeExample[] | undefined;
  /** An event that fits this pattern, which the node carries (`data.exampleEvent`). */
  ownExample?: unknown;
}

/** An event that really came. */
export interface EventChoice {
  /** For people: "tap 14:02, POST", "run 13:57, failed". */
  text: string;
  value: unknown;
  /** The trigger that it came to; undefined fits all. */
  triggerId?: string | undefined;
}

export interface TestSetup {
  triggerId?: string | undefined;
  environmentId?: string | undefined;
  /** Undefined: the trigger's own example, or that of its type. */
  eventText?: string | undefined;
  /** Where the text is from; undefined when it was typed. */
  eventFrom?: string | undefined;
}

/** What a test run began with. */
export interface Began {
  triggerId: string;
  environmentId: string | undefined;
  event: unknown;
  pins: Readonly<Record<string, unknown>>;
}

/** The example event of a trigger, as text. */
export function exampleOf(trigger: Trigger): string {
  const example = trigger.ownExample ?? trigger.examples?.[0]?.input;
  return JSON.stringify(example ?? null, null, 2);
}
