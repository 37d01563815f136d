//! Nodes that make and change fields.

use crate::built::Translation;
use crate::scene::Scene;
use serde_json::{Map, Value, json};
use std::collections::HashSet;

pub(super) fn set(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    if node.choice(&["mode"], "manual") == "raw" {
        return raw(scene);
    }
    let Fields {
        fields,
        types,
        converts,
    } = match node.version {
        version if version >= 3.3 => assignments(scene, node.list(&["assignments", "assignments"])),
        version if version >= 3.0 => assignments(scene, node.list(&["fields", "values"])),
        _ => old(scene),
    };
    let keep = match node.version {
        version if version < 3.0 => !node.flag(&["keepOnlySet"], false),
        version if version < 3.3 => node.choice(&["include"], "all") != "none",
        _ => node.flag(&["includeOtherFields"], false),
    };
    let dots = !node.flag(&["options", "dotNotation"], true) && fields.keys().any(|name| name.contains('.'));
    let kept = match keep {
        true => kept(scene, &fields),
        false => Kept::All,
    };
    let computed = fields.keys().any(|name| name.contains("{{"));
    if computed {
        return Translation::stub("names of fields are computed");
    }
    let mut parameters = json!({"fields": fields, "keepInput": keep});
    if !types.is_empty() {
        parameters["types"] = Value::Object(types);
    }
    let translation = Translation::each("SetFields", parameters);
    let (translation, some) = match kept {
        Kept::All => (translation, false),
        Kept::Some(value) => (
            translation.then("Transform", json!({"value": value}), true),
            false,
        ),
        Kept::Unknown => (translation, true),
    };
    translation
        .differs_if(
            some,
            "include",
            "all fields of the input are kept, not only some of them",
        )
        .differs_if(
            dots,
            "dots",
            "a name with a dot is a path here, although n8n was told to take it as it is",
        )
        .differs_if(
            converts,
            "types",
            "a computed value may get another type or text than n8n converts it to",
        )
}

/// Fields to set, and what of their values is converted.
#[derive(Default)]
struct Fields {
    fields: Map<String, Value>,
    types: Map<String, Value>,
    /// Whether n8n converts some in a way that is not known.
    converts: bool,
}

/// What gives a time, which n8n writes in a way of its own.
const TIMES: &[&str] = &[
    "$now",
    "$today",
    "DateTime",
    "Date(",
    ".toDateTime",
    ".plus(",
    ".minus(",
];

/// How an expression ends that writes a time as text or as a number.
const WRITTEN: &[&str] = &[
    ".toISO()",
    ".toISODate()",
    ".toISOString()",
    ".toString()",
    ".toMillis()",
    ".toSeconds()",
    ".getTime()",
    ".day",
    ".hour",
    ".minute",
    ".month",
    ".weekNumber",
    ".weekday",
    ".year",
];

/// The only expression of a text, without its braces.
fn whole(source: &str) -> Option<&str> {
    let inner = source.strip_prefix("={{")?.strip_suffix("}}")?;
    (!inner.contains("{{") && !inner.contains("}}")).then_some(inner.trim())
}

/// Whether the text is one expression that gives no time, but what one is written as.
fn writes_time(source: &str) -> bool {
    let Some(inner) = whole(source) else {
        return false;
    };
    let formats = [".format(", ".toFormat("].iter().any(|call| {
        let argument = inner.rfind(call).and_then(|at| inner.get(at + call.len()..));
        let argument = argument.and_then(|text| text.strip_suffix(')'));
        argument.is_some_and(|text| !text.contains(['(', ')']))
    });
    // Of several values, another may be the result.
    let is_one = !inner.contains(['?', '|', '&', ',', ';', '=']);
    is_one && (formats || WRITTEN.iter().any(|end| inner.ends_with(end)))
}

/// Whether the text is one expression that is an object's literal.
fn is_object(source: &str) -> bool {
    let inner = whole(source).unwrap_or_default();
    let inner = inner
        .strip_prefix('(')
        .and_then(|inner| inner.strip_suffix(')'))
        .map_or(inner, str::trim);
    let body = inner.strip_prefix('{').and_then(|inner| inner.strip_suffix('}'));
    body.is_some_and(|body| !body.contains(['{', '}']))
}

/// Which fields of the input remain beside those that are set.
enum Kept {
    All,
    /// What this expression makes of the object that has all of them.
    Some(String),
    /// They are computed, or within others.
    Unknown,
}

fn kept(scene: &Scene<'_>, set: &Map<String, Value>) -> Kept {
    let (is_listed, list) = match scene.node.text(&["include"]) {
        "selected" => (true, scene.node.text(&["includeFields"])),
        "except" => (false, scene.node.text(&["excludeFields"])),
        _ => return Kept::All,
    };
    if list.starts_with('=') || list.contains(['.', '[', '"', '\\', '{', '}']) {
        return Kept::Unknown;
    }
    let listed = list.split(',').map(str::trim).filter(|name| !name.is_empty());
    let own: Vec<&str> = set
        .keys()
        .map(|name| name.split(['.', '[']).next().unwrap_or(name))
        .collect();
    let names: Vec<&str> = match is_listed {
        true => listed.chain(own).collect(),
        false => {
            let own: HashSet<&str> = own.into_iter().collect();
            listed.filter(|name| !own.contains(name)).collect()
        }
    };
    let is_kept = if is_listed { "" } else { "!" };
    let names = Value::from(names);
    Kept::Some(format!(
        "{{{{ Object.fromEntries(Object.entries($json).filter(([name]) => {is_kept}{names}.includes(name))) }}}}"
    ))
}

/// `[{name, type, value}]`; the versions 3.0 to 3.2 have the value under the name of its type.
fn assignments(scene: &Scene<'_>, given: &[Value]) -> Fields {
    let mut read = Fields::default();
    // Before, null was none; and what can't be converted stays as it is where that is chosen.
    let is_known =
        scene.node.version >= 3.2 && !scene.node.flag(&["options", "ignoreConversionErrors"], false);
    for assignment in given {
        let text = |name: &str| assignment.get(name).and_then(Value::as_str).unwrap_or_default();
        let kind = match text("type") {
            "" => "string",
            kind => kind.trim_end_matches("Value"),
        };
        let named = assignment
            .get(format!("{kind}Value"))
            .or_else(|| assignment.get("value"));
        let mut converts = false;
        let value = converted(scene, kind, named.unwrap_or(&Value::Null), &mut converts);
        let name = scene.value(&text("name").into());
        let name = name.as_str().unwrap_or_default().to_owned();
        if converts && is_known && matches!(kind, "string" | "number" | "boolean" | "array" | "object") {
            read.types.insert(name.clone(), kind.into());
            let source = named.and_then(Value::as_str).unwrap_or_default();
            converts = match kind {
                "string" => TIMES.iter().any(|time| source.contains(time)) && !writes_time(source),
                // What n8n takes for an object includes text that is no JSON.
                "object" => !is_object(source),
                _ => false,
            };
        }
        read.converts |= converts;
        read.fields.insert(name, value);
    }
    read
}

fn old(scene: &Scene<'_>) -> Fields {
    let mut read = Fields::default();
    let values = scene.node.parameter(&["values"]).as_object();
    for (kind, list) in values.into_iter().flatten() {
        for field in list.as_array().into_iter().flatten() {
            let name = field
                .get("name")
                .and_then(Value::as_str)
                .unwrap_or("propertyName");
            let value = old_value(scene, kind, field.get("value").unwrap_or(&Value::Null));
            let name = scene.value(&name.into());
            read.fields
                .insert(name.as_str().unwrap_or_default().to_owned(), value);
        }
    }
    read
}

/// A value as it was before there were types: computed truth values and, since the second version, numbers are converted, and
/// nothing else.
fn old_value(scene: &Scene<'_>, kind: &str, given: &Value) -> Value {
    let is_computed = given.as_str().is_some_and(|text| text.starts_with('='));
    match kind {
        "boolean" if is_computed => format!("{{{{ !!({}) }}}}", scene.source(given)).into(),
        "number" if is_computed && scene.node.version >= 2.0 => {
            let number =
                "typeof value === \"string\" && !Number.isNaN(Number(value)) ? Number(value) : value";
            format!("{{{{ [{}].map(value => {number})[0] }}}}", scene.source(given)).into()
        }
        _ if is_computed => scene.value(given),
        _ => converted(scene, kind, given, &mut false),
    }
}

/// A value in the type that n8n gives it.
fn converted(scene: &Scene<'_>, kind: &str, given: &Value, converts: &mut bool) -> Value {
    let is_computed = given.as_str().is_some_and(|text| text.starts_with('='));
    match (kind, given) {
        (_, Value::String(_)) if is_computed => {
            // Text around an expression is text in any case.
            *converts |= kind != "string" || given.as_str().is_some_and(|text| text.starts_with("={{"));
            scene.value(given)
        }
        ("number", Value::String(text)) => text.trim().parse::<f64>().map_or(Value::Null, plain),
        ("number", Value::Null) => json!(0),
        ("boolean", Value::String(text)) => json!(text == "true"),
        ("boolean", Value::Null) => json!(false),
        ("object" | "array", Value::String(text)) => match serde_json::from_str(text) {
            Ok(value) => literal(value),
            Err(_) => scene.value(given),
        },
        ("string", Value::Null) => json!(""),
        ("string", Value::Number(number)) => json!(number.to_string()),
        (_, other) => scene.value(other),
    }
}

/// 1.0 as 1.
fn plain(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() < 9e15 {
        json!(number as i64)
    } else {
        json!(number)
    }
}

/// A value in whose texts braces mean nothing.
fn literal(mut value: Value) -> Value {
    let mut open = vec![&mut value];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => *text = crate::expression::literal(text),
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => open.extend(fields.values_mut()),
            _ => {}
        }
    }
    value
}

/// An object as JSON text.
fn raw(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    let given = node.parameter(&["jsonOutput"]);
    let keep = match node.version < 3.3 {
        true => node.choice(&["include"], "all") != "none",
        false => node.flag(&["includeOtherFields"], false),
    };
    let read = match given {
        Value::String(text) if !text.starts_with('=') => serde_json::from_str::<Value>(text).ok(),
        Value::Object(_) => Some(given.clone()),
        _ => None,
    };
    if let (Some(value), false) = (&read, keep) {
        return Translation::each("Transform", json!({"value": literal(value.clone())}));
    }
    let source = scene.source(given);
    let parsed = format!("[{source}].map(json => typeof json === \"string\" ? JSON.parse(json) : json)[0]");
    let value = if keep {
        format!("{{{{ ({{ ...$json, ...{parsed} }}) }}}}")
    } else {
        format!("{{{{ {parsed} }}}}")
    };
    Translation::each("Transform", json!({"value": value}))
}

pub(super) fn rename(scene: &Scene<'_>) -> Translation {
    let pairs = scene.node.list(&["keys", "key"]).iter().filter_map(|pair| {
        let text = |name: &str| {
            pair.get(name)
                .and_then(Value::as_str)
                .filter(|text| !text.contains("{{"))
        };
        Some((text("currentKey")?.to_owned(), Value::from(text("newKey")?)))
    });
    let mapping: Map<String, Value> = pairs.collect();
    let patterns = scene
        .node
        .parameter(&["additionalOptions", "regexReplacement"])
        .is_object();
    if mapping.is_empty() {
        return Translation::stub("no fields are named");
    }
    Translation::each("RenameFields", json!({"mapping": mapping})).differs_if(
        patterns,
        "patterns",
        "names are not replaced by regular expressions",
    )
}

pub(super) fn date_time(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    if node.version < 2.0 {
        return old_date_time(scene);
    }
    let date = |name: &str| scene.source(node.parameter(&[name]));
    let zone = scene
        .names
        .zone
        .map(|zone| format!(".setZone({})", Value::from(zone)))
        .unwrap_or_default();
    let (value, default) = match node.choice(&["operation"], "getCurrentDate") {
        "getCurrentDate" if node.flag(&["includeTime"], true) => {
            (format!("$now{zone}.toISO()"), "currentDate")
        }
        "getCurrentDate" => (format!("$now{zone}.startOf(\"day\").toISO()"), "currentDate"),
        "addToDate" | "subtractFromDate" => {
            let method = if node.text(&["operation"]) == "addToDate" {
                "plus"
            } else {
                "minus"
            };
            let unit = node.choice(&["timeUnit"], "days");
            let count = scene.source(node.parameter(&["duration"]));
            (
                format!(
                    "{}.{method}({{ {}: Number({count}) }}).toISO()",
                    moment(&date("magnitude")),
                    Value::from(unit)
                ),
                "newDate",
            )
        }
        "formatDate" => {
            let format = match node.choice(&["format"], "MM/dd/yyyy") {
                "custom" => date("customFormat"),
                format => Value::from(format).to_string(),
            };
            (
                format!("{}.toFormat({format})", moment(&date("date"))),
                "formattedDate",
            )
        }
        _ => return Translation::stub("this operation on dates has no equivalent"),
    };
    let name = match node.text(&["outputFieldName"]) {
        "" => default,
        name => name.trim_start_matches('='),
    };
    let keep = node.flag(&["options", "includeInputFields"], false);
    field(name, value, keep).differs(
        "zone",
        "times are in UTC, or in the workflow's own zone where it has one",
    )
}

fn moment(source: &str) -> String {
    format!("DateTime.fromISO(new Date({source}).toISOString())")
}

fn field(name: &str, source: String, keep: bool) -> Translation {
    if name.contains("{{") {
        return Translation::stub("the name of the field is computed");
    }
    let value = format!("{{{{ {source} }}}}");
    Translation::each("SetFields", json!({"fields": {name: value}, "keepInput": keep}))
}

fn old_date_time(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    let value = moment(&scene.source(node.parameter(&["value"])));
    let name = node.choice(&["dataPropertyName"], "data");
    let source = match node.choice(&["action"], "format") {
        "calculate" => {
            let method = if node.choice(&["operation"], "add") == "add" {
                "plus"
            } else {
                "minus"
            };
            let unit = node.choice(&["timeUnit"], "days");
            let count = scene.source(node.parameter(&["duration"]));
            format!(
                "{value}.{method}({{ {}: Number({count}) }}).toISO()",
                Value::from(unit)
            )
        }
        _ => {
            let format = scene.source(node.parameter(&["toFormat"]));
            // Moment's letters for years and days are Luxon's in lower case.
            let format = format.replace("YYYY", "yyyy").replace("DD", "dd");
            format!("{value}.toFormat({format})")
        }
    };
    field(name, source, true).differs(
        "format",
        "formats are Luxon's, not Moment's: years and days are adapted, everything else is unchanged",
    )
}

pub(super) fn crypto(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    let name = node.choice(&["dataPropertyName"], "data");
    if node.flag(&["binaryData"], false) || name.contains("{{") {
        return Translation::stub("it works on a file, or the name of its field is computed");
    }
    let algorithm = node.choice(&["type"], "MD5").to_lowercase();
    let text = format!("String({})", scene.source(node.parameter(&["value"])));
    let base64 = node.choice(&["encoding"], "hex") == "base64";
    match node.choice(&["action"], "hash") {
        "hash" if !base64 && ["md5", "sha1", "sha256", "sha512"].contains(&algorithm.as_str()) => {
            field(name, format!("{text}.hash(\"{algorithm}\")"), true)
        }
        "generate" if node.choice(&["encodingType"], "uuid") == "uuid" => {
            field(name, "$uuid()".to_owned(), true)
        }
        _ => Translation::stub(
            "this operation on keys has no equivalent in an expression: use Hash, Hmac or Random",
        ),
    }
}
