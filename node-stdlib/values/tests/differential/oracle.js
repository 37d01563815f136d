// Answers what JavaScript itself makes of the cases on standard input. See main.rs for the encoding.
const cases = JSON.parse(require("fs").readFileSync(0, "utf8"));

const units = (text) => Array.from({ length: text.length }, (_, i) => text.charCodeAt(i).toString(16)).join(" ");
const number = (text) => (text === "-0" ? -0 : Number(text));

function decode(value) {
  if (value === null || typeof value === "boolean") return value;
  const [tag, of] = value;
  if (tag === "u") return undefined;
  if (tag === "n") return number(of);
  if (tag === "s") return String.fromCharCode(...of);
  if (tag === "f") return functions[of];
  if (tag === "a") return of.map(decode);
  const object = {};
  for (const [key, inner] of of) {
    Object.defineProperty(object, decode(key), { value: decode(inner), enumerable: true, writable: true, configurable: true });
  }
  return object;
}

const functions = [
  (x) => x, (x, i) => i, (x) => x > 1, (a, b) => a - b, (a, b) => a + b, (a, b) => a > b, () => [1, [2]], (...all) => all,
  () => undefined, (a, b) => b - a, () => { throw { name: "Kept" }; },
];

function encode(value) {
  if (value === undefined) return "u";
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "number") return Object.is(value, -0) ? "n-0" : "n" + value;
  if (typeof value === "string") return "s" + units(value);
  if (Array.isArray(value)) return "[" + value.map(encode).join() + "]";
  return "{" + Object.keys(value).map((key) => encode(key) + ":" + encode(value[key])).join() + "}";
}

function attempt(body) {
  try {
    return encode(body());
  } catch (error) {
    return error.name;
  }
}

const unary = {
  negate: (a) => -a, plus: (a) => +a, not: (a) => !a, bit_not: (a) => ~a, type_of: (a) => typeof a,
  to_string: (a) => `${a}`, spread: (a) => [...a], set_spread: (a) => ({ ...a }), truthy: (a) => !!a,
  to_json: (a) => JSON.stringify(a) ?? "null", pretty: (a) => JSON.stringify(a, null, 3) ?? "null",
};
const binary = {
  add: (a, b) => a + b, subtract: (a, b) => a - b, multiply: (a, b) => a * b, divide: (a, b) => a / b,
  remainder: (a, b) => a % b, power: (a, b) => a ** b, bit_and: (a, b) => a & b, bit_or: (a, b) => a | b,
  bit_xor: (a, b) => a ^ b, shift_left: (a, b) => a << b, shift_right: (a, b) => a >> b,
  shift_right_unsigned: (a, b) => a >>> b, less: (a, b) => a < b, less_equal: (a, b) => a <= b,
  greater: (a, b) => a > b, greater_equal: (a, b) => a >= b, equal: (a, b) => a == b, not_equal: (a, b) => a != b,
  strict_equal: (a, b) => a === b, strict_not_equal: (a, b) => a !== b, has: (a, b) => a in b,
  concat: (a, b) => `${a}${b}`,
  get_index: (a, b) => {
    const found = a[b];
    if (!Object.hasOwn(Object(a), b) && b in Object(a)) throw { name: "inherited" };
    return found;
  },
};

function operators(encoded) {
  const values = encoded.map(decode);
  const answers = [];
  for (const name of cases.unary) for (const a of values) answers.push(attempt(() => unary[name](a)));
  for (const name of cases.binary)
    for (const a of values) for (const b of values) answers.push(attempt(() => binary[name](a, b)));
  return answers;
}

function calls(encoded, cases) {
  return cases.map(([name, receiver, given]) =>
    attempt(() => {
      const of = (index) => decode(encoded[index]);
      if (receiver !== null) return of(receiver)[name](...given.map(of));
      const [object, member] = name.split(".");
      return member ? globalThis[object][member](...given.map(of)) : globalThis[object](...given.map(of));
    }),
  );
}

const view = new DataView(new ArrayBuffer(8));
function ofBits(bits) {
  view.setBigUint64(0, BigInt("0x" + bits));
  return view.getFloat64(0);
}

const answers = {
  operators: () => operators(cases.values),
  calls: () => calls(cases.values, cases.cases),
  format: () => cases.bits.map((bits) => String(ofBits(bits))),
  number: () => cases.texts.map((text) => encode(Number(text))),
  parse: () =>
    cases.texts.map((text) => {
      try {
        const value = JSON.parse(text);
        return [encode(value), JSON.stringify(value), JSON.stringify(value, null, "\t")];
      } catch {
        return ["SyntaxError"];
      }
    }),
};
process.stdout.write(JSON.stringify(answers[cases.ask]()));
