//! Options of `toLocaleString`, out of values.

use super::locale::{self, Options, Wanted};
use super::options;
use super::zone::Zone;
use super::zoned::Zoned;
use crate::{Object, Text, TypeError, Value};

/// A time after the options of `Intl.DateTimeFormat`, in the zone that they name or else UTC. With marks, each part stands
/// between U+0001 with a letter for what it is (`y` the year, `M` the month, `d` the day, `w` the weekday, `h`, `m`, `s`,
/// `f` fractions of a second, `p` half of the day, `z` the zone) and U+0002.
pub fn for_people(
    ms: f64,
    locale: &Value,
    options: &Value,
    wanted: Wanted,
    is_marked: bool,
) -> Result<String, TypeError> {
    let object = match options {
        Value::Object(object) => Some(object),
        _ => None,
    };
    let mut options = read(object, locale, wanted)?;
    options.is_marked = is_marked;
    Ok(match Zoned::new(ms, Zone::iana("Etc/UTC").unwrap_or(Zone::UTC)) {
        Ok(zoned) => locale::write(&zoned, &options),
        Err(_) => "Invalid Date".into(),
    })
}

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

/// Refuses another language than American English.
pub(super) fn american(locale: &Value) -> Result<(), TypeError> {
    match &*locale.to_text().to_utf8() {
        "" | "en" | "en-US" => Ok(()),
        other => Err(TypeError(format!(
            "The locale `{other}` is not supported: only `en-US` is"
        ))),
    }
}

/// Refuses another language, and its weeks, where nothing but English is written or read.
pub(super) fn no_other_language(told: Option<&Value>) -> Result<(), TypeError> {
    let told = options::Options::of(told.unwrap_or(&Value::Undefined));
    if let Some(locale) = told.get("locale").filter(|locale| !matches!(locale, Value::Null)) {
        american(locale)?;
    }
    none_of(told, "date-times", &["useLocaleWeeks"])
}

/// Refuses options that Luxon has and that would change nothing here.
pub(super) fn none_of(told: options::Options<'_>, of: &str, names: &[&str]) -> Result<(), TypeError> {
    let is_set = |name: &&&str| {
        told.get(name)
            .is_some_and(|value| !matches!(value, Value::Bool(false)))
    };
    match names.iter().find(is_set) {
        None => Ok(()),
        Some(name) => Err(TypeError(format!("The option `{name}` of {of} is not supported"))),
    }
}
