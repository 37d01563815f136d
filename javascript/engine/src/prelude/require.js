// `require("luxon")` gives the globals that Luxon's names stand for. Nothing else can be loaded, and nothing is.
(native, global) => {
  const { DateTime, Duration, Interval } = global;
  const require = (name) => {
    if (String(name) === "luxon") return { DateTime, Duration, Interval };
    // With the code that those look for who would do without.
    throw Object.assign(new Error(`Cannot find module '${name}': nothing can be loaded but luxon`), { code: "MODULE_NOT_FOUND" });
  };
  Object.defineProperty(global, "require", { value: require, writable: true, configurable: true });
}
