//! Names that only n8n has, within an expression.

use crate::room::Growth;
use crate::scan::{Stretch, replaced, stretches};
use serde_json::Value;

/// Bytes of an expression. The compiler takes no longer ones.
const EXPRESSION_BYTES_MAX: usize = 64 << 10;

/// What an expression's names mean where it stands.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Names<'w> {
    /// The workflow's name.
    pub workflow: &'w str,
    /// The node before, if there is exactly one and all its items come from it.
    pub before: Option<&'w str>,
    /// Whether the node executes once for its whole list, so that expressions are about the first item.
    pub of_list: bool,
    /// The workflow's time zone.
    pub zone: Option<&'w str>,
    /// By how much all expressions may grow, since such names may be long, and there any number of times.
    pub growth: Option<&'w Growth>,
}

/// The expression in heddle's names. What has no equivalent stays as it is; the compiler finds it.
pub(crate) fn rewrite(source: &str, names: &Names<'_>) -> String {
    let source = source.trim().trim_end_matches(';').trim_end();
    if source.len() > EXPRESSION_BYTES_MAX || names.growth.is_some_and(Growth::is_over) {
        return source.to_owned();
    }
    let table = replacements(names);
    // Behind `$node["Label"]`, where files are fields of the item.
    let (mut is_label, mut is_node) = (false, false);
    let written = stretches(source).into_iter().map(|stretch| match stretch {
        Stretch::Text(text) => {
            is_label = is_node;
            text.to_owned()
        }
        Stretch::Code(code) => {
            let files = code.strip_prefix("].binary").filter(|_| is_label);
            let own = files.map(|rest| format!("].json.$binary{rest}"));
            is_node = code.ends_with("$node[");
            is_label = false;
            let own = own.unwrap_or_else(|| code.to_owned());
            table.iter().fold(own, |code, (name, with)| {
                if code.contains(name) {
                    replaced(&code, name, with)
                } else {
                    code
                }
            })
        }
    });
    let written: String = written.collect();
    if let Some(growth) = names.growth {
        growth.take(written.len().saturating_sub(source.len()));
    }
    written
}

/// Paths and what stands for them, longer ones first.
fn replacements(names: &Names<'_>) -> Vec<(&'static str, String)> {
    let mut table = vec![
        ("$env", "$vars".to_owned()),
        ("$executionId", "$run.id".to_owned()),
        ("$workflowId", "$run.patternId".to_owned()),
        ("$execution.resumeUrl", "$run.callbackUrl".to_owned()),
        ("$resumeWebhookUrl", "$run.callbackUrl".to_owned()),
        ("$execution.mode", "\"production\"".to_owned()),
        ("$workflow.name", Value::from(names.workflow).to_string()),
        ("$workflow.active", "true".to_owned()),
        ("$runIndex", "0".to_owned()),
        ("$jmesPath", "$jmespath".to_owned()),
        ("$data", "$json".to_owned()),
        ("$binary", "$json.$binary".to_owned()),
    ];
    if let Some(before) = names.before {
        let label = Value::from(before).to_string();
        table.push(("$prevNode.name", label.clone()));
        if !names.of_list {
            for method in ["all", "first", "last"] {
                let name = match method {
                    "all" => "$input.all()",
                    "first" => "$input.first()",
                    _ => "$input.last()",
                };
                table.push((name, format!("$({label}).{method}()")));
            }
            table.push(("$items()", format!("$({label}).all()")));
        }
    }
    if names.of_list {
        table.push(("$itemIndex", "0".to_owned()));
        table.push(("$input.item.json", "$input.first()".to_owned()));
        table.push(("$json", "$input.first()".to_owned()));
    }
    if let Some(zone) = names.zone {
        let zone = Value::from(zone);
        table.push(("$now", format!("$now.setZone({zone})")));
        table.push(("$today", format!("$now.setZone({zone}).startOf(\"day\")")));
    }
    table
}

/// Names that are looked for in a piece of code.
const MENTIONED_MAX: usize = 200;

/// Nodes that an expression or a piece of code names: `$('X')`, `$node["X"]`, `$items("X")`.
pub(crate) fn mentioned(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    for opening in ["$(", "$node[", "$items("] {
        let mut rest = source;
        while let Some(at) = rest.find(opening) {
            rest = rest.get(at + opening.len()..).unwrap_or_default();
            let inner = rest.trim_start();
            let Some(quote) = inner.chars().next().filter(|c| "'\"`".contains(*c)) else {
                continue;
            };
            let name = inner.get(1..).and_then(|text| text.split(quote).next());
            found.extend(name.filter(|name| name.len() < 500).map(str::to_owned));
            if found.len() >= MENTIONED_MAX {
                break;
            }
        }
    }
    found.sort();
    found.dedup();
    found
}
