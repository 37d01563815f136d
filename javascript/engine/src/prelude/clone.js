// structuredClone (HTML, without transfer): primitives, boxed ones, dates, regular expressions, buffers and their
// views, maps, sets, errors, arrays and plain objects.
(native, global) => {
  const ERRORS = { Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };

  const refuse = (value) => {
    const what = typeof value === "function" ? `The function ${value.name || "(anonymous)"}` : String(value);
    throw new DOMException(`${what} can't be cloned`, "DataCloneError");
  };
  const clone = (value, seen) => {
    if (typeof value === "function" || typeof value === "symbol") refuse(value);
    if (typeof value !== "object" || value === null) return value;
    if (seen.has(value)) return seen.get(value);
    const keep = (copy) => (seen.set(value, copy), copy);
    if (value instanceof Date) return keep(new Date(value.getTime()));
    if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
    if (value instanceof Boolean || value instanceof Number || value instanceof String) {
      return keep(Object(value.valueOf()));
    }
    if (value instanceof ArrayBuffer) return keep(value.slice(0));
    if (ArrayBuffer.isView(value)) {
      const buffer = clone(value.buffer, seen);
      const length = value instanceof DataView ? value.byteLength : value.length;
      return keep(new value.constructor(buffer, value.byteOffset, length));
    }
    if (value instanceof Map) {
      const copy = keep(new Map());
      for (const [key, item] of [...value]) copy.set(clone(key, seen), clone(item, seen));
      return copy;
    }
    if (value instanceof Set) {
      const copy = keep(new Set());
      for (const item of [...value]) copy.add(clone(item, seen));
      return copy;
    }
    if (value instanceof Error) {
      const copy = keep(new (ERRORS[value.name] ?? Error)(value.message));
      if ("cause" in value) copy.cause = clone(value.cause, seen);
      return copy;
    }
    if (value instanceof Promise || value instanceof WeakMap || value instanceof WeakSet) refuse(value);
    const copy = keep(Array.isArray(value) ? new Array(value.length) : {});
    for (const key of Object.keys(value)) {
      Object.defineProperty(copy, key, {
        value: clone(value[key], seen), writable: true, enumerable: true, configurable: true,
      });
    }
    return copy;
  };

  const structuredClone = (value) => clone(value, new Map());
  Object.defineProperty(global, "structuredClone", {
    value: structuredClone, writable: true, configurable: true,
  });
}
