/** What a value is, in a word or a line. */

/** `text`, `number`, `yes or no`, `list`, `object`, `null`, `nothing`. */
export function typeWord(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'list';
  switch (typeof value) {
    case 'string':
      return 'text';
    case 'number':
    case 'bigint':
      return 'number';
    case 'boolean':
      return 'yes or no';
    case 'undefined':
      return 'nothing';
    default:
      return 'object';
  }
}

/** The value in a line of at most `limit` characters. */
export function brief(value: unknown, limit = 80): string {
  const text = briefText(value, limit);
  return text.length > limit ? `${text.slice(0, limit - 1)}…` : text;
}

function briefText(value: unknown, limit: number): string {
  if (value === undefined) return 'undefined';
  if (typeof value === 'string') return JSON.stringify(value.slice(0, limit));
  if (value === null || typeof value !== 'object') return String(value);
  const isList = Array.isArray(value);
  const parts: string[] = [];
  let length = 2;
  const entries = isList ? value.entries() : Object.entries(value);
  for (const [name, inner] of entries) {
    const text = isList ? brief(inner, 24) : `${name}: ${brief(inner, 24)}`;
    parts.push(text);
    length += text.length + 2;
    if (length > limit) break;
  }
  const [left, right] = isList ? ['[', ']'] : ['{', '}'];
  return `${left}${parts.join(', ')}${right}`;
}
