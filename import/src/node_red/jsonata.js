const jsonata = (() => {
  const many = (value) => (Array.isArray(value) ? value : value === undefined ? [] : [value]);
  const flat = (list) => {
    const found = list.filter((one) => one !== undefined);
    if (found.length < 2) return found[0];
    const items = found.flat();
    return items.length < 2 ? items[0] : items;
  };
  const pick = (value, place) => many(value).at(place);
  const isObject = (value) => value !== null && typeof value === "object";
  const walk = (value, name, ...places) => {
    if (Array.isArray(value)) return flat(value.map((item) => walk(item, name, ...places)));
    const field = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
    return places.reduce((list, place) => pick(list, place), field);
  };
  const truth = (value) =>
    Array.isArray(value) ? value.some(truth) : isObject(value) ? Object.keys(value).length > 0 : Boolean(value);
  const fail = (message) => {
    throw new TypeError(message);
  };
  const of = (kind, value) => (typeof value === kind ? value : fail(`${JSON.stringify(value)} is no ${kind}`));
  // What a function makes of a value of this kind; of nothing, nothing.
  const by = (kind, make) => (value, ...others) => (value === undefined ? undefined : make(of(kind, value), ...others));
  const calculate = (a, b, make) => {
    for (const side of [a, b]) if (side !== undefined) of("number", side);
    return a === undefined || b === undefined ? undefined : make(a, b);
  };
  const compare = (a, b, make) => {
    for (const side of [a, b]) if (side !== undefined && typeof side !== "string") of("number", side);
    if (a === undefined || b === undefined) return undefined;
    return typeof a === typeof b ? make(a, b) : fail("a number can't be compared with a text");
  };
  const same = (a, b) => {
    if (a === b) return true;
    if (!isObject(a) || !isObject(b) || Array.isArray(a) !== Array.isArray(b)) return false;
    const names = Object.keys(a);
    return names.length === Object.keys(b).length && names.every((name) => Object.hasOwn(b, name) && same(a[name], b[name]));
  };
  const text = (value) => {
    if (value === undefined) return "";
    if (typeof value === "string") return value;
    return JSON.stringify(value, (_, one) => (typeof one === "number" ? Number(one.toPrecision(15)) : one));
  };
  const number = (value) => {
    if (typeof value === "string" && /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([Ee][-+]?[0-9]+)?$/.test(value)) return Number(value);
    return typeof value === "boolean" ? Number(value) : of("number", value);
  };
  const numbers = (make) => (value) => (value === undefined ? undefined : make(many(value).map((one) => of("number", one))));
  const sum = (list) => list.reduce((total, one) => total + one, 0);
  const shifted = (value, places) => {
    const [digits, exponent = "0"] = String(value).split("e");
    return Number(`${digits}e${Number(exponent) + places}`);
  };
  // Halves go to the even neighbour.
  const round = (value, places = 0) => {
    const exact = shifted(value, places);
    const near = Math.round(exact);
    const even = Math.abs(near - exact) === 0.5 && Math.abs(near % 2) === 1 ? near - 1 : near;
    return shifted(even, -places) + 0;
  };
  const part = (given, start, length) => {
    const letters = [...given];
    const from = letters.length + start < 0 ? 0 : start;
    if (length === undefined) return letters.slice(from).join("");
    if (length <= 0) return "";
    return letters.slice(from, (from < 0 ? letters.length + from : from) + length).join("");
  };
  const cut = (given, at, before, behind) => {
    const place = given.indexOf(at);
    return place < 0 ? given : before ? given.slice(0, place) : given.slice(place + behind);
  };
  return {
    many, pick, walk, truth, calculate, compare, text,
    equal: (a, b) => a !== undefined && b !== undefined && same(a, b),
    differ: (a, b) => a !== undefined && b !== undefined && !same(a, b),
    within: (a, b) => a !== undefined && many(b).includes(a),
    object: (fields) => Object.fromEntries(fields.filter(([, value]) => value !== undefined)),
    string: (value) => (value === undefined ? undefined : text(value)),
    number: (value) => (value === undefined ? undefined : number(value)),
    uppercase: by("string", (given) => given.toUpperCase()),
    lowercase: by("string", (given) => given.toLowerCase()),
    trim: by("string", (given) => given.replace(/[ \t\n\r]+/g, " ").replace(/^ | $/g, "")),
    length: by("string", (given) => [...given].length),
    substring: by("string", part),
    substringBefore: by("string", (given, at) => cut(given, of("string", at), true, 0)),
    substringAfter: by("string", (given, at) => cut(given, of("string", at), false, at.length)),
    contains: by("string", (given, wanted) => given.includes(of("string", wanted))),
    split: by("string", (given, at, most) => given.split(of("string", at), most)),
    join: (list, between = "") => (list === undefined ? undefined : many(list).map((one) => of("string", one)).join(between)),
    replace: by("string", (given, from, to) => (from === "" ? fail("nothing can't be replaced") : given.replaceAll(of("string", from), () => of("string", to)))),
    now: () => new Date().toISOString(),
    millis: () => Date.now(),
    sum: numbers(sum),
    max: numbers((list) => list.reduce((a, b) => (a === undefined || b > a ? b : a), undefined)),
    min: numbers((list) => list.reduce((a, b) => (a === undefined || b < a ? b : a), undefined)),
    average: numbers((list) => (list.length > 0 ? sum(list) / list.length : undefined)),
    count: (value) => many(value).length,
    abs: by("number", Math.abs),
    floor: by("number", Math.floor),
    ceil: by("number", Math.ceil),
    sqrt: by("number", (value) => (value < 0 ? fail("a negative number has no square root") : Math.sqrt(value))),
    power: by("number", (value, exponent) => value ** of("number", exponent)),
    round: by("number", round),
    exists: (value) => value !== undefined,
    not: (value) => (value === undefined ? undefined : !truth(value)),
    boolean: (value) => (value === undefined ? undefined : truth(value)),
    keys: (value) => flat([...new Set(many(value).flatMap((one) => (isObject(one) ? Object.keys(one) : [])))]),
    append: (a, b) => (a === undefined ? b : b === undefined ? a : [...many(a), ...many(b)]),
  };
})();
