// performance: the clock stands still during a run.
(native, global) => {
  const performance = {
    now: () => 0,
    get timeOrigin() { return Date.now(); },
  };
  Object.defineProperty(global, "performance", {
    value: performance, writable: true, enumerable: false, configurable: true,
  });
}
