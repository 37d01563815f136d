/** What is copied of a value. */

import { isExcerpt } from './events';

/** A text as it is, anything else as JSON; of a value that was cut, what is there of it. */
export function copied(value: unknown): string {
  if (value === undefined) return '';
  if (isExcerpt(value)) return value.excerpt ?? '';
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}
