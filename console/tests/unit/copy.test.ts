import { afterEach, expect, test, vi } from 'vitest';
import { copyText as copy, NotCopied } from '$/parts/copy';

/** A clipboard that lets itself be written only in the task of a press, as Safari's does. */
function clipboard(more: { items?: boolean; refuses?: boolean } = {}) {
  const { items = true, refuses = false } = more;
  const copied: string[] = [];
  let isPressed = true;
  const allowed = (): void => {
    if (refuses || !isPressed) throw new DOMException('not allowed', 'NotAllowedError');
  };
  class Item {
    constructor(readonly data: Record<string, Promise<Blob>>) {}
  }
  vi.stubGlobal('navigator', {
    clipboard: {
      writeText: async (text: string) => {
        allowed();
        copied.push(text);
      },
      ...(items && {
        write: async ([item]: Item[]) => {
          allowed();
          copied.push(await (await item!.data['text/plain'])!.text());
        },
      }),
    },
  });
  vi.stubGlobal('ClipboardItem', items ? Item : undefined);
  return { copied, letGo: () => (isPressed = false) };
}
afterEach(() => vi.unstubAllGlobals());

/** A text that comes later, after the task of the press. */
function later(letGo: () => void, found: string | Error = 'secret'): () => Promise<string> {
  return async () => {
    await Promise.resolve();
    letGo();
    if (found instanceof Error) throw found;
    return found;
  };
}

test('a text that is there is copied', async () => {
  const { copied } = clipboard();
  await copy('here');
  expect(copied).toEqual(['here']);
});

test('a text that has to be asked for is promised in the task of the press', async () => {
  const { copied, letGo } = clipboard();
  await copy(later(letGo));
  expect(copied).toEqual(['secret']);
});

test('where a clipboard takes no promise, the text is written once it is here', async () => {
  const { copied } = clipboard({ items: false });
  await copy(async () => 'secret');
  expect(copied).toEqual(['secret']);
});

test('a promise that is refused is tried once more as a text', async () => {
  const { copied } = clipboard();
  const write = vi.spyOn(navigator.clipboard, 'write').mockRejectedValue(new TypeError('no promises'));
  await copy(async () => 'secret');
  expect(write).toHaveBeenCalledTimes(1);
  expect(copied).toEqual(['secret']);
});

test('a text that could not be had is told as that', async () => {
  const { copied, letGo } = clipboard();
  await expect(copy(later(letGo, new Error('The webhook is gone.')))).rejects.toThrow('The webhook is gone.');
  clipboard({ refuses: true });
  await expect(copy(later(letGo, new Error('The webhook is gone.')))).rejects.toThrow('The webhook is gone.');
  expect(copied).toEqual([]);
});

test('a clipboard that refuses, or is not there, says what to do', async () => {
  clipboard({ refuses: true });
  await expect(copy('here')).rejects.toThrow(NotCopied);
  await expect(copy(async () => 'secret')).rejects.toThrow('select the text and copy it by keyboard');
  vi.stubGlobal('navigator', {});
  await expect(copy('here')).rejects.toThrow(NotCopied);
  await expect(copy(async () => 'secret')).rejects.toThrow(NotCopied);
});
