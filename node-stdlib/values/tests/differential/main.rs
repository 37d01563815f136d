//! Values against Node.js: operators on all pairs of interesting values, numbers, JSON. Skipped where there is no
//! `node`, but not in CI.
//!
//! Cases go over as JSON: null and booleans as they are, else `["u"]` undefined, `["n", text]`, `["s", units]`,
//! `["a", elements]`, `["o", [[key, value]]]`. Answers come back as one text for each value: see `encode`.
#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

mod calls;
#[path = "../../../../tests/shared/needs.rs"]
mod needs;
#[path = "../../../../tests/shared/node.rs"]
mod node;

use heddle_values::TypeError;
use heddle_values::ops;
use heddle_values::{Array, Object, Text, Value, number_to_text, parse_json, text_to_number};
use serde_json::json;
use std::fmt::Write as _;

/// Node's answer to the cases; `None` without Node.
fn ask<T: serde::de::DeserializeOwned>(cases: &serde_json::Value) -> Option<T> {
    node::ask(include_str!("oracle.js"), cases)
}

fn encode(value: &Value) -> String {
    match value {
        Value::Undefined => "u".into(),
        Value::Null => "null".into(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) if *number == 0.0 && number.is_sign_negative() => "n-0".into(),
        Value::Number(number) => format!("n{}", number_to_text(*number)),
        Value::String(text) => encode_text(text),
        Value::Array(array) => format!("[{}]", array.iter().map(encode).collect::<Vec<_>>().join(",")),
        Value::Object(object) => {
            let properties = object
                .iter()
                .map(|(key, value)| format!("{}:{}", encode_text(key), encode(value)));
            format!("{{{}}}", properties.collect::<Vec<_>>().join(","))
        }
        Value::Function(_) => "function".into(),
        // Those are compared with Luxon in a test of their own.
        Value::Temporal(temporal) => temporal.to_text(),
    }
}

fn encode_text(text: &Text) -> String {
    let units: Vec<_> = text.units().map(|unit| format!("{unit:x}")).collect();
    format!("s{}", units.join(" "))
}

/// The value as a case.
fn case(value: &Value) -> serde_json::Value {
    match value {
        Value::Undefined | Value::Function(_) | Value::Temporal(_) => json!(["u"]),
        Value::Null => json!(null),
        Value::Bool(value) => json!(value),
        Value::Number(_) => json!(["n", encode(value)[1..]]),
        Value::String(text) => json!(["s", text.units().collect::<Vec<_>>()]),
        Value::Array(array) => json!(["a", array.iter().map(case).collect::<Vec<_>>()]),
        Value::Object(object) => {
            let properties = object
                .iter()
                .map(|(key, value)| json!([case(&Value::from(key.clone())), case(value)]));
            json!(["o", properties.collect::<Vec<_>>()])
        }
    }
}

/// Values whose conversions, orders and properties differ in every way that we could think of.
fn values() -> Vec<Value> {
    let numbers = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        2.0,
        0.5,
        -0.5,
        31.0,
        33.0,
        1e21,
        1e-7,
        2_147_483_648.0,
        4_294_967_295.0,
        -4_294_967_297.5,
        9_007_199_254_740_993.0,
        1.7e308,
        5e-324,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ];
    let strings = [
        "",
        " ",
        "0",
        "1",
        "-1",
        "01",
        "1.0",
        "1e3",
        "0x10",
        "0b2",
        "abc",
        "ABC",
        "b",
        "10",
        "9",
        "NaN",
        "Infinity",
        " 12\u{feff}\n",
        "length",
        "a",
        "toString",
        "__proto__",
        "map",
        "trim",
        "null",
        "undefined",
        "true",
        "[object Object]",
        "1,2",
        "é",
        "😀b",
        "\u{e000}",
        "\u{1f600}",
        "4294967295",
        "4294967294",
        "\"\\\u{1}\u{2028}",
    ];
    let containers = [
        "[]",
        "[0]",
        "[null]",
        "[[]]",
        "[1,2]",
        "[[1,[2,null]],\"x\"]",
        "{}",
        r#"{"a":1,"length":5,"0":"zero"}"#,
        r#"{"b":1,"10":2,"9":3,"a":{"c":[]}}"#,
        r#"{"toString":1}"#,
        r#"{"valueOf":1}"#,
        r#"[{"toString":null}]"#,
        r#"{"__proto__":{"x":1},"constructor":2}"#,
        r#"["\ud83d","\ude00"]"#,
        r#"{"\ud83d":1}"#,
        "[true,\"9\"]",
    ];
    let mut values = vec![
        Value::Undefined,
        Value::Null,
        Value::Bool(false),
        Value::Bool(true),
    ];
    values.extend(numbers.map(Value::Number));
    values.extend(strings.map(Value::from));
    values.extend(
        [&[0xd83d_u16][..], &[0xde00], &[0x61, 0xd800, 0x62]].map(|units| Text::from_units(units).into()),
    );
    values.extend(containers.map(|json| parse_json(json.as_bytes(), 9).unwrap()));
    values.push(Value::from(vec![
        Value::Undefined,
        Value::Number(f64::NAN),
        Value::Number(-0.0),
    ]));
    values.push(Value::Object(
        [("a", Value::Undefined), ("b", Value::Number(f64::INFINITY))]
            .into_iter()
            .collect(),
    ));
    values
}

type Unary = fn(&Value) -> Result<Value, TypeError>;
type Binary = fn(&Value, &Value) -> Result<Value, TypeError>;

const UNARY: &[(&str, Unary)] = &[
    ("negate", ops::negate),
    ("plus", ops::plus),
    ("not", |a| Ok(ops::not(a))),
    ("bit_not", ops::bit_not),
    ("type_of", |a| Ok(ops::type_of(a))),
    ("to_string", |a| ops::to_string(a).map(Value::String)),
    ("spread", |a| {
        let mut array = Array::default();
        ops::push_spread(&mut array, a).map(|()| array.into())
    }),
    ("set_spread", |a| {
        let mut object = Object::new();
        ops::set_spread(&mut object, a);
        Ok(object.into())
    }),
    ("truthy", |a| Ok(a.truthy().into())),
    ("to_json", |a| Ok(a.to_json().into())),
    ("pretty", |a| {
        let mut out = String::new();
        a.write_json_pretty(&mut out, "   ");
        Ok(out.into())
    }),
];

const BINARY: &[(&str, Binary)] = &[
    ("add", ops::add),
    ("subtract", ops::subtract),
    ("multiply", ops::multiply),
    ("divide", ops::divide),
    ("remainder", ops::remainder),
    ("power", ops::power),
    ("bit_and", ops::bit_and),
    ("bit_or", ops::bit_or),
    ("bit_xor", ops::bit_xor),
    ("shift_left", ops::shift_left),
    ("shift_right", ops::shift_right),
    ("shift_right_unsigned", ops::shift_right_unsigned),
    ("less", ops::less),
    ("less_equal", ops::less_equal),
    ("greater", ops::greater),
    ("greater_equal", ops::greater_equal),
    ("equal", ops::equal),
    ("not_equal", ops::not_equal),
    ("strict_equal", |a, b| Ok(ops::strict_equal(a, b))),
    ("strict_not_equal", |a, b| Ok(ops::strict_not_equal(a, b))),
    ("has", ops::has),
    ("concat", |a, b| ops::concat(a, b).map(Value::String)),
    ("get_index", ops::get_index),
];

/// Fails with the first differences, each as `what: ours, theirs`.
fn assert_same(ours: impl Iterator<Item = (String, String)>, theirs: &[String]) {
    let (mut count, mut differences) = (0, String::new());
    for ((what, ours), theirs) in ours.zip(theirs) {
        count += 1;
        if ours != *theirs && !(is_approximated(&what) && is_near(&ours, theirs)) {
            writeln!(differences, "{what}: {ours}, Node: {theirs}").unwrap();
        }
    }
    assert_eq!(count, theirs.len());
    // A few of each operation.
    let mut times = std::collections::BTreeMap::new();
    let shown = differences.lines().filter(|line| {
        let count = times.entry(line.split(' ').next()).or_insert(0);
        *count += 1;
        *count <= 3
    });
    let shown: Vec<_> = shown.take(40).collect();
    assert!(
        shown.is_empty(),
        "{} differences\n{}",
        differences.lines().count(),
        shown.join("\n")
    );
}

/// What ECMAScript leaves to the implementation.
fn is_approximated(what: &str) -> bool {
    let name = what.split(' ').next().unwrap_or_default();
    let of_math = name.strip_prefix("Math.");
    name == "power"
        || name == "parseInt"
        || name == "Number.parseInt"
        || of_math.is_some_and(|name| name != "round")
}

/// `**` is "implementation-approximated": V8's is off by an ulp or two more often than libm's.
fn is_near(ours: &str, theirs: &str) -> bool {
    let number = |answer: &str| answer.strip_prefix('n').map_or(f64::NAN, text_to_number);
    let (ours, theirs) = (number(ours), number(theirs));
    ((ours - theirs) / theirs).abs() < 1e-15
}

fn answer(result: Result<Value, TypeError>) -> String {
    match result {
        Ok(value) => encode(&value),
        Err(error) if error.0.contains("inherited") => "inherited".into(),
        Err(_) => "TypeError".into(),
    }
}

#[test]
fn operators_give_what_javascript_gives() {
    let values = values();
    let cases = json!({
        "ask": "operators",
        "values": values.iter().map(case).collect::<Vec<_>>(),
        "unary": UNARY.iter().map(|(name, _)| name).collect::<Vec<_>>(),
        "binary": BINARY.iter().map(|(name, _)| name).collect::<Vec<_>>(),
    });
    let Some(theirs) = ask::<Vec<String>>(&cases) else {
        return;
    };
    let values = &values;
    let unary = UNARY.iter().flat_map(|(name, run)| {
        values
            .iter()
            .map(move |a| (format!("{name} {a:?}"), answer(run(a))))
    });
    let binary = BINARY.iter().flat_map(|(name, run)| {
        values.iter().flat_map(move |a| {
            values
                .iter()
                .map(move |b| (format!("{name} {a:?} {b:?}"), answer(run(a, b))))
        })
    });
    assert_same(unary.chain(binary), &theirs);
}

/// xorshift64*, so that every run of the tests sees the same cases.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 33) as usize % limit
    }

    /// The text with a few characters of the alphabet put in, replaced or taken away.
    fn mutated(&mut self, text: &str, alphabet: &[char]) -> String {
        let mut characters: Vec<char> = text.chars().collect();
        for _ in 0..self.below(4) {
            let (at, with) = (
                self.below(characters.len() + 1),
                alphabet[self.below(alphabet.len())],
            );
            match self.below(3) {
                0 => characters.insert(at, with),
                _ if at == characters.len() => {}
                1 => characters[at] = with,
                _ => drop(characters.remove(at)),
            }
        }
        characters.into_iter().collect()
    }
}

/// All powers of two: nearly all have a nearer neighbour below than above.
fn powers_of_two() -> impl Iterator<Item = f64> {
    let subnormal = (0..52).map(|bit| 1_u64 << bit);
    let normal = (1..2_047_u64).map(|exponent| exponent << 52);
    subnormal.chain(normal).map(f64::from_bits)
}

/// A large number with quarters: often half way between the two texts that are as short as possible.
fn half_way(random: &mut Random) -> f64 {
    let quarters = (random.next() >> 12) | 1 << 52;
    quarters as f64 / 4.0
}

#[test]
fn numbers_are_written_as_javascript_writes_them() {
    let mut random = Random(7);
    let mut numbers: Vec<f64> = (0..20_000).map(|_| f64::from_bits(random.next())).collect();
    numbers.extend((0..5_000).map(|_| (random.next() >> 20) as f64 / 1_000.0));
    numbers.extend((-400..400).map(|exponent| 10_f64.powi(exponent)));
    numbers.extend(powers_of_two());
    numbers.extend((0..5_000).map(|_| half_way(&mut random)));
    numbers.extend([0.0, -0.0, f64::MAX, f64::MIN_POSITIVE, 5e-324]);
    let bits: Vec<_> = numbers
        .iter()
        .map(|number| format!("{:016x}", number.to_bits()))
        .collect();
    let Some(theirs) = ask::<Vec<String>>(&json!({ "ask": "format", "bits": bits })) else {
        return;
    };
    assert_same(
        numbers
            .iter()
            .map(|&number| (format!("{number:e}"), number_to_text(number))),
        &theirs,
    );
}

#[test]
fn numbers_are_read_as_javascript_reads_them() {
    let seeds = [
        "12.5e3",
        "-Infinity",
        "0x1fffffffffffff1",
        "0b1011",
        "0o777",
        ".5",
        "5.",
        " 7 ",
        "123456789012345678901234567890",
        "4.35",
        "2.2250738585072011e-308",
        "1e-400",
        "0x8000000000000400",
        "0xfffffffffffffbff",
        "9007199254740993",
    ];
    let alphabet: Vec<char> = "0123456789abfxXoObBeE.+-_ \u{feff}\u{85}\u{2029}InfinityN"
        .chars()
        .collect();
    let mut random = Random(11);
    let mut texts: Vec<String> = seeds.map(String::from).into();
    texts.extend((0..10_000).map(|_| {
        let seed = seeds[random.below(seeds.len())];
        random.mutated(seed, &alphabet)
    }));
    let Some(theirs) = ask::<Vec<String>>(&json!({ "ask": "number", "texts": texts })) else {
        return;
    };
    let ours = texts
        .iter()
        .map(|text| (format!("{text:?}"), encode(&text_to_number(text).into())));
    assert_same(ours, &theirs);
}

#[test]
fn json_is_read_and_written_as_javascript_does() {
    let seeds = [
        r#"{"a":[1,-0,2.5e-3,1e400],"b":{"2":null,"1":true,"x":false},"a":"again"}"#,
        r#"["\u0041\ud83d\ude00\ud83d","\ude00\"\\\/\b\f\n\r\t","é😀",""]"#,
        r#" [ ] "#,
        r#"{"4294967295":1,"4294967294":2,"01":3,"-1":4,"__proto__":5,"0":6}"#,
        r#"[0.1,1E+2,123456789012345678,1e-7,100000000000000000000000]"#,
        r#"[[[{"k":[{}]}]]]"#,
    ];
    let alphabet: Vec<char> = "{}[]:,\"\\/0123456789.eE+-truefalsn u\t\n\u{c}\u{a0}\u{1}\u{7f}é😀"
        .chars()
        .collect();
    let mut random = Random(13);
    let mut texts: Vec<String> = seeds.map(String::from).into();
    texts.extend((0..10_000).map(|_| {
        let seed = seeds[random.below(seeds.len())];
        random.mutated(seed, &alphabet)
    }));
    let Some(theirs) = ask::<Vec<Vec<String>>>(&json!({ "ask": "parse", "texts": texts })) else {
        return;
    };
    let ours = texts.iter().map(|text| {
        let answer = match parse_json(text.as_bytes(), 100) {
            Err(_) => vec!["SyntaxError".to_owned()],
            Ok(value) => {
                let mut pretty = String::new();
                value.write_json_pretty(&mut pretty, "\t");
                vec![encode(&value), value.to_json(), pretty]
            }
        };
        (text.clone(), answer.join("|"))
    });
    let theirs: Vec<String> = theirs.iter().map(|answer| answer.join("|")).collect();
    assert_same(ours, &theirs);
    let accepted = theirs.iter().filter(|answer| *answer != "SyntaxError").count();
    assert!(
        accepted > 1_000 && theirs.len() - accepted > 1_000,
        "{accepted} of {} are JSON",
        theirs.len()
    );
}
