// Compares what heddle made of expressions with what JavaScript makes of them. Answers with the differences.
const { sources, values, ours } = JSON.parse(require("fs").readFileSync(0, "utf8"));
const answers = JSON.parse(ours);
// Texts of a `Date` have no name of the zone in the engine.
const text = (value) => JSON.stringify(value).replaceAll(" (Coordinated Universal Time)", "");
// What built-in objects inherit is frozen in the engine, so that an assignment can't hide it; JavaScript gives the object a
// property of its own (see docs/language.md). Setters in its place were tried: `push` becomes a third dearer, `getTime`
// two thirds, and the engine's memory 64 KiB larger.
const frozen = [Array, Date, Map, Set, RegExp, Function, Promise].map((type) => type.prototype);
const hides = (message) => {
  const [, name] = /'([^']+)' is read-only/.exec(message) ?? [];
  return name !== undefined && frozen.some((prototype) => Object.hasOwn(prototype, name));
};
// Of an object literal with a spread that names a key twice V8 keeps the later place, ECMAScript (13.2.5.5) the earlier one.
const sorted = (value) =>
  Array.isArray(value) ? value.map(sorted)
  : value !== null && typeof value === "object"
    ? Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]))
  : value;
const equal = (source, one, other) =>
  text(one) === text(other) || (source.includes("...") && text(sorted(one)) === text(sorted(other)));
const differences = [];
let unsupported = 0;
const brief = (value) => { const text = JSON.stringify(value) ?? "undefined"; return text.length > 300 ? text.slice(0, 300) + "…" : text; };
sources.forEach((source, at) => {
  let body;
  try { body = new Function("$input", `"use strict"; return (${source}\n);`); } catch (error) { body = () => { throw error; }; }
  values.forEach((json, index) => {
    const mine = answers[at][index];
    const failed = mine !== null && typeof mine === "object" && mine.error?.code === "EXPRESSION";
    let theirs;
    try {
      const value = body(JSON.parse(json));
      theirs = { ok: JSON.parse(JSON.stringify(value === undefined ? null : value) ?? "null") };
    } catch (error) {
      theirs = { error: error.name + ": " + error.message };
    }
    if (failed && /(is|are)n't supported|not supported|knows no language|only extends objects|is inherited/.test(mine.error.message)) { unsupported += 1; return; }
    if (failed && "ok" in theirs && hides(mine.error.message)) { unsupported += 1; return; }
    const same = failed ? "error" in theirs : "ok" in theirs && equal(source, theirs.ok, mine);
    if (!same) differences.push([source, index, brief(mine), brief(theirs)]);
  });
});
process.stdout.write(JSON.stringify({ differences, unsupported }));
