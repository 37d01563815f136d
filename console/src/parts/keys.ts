/** Keyboard shortcuts: how they are written, and whether an event is one. `mod` is ⌘ on a Mac, Ctrl elsewhere. */

const isMac = typeof navigator !== 'undefined' && /Mac|iPhone|iPad/.test(navigator.userAgent);

const NAMES: Record<string, string> = {
  mod: isMac ? '⌘' : 'Ctrl',
  shift: isMac ? '⇧' : 'Shift',
  alt: isMac ? '⌥' : 'Alt',
  enter: '↵',
  escape: 'Esc',
  arrowup: '↑',
  arrowdown: '↓',
  arrowleft: '←',
  arrowright: '→',
  delete: 'Del',
};

/** Its keys; the last one may be `+` itself. */
const partsOf = (keys: string): string[] =>
  keys.endsWith('+') ? [...keys.slice(0, -1).split('+').filter(Boolean), '+'] : keys.split('+');

/** The keys of a shortcut as they are printed on a keyboard. */
export function keyLabels(keys: string): string[] {
  return partsOf(keys).map((key) => NAMES[key] ?? key.toUpperCase());
}

/** Whether this event is this shortcut, with no other modifier held. */
export function isKey(event: KeyboardEvent, keys: string): boolean {
  const parts = partsOf(keys);
  const key = parts.pop();
  const mod = isMac ? event.metaKey : event.ctrlKey;
  const other = isMac ? event.ctrlKey : event.metaKey;
  // A character like `?` needs Shift on some layouts and not on others.
  const isShiftFree = key?.length === 1 && !/[a-z0-9]/.test(key);
  return (
    event.key.toLowerCase() === key &&
    mod === parts.includes('mod') &&
    !other &&
    event.altKey === parts.includes('alt') &&
    (isShiftFree || event.shiftKey === parts.includes('shift'))
  );
}

/** Whether the event comes from where text is typed, so that single letters are text. */
export function isTyping(event: Event): boolean {
  const target = event.target;
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable ||
      target.matches('input:not([type=checkbox]):not([type=radio]), textarea, select'))
  );
}
