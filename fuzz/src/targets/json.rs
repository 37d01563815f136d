//! JSON as text, as imports, exports and versions are kept and compared: what is read of it agrees with reading all of
//! it.

use heddle_compiler::compare::{Comparison, compare};
use heddle_compiler::text::{self, Fingerprints};
use heddle_service::patterns::hooks::hooks;
use serde_json::{Number, Value};

/// Checks an input: one text, or two with a line between them that has only `---`.
pub fn check(data: &[u8]) {
    let Ok(all) = std::str::from_utf8(data) else {
        return;
    };
    let (one, other) = all.split_once("\n---\n").unwrap_or((all, all));
    let fingerprints = Fingerprints::default();
    let (one_value, other_value) = (read(one, &fingerprints), read(other, &fingerprints));
    drop(hooks(one));
    let compared = compare(one, other);
    let (Some(one_value), Some(other_value)) = (one_value, other_value) else {
        return;
    };
    // Written anew, since of a repeated name a tree has the last value only.
    let written = [&one_value, &other_value].map(|value| fingerprints.of(&value.to_string()).ok());
    assert_eq!(written[0] == written[1], are_equal(&one_value, &other_value));
    if let Ok(found) = compared {
        let told = found.details.len();
        assert!(told <= 1_000, "{told} differences are told");
        if one == other {
            assert_eq!(found, Comparison::default());
        }
    }
}

/// Whether two values are the same to patterns, for which `0` and `0e0` are one number.
fn are_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| are_equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let has =
                |(name, value): (&String, &Value)| other.get(name).is_some_and(|it| are_equal(value, it));
            one.len() == other.len() && one.iter().all(has)
        }
        (Value::Number(one), Value::Number(other)) => match (integer(one), integer(other)) {
            (None, None) => one == other,
            (one, other) => one == other,
        },
        _ => one == other,
    }
}

/// A number without a fraction, as far as such numbers are read as integers.
fn integer(number: &Number) -> Option<i128> {
    let whole =
        |number: f64| (number.fract() == 0.0 && number.abs() <= 2f64.powi(64)).then_some(number as i128);
    let exact = number
        .as_u64()
        .map(i128::from)
        .or(number.as_i64().map(i128::from));
    exact.or_else(|| number.as_f64().and_then(whole))
}

fn read(text: &str, fingerprints: &Fingerprints) -> Option<Value> {
    let value: Option<Value> = serde_json::from_str(text).ok();
    assert_eq!(
        fingerprints.of(text).is_ok(),
        value.is_some(),
        "both read the same texts"
    );
    let value = value?;
    assert!(values(&value) <= text::values_at_most(text));
    let picked = text::pick(text, ["nodes", "edges"]);
    assert_eq!(picked.is_some(), value.is_object());
    for (name, found) in ["nodes", "edges"].into_iter().zip(picked.unwrap_or_default()) {
        let found = found.map(|raw| serde_json::from_str::<Value>(raw.get()).ok());
        assert_eq!(found, value.get(name).map(|value| Some(value.clone())));
    }
    Some(value)
}

/// Values within a value, itself included. JSON is read to 128 levels.
fn values(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(values).sum(),
        Value::Object(fields) => fields.values().map(values).sum(),
        _ => 0,
    }
}
