/** The events of a test run or a replay, as the server sends them. */

import type { TestEvent } from './events';
import { serverEvents } from './sse';

const TYPES = new Set(['node', 'log', 'effect', 'omitted', 'end']);

/** Events in order; those of a newer server, which are not known here, are passed over. */
export async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<TestEvent> {
  for await (const { data } of serverEvents(body)) {
    const event = read(data);
    if (event) yield event;
  }
}

function read(data: string): TestEvent | undefined {
  try {
    const event = JSON.parse(data) as TestEvent;
    return TYPES.has(event.type) ? event : undefined;
  } catch {
    return undefined;
  }
}
