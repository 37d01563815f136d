/** Sizes as people read them. */

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** Bytes in the largest unit of which there is one: `1.5 MiB`. */
export function bytes(value: number): string {
  let unit = 0;
  let left = value;
  while (left >= 1024 && unit < UNITS.length - 1) {
    left /= 1024;
    unit++;
  }
  return `${unit === 0 ? left : Math.round(left * 10) / 10} ${UNITS[unit]}`;
}
