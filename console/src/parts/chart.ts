/** What charts have in common. Pure: `tests/unit/parts.test.ts`. */

/** The next of 1, 2, 5 times a power of ten, so that the axis has round numbers. */
export function niceMax(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((factor) => factor * power >= value) ?? 10) * power;
}

/** Whether a label of 11 px, centred there, ends within the width. */
export const hasRoom = (text: string, center: number, width: number): boolean =>
  center + text.length * 3.3 <= width;

/** An SVG path through the values that are there; where there is none, the line is broken. */
export function linePath(
  values: readonly (number | null)[],
  x: (index: number) => number,
  y: (value: number) => number,
): string {
  let isDown = false;
  const parts = values.flatMap((value, index) => {
    if (value === null) {
      isDown = false;
      return [];
    }
    const part = `${isDown ? 'L' : 'M'}${x(index).toFixed(1)} ${y(value).toFixed(1)}`;
    isDown = true;
    return [part];
  });
  return parts.join('');
}
