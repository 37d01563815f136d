// Date-times and durations of the pattern, of which an expression is handed the value only: text, number and JSON
// are those of Luxon; anything else is an error rather than `undefined`.
(native, global) => {
  const KINDS = ["date-time", "duration"];
  const { freeze } = Object;
  const ABSENT = [Symbol.toPrimitive, Symbol.toStringTag, Symbol.isConcatSpreadable, "then", "constructor"];

  return (kind, ms, text) => {
    const own = freeze({
      __proto__: null,
      toString: () => text,
      toJSON: () => (ms === ms ? text : null),
      valueOf: () => ms,
    });
    return new Proxy(own, {
      get(target, key) {
        if (key in own) return own[key];
        if (ABSENT.includes(key)) return undefined;
        throw new TypeError(
          `\`.${String(key)}\` of the ${KINDS[kind]} ${text} can't be used in this part of an expression, which the ` +
            "JavaScript engine evaluates: put the date's calculation where no function is around it, or into a node before",
        );
      },
    });
  };
}
