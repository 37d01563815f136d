//! Yaml: YAML 1.2 to values and back.
//!
//! Scalars have the types of the core schema. The merge key `<<` of YAML 1.1, which many files use, is obeyed where
//! mappings follow it; elsewhere it is a key like any other, which it always is in YAML 1.2.
//! Sources: YAML 1.2.2, chapters 7 to 10; Merge Key Language-Independent Type for YAML 1.1.

mod read;
mod scalar;
mod write;

use super::parameters;
use super::text::{text_or_input, value_or_input};
use crate::failure::Failure;
use crate::node::{Context, Emission, NodeResult, Outcome};
use heddle_contract::abi::code;
use heddle_values::{JSON_DEPTH_MAX, Object, Value};

/// `parse` or `stringify`; `all` is for texts of several documents.
pub fn yaml(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let all = parameters::boolean(parameters, "all", false)?;
    let value = match parameters::choice(parameters, "operation", &["parse", "stringify"], "parse")? {
        "parse" => parse(&text_or_input(parameters, context)?, all)?,
        _ => stringify(value_or_input(parameters, context).into_json(), all)?,
    };
    Ok(Outcome::Emit(Emission::one(0, value)))
}

fn parse(text: &str, all: bool) -> Result<Value, Failure> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let documents = read::documents(text, all).map_err(|wrong| {
        let message = format!(
            "The text {}, in line {}, column {}.",
            wrong.message, wrong.line, wrong.column
        );
        Failure::new(wrong.code, message)
    })?;
    Ok(match all {
        true => documents.into(),
        false => documents.into_iter().next().unwrap_or(Value::Null),
    })
}

fn stringify(value: Value, all: bool) -> Result<Value, Failure> {
    if value.deeper_than(JSON_DEPTH_MAX) {
        let message = format!("The value is nested more than {JSON_DEPTH_MAX} levels deep.");
        return Err(Failure::new(code::DEPTH_LIMIT, message));
    }
    if !all {
        return Ok(write::document(&value).into());
    }
    let Value::Array(documents) = value else {
        let takes = "an array of documents, since `all` is true";
        return Err(parameters::mismatch("value", takes, &value));
    };
    let written = documents
        .iter()
        .map(|value| format!("---\n{}", write::document(value)));
    Ok(written.collect::<String>().into())
}
