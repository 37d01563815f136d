//! The response: which statuses are failures, and how its body is read.

use super::super::file::FILE;
use super::super::parameters::{array, boolean, choice, given, mismatch, select, text};
use super::super::read_stream::stream_value;
use crate::failure::{Again, Failure, unreadable};
use crate::node::{Context, Emission, NodeResult, Outcome};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use heddle_contract::abi::code;
use heddle_values::{JSON_DEPTH_MAX, Object, Value, parse_json};
use std::ops::RangeInclusive;

/// Characters of a failed request's body that its message shows.
const BODY_SHOWN_CHARS: usize = 200;

/// How the node reads its response.
pub struct Reading {
    accepted: Vec<RangeInclusive<u16>>,
    response_type: &'static str,
    body_only: bool,
}

impl Reading {
    /// What the host is to make of the body, if the run is not to get it now: a file, or a stream of these entries.
    pub fn left_outside(&self) -> Option<&'static str> {
        [FILE, "lines", "jsonLines", "events"]
            .into_iter()
            .find(|form| *form == self.response_type)
    }

    /// The first and the last of each range of statuses that are taken, for the host.
    pub fn accepted(&self) -> Value {
        let range = |range: &RangeInclusive<u16>| {
            let ends = [*range.start(), *range.end()].map(|status| Value::Number(f64::from(status)));
            Value::from(ends.to_vec())
        };
        Value::from(self.accepted.iter().map(range).collect::<Vec<_>>())
    }

    /// From the node's parameters.
    pub fn new(parameters: &Object) -> Result<Self, Failure> {
        let accepted = match array(parameters, "acceptStatuses")? {
            None => vec![200..=299],
            Some(statuses) => {
                let ranges = statuses.iter().enumerate().map(|(index, value)| {
                    let name = format!("acceptStatuses[{index}]");
                    statuses_of(value).ok_or_else(|| {
                        mismatch(
                            &name,
                            "a status, a class like \"4xx\" or a range like \"400-404\"",
                            value,
                        )
                    })
                });
                ranges.collect::<Result<_, _>>()?
            }
        };
        let response_type = choice(
            parameters,
            "responseType",
            &[
                "auto",
                "json",
                "text",
                "base64",
                FILE,
                "lines",
                "jsonLines",
                "events",
            ],
            "auto",
        )?;
        Ok(Reading {
            accepted,
            response_type,
            body_only: boolean(parameters, "bodyOnly", false)?,
        })
    }
}

fn statuses_of(value: &Value) -> Option<RangeInclusive<u16>> {
    let text = value.to_text();
    let text = text.to_utf8();
    let text = text.trim();
    if let Some(class) = text.strip_suffix("xx") {
        let class: u16 = class.parse().ok().filter(|class| (1..=5).contains(class))?;
        return Some(class * 100..=class * 100 + 99);
    }
    let status = |text: &str| {
        text.trim()
            .parse::<u16>()
            .ok()
            .filter(|status| (100..=599).contains(status))
    };
    match text.split_once('-') {
        Some((first, last)) => Some(status(first)?..=status(last)?),
        None => status(text).map(|status| status..=status),
    }
}

/// Continues the node with `{status, headers, text | base64 | file | stream}`, or `{status, headers, items, pages, more}`.
pub fn resume(parameters: &Object, response: Value, context: &mut dyn Context) -> NodeResult {
    let reading = Reading::new(parameters)?;
    let Value::Object(response) = response else {
        return Err(Failure::new(code::INTERNAL, "The response is not an object."));
    };
    let status = match response.get("status") {
        Some(Value::Number(status)) => *status as u16,
        _ => 0,
    };
    if !reading.accepted.iter().any(|range| range.contains(&status)) {
        return Err(refused(parameters, &response, status));
    }
    // All pages of a list come as their items.
    let items = response.get("items").cloned();
    let body = match &items {
        Some(items) => items.clone(),
        None => match (response.get(FILE), response.get("stream")) {
            (Some(file), _) => file.clone(),
            (None, Some(id)) => stream_value(id, reading.response_type),
            (None, None) => read_body(reading.response_type, &response)?,
        },
    };
    match &items {
        None => told_failure(parameters, &body, context)?,
        // The body of a page without a list, which may say why.
        Some(_) if given(parameters, "failure").is_some() && says_json(&response) => {
            told_failure(parameters, &read_body("auto", &response)?, context)?;
        }
        Some(_) => {}
    }
    if let Some(Value::String(missing)) = response.get("missing") {
        return Err(Failure::new(code::PARSE, missing.to_utf8()));
    }
    let body = match given(parameters, "result") {
        Some(result) => select(result, &body, 0, context)?,
        None => body,
    };
    if reading.body_only {
        return Ok(Outcome::Emit(Emission::one(0, body)));
    }
    let field = |name| response.get(name).cloned().unwrap_or_default();
    let mut value = Object::from_iter([
        ("status", Value::Number(f64::from(status))),
        ("headers", field("headers")),
        ("body", body),
    ]);
    if items.is_some() {
        value.insert("pages", field("pages"));
        value.insert("more", field("more"));
    }
    Ok(Outcome::Emit(Emission::one(0, Value::Object(value))))
}

/// Fails if the parameter `failure` finds in the body that the service refused.
fn told_failure(parameters: &Object, body: &Value, context: &mut dyn Context) -> Result<(), Failure> {
    let Some(failure) = given(parameters, "failure") else {
        return Ok(());
    };
    let told = select(failure, body, 0, context)?;
    if !told.truthy() {
        return Ok(());
    }
    let told: String = told.to_text().to_utf8().chars().take(BODY_SHOWN_CHARS).collect();
    let message = format!("{} refused: {told}", asked(parameters));
    Err(Failure::new(code::HTTP_FAILED, message))
}

/// The failure of a status that is not accepted.
fn refused(parameters: &Object, response: &Object, status: u16) -> Failure {
    failure(response, status, &asked(parameters))
}

/// Method and URL of the request. Shows no query: it may hold what nobody else should see.
fn asked(parameters: &Object) -> String {
    let method = text(parameters, "method")
        .ok()
        .flatten()
        .unwrap_or_else(|| "GET".into());
    let url = text(parameters, "url").ok().flatten().unwrap_or_default();
    let url = url.split(['?', '#']).next().unwrap_or_default();
    // User and password of a URL are nobody's business either.
    let url = match url.split_once("://") {
        Some((scheme, rest)) if rest.split('/').next().is_some_and(|host| host.contains('@')) => {
            format!(
                "{scheme}://{}",
                rest.split_once('@').map_or(rest, |(_, rest)| rest)
            )
        }
        _ => url.to_owned(),
    };
    format!("{method} {url}")
}

/// The failure of an effect's response whose status is not 2xx; `who` answered it.
pub fn refused_status(response: &Object, who: &str) -> Option<Failure> {
    let status = match response.get("status") {
        Some(Value::Number(status)) => *status as u16,
        _ => 0,
    };
    (!(200..300).contains(&status)).then(|| failure(response, status, who))
}

fn failure(response: &Object, status: u16, who: &str) -> Failure {
    let body = response
        .get("text")
        .map(|text| text.to_text().to_utf8().into_owned())
        .unwrap_or_default();
    let shown: String = body.trim().chars().take(BODY_SHOWN_CHARS).collect();
    let body = match (shown.is_empty(), body.trim().chars().count() > BODY_SHOWN_CHARS) {
        (true, _) => String::new(),
        (false, false) => format!(": {shown}"),
        (false, true) => format!(": {shown}…"),
    };
    let (again, later) = match response.get("retryAfter") {
        Some(Value::Number(wait_ms)) => (Again::After(*wait_ms as u32), ""),
        Some(_) => (Again::Never, "; it asks for a pause longer than the run may take"),
        None => (Again::ByPolicy, ""),
    };
    Failure {
        again,
        ..Failure::with_code(
            format!("HTTP_{status}"),
            format!("{who} answered with the status {status}{body}{later}"),
        )
    }
}

fn read_body(response_type: &str, response: &Object) -> Result<Value, Failure> {
    let text = response
        .get("text")
        .map(|text| text.to_text().to_utf8().into_owned());
    let base64 = response.get("base64").map(Value::to_text);
    match (response_type, text, base64) {
        ("base64", Some(text), _) => Ok(STANDARD.encode(text).into()),
        ("base64", None, base64) => Ok(Value::String(base64.unwrap_or_default())),
        ("text", Some(text), _) => Ok(text.into()),
        ("text", None, _) => Err(Failure::new(
            code::PARSE,
            "The response is not UTF-8 text. Set `responseType` to `base64` to get its bytes.",
        )),
        ("json", Some(text), _) => json(&text),
        ("json", None, _) => Err(Failure::new(
            code::PARSE,
            "The response is not JSON: it is not even UTF-8 text.",
        )),
        (_, Some(text), _) if text.is_empty() => Ok(Value::from("")),
        (_, Some(text), _) if says_json(response) => json(&text),
        (_, Some(text), _) => Ok(text.into()),
        (_, None, base64) => Ok(Value::String(base64.unwrap_or_default())),
    }
}

fn says_json(response: &Object) -> bool {
    let content_type = match response.get("headers") {
        Some(Value::Object(headers)) => headers
            .get("content-type")
            .map(Value::to_text)
            .unwrap_or_default(),
        _ => return false,
    };
    let content_type = content_type.to_utf8();
    let essence = content_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    essence == "application/json" || essence.ends_with("+json")
}

fn json(text: &str) -> Result<Value, Failure> {
    parse_json(text.as_bytes(), JSON_DEPTH_MAX).map_err(|error| {
        let wrong = if error.too_deep {
            "is"
        } else {
            "is not valid JSON:"
        };
        let message = format!(
            "The response {wrong} {} at byte {}. Set `responseType` to `text` to get it as it is.",
            error.message, error.offset
        );
        Failure::new(unreadable(&error, code::PARSE), message)
    })
}
