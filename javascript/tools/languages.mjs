#!/usr/bin/env node
// Writes engine/src/languages.txt: how languages write dates, and times from now. Source: Unicode CLDR, as the Intl of this
// Node.js has it (one with full ICU data). Usage: tools/languages.mjs, in the folder javascript/; prints how many bytes each language takes.
import { writeFileSync } from "node:fs";

const DATES = ["de", "de-AT", "de-CH", "fr", "es", "it", "nl", "pt", "pl", "sv", "da", "ru", "ja", "zh"];
const RELATIVE = ["en", "en-GB", "de", "fr", "es", "it", "nl", "pt", "pl", "sv", "da", "ru", "ja", "zh"];
const UNITS = ["second", "minute", "hour", "day", "week", "month", "quarter", "year"];
const STYLES = { n: "numeric", 2: "2-digit", l: "long", s: "short", w: "narrow" };
const MONTHS = Array.from({ length: 12 }, (_, at) => Date.UTC(2005, at, 4));
// From a Monday on.
const DAYS = Array.from({ length: 7 }, (_, at) => Date.UTC(2005, 7, 1 + at));
const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

// A key is how weekday, year, month and day are written, "-" for what is left out. Which is asked instead of one that has no pattern of its
// own; the prelude has the same.
const simpler = ([w, y, m, d]) =>
  w === "l" || w === "w" ? `s${y}${m}${d}` : m === "s" || m === "w" ? `${w}${y}l${d}` : d === "2" ? `${w}${y}${m}n`
    : m === "2" ? `${w}${y}n${d}` : y === "2" ? `${w}n${m}${d}` : undefined;
const patternOf = (patterns, key) => {
  let found = key;
  while (found !== undefined && patterns[found] === undefined) found = simpler(found);
  if (found === undefined) return undefined;
  let pattern = patterns[found];
  if (key[1] === "2" && found?.[1] !== "2") pattern = pattern.replace("1", "2");
  if (key[2] === "2" && found?.[2] !== "2") pattern = pattern.replace("3", "4");
  if (key[3] === "2" && found?.[3] !== "2") pattern = pattern.replace("7", "8");
  return pattern;
};
const keys = [];
for (const y of "-n2") for (const m of "-n2lsw") for (const d of "-n2") for (const w of "-slw") {
  const has = [w, y, m, d].map((one) => (one === "-" ? "" : "x")).join("|");
  // No part of a date that nobody writes, such as a year with a weekday.
  if (["x|||", "|x||", "||x|", "|||x", "|x|x|", "||x|x", "|x|x|x", "x|||x", "x||x|x", "x|x|x|x"].includes(has)) keys.push(w + y + m + d);
}
const optionsOf = ([w, y, m, d]) => Object.fromEntries([["weekday", w], ["year", y], ["month", m], ["day", d]]
  .filter(([, style]) => style !== "-").map(([name, style]) => [name, STYLES[style]]));
const valuesOf = (locale, options, name, times) => {
  const format = new Intl.DateTimeFormat(locale, { timeZone: "UTC", ...options });
  return times.map((ms) => format.formatToParts(ms).find(({ type }) => type === name)?.value);
};

const datesOf = (locale) => {
  const names = { 5: {}, 6: {}, 0: {}, 9: {} };
  for (const style of ["long", "short", "narrow"]) {
    names[6][style] = valuesOf(locale, { month: style }, "month", MONTHS);
    names[5][style] = valuesOf(locale, { month: style, day: "numeric" }, "month", MONTHS);
    names[9][style] = valuesOf(locale, { weekday: style }, "weekday", DAYS);
    names[0][style] = valuesOf(locale, { weekday: style, day: "numeric", month: style }, "weekday", DAYS);
  }
  // Digits stand for parts: 0 and 9 a weekday, 1 and 2 a year, 3 and 4 a month's number, 5 and 6 its name, 7 and 8 the day.
  const patternFrom = (options, style = options) => {
    const format = new Intl.DateTimeFormat(locale, { timeZone: "UTC", ...options });
    const named = (digits, width, name, times) =>
      digits.find((digit) => same(names[digit][width], valuesOf(locale, options, name, times))) ?? "?";
    return format.formatToParts(Date.UTC(2005, 2, 4)).map(({ type, value }) => {
      switch (type) {
        // As the texts of Node.js and browsers have it.
        case "literal": return value.replaceAll("\u202f", " ");
        case "year": return value.length === 2 ? "2" : "1";
        case "month": return value === "3" ? "3" : value === "03" ? "4" : named([5, 6], style.month, "month", MONTHS);
        case "day": return value.length === 1 ? "7" : "8";
        case "weekday": return named([0, 9], style.weekday, "weekday", DAYS);
        default: return "?";
      }
    }).join("");
  };
  const patterns = { __proto__: null };
  // Simple keys come first.
  const weight = (key) => ["l", "w", "2", "s"].reduce((sum, letter) => sum + key.split(letter).length, 0) + (key[0] === "l" || key[0] === "w" ? 1 : 0);
  for (const key of [...keys].sort((one, other) => weight(one) - weight(other))) {
    let pattern = patternFrom(optionsOf(key));
    // What is written otherwise than it was asked for is not available.
    if (pattern.includes("?")) pattern = "";
    if (patternOf(patterns, key) !== pattern) patterns[key] = pattern;
  }
  const widths = { full: ["long", "long"], long: ["long", "long"], medium: ["short", "short"], short: ["short", "short"] };
  for (const [style, [month, weekday]] of Object.entries(widths)) {
    let pattern = patternFrom({ dateStyle: style }, { month, weekday });
    // A medium date may have its month's whole name.
    if (pattern.includes("?")) pattern = "";
    patterns[style] = pattern;
  }
  const glue = Object.keys(widths).map((dateStyle) => {
    const date = new Intl.DateTimeFormat(locale, { timeZone: "UTC", dateStyle }).format(0);
    const [before, behind] = new Intl.DateTimeFormat(locale, { timeZone: "UTC", dateStyle, timeStyle: "short" }).format(0).split(date);
    const time = new Intl.DateTimeFormat(locale, { timeZone: "UTC", timeStyle: "short" }).format(0);
    if (before !== "" || !behind.endsWith(time)) throw new Error(`${locale}: a time does not follow its date`);
    return behind.slice(0, -time.length);
  });
  const time = new Intl.DateTimeFormat(locale, { timeZone: "UTC", timeStyle: "medium" }).format(Date.UTC(2005, 0, 1, 4, 5, 6))
    .replace("04", "HH").replace("4", "H").replace("05", "mm").replace("06", "ss");
  if (!/^HH?.mm.ss$/.test(time)) throw new Error(`${locale}: its times are ${time}`);
  const listed = [6, 5, 9, 0].map((digit) => ["long", "short", "narrow"].map((style) => names[digit][style].join(",")));
  // Names within a date are mostly those that stand alone.
  for (const at of [1, 3]) listed[at] = listed[at].map((list, style) => (list === listed[at - 1][style] ? "" : list));
  return [listed.flat().join("|"), Object.entries(patterns).map((entry) => entry.join("=")).join("|"), glue.join("|"), time];
};

const SAMPLES = [1, 2, 3, 5, 0, 21, 22, 25, 1.5, 1e6];
const relativeOf = (locale) => {
  const rules = new Intl.PluralRules(locale);
  const categories = ["one", "few", "many", "other"].filter((one) => SAMPLES.some((value) => rules.select(value) === one));
  const ofStyle = (style) => {
    const always = new Intl.RelativeTimeFormat(locale, { style });
    const auto = new Intl.RelativeTimeFormat(locale, { style, numeric: "auto" });
    const patternOfValue = (value, unit) => {
      const parts = always.formatToParts(value, unit);
      const first = parts.findIndex(({ type }) => type !== "literal");
      const last = parts.findLastIndex(({ type }) => type !== "literal");
      return [...parts.slice(0, first).map(({ value: text }) => text), "#", ...parts.slice(last + 1).map(({ value: text }) => text)].join("");
    };
    return UNITS.map((unit) => {
      const known = [-2, -1, 0, 1, 2].map((value) => (auto.formatToParts(value, unit).length === 1 ? auto.format(value, unit) : ""));
      const of = (sign) => categories.map((one) => patternOfValue(sign * SAMPLES.find((value) => rules.select(value) === one), unit));
      return [known.join("|"), of(-1), of(1)];
    });
  };
  // What all units have around their words is said once.
  const framed = (units, at) => {
    const all = units.flatMap((unit) => unit[at]);
    let [before, behind] = [all[0], all[0]];
    for (const text of all) {
      while (!text.startsWith(before)) before = before.slice(0, -1);
      while (!text.endsWith(behind)) behind = behind.slice(1);
    }
    const rest = (text) => text.slice(before.length, text.length - behind.length);
    return [before, behind, units.map((unit) => unit[at].map(rest))];
  };
  const ofAll = (units) => {
    const [pastBefore, pastBehind, past] = framed(units, 1);
    const [before, behind, future] = framed(units, 2);
    const shorter = (list) => (list.every((one) => one === list[0]) ? list[0] : list.join("|"));
    const words = units.map(([known], at) => {
      const [one, other] = [shorter(past[at]), shorter(future[at])];
      return [/^\|+$/.test(known) ? "" : known, one, ...(one === other ? [] : [other])].join(";");
    });
    return [pastBefore, pastBehind, before, behind, ...words].join("\n");
  };
  return [categories.join("|"), ...["long", "short", "narrow"].map((style) => ofAll(ofStyle(style)))];
};

// A line for each language: its key, a tab, a list as JSON. The prelude asks for one when it is used.
const linesOf = (kind, locales, make) => locales.map((locale) => {
  const line = `${kind} ${locale}\t${JSON.stringify(make(locale))}\n`;
  console.log(kind, locale, Buffer.byteLength(line));
  return line;
});
const lines = [...linesOf("dates", DATES, datesOf), ...linesOf("relative", RELATIVE, relativeOf)];
writeFileSync(new URL("../engine/src/languages.txt", import.meta.url), lines.join(""));
