// keyValue: values that are kept from run to run, by the operations of the node KeyValue. The host has them.
(native, global) => {
  const access = (operation, key, content, { scope = "pattern", ttlMs } = {}) => {
    if (typeof key !== "string") throw new TypeError(`keyValue.${operation} takes the name of the value, not ${key}`);
    const request = { operation, key, scope, ...content };
    if (ttlMs !== undefined) {
      if (!Number.isInteger(ttlMs) || ttlMs < 1) throw new TypeError("ttlMs takes whole milliseconds");
      request.ttlMs = ttlMs;
    }
    return native.request("key-value", request);
  };
  const write = async (operation, key, value, options) => {
    if (value === undefined) throw new TypeError(`keyValue.${operation} takes a value behind the name`);
    return access(operation, key, { value: await native.storeFiles(value) }, options);
  };
  const keyValue = {
    get: async (key, options) => access("get", key, {}, options),
    set: (key, value, options) => write("set", key, value, options),
    append: (key, value, options) => write("append", key, value, options),
    delete: async (key, options) => access("delete", key, {}, options),
    increment: async (key, by = 1, options) => {
      if (!Number.isFinite(by)) throw new TypeError(`keyValue.increment takes a number, not ${by}`);
      return access("increment", key, { value: by }, options);
    },
  };
  Object.defineProperty(global, "keyValue", { value: keyValue, writable: true, configurable: true });
}
