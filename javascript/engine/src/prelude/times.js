// Date-times and durations of the pattern, which an expression is handed as objects of DateTime and Duration.
(native, global) => {
  const { timeOf } = native;
  // What objects inherit: once code runs, the globals may be others.
  const kinds = { __proto__: null, dateTime: global.DateTime.prototype, duration: global.Duration.prototype };
  kinds.zone = Object.getPrototypeOf(global.DateTime.utc(2000).zone);
  return (kind, ms, text) => timeOf(kinds, kind, ms, text);
}
