//! The outcome of a run, for people and as a JSON object.

use super::diagnostics::describe_node;
use super::indent::indented;
use super::report::{Report, printable};
use super::trace::{self, duration};
use anstyle::{AnsiColor, Style};
use heddle_contract::manifest;
use heddle_runtime::{LogLine, Outcome, RunError, Status, TraceEntry, Usage, grouped};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::fmt::Write;

const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();

/// What `--json` prints.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Machine<'a> {
    status: Status,
    output: Option<&'a RawValue>,
    error: Option<&'a RunError>,
    response: Option<&'a RawValue>,
    logs: &'a [LogLine],
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<&'a [TraceEntry]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    breakpoint: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pinned_nodes: Option<&'a RawValue>,
    usage: Usage,
}

/// The run as one JSON object.
pub fn machine(outcome: &Outcome, traced: bool) -> String {
    let machine = Machine {
        status: outcome.status,
        output: outcome.output.as_deref(),
        error: outcome.error.as_ref(),
        response: outcome.response.as_deref(),
        logs: &outcome.logs,
        trace: traced.then_some(&outcome.trace),
        breakpoint: outcome.breakpoint.as_deref(),
        pinned_nodes: outcome.pinned_nodes.as_deref(),
        usage: outcome.usage,
    };
    // Strings, numbers and JSON that was parsed before: nothing in it can fail to be written.
    serde_json::to_string(&machine).unwrap_or_default()
}

/// What a completed or paused run prints on standard output: its output, or where it stands.
pub fn result(outcome: &Outcome) -> Option<String> {
    match outcome.status {
        Status::Completed => Some(indented(outcome.output.as_deref().map_or("null", RawValue::get))),
        Status::Paused => {
            let breakpoint = outcome.breakpoint.as_deref().map_or("null", RawValue::get);
            let pins = outcome.pinned_nodes.as_deref().map_or("null", RawValue::get);
            Some(indented(&format!(
                "{{\"breakpoint\":{breakpoint},\"pinnedNodes\":{pins}}}"
            )))
        }
        Status::Failed | Status::Parked => None,
    }
}

/// What is said beside the result: logs, trace, the webhook's response, the error.
pub fn notes(outcome: &Outcome, file: &str, nodes: &[manifest::Node], traced: bool) -> String {
    let mut text = String::new();
    for line in &outcome.logs {
        log_line(&mut text, line);
    }
    if traced {
        text.push_str(&headline(outcome));
        text.push_str(&trace::render(&outcome.trace, nodes));
    }
    if let Some(response) = &outcome.response {
        text.push_str(&response_text(response));
    }
    if let Some(error) = &outcome.error {
        text.push_str(&error_report(error, file, nodes));
    }
    if outcome.status == Status::Paused {
        text.push_str(
            "paused at a breakpoint; to continue, save the output to a file and pass it to --pin\n",
        );
    }
    text
}

fn log_line(text: &mut String, line: &LogLine) {
    let style = match line.level {
        "error" => AnsiColor::Red.on_default(),
        "warn" => AnsiColor::Yellow.on_default(),
        "debug" => DIM,
        _ => AnsiColor::Green.on_default(),
    };
    let node = line.node_id.as_deref().unwrap_or("run");
    let _ = writeln!(
        text,
        "{style}{:5}{style:#} {DIM}{node}:{DIM:#} {}",
        line.level,
        printable(&line.message)
    );
}

fn headline(outcome: &Outcome) -> String {
    let word = match outcome.status {
        Status::Completed => "completed",
        Status::Failed => "failed",
        Status::Paused => "paused",
        Status::Parked => "waiting",
    };
    let Usage {
        fuel_used,
        memory_bytes_peak,
        effects,
        duration_us,
        ..
    } = outcome.usage;
    let memory = bytesize::ByteSize(memory_bytes_peak as u64).display().iec();
    let effects = match effects {
        0 => String::new(),
        1 => ", 1 effect".to_owned(),
        effects => format!(", {effects} effects"),
    };
    let (fuel, time) = (grouped(fuel_used), duration(duration_us));
    format!("{BOLD}{word}{BOLD:#} in {time}, {fuel} fuel, {memory}{effects}\n")
}

fn response_text(response: &RawValue) -> String {
    let response: Value = serde_json::from_str(response.get()).unwrap_or_default();
    let mut text = format!("{BOLD}response {}{BOLD:#}\n", response["status"]);
    for (name, value) in response["headers"].as_object().into_iter().flatten() {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let _ = writeln!(text, "  {DIM}{}:{DIM:#} {}", printable(name), printable(&value));
    }
    match &response["body"] {
        Value::Null => {}
        Value::String(body) => body.lines().for_each(|line| {
            let _ = writeln!(text, "  {}", printable(line));
        }),
        body => format!("{body:#}").lines().for_each(|line| {
            let _ = writeln!(text, "  {line}");
        }),
    }
    text
}

fn error_report(error: &RunError, file: &str, nodes: &[manifest::Node]) -> String {
    let mut report = Report::error(&error.message).code(&error.code).in_file(file);
    if let Some(id) = &error.node_id {
        let node = nodes.iter().find(|node| &node.id == id);
        let names = node.map(|node| (node.node_type.as_str(), node.label.as_deref()));
        report = report.context(describe_node(id, names));
    }
    match flag_for(&error.code) {
        Some(flag) => report.help(flag).to_string(),
        None => report.to_string(),
    }
}

/// Which flag of `heddle run` gives a run what it lacked: its errors are worded for servers, which have no flags.
fn flag_for(code: &str) -> Option<&'static str> {
    match code {
        "CONNECTION_MISSING" => Some(
            "`--connections FILE` gives connections and `--secrets FILE` secrets, each as a JSON object by name",
        ),
        "EGRESS_DENIED" => Some("`--egress-allow HOST:PORT` allows requests to a private address"),
        _ => None,
    }
}
