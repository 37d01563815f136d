//! Rules of switch nodes as conditions of JavaScript.

use super::jsonata;
use super::read::Node;
use super::values::typed;
use crate::expression::quoted;
use serde_json::Value;

/// How many rules of a switch there can be.
pub(crate) const RULES_MAX: usize = 100;

/// What a switch compares and compares with.
fn kinds(node: &Node) -> impl Iterator<Item = &str> {
    let rules = node.list("rules").iter().take(RULES_MAX);
    let own = rules.flat_map(|rule| ["t", "vt", "v2t"].map(|field| rule.get(field).and_then(Value::as_str)));
    own.flatten().chain([node.text("propertyType")])
}

/// Whether a switch compares what expressions of parameters don't have, so that it is code.
pub(crate) fn is_code(node: &Node) -> bool {
    has_context(node) || has_jsonata(node)
}

/// Whether it compares by JSONata.
pub(crate) fn has_jsonata(node: &Node) -> bool {
    kinds(node).any(|kind| matches!(kind, "jsonata" | "jsonata_exp"))
}

/// Whether it compares with what is kept in contexts.
pub(crate) fn has_context(node: &Node) -> bool {
    kinds(node).any(|kind| matches!(kind, "flow" | "global"))
}

/// What code reads of a context.
pub(crate) fn stored(scope: &str, name: &str) -> String {
    format!("{scope}.get({})", quoted(name))
}

/// A rule of a switch as a condition. Sides are compared as loosely as Node-RED does.
pub(crate) fn condition(rule: &Value, kind: &str, value: &str) -> Result<String, String> {
    let side = |name: &str, kind: &str| {
        let kind = rule.get(kind).and_then(Value::as_str).unwrap_or("str");
        let given = rule.get(name).unwrap_or(&Value::Null);
        match kind {
            "jsonata" => jsonata::javascript(given.as_str().unwrap_or_default()),
            scope @ ("flow" | "global") => Ok(stored(scope, given.as_str().unwrap_or_default())),
            kind => typed(given, kind),
        }
    };
    let compared =
        |operator: &str| -> Result<String, String> { Ok(format!("{value} {operator} {}", side("v", "vt")?)) };
    match kind {
        "eq" => compared("=="),
        "neq" => compared("!="),
        "lt" => compared("<"),
        "lte" => compared("<="),
        "gt" => compared(">"),
        "gte" => compared(">="),
        "btwn" => {
            let (one, other) = (side("v", "vt")?, side("v2", "v2t")?);
            Ok(format!(
                "({value} >= {one} && {value} <= {other}) || ({value} <= {one} && {value} >= {other})"
            ))
        }
        "cont" => Ok(format!("String({value}).includes({})", side("v", "vt")?)),
        "regex" => {
            let flags = if rule.get("case") == Some(&Value::Bool(true)) {
                "i"
            } else {
                ""
            };
            Ok(format!(
                "new RegExp({}, \"{flags}\").test(String({value}))",
                side("v", "vt")?
            ))
        }
        "true" => Ok(format!("{value} === true")),
        "false" => Ok(format!("{value} === false")),
        "null" => Ok(format!("{value} == null")),
        "nnull" => Ok(format!("{value} != null")),
        "empty" => Ok(format!(
            "{value} != null && (typeof {value} === \"string\" || Array.isArray({value}) ? {value}.length === 0 : typeof {value} === \"object\" && Object.keys({value}).length === 0)"
        )),
        "nempty" => Ok(format!(
            "{value} != null && (typeof {value} === \"string\" || Array.isArray({value}) ? {value}.length !== 0 : typeof {value} === \"object\" && Object.keys({value}).length !== 0)"
        )),
        "hask" => Ok(format!(
            "typeof {value} === \"object\" && Object.keys({value} ?? {{}}).includes({})",
            side("v", "vt")?
        )),
        "jsonata_exp" => {
            let asked = jsonata::javascript(rule.get("v").and_then(Value::as_str).unwrap_or_default())?;
            Ok(format!("{asked} === true"))
        }
        "istype" => match rule.get("v").and_then(Value::as_str).unwrap_or_default() {
            "array" => Ok(format!("Array.isArray({value})")),
            "null" => Ok(format!("{value} === null")),
            "object" => Ok(format!(
                "typeof {value} === \"object\" && {value} !== null && !Array.isArray({value})"
            )),
            name @ ("string" | "number" | "boolean" | "undefined") => {
                Ok(format!("typeof {value} === \"{name}\""))
            }
            other => Err(format!("it asks for the type `{other}`")),
        },
        other => Err(format!("it has a rule `{other}`")),
    }
}
