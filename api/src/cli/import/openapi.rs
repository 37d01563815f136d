//! `heddle import openapi`: operations of an OpenAPI document as definitions of nodes, with a report on what is left out.

use super::super::failure::{Exit, Failure};
use super::super::{input, output};
use clap::Args;
use heddle_import::Refused;
use heddle_import::openapi::{
    Api, ApiConnection, ApiOperation, DOCUMENT_BYTES_MAX, Selection, import, is_json, operations, parse,
};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

/// Remarks that people are shown; `--json` has all.
const SHOWN_MAX: usize = 40;

/// Flags of `heddle import openapi`.
#[derive(Args, Debug)]
pub(super) struct OpenApiArgs {
    /// OpenAPI 3.0 or 3.1 document, as JSON or YAML; - reads standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Where to write the definitions, as `heddle run --definitions` takes them; without it, only the report is given.
    #[arg(short, long, value_name = "FILE", conflicts_with = "list")]
    output: Option<PathBuf>,
    /// Import this operation, by its operationId; can be given several times.
    #[arg(long = "operation", value_name = "ID")]
    operations: Vec<String>,
    /// Import the operations with this tag; can be given several times.
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// List the document's operations and import nothing.
    #[arg(long, conflicts_with_all = ["operations", "tags", "prefix", "base_url", "strict"])]
    list: bool,
    /// What the names of the definitions begin with, such as petStore.
    #[arg(long, value_name = "NAME")]
    prefix: Option<String>,
    /// Address that paths are below, in place of the document's server.
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Exit with 1 if anything could not be taken over.
    #[arg(long)]
    strict: bool,
    /// Print one JSON object: {title, output, definitions, report}, or with --list {operations}.
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
pub(super) fn run(args: &OpenApiArgs) -> Result<ExitCode, Failure> {
    let source = input::read_text(&args.file, "the document", DOCUMENT_BYTES_MAX as u64)?;
    let refused = |refused: Refused| {
        let message = format!("{} can't be imported: {}", source.name, refused.0);
        Failure::new(Exit::Invalid, "INVALID_FILE", message)
    };
    // What is wrong in JSON is shown with its line.
    let document: Value = match is_json(&source.text) {
        true => input::parse_json(&source, "the document")?,
        false => parse(&source.text).map_err(refused)?,
    };
    if args.list {
        return list(&operations(&document).map_err(refused)?, args.json);
    }
    let selection = Selection {
        operations: args.operations.clone(),
        tags: args.tags.clone(),
        prefix: args.prefix.clone().unwrap_or_default(),
        base_url: args.base_url.clone(),
    };
    let api = import(&document, &selection).map_err(refused)?;
    if let Some(path) = &args.output {
        fs::write(path, format!("{:#}\n", json!(api.node_definitions))).map_err(|error| {
            let message = format!("cannot write {}: {error}", path.display());
            Failure::new(Exit::File, "FILE", message)
        })?;
    }
    let written = args.output.as_ref().map(|path| path.display().to_string());
    match args.json {
        true => {
            let names: Vec<&String> = api.node_definitions.keys().collect();
            let data =
                json!({"title": api.title, "output": written, "definitions": names, "report": api.report});
            output::result(&format!("{data:#}"))?;
        }
        false => output::result(&as_text(&api, written.as_deref()))?,
    }
    Ok(match args.strict && !api.report.items.is_empty() {
        true => ExitCode::from(Exit::Failed as u8),
        false => ExitCode::SUCCESS,
    })
}

fn list(operations: &[ApiOperation], json: bool) -> Result<ExitCode, Failure> {
    if json {
        let operations: Vec<Value> = operations
            .iter()
            .map(|one| {
                json!({"id": one.id, "method": one.method, "path": one.path, "title": one.title, "tags": one.tags})
            })
            .collect();
        output::result(&format!("{:#}", json!({"operations": operations})))?;
        return Ok(ExitCode::SUCCESS);
    }
    let line = |one: &ApiOperation| {
        let tags = match one.tags.is_empty() {
            true => String::new(),
            false => format!(" [{}]", one.tags.join(", ")),
        };
        let text = format!("{}{tags}\n  {} {}  {}", one.id, one.method, one.path, one.title);
        text.trim_end().to_owned()
    };
    let lines: Vec<String> = operations.iter().map(line).collect();
    output::result(&lines.join("\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// The definitions with their inputs, connections to make and remarks.
fn as_text(api: &Api, written: Option<&str>) -> String {
    let report = &api.report;
    let mut lines = vec![format!(
        "{}: {} of {} operations",
        api.title,
        api.node_definitions.len(),
        report.operations.len()
    )];
    if let Some(written) = written {
        lines.push(format!("  written to {written}"));
    }
    lines.extend(report.connections.iter().map(connection));
    for one in &report.operations {
        let Some(name) = &one.definition else { continue };
        let fields = one.fields.iter().map(|field| match field.required {
            true => format!("{}*", field.name),
            false => field.name.clone(),
        });
        let fields: Vec<String> = fields.collect();
        let fields = match fields.is_empty() {
            true => String::new(),
            false => format!(" ({})", fields.join(", ")),
        };
        lines.push(format!("  {name}: {} {}{fields}", one.method, one.path));
    }
    for item in report.items.iter().take(SHOWN_MAX) {
        let place = item.operation_id.as_deref().unwrap_or("the document");
        let level = match item.is_left_out {
            true => "left out",
            false => "differs ",
        };
        lines.push(format!("  {level}  {place}: {}", item.message));
    }
    if report.items.len() > SHOWN_MAX {
        lines.push(format!(
            "  … and {} more remarks: --json has all",
            report.items.len() - SHOWN_MAX
        ));
    }
    lines.join("\n")
}

fn connection(connection: &ApiConnection) -> String {
    let fields = connection
        .fields
        .iter()
        .map(|(name, value)| match value.as_str() {
            Some(value) => format!("{name} = {value}"),
            None => name.clone(),
        });
    let fields: Vec<String> = fields.collect();
    format!(
        "  connection to create: {} ({})",
        connection.name,
        fields.join(", ")
    )
}
