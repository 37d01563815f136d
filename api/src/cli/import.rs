//! `heddle import`: workflows of n8n and flows of Node-RED as patterns, with a report on what differs; operations of
//! OpenAPI documents as definitions.

mod openapi;

use super::failure::{Exit, Failure};
use super::input;
use super::output;
use clap::{Args, Subcommand};
use heddle_import::{
    Calls, Imported, Item, Level, Refused, WORKFLOW_BYTES_MAX, find, import, import_flow, node_red,
};
use heddle_remote::files::directory_name;
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
    N8n(ImportFiles),
    /// Convert Node-RED's flows to patterns, from its exports or its flows.json.
    NodeRed(ImportFiles),
    /// Make node definitions of an API's operations, from its OpenAPI document.
    Openapi(openapi::OpenApiArgs),
}

/// Flags of `heddle import n8n` and `heddle import node-red`.
#[derive(Args, Debug)]
struct ImportFiles {
    /// Exported workflows or flows as JSON, or directories of them; - reads standard input.
    #[arg(required = true, value_name = "FILE|DIR")]
    paths: Vec<PathBuf>,
    /// Directory to write the patterns to, one file each; without it, only the report is printed.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Exit with 1 if anything does not do exactly what it did before.
    #[arg(long)]
    strict: bool,
    /// Print one JSON object: {summary, workflows: [{file, name, output, report}]}.
    #[arg(long)]
    json: bool,
}

impl ImportArgs {
    /// Whether failures are printed as JSON.
    pub fn json(&self) -> bool {
        match &self.from {
            From::N8n(args) | From::NodeRed(args) => args.json,
            From::Openapi(args) => args.json,
        }
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
    match &args.from {
        From::N8n(args) => of_files(args, Source::N8n),
        From::NodeRed(args) => of_files(args, Source::NodeRed),
        From::Openapi(args) => openapi::run(args),
    }
}

/// What is converted.
#[derive(Clone, Copy, Debug)]
enum Source {
    N8n,
    NodeRed,
}

impl Source {
    /// The patterns in a file; empty if it is not of this source.
    fn patterns(self, value: &Value, default_name: &str) -> Result<Vec<Imported>, Refused> {
        Ok(match self {
            Source::N8n => {
                let found = find(value, default_name)?;
                found.iter().map(|one| import(one, &Calls::new())).collect()
            }
            Source::NodeRed => node_red::find(value, default_name)?
                .iter()
                .map(import_flow)
                .collect(),
        })
    }
}

fn of_files(args: &ImportFiles, source: Source) -> Result<ExitCode, Failure> {
    if let Some(folder) = &args.output {
        fs::create_dir_all(folder).map_err(|error| unwritten(folder, &error))?;
    }
    let mut names = HashSet::new();
    let mut all = Vec::new();
    for path in &args.paths {
        for file in files(path)? {
            all.extend(of_file(&file, source, args.output.as_deref(), &mut names)?);
        }
    }
    if all.is_empty() {
        let message = match source {
            Source::N8n => "there is no workflow: n8n's export has `nodes` and `connections`",
            Source::NodeRed => "there is no flow: Node-RED's export is a list of nodes with `wires`",
        };
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

/// The workflows of a file. What is not a workflow is reported, and the others are imported all the same.
fn of_file(
    file: &Path,
    source: Source,
    folder: Option<&Path>,
    names: &mut HashSet<String>,
) -> Result<Vec<Done>, Failure> {
    let text = input::read_text(file, "the workflow", WORKFLOW_BYTES_MAX as u64)?;
    let stem = file
        .file_stem()
        .and_then(|stem| stem.to_str())
        .unwrap_or("workflow");
    let found = match input::parse_json::<Value>(&text, "the workflow") {
        Ok(value) => source.patterns(&value, stem),
        Err(Failure::Reported(reported)) => {
            output::note(&reported.report);
            return Ok(Vec::new());
        }
        Err(Failure::Closed) => return Err(Failure::Closed),
    };
    let found = found.map_err(|refused| {
        let message = format!("{}: {}", text.name, refused.0);
        Failure::new(Exit::Invalid, "TOO_LARGE", message)
    })?;
    let mut all = Vec::new();
    for imported in found {
        let written = match folder {
            Some(folder) => Some(write(folder, &imported, names)?),
            None => None,
        };
        all.push(Done {
            file: text.name.clone(),
            written,
            imported,
        });
    }
    Ok(all)
}

fn write(folder: &Path, imported: &Imported, names: &mut HashSet<String>) -> Result<String, Failure> {
    let name = directory_name(&imported.name);
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
    all.iter().map(in_words).collect::<Vec<_>>().join("\n")
}

/// A workflow's figures, connections and remarks.
fn in_words(done: &Done) -> String {
    let report = &done.imported.report;
    let summary = report.summary;
    let plural = if summary.nodes == 1 { "" } else { "s" };
    let mut lines = vec![format!(
        "{}: {} node{plural}: {} exact, {} approximate, {} not imported",
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
            "  connection to create: {} ({}: {fields})",
            connection.name, connection.n8n_type
        ));
    }
    lines.extend(report.items.iter().take(SHOWN_MAX).map(line));
    if report.items.len() > SHOWN_MAX {
        lines.push(format!(
            "  … and {} more remarks: --json shows them all",
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
