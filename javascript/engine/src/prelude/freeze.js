// Makes all that is built in unchangeable, so that no expression can change what another one means. Comes last.
(native, global) => {
  const { defineProperty, freeze, getOwnPropertyDescriptor, getPrototypeOf } = Object;
  const { ownKeys } = Reflect;

  // Of a frozen prototype's property, objects that inherit it could not be given one of their own by assignment
  // (`error.name = …`, `counts[word] = …`): where people do that, a setter gives it to them.
  const assignable = (prototype) => {
    for (const key of ownKeys(prototype)) {
      const { value, writable } = getOwnPropertyDescriptor(prototype, key);
      if (!writable) continue;
      defineProperty(prototype, key, {
        get: () => value,
        set(item) {
          if (this === prototype) throw new TypeError(`'${String(key)}' is read-only`);
          defineProperty(this, key, { value: item, writable: true, enumerable: true, configurable: true });
        },
      });
    }
  };
  assignable(Object.prototype);
  for (const name of ownKeys(global)) {
    const prototype = global[name]?.prototype;
    if (prototype === Error.prototype || prototype instanceof Error) assignable(prototype);
  }

  // What V8 has and the standard has not: setters that keep for the whole realm what they are given. A frozen object's
  // setters still work, so they have to go.
  delete Error.prepareStackTrace;
  delete Error.stackTraceLimit;

  const found = new Set();
  const add = (value) => {
    if (typeof value === "function" || (typeof value === "object" && value !== null)) found.add(value);
  };
  // What no property leads to from the global object.
  const hidden = [
    [][Symbol.iterator](),
    ""[Symbol.iterator](),
    new Map()[Symbol.iterator](),
    new Set()[Symbol.iterator](),
    "".matchAll(/x/g),
    [].values().map((x) => x),
    Iterator.from({ next: () => ({ done: true }) }),
    function* () {},
    (function* () {})(),
    async () => {},
    async function* () {},
    (async function* () {})(),
    global.DateTime.utc(2000).zone,
    getOwnPropertyDescriptor((function () { "use strict"; return arguments; })(), "callee").get,
  ];
  for (const value of hidden) {
    add(value);
    add(getPrototypeOf(value));
  }
  add(global);
  // The set grows while it is walked.
  for (const value of found) {
    add(getPrototypeOf(value));
    for (const key of ownKeys(value)) {
      const property = getOwnPropertyDescriptor(value, key);
      add(property.value);
      add(property.get);
      add(property.set);
    }
  }
  for (const value of found) {
    if (!ArrayBuffer.isView(value)) freeze(value);
  }
}
