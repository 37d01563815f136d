/** Where a menu goes, and what its keys do. Pure: `tests/unit/parts.test.ts`. */

interface Size {
  width: number;
  height: number;
}
interface Rect extends Size {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

const GAP_PX = 4;
const EDGE_PX = 8;

/** The place beside a button, inside the window: below it, or above where there is more room. */
export function beside(
  button: Rect,
  menu: Size,
  window: Size,
  align: 'start' | 'end',
): { left: number; top: number } {
  const wanted = align === 'start' ? button.left : button.right - menu.width;
  const left = Math.max(EDGE_PX, Math.min(wanted, window.width - menu.width - EDGE_PX));
  const below = button.bottom + GAP_PX;
  const above = button.top - GAP_PX - menu.height;
  const fits = below + menu.height <= window.height - EDGE_PX;
  return { left, top: fits || above < EDGE_PX ? below : above };
}

/** The item that a key leads to from the item `at`; -1 is none. Letters lead to the next label that begins so. */
export function nextItem(key: string, at: number, labels: readonly string[]): number | undefined {
  const count = labels.length;
  if (count === 0) return undefined;
  if (key === 'ArrowDown') return (at + 1) % count;
  if (key === 'ArrowUp') return at <= 0 ? count - 1 : at - 1;
  if (key === 'Home') return 0;
  if (key === 'End') return count - 1;
  if (key.length !== 1) return undefined;
  const order = labels.map((_, offset) => (at + 1 + offset + count) % count);
  return order.find((index) => labels[index]?.trim().toLowerCase().startsWith(key.toLowerCase()));
}
