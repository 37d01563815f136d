//! Prints what runs have done once they have ended: the event, each node with its time and what left it, logs, and for a node that
//! failed what it had been given.

use super::deploying::Placed;
use crate::cli::failure::Failure;
use crate::cli::output;
use crate::cli::remote::log_line;
use crate::cli::report::{first_columns, printable};
use crate::cli::trace;
use heddle_remote::server::{Server, plain};
use heddle_runtime::TraceEntry;
use reqwest::Method;
use serde_json::Value;
use serde_json::value::to_raw_value;
use std::collections::{BTreeSet, HashMap};

/// Runs that are looked at; of more at a time some are left out, and that is said.
const RUNS: usize = 100;
/// Columns of a value that are shown.
const SHOWN_COLUMNS: usize = 120;

/// Which runs have been printed.
#[derive(Default)]
pub struct Follower {
    printed: BTreeSet<String>,
    waiting: BTreeSet<String>,
}

impl Follower {
    /// Prints the runs that have ended since, the oldest first.
    pub async fn look(&mut self, server: &Server, patterns: HashMap<&str, &Placed>) -> Result<(), Failure> {
        let path = format!("/api/runs?limit={RUNS}");
        let page = server.ask(Method::GET, &path, None).await?;
        let runs = page["data"].as_array().map(Vec::as_slice).unwrap_or_default();
        let is_new = |run: &Value| !self.printed.contains(run["id"].as_str().unwrap_or_default());
        if runs.len() == RUNS && runs.iter().all(is_new) {
            output::note("there were more runs than are shown");
        }
        let mut there = BTreeSet::new();
        for run in runs.iter().rev() {
            let id = run["id"].as_str().unwrap_or_default();
            let pattern = patterns.get(run["patternId"].as_str().unwrap_or_default());
            if run["status"] == "running" {
                if run["phase"] == "waiting" && self.waiting.insert(id.to_owned()) {
                    output::result(&format!("{}  waits  {}", name(run, pattern), plain(id)))?;
                }
                continue;
            }
            there.insert(id.to_owned());
            if !self.printed.contains(id) {
                let deployment = run["deploymentId"].as_str().unwrap_or_default();
                let path = format!("/api/deployments/{deployment}/runs/{id}");
                let whole = server.ask(Method::GET, &path, None).await?;
                print(run, &whole["data"], pattern)?;
                self.printed.insert(id.to_owned());
            }
        }
        // Older ones are not listed any more.
        if runs.len() == RUNS {
            self.printed = there;
        }
        Ok(())
    }
}

fn name(run: &Value, pattern: Option<&&Placed>) -> String {
    let called = || plain(run["patternName"].as_str().unwrap_or_default());
    pattern.map_or_else(called, |placed| placed.name.clone())
}

fn print(run: &Value, whole: &Value, pattern: Option<&&Placed>) -> Result<(), Failure> {
    let text = |name: &str| plain(run[name].as_str().unwrap_or_default());
    let took = run["durationMs"].as_i64().unwrap_or_default();
    output::result(&format!(
        "{}  {}  {took} ms  version {}  {}",
        name(run, pattern),
        text("status"),
        run["versionNumber"],
        text("id")
    ))?;
    output::result(&format!("  event: {}", event(&whole["eventData"])))?;
    let entries = whole["trace"].as_array().into_iter().flatten();
    let entries: Vec<TraceEntry> = entries.filter_map(entry).collect();
    let nodes = pattern.map_or(&[][..], |placed| placed.nodes.as_slice());
    for line in trace::render(&entries, nodes).lines() {
        output::result(&format!("  {line}"))?;
    }
    let failed = &whole["failedInput"];
    if !failed.is_null() {
        output::result(&format!("  input: {}", shown(&failed["input"])))?;
    }
    if let Some(code) = whole["error"]["code"].as_str() {
        let message = whole["error"]["message"].as_str().unwrap_or_default();
        let node = whole["error"]["nodeId"].as_str();
        let node = node.map(|node| format!("node {}: ", plain(node)));
        output::result(&format!(
            "  error: {}: {}{}",
            plain(code),
            node.unwrap_or_default(),
            printable(message)
        ))?;
    } else {
        output::result(&format!("  output: {}", shown(&whole["output"])))?;
    }
    let logs = whole["logOutput"].as_array().into_iter().flatten();
    for line in logs {
        output::result(&log_line(line))?;
    }
    Ok(())
}

/// An event in few words: of a request, what people have sent by it.
fn event(event: &Value) -> String {
    match event["method"].as_str() {
        Some(method) if event["headers"].is_object() => {
            format!("{} {}", plain(method), shown(&event["body"]))
        }
        _ => shown(event),
    }
}

fn shown(value: &Value) -> String {
    first_columns(&printable(&value.to_string()), SHOWN_COLUMNS)
}

/// A node as the trace has it. `None`: this stands for nodes that were left out.
fn entry(value: &Value) -> Option<TraceEntry> {
    let text = |name: &str| value[name].as_str().map(str::to_owned);
    let number = |name: &str| value[name].as_u64().unwrap_or_default();
    let raw = |name: &str| {
        let found = value.get(name).filter(|found| !found.is_null());
        found.and_then(|found| to_raw_value(found).ok())
    };
    Some(TraceEntry {
        node_id: text("nodeId")?,
        path: text("path").unwrap_or_default(),
        started_at_ms: value["startedAtMs"].as_f64().unwrap_or_default(),
        duration_us: number("durationUs"),
        fuel: number("fuel"),
        port: text("port"),
        output: raw("output"),
        error: raw("error"),
        pinned: value["pinned"].as_bool().unwrap_or_default(),
    })
}
