//! Names: heddle's own, those of other systems, and suggestions for unknown ones.

use super::{Expression, Name, Names, Problem};
use heddle_values::methods::Global;

const OWN: &[&str] = &[
    "$input",
    "$json",
    "$nodes",
    "$trigger",
    "$item",
    "$index",
    "$a",
    "$b",
    "$run",
    "$now",
    "$today",
    "$vars",
    "$secrets",
    "$error",
    "$random",
    "$uuid",
    "undefined",
    "NaN",
    "Infinity",
];

/// The value of a name that stands alone. A problem's span is the caller's.
pub(super) fn resolve(name: &str, names: &dyn Names) -> Result<Expression, Problem> {
    let value = |name| Ok(Expression::Name(name));
    match name {
        "undefined" => return Ok(Expression::Undefined),
        "NaN" => return Ok(Expression::Number(f64::NAN)),
        "Infinity" => return Ok(Expression::Number(f64::INFINITY)),
        "$input" | "$json" => return value(Name::Input),
        "$now" => return Ok(Expression::Global(Global::Now, Vec::new())),
        "$today" => return Ok(Expression::Global(Global::Today, Vec::new())),
        _ => {}
    }
    let in_definition = names.definition_only();
    if in_definition && (OWN.contains(&name) || name == "$") && name != "$item" && name != "$index" {
        let message = format!("`{name}` is not available in a definition");
        let help = "expressions in a definition see only `$input`, `$item` and `$index`: pass everything \
            else in through a port";
        return Err(problem("unknown-name", message, Some(help)));
    }
    match name {
        "$item" if names.has_item() => value(Name::Item),
        "$index" | "$itemIndex" | "$position" if names.has_item() => value(Name::Index),
        "$a" if names.has_pair() => value(Name::First),
        "$b" if names.has_pair() => value(Name::Second),
        "$error" if names.has_error() => value(Name::Error),
        "$trigger" => value(Name::Trigger),
        "$run" => value(Name::Run),
        "$vars" => value(Name::Vars),
        _ => Err(refusal(name)),
    }
}

fn refusal(name: &str) -> Problem {
    let misplaced = |message: &str, help| problem("unknown-name", message.to_owned(), Some(help));
    match name {
        "$item" | "$index" | "$itemIndex" | "$position" => misplaced(
            &format!("there is no `{name}` here"),
            "it has a value inside a ForEach, with `each`, and in parameters that are evaluated for each item",
        ),
        "$a" | "$b" => misplaced(
            &format!("there is no `{name}` here"),
            "`$a` and `$b` are the two items that a Sort node compares",
        ),
        "$error" => misplaced(
            "there is no `$error` here",
            "it has a value after a node with `onError` \"branch\" or \"continue\"",
        ),
        "$secrets" => misplaced(
            "`$secrets` is not a value by itself",
            "name the secret: `$secrets.NAME`",
        ),
        "$nodes" => misplaced(
            "`$nodes` is not a value by itself",
            "name the node: `$nodes[\"id\"]`",
        ),
        "$" => misplaced("`$` is not a value by itself", "name the node: `$(\"Label\")`"),
        "$node" => misplaced(
            "`$node` is not a value by itself",
            "name the node: `$node[\"Label\"].json`",
        ),
        "$random" | "$uuid" | "$items" => problem(
            "unknown-name",
            format!("`{name}` is a function"),
            Some(&format!("write `{name}()`")),
        ),
        "$if" | "$ifEmpty" | "$max" | "$min" => problem(
            "unknown-name",
            format!("`{name}` is a function"),
            Some(&format!("call it: `{name}(…)`")),
        ),
        _ => match (foreign(name), super::unsupported::elsewhere(name)) {
            (Some((system, instead)), _) => problem(
                "foreign-name",
                format!("`{name}` exists only in {system}"),
                Some(instead),
            ),
            (None, Some(instead)) => problem(
                "unknown-name",
                format!("expressions have no `{name}`"),
                Some(instead),
            ),
            (None, None) => unknown(name),
        },
    }
}

fn unknown(name: &str) -> Problem {
    let message = format!("there is no `{name}`");
    if name.len() > super::unsupported::MISTYPED_BYTES_MAX {
        return problem("unknown-name", message, None);
    }
    let nearest = OWN
        .iter()
        .map(|own| (strsim::damerau_levenshtein(&name.to_lowercase(), own), own))
        .min();
    let close = if name.chars().count() <= 4 { 1 } else { 2 };
    let help = match nearest {
        Some((distance, own)) if distance <= close => format!("did you mean `{own}`?"),
        _ if name.starts_with('$') => {
            "the names are `$input`, `$nodes[\"id\"]`, `$(\"Label\")`, `$trigger`, \
            `$item`, `$index`, `$run`, `$now`, `$today`, `$vars`, `$secrets.NAME`, `$error`, `$random()` and `$uuid()`"
                .to_owned()
        }
        _ => format!("for a field of the input write `$input.{name}`; put text in quotes: \"{name}\""),
    };
    problem("unknown-name", message, Some(&help))
}

fn problem(code: &'static str, message: String, help: Option<&str>) -> Problem {
    Problem {
        code,
        message,
        help: help.map(str::to_owned),
        span: 0..0,
    }
}

/// Names of other systems: the system, and what to write here.
const FOREIGN: &[(&str, &str, &str)] = &[
    (
        "$env",
        "n8n",
        "settings are `$vars.NAME`, secrets `$secrets.NAME`",
    ),
    ("$execution", "n8n", "the run's id is `$run.id`"),
    ("$executionId", "n8n", "the run's id is `$run.id`"),
    ("$workflow", "n8n", "the pattern's id is `$run.patternId`"),
    ("$workflowId", "n8n", "the pattern's id is `$run.patternId`"),
    (
        "$runIndex",
        "n8n",
        "inside a loop the iteration's number is `$index`",
    ),
    ("$prevNode", "n8n", "the previous node's output is `$input`"),
    ("$data", "n8n", "the node's input is `$input`"),
    (
        "items",
        "n8n",
        "the node's input is `$input`, the current item `$item`",
    ),
    (
        "item",
        "n8n",
        "the node's input is `$input`, the current item `$item`",
    ),
    (
        "$binary",
        "n8n",
        "files are ordinary fields here, as base64 text: `$input.…`",
    ),
    (
        "$parameter",
        "n8n",
        "a node's parameters can't be read; use a value that you pass in",
    ),
    (
        "$rawParameter",
        "n8n",
        "a node's parameters can't be read; use a value that you pass in",
    ),
    (
        "$self",
        "n8n",
        "a node's parameters can't be read; use a value that you pass in",
    ),
    (
        "$fromAI",
        "n8n",
        "use a ChatCompletion node with `jsonSchema` and read its output",
    ),
    (
        "$agentInfo",
        "n8n",
        "use a ChatCompletion node with `jsonSchema` and read its output",
    ),
    (
        "$tool",
        "n8n",
        "use a ChatCompletion node with `jsonSchema` and read its output",
    ),
    (
        "$evaluateExpression",
        "n8n",
        "expressions are compiled before the run: write the expression itself",
    ),
    (
        "$getWorkflowStaticData",
        "n8n",
        "to keep data between runs, use a KeyValue node",
    ),
    ("$pageCount", "n8n", "HttpRequest has a `pagination` parameter"),
    ("$response", "n8n", "HttpRequest has a `pagination` parameter"),
    ("$request", "n8n", "HttpRequest has a `pagination` parameter"),
    (
        "$getPairedItem",
        "n8n",
        "the item that this one comes from is `$(\"Label\").item`",
    ),
    ("$credentials", "n8n", "secrets are `$secrets.NAME`"),
    ("$secret", "n8n", "secrets are `$secrets.NAME`"),
    ("$nodeId", "n8n", "heddle has no equivalent"),
    ("$nodeVersion", "n8n", "heddle has no equivalent"),
    ("$mode", "n8n", "heddle has no equivalent"),
    ("$jobId", "n8n", "heddle has no equivalent"),
    ("$webhookId", "n8n", "heddle has no equivalent"),
    ("$value", "n8n", "heddle has no equivalent"),
    ("msg", "Node-RED", "the node's input is `$input`"),
    (
        "flow",
        "Node-RED",
        "to keep data between runs, use a KeyValue node",
    ),
    (
        "global",
        "Node-RED",
        "to keep data between runs, use a KeyValue node",
    ),
    (
        "flow_input",
        "Windmill",
        "the event that started the run is `$trigger`",
    ),
    (
        "results",
        "Windmill",
        "another node's value is `$(\"Label\")`, the last one `$input`",
    ),
    (
        "previous_result",
        "Windmill",
        "another node's value is `$(\"Label\")`, the last one `$input`",
    ),
    (
        "steps",
        "Pipedream",
        "another node's value is `$(\"Label\")` or `$nodes[\"id\"]`",
    ),
    (
        "process",
        "Node.js",
        "settings are `$vars.NAME`, secrets `$secrets.NAME`",
    ),
];

/// Names that only other systems have: the name, the system, and what to write here.
pub(crate) fn foreign_names() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    FOREIGN.iter().copied()
}

/// The system that has this name, and what to write here.
fn foreign(name: &str) -> Option<(&'static str, &'static str)> {
    let found = FOREIGN.iter().find(|(foreign, ..)| *foreign == name);
    found.map(|(_, system, instead)| (*system, *instead))
}

/// Methods that only n8n has, and what to write here.
const FOREIGN_METHODS: &[(&str, &str)] = &[
    ("all", "only `$input` and `$(\"Label\")` have this method"),
    (
        "itemMatching",
        "for one of several items write `$(\"Label\").all()[index]`; for the item that this one comes \
             from, `$(\"Label\").item`",
    ),
    (
        "pairedItem",
        "for one of several items write `$(\"Label\").all()[index]`; for the item that this one comes \
             from, `$(\"Label\").item`",
    ),
    ("randomItem", "write `list[Math.floor($random() * list.length)]`"),
    ("toCamelCase", "write `x.split(\" \").map(part => …).join(\"\")`"),
    (
        "replaceSpecialChars",
        "write `x.normalize(\"NFD\").replace(/[\\u0300-\\u036f]/g, \"\")`",
    ),
    ("isTrue", "write `x === true` or `x === false`"),
    ("isFalse", "write `x === true` or `x === false`"),
    (
        "isDst",
        "compare with `$now.minus(…)`; a date-time has `.isInDST`",
    ),
    (
        "isInLast",
        "compare with `$now.minus(…)`; a date-time has `.isInDST`",
    ),
];

/// Methods that only n8n has, and what to write here.
pub(crate) fn foreign_methods() -> impl Iterator<Item = (&'static str, &'static str)> {
    FOREIGN_METHODS.iter().copied()
}

/// A method that only n8n has: message and help.
pub(super) fn foreign_method(method: &str) -> Option<(String, &'static str)> {
    let (_, help) = FOREIGN_METHODS.iter().find(|(foreign, _)| *foreign == method)?;
    Some((format!("`.{method}(…)` exists only in n8n"), *help))
}
