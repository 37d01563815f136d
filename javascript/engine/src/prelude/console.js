// console.* and log: to the run's log. Returns the `log` that a module's function is given.
(native, global) => {
  const DEBUG = 0, INFO = 1, WARN = 2, ERROR = 3;
  const { stringify } = JSON;
  const { isArray } = Array;

  // JSON, with words for what JSON has none for; something that contains itself is named.
  const inspect = (value) => {
    const parents = [];
    return stringify(value, function (key, item) {
      while (parents.length > 0 && parents[parents.length - 1] !== this) parents.pop();
      switch (typeof item) {
        case "bigint": return `${item}n`;
        case "function": return `[Function ${item.name || "anonymous"}]`;
        case "symbol": return item.toString();
        case "undefined": return isArray(this) ? null : undefined;
        case "number": return Number.isFinite(item) ? item : String(item);
      }
      if (item === null || typeof item !== "object") return item;
      if (parents.includes(item)) return "[Circular]";
      parents.push(item);
      if (item instanceof Error) return text(item);
      if (item instanceof Map) return { Map: [...item] };
      if (item instanceof Set) return { Set: [...item] };
      if (item instanceof RegExp) return String(item);
      return item;
    });
  };
  const text = (value) => {
    if (typeof value === "string") return value;
    if (value instanceof Error) {
      const stack = value.stack ? `\n${String(value.stack).trimEnd()}` : "";
      return `${value.name}: ${value.message}${stack}`;
    }
    if (value instanceof RegExp) return String(value);
    if (typeof value === "object" && value !== null) {
      try {
        return inspect(value) ?? String(value);
      } catch {
        return Object.prototype.toString.call(value);
      }
    }
    if (typeof value === "function") return `[Function ${value.name || "anonymous"}]`;
    return typeof value === "bigint" ? `${value}n` : String(value);
  };
  const line = (level) => (...values) => native.log(level, values.map(text).join(" "));

  const counts = new Map();
  const console = {
    debug: line(DEBUG),
    trace: line(DEBUG),
    log: line(INFO),
    info: line(INFO),
    dir: (value) => line(INFO)(value),
    table: (value) => line(INFO)(value),
    group: line(INFO),
    groupCollapsed: line(INFO),
    groupEnd: () => {},
    warn: line(WARN),
    error: line(ERROR),
    assert: (condition, ...values) => condition || line(ERROR)("Assertion failed", ...values),
    count: (label = "default") => {
      counts.set(label, (counts.get(label) ?? 0) + 1);
      line(INFO)(`${label}: ${counts.get(label)}`);
    },
    countReset: (label = "default") => void counts.delete(label),
    // The clock stands still during a run, so there is nothing to tell.
    time: () => {},
    timeLog: () => {},
    timeEnd: () => {},
  };
  Object.defineProperty(global, "console", { value: console, writable: true, configurable: true });
  return Object.assign(line(INFO), {
    debug: console.debug,
    info: console.info,
    warn: console.warn,
    error: console.error,
  });
}
