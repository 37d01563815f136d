/** Server-sent events over `fetch`, which can send a body and can be cancelled. */

export interface ServerEvent {
  name: string;
  data: string;
}

/** The events of a response's body, in order. A line may be cut anywhere between two pieces. */
export async function* serverEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const parser = new EventParser();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      yield* parser.push(decoder.decode(value, { stream: true }));
    }
  } finally {
    // Leaving early ends the connection, and with it the run.
    await reader.cancel().catch(() => {});
  }
}

/** Splits text into events, by the rules of the HTML standard. */
export class EventParser {
  private rest = '';
  private name = '';
  private data: string[] = [];

  *push(text: string): Generator<ServerEvent> {
    this.rest += text;
    for (;;) {
      const end = /\r\n|\n|\r(?!$)/.exec(this.rest);
      if (!end) return;
      const line = this.rest.slice(0, end.index);
      this.rest = this.rest.slice(end.index + end[0].length);
      const event = this.line(line);
      if (event) yield event;
    }
  }

  private line(line: string): ServerEvent | undefined {
    if (line === '') {
      const event =
        this.data.length > 0 ? { name: this.name || 'message', data: this.data.join('\n') } : undefined;
      this.name = '';
      this.data = [];
      return event;
    }
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') this.name = value;
    if (field === 'data') this.data.push(value);
    return undefined;
  }
}
