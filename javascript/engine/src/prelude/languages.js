// Dates, plurals and times from now in other languages than English, of what `languages.txt` has: one line for each language, which is read
// when it is asked for. Comes before `intl`, whose classes use it.
(native) => {
  const DATES = ["de", "de-AT", "de-CH", "fr", "es", "it", "nl", "pt", "pl", "sv", "da", "ru", "ja", "zh"];
  const COUNTRIES = ["de-DE", "fr-FR", "es-ES", "it-IT", "nl-NL", "pt-BR", "pl-PL", "sv-SE", "da-DK", "ru-RU", "ja-JP", "zh-CN"];
  // Whole dates in numbers only.
  const CANADIAN = ["", "-nnn=1-4-8|-n22=1-4-8|-nn2=|-n2n=|-2nn="];
  const lineOf = (kind, locale) => JSON.parse(native.languageLine(`${kind} ${locale}`));
  const languageOf = (locale) => locale.slice(0, 2);
  const cached = (make) => {
    const known = new Map();
    return (key) => {
      if (!known.has(key)) known.set(key, make(key));
      return known.get(key);
    };
  };

  // Dates. Patterns have a key for each way to write weekday, year, month and day (tools/languages.mjs), and digits for parts.
  const datesOf = cached((locale) => {
    const line = locale === "en-CA" ? CANADIAN : lineOf("dates", COUNTRIES.includes(locale) ? languageOf(locale) : locale);
    const [names, patterns, glue = "", time] = line;
    const lists = names.split("|").map((list) => list.split(","));
    // Months alone and in a date, weekdays alone and in a date, each long, short and narrow.
    for (const at of [3, 4, 5, 9, 10, 11]) if (lists[at]?.length === 1) lists[at] = lists[at - 3];
    return {
      months: [lists.slice(0, 3), lists.slice(3, 6)],
      weekdays: [lists.slice(6, 9), lists.slice(9)],
      patterns: Object.assign(Object.create(null), Object.fromEntries(patterns.split("|").map((entry) => {
        const at = entry.indexOf("=");
        return [entry.slice(0, at), entry.slice(at + 1)];
      }))),
      glue: glue.split("|"),
      time,
    };
  });
  const simpler = ([w, y, m, d]) =>
    w === "l" || w === "w" ? `s${y}${m}${d}` : m === "s" || m === "w" ? `${w}${y}l${d}` : d === "2" ? `${w}${y}${m}n`
      : m === "2" ? `${w}${y}n${d}` : y === "2" ? `${w}n${m}${d}` : undefined;
  const patternOf = (patterns, key) => {
    let found = key;
    while (found !== undefined && patterns[found] === undefined) found = simpler(found);
    let pattern = found === undefined ? "" : patterns[found];
    if (key[1] === "2" && found?.[1] !== "2") pattern = pattern.replace("1", "2");
    if (key[2] === "2" && found?.[2] !== "2") pattern = pattern.replace("3", "4");
    if (key[3] === "2" && found?.[3] !== "2") pattern = pattern.replace("7", "8");
    return pattern;
  };
  const STYLES = { __proto__: null, numeric: "n", "2-digit": "2", long: "l", short: "s", narrow: "w" };
  const TEXTS = ["long", "short", "narrow"], DIGITS = ["numeric", "2-digit"];
  const VALUES = {
    __proto__: null, weekday: TEXTS, year: DIGITS, month: [...TEXTS, ...DIGITS], day: DIGITS, hour: DIGITS, minute: DIGITS, second: DIGITS,
    dateStyle: ["full", "long", "medium", "short"], timeStyle: ["medium", "short"], hourCycle: ["h23"],
  };
  const WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
  const TIME_PARTS = { __proto__: null, H: "hour", m: "minute", s: "second" };
  const plain = (digits) => digits.replace(/^0(?=\d)/, "");
  // The parts of a date for these options; `wanted` is what there is without any. `valuesOf` gives what a clock shows.
  native.languageDateParts = (locale, options, wanted, valuesOf) => {
    const { months, weekdays, patterns, glue, time } = datesOf(locale);
    const refuse = (what) => { throw new RangeError(`${what} isn't available for dates in \`${locale}\``); };
    for (const [name, value] of Object.entries(options)) {
      const isKnown = name === "timeZone" || (name === "hour12" ? !value : VALUES[name]?.includes(value));
      if (!isKnown) refuse(`${name}: ${value}`);
    }
    const { dateStyle, timeStyle } = options;
    if ((dateStyle && wanted === 1) || (timeStyle && wanted === 0)) throw new TypeError(`Invalid option : ${dateStyle ? "dateStyle" : "timeStyle"}`);
    const isStyled = dateStyle !== undefined || timeStyle !== undefined;
    const has = (names) => names.some((name) => name in options);
    const [hasDateParts, hasTimeParts] = [has(["weekday", "year", "month", "day"]), has(["hour", "minute", "second"])];
    const isNone = !hasDateParts && !hasTimeParts;
    const hasDate = isStyled ? dateStyle !== undefined : hasDateParts || wanted === 0 || (isNone && wanted !== 1);
    const hasTime = isStyled ? timeStyle !== undefined : hasTimeParts || wanted === 1 || (isNone && wanted === 2);
    if (hasTimeParts && !("hour" in options && "minute" in options)) refuse("A part of a time");
    const key = hasDateParts ? ["weekday", "year", "month", "day"].map((name) => STYLES[options[name]] ?? "-").join("") : "-nnn";
    if (hasTime && time === undefined) refuse("A time");
    if (hasTimeParts && hasDateParts && (key[2] === "-" || key[3] === "-")) refuse("A time with a part of a date");
    const datePattern = !hasDate ? "" : dateStyle ? patterns[dateStyle] ?? "" : patternOf(patterns, key);
    if (hasDate && datePattern === "") refuse(dateStyle ? `dateStyle: ${dateStyle}` : "This part of a date");
    const timePattern = !hasTime ? "" : (hasTimeParts && !("second" in options)) || timeStyle === "short" ? time.slice(0, -3) : time;
    const between = dateStyle ? VALUES.dateStyle.indexOf(dateStyle)
      : key[2] === "l" ? (key[0] === "-" ? 1 : 0) : key[2] === "s" ? 2 : 3;

    const values = valuesOf();
    const parts = [];
    const add = (type, value) => {
      if (type === "literal" && parts.at(-1)?.type === "literal") parts.at(-1).value += value;
      else parts.push({ type, value });
    };
    // A style says how names are written, of which a date's pattern says only where they are.
    const named = (lists, isInDate, name) => {
      const style = options[name] ?? (dateStyle === "medium" || dateStyle === "short" ? "short" : "long");
      return lists[isInDate ? 1 : 0][Math.max(TEXTS.indexOf(style), 0)];
    };
    for (const piece of datePattern.match(/\d|\D+/g) ?? []) {
      switch (piece) {
        case "0": case "9": add("weekday", named(weekdays, piece === "0", "weekday")[WEEKDAYS.indexOf(values.weekday)]); break;
        case "1": add("year", values.year); break;
        case "2": add("year", values.year.slice(-2).padStart(2, "0")); break;
        case "3": add("month", plain(values.month)); break;
        case "4": add("month", values.month); break;
        case "5": case "6": add("month", named(months, piece === "5", "month")[Number(values.month) - 1]); break;
        case "7": add("day", plain(values.day)); break;
        case "8": add("day", values.day); break;
        default: add("literal", piece);
      }
    }
    if (hasDate && hasTime) add("literal", glue[between]);
    for (const piece of timePattern.match(/H+|m+|s+|[^Hms]+/g) ?? []) {
      const type = TIME_PARTS[piece[0]];
      // An hour has one digit if it is asked for before minutes of two.
      const isShort = type === "hour" && (options.hour === "numeric"
        ? piece.length === 1 || (options.minute === "2-digit" && options.second !== "numeric")
        : piece.length === 1 && options.hour !== "2-digit");
      add(type ?? "literal", type === undefined ? piece : isShort ? plain(values[type]) : values[type]);
    }
    return parts;
  };
  native.languageDateLocales = [...DATES, "en-CA", ...COUNTRIES];

  // Plurals: by the digits before and behind the point, as they are shown.
  const is = (number, ...ranges) => ranges.some(([from, to = from]) => number >= from && number <= to);
  const slavic = (i, v) => {
    const [tens, ones] = [i % 100, i % 10];
    return v > 0 ? "other" : is(ones, [2, 4]) && !is(tens, [12, 14]) ? "few" : "many";
  };
  const many = (i, v) => (i !== 0 && i % 1_000_000 === 0 && v === 0 ? "many" : "other");
  const english = (n, i, v) => (i === 1 && v === 0 ? "one" : "other");
  const CARDINALS = {
    __proto__: null,
    en: english, de: english, nl: english, sv: english,
    da: (n, i, v, t) => (n === 1 || (t !== 0 && is(i, [0, 1])) ? "one" : "other"),
    fr: (n, i, v) => (is(i, [0, 1]) ? "one" : many(i, v)),
    pt: (n, i, v) => (is(i, [0, 1]) ? "one" : many(i, v)),
    es: (n, i, v) => (n === 1 ? "one" : many(i, v)),
    it: (n, i, v) => (i === 1 && v === 0 ? "one" : many(i, v)),
    pl: (n, i, v) => (i === 1 && v === 0 ? "one" : slavic(i, v)),
    ru: (n, i, v) => (v === 0 && i % 10 === 1 && i % 100 !== 11 ? "one" : slavic(i, v)),
    ja: () => "other", zh: () => "other",
  };
  const ORDINALS = {
    __proto__: null,
    en: (n) => {
      const [tens, ones] = [n % 100, n % 10];
      return ones === 1 && tens !== 11 ? "one" : ones === 2 && tens !== 12 ? "two" : ones === 3 && tens !== 13 ? "few" : "other";
    },
    fr: (n) => (n === 1 ? "one" : "other"),
    it: (n) => ([8, 11, 80, 800].includes(n) ? "many" : "other"),
    sv: (n) => ([1, 2].includes(n % 10) && ![11, 12].includes(n % 100) ? "one" : "other"),
  };
  native.pluralOf = (locale, isOrdinal, whole, fraction) => {
    const language = languageOf(locale);
    const rule = isOrdinal ? ORDINALS[language] ?? CARDINALS.ja : CARDINALS[language];
    return rule(Number(`${whole}.${fraction || 0}`), Number(whole), fraction.length, Number(fraction.replace(/0+$/, "")));
  };
  const SAMPLES = [0, 1, 2, 3, 5, 8, 21, 1_000_000];
  native.pluralCategories = (locale, isOrdinal) => {
    const found = new Set(SAMPLES.map((number) => native.pluralOf(locale, isOrdinal, String(number), "")));
    return ["few", "many", "one", "two", "other"].filter((one) => one === "other" || found.has(one));
  };
  native.pluralLocales = ["en", "en-US", "en-GB", ...native.languageDateLocales.filter((tag) => tag !== "en-CA")];

  // Times from now.
  const UNITS = ["second", "minute", "hour", "day", "week", "month", "quarter", "year"];
  const relativeOf = cached((key) => {
    const [locale, style] = key.split(" ");
    const [categories, ...styles] = lineOf("relative", locale === "en-GB" ? locale : languageOf(locale));
    const [pastBefore, pastBehind, before, behind, ...units] = styles[TEXTS.indexOf(style)].split("\n");
    const names = categories.split("|");
    return units.map((unit) => {
      const [known, past, future = past] = unit.split(";");
      const texts = (first, words, last) => {
        const list = words.split("|");
        return Object.fromEntries(names.map((name, at) => [name, first + (list[at] ?? list[0]) + last]));
      };
      return { known: known.split("|"), past: texts(pastBefore, past, pastBehind), future: texts(before, future, behind) };
    });
  });
  // The text for a number of units with `#` for the number; whole if there is a word for it.
  native.relativeText = (locale, style, isAuto, number, unit, category) => {
    const { known, past, future } = relativeOf(`${locale} ${style}`)[UNITS.indexOf(unit)];
    const word = isAuto && Number.isInteger(number) && Math.abs(number) <= 2 ? known[number + 2] : undefined;
    return word || (number < 0 || Object.is(number, -0) ? past : future)[category];
  };
  native.relativeUnits = UNITS;
  native.relativeLocales = native.pluralLocales;
}
