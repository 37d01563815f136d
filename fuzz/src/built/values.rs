//! Every operation, method and global function on values of every kind: none panics, what it gives holds together.

use arbitrary::{Arbitrary, Result, Unstructured};
use heddle_values::date_time::Clock;
use heddle_values::methods::{self, Caller, Exception, Global, Method, Outcome};
use heddle_values::{Array, Object, Text, Value, ops, parse_json};

/// Levels and elements of a value.
const DEPTH_MAX: usize = 4;
const ELEMENTS_MAX: usize = 12;

/// Checks an input.
pub fn check(data: &[u8]) {
    let _ = checked(&mut Unstructured::new(data));
}

fn checked(u: &mut Unstructured<'_>) -> Result<()> {
    let values = (0..4).map(|_| value(u, DEPTH_MAX)).collect::<Result<Vec<_>>>()?;
    let mut caller = Functions(16);
    while !u.is_empty() {
        let (a, b) = (u.choose(&values)?, u.choose(&values)?);
        match u.int_in_range(0..=3)? {
            0 => operators(a, b),
            1 => {
                let method = *u.choose(Method::ALL)?;
                let arguments = arguments(u, &values)?;
                if is_modest(method.name(), &arguments) {
                    holds(methods::call_method(a, method, &arguments, &mut caller));
                    methods::lacks_method(a, method);
                }
            }
            2 => {
                let global = *u.choose(Global::ALL)?;
                let arguments = arguments(u, &values)?;
                if is_modest(global.name(), &arguments) {
                    holds(methods::call_global(global, &arguments, &mut caller));
                }
            }
            _ => printed(a),
        }
        caller.0 = 16;
    }
    Ok(())
}

fn arguments(u: &mut Unstructured<'_>, values: &[Value]) -> Result<Vec<Value>> {
    let count = u.int_in_range(0..=4)?;
    let argument = |u: &mut Unstructured<'_>| match u.ratio(1, 3)? {
        true => Ok(Value::Function(u.int_in_range(0..=5)?)),
        false => u.choose(values).cloned(),
    };
    (0..count).map(|_| argument(u)).collect()
}

/// What asks for a lot of memory is bounded by that of a run, not here.
fn is_modest(name: &str, arguments: &[Value]) -> bool {
    let grows = ["repeat", "padStart", "padEnd", "Array.from", "fill"].contains(&name);
    let is_large = |value: &Value| {
        let length = match value {
            Value::Object(object) => object.get("length").cloned().unwrap_or_default(),
            other => other.clone(),
        };
        ops::to_number(&length).is_ok_and(|number| number > 10_000.0)
    };
    !(grows && arguments.iter().any(is_large))
}

/// Functions among arguments, which may be called so often.
struct Functions(u32);

impl Caller for Functions {
    fn call(&mut self, function: u32, arguments: &mut [Value]) -> Outcome {
        self.0 = self.0.checked_sub(1).ok_or_else(Exception::kept)?;
        let argument = |at: usize| arguments.get(at).unwrap_or(&Value::Undefined);
        Ok(match function {
            0 => argument(0).clone(),
            1 => argument(1).clone(),
            2 => ops::greater(argument(0), argument(1))?,
            3 => ops::subtract(argument(0), argument(1))?,
            4 => arguments.to_vec().into(),
            _ => return Err(Exception::kept()),
        })
    }

    fn clock(&self) -> Clock {
        Clock::utc(1_774_699_200_000.0)
    }
}

fn operators(a: &Value, b: &Value) {
    for operation in [
        ops::add,
        ops::subtract,
        ops::multiply,
        ops::divide,
        ops::remainder,
        ops::power,
        ops::bit_and,
        ops::bit_or,
        ops::bit_xor,
        ops::shift_left,
        ops::shift_right,
        ops::shift_right_unsigned,
        ops::less,
        ops::less_equal,
        ops::greater,
        ops::greater_equal,
        ops::equal,
        ops::not_equal,
        ops::get_index,
        ops::has,
    ] {
        if let Ok(value) = operation(a, b) {
            consistent(&value);
        }
    }
    for operation in [ops::negate, ops::plus, ops::bit_not] {
        let _ = operation(a);
    }
    // Equality is the same both ways, an order is one.
    if let (Ok(one), Ok(other)) = (ops::equal(a, b), ops::equal(b, a)) {
        assert!(one.strict_equal(&other), "{a:?} {b:?}");
    }
    assert_eq!(a.strict_equal(b), b.strict_equal(a));
    assert_eq!(a.deep_equal(b), b.deep_equal(a));
    assert_eq!(a.compare(b), b.compare(a).reverse(), "{a:?} {b:?}");
    assert!(!a.strict_equal(b) || a.deep_equal(b));
    let mut array = Array::default();
    let _ = ops::push_spread(&mut array, a);
    let mut object = Object::new();
    ops::set_spread(&mut object, b);
    consistent(&array.into());
    consistent(&object.into());
}

fn holds(outcome: Outcome) {
    match outcome {
        Ok(value) => consistent(&value),
        Err(exception) => drop(exception.kind.name()),
    }
}

/// Lengths agree with contents, and what is said to be JSON is.
fn consistent(value: &Value) {
    match value {
        Value::String(text) => {
            assert_eq!(text.len(), text.units().count());
            let again = Text::from_units(&text.units().collect::<Vec<_>>());
            assert!(*text == again);
        }
        Value::Object(object) => {
            assert_eq!(object.len(), object.iter().count());
            for (name, field) in object.iter() {
                assert!(object.get_text(name).is_some(), "{name:?}");
                assert!(!value.is_json() || field.is_json());
            }
        }
        Value::Array(array) => assert!(!value.is_json() || array.iter().all(Value::is_json)),
        _ => {}
    }
}

/// What is written as JSON is read as the same again.
fn printed(value: &Value) {
    let value = value.clone().into_json();
    let mut json = String::new();
    value.write_json(&mut json);
    let again = parse_json(json.as_bytes(), 512);
    let mut once_more = String::new();
    again.unwrap_or_default().write_json(&mut once_more);
    assert_eq!(json, once_more);
}

fn value(u: &mut Unstructured<'_>, depth: usize) -> Result<Value> {
    Ok(match u.int_in_range(0..=if depth == 0 { 7 } else { 9 })? {
        0 => Value::Undefined,
        1 => Value::Null,
        2 => bool::arbitrary(u)?.into(),
        3 => f64::from_bits(u64::arbitrary(u)?).into(),
        4 => f64::from(i16::arbitrary(u)?).into(),
        5 => text(u)?.into(),
        6 => u.choose(TEXTS).copied()?.into(),
        7 => time(u)?,
        8 => {
            let len = u.int_in_range(0..=ELEMENTS_MAX)?;
            let elements = (0..len)
                .map(|_| value(u, depth - 1))
                .collect::<Result<Vec<_>>>()?;
            elements.into()
        }
        _ => {
            let mut object = Object::new();
            for _ in 0..u.int_in_range(0..=ELEMENTS_MAX)? {
                let name = match bool::arbitrary(u)? {
                    true => text(u)?,
                    false => Text::from(*u.choose(TEXTS)?),
                };
                object.insert(name, value(u, depth - 1)?);
            }
            object.into()
        }
    })
}

/// Any code units, lone surrogates among them.
fn text(u: &mut Unstructured<'_>) -> Result<Text> {
    let len = u.int_in_range(0..=ELEMENTS_MAX)?;
    let unit = |u: &mut Unstructured<'_>| match u.int_in_range(0..=3)? {
        0 => u16::arbitrary(u),
        1 => u.int_in_range(0xd800..=0xdfff),
        _ => u.int_in_range(0x20..=0x7e),
    };
    let units = (0..len).map(|_| unit(u)).collect::<Result<Vec<u16>>>()?;
    Ok(Text::from_units(&units))
}

fn time(u: &mut Unstructured<'_>) -> Result<Value> {
    let global = *u.choose(&[
        Global::NewDate,
        Global::DateTimeFromMillis,
        Global::DurationFromMillis,
    ])?;
    let ms = match bool::arbitrary(u)? {
        true => f64::from_bits(u64::arbitrary(u)?),
        false => f64::from(i32::arbitrary(u)?) * 1e3,
    };
    Ok(methods::call_global(global, &[ms.into()], &mut Functions(0)).unwrap_or_default())
}

/// What means something to one operation or another.
const TEXTS: &[&str] = &[
    "",
    "0",
    "-1",
    "1",
    "10",
    "4294967295",
    "01",
    "length",
    "toString",
    "constructor",
    "__proto__",
    "map",
    "a",
    "b",
    "days",
    "month",
    "zone",
    "Europe/Prague",
    "yyyy-MM-dd'T'HH:mm",
    "2026-03-28T12:00:00.000Z",
    "2026-W13-6",
    "P1Y2M3DT4H",
    "en-US",
    "{\"a\":[1,2]}",
    "%F0%9F%98%80",
    "%zz",
    "YWJj",
    "$&$1$`",
    "minimumFractionDigits",
    "a[?b > `1`].c | [0]",
    "sort_by(@, &a)",
    "[::-1]",
    "*.*[]",
    "join(', ', keys(@))",
    "sha256",
    "us",
    "excel",
    "<b>x</b",
    "😀",
    "Infinity",
    "1e400",
    "0x1F",
];
