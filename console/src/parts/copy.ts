/** Puts text into the clipboard, also where it has to be asked for first. */

/** The clipboard could not be written, which is no fault of the text. */
export class NotCopied extends Error {
  constructor() {
    super('The browser did not allow copying: select the text and copy it by keyboard.');
  }
}

/**
 * Copies a text, or what this function gives; rejects with that function's error, or with `NotCopied`.
 *
 * Safari allows copying only in the task of the press, not after waiting for an answer. So the clipboard is written at once,
 * with the promise of the text. Browsers that take no promise are asked once the text is here.
 */
export async function copyText(text: string | (() => Promise<string>)): Promise<void> {
  if (typeof text === 'string') return write(text);
  const asked = text();
  // Whoever writes it may have failed before it is here.
  asked.catch(() => {});
  if (typeof ClipboardItem === 'function' && typeof navigator.clipboard?.write === 'function') {
    try {
      const blob = asked.then((found) => new Blob([found], { type: 'text/plain' }));
      blob.catch(() => {});
      await navigator.clipboard.write([new ClipboardItem({ 'text/plain': blob })]);
      return;
    } catch {
      // Refused, or the text could not be had: both are told below.
    }
  }
  await write(await asked);
}

async function write(text: string): Promise<void> {
  try {
    // Pages that are not reached by TLS have no `navigator.clipboard`.
    await navigator.clipboard.writeText(text);
  } catch {
    throw new NotCopied();
  }
}
