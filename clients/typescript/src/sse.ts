/** Server-sent events, as the HTML standard describes them. */

import { HeddleError } from './error.js';

export interface Message {
  event: string;
  data: string;
  /** The last id that was sent, also with an earlier event. */
  id?: string | undefined;
}

/** An event that is longer is none of heddle's. */
const CHARS_MAX = 64 * 1024 * 1024;

/** The events of a body. What is not ended by an empty line is none. */
export async function* messages(pieces: AsyncIterable<string>): AsyncGenerator<Message> {
  let rest = '';
  let event = '';
  let id: string | undefined;
  let data: string[] = [];
  for await (const piece of pieces) {
    rest += piece;
    if (rest.length > CHARS_MAX) throw new HeddleError('STREAM_ENDED', 'an event is too long');
    // A CR at the end may be half of a line end.
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) yield { event: event || 'message', data: data.join('\n'), id };
        event = '';
        data = [];
        continue;
      }
      const colon = line.indexOf(':');
      const name = colon < 0 ? line : line.slice(0, colon);
      const text = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
      if (name === 'data') data.push(text);
      else if (name === 'event') event = text;
      else if (name === 'id' && !text.includes('\0')) id = text;
    }
  }
}
