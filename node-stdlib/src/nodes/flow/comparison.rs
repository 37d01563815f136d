//! The comparisons that If offers instead of an expression.

use super::super::parameters::mismatch;
use crate::failure::Failure;
use heddle_contract::abi::code;
use heddle_contract::parameters::OPERATORS;
use heddle_values::ops::{self, Evaluated};
use heddle_values::{Text, Value};

/// Whether `left` stands in this relation to `right`. `at` is where the condition stands in the parameters.
pub fn compare(left: &Value, operator: &str, right: &Value, at: &str) -> Result<bool, Failure> {
    let relation = |compare: fn(&Value, &Value) -> Evaluated| match compare(left, right) {
        Ok(value) => Ok(value.truthy()),
        Err(error) => Err(Failure::new(
            code::PARAMETER,
            format!("Parameter `{at}`: {error}"),
        )),
    };
    match operator {
        "equals" => Ok(same(left, right)),
        "notEquals" => Ok(!same(left, right)),
        "greater" => relation(ops::greater),
        "greaterEqual" => relation(ops::greater_equal),
        "less" => relation(ops::less),
        "lessEqual" => relation(ops::less_equal),
        "contains" => contains(left, right, &format!("{at}.left")),
        "notContains" => Ok(!contains(left, right, &format!("{at}.left"))?),
        "in" => contains(right, left, &format!("{at}.right")),
        "notIn" => Ok(!contains(right, left, &format!("{at}.right"))?),
        "startsWith" => ends(left, right, at, |text, affix| text.starts_with(affix)),
        "endsWith" => ends(left, right, at, |text, affix| text.ends_with(affix)),
        "isEmpty" => Ok(is_empty(left)),
        "isNotEmpty" => Ok(!is_empty(left)),
        "exists" => Ok(!left.is_nullish()),
        "notExists" => Ok(left.is_nullish()),
        "isTrue" => Ok(matches!(left, Value::Bool(true))),
        "isFalse" => Ok(matches!(left, Value::Bool(false))),
        other => Err(mismatch(
            &format!("{at}.operator"),
            &format!("one of {}", OPERATORS.join(", ")),
            &Value::from(other),
        )),
    }
}

/// Same content, nothing converted; null and what is missing are the same, since edges carry both as null.
pub fn same(left: &Value, right: &Value) -> bool {
    (left.is_nullish() && right.is_nullish()) || left.deep_equal(right)
}

/// Whether a text has a part, a list an element or an object a property. What is missing contains nothing.
fn contains(container: &Value, sought: &Value, at: &str) -> Result<bool, Failure> {
    match container {
        Value::Undefined | Value::Null => Ok(false),
        Value::Array(items) => Ok(items.iter().any(|item| same(item, sought))),
        Value::Object(object) => Ok(object.get_text(&sought.to_text()).is_some()),
        Value::String(_) if sought.is_nullish() => Ok(false),
        Value::String(text) => Ok(has_part(text, &sought.to_text())),
        other => Err(mismatch(at, "a text, a list or an object", other)),
    }
}

fn has_part(text: &Text, part: &Text) -> bool {
    if let (Some(text), Some(part)) = (text.as_str(), part.as_str()) {
        return text.contains(part);
    }
    let (text, part): (Vec<u16>, Vec<u16>) = (text.units().collect(), part.units().collect());
    part.is_empty() || text.windows(part.len()).any(|window| window == part)
}

/// Whether a text begins or ends with another one. What is missing does not.
fn ends(text: &Value, affix: &Value, at: &str, test: fn(&[u16], &[u16]) -> bool) -> Result<bool, Failure> {
    let units = |value: &Value, side: &str| match value {
        Value::Undefined | Value::Null => Ok(None),
        Value::Array(_) | Value::Object(_) => Err(mismatch(&format!("{at}.{side}"), "a text", value)),
        text => Ok(Some(text.to_text().units().collect::<Vec<u16>>())),
    };
    match (units(text, "left")?, units(affix, "right")?) {
        (Some(text), Some(affix)) => Ok(test(&text, &affix)),
        _ => Ok(false),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Undefined | Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(object) => object.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::Function(_) | Value::Temporal(_) => false,
    }
}
