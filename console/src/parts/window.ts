/** Which rows of a long list are drawn. Pure: `tests/unit/window.test.ts`. */

export interface Window {
  /** First row drawn, and the one after the last. */
  from: number;
  to: number;
}

/** Rows beyond the visible ones, so that fast scrolling shows no gaps. */
const OVERSCAN = 8;

/** The rows to draw for this scroll position, in px. */
export function windowOf(scrollTop: number, height: number, rowHeight: number, count: number): Window {
  const from = Math.max(0, Math.min(Math.floor(scrollTop / rowHeight) - OVERSCAN, count));
  const to = Math.min(count, Math.ceil((scrollTop + height) / rowHeight) + OVERSCAN);
  return { from, to: Math.max(from, to) };
}
