//! Whether what was sent is what a field asks for, and the value that it is.

use super::field::{Field, Kind};
use chrono::{NaiveDate, NaiveTime};
use serde_json::{Map, Number, Value};
use std::collections::HashSet;

/// Bytes of a text that is compared with an expression: it takes time by the text's length and by the expression's.
const MATCHED_BYTES_MAX: usize = 64 << 10;

/// What a person is told who has sent something else.
type Refusal = String;

/// The value of a field: null, false or an empty array if it was left empty.
pub(super) fn value(field: &Field, given: Option<&Value>) -> Result<Value, Refusal> {
    let given = parts(given);
    match field.kind {
        Kind::File => files(field, &given),
        Kind::Checkbox => ticked(field, &given),
        _ if field.is_multiple => several(field, &given),
        _ => one(field, &given),
    }
}

/// What a program has sent as JSON, as a page sends it; `None`: not at all.
pub(super) fn as_sent(field: &Field, value: &Value) -> Result<Option<Value>, Refusal> {
    Ok(match (field.kind, value) {
        (_, Value::Null) => None,
        (Kind::File, Value::Array(none)) if none.is_empty() => None,
        (Kind::File, _) => {
            return Err("Send files as `multipart/form-data`, to the form's own address.".to_owned());
        }
        (Kind::Checkbox, Value::Bool(is_ticked)) => is_ticked.then(|| Value::String("on".to_owned())),
        // A text would count as ticked, even "false".
        (Kind::Checkbox, _) => return Err("Send true or false here.".to_owned()),
        (_, Value::Number(number)) => Some(Value::String(number.to_string())),
        (_, other) => Some(other.clone()),
    })
}

/// What was sent under a name; an input that was left empty sends an empty text.
fn parts(given: Option<&Value>) -> Vec<&Value> {
    let all = match given {
        Some(Value::Array(several)) => several.iter().collect(),
        Some(one) => vec![one],
        None => Vec::new(),
    };
    let is_empty =
        |value: &&Value| value.is_null() || value.as_str().is_some_and(|text| text.trim().is_empty());
    all.into_iter().filter(|value| !is_empty(value)).collect()
}

fn one(field: &Field, given: &[&Value]) -> Result<Value, Refusal> {
    let text = match given {
        [] if field.is_required => return Err(missing(field)),
        [] => return Ok(Value::Null),
        [Value::String(text)] => text,
        [_] => return Err("Send a text here.".to_owned()),
        _ => return Err("Send only one value here.".to_owned()),
    };
    let text = text.trim();
    match field.kind {
        Kind::Number => return number(field, text),
        Kind::Date => date(text)?,
        Kind::Time => time(text)?,
        Kind::Email if !is_email(text) => {
            return Err("Enter an email address, such as name@example.com.".to_owned());
        }
        Kind::Url if !is_url(text) => {
            return Err("Enter an address that begins with https:// or http://.".to_owned());
        }
        Kind::Tel if !is_tel(text) => {
            return Err("Enter a phone number, such as +49 30 1234567.".to_owned());
        }
        Kind::Select | Kind::Radio => chosen(field, text)?,
        Kind::Text if text.chars().any(char::is_control) => {
            return Err("Enter this on one line.".to_owned());
        }
        _ => {}
    }
    if matches!(field.kind, Kind::Date | Kind::Time) {
        between(field, text)?;
    }
    let text = match field.kind {
        Kind::TextArea => text.replace("\r\n", "\n"),
        _ => text.to_owned(),
    };
    length(field, &text)?;
    Ok(Value::String(text))
}

fn missing(field: &Field) -> Refusal {
    match field.kind {
        Kind::Select | Kind::Radio | Kind::Checkboxes => "Choose an answer.",
        Kind::Checkbox => "Tick this box to go on.",
        Kind::File => "Choose a file.",
        _ => "Fill in this field.",
    }
    .to_owned()
}

fn number(field: &Field, text: &str) -> Result<Value, Refusal> {
    let is_written = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    let read = text
        .parse::<f64>()
        .ok()
        .filter(|number| is_written && number.is_finite());
    let Some(number) = read else {
        return Err("Enter a number.".to_owned());
    };
    if field.is_integer && number.fract() != 0.0 {
        return Err("Enter a whole number.".to_owned());
    }
    let bound = |bound: &Option<String>| bound.as_ref()?.parse::<f64>().ok();
    if let Some(min) = bound(&field.min).filter(|min| number < *min) {
        return Err(format!("Enter a number of at least {min}."));
    }
    if let Some(max) = bound(&field.max).filter(|max| number > *max) {
        return Err(format!("Enter a number of at most {max}."));
    }
    // Whole numbers keep all of their digits.
    let whole = text.strip_prefix('+').unwrap_or(text).parse::<i64>().ok();
    let value = whole.map(Number::from).or_else(|| Number::from_f64(number));
    Ok(value.map_or(Value::Null, Value::Number))
}

fn date(text: &str) -> Result<(), Refusal> {
    let is_written = text.len() == 10 && NaiveDate::parse_from_str(text, "%Y-%m-%d").is_ok();
    match is_written {
        true => Ok(()),
        false => Err("Enter a date as year, month and day, such as 2026-03-31.".to_owned()),
    }
}

fn time(text: &str) -> Result<(), Refusal> {
    let is_written = match text.len() {
        5 => NaiveTime::parse_from_str(text, "%H:%M").is_ok(),
        8 => NaiveTime::parse_from_str(text, "%H:%M:%S").is_ok(),
        _ => false,
    };
    match is_written {
        true => Ok(()),
        false => Err("Enter a time as hours and minutes, such as 14:30.".to_owned()),
    }
}

/// Dates and times sort as their texts do.
fn between(field: &Field, text: &str) -> Result<(), Refusal> {
    let what = field.kind.name();
    if let Some(min) = field.min.as_ref().filter(|min| text < min.as_str()) {
        return Err(format!("Enter a {what} that is not before {min}."));
    }
    if let Some(max) = field.max.as_ref().filter(|max| text > max.as_str()) {
        return Err(format!("Enter a {what} that is not after {max}."));
    }
    Ok(())
}

fn length(field: &Field, text: &str) -> Result<(), Refusal> {
    let count = text.chars().count();
    if let Some(min) = field.length_min.filter(|min| count < *min) {
        return Err(format!(
            "Enter at least {}; this has {count}.",
            counted(min, "character")
        ));
    }
    if let Some(max) = field.length_max.filter(|max| count > *max) {
        return Err(format!(
            "Enter at most {}; this has {count}.",
            counted(max, "character")
        ));
    }
    let Some(pattern) = &field.pattern else {
        return Ok(());
    };
    if text.len() > MATCHED_BYTES_MAX {
        return Err("Enter a shorter text: this one is too long to be checked.".to_owned());
    }
    if !pattern.matches(text) {
        let usual = || "Enter this in the requested format.".to_owned();
        return Err(field.pattern_message.clone().unwrap_or_else(usual));
    }
    Ok(())
}

fn counted(count: usize, of_what: &str) -> String {
    match count {
        1 => format!("1 {of_what}"),
        count => format!("{count} {of_what}s"),
    }
}

fn chosen(field: &Field, text: &str) -> Result<(), Refusal> {
    match field.choices.iter().any(|choice| choice.value == text) {
        true => Ok(()),
        false => Err(unlisted()),
    }
}

fn unlisted() -> Refusal {
    "Choose one of the listed answers.".to_owned()
}

/// Each of the choices once, in their order. Both may be many, the values those of a stranger: each is looked at once.
fn several(field: &Field, given: &[&Value]) -> Result<Value, Refusal> {
    let known: HashSet<&str> = field.choices.iter().map(|choice| choice.value.as_str()).collect();
    let mut sent = HashSet::new();
    for value in given {
        if !known.contains(value.as_str().unwrap_or_default()) {
            return Err(unlisted());
        }
        sent.extend(value.as_str());
    }
    let chosen = field
        .choices
        .iter()
        .filter(|choice| sent.contains(choice.value.as_str()));
    let chosen: Vec<Value> = chosen.map(|choice| Value::String(choice.value.clone())).collect();
    if chosen.is_empty() && field.is_required {
        return Err(missing(field));
    }
    if !chosen.is_empty() {
        count(field, chosen.len(), "answer")?;
    }
    Ok(Value::Array(chosen))
}

fn count(field: &Field, count: usize, of_what: &str) -> Result<(), Refusal> {
    let bound = |bound: &Option<String>| bound.as_ref()?.parse::<usize>().ok();
    if let Some(min) = bound(&field.min).filter(|min| count < *min) {
        return Err(format!("Choose at least {}.", counted(min, of_what)));
    }
    if let Some(max) = bound(&field.max).filter(|max| count > *max) {
        return Err(format!("Choose at most {}.", counted(max, of_what)));
    }
    Ok(())
}

fn ticked(field: &Field, given: &[&Value]) -> Result<Value, Refusal> {
    match given.is_empty() {
        true if field.is_required => Err(missing(field)),
        is_empty => Ok(Value::Bool(!is_empty)),
    }
}

/// Files are objects; what is a text was sent by something else than the page.
fn files(field: &Field, given: &[&Value]) -> Result<Value, Refusal> {
    let mut files = Vec::new();
    for value in given {
        let Value::Object(file) = value else {
            return Err(missing(field));
        };
        accepted(field, file)?;
        files.push((*value).clone());
    }
    match files.len() {
        0 if field.is_required => Err(missing(field)),
        0 if !field.is_multiple => Ok(Value::Null),
        1 if !field.is_multiple => Ok(files.remove(0)),
        0 => Ok(Value::Array(files)),
        _ if !field.is_multiple => Err("Choose only one file.".to_owned()),
        chosen => {
            count(field, chosen, "file")?;
            Ok(Value::Array(files))
        }
    }
}

fn accepted(field: &Field, file: &Map<String, Value>) -> Result<(), Refusal> {
    let text = |name: &str| {
        let text = file.get(name).and_then(Value::as_str).unwrap_or_default();
        text.to_ascii_lowercase()
    };
    let (name, media_type) = (text("name"), text("type"));
    let fits = |accepted: &String| {
        let accepted = accepted.to_ascii_lowercase();
        match accepted.strip_suffix('*') {
            Some(kind) => media_type.starts_with(kind),
            None if accepted.starts_with('.') => name.ends_with(&accepted),
            None => media_type.split(';').next() == Some(accepted.as_str()),
        }
    };
    match field.accept.is_empty() || field.accept.iter().any(fits) {
        true => Ok(()),
        false => Err(format!(
            "Choose a different kind of file: {}.",
            field.accept.join(", ")
        )),
    }
}

/// As HTML has it, but with a dot in the domain: nobody on the internet has an address without one.
fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else {
        return false;
    };
    let is_local = |byte: u8| byte.is_ascii_alphanumeric() || b".!#$%&'*+/=?^_`{|}~-".contains(&byte);
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.chars().all(|c| c.is_alphanumeric() || c == '-')
    };
    (1..=64).contains(&local.len())
        && domain.len() <= 253
        && local.bytes().all(is_local)
        && domain.contains('.')
        && domain.split('.').all(is_label)
}

fn is_url(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else {
        return false;
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    (scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http"))
        && !host.is_empty()
        && !text.chars().any(|c| c.is_whitespace() || c.is_control())
}

fn is_tel(text: &str) -> bool {
    text.chars().filter(char::is_ascii_digit).count() >= 3
        && text
            .chars()
            .all(|c| c.is_ascii_digit() || "+-()./#*x ".contains(c))
}
