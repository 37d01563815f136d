/** Kept values as people read and write them. Pure: `tests/unit/kept.test.ts`. */

/** A value as it is shown: texts as they are, unless they could be taken for other JSON. */
export function written(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value, null, 2);
  return isJson(value) ? JSON.stringify(value) : value;
}

/** What somebody has written: JSON, or else a text. */
export function read(text: string): unknown {
  return isJson(text) ? (JSON.parse(text) as unknown) : text;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** A size in bytes. */
export function size(bytes: number): string {
  return bytes < 1024 ? `${bytes} B` : `${(bytes / 1024).toFixed(1)} KiB`;
}
