//! Our answer to a case, in the oracle's encoding.

use crate::NOW_MS;
use crate::cases::Case;
use heddle_values::date_time::{self, Clock};
use heddle_values::{Temporal, Value, number_to_text, ops, parse_json};

/// The answer as text; `throws` for an error.
pub fn answer(case: &Case) -> String {
    run(case).map_or_else(|()| "throws".into(), |value| encode(&value))
}

/// Whether two answers are the same, numbers but for the last digits.
pub fn is_same(ours: &str, theirs: &str) -> bool {
    // The space before AM and PM depends on the release of Node.
    let theirs = &theirs.replace('\u{202f}', " ");
    if ours == theirs {
        return true;
    }
    let number = |c: char| c.is_ascii_digit() || ".-e+".contains(c);
    let split = |text: &str| -> Vec<String> {
        let mut parts = vec![String::new()];
        let mut in_number = false;
        for c in text.chars() {
            if number(c) != in_number {
                parts.push(String::new());
                in_number = !in_number;
            }
            parts.last_mut().unwrap().push(c);
        }
        parts
    };
    let (ours, theirs) = (split(ours), split(theirs));
    ours.len() == theirs.len()
        && ours.iter().zip(&theirs).all(|(a, b)| {
            let is_near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs());
            a == b
                || (a.contains('.') || b.contains('.'))
                    && matches!((a.parse(), b.parse()), (Ok(a), Ok(b)) if is_near(a, b))
        })
}

fn run(case: &Case) -> Result<Value, ()> {
    let clock = Clock::utc(NOW_MS);
    let arguments = values(&case.0["make"][1])?;
    let name = case.0["make"][0].as_str().unwrap();
    let mut result = date_time::call_static(name, &arguments, &clock)
        .unwrap_or_else(|| panic!("there is no {name}"))
        .map_err(|_| ())?;
    for call in case.0["calls"].as_array().unwrap() {
        let method = call[0].as_str().unwrap();
        result = match (method.strip_prefix('@'), &result) {
            (Some(property), _) => ops::get(&result, property).map_err(|_| ())?,
            (None, Value::Temporal(temporal)) => {
                let arguments = values(&call[1])?;
                date_time::call_method(temporal, method, &arguments, &clock)
                    .unwrap_or_else(|| panic!("there is no {method}"))
                    .map_err(|_| ())?
            }
            _ => return Err(()),
        };
    }
    Ok(result)
}

fn values(nodes: &serde_json::Value) -> Result<Vec<Value>, ()> {
    nodes.as_array().unwrap().iter().map(value).collect()
}

fn value(node: &serde_json::Value) -> Result<Value, ()> {
    match node {
        serde_json::Value::Object(object) if object.contains_key("make") => run(&Case(node.clone())),
        serde_json::Value::Object(object) if object.contains_key("preset") => {
            let options = date_time::preset(object["preset"].as_str().unwrap()).unwrap();
            let properties = options.iter().map(|(key, value)| (*key, Value::from(*value)));
            Ok(Value::Object(properties.collect()))
        }
        serde_json::Value::Object(object) => {
            let properties = object
                .iter()
                .map(|(key, inner)| Ok((key.as_str(), value(inner)?)));
            Ok(Value::Object(properties.collect::<Result<_, ()>>()?))
        }
        serde_json::Value::Array(_) => Ok(values(node)?.into()),
        plain => Ok(parse_json(plain.to_string().as_bytes(), 9).unwrap()),
    }
}

fn encode(value: &Value) -> String {
    match value {
        Value::Number(number) if *number == 0.0 => "0".into(),
        Value::Number(number) => number_to_text(*number),
        Value::String(_) => value.to_json(),
        Value::Object(object) => {
            let properties = object
                .iter()
                .map(|(key, inner)| format!("{key}:{}", encode(inner)));
            format!("{{{}}}", properties.collect::<Vec<_>>().join(","))
        }
        Value::Temporal(temporal) => {
            let get = |name: &str| encode(&ops::get(value, name).unwrap());
            let plain = |name: &str| ops::get(value, name).unwrap().to_text();
            match &**temporal {
                Temporal::Date(date) => format!("Date {}", number_to_text(date.ms())),
                _ if get("isValid") == "false" => format!("invalid {}", plain("invalidReason")),
                Temporal::DateTime(_) => {
                    format!(
                        "DateTime {} {} {}",
                        get("ts"),
                        temporal.to_text(),
                        plain("zoneName")
                    )
                }
                Temporal::Duration(_) => {
                    let object = date_time::call_method(temporal, "toObject", &[], &Clock::utc(0.0));
                    format!("Duration {}", encode(&object.unwrap().unwrap()))
                }
            }
        }
        Value::Undefined => "undefined".into(),
        other => other.to_json(),
    }
}

/// What a date-time is in a format, to be read again.
pub fn text_of(made: &serde_json::Value, format: &str) -> String {
    let mut case = made.clone();
    case["calls"] = serde_json::json!([["toFormat", [format]]]);
    plain(&Case(case))
}

/// The ISO text of a duration, to be read again.
pub fn text_of_duration(object: &serde_json::Value) -> String {
    plain(&Case(serde_json::json!({
        "make": ["Duration.fromObject", [object]], "calls": [["toISO", []]]
    })))
}

fn plain(case: &Case) -> String {
    run(case).unwrap().to_text().to_utf8().into_owned()
}
