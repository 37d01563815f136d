//! A form's fields as somebody could fill them in: with what was given, if the form takes it, or else with its own defaults or examples.

use heddle_model::form::{Field, Form, Kind};
use serde_json::{Map, Value};

/// Characters of a text that is made up.
const LENGTH_MAX: usize = 200;
const LENGTH: usize = 7;
/// Files of a field.
const FILES_MAX: usize = 10;

/// What is sent for a field.
pub(super) enum Sent {
    Text(String),
    File(File),
}

/// A file that a field takes.
pub(super) struct File {
    pub(super) name: String,
    pub(super) media_type: String,
}

/// Names, with what is sent for each. A field that may be left empty is, if nothing that it takes is known.
pub(super) fn fields(form: &Form, given: Option<&Value>) -> Vec<(String, Sent)> {
    let given = given.and_then(Value::as_object);
    let mut sent = Vec::new();
    for field in &form.fields {
        let named = |value: Sent| (field.name.clone(), value);
        match field.kind {
            Kind::File => sent.extend(files(field).map(Sent::File).map(named)),
            _ => sent.extend(texts(field, given).into_iter().map(Sent::Text).map(named)),
        }
    }
    sent
}

fn texts(field: &Field, given: Option<&Map<String, Value>>) -> Vec<String> {
    let given = given.and_then(|given| given.get(&field.name)).and_then(said);
    let default = (!field.default.is_empty()).then(|| field.default.clone());
    let examples = examples(field);
    // If nothing fits, the form says what is wrong with this.
    let anyway = examples.first().filter(|_| field.is_required).cloned();
    let mut known = given.into_iter().chain(default).chain(examples);
    let taken = known.find(|texts| field.takes(&Value::from(texts.as_slice())));
    taken.or(anyway).unwrap_or_default()
}

/// A value as an event has it, as a page sends it.
fn said(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Null | Value::Bool(false) => Some(Vec::new()),
        Value::Bool(true) => Some(vec!["on".to_owned()]),
        Value::Number(number) => Some(vec![number.to_string()]),
        Value::String(text) => is_literal(text).then(|| vec![text.clone()]),
        Value::Array(several) => {
            let texts: Option<Vec<Vec<String>>> = several.iter().map(said).collect();
            texts.map(|texts| texts.concat())
        }
        Value::Object(_) => None,
    }
}

/// Whether literals keep it as it is, and it ends no part.
fn is_literal(text: &str) -> bool {
    !text.contains("--boundary") && !text.chars().any(|c| c.is_control() && c != '\n')
}

/// What the field may take, the usual first.
fn examples(field: &Field) -> Vec<Vec<String>> {
    let one = |text: &str| vec![text.to_owned()];
    let in_bounds = |usual: &str| {
        let bounds = [&field.min, &field.max].into_iter().flatten();
        [one(usual)]
            .into_iter()
            .chain(bounds.map(|bound| one(bound)))
            .collect()
    };
    match field.kind {
        Kind::Number => in_bounds("1"),
        Kind::Date => in_bounds("2026-03-31"),
        Kind::Time => in_bounds("14:30"),
        Kind::Email => vec![one("ann@example.com")],
        Kind::Url => vec![one("https://example.com/")],
        Kind::Tel => vec![one("+49 30 1234567")],
        Kind::Checkbox => vec![one("on")],
        Kind::Select | Kind::Radio | Kind::Checkboxes => {
            let choices = field.choices.iter().map(|choice| choice.value.clone());
            vec![choices.take(count(field)).collect()]
        }
        Kind::Text | Kind::TextArea => {
            let shortest = field.length_min.unwrap_or_default().min(LENGTH_MAX);
            let longest = field.length_max.unwrap_or(LENGTH_MAX);
            let length = LENGTH.max(shortest).min(longest);
            vec![vec!["example".chars().cycle().take(length).collect()]]
        }
        Kind::Hidden | Kind::File => Vec::new(),
    }
}

/// How many values it is sent.
fn count(field: &Field) -> usize {
    let least = || field.min.as_ref()?.parse::<usize>().ok();
    match field.is_multiple {
        true => least().unwrap_or(1).max(1),
        false => 1,
    }
}

fn files(field: &Field) -> impl Iterator<Item = File> {
    (0..count(field).min(FILES_MAX)).map(move |_| file(field))
}

/// One of the first kind that the field takes.
fn file(field: &Field) -> File {
    let is_plain = |text: &&String| {
        text.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"./+-*_".contains(&byte))
    };
    let of = |name: &str, media_type: &str| File {
        name: name.to_owned(),
        media_type: media_type.to_owned(),
    };
    match field.accept.iter().find(is_plain).map(String::as_str) {
        Some("image/*") => of("example.png", "image/png"),
        Some("audio/*") => of("example.mp3", "audio/mpeg"),
        Some("application/*") => of("example.pdf", "application/pdf"),
        Some("video/*") => of("example.mp4", "video/mp4"),
        Some(ending) if ending.starts_with('.') => {
            of(&format!("example{ending}"), "application/octet-stream")
        }
        Some(media_type) if media_type.contains('/') && !media_type.ends_with('*') => {
            of("example", media_type)
        }
        _ => of("example.txt", "text/plain"),
    }
}
