// Answers cases by Luxon and JavaScript's Date. Input: {luxon, now, cases}; see main.rs for a case.
const { readFileSync } = require("node:fs");
const { luxon, now, cases } = JSON.parse(readFileSync(0, "utf8"));
const { DateTime, Duration, Settings } = require(luxon);
Settings.now = () => now;
Settings.defaultZone = "utc";
const statics = { DateTime, Duration, Date };

function value(node) {
  if (node === null || typeof node !== "object") return node;
  if (Array.isArray(node)) return node.map(value);
  if ("make" in node) return run(node);
  if ("preset" in node) return DateTime[node.preset];
  return Object.fromEntries(Object.entries(node).map(([key, inner]) => [key, value(inner)]));
}

function make(name, args) {
  if (name === "new Date") return new Date(...args);
  const [type, method] = name.split(".");
  return statics[type][method](...args);
}

function run({ make: [name, args], calls }) {
  let result = make(name, value(args));
  for (const [method, args] of calls) {
    result = method.startsWith("@") ? result[method.slice(1)] : result[method](...value(args));
  }
  return result;
}

function encode(result) {
  if (result === undefined) return "undefined";
  if (typeof result === "number") return Object.is(result, -0) ? "0" : String(result);
  if (typeof result === "string") return JSON.stringify(result);
  if (result === null || typeof result === "boolean") return String(result);
  if (result instanceof Date) return `Date ${result.getTime()}`;
  if (DateTime.isDateTime(result)) {
    return result.isValid ? `DateTime ${encode(result.ts)} ${result.toISO()} ${result.zoneName}` : `invalid ${result.invalidReason}`;
  }
  if (Duration.isDuration(result)) return result.isValid ? `Duration ${encode(result.toObject())}` : `invalid ${result.invalidReason}`;
  return `{${Object.entries(result).map(([key, inner]) => `${key}:${encode(inner)}`)}}`;
}

const answers = cases.map((node) => {
  try {
    return encode(run(node));
  } catch (error) {
    return "throws";
  }
});
process.stdout.write(JSON.stringify(answers));
