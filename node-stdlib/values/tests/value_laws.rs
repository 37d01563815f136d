//! Laws of values that hold for all of them, on generated ones.

use heddle_values::wire::{from_message, to_message};
use heddle_values::{Array, Object, Text, Value, ops, parse_json};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use std::cmp::Ordering;
use std::hash::{BuildHasher, RandomState};

/// Few kinds of units, so that surrogate halves meet and characters on both sides of them are compared.
fn units() -> impl Strategy<Value = Vec<u16>> {
    let unit = prop_oneof![
        0x61..0x64_u16,
        Just(0x31),
        Just(0xe9),
        0xd83c..0xd83e_u16,
        0xde00..0xde02_u16,
        0xfffd..0xffff_u16,
        any::<u16>(),
    ];
    vec(unit, 0..8)
}

fn text() -> impl Strategy<Value = Text> {
    units().prop_map(|units| Text::from_units(&units))
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        (-3..4_i32).prop_map(|number| Value::Number(number.into())),
        any::<f64>().prop_map(|number| Value::Number(if number.is_finite() { number } else { 0.0 })),
        text().prop_map(Value::String),
    ]
}

fn nested(leaf: impl Strategy<Value = Value> + 'static) -> impl Strategy<Value = Value> {
    let key = || prop_oneof![text(), (0..12_u32).prop_map(|key| Text::from(key.to_string()))];
    leaf.prop_recursive(4, 40, 16, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            vec((key(), inner), 0..16).prop_map(object),
        ]
    })
}

/// Of properties with one name only the first: the remembered depth is just a bound after a replacement.
fn object(properties: Vec<(Text, Value)>) -> Value {
    let mut object = Object::new();
    for (name, value) in properties {
        if object.get_text(&name).is_none() {
            object.insert(name, value);
        }
    }
    object.into()
}

/// Few, so that some come twice; some are integers, and one has a lone surrogate.
fn name() -> impl Strategy<Value = Text> {
    prop_oneof![
        4 => "[a-d]{1,2}".prop_map(Text::from),
        1 => (0..12_u32).prop_map(|key| Text::from(key.to_string())),
        1 => Just(Text::from_units(&[0xd800])),
    ]
}

fn json() -> impl Strategy<Value = Value> {
    nested(scalar())
}

fn anything() -> impl Strategy<Value = Value> {
    nested(prop_oneof![
        4 => scalar(),
        1 => Just(Value::Undefined),
        1 => Just(Value::Number(f64::NAN)),
        1 => Just(Value::Number(f64::INFINITY)),
        1 => Just(Value::Function(1)),
    ])
}

/// Depth by walking, to hold against what containers remember.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(array) => 1 + array.iter().map(depth).max().unwrap_or(0),
        Value::Object(object) => 1 + object.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

proptest! {
    // By words and by bytes, of characters of one byte and of several, and with lone surrogates.
    #[test]
    fn a_text_is_the_same_however_it_was_made(
        units in vec(prop_oneof![30 => 0x61..0x64_u16, 1 => Just(0xe9), 1 => 0xd83d..0xd83e_u16], 0..26),
        at in 0..26_usize,
    ) {
        let whole = Text::from_units(&units);
        assert_eq!(whole.units().collect::<Vec<_>>(), units);
        let json = Value::from(whole.clone()).to_json();
        let read = parse_json(format!("[{json}]").as_bytes(), 1).unwrap();
        let Value::Array(read) = read else { unreachable!() };
        let Some(Value::String(read)) = read.first() else { unreachable!() };
        let parts = whole.slice(0, at).concat(&whole.slice(at, units.len()));
        let utf8 = whole.as_str().map_or(whole.clone(), Text::from);
        let hasher = RandomState::new();
        for made in [read, &parts, &utf8] {
            assert_eq!(made, &whole);
            assert_eq!(made.cmp(&whole), Ordering::Equal);
            assert_eq!(hasher.hash_one(made), hasher.hash_one(&whole));
            assert_eq!((made.len(), made.as_str()), (units.len(), whole.as_str()));
            assert_eq!(made.unit_at(at), units.get(at).copied());
        }
    }

    #[test]
    fn what_is_printed_is_read_back(value in json()) {
        let read = parse_json(value.to_json().as_bytes(), 100).unwrap();
        assert!(read.deep_equal(&value));
        assert_eq!(read.to_json(), value.to_json());
        let mut pretty = String::new();
        value.write_json_pretty(&mut pretty, "  ");
        assert!(parse_json(pretty.as_bytes(), 100).unwrap().deep_equal(&value));
    }

    // Twice, so that objects come after others of their kind.
    #[test]
    fn what_the_engine_is_told_is_read_back(value in json()) {
        let text = value.to_json();
        let twice = parse_json(format!("[{text},{text}]").as_bytes(), 100).unwrap();
        let read = from_message(&to_message(&twice)).unwrap();
        assert_eq!(read.to_json(), twice.to_json());
        assert_eq!(read.depth(), twice.depth());
        assert!(read.is_json());
    }

    #[test]
    fn an_object_is_read_as_its_properties_are_set(properties in vec((name(), json()), 0..30)) {
        let text: Vec<String> = properties
            .iter()
            .map(|(name, value)| format!("{}:{}", Value::from(name.clone()).to_json(), value.to_json()))
            .collect();
        let read = parse_json(format!("{{{}}}", text.join(",")).as_bytes(), 100).unwrap();
        let mut expected = Object::new();
        for (name, value) in properties {
            expected.insert(name, value);
        }
        let expected = Value::Object(expected);
        assert_eq!(read.to_json(), expected.to_json());
        assert_eq!(read.depth(), expected.depth());
        let (Value::Object(mut read), Value::Object(mut expected)) = (read, expected) else { unreachable!() };
        read.insert("more", Value::Null);
        expected.insert("more", Value::Null);
        read.remove("a");
        expected.remove("a");
        assert_eq!(Value::Object(read).to_json(), Value::Object(expected).to_json());
    }

    #[test]
    fn any_bytes_are_read_or_refused_within_the_text(bytes in vec(any::<u8>(), 0..60)) {
        if let Err(error) = parse_json(&bytes, 4) {
            assert!(error.offset <= bytes.len());
        }
    }

    #[test]
    fn an_edge_carries_what_would_be_printed(value in anything()) {
        let printed = value.to_json();
        let json = value.into_json();
        assert!(json.is_json());
        assert_eq!(json.depth(), depth(&json));
        assert_eq!(json.to_json(), printed);
    }

    #[test]
    fn depth_is_remembered(value in anything(), other in anything()) {
        assert_eq!(value.depth(), depth(&value));
        let mut array = Array::default();
        array.push(value.clone());
        array.make_mut().insert(0, other.clone());
        let mut object = Object::new();
        object.insert("a", array.into());
        object.insert("b", other);
        object.update("b", |slot| *slot = value);
        assert_eq!(Value::Object(object.clone()).depth(), depth(&Value::Object(object.clone())));
        object.remove("a");
        assert_eq!(Value::Object(object.clone()).depth(), depth(&Value::Object(object)));
    }

    #[test]
    fn order_is_total(a in anything(), b in anything(), c in anything()) {
        assert_eq!(a.compare(&a), Ordering::Equal);
        assert_eq!(a.compare(&b), b.compare(&a).reverse());
        let mut sorted = [a, b, c];
        sorted.sort_by(Value::compare);
        assert_ne!(sorted[0].compare(&sorted[2]), Ordering::Greater);
        if sorted[0].deep_equal(&sorted[1]) && !matches!(sorted[0], Value::Object(_) | Value::Array(_)) {
            assert_eq!(sorted[0].compare(&sorted[1]), Ordering::Equal);
        }
    }

    #[test]
    fn a_text_is_its_units(a in units(), b in units(), start in 0..10_usize, end in 0..10_usize) {
        let (left, right) = (Text::from_units(&a), Text::from_units(&b));
        let both = [a.clone(), b.clone()].concat();
        let joined = left.concat(&right);
        assert_eq!(joined.units().collect::<Vec<_>>(), both);
        assert_eq!(joined, Text::from_units(&both));
        assert_eq!(joined.as_str().is_some(), String::from_utf16(&both).is_ok());
        assert_eq!(joined.len(), both.len());
        for at in 0..=both.len() {
            assert_eq!(joined.unit_at(at), both.get(at).copied());
        }
        let end_in = end.min(both.len());
        assert_eq!(joined.slice(start, end), Text::from_units(&both[start.min(end_in)..end_in]));
        let points: Vec<Text> = joined.code_points().collect();
        assert_eq!(points.iter().fold(Text::default(), |text, point| text.concat(point)), joined);
        assert_eq!(left.cmp(&right), a.cmp(&b));
        assert_eq!(left == right, a == b);
    }

    #[test]
    fn objects_keep_what_a_map_keeps(steps in vec((any::<bool>(), 0..40_u32, any::<bool>()), 0..150)) {
        let mut object = Object::new();
        let mut model: Vec<(String, f64)> = Vec::new();
        for (at, (adds, key, integer)) in steps.into_iter().enumerate() {
            let key = if integer { key.to_string() } else { format!("k{key}") };
            let found = model.iter().position(|(name, _)| *name == key);
            let value = at as f64;
            match (adds, found) {
                (true, Some(found)) => model[found].1 = value,
                (true, None) => model.push((key.clone(), value)),
                (false, found) => {
                    let removed = object.remove(&key).is_some();
                    assert_eq!(removed, found.is_some());
                    found.map(|found| model.remove(found));
                }
            }
            if adds {
                object.insert(key, Value::Number(value));
            }
        }
        // Integer-like keys first, ascending; the sort is stable.
        model.sort_by_key(|(name, _)| name.parse::<u32>().map_or(u64::MAX, u64::from));
        let kept: Vec<_> = object.iter().map(|(name, value)| (name.to_string(), ops::to_number(value).unwrap())).collect();
        assert_eq!(kept, model);
        for (name, value) in &model {
            assert!(object.get(name).is_some_and(|found| found.strict_equal(&Value::Number(*value))));
        }
    }
}
