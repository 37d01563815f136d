// What depends on a language is compiled, by the pattern's own rules. The engine knows no language: rather than
// another answer it gives none.
(native, global) => {
  const refuse = (prototype, name) => {
    const method = {
      [name]() {
        throw new TypeError(
          `\`.${name}(…)\` can't be used in this part of an expression, which the JavaScript engine evaluates`,
        );
      },
    }[name];
    Object.defineProperty(prototype, name, { value: method, writable: true, configurable: true });
  };
  refuse(String.prototype, "localeCompare");
  refuse(Number.prototype, "toLocaleString");
  refuse(BigInt.prototype, "toLocaleString");
  for (const name of ["toLocaleString", "toLocaleDateString", "toLocaleTimeString"]) refuse(Date.prototype, name);
}
