// DateTime, Duration and Interval as Luxon 3.7 has them. What they calculate, read and write is done by the date-times of
// compiled expressions (`times.rs`); an interval is two of these. Comes before `times` and `freeze`.
(native, global) => {
  const { timeMade, timeCall, timeGet, timeKind, timePreset } = native;
  const { create, defineProperty, entries, fromEntries } = Object;
  const SPLITS_MAX = 100_000;
  const words = (text) => text.trim().split(/\s+/);
  const hidden = (target, name, value) => defineProperty(target, name, { value, writable: true, configurable: true });

  class DateTime {
    constructor() {
      throw new TypeError("A DateTime is made by DateTime.now(), DateTime.fromISO(text) and the like, not by `new`");
    }
    static isDateTime(value) { return timeKind(value) === 1; }
    get numberingSystem() { return null; }
    get outputCalendar() { return null; }
    until(other) { return this.isValid ? Interval.fromDateTimes(this, other) : this; }
    resolvedLocaleOptions() { return { locale: this.locale, numberingSystem: "latn", outputCalendar: "gregory" }; }
    toLocaleParts(options = {}) {
      if (!this.isValid) return [];
      return new Intl.DateTimeFormat(this.locale, { timeZone: this.zone.name, ...options }).formatToParts(this);
    }
  }

  class Duration {
    constructor() {
      throw new TypeError("A Duration is made by Duration.fromObject({hours: 1}) and the like, not by `new`");
    }
    static isDuration(value) { return timeKind(value) === 2; }
    get numberingSystem() { return null; }
    mapUnits(change) {
      if (!this.isValid) return this;
      return Duration.fromObject(fromEntries(entries(this.toObject()).map(([unit, amount]) => [unit, Number(change(amount, unit))])));
    }
  }

  // Of a date-time: by its name it can be given to another one.
  class Zone {
    constructor() {
      throw new TypeError("A time zone is named by its text, such as 'Europe/Berlin'");
    }
    get name() { return timeGet(kinds, this, "name"); }
    get ianaName() { return this.name; }
    get type() { return /^utc/i.test(this.name) ? "fixed" : "iana"; }
    get isUniversal() { return this.type === "fixed"; }
    get isValid() { return true; }
    offset(ms) { return DateTime.fromMillis(ms, { zone: this.name }).offset; }
    offsetName(ms, { format } = {}) {
      const at = DateTime.fromMillis(ms, { zone: this.name });
      return format === "long" ? at.offsetNameLong : at.offsetNameShort;
    }
    formatOffset(ms, format) {
      const token = { narrow: "Z", short: "ZZ", techie: "ZZZ" }[format];
      if (token === undefined) throw new RangeError(`Value format ${format} is out of range for property format`);
      return DateTime.fromMillis(ms, { zone: this.name }).toFormat(token);
    }
    equals(other) { return timeKind(other) === 3 && other.name === this.name; }
    toString() { return this.name; }
    toJSON() { return this.name; }
  }

  const kinds = { __proto__: null, dateTime: DateTime.prototype, duration: Duration.prototype, zone: Zone.prototype };
  const statics = (type, prefix, names) => {
    for (const name of words(names)) {
      const whole = `${prefix}.${name}`;
      hidden(type, name, { [name](...list) { return timeMade(kinds, whole, list); } }[name]);
    }
  };
  const methods = (type, names) => {
    for (const name of words(names)) {
      hidden(type.prototype, name, { [name](...list) { return timeCall(kinds, this, name, list); } }[name]);
    }
  };
  const getters = (type, names) => {
    for (const name of words(names)) {
      defineProperty(type.prototype, name, { get() { return timeGet(kinds, this, name); }, configurable: true });
    }
  };

  statics(DateTime, "DateTime", `now local utc fromISO fromSQL fromRFC2822 fromHTTP fromFormat fromString fromMillis fromSeconds
    fromJSDate fromObject invalid max min`);
  methods(DateTime, `plus minus set startOf endOf setZone toUTC toLocal setLocale reconfigure toISO toISODate toISOTime
    toISOWeekDate toFormat toLocaleString toSQL toSQLDate toSQLTime toHTTP toRFC2822 toBSON toRelative toRelativeCalendar
    toMillis toSeconds toUnixInteger toJSDate toJSON toString valueOf toObject get diff diffNow hasSame equals`);
  // What n8n adds.
  methods(DateTime, "beginningOf endOfMonth extract format isBetween diffTo diffToNow toDateTime");
  getters(DateTime, `isValid invalidReason invalidExplanation isInLeapYear isInDST isOffsetFixed isWeekend isLuxonDateTime zoneName
    offsetNameShort offsetNameLong monthShort monthLong weekdayShort weekdayLong locale zone day daysInMonth daysInYear hour
    localWeekNumber localWeekYear localWeekday millisecond minute month offset ordinal quarter second ts weekNumber weekYear
    weekday weeksInLocalWeekYear weeksInWeekYear year`);
  for (const name of words(`DATE_SHORT DATE_MED DATE_MED_WITH_WEEKDAY DATE_FULL DATE_HUGE TIME_SIMPLE TIME_WITH_SECONDS
    TIME_WITH_SHORT_OFFSET TIME_WITH_LONG_OFFSET TIME_24_SIMPLE TIME_24_WITH_SECONDS TIME_24_WITH_SHORT_OFFSET
    TIME_24_WITH_LONG_OFFSET DATETIME_SHORT DATETIME_SHORT_WITH_SECONDS DATETIME_MED DATETIME_MED_WITH_SECONDS
    DATETIME_MED_WITH_WEEKDAY DATETIME_FULL DATETIME_FULL_WITH_SECONDS DATETIME_HUGE DATETIME_HUGE_WITH_SECONDS`)) {
    defineProperty(DateTime, name, { value: timePreset(name), configurable: true });
  }
  statics(Duration, "Duration", "fromObject fromMillis fromDurationLike fromISO fromISOTime");
  methods(Duration, `plus minus negate normalize rescale removeZeros shiftToAll shiftTo set reconfigure as get toMillis valueOf
    toObject toISO toJSON toString toISOTime toFormat toHuman equals`);
  getters(Duration, `years quarters months weeks days hours minutes seconds milliseconds isValid isLuxonDuration invalidReason
    invalidExplanation locale`);

  const dateTimeOf = (value) => {
    if (timeKind(value) === 1) return value;
    // Of what is neither, a date-time that is none.
    if (value && typeof value.valueOf?.() === "number") return DateTime.fromJSDate(value);
    if (value && typeof value === "object") return DateTime.fromObject(value);
    throw new TypeError(`Unknown datetime argument: ${String(value)}, of type ${typeof value}`);
  };

  const textOf = ({ isValid, s, e }, write, between = "/", before = "", after = "") =>
    isValid ? before + write(s) + between + write(e) + after : "Invalid Interval";

  class Interval {
    constructor() {
      throw new TypeError("An Interval is made by Interval.fromDateTimes(start, end) and the like, not by `new`");
    }
    static fromDateTimes(start, end) {
      const [s, e] = [dateTimeOf(start), dateTimeOf(end)];
      if (!s.isValid) return Interval.invalid("missing or invalid start");
      if (!e.isValid) return Interval.invalid("missing or invalid end");
      if (e < s) {
        const explanation = `The end of an interval must be after its start, but you had start=${s.toISO()} and end=${e.toISO()}`;
        return Interval.invalid("end before start", explanation);
      }
      return interval({ s, e, invalid: null });
    }
    static invalid(reason, explanation = null) {
      if (!reason) throw new TypeError("need to specify a reason the Interval is invalid");
      return interval({ s: undefined, e: undefined, invalid: { reason: String(reason), explanation } });
    }
    static after(start, duration) {
      const s = dateTimeOf(start);
      return Interval.fromDateTimes(s, s.plus(duration));
    }
    static before(end, duration) {
      const e = dateTimeOf(end);
      return Interval.fromDateTimes(e.minus(duration), e);
    }
    static fromISO(text, options) {
      const [one, other] = String(text ?? "").split("/", 2);
      if (one && other) {
        const [s, e] = [DateTime.fromISO(one, options), DateTime.fromISO(other, options)];
        if (s.isValid && e.isValid) return Interval.fromDateTimes(s, e);
        const duration = Duration.fromISO(s.isValid ? other : one, options);
        if (s.isValid && duration.isValid) return Interval.after(s, duration);
        if (e.isValid && duration.isValid) return Interval.before(e, duration);
      }
      return Interval.invalid("unparsable", `the input "${text}" can't be parsed as ISO 8601`);
    }
    static isInterval(value) { return value instanceof Interval; }
    static merge(intervals) {
      const found = [];
      for (const next of [...intervals].sort((a, b) => a.s - b.s)) {
        const last = found.at(-1);
        if (last !== undefined && (last.overlaps(next) || last.abutsStart(next))) found[found.length - 1] = last.union(next);
        else found.push(next);
      }
      return found;
    }
    static xor(intervals) {
      const ends = [...intervals].flatMap((one) => [{ time: one.s, step: 1 }, { time: one.e, step: -1 }]);
      const results = [];
      let start = null, open = 0;
      for (const { time, step } of ends.sort((a, b) => a.time - b.time)) {
        open += step;
        if (open === 1) {
          start = time;
          continue;
        }
        if (start && +start !== +time) results.push(Interval.fromDateTimes(start, time));
        start = null;
      }
      return Interval.merge(results);
    }

    get isValid() { return this.invalid === null; }
    get start() { return this.isValid ? this.s : null; }
    get end() { return this.isValid ? this.e : null; }
    get lastDateTime() { return this.isValid ? this.e.minus(1) : null; }
    get invalidReason() { return this.invalid?.reason ?? null; }
    get invalidExplanation() { return this.invalid?.explanation ?? null; }
    length(unit = "milliseconds") { return this.isValid ? this.toDuration(unit).get(unit) : NaN; }
    count(unit = "milliseconds") {
      if (!this.isValid) return NaN;
      const end = this.e.startOf(unit);
      return Math.floor(end.diff(this.s.startOf(unit), unit).get(unit)) + (+end !== +this.e);
    }
    hasSame(unit) { return this.isValid && (this.isEmpty() || this.e.minus(1).hasSame(this.s, unit)); }
    isEmpty() { return +this.s === +this.e; }
    isAfter(time) { return this.isValid && this.s > time; }
    isBefore(time) { return this.isValid && this.e <= time; }
    contains(time) { return this.isValid && this.s <= time && this.e > time; }
    set({ start, end } = {}) { return this.isValid ? Interval.fromDateTimes(start || this.s, end || this.e) : this; }
    splitAt(...times) {
      if (!this.isValid) return [];
      const within = times.map(dateTimeOf).filter((time) => this.contains(time)).sort((a, b) => a - b);
      const results = [];
      let from = this.s;
      for (const to of [...within, this.e]) {
        if (from < to) results.push(Interval.fromDateTimes(from, to));
        from = to;
      }
      return results;
    }
    splitBy(size) {
      const duration = Duration.fromDurationLike(size);
      if (!this.isValid || !duration.isValid || duration.as("milliseconds") === 0) return [];
      const results = [];
      for (let from = this.s, step = 1; from < this.e; step++) {
        if (step > SPLITS_MAX) throw new RangeError(`An interval can be split into at most ${SPLITS_MAX} parts`);
        const added = this.s.plus(duration.mapUnits((amount) => amount * step));
        // A duration that goes backwards never comes to the end.
        if (!added.isValid || !(added > from)) throw new RangeError("An interval can't be split by a duration that isn't positive");
        const to = +added > +this.e ? this.e : added;
        results.push(Interval.fromDateTimes(from, to));
        from = to;
      }
      return results;
    }
    divideEqually(parts) { return this.isValid ? this.splitBy(this.length() / parts).slice(0, parts) : []; }
    overlaps(other) { return this.e > other.s && this.s < other.e; }
    abutsStart(other) { return this.isValid && +this.e === +other.s; }
    abutsEnd(other) { return this.isValid && +other.e === +this.s; }
    engulfs(other) { return this.isValid && this.s <= other.s && this.e >= other.e; }
    equals(other) { return this.isValid && other.isValid && this.s.equals(other.s) && this.e.equals(other.e); }
    intersection(other) {
      if (!this.isValid) return this;
      const s = this.s > other.s ? this.s : other.s, e = this.e < other.e ? this.e : other.e;
      return s >= e ? null : Interval.fromDateTimes(s, e);
    }
    union(other) {
      if (!this.isValid) return this;
      return Interval.fromDateTimes(this.s < other.s ? this.s : other.s, this.e > other.e ? this.e : other.e);
    }
    difference(...others) {
      const common = Interval.xor([this, ...others]).map((one) => this.intersection(one));
      return common.filter((one) => one && !one.isEmpty());
    }
    toString() { return textOf(this, (time) => time.toISO(), " – ", "[", ")"); }
    toLocaleString(format = DateTime.DATE_SHORT, options = {}) {
      return textOf(this, (time) => time.toLocaleString(format, options), " – ");
    }
    toISO(options) { return textOf(this, (time) => time.toISO(options)); }
    toISODate() { return textOf(this, (time) => time.toISODate()); }
    toISOTime(options) { return textOf(this, (time) => time.toISOTime(options)); }
    toFormat(format, { separator = " – " } = {}) { return textOf(this, (time) => time.toFormat(format), separator); }
    toDuration(unit, options) {
      // Luxon's is invalid as well.
      return this.isValid ? this.e.diff(this.s, unit, options) : Duration.fromISO("");
    }
    mapEndpoints(change) { return Interval.fromDateTimes(change(this.s), change(this.e)); }
  }
  const interval = (values) => Object.assign(create(Interval.prototype), values, { isLuxonInterval: true });

  for (const type of [DateTime, Duration, Interval]) hidden(global, type.name, type);
}
