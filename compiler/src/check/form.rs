//! Rules of forms (OnForm's parameters, and the `form` of WaitForCallback) that no schema can express: what each kind of field
//! takes, and texts with a syntax of their own. Knows nothing about pages.

use super::level::Spot;
use super::webhook::{each, network};
use crate::diagnostic::{Diagnostic, list};
use crate::findings::{Findings, PATTERNS_MAX, PatternsLeft};
use regex::RegexBuilder;
use serde_json::{Map, Value};
use std::collections::HashSet;
use url::Url;

/// Fields of a form; the service reads no more.
const FIELDS_MAX: usize = 100;
/// Choices of a field.
const OPTIONS_MAX: usize = 500;
const NAME_BYTES_MAX: usize = 64;
/// Bytes of all parameters together as JSON, which are kept in memory with each deployment.
const BYTES_MAX: usize = 64 << 10;
/// Bytes of an expression, and its size once compiled; the service allows as much.
const PATTERN_BYTES_MAX: usize = 500;
const PATTERN_SIZE_MAX: usize = 128 << 10;
/// Groups within groups of an expression.
const PATTERN_DEPTH_MAX: u32 = 50;

const TEXTS: [&str; 5] = ["text", "textarea", "email", "url", "tel"];
/// Kinds of fields that have choices.
const CHOICES: [&str; 3] = ["select", "radio", "checkboxes"];
/// Parameters that only some kinds of fields read, and the kinds.
const OF_KINDS: [(&str, &[&str]); 10] = [
    (
        "placeholder",
        &["text", "textarea", "email", "url", "tel", "number"],
    ),
    ("options", &CHOICES),
    ("multiple", &["select", "file"]),
    ("min", &["number", "date", "time", "checkboxes", "select", "file"]),
    ("max", &["number", "date", "time", "checkboxes", "select", "file"]),
    ("integer", &["number"]),
    ("minLength", &TEXTS),
    ("maxLength", &TEXTS),
    ("pattern", &TEXTS),
    ("accept", &["file"]),
];

/// Checks an OnForm node that can start runs.
pub(crate) fn check(spot: &Spot<'_>, found: &mut Findings) {
    let given = &spot.node.parameters;
    let patterns = found.patterns();
    let mut report = |diagnostic: Diagnostic, parameter: &str| {
        found.push(diagnostic.at_node(&spot.node.id).at_parameter(parameter));
    };
    let bytes: usize = given.values().map(|value| value.to_string().len()).sum();
    if bytes > BYTES_MAX {
        let message = format!("the form's parameters have {bytes} bytes; {BYTES_MAX} are allowed");
        report(Diagnostic::error("too-large", message), "fields");
        return;
    }
    if let Some(address) = text(given, "redirect").filter(|address| !is_page(address)) {
        let message = format!("`{address}` is not the address of a page");
        let help = "write all of it, such as `https://example.com/thanks`".to_owned();
        report(Diagnostic::error("redirect", message).with_help(help), "redirect");
    }
    each(given, "allowIps", &mut report, network);
    if let Some(fields) = given.get("fields").and_then(Value::as_array) {
        fields_of(fields, &patterns, &mut report);
    }
}

/// Checks a WaitForCallback node, if it asks by a form.
pub(crate) fn check_step(spot: &Spot<'_>, found: &mut Findings) {
    let given = &spot.node.parameters;
    let Some(form) = given.get("form").filter(|form| !form.is_null()) else {
        return;
    };
    let patterns = found.patterns();
    let mut report = |diagnostic: Diagnostic, parameter: &str| {
        found.push(diagnostic.at_node(&spot.node.id).at_parameter(parameter));
    };
    if given.get("page").is_some_and(|page| !page.is_null()) {
        let message = "both `form` and `page` are given";
        let help = "keep one of them and delete the other".to_owned();
        report(
            Diagnostic::error("parameter-conflict", message).with_help(help),
            "page",
        );
    }
    if form.as_str().is_some_and(|text| text.contains("{{")) {
        let message = "must be written out: its fields are needed before the run and can't be an expression";
        let help = "`title` and `description` in it may have expressions".to_owned();
        report(Diagnostic::error("literal-only", message).with_help(help), "form");
    }
    let Some(form) = form.as_object() else {
        return;
    };
    let bytes: usize = form.values().map(|value| value.to_string().len()).sum();
    if bytes > BYTES_MAX {
        let message = format!("the form has {bytes} bytes; {BYTES_MAX} are allowed");
        report(Diagnostic::error("too-large", message), "form");
        return;
    }
    if let Some(fields) = form.get("fields").and_then(Value::as_array) {
        let mut report = |diagnostic: Diagnostic, parameter: &str| {
            report(diagnostic, &format!("form.{parameter}"));
        };
        fields_of(fields, &patterns, &mut report);
    }
}

fn fields_of(fields: &[Value], patterns: &PatternsLeft, report: &mut impl FnMut(Diagnostic, &str)) {
    if fields.is_empty() || fields.len() > FIELDS_MAX {
        let message = format!(
            "a form has 1 to {FIELDS_MAX} fields; this one has {}",
            fields.len()
        );
        report(Diagnostic::error("fields", message), "fields");
    }
    let mut names = HashSet::new();
    let fields = fields.iter().take(FIELDS_MAX).enumerate();
    for (index, field) in fields.filter_map(|(index, field)| Some((index, field.as_object()?))) {
        let mut report = |diagnostic: Diagnostic, parameter: &str| {
            report(diagnostic, &format!("fields[{index}].{parameter}"));
        };
        if let Some(name) = text(field, "name") {
            if !is_name(name) {
                let message = format!("`{name}` is not a name: use a letter, then letters, digits and `_`");
                report(Diagnostic::error("field-name", message), "name");
            } else if !names.insert(name) {
                let message = format!("the name `{name}` is used twice");
                report(Diagnostic::error("field-name", message), "name");
            }
        }
        one(field, patterns, &mut report);
    }
}

fn one(field: &Map<String, Value>, patterns: &PatternsLeft, report: &mut impl FnMut(Diagnostic, &str)) {
    let kind = text(field, "type").unwrap_or("text");
    for (parameter, kinds) in OF_KINDS {
        let is_given = field
            .get(parameter)
            .is_some_and(|value| !value.is_null() && *value != Value::Bool(false));
        if is_given && !kinds.contains(&kind) {
            let message = format!("`{parameter}` does nothing in a field of the type `{kind}`");
            let help = format!("delete it; it is for {}", list(kinds.iter().copied()));
            report(
                Diagnostic::warning("unused-parameter", message).with_help(help),
                parameter,
            );
        }
    }
    if CHOICES.contains(&kind) {
        options(field, kind, report);
    }
    bounds(field, kind, report);
    match text(field, "pattern") {
        Some(given) if patterns.take() => {
            if let Some(problem) = pattern(given) {
                report(Diagnostic::error("pattern", problem), "pattern");
            }
        }
        Some(_) => {
            let message =
                format!("all forms together have more than {PATTERNS_MAX} patterns, which is the limit");
            report(Diagnostic::error("too-large", message), "pattern");
        }
        None => {}
    }
    each(field, "accept", report, |accepted| {
        (!is_file_kind(accepted)).then(|| {
            let message = format!("`{accepted}` is neither a file extension nor a media type");
            let help = "write an extension such as `.pdf`, or a media type such as `image/png` or `image/*`";
            Diagnostic::error("file-type", message).with_help(help.to_owned())
        })
    });
    if kind == "file" && field.get("default").is_some_and(|value| !value.is_null()) {
        report(
            Diagnostic::warning("unused-parameter", "a file can't have a default"),
            "default",
        );
    }
}

/// The choices, and that the default is among them.
fn options(field: &Map<String, Value>, kind: &str, report: &mut impl FnMut(Diagnostic, &str)) {
    let given = field.get("options").and_then(Value::as_array);
    let given = given.map(Vec::as_slice).unwrap_or_default();
    if given.is_empty() {
        let message = format!("`options` is required in a field of the type `{kind}`");
        report(Diagnostic::error("missing-parameter", message), "options");
        return;
    }
    if given.len() > OPTIONS_MAX {
        let message = format!("there are {} options; {OPTIONS_MAX} are allowed", given.len());
        report(Diagnostic::error("too-large", message), "options");
    }
    let mut values = HashSet::new();
    for (index, option) in given.iter().enumerate().take(OPTIONS_MAX) {
        let value = option.as_str().or_else(|| option.get("value")?.as_str());
        let Some(value) = value else { continue };
        let problem = match value.trim() {
            "" => Some("an option needs a value: an empty one doesn't count as an answer".to_owned()),
            trimmed if trimmed != value => Some(format!(
                "the value `{value}` begins or ends with a space, which answers don't keep"
            )),
            _ if !values.insert(value) => Some(format!("the value `{value}` is used twice")),
            _ => None,
        };
        if let Some(problem) = problem {
            report(Diagnostic::error("choice", problem), &format!("options[{index}]"));
        }
    }
    let defaults = match field.get("default") {
        Some(Value::Array(several)) => several.iter().collect(),
        Some(Value::Null) | None => Vec::new(),
        Some(one) => vec![one],
    };
    let is_option = |value: &&Value| value.as_str().is_some_and(|value| values.contains(value));
    if let Some(other) = defaults.into_iter().find(|value| !is_option(value)) {
        let message = format!("the default {other} is not among the options");
        report(Diagnostic::error("choice", message), "default");
    }
}

/// `min` and `max` as the kind of the field has them, and the least below the greatest.
fn bounds(field: &Map<String, Value>, kind: &str, report: &mut impl FnMut(Diagnostic, &str)) {
    let wanted = match kind {
        "number" => "a number",
        "date" => "a date such as \"2026-03-31\"",
        "time" => "a time such as \"14:30\"",
        "checkboxes" | "select" | "file" => "a whole number from 1",
        _ => "",
    };
    let bound = |parameter: &str| field.get(parameter).filter(|value| !value.is_null());
    for parameter in ["min", "max"] {
        let fits = |value: &Value| match kind {
            "number" => value.is_number(),
            "date" => value.as_str().is_some_and(is_date),
            "time" => value.as_str().is_some_and(is_time),
            _ => wanted.is_empty() || value.as_u64().is_some_and(|count| count > 0),
        };
        if bound(parameter).is_some_and(|value| !fits(value)) {
            let message = format!("`{parameter}` of a field of the type `{kind}` is {wanted}");
            report(Diagnostic::error("bound", message), parameter);
        }
    }
    for (least, greatest) in [("min", "max"), ("minLength", "maxLength")] {
        let (Some(min), Some(max)) = (bound(least), bound(greatest)) else {
            continue;
        };
        let is_empty = match (min.as_f64(), max.as_f64()) {
            (Some(min), Some(max)) => min > max,
            _ => min.as_str().zip(max.as_str()).is_some_and(|(min, max)| min > max),
        };
        if is_empty {
            let message = format!("nothing fits: `{least}` is above `{greatest}`");
            report(Diagnostic::error("bound", message), least);
        }
    }
}

/// What is wrong with an expression. Alone, since it is read inside a group, which it must not close.
fn pattern(text: &str) -> Option<String> {
    if text.len() > PATTERN_BYTES_MAX {
        return Some(format!(
            "the expression has {} bytes; {PATTERN_BYTES_MAX} are allowed",
            text.len()
        ));
    }
    let problem = |text: &str| {
        let read = RegexBuilder::new(text)
            .size_limit(PATTERN_SIZE_MAX)
            .nest_limit(PATTERN_DEPTH_MAX)
            .build();
        read.err()
    };
    let problem = problem(text).or_else(|| problem(&format!("^(?:{text})$")))?;
    Some(match problem {
        regex::Error::CompiledTooBig(_) => {
            "the expression is too complex: repeat less, or use smaller classes such as `[0-9]`".to_owned()
        }
        other => {
            let text = other.to_string();
            let last = text.lines().last().unwrap_or_default();
            let reason = last.strip_prefix("error: ").unwrap_or(last);
            format!("the regular expression can't be read: {reason}")
        }
    })
}

fn text<'p>(parameters: &'p Map<String, Value>, name: &str) -> Option<&'p str> {
    parameters.get(name).and_then(Value::as_str)
}

fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.len() <= NAME_BYTES_MAX
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn is_page(text: &str) -> bool {
    let url = Url::parse(text).ok();
    text.is_ascii() && url.is_some_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

fn is_file_kind(text: &str) -> bool {
    let is_part = |part: &str| {
        let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"+-._".contains(&byte);
        (1..=100).contains(&part.len()) && part.bytes().all(is_known)
    };
    match (text.strip_prefix('.'), text.split_once('/')) {
        (Some(ending), _) => is_part(ending),
        (None, Some((kind, of_it))) => is_part(kind) && (of_it == "*" || is_part(of_it)),
        (None, None) => false,
    }
}

/// Years of four digits, as browsers write them; which days a month has is theirs.
fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts.as_slice() else {
        return false;
    };
    is_number(year, 4, 1..=9999) && is_number(month, 2, 1..=12) && is_number(day, 2, 1..=31)
}

fn is_time(text: &str) -> bool {
    let parts: Vec<&str> = text.split(':').collect();
    let [hours, minutes] = parts.as_slice() else {
        return false;
    };
    is_number(hours, 2, 0..=23) && is_number(minutes, 2, 0..=59)
}

fn is_number(text: &str, digits: usize, range: std::ops::RangeInclusive<u32>) -> bool {
    let is_written = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    is_written && text.parse().is_ok_and(|number| range.contains(&number))
}
