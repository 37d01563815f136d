//! An operation of a document: its parameters and its body, as far as a request can have them.

use super::document::Document;
use serde_json::Value;
use std::collections::HashSet;

const METHODS: &[(&str, &str)] = &[
    ("get", "GET"),
    ("put", "PUT"),
    ("post", "POST"),
    ("delete", "DELETE"),
    ("options", "OPTIONS"),
    ("head", "HEAD"),
    ("patch", "PATCH"),
];
const PARAMETERS_MAX: usize = 100;
const NAME_CHARS_MAX: usize = 120;
const TEXT_CHARS_MAX: usize = 300;
/// Content types of a body and of an answer, and its statuses.
const TYPES_MAX: usize = 100;
/// Headers that the request has for other reasons, which OpenAPI leaves out as well.
const OWN_HEADERS: &[&str] = &["accept", "content-type", "authorization"];

/// A method of a path.
pub(super) struct Operation<'d> {
    pub id: String,
    pub method: &'static str,
    pub path: &'d str,
    /// The path's own description.
    pub item: &'d Value,
    pub value: &'d Value,
}

/// Where a parameter is in the request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Path,
    Query,
    Header,
}

/// How a parameter's value is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The value itself, without quotes.
    Text,
    /// A list: its elements one by one.
    Each,
    /// A list: its elements in one text with this between them.
    Joined(&'static str),
    /// An object: its fields are parameters of their own.
    Fields,
    /// An object: its fields are parameters `name[field]`.
    Deep,
    /// One text, as `JSON.stringify` gives it.
    Json,
}

/// A parameter of the request, or its body.
pub(super) struct Taken<'d> {
    /// Its name in the request.
    pub name: &'d str,
    /// The input's field that gives it.
    pub field: String,
    pub place: Place,
    pub form: Form,
    pub required: bool,
    pub kind: &'d str,
    pub description: String,
}

/// The body of a request.
pub(super) struct Body<'d> {
    /// HttpRequest's word for how it is written.
    pub kind: &'static str,
    /// A content type that does not follow from that.
    pub content_type: Option<&'d str>,
    pub required: bool,
    pub description: String,
}

/// The methods of a path.
pub(super) fn of_path<'d>(document: Document<'d>, path: &'d str, item: &'d Value) -> Vec<Operation<'d>> {
    let Some(item) = document.followed(item) else {
        return Vec::new();
    };
    let read = |(name, method): &(&str, &'static str)| {
        let value = item.get(name).filter(|value| value.is_object())?;
        let id = value.get("operationId").and_then(Value::as_str);
        let id = id
            .map(|id| limited(id, NAME_CHARS_MAX))
            .filter(|id| !id.is_empty());
        Some(Operation {
            id: id.unwrap_or_else(|| limited(&format!("{name} {path}"), NAME_CHARS_MAX)),
            method,
            path,
            item,
            value,
        })
    };
    METHODS.iter().filter_map(read).collect()
}

impl<'d> Operation<'d> {
    /// Its first words for people.
    pub fn title(&self) -> String {
        let summary = self.value.get("summary").or(self.value.get("description"));
        limited(
            summary.and_then(Value::as_str).unwrap_or_default(),
            TEXT_CHARS_MAX,
        )
    }

    pub fn tags(&self) -> Vec<&'d str> {
        let tags = self.value.get("tags").and_then(Value::as_array);
        tags.into_iter()
            .flatten()
            .take(20)
            .filter_map(Value::as_str)
            .filter(|tag| tag.len() <= NAME_CHARS_MAX && !tag.chars().any(char::is_control))
            .collect()
    }

    /// Its parameters; those of the path count unless it has its own of that name. What can't be sent is said; as an error
    /// if the operation is nothing without it.
    pub fn parameters(
        &self,
        document: Document<'d>,
        left: &mut Vec<String>,
    ) -> Result<Vec<Taken<'d>>, String> {
        let listed = |value: &'d Value| value.get("parameters").and_then(Value::as_array);
        let all = listed(self.value).into_iter().chain(listed(self.item)).flatten();
        let mut seen = HashSet::new();
        let mut taken: Vec<Taken<'d>> = Vec::new();
        let mut fields = HashSet::from(["body".to_owned()]);
        for (number, given) in all.enumerate() {
            if number >= PARAMETERS_MAX {
                return Err(format!("it has more than {PARAMETERS_MAX} parameters"));
            }
            let Some(given) = document.followed(given) else {
                return Err(
                    "the reference of one of its parameters leads nowhere, or out of the document".to_owned(),
                );
            };
            let text = |name: &str| given.get(name).and_then(Value::as_str).unwrap_or_default();
            let place = Some(text("in")).filter(|place| place.len() <= NAME_CHARS_MAX);
            let (name, place) = (text("name"), place.unwrap_or_default());
            // Any number of operations may have the same one, whose name is not read each time if it is very long.
            if name.len() <= NAME_CHARS_MAX && !seen.insert((name, place)) {
                continue;
            }
            let required = place == "path" || given.get("required") == Some(&Value::Bool(true));
            let shown = limited(name, NAME_CHARS_MAX);
            match parameter(document, given, name, place) {
                Ok(None) => {}
                Ok(Some((place, form, kind))) => {
                    let field = free_field(&mut fields, name, text("in"));
                    let description = limited(text("description"), TEXT_CHARS_MAX);
                    taken.push(Taken {
                        name,
                        field,
                        place,
                        form,
                        required,
                        kind,
                        description,
                    });
                }
                Err(why) if required => return Err(format!("its parameter `{shown}` {why}")),
                Err(why) => left.push(format!("its parameter `{shown}` {why}, and is left out")),
            }
        }
        Ok(taken)
    }

    /// Its body, if it has one.
    pub fn body(&self, document: Document<'d>, left: &mut Vec<String>) -> Result<Option<Body<'d>>, String> {
        let Some(given) = self.value.get("requestBody") else {
            return Ok(None);
        };
        let Some(given) = document.followed(given) else {
            return Err("the reference of its body leads nowhere, or out of the document".to_owned());
        };
        let required = given.get("required") == Some(&Value::Bool(true));
        let content = given.get("content").and_then(Value::as_object);
        let types = content.into_iter().flatten().take(TYPES_MAX);
        let types = types.map(|(name, _)| name.as_str());
        // The first of the form that is easiest to give.
        let best = types
            .filter_map(|name| Some((rank(name)?, name)))
            .min_by_key(|((rank, _), _)| *rank);
        let Some(((_, kind), content_type)) = best else {
            if required {
                return Err("its body has no content type that a request can have".to_owned());
            }
            left.push("its body has no content type that a request can have, and is left out".to_owned());
            return Ok(None);
        };
        let description = given
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default();
        Ok(Some(Body {
            kind,
            content_type: is_own(kind, content_type).then_some(content_type),
            required,
            description: limited(description, TEXT_CHARS_MAX),
        }))
    }

    /// What it answers when all is well: whether that is JSON, and whether it is a file.
    pub fn answer(&self, document: Document<'d>) -> (bool, bool) {
        let responses = self.value.get("responses").and_then(Value::as_object);
        let good = responses
            .into_iter()
            .flatten()
            .take(TYPES_MAX)
            .find(|(status, _)| status.starts_with('2'));
        let content = good.and_then(|(_, response)| document.followed(response)?.get("content")?.as_object());
        let types: Vec<String> = content
            .into_iter()
            .flatten()
            .take(TYPES_MAX)
            .map(|(name, _)| essence(name))
            .collect();
        let json = types.iter().any(|name| is_json(name));
        let file = !types.is_empty() && types.iter().all(|name| is_binary(name));
        (json, file)
    }
}

/// Where a parameter goes and how; none for headers that are not the caller's to set.
fn parameter<'d>(
    document: Document<'d>,
    given: &'d Value,
    name: &str,
    place: &str,
) -> Result<Option<(Place, Form, &'d str)>, &'static str> {
    if name.len() > NAME_CHARS_MAX {
        return Err("has no name that a request can have");
    }
    let place = match place {
        "path" => Place::Path,
        "query" => Place::Query,
        "header" if OWN_HEADERS.contains(&name.to_ascii_lowercase().as_str()) => return Ok(None),
        "header"
            if !name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-_.!#$&'*+^`|~".contains(&b)) =>
        {
            return Err("is not a valid header name");
        }
        "header" => Place::Header,
        "cookie" => return Err("is a cookie"),
        _ => return Err("is in no part of the request"),
    };
    if name.is_empty() || name.chars().any(char::is_control) {
        return Err("has no name that a request can have");
    }
    if given.get("content").is_some() {
        return Ok(Some((place, Form::Json, "any")));
    }
    let schema = given.get("schema").and_then(|schema| document.followed(schema));
    let kind = kind(schema);
    let default = if place == Place::Query { "form" } else { "simple" };
    let style = given.get("style").and_then(Value::as_str).unwrap_or(default);
    let explode = given
        .get("explode")
        .and_then(Value::as_bool)
        .unwrap_or(style == "form");
    let form = match (place, style, kind) {
        (Place::Query, "deepObject", _) => Form::Deep,
        (Place::Query, "spaceDelimited", _) => Form::Joined(" "),
        (Place::Query, "pipeDelimited", _) => Form::Joined("|"),
        (Place::Query, "form", "object") if explode => Form::Fields,
        (Place::Query, "form", "array") if explode => Form::Each,
        (Place::Query, "form", "array") | (Place::Path | Place::Header, "simple", "array") => {
            Form::Joined(",")
        }
        (_, "form" | "simple", "object") => return Err("is an object in one text"),
        (Place::Query, "form", _) | (Place::Path | Place::Header, "simple", _) => Form::Text,
        _ => return Err("is written in a style that requests don't have"),
    };
    Ok(Some((place, form, kind)))
}

/// A schema's type, as far as it is said.
fn kind(schema: Option<&Value>) -> &str {
    match schema.and_then(|schema| schema.get("type")) {
        Some(Value::String(name)) => name.as_str(),
        Some(Value::Array(names)) => {
            let mut said = names
                .iter()
                .take(TYPES_MAX)
                .filter_map(Value::as_str)
                .filter(|name| *name != "null");
            said.next().unwrap_or("any")
        }
        _ => "any",
    }
}

/// The input's field for a parameter: its name, unless another has it.
fn free_field(fields: &mut HashSet<String>, name: &str, place: &str) -> String {
    let mut field = name.to_owned();
    let mut number = 1;
    while !fields.insert(field.clone()) {
        field = match number {
            1 => format!("{name}_{place}"),
            number => format!("{name}_{place}{number}"),
        };
        number += 1;
    }
    field
}

/// A content type without its parameters, in small letters. A very long one is only begun.
fn essence(content_type: &str) -> String {
    let end = content_type.floor_char_boundary(NAME_CHARS_MAX);
    let content_type = content_type.get(..end).unwrap_or_default();
    content_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase()
}

fn is_json(essence: &str) -> bool {
    essence == "application/json" || essence.ends_with("+json")
}

fn is_binary(essence: &str) -> bool {
    let is_text = essence.starts_with("text/") || essence.contains("xml") || essence.contains("json");
    !is_text && essence != "*/*"
}

/// How a content type is sent; the smaller, the easier to give.
fn rank(content_type: &str) -> Option<(u8, &'static str)> {
    if content_type.len() > NAME_CHARS_MAX {
        return None;
    }
    let essence = essence(content_type);
    let is_name = essence
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"/+-._*".contains(&b));
    // The type becomes a header, in which braces would be an expression.
    let is_plain = content_type
        .bytes()
        .all(|b| (b.is_ascii_graphic() || b == b' ') && !b"{}".contains(&b));
    Some(match essence.as_str() {
        _ if !is_name || !is_plain => return None,
        _ if !essence.contains('/') => return None,
        "application/json" | "*/*" => (0, "json"),
        name if is_json(name) => (1, "json"),
        "application/x-www-form-urlencoded" => (2, "form"),
        "multipart/form-data" => (3, "multipart"),
        name if !is_binary(name) => (4, "text"),
        name if name.starts_with("multipart/") => return None,
        _ => (5, "file"),
    })
}

/// Whether HttpRequest would send another content type by itself.
fn is_own(kind: &str, content_type: &str) -> bool {
    let essence = essence(content_type);
    !essence.contains('*')
        && match kind {
            "json" => essence != "application/json",
            "text" => essence != "text/plain",
            _ => false,
        }
}

/// The beginning of a text, in one line.
fn limited(text: &str, chars_max: usize) -> String {
    let words: String = text
        .chars()
        .take(chars_max)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    words.trim().to_owned()
}
