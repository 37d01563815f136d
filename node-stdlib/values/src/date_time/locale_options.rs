//! Options of `toLocaleString`, out of values.

use super::locale::{Options, Wanted};
use crate::{Object, Text, TypeError, Value};

/// Options out of an object, in a locale, with what is wanted when they name no part.
pub(super) fn read(object: Option<&Object>, locale: &Value, wanted: Wanted) -> Result<Options, TypeError> {
    let mut options = Options::in_english(is_british(locale)?);
    for (key, value) in object.into_iter().flat_map(Object::iter) {
        if !matches!(value, Value::Undefined) {
            set(&mut options, &key.to_utf8(), value)?;
        }
    }
    let refused = match wanted {
        Wanted::Date => "timeStyle",
        Wanted::Time => "dateStyle",
        _ => "",
    };
    if object.is_some_and(|object| object.contains(refused)) {
        return Err(TypeError(format!("Invalid option : {refused}")));
    }
    options.complete(wanted);
    Ok(options)
}

fn set(options: &mut Options, key: &str, value: &Value) -> Result<(), TypeError> {
    let refused = || {
        let shape = value.shape();
        TypeError(format!(
            "Option {key} of toLocaleString: {shape} is not supported"
        ))
    };
    match (key, value) {
        ("fractionalSecondDigits", Value::Number(digits)) if (1.0..=3.0).contains(digits) => {
            options.fraction_digits = *digits as usize;
        }
        ("hour12", _) => options.set_half_days(value.truthy()),
        ("locale", _) => options.british = is_british(value)?,
        _ => options.set(key, &value.to_text().to_utf8()).ok_or_else(refused)?,
    }
    Ok(())
}

/// Whether a locale is British English instead of American; others are not known.
fn is_british(locale: &Value) -> Result<bool, TypeError> {
    let first = match locale {
        Value::Array(locales) => locales.first().cloned().unwrap_or_default(),
        other => other.clone(),
    };
    let name: Text = match first {
        Value::Undefined => return Ok(false),
        Value::String(name) => name,
        other => return Err(TypeError(format!("{} is not a locale", other.shape()))),
    };
    match &*name.to_utf8() {
        "en" | "en-US" => Ok(false),
        "en-GB" => Ok(true),
        other => Err(TypeError(format!(
            "The locale `{other}` is not supported: only `en-US` and `en-GB` are"
        ))),
    }
}
