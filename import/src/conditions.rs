//! n8n's conditions, old and new form, as comparisons of an If and as JavaScript.

use crate::expression::{source, value};
use crate::rewrite::Names;
use crate::workflow::Node;
use serde_json::{Value, json};

/// Conditions as they are read.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Conditions {
    list: Vec<Condition>,
    any: bool,
    /// What differs from n8n.
    pub remarks: Vec<(&'static str, String)>,
}

#[derive(Clone, Debug, PartialEq)]
struct Condition {
    left: Value,
    /// Type and operation, such as `string` and `equals`. The type is one that matters here, and empty for all others: n8n
    /// names it once for a list of any length.
    kind: &'static str,
    operation: String,
    right: Value,
    ignores_case: bool,
}

impl Conditions {
    /// The conditions of If and Filter nodes.
    pub fn of_node(node: &Node) -> Conditions {
        let combined = node.choice(&["combineOperation"], node.choice(&["combineConditions"], "all"));
        if node.version < 2.0 {
            return Conditions::old(node.parameter(&["conditions"]), matches!(combined, "any" | "OR"));
        }
        let loose = node.flag(&["looseTypeValidation"], false)
            || node.flag(&["options", "looseTypeValidation"], false);
        Conditions::new(node.parameter(&["conditions"]), loose)
    }

    /// `{conditions: [{leftValue, rightValue, operator: {type, operation}}], combinator, options}`
    pub fn new(given: &Value, loose: bool) -> Conditions {
        let option = |name: &str| given.pointer(&format!("/options/{name}"));
        let ignores_case = option("caseSensitive") == Some(&Value::Bool(false));
        let loose = loose || option("typeValidation").and_then(Value::as_str) == Some("loose");
        let list = given.get("conditions").and_then(Value::as_array);
        let read = |condition: &Value| {
            let text = |path: &str| {
                condition
                    .pointer(path)
                    .and_then(Value::as_str)
                    .unwrap_or_default()
            };
            Condition {
                left: condition.get("leftValue").cloned().unwrap_or_default(),
                kind: known(text("/operator/type")),
                operation: text("/operator/operation").to_owned(),
                right: condition.get("rightValue").cloned().unwrap_or_default(),
                ignores_case,
            }
        };
        let mut conditions = Conditions {
            list: list.into_iter().flatten().map(read).collect(),
            any: given.get("combinator").and_then(Value::as_str) == Some("or"),
            remarks: Vec::new(),
        };
        conditions.remark(loose);
        conditions
    }

    /// `{string: [{value1, operation, value2}], number: […], …}`
    pub fn old(given: &Value, any: bool) -> Conditions {
        let mut list = Vec::new();
        for (kind, conditions) in given.as_object().into_iter().flatten() {
            let kind = known(kind);
            for condition in conditions.as_array().into_iter().flatten() {
                let given = condition.get("operation").and_then(Value::as_str);
                list.push(Condition {
                    left: condition.get("value1").cloned().unwrap_or(json!("")),
                    kind,
                    operation: given.unwrap_or(default_operation(kind)).to_owned(),
                    right: condition.get("value2").cloned().unwrap_or(default_right(kind)),
                    ignores_case: false,
                });
            }
        }
        let mut conditions = Conditions {
            list,
            any,
            remarks: Vec::new(),
        };
        conditions.remark(false);
        conditions
    }

    /// One comparison of a value, as rules of an old Switch have it.
    pub fn one(kind: &str, left: &Value, operation: &str, right: &Value) -> Conditions {
        let condition = Condition {
            left: left.clone(),
            kind: known(kind),
            operation: operation.to_owned(),
            right: right.clone(),
            ignores_case: false,
        };
        let mut conditions = Conditions {
            list: vec![condition],
            ..Conditions::default()
        };
        conditions.remark(false);
        conditions
    }

    fn remark(&mut self, loose: bool) {
        if loose {
            let message =
                "n8n converts the types of both sides before it compares; here they are compared as they are";
            self.remarks.push(("types", message.to_owned()));
        }
        if self.list.iter().any(|condition| condition.kind == "dateTime") {
            let message =
                "dates are compared as they are: both sides must be date-times, or ISO 8601 text of one zone";
            self.remarks.push(("dates", message.to_owned()));
        }
        for condition in &self.list {
            if condition.javascript("l", "r").is_none() {
                let message = format!(
                    "the comparison `{}` has no equivalent, and is never true",
                    condition.operation
                );
                self.remarks.push(("comparison", message));
            }
        }
    }

    /// Parameters of an If.
    pub fn parameters(&self, names: &Names<'_>) -> Value {
        let list: Vec<Value> = self
            .list
            .iter()
            .map(|condition| condition.comparison(names))
            .collect();
        json!({"conditions": list, "combine": if self.any { "any" } else { "all" }})
    }

    /// All of them as one JavaScript expression.
    pub fn javascript(&self, names: &Names<'_>) -> String {
        let parts: Vec<String> = self
            .list
            .iter()
            .map(|condition| condition.expression(names))
            .collect();
        match parts.as_slice() {
            [] => "true".to_owned(),
            [only] => format!("({only})"),
            several => format!("(({}))", several.join(if self.any { ") || (" } else { ") && (" })),
        }
    }
}

/// The types by which conditions differ.
const KINDS: &[&str] = &["array", "boolean", "dateTime", "number", "string"];

fn known(kind: &str) -> &'static str {
    KINDS.iter().find(|known| **known == kind).copied().unwrap_or("")
}

fn default_operation(kind: &str) -> &'static str {
    match kind {
        "number" => "smaller",
        "dateTime" => "after",
        _ => "equal",
    }
}

fn default_right(kind: &str) -> Value {
    match kind {
        "number" => json!(0),
        "boolean" => json!(false),
        _ => json!(""),
    }
}

impl Condition {
    /// The operator of an If that means the same, and whether it has a right side.
    fn operator(&self) -> Option<(&'static str, bool)> {
        if self.ignores_case && self.kind == "string" {
            return None;
        }
        let is_empty_text = self.right == "" && self.kind == "string";
        Some(match (self.kind, self.operation.as_str()) {
            ("string", "equals" | "equal") if is_empty_text => ("isEmpty", false),
            ("string", "notEquals" | "notEqual") if is_empty_text => ("isNotEmpty", false),
            (_, "equals" | "equal") => ("equals", true),
            (_, "notEquals" | "notEqual") => ("notEquals", true),
            ("string", "contains" | "notContains" | "startsWith" | "endsWith") if is_empty_text => {
                return None;
            }
            (_, "contains") => ("contains", true),
            (_, "notContains") => ("notContains", true),
            (_, "startsWith") => ("startsWith", true),
            (_, "endsWith") => ("endsWith", true),
            ("number" | "dateTime", "gt" | "larger" | "after") => ("greater", true),
            ("number", "gte" | "largerEqual") | ("dateTime", "afterOrEquals") => ("greaterEqual", true),
            ("number", "lt" | "smaller") | ("dateTime", "before") => ("less", true),
            ("number", "lte" | "smallerEqual") | ("dateTime", "beforeOrEquals") => ("lessEqual", true),
            (_, "empty" | "isEmpty") => ("isEmpty", false),
            (_, "notEmpty" | "isNotEmpty") => ("isNotEmpty", false),
            (_, "exists") => ("exists", false),
            (_, "notExists") => ("notExists", false),
            ("boolean", "true") => ("isTrue", false),
            _ => return None,
        })
    }

    fn comparison(&self, names: &Names<'_>) -> Value {
        match self.operator() {
            Some((operator, true)) => {
                let right = value(&self.right, names);
                json!({"left": value(&self.left, names), "operator": operator, "right": right})
            }
            Some((operator, false)) => json!({"left": value(&self.left, names), "operator": operator}),
            None => json!({"left": format!("{{{{ {} }}}}", self.expression(names)), "operator": "isTrue"}),
        }
    }

    fn expression(&self, names: &Names<'_>) -> String {
        let (left, right) = (source(&self.left, names), source(&self.right, names));
        self.javascript(&left, &right)
            .unwrap_or_else(|| "false".to_owned())
    }

    fn javascript(&self, left: &str, right: &str) -> Option<String> {
        let (mut text, mut other) = (
            format!("String({left} ?? \"\")"),
            format!("String({right} ?? \"\")"),
        );
        if self.ignores_case {
            text.push_str(".toLowerCase()");
            other.push_str(".toLowerCase()");
        }
        let is_text = self.kind == "string";
        Some(match (self.kind, self.operation.as_str()) {
            (_, "equals" | "equal") if is_text => format!("{text} === {other}"),
            (_, "notEquals" | "notEqual") if is_text => format!("{text} !== {other}"),
            (_, "equals" | "equal") => format!("{left} === {right}"),
            (_, "notEquals" | "notEqual") => format!("{left} !== {right}"),
            ("array", "contains") => format!("({left} ?? []).includes({right})"),
            ("array", "notContains") => format!("!({left} ?? []).includes({right})"),
            (_, "contains") => format!("{text}.includes({other})"),
            (_, "notContains") => format!("!{text}.includes({other})"),
            (_, "startsWith") => format!("{text}.startsWith({other})"),
            (_, "notStartsWith") => format!("!{text}.startsWith({other})"),
            (_, "endsWith") => format!("{text}.endsWith({other})"),
            (_, "notEndsWith") => format!("!{text}.endsWith({other})"),
            (_, "regex") => format!("{}.test({text})", expression_of(right)),
            (_, "notRegex") => format!("!{}.test({text})", expression_of(right)),
            (_, "gt" | "larger" | "after") => format!("{left} > {right}"),
            (_, "gte" | "largerEqual" | "afterOrEquals") => format!("{left} >= {right}"),
            (_, "lt" | "smaller" | "before") => format!("{left} < {right}"),
            (_, "lte" | "smallerEqual" | "beforeOrEquals") => format!("{left} <= {right}"),
            (_, "lengthEquals") => format!("({left} ?? []).length === {right}"),
            (_, "lengthNotEquals") => format!("({left} ?? []).length !== {right}"),
            (_, "lengthGt") => format!("({left} ?? []).length > {right}"),
            (_, "lengthGte") => format!("({left} ?? []).length >= {right}"),
            (_, "lengthLt") => format!("({left} ?? []).length < {right}"),
            (_, "lengthLte") => format!("({left} ?? []).length <= {right}"),
            (_, "exists") => format!("({left} ?? null) !== null"),
            (_, "notExists") => format!("({left} ?? null) === null"),
            (_, "empty" | "isEmpty") => format!("({left} ?? null).isEmpty()"),
            (_, "notEmpty" | "isNotEmpty") => format!("({left} ?? null).isNotEmpty()"),
            ("boolean", "true") => format!("Boolean({left})"),
            ("boolean", "false") => format!("!{left}"),
            _ => return None,
        })
    }
}

/// A regular expression of a text, which may be written as `/…/i`.
fn expression_of(right: &str) -> String {
    let written: Option<String> = serde_json::from_str(right).ok();
    let slashed = written
        .as_deref()
        .and_then(|text| text.strip_prefix('/')?.rsplit_once('/'));
    match slashed {
        Some((pattern, flags)) => format!("new RegExp({}, {})", Value::from(pattern), Value::from(flags)),
        None => format!("new RegExp({right})"),
    }
}

#[cfg(test)]
mod tests {
    use super::Conditions;
    use serde_json::json;

    #[test]
    fn a_type_that_is_none_is_not_kept_with_each_of_its_conditions() {
        let long = "x".repeat(1_000);
        let kinds = |conditions: &Conditions| -> Vec<&'static str> {
            conditions.list.iter().map(|condition| condition.kind).collect()
        };
        let old = Conditions::old(&json!({&long: [0, 0], "number": [0]}), false);
        assert_eq!(kinds(&old), ["", "", "number"]);
        assert_eq!(
            kinds(&Conditions::one(&long, &json!(0), "equal", &json!(0))),
            [""]
        );
        let operator = json!({"type": &long, "operation": "equals"});
        let new = json!({"conditions": [{"leftValue": 0, "operator": operator}]});
        assert_eq!(kinds(&Conditions::new(&new, false)), [""]);
    }
}
