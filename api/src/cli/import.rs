//! `heddle import n8n`: workflows of n8n as patterns, with a report on what differs.

use super::failure::{Exit, Failure};
use super::input;
use super::output;
use clap::{Args, Subcommand};
use heddle_import::{Calls, Imported, Item, Level, WORKFLOW_BYTES_MAX, find, import};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Files that are read of directories.
const FILES_MAX: usize = 10_000;
/// Remarks on a workflow that people are shown; `--json` has all.
const SHOWN_MAX: usize = 20;

/// Flags of `heddle import`.
#[derive(Args, Debug)]
pub struct ImportArgs {
    #[command(subcommand)]
    from: From,
}

#[derive(Debug, Subcommand)]
enum From {
    /// Convert n8n's workflows to patterns, from n8n's exports.
    N8n(N8nArgs),
}

/// Flags of `heddle import n8n`.
#[derive(Args, Debug)]
struct N8nArgs {
    /// Exported workflows as JSON, or directories of them; - reads standard input.
    #[arg(required = true, value_name = "FILE|DIR")]
    paths: Vec<PathBuf>,
    /// Where to write the patterns, a file for each; without it, only the report is given.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Exit with 1 if anything does not do exactly what it does in n8n.
    #[arg(long)]
    strict: bool,
    /// Print one JSON object: {summary, workflows: [{file, name, output, report}]}.
    #[arg(long)]
    json: bool,
}

impl ImportArgs {
    /// Whether failures are told as JSON.
    pub fn json(&self) -> bool {
        let From::N8n(args) = &self.from;
        args.json
    }
}

/// A workflow that was imported.
struct Done {
    file: String,
    written: Option<String>,
    imported: Imported,
}

/// Runs the command.
pub fn import_from(args: &ImportArgs) -> Result<ExitCode, Failure> {
    let From::N8n(args) = &args.from;
    if let Some(folder) = &args.output {
        fs::create_dir_all(folder).map_err(|error| unwritten(folder, &error))?;
    }
    let mut names = HashSet::new();
    let mut all = Vec::new();
    for path in &args.paths {
        for file in files(path)? {
            all.extend(of_file(&file, args.output.as_deref(), &mut names)?);
        }
    }
    if all.is_empty() {
        let message = "there is no workflow: n8n's export has `nodes` and `connections`";
        return Err(Failure::new(Exit::Invalid, "NO_WORKFLOW", message));
    }
    match args.json {
        true => output::result(&format!("{:#}", as_json(&all)))?,
        false => output::result(&as_text(&all))?,
    }
    let is_exact = all.iter().all(|done| done.imported.report.is_exact());
    Ok(match args.strict && !is_exact {
        true => ExitCode::from(Exit::Failed as u8),
        false => ExitCode::SUCCESS,
    })
}

fn unwritten(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(
        Exit::File,
        "FILE",
        format!("cannot write {}: {error}", path.display()),
    )
}

/// The file itself, or the JSON files of a directory in the order of their names.
fn files(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if input::is_stdin(path) || !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let unread = |error: std::io::Error| {
        Failure::new(
            Exit::File,
            "FILE",
            format!("cannot read {}: {error}", path.display()),
        )
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(unread)? {
        let file = entry.map_err(unread)?.path();
        if file.extension().is_some_and(|extension| extension == "json") {
            files.push(file);
        }
        if files.len() > FILES_MAX {
            let message = format!("{} has more than {FILES_MAX} files", path.display());
            return Err(Failure::new(Exit::Invalid, "TOO_LARGE", message));
        }
    }
    files.sort();
    Ok(files)
}

/// The workflows of a file. What is no workflow is said, and keeps the others from nothing.
fn of_file(file: &Path, folder: Option<&Path>, names: &mut HashSet<String>) -> Result<Vec<Done>, Failure> {
    let source = input::read_text(file, "the workflow", WORKFLOW_BYTES_MAX as u64)?;
    let stem = file
        .file_stem()
        .and_then(|stem| stem.to_str())
        .unwrap_or("workflow");
    let found = match input::parse_json::<Value>(&source, "the workflow") {
        Ok(value) => find(&value, stem),
        Err(Failure::Reported(reported)) => {
            output::note(&reported.report);
            return Ok(Vec::new());
        }
        Err(Failure::Closed) => return Err(Failure::Closed),
    };
    let workflows = found.map_err(|refused| {
        Failure::new(
            Exit::Invalid,
            "TOO_LARGE",
            format!("{}: {}", source.name, refused.0),
        )
    })?;
    let mut all = Vec::new();
    for workflow in workflows {
        let imported = import(&workflow, &Calls::new());
        let written = match folder {
            Some(folder) => Some(write(folder, &imported, names)?),
            None => None,
        };
        all.push(Done {
            file: source.name.clone(),
            written,
            imported,
        });
    }
    Ok(all)
}

fn write(folder: &Path, imported: &Imported, names: &mut HashSet<String>) -> Result<String, Failure> {
    let name = file_name(&imported.name);
    let mut number = 1;
    let mut free = format!("{name}.json");
    while !names.insert(free.clone()) {
        number += 1;
        free = format!("{name}-{number}.json");
    }
    let path = folder.join(&free);
    fs::write(&path, format!("{:#}\n", json!(imported))).map_err(|error| unwritten(&path, &error))?;
    Ok(path.display().to_string())
}

/// A name without anything that means something in a path.
fn file_name(name: &str) -> String {
    const CHARS_MAX: usize = 60;
    let plain = |c: char| {
        if c.is_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '-'
        }
    };
    let name: String = name.chars().take(CHARS_MAX).map(plain).collect();
    let parts: Vec<&str> = name.split('-').filter(|part| !part.is_empty()).collect();
    if parts.is_empty() {
        "workflow".to_owned()
    } else {
        parts.join("-")
    }
}

fn as_json(all: &[Done]) -> Value {
    let workflows: Vec<Value> = all
        .iter()
        .map(|done| {
            let imported = &done.imported;
            json!({"file": done.file, "name": imported.name, "output": done.written, "report": imported.report})
        })
        .collect();
    let sum = |of: fn(&Imported) -> usize| all.iter().map(|done| of(&done.imported)).sum::<usize>();
    let summary = json!({
        "workflows": all.len(),
        "valid": sum(|imported| usize::from(imported.report.valid)),
        "nodes": sum(|imported| imported.report.summary.nodes),
        "exact": sum(|imported| imported.report.summary.exact),
        "approximate": sum(|imported| imported.report.summary.approximate),
        "stub": sum(|imported| imported.report.summary.stub),
        "repaired": sum(|imported| imported.report.summary.repaired),
    });
    json!({"summary": summary, "workflows": workflows})
}

fn as_text(all: &[Done]) -> String {
    all.iter().map(told).collect::<Vec<_>>().join("\n")
}

/// A workflow's figures, connections and remarks.
fn told(done: &Done) -> String {
    let report = &done.imported.report;
    let summary = report.summary;
    let mut lines = vec![format!(
        "{}: {} nodes: {} exact, {} approximate, {} not imported",
        done.imported.name, summary.nodes, summary.exact, summary.approximate, summary.stub
    )];
    if let Some(written) = &done.written {
        lines.push(format!("  written to {written}"));
    }
    if !report.valid {
        lines.push("  it does not compile: heddle validate says why".to_owned());
    }
    for connection in &report.connections {
        let fields = connection.fields.join(", ");
        lines.push(format!(
            "  connection to make: {} ({}: {fields})",
            connection.name, connection.n8n_type
        ));
    }
    lines.extend(report.items.iter().take(SHOWN_MAX).map(line));
    if report.items.len() > SHOWN_MAX {
        lines.push(format!(
            "  … and {} more remarks: --json has all",
            report.items.len() - SHOWN_MAX
        ));
    }
    lines.join("\n")
}

fn line(item: &Item) -> String {
    let level = match item.level {
        Level::Exact => "exact      ",
        Level::Approximate => "approximate",
        Level::Stub => "not there  ",
    };
    let place = item.node_id.as_deref().unwrap_or("workflow");
    format!("  {level}  {place}: {}", item.message)
}
