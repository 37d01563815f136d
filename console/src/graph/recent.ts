/**
 * What was worked out of some objects, of those that were asked for last.
 *
 * The history keeps every graph for as long as it can be undone to: a cache that lives as long as its graph would keep
 * what was derived of a thousand graphs.
 */
export class Recent<Key extends object, Value> {
  private readonly known = new Map<Key, Value>();
  private newest: Key | undefined;

  constructor(private readonly most: number) {}

  get(key: Key): Value | undefined {
    const value = this.known.get(key);
    if (value !== undefined && key !== this.newest) this.put(key, value);
    return value;
  }

  set(key: Key, value: Value): void {
    this.put(key, value);
    const [oldest] = this.known.keys();
    if (this.known.size > this.most && oldest) this.known.delete(oldest);
  }

  private put(key: Key, value: Value): void {
    this.known.delete(key);
    this.known.set(key, value);
    this.newest = key;
  }
}
