//! Node-RED's properties, values with types, and templates, as JavaScript.

use crate::expression::quoted;
use serde_json::Value;

const KEYS_MAX: usize = 50;
/// Bytes of a path, which some conditions have several times.
const PATH_BYTES_MAX: usize = 1_000;
/// Names in a template, each of which becomes far longer.
const NAMES_MAX: usize = 100;
const HEADERS_MAX: usize = 100;

/// A step of a property's path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Name(String),
    Index(u32),
}

/// The path of a property such as `payload.list[0]["a b"]`; none if it is computed or not one.
pub(crate) fn keys(path: &str) -> Option<Vec<Key>> {
    if path.len() > PATH_BYTES_MAX {
        return None;
    }
    let mut keys = Vec::new();
    let mut rest = path.trim();
    while !rest.is_empty() {
        if keys.len() >= KEYS_MAX {
            return None;
        }
        if let Some(inner) = rest.strip_prefix('[') {
            let quote = inner.chars().next().filter(|c| matches!(c, '"' | '\''));
            let (key, after) = match quote {
                Some(quote) => {
                    let (name, after) = inner.get(1..)?.split_once(quote)?;
                    (Key::Name(name.to_owned()), after.strip_prefix(']')?)
                }
                None => {
                    let (digits, after) = inner.split_once(']')?;
                    (Key::Index(digits.parse().ok()?), after)
                }
            };
            keys.push(key);
            rest = after;
        } else {
            let name = match keys.is_empty() {
                true => rest,
                false => rest.strip_prefix('.')?,
            };
            let end = name.find(['.', '[']).unwrap_or(name.len());
            let (name, after) = name.split_at(end);
            let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '-');
            if name.is_empty() || !name.chars().all(is_name) {
                return None;
            }
            keys.push(Key::Name(name.to_owned()));
            rest = after;
        }
    }
    (!keys.is_empty()).then_some(keys)
}

/// A property of the message, as an expression.
pub(crate) fn property(path: &str) -> Option<String> {
    let mut written = "$input".to_owned();
    for key in keys(path)? {
        let key = match key {
            Key::Name(name) => quoted(&name),
            Key::Index(index) => index.to_string(),
        };
        written.push_str(&format!("?.[{key}]"));
    }
    Some(written)
}

/// A path as a list of JavaScript.
pub(crate) fn list(keys: &[Key]) -> String {
    let keys: Vec<String> = keys
        .iter()
        .map(|key| match key {
            Key::Name(name) => quoted(name),
            Key::Index(index) => index.to_string(),
        })
        .collect();
    format!("[{}]", keys.join(", "))
}

/// A value with its type, as an expression; or why there is none.
pub(crate) fn typed(value: &Value, kind: &str) -> Result<String, String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let shown: String = text.chars().take(60).collect();
    let unknown = || format!("it has the value `{shown}` of the type `{kind}`, which has no counterpart");
    match kind {
        "str" | "" => Ok(quoted(&text)),
        "num" => match text.trim().parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number.to_string()),
            _ => Err(unknown()),
        },
        "bool" => Ok((text == "true").to_string()),
        "json" => match serde_json::from_str::<Value>(&text) {
            Ok(_) => Ok(format!("JSON.parse({})", quoted(&text))),
            Err(_) => Err(unknown()),
        },
        "date" if matches!(text.as_str(), "" | "num") => Ok("Date.now()".to_owned()),
        "date" if text == "iso" => Ok("new Date().toISOString()".to_owned()),
        "msg" => property(&text).ok_or_else(unknown),
        "env" if is_plain(&text) => Ok(format!("$vars.{text}")),
        _ => Err(unknown()),
    }
}

fn is_plain(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// What mustache makes of a value unless it is told not to.
const ESCAPED: &[(&str, &str)] = &[
    ("&", "&amp;"),
    ("<", "&lt;"),
    (">", "&gt;"),
    ("\"", "&quot;"),
    ("'", "&#39;"),
    ("/", "&#x2F;"),
    ("`", "&#x60;"),
    ("=", "&#x3D;"),
];

/// A mustache template as an expression; none if it has sections, partials, very many names, or names that are not of the message.
pub(crate) fn template(text: &str) -> Option<String> {
    let (mut pieces, mut names) = (Vec::new(), 0);
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        names += 1;
        if names > NAMES_MAX {
            return None;
        }
        if !before.is_empty() {
            pieces.push(quoted(before));
        }
        let (name, is_raw, behind) = match after.strip_prefix('{') {
            Some(triple) => {
                let (name, behind) = triple.split_once("}}}")?;
                (name, true, behind)
            }
            None => {
                let (name, behind) = after.split_once("}}")?;
                match name.trim().strip_prefix('&') {
                    Some(name) => (name, true, behind),
                    None => (name, false, behind),
                }
            }
        };
        rest = behind;
        let name = name.trim();
        if name.starts_with('!') {
            continue;
        }
        if name.starts_with(['#', '^', '/', '>', '='])
            || ["flow.", "global.", "env."]
                .iter()
                .any(|other| name.starts_with(*other))
        {
            return None;
        }
        let mut piece = format!("String({} ?? \"\")", property(name)?);
        for (from, to) in ESCAPED.iter().filter(|_| !is_raw) {
            piece.push_str(&format!(".replaceAll({}, {})", quoted(from), quoted(to)));
        }
        pieces.push(piece);
    }
    if !rest.is_empty() {
        pieces.push(quoted(rest));
    }
    Some(format!("[{}].join(\"\")", pieces.join(", ")))
}

/// Headers of a request: those of the message, and those of the node. Whether all of these could be taken over.
pub(crate) fn headers(listed: &[Value]) -> (String, bool) {
    let mut written = Vec::new();
    let mut is_whole = listed.len() <= HEADERS_MAX;
    for header in listed.iter().take(HEADERS_MAX) {
        let text = |name: &str| header.get(name).and_then(Value::as_str).unwrap_or_default();
        let name = match text("keyType") {
            "msg" => "",
            "other" => text("keyValue"),
            known => known,
        };
        let value = match text("valueType") {
            "msg" => property(text("valueValue")),
            "other" => Some(quoted(text("valueValue"))).filter(|_| !text("valueValue").is_empty()),
            known => Some(quoted(known)).filter(|_| !known.is_empty()),
        };
        match value.filter(|_| !name.is_empty()) {
            Some(value) => written.push(format!("{}: {value}", quoted(name))),
            None => is_whole = false,
        }
    }
    let source = match written.is_empty() {
        true => "$input.headers ?? {}".to_owned(),
        false => format!("({{ ...($input.headers ?? {{}}), {} }})", written.join(", ")),
    };
    (source, is_whole)
}
