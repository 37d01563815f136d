//! Regex: regular expressions as JavaScript has them, evaluated by the run's own engine, so that a node and an
//! expression never disagree and a blow-up costs the run's fuel. Knows nothing of how the engine is reached.

use super::parameters::{choice, mismatch, required_text, text};
use crate::failure::Failure;
use crate::node::{Context, Emission, NodeResult, Outcome, Script, Scripted};
use heddle_contract::abi::code;
use heddle_values::{Object, Text, Value};

const OPERATIONS: &[&str] = &["test", "match", "matchAll", "replace", "split"];

/// The result, or an object with what the engine says against the expression.
const SOURCE: &str = r#"(operation, text, pattern, flags, replacement) => {
  const find = (flag) => new RegExp(pattern, flags.includes(flag) ? flags : flags + flag);
  const found = (match) => ({
    match: match[0],
    index: match.index,
    captures: Array.from(match).slice(1).map((capture) => capture ?? null),
    groups: Object.fromEntries(Object.entries(match.groups ?? {}).map(([name, group]) => [name, group ?? null])),
  });
  let expression;
  try {
    expression = new RegExp(pattern, flags);
  } catch (error) {
    return { refused: String(error.message) };
  }
  switch (operation) {
    case 'test': return { result: expression.test(text) };
    case 'match': {
      const match = expression.exec(text);
      return { result: match && found(match) };
    }
    case 'matchAll': return { result: Array.from(text.matchAll(find('g')), found) };
    case 'replace': return { result: text.replace(expression, replacement) };
    default: return { result: text.split(expression) };
  }
}"#;

/// `test`, `match`, `matchAll`, `replace` or `split`.
pub fn regex(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let operation = choice(parameters, "operation", OPERATIONS, "match")?;
    let pattern = required_text(parameters, "pattern")?;
    let flags = text(parameters, "flags")?.unwrap_or_default();
    let arguments: Vec<Value> = vec![
        operation.into(),
        searched(parameters)?.into(),
        pattern.as_str().into(),
        flags.as_str().into(),
        text(parameters, "replacement")?.unwrap_or_default().into(),
    ];
    let scripted = context.javascript(Script::Evaluate {
        source: &Text::from(SOURCE),
        arguments: arguments.into(),
    })?;
    let Scripted::Value(Value::Object(answer)) = scripted else {
        return Err(Failure::new(
            code::INTERNAL,
            "The JavaScript engine's answer can't be read.",
        ));
    };
    if let Some(refused) = answer.get("refused") {
        let message = format!(
            "`/{pattern}/{flags}` is not a valid JavaScript regular expression: {}.",
            refused.to_text()
        );
        return Err(Failure::new(code::PARAMETER, message));
    }
    let result = answer.get("result").cloned().unwrap_or_default();
    // What `split` gives for a capture that took no part is undefined: null, as for the other operations.
    Ok(Outcome::Emit(Emission::one(0, result.into_json())))
}

/// As it is, lone surrogates and all, so that positions are those of the text.
fn searched(parameters: &Object) -> Result<Text, Failure> {
    required_text(parameters, "text")?;
    match parameters.get("text") {
        Some(value @ (Value::String(_) | Value::Number(_) | Value::Bool(_))) => Ok(value.to_text()),
        other => Err(mismatch("text", "text", &other.cloned().unwrap_or_default())),
    }
}
