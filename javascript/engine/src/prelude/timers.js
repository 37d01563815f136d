// setTimeout and setInterval: the host waits. A timer alone does not keep a call from ending.
(native, global) => {
  const active = new Set();
  let last = 0;

  const milliseconds = (value) => Math.max(0, Math.trunc(Number(value)) || 0);
  const begin = (callback, delay, values, repeat) => {
    if (typeof callback !== "function") throw new TypeError("A timer takes a function");
    const id = ++last;
    active.add(id);
    const wait = () => native.request("sleep", { ms: milliseconds(delay) }).then(() => {
      if (!active.has(id)) return;
      if (!repeat) active.delete(id);
      callback(...values);
      if (repeat && active.has(id)) wait();
    });
    wait();
    return id;
  };
  const clear = (id) => void active.delete(id);

  for (const [name, value] of Object.entries({
    setTimeout: (callback, delay, ...values) => begin(callback, delay, values, false),
    setInterval: (callback, delay, ...values) => begin(callback, delay, values, true),
    clearTimeout: clear,
    clearInterval: clear,
  })) {
    Object.defineProperty(global, name, { value, writable: true, configurable: true });
  }
}
