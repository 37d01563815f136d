//! Wait and WaitForCallback: what they wait for. The host does the waiting, and parks the run if it takes long.

use super::super::date_time;
use super::super::parameters::{given, integer, mismatch, number, text};
use crate::failure::Failure;
use crate::node::{Context, Emission, NodeResult, Outcome};
use heddle_contract::abi::code;
use heddle_contract::parameters::WAIT_MS_MAX;
use heddle_values::{Object, Value};

/// Wait for a callback that names no time: 30 days.
const CALLBACK_MS_DEFAULT: i64 = 30 * 24 * 60 * 60 * 1_000;
/// Bytes of a page that WaitForCallback shows: it is kept with the run for as long as it waits.
const PAGE_BYTES_MAX: usize = 16 << 10;
/// Parts of a form that expressions make.
const FORM_TEXTS: [&str; 2] = ["title", "description"];
/// Output of WaitForCallback when nobody has called in time.
const TIMEOUT_PORT: u32 = 1;

/// Wait: for a duration, or until a time.
pub fn wait(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let both = given(parameters, "durationMs").is_some() && given(parameters, "until").is_some();
    let request = match (number(parameters, "durationMs")?, given(parameters, "until")) {
        (Some(_), None) => {
            let ms = integer(parameters, "durationMs", 0, WAIT_MS_MAX)?.unwrap_or(0);
            ("ms", ms as f64)
        }
        (None, Some(until)) => {
            let until_ms = date_time::milliseconds("until", until)?;
            if until_ms - context.now_ms() as f64 > WAIT_MS_MAX as f64 {
                let takes = "a time within 366 days from now";
                return Err(mismatch("until", takes, until));
            }
            ("untilMs", until_ms)
        }
        _ => {
            let message = match both {
                true => "Wait takes `durationMs` or `until`, but both are given.",
                false => "Wait needs `durationMs` or `until`, but neither is given.",
            };
            return Err(Failure::new(code::PARAMETER, message));
        }
    };
    let request = Object::from_iter([(request.0, Value::Number(request.1))]);
    Ok(Outcome::Effect {
        kind: "wait",
        request: request.into(),
    })
}

/// The time has come.
pub fn waited(_: &Object, _: Value, context: &mut dyn Context) -> NodeResult {
    Ok(Outcome::Emit(Emission::one(0, context.through())))
}

/// WaitForCallback: until the URL of this execution is called.
pub fn wait_for_callback(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let timeout_ms = integer(parameters, "timeoutMs", 1, WAIT_MS_MAX)?.unwrap_or(CALLBACK_MS_DEFAULT);
    let key = context.execution_key();
    // Without the run, which has no slash.
    let place = key.split_once('/').map_or(key.as_str(), |(_, place)| place);
    let mut request = Object::from_iter([
        ("place", Value::from(place.trim_end_matches('/'))),
        ("timeoutMs", Value::Number(timeout_ms as f64)),
    ]);
    if let Some(body) = given(parameters, "respondBody") {
        request.insert("respondBody", body.clone());
    }
    for name in ["page", "respondPage"] {
        let Some(html) = text(parameters, name)? else {
            continue;
        };
        within(name, &html)?;
        request.insert(name, Value::from(html));
    }
    match given(parameters, "form") {
        None => {}
        Some(Value::Object(form)) => {
            let mut form = form.clone();
            for name in FORM_TEXTS {
                if let Some(shown) = text(&form, name)? {
                    within(name, &shown)?;
                    form.insert(name, Value::from(shown));
                }
            }
            request.insert("form", Value::Object(form));
        }
        Some(other) => return Err(mismatch("form", "an object with `title` and `fields`", other)),
    }
    Ok(Outcome::Effect {
        kind: "callback",
        request: request.into(),
    })
}

fn within(name: &str, html: &str) -> Result<(), Failure> {
    if html.len() <= PAGE_BYTES_MAX {
        return Ok(());
    }
    let message = format!(
        "`{name}` has {} bytes, but a page can have at most {PAGE_BYTES_MAX}.",
        html.len()
    );
    Err(Failure::new(code::PARAMETER, message))
}

/// The URL was called, or the time is over.
pub fn called_back(_: &Object, result: Value, context: &mut dyn Context) -> NodeResult {
    let event = match &result {
        Value::Object(result) => result.get("event").cloned(),
        _ => None,
    };
    Ok(Outcome::Emit(match event {
        Some(event) => Emission::one(0, event),
        None => Emission::one(TIMEOUT_PORT, context.through()),
    }))
}
