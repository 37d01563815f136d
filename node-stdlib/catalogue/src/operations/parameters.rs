//! The parameters of an operation, as its file writes them.

use super::problems::{Problems, kept};
use crate::content::Content;
use crate::node_type::{Parameter, Schema};
use serde_json::{Map, Value};

const FIELDS: &[&str] = &[
    "name",
    "type",
    "description",
    "required",
    "default",
    "advanced",
    "content",
    "options",
    "items",
    "minimum",
    "maximum",
];
/// Bounds of a whole number that has none of its own.
const WHOLE_MAX: i64 = u32::MAX as i64;

/// All of them, in order.
pub(super) fn parameters(given: Option<&Value>, at: &str, problems: &mut Problems) -> Vec<Parameter> {
    let list = match given {
        None => &[][..],
        Some(Value::Array(list)) => list.as_slice(),
        Some(_) => {
            problems.add(at, "`parameters` must be a list");
            &[]
        }
    };
    let mut parameters: Vec<Parameter> = Vec::new();
    for (index, one) in list.iter().enumerate() {
        let at = format!("{at}.parameters[{index}]");
        let Some(fields) = one.as_object() else {
            problems.add(&at, "must be an object");
            continue;
        };
        let read = parameter(fields, &at, problems);
        if parameters.iter().any(|other| other.name == read.name) {
            problems.add(&at, "another parameter has this name");
        }
        parameters.push(read);
    }
    parameters
}

fn parameter(fields: &Map<String, Value>, at: &str, problems: &mut Problems) -> Parameter {
    problems.unknown(fields, FIELDS, at);
    let name = problems.text(fields, "name", at);
    let is_name =
        name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(|c| c.is_ascii_alphanumeric());
    if !is_name || name == "connection" {
        problems.add(at, "`name` must be in camelCase, and not `connection`");
    }
    let schema = schema(fields, at, problems);
    let mut parameter = Parameter::optional(
        kept(&name),
        schema,
        kept(&problems.text(fields, "description", at)),
    );
    parameter.required = problems.flag(fields, "required", at);
    parameter.advanced = problems.flag(fields, "advanced", at);
    if let Some(default) = fields.get("default") {
        if !schema.fits(default) || parameter.required {
            problems.add(
                at,
                "`default` must fit the type of a parameter that is not required",
            );
        }
        parameter.default = kept(&default.to_string());
    }
    parameter.content = match fields
        .get("content")
        .map(|content| content.as_str().unwrap_or("?"))
    {
        None => Content::Plain,
        Some("multiline") => Content::Multiline,
        Some("json") => Content::Json,
        Some(_) => {
            problems.add(at, "`content` must be `multiline` or `json`");
            Content::Plain
        }
    };
    parameter
}

fn schema(fields: &Map<String, Value>, at: &str, problems: &mut Problems) -> Schema {
    let name = fields.get("type").and_then(Value::as_str).unwrap_or("string");
    match name {
        "enum" => Schema::Enum(options(fields, at, problems)),
        "array" => {
            let items = fields.get("items").and_then(Value::as_str).unwrap_or("any");
            let items = simple(items, fields).unwrap_or_else(|| {
                problems.add(at, "`items` must be a type without parts");
                Schema::Any
            });
            Schema::Array(Box::leak(Box::new(items)))
        }
        name => simple(name, fields).unwrap_or_else(|| {
            let types = "string, number, integer, boolean, object, any, array or enum";
            problems.add(at, &format!("`type` must be {types}"));
            Schema::Any
        }),
    }
}

fn simple(name: &str, fields: &Map<String, Value>) -> Option<Schema> {
    let bound = |name: &str, other: i64| fields.get(name).and_then(Value::as_i64).unwrap_or(other);
    Some(match name {
        "string" => Schema::String,
        "number" => Schema::Number,
        "integer" => Schema::Integer {
            min: bound("minimum", 0),
            max: bound("maximum", WHOLE_MAX),
        },
        "boolean" => Schema::Boolean,
        "object" => Schema::Map(&Schema::Any),
        "any" => Schema::Any,
        _ => return None,
    })
}

fn options(fields: &Map<String, Value>, at: &str, problems: &mut Problems) -> &'static [&'static str] {
    let options = fields.get("options").and_then(Value::as_array);
    let texts: Option<Vec<&'static str>> = options.and_then(|options| {
        let texts = options.iter().map(|option| option.as_str().map(kept));
        texts.collect()
    });
    match texts.filter(|texts| !texts.is_empty()) {
        Some(texts) => texts.leak(),
        None => {
            problems.add(at, "`options` must be a list of texts");
            &[]
        }
    }
}
