// Intl (ECMA-402) as far as heddle's own texts for people go: dates in American and British English by the implementation of
// compiled expressions (`times.rs`), dates, plurals and relative times in other languages by `languages.js`, numbers in those of NUMBERS, lists in
// English, and sorting by the root collation. A language or an option that is not here is an error, never another language.
(native, global) => {
  const { timeForPeople, zoneName, numberForPeople, collate } = native;
  const { defineProperty, defineProperties, freeze } = Object;
  const Intl = {};
  const { now } = Date;
  const getTime = Date.prototype.getTime;
  const hidden = (target, name, value) => defineProperty(target, name, { value, writable: true, configurable: true });

  const ENGLISH = ["en", "en-US", "en-GB"];
  // The language that comes first, of which the regions in the list are known; without a region it is the language's own.
  const localeOf = (locales, known, what) => {
    const first = Array.isArray(locales) ? locales[0] : locales;
    if (first === undefined) return "en-US";
    if (typeof first !== "string" && (typeof first !== "object" || first === null)) {
      throw new TypeError("Incorrect locale information provided");
    }
    const [tag, extension] = String(first).split(/-u-(.*)$/s);
    if (extension && !/^(?:(?:nu-latn|ca-gregory|co-standard|kn(?:-true|-false)?)(?:-(?!$)|$))+$/.test(extension)) {
      throw new RangeError(`The extension \`-u-${extension}\` isn't available`);
    }
    if (!/^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*$/.test(tag)) throw new RangeError(`Incorrect locale information provided: ${tag}`);
    const small = tag.toLowerCase();
    const found = known.includes(tag) ? tag : known.find((one) => one.toLowerCase() === small);
    if (found !== undefined) return found;
    throw new RangeError(`The locale \`${tag}\` isn't available for ${what}: there are ${known.join(", ")}`);
  };
  const objectOf = (options) => {
    if (options === null) throw new TypeError("Cannot convert undefined or null to object");
    return options === undefined ? {} : Object(options);
  };
  const oneOf = (options, name, values, otherwise) => {
    const value = options[name];
    if (value === undefined) return otherwise;
    if (values.includes(String(value))) return String(value);
    throw new RangeError(`Value ${String(value)} out of range for Intl options property ${name}: there are ${values.join(", ")}`);
  };
  const within = (options, name, least, most, otherwise) => {
    const value = options[name];
    if (value === undefined) return otherwise;
    const number = Number(value);
    if (number >= least && number <= most) return Math.floor(number);
    throw new RangeError(`${name} value is out of range: it is ${least} to ${most}`);
  };
  // Some of them are called without `new`.
  const callable = (type) => {
    const name = type.name;
    const construct = function (...list) { return Reflect.construct(type, list, new.target ?? construct); };
    defineProperties(construct, {
      name: { value: name, configurable: true },
      length: { value: 0, configurable: true },
      prototype: { value: type.prototype, writable: false },
    });
    hidden(type.prototype, "constructor", construct);
    return construct;
  };
  const complete = (type, known) => {
    hidden(type, "supportedLocalesOf", function supportedLocalesOf(locales) {
      const list = locales === undefined ? [] : Array.isArray(locales) ? locales : [locales];
      return list.map(String).filter((tag) => known.some((one) => one.toLowerCase() === tag.toLowerCase()));
    });
    defineProperty(type.prototype, Symbol.toStringTag, { value: `Intl.${type.name}`, configurable: true });
    hidden(Intl, type.name, type);
  };

  // Dates.
  const DATE_PARTS = ["weekday", "era", "year", "month", "day", "dayPeriod", "hour", "minute", "second", "fractionalSecondDigits",
    "timeZoneName"];
  const DATE_OPTIONS = [...DATE_PARTS, "hour12", "hourCycle", "timeZone", "dateStyle", "timeStyle"];
  const dateOptions = (given) => {
    const options = {};
    if (given === undefined) return options;
    const source = objectOf(given);
    oneOf(source, "calendar", ["gregory", "iso8601"]);
    oneOf(source, "numberingSystem", ["latn"]);
    for (const name of DATE_OPTIONS) {
      const value = source[name];
      if (value === undefined) continue;
      if (name === "hour12") options[name] = Boolean(value);
      else if (name === "fractionalSecondDigits") options[name] = within(source, name, 1, 3);
      else if (name === "timeZone") options[name] = zoneOf(value);
      else options[name] = String(value);
    }
    const style = "dateStyle" in options ? "dateStyle" : "timeStyle" in options ? "timeStyle" : undefined;
    const part = style && DATE_PARTS.find((name) => name in options);
    if (part) throw new TypeError(`Can't set option ${part} when ${style} is used`);
    return options;
  };
  const zoneOf = (value) => {
    const name = zoneName(String(value));
    if (name === undefined || name === null) throw new RangeError(`Invalid time zone specified: ${String(value)}`);
    return name;
  };
  const timeOf = (value) => {
    const ms = value === undefined ? now() : Number(value);
    if (!(Math.abs(ms) <= 8.64e15)) throw new RangeError("Invalid time value");
    return Math.trunc(ms);
  };
  const PARTS = { __proto__: null, y: "year", M: "month", d: "day", w: "weekday", h: "hour", m: "minute", s: "second",
    f: "fractionalSecond", p: "dayPeriod", z: "timeZoneName" };
  const partsOf = (text) => {
    const parts = [];
    for (const piece of text.split("\u0001")) {
      const end = piece.indexOf("\u0002");
      if (end >= 0) parts.push({ type: PARTS[piece[0]], value: piece.slice(1, end) });
      const rest = piece.slice(end + 1);
      if (rest !== "") parts.push({ type: "literal", value: rest });
    }
    return parts;
  };

  // In other languages than English.
  const { languageDateParts, languageDateLocales } = native;
  const COUNTRIES = ["de-DE", "fr-FR", "es-ES", "it-IT", "nl-NL", "pt-BR", "pl-PL", "sv-SE", "da-DK", "ru-RU", "ja-JP", "zh-CN"];
  const DATE_LOCALES = freeze([...ENGLISH, ...languageDateLocales]);
  const CLOCK = freeze({ weekday: "short", year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit",
    second: "2-digit", hourCycle: "h23" });
  const partsElsewhere = (locale, ms, options, wanted) => languageDateParts(locale, options, wanted, () => {
    const clock = "timeZone" in options ? { ...CLOCK, timeZone: options.timeZone } : CLOCK;
    return Object.fromEntries(partsOf(timeForPeople(ms, "en-GB", clock, 2, true)).map(({ type, value }) => [type, value]));
  });
  const isElsewhere = (locale) => !ENGLISH.includes(locale);
  const dateParts = (locale, ms, options, wanted) => isElsewhere(locale)
    ? partsElsewhere(locale, ms, options, wanted) : partsOf(timeForPeople(ms, locale, options, wanted, true));
  const dateText = (locale, ms, options, wanted) => isElsewhere(locale)
    ? partsElsewhere(locale, ms, options, wanted).map(({ value }) => value).join("") : timeForPeople(ms, locale, options, wanted, false);

  class DateTimeFormat {
    #locale;
    #options;
    #format;
    constructor(locales, options) {
      this.#locale = localeOf(locales, DATE_LOCALES, "dates");
      this.#options = freeze(dateOptions(options));
      dateText(this.#locale, 0, this.#options, 3);
    }
    get format() {
      return this.#format ??= (date) => dateText(this.#locale, timeOf(date), this.#options, 3);
    }
    formatToParts(date) { return dateParts(this.#locale, timeOf(date), this.#options, 3); }
    formatRange(start, end) {
      const [one, other] = [this.format(start), this.format(end)];
      return one === other ? one : `${one} – ${other}`;
    }
    resolvedOptions() {
      const { timeZone = "UTC", ...rest } = this.#options;
      const has = DATE_OPTIONS.some((name) => name in rest && name !== "hour12" && name !== "hourCycle");
      const parts = has ? rest : { ...rest, year: "numeric", month: "numeric", day: "numeric" };
      return { locale: this.#locale, calendar: "gregory", numberingSystem: "latn", timeZone, ...parts };
    }
  }
  const method = (type, name, run) => hidden(type.prototype, name, { [name](...list) { return run(this, ...list); } }[name]);
  for (const [name, wanted] of [["toLocaleString", 2], ["toLocaleDateString", 0], ["toLocaleTimeString", 1]]) {
    method(Date, name, (date, locales, options) => {
      const ms = getTime.call(date);
      const [locale, chosen] = [localeOf(locales, DATE_LOCALES, "dates"), dateOptions(options)];
      return ms === ms ? dateText(locale, ms, chosen, wanted) : "Invalid Date";
    });
  }

  // Numbers: what groups thousands, what stands before decimals, how many digits the first group needs before there is one,
  // what stands before the percent sign, and how the euro, the dollar and the pound are written; where the symbol stands; what groups
  // thousands of amounts, if it is something else.
  const N = "\u00a0", T = "\u202f";
  const NUMBERS = {
    __proto__: null,
    "en": [",", ".", 1, "", { EUR: "€", USD: "$", GBP: "£" }, "before"],
    "en-US": [",", ".", 1, "", { EUR: "€", USD: "$", GBP: "£" }, "before"],
    "en-GB": [",", ".", 1, "", { EUR: "€", USD: "US$", GBP: "£", JPY: "JP¥" }, "before"],
    "de": [".", ",", 1, N, { EUR: "€", USD: "$", GBP: "£" }, "behind"],
    "fr": [T, ",", 1, N, { EUR: "€", USD: "$US", GBP: "£GB" }, "behind"],
    "es": [".", ",", 2, N, { EUR: "€", USD: "US$", GBP: "GBP" }, "behind"],
    "it": [".", ",", 2, "", { EUR: "€", USD: "USD", GBP: "£" }, "behind"],
    "nl": [".", ",", 1, "", { EUR: "€", USD: "US$", GBP: "£" }, "apart"],
    "pt": [".", ",", 1, "", { EUR: "€", USD: "US$", GBP: "£", BRL: "R$" }, "apart"],
    "pl": [N, ",", 2, "", { EUR: "€", USD: "USD", GBP: "GBP", PLN: "zł" }, "behind"],
    "sv": [N, ",", 1, N, { EUR: "€", USD: "US$", GBP: "GBP", SEK: "kr", DKK: "Dkr", NOK: "Nkr", ISK: "Ikr" }, "behind"],
    "da": [".", ",", 1, N, { EUR: "€", USD: "US$", GBP: "£", DKK: "kr." }, "behind"],
    "de-AT": [N, ",", 1, N, { EUR: "€", USD: "$", GBP: "£" }, "apart", "."],
    "de-CH": ["'", ".", 1, "", { EUR: "EUR", USD: "$", GBP: "£", CHF: "CHF" }, "close"],
    "en-IN": [",", ".", 1, "", { EUR: "€", USD: "$", GBP: "£", JPY: "JP¥" }, "before"],
    "ru": [N, ",", 1, N, { EUR: "€", USD: "$", GBP: "£", RUB: "₽" }, "behind"],
    "ja": [",", ".", 1, "", { EUR: "€", USD: "$", GBP: "£", JPY: "￥" }, "before"],
    "zh": [",", ".", 1, "", { EUR: "€", USD: "US$", GBP: "£", CNY: "¥" }, "before"],
  };
  for (const tag of COUNTRIES) NUMBERS[tag] = NUMBERS[tag.slice(0, 2)];
  const NUMBER_LOCALES = freeze(Object.keys(NUMBERS));
  const SYMBOLS = { __proto__: null, AUD: "A$", BRL: "R$", CAD: "CA$", CNY: "CN¥", HKD: "HK$", ILS: "₪", INR: "₹", JPY: "¥", KRW: "₩",
    MXN: "MX$", NZD: "NZ$", PHP: "₱", TWD: "NT$", VND: "₫", XAF: "FCFA", XCD: "EC$", XOF: `F${T}CFA`, XPF: "CFPF" };
  const CURRENCY_DIGITS = { __proto__: null, BIF: 0, CLP: 0, DJF: 0, GNF: 0, ISK: 0, JPY: 0, KMF: 0, KRW: 0, PYG: 0, RWF: 0, UGX: 0,
    VND: 0, VUV: 0, XAF: 0, XOF: 0, XPF: 0, BHD: 3, IQD: 3, JOD: 3, KWD: 3, LYD: 3, OMR: 3, TND: 3 };
  const NARROW = { __proto__: null, EUR: "€", USD: "$", GBP: "£" };
  const symbolOf = (locale, currency, display) => {
    if (display === "code") return currency;
    const own = NUMBERS[locale][4];
    if (display === "narrowSymbol" && NARROW[currency] !== undefined && locale !== "de-CH") return NARROW[currency];
    if (display === "narrowSymbol" && currency === "JPY" && locale.startsWith("en")) return "¥";
    if (own[currency] !== undefined) return own[currency];
    if (locale.startsWith("en") && display === "symbol") return SYMBOLS[currency] ?? currency;
    // Of these, other languages write some by symbols of their own.
    if (SYMBOLS[currency] === undefined && display === "symbol") return currency;
    throw new RangeError(`The symbol of ${currency} isn't available in \`${locale}\`: say currencyDisplay: "code"`);
  };
  const COMPACT = [[1e12, "T", "trillion"], [1e9, "B", "billion"], [1e6, "M", "million"], [1e3, "K", "thousand"]];
  const BRITISH = { __proto__: null, K: "k", M: "m", B: "bn", T: "tn" };
  // Digits before and behind the point of a text that may have an exponent.
  const digitsOf = (text) => {
    const [mantissa, exponent = "0"] = text.split("e");
    const [whole, fraction = ""] = mantissa.split(".");
    const at = whole.length + Number(exponent);
    const all = at > 0 ? (whole + fraction).padEnd(at, "0") : "0".repeat(1 - at) + whole + fraction;
    const point = Math.max(at, 1);
    return [all.slice(0, point).replace(/^0+(?=\d)/, ""), all.slice(point)];
  };

  // To so many digits, by the digits that are shown rather than by what they stand for in binary: 2.55 is 2.6.
  const rounded = (number, precision) => {
    const [mantissa, exponent] = number.toExponential().split("e");
    const digits = mantissa.replace(".", "");
    if (digits.length <= precision) return number;
    const kept = BigInt(digits.slice(0, precision)) + (digits[precision] >= "5" ? 1n : 0n);
    return Number(`${kept}e${Number(exponent) - precision + 1}`);
  };
  // A hundred times as much, in decimals as well: 0.145 is 14.5.
  const hundredfold = (number) => {
    if (!Number.isFinite(number)) return number;
    const [mantissa, exponent = "0"] = String(number).split("e");
    return Number(`${mantissa}e${Number(exponent) + 2}`);
  };

  class NumberFormat {
    #locale;
    #options;
    #format;
    constructor(locales, given) {
      const options = objectOf(given);
      this.#locale = localeOf(locales, NUMBER_LOCALES, "numbers");
      oneOf(options, "numberingSystem", ["latn"]);
      oneOf(options, "roundingMode", ["halfExpand"]);
      oneOf(options, "roundingIncrement", ["1"]);
      oneOf(options, "roundingPriority", ["auto"]);
      oneOf(options, "trailingZeroDisplay", ["auto"]);
      const style = oneOf(options, "style", ["decimal", "percent", "currency"], "decimal");
      const notation = oneOf(options, "notation", ["standard", "compact"], "standard");
      const compactDisplay = oneOf(options, "compactDisplay", ["short", "long"], "short");
      const isCompact = notation === "compact";
      if (isCompact && !ENGLISH.includes(this.#locale)) throw new RangeError("Compact numbers are available in English only");
      let currency = options.currency;
      if (currency !== undefined && !/^[A-Za-z]{3}$/.test(String(currency))) throw new RangeError(`Invalid currency code : ${currency}`);
      if (style === "currency" && currency === undefined) throw new TypeError("Currency code is required with currency style.");
      currency = style === "currency" ? String(currency).toUpperCase() : undefined;
      const currencyDisplay = oneOf(options, "currencyDisplay", ["symbol", "narrowSymbol", "code"], "symbol");
      const currencySign = oneOf(options, "currencySign", ["standard", "accounting"], "standard");
      if (currencySign === "accounting" && !ENGLISH.includes(this.#locale)) {
        throw new RangeError("The currencySign accounting is available in English only");
      }
      const places = currency ? CURRENCY_DIGITS[currency] ?? 2 : 0;
      let least = within(options, "minimumFractionDigits", 0, 20), most = within(options, "maximumFractionDigits", 0, 20);
      const leastAll = within(options, "minimumSignificantDigits", 1, 21), mostAll = within(options, "maximumSignificantDigits", 1, 21);
      const isSignificant = leastAll !== undefined || mostAll !== undefined;
      const isPlain = least === undefined && most === undefined && !isSignificant;
      const [usualLeast, usualMost] = isCompact ? [0, 0] : [places, currency ? places : style === "percent" ? 0 : 3];
      if (least === undefined) least = Math.min(usualLeast, most ?? usualLeast);
      if (most === undefined) most = Math.max(usualMost, least);
      if (least > most) throw new RangeError("maximumFractionDigits value is out of range.");
      if (isSignificant && (leastAll ?? 1) > (mostAll ?? 21)) throw new RangeError("maximumSignificantDigits value is out of range.");
      let grouping = options.useGrouping;
      if (grouping === undefined || grouping === "true" || grouping === "false") grouping = isCompact ? "min2" : "auto";
      else if (grouping === true) grouping = "always";
      else if (!grouping) grouping = "never";
      else grouping = oneOf(options, "useGrouping", ["auto", "always", "min2"]);
      this.#options = freeze({
        style, notation, compactDisplay, currency, currencyDisplay, currencySign, grouping, isPlain,
        symbol: currency && symbolOf(this.#locale, currency, currencyDisplay),
        least, most, significant: isSignificant ? [leastAll ?? 1, mostAll ?? 21] : undefined,
        integers: within(options, "minimumIntegerDigits", 1, 21, 1),
        sign: oneOf(options, "signDisplay", ["auto", "always", "never", "exceptZero", "negative"], "auto"),
      });
    }
    get format() { return this.#format ??= (number) => this.#parts(number).map(([, text]) => text).join(""); }
    formatToParts(number) { return this.#parts(number).map(([type, value]) => ({ type, value })); }
    resolvedOptions() {
      const { style, currency, currencyDisplay, currencySign, notation, least, most, significant, grouping, sign, integers } = this.#options;
      return {
        locale: this.#locale, numberingSystem: "latn", style,
        ...(currency && { currency, currencyDisplay, currencySign }),
        minimumIntegerDigits: integers,
        ...(significant
          ? { minimumSignificantDigits: significant[0], maximumSignificantDigits: significant[1] }
          : { minimumFractionDigits: least, maximumFractionDigits: most }),
        useGrouping: grouping === "never" ? false : grouping, notation, signDisplay: sign,
      };
    }

    #digits(number) {
      const { significant, isPlain, notation, least, most } = this.#options;
      if (significant || (notation === "compact" && isPlain)) {
        const [fewest, precision] = significant ?? [1, 2];
        // A compact number keeps all digits before its point.
        const whole = precision > 17 ? String(number)
          : significant || number < 100 ? rounded(number, precision).toPrecision(precision) : numberForPeople(number, 0, 0, false);
        let [before, fraction] = digitsOf(whole);
        fraction = fraction.replace(/0+$/, "");
        const shown = before === "0" ? fraction.replace(/^0+/, "").length : before.length + fraction.length;
        if (shown < fewest) fraction += "0".repeat(Math.max(fewest - shown - (number === 0 ? 1 : 0), 0));
        return [before, fraction];
      }
      return digitsOf(numberForPeople(number, least, most, false));
    }
    #parts(value) {
      const o = this.#options;
      const isBig = typeof value === "bigint";
      let number = Number(value);
      const isNegative = number < 0 || Object.is(number, -0);
      number = Math.abs(number);
      const [usualGroup, decimal, firstGroup, beforePercent, , place, amountGroup = usualGroup] = NUMBERS[this.#locale];
      const group = o.currency ? amountGroup : usualGroup;
      // Thousands, and in India hundreds of them from there on.
      const step = this.#locale === "en-IN" ? 2 : 3;
      if (o.style === "percent") number = hundredfold(number);
      const inner = [];
      let isZero = false, scale;
      if (number !== number) inner.push(["nan", "NaN"]);
      else if (number === Infinity) inner.push(["infinity", "∞"]);
      else {
        let divided = number;
        if (o.notation === "compact") {
          const at = COMPACT.findIndex(([size]) => number >= size);
          scale = COMPACT[at];
          divided = scale ? number / scale[0] : number;
          const larger = COMPACT[(at < 0 ? COMPACT.length : at) - 1];
          if (larger && Number(this.#digits(divided)[0]) >= 1000) {
            scale = larger;
            divided = number / scale[0];
          }
        }
        let [whole, fraction] = isBig && !o.significant && o.style !== "percent" && o.notation !== "compact"
          ? [String(value).replace("-", ""), "0".repeat(o.least)]
          : this.#digits(divided);
        isZero = /^0*$/.test(whole + fraction);
        whole = whole.padStart(o.integers, "0");
        const enough = o.grouping === "always" ? 1 : o.grouping === "min2" ? 2 : firstGroup;
        if (o.grouping !== "never" && whole.length >= 3 + enough) {
          const first = (whole.length - 3) % step || step;
          inner.push(["integer", whole.slice(0, first)]);
          for (let at = first; at < whole.length - 3; at += step) inner.push(["group", group], ["integer", whole.slice(at, at + step)]);
          inner.push(["group", group], ["integer", whole.slice(-3)]);
        } else inner.push(["integer", whole]);
        if (fraction !== "") inner.push(["decimal", decimal], ["fraction", fraction]);
      }
      if (scale) {
        if (o.compactDisplay === "long" && !o.currency) inner.push(["literal", " "], ["compact", scale[2]]);
        else inner.push(["compact", this.#locale === "en-GB" ? BRITISH[scale[1]] : scale[1]]);
      }
      if (o.style === "percent") {
        if (beforePercent !== "") inner.push(["literal", beforePercent]);
        inner.push(["percentSign", "%"]);
      }
      const isNan = number !== number;
      const signs = {
        auto: isNegative && !isNan, never: false, negative: isNegative && !isZero && !isNan,
        always: true, exceptZero: !isZero && !isNan,
      };
      const sign = signs[o.sign] ? (isNegative && !isNan ? "-" : o.sign === "always" || o.sign === "exceptZero" ? "+" : "") : "";
      const minus = this.#locale.startsWith("sv") ? "\u2212" : "-";
      const shownSign = sign === "" ? [] : sign === "-" ? [["minusSign", minus]] : [["plusSign", "+"]];
      if (!o.currency) return [...shownSign, ...inner];
      const symbol = ["currency", o.symbol];
      if (place === "behind") return [...shownSign, ...inner, ["literal", N], symbol];
      if (place === "close") return [symbol, ...(shownSign.length > 0 ? shownSign : [["literal", N]]), ...inner];
      if (place === "apart") {
        // Dutch has the sign behind the symbol.
        const isDutch = this.#locale.startsWith("nl");
        return isDutch ? [symbol, ["literal", N], ...shownSign, ...inner] : [...shownSign, symbol, ["literal", N], ...inner];
      }
      const gap = /\p{L}$/u.test(o.symbol) ? [["literal", N]] : [];
      if (o.currencySign === "accounting" && sign === "-") return [["literal", "("], symbol, ...gap, ...inner, ["literal", ")"]];
      return [...shownSign, symbol, ...gap, ...inner];
    }
  }
  const valueOf = { Number: Number.prototype.valueOf, BigInt: BigInt.prototype.valueOf };
  for (const type of [Number, BigInt]) {
    method(type, "toLocaleString", (self, locales, options) => {
      const number = valueOf[type.name].call(self);
      if (typeof number === "number" && locales === undefined && options === undefined) return numberForPeople(number, 0, 3, true);
      return new NumberFormat(locales, options).format(number);
    });
  }

  // Plurals.
  const { pluralOf, pluralCategories, pluralLocales } = native;
  const pluralOfNumber = (locale, isOrdinal, number, least) => {
    if (!Number.isFinite(number)) return "other";
    const [whole, fraction] = digitsOf(numberForPeople(Math.abs(number), least, Math.max(least, 3), false));
    return pluralOf(locale, isOrdinal, whole, fraction);
  };
  class PluralRules {
    #locale;
    #type;
    #digits;
    constructor(locales, given) {
      const options = objectOf(given);
      this.#locale = localeOf(locales, pluralLocales, "plurals");
      this.#type = oneOf(options, "type", ["cardinal", "ordinal"], "cardinal");
      this.#digits = within(options, "minimumFractionDigits", 0, 20, 0);
      for (const name of ["maximumFractionDigits", "minimumSignificantDigits", "maximumSignificantDigits"]) {
        if (options[name] !== undefined) throw new RangeError(`The option ${name} isn't available for plurals`);
      }
    }
    select(value) { return pluralOfNumber(this.#locale, this.#type === "ordinal", Number(value), this.#digits); }
    resolvedOptions() {
      return { locale: this.#locale, type: this.#type, minimumIntegerDigits: 1, minimumFractionDigits: this.#digits,
        maximumFractionDigits: Math.max(this.#digits, 3), pluralCategories: pluralCategories(this.#locale, this.#type === "ordinal") };
    }
  }

  // Lists, in English.
  class ListFormat {
    #locale;
    #type;
    #style;
    constructor(locales, given) {
      const options = objectOf(given);
      this.#locale = localeOf(locales, ENGLISH, "lists");
      this.#type = oneOf(options, "type", ["conjunction", "disjunction", "unit"], "conjunction");
      this.#style = oneOf(options, "style", ["long", "short", "narrow"], "long");
    }
    formatToParts(list) {
      const items = [...list];
      for (const item of items) if (typeof item !== "string") throw new TypeError(`Iterable yielded ${String(item)} which is not a string`);
      const isBritish = this.#locale === "en-GB";
      const word = this.#type === "disjunction" ? "or"
        : this.#type === "unit" || this.#style === "narrow" ? ""
          : this.#style === "long" || isBritish ? "and" : "&";
      const between = this.#type === "unit" && this.#style === "narrow" ? " " : ", ";
      const two = word === "" ? between : ` ${word} `;
      const last = word === "" ? between : isBritish ? two : `,${two}`;
      return items.flatMap((value, at) => {
        const literal = at === 0 ? undefined : at < items.length - 1 ? between : items.length === 2 ? two : last;
        const element = { type: "element", value };
        return literal === undefined ? [element] : [{ type: "literal", value: literal }, element];
      });
    }
    format(list) { return this.formatToParts(list).map(({ value }) => value).join(""); }
    resolvedOptions() { return { locale: this.#locale, type: this.#type, style: this.#style }; }
  }

  // Times from now.
  const { relativeText, relativeUnits, relativeLocales } = native;
  class RelativeTimeFormat {
    #locale;
    #numeric;
    #style;
    #numbers;
    constructor(locales, given) {
      const options = objectOf(given);
      this.#locale = localeOf(locales, relativeLocales, "relative times");
      this.#numeric = oneOf(options, "numeric", ["always", "auto"], "always");
      this.#style = oneOf(options, "style", ["long", "short", "narrow"], "long");
    }
    format(value, unit) {
      const number = Number(value);
      if (!Number.isFinite(number)) throw new RangeError("The number of a relative time must be finite");
      const name = String(unit).replace(/s$/, "");
      if (!relativeUnits.includes(name)) throw new RangeError(`Invalid unit argument for format() '${String(unit)}'`);
      const category = pluralOfNumber(this.#locale, false, number, 0);
      const text = relativeText(this.#locale, this.#style, this.#numeric === "auto", number, name, category);
      return text.replace("#", () => (this.#numbers ??= new NumberFormat(this.#locale)).format(Math.abs(number)));
    }
    resolvedOptions() { return { locale: this.#locale, style: this.#style, numeric: this.#numeric, numberingSystem: "latn" }; }
  }

  // Sorting: ASCII by the table of compiled expressions, Latin letters by what they are without their marks first; other
  // letters by their code points, behind these.
  const COLLATIONS = ["en", "en-US", "en-GB", "de", "de-DE", "fr", "fr-FR", "it", "it-IT", "nl", "nl-NL", "pt", "pt-BR"];
  const ASCII = /^[\t-\r -~]*$/;
  const LETTERS = { __proto__: null, "ß": "ss", "ẞ": "ss", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ø": "o", "Ø": "O", "đ": "d", "Đ": "D",
    "ł": "l", "Ł": "L", "ħ": "h", "Ħ": "H", "ı": "i", "‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-" };
  const bare = (text) => text.normalize("NFD").replace(/\p{M}+/gu, "").replace(/[ßẞæÆœŒøØđĐłŁħĦı‘’“”–—]/g, (letter) => LETTERS[letter]);
  const order = (one, other) => (one < other ? -1 : one > other ? 1 : 0);
  const primary = (one, other, isNumeric) => {
    const pieces = isNumeric ? /\d+|[^\d]/gsu : /./gsu;
    const [ones, others] = [one.match(pieces) ?? [], other.match(pieces) ?? []];
    for (let at = 0; at < Math.min(ones.length, others.length); at++) {
      const [a, b] = [ones[at].toLowerCase(), others[at].toLowerCase()];
      if (a === b) continue;
      const digits = isNumeric && /^\d/.test(a) && /^\d/.test(b);
      const found = digits
        ? order(a.length, b.length) || order(a, b)
        : collate(a, b) ?? (order(rank(a), rank(b)) || order(a.codePointAt(0), b.codePointAt(0)));
      if (found !== 0) return found;
    }
    return order(ones.length, others.length);
  };
  const rank = (letter) => (/^\p{L}/u.test(letter) ? (ASCII.test(letter) ? 2 : 3) : /^\d/.test(letter) ? 1 : 0);

  class Collator {
    #locale;
    #sensitivity;
    #isNumeric;
    #compare;
    constructor(locales, given) {
      const options = objectOf(given);
      const tag = String((Array.isArray(locales) ? locales[0] : locales) ?? "");
      this.#locale = localeOf(locales, COLLATIONS, "sorting");
      this.#sensitivity = oneOf(options, "sensitivity", ["base", "accent", "case", "variant"], "variant");
      this.#isNumeric = Boolean(options.numeric ?? /-u-.*kn(?:-true)?(?:-|$)/.test(tag));
      oneOf(options, "usage", ["sort", "search"]);
      oneOf(options, "caseFirst", ["false", "lower"]);
      if (options.ignorePunctuation) throw new RangeError("The option ignorePunctuation isn't available");
    }
    get compare() { return this.#compare ??= (one, other) => this.#order(String(one), String(other)); }
    #order(one, other) {
      if (one === other) return 0;
      const known = this.#sensitivity === "variant" && !this.#isNumeric ? collate(one, other) : undefined;
      if (known !== undefined) return known;
      if (this.#isNumeric) [one, other] = [one, other].map((text) => text.replace(/(?<!\d)0+(?=\d)/g, ""));
      const [a, b] = [bare(one), bare(other)];
      const first = primary(a, b, this.#isNumeric);
      if (first !== 0 || this.#sensitivity === "base") return first;
      if (this.#sensitivity !== "case") {
        const [marked, otherMarked] = [one, other].map((text) => text.normalize("NFD").toLowerCase());
        const second = order(marked, otherMarked);
        if (second !== 0 || this.#sensitivity === "accent") return second;
      }
      // Small letters come first, unlike in the order of code units.
      for (let at = 0; at < Math.min(a.length, b.length); at++) {
        if (a[at] !== b[at]) return a[at] === a[at].toLowerCase() ? -1 : 1;
      }
      return 0;
    }
    resolvedOptions() {
      return { locale: this.#locale, usage: "sort", sensitivity: this.#sensitivity, ignorePunctuation: false, collation: "default",
        numeric: this.#isNumeric, caseFirst: "false" };
    }
  }
  const usual = new Collator().compare;
  hidden(String.prototype, "localeCompare", {
    localeCompare(other, locales, options) {
      if (this === undefined || this === null) throw new TypeError("String.prototype.localeCompare called on null or undefined");
      if (locales !== undefined || options !== undefined) return new Collator(locales, options).compare(this, other);
      const [self, text] = [String(this), String(other)];
      return collate(self, text) ?? usual(self, text);
    },
  }.localeCompare);

  // Lists pass on what they are told.
  for (const type of [Array, Object.getPrototypeOf(Uint8Array)]) {
    method(type, "toLocaleString", (self, ...told) =>
      Array.from(self, (one) => (one === undefined || one === null ? "" : one.toLocaleString(...told))).join(","));
  }
  // Turkish and its like have other letters.
  for (const name of ["toLocaleUpperCase", "toLocaleLowerCase"]) {
    const original = String.prototype[name];
    method(String, name, (self, locales) => {
      localeOf(locales, COLLATIONS, "changing the case of letters");
      return original.call(self);
    });
  }

  complete(callable(DateTimeFormat), DATE_LOCALES);
  complete(callable(NumberFormat), NUMBER_LOCALES);
  complete(callable(Collator), COLLATIONS);
  complete(PluralRules, pluralLocales);
  complete(ListFormat, ENGLISH);
  complete(RelativeTimeFormat, relativeLocales);
  hidden(Intl, "getCanonicalLocales", function getCanonicalLocales(locales) {
    return locales === undefined ? [] : (Array.isArray(locales) ? locales : [locales]).map(String);
  });
  defineProperty(Intl, Symbol.toStringTag, { value: "Intl", configurable: true });
  hidden(global, "Intl", Intl);
}
