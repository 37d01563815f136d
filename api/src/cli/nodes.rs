//! `heddle nodes`: the standard node types, as a list, one by one, as JSON or as the reference page.

use super::failure::{Exit, Failure};
use super::output;
use super::reference::{self, Row};
use super::report::Report;
use crate::catalogue::{self, category_name, type_name};
use anstyle::Style;
use clap::Args;
use heddle_catalogue::{NodeType, Outputs, Port, node_type, node_types};
use std::fmt::Write;
use std::process::ExitCode;
use unicode_width::UnicodeWidthStr;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const COLUMNS_MAX: usize = 100;

/// Flags of `heddle nodes`.
#[derive(Args, Debug)]
pub struct NodesArgs {
    /// Node type to describe, for example ForEach; without it, all are listed.
    #[arg(value_name = "TYPE")]
    node_type: Option<String>,
    /// Print JSON; parameters are described by JSON Schema.
    #[arg(long)]
    pub json: bool,
    /// Print the reference page as Markdown.
    #[arg(long, conflicts_with_all = ["json", "node_type"])]
    markdown: bool,
}

/// Runs the command.
pub fn nodes(args: &NodesArgs) -> Result<ExitCode, Failure> {
    let text = match &args.node_type {
        None if args.markdown => reference::page(),
        None if args.json => pretty(&catalogue::all()),
        None => list(),
        Some(name) => {
            let found = node_type(name).ok_or_else(|| unknown(name))?;
            if args.json {
                pretty(&catalogue::describe(found))
            } else {
                page(found)
            }
        }
    };
    output::result(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn pretty(value: &serde_json::Value) -> String {
    format!("{value:#}")
}

fn unknown(name: &str) -> Failure {
    let message = format!("the node type `{name}` does not exist");
    let near = node_types()
        .iter()
        .map(|node_type| {
            (
                strsim::jaro_winkler(&node_type.name.to_lowercase(), &name.to_lowercase()),
                node_type.name,
            )
        })
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let help = match near {
        Some((_, near)) => format!("did you mean `{near}`?"),
        None => "`heddle nodes` lists them all".to_owned(),
    };
    let report = Report::error(&message).help(&help).to_string();
    Failure::with_report(Exit::Usage, "UNKNOWN_TYPE", message, report)
}

fn list() -> String {
    let mut text = String::new();
    let width = node_types()
        .iter()
        .map(|node_type| node_type.name.len())
        .max()
        .unwrap_or(0);
    let mut category = None;
    for node_type in node_types() {
        if category != Some(node_type.category) {
            let gap = if category.is_some() { "\n" } else { "" };
            let _ = writeln!(text, "{gap}{BOLD}{}{BOLD:#}", category_name(node_type.category));
            category = Some(node_type.category);
        }
        let summary = wrapped(first_sentence(node_type.description), width + 4);
        let _ = writeln!(text, "  {:width$}  {summary}", node_type.name);
    }
    let _ = writeln!(text, "\n{DIM}heddle nodes TYPE describes one.{DIM:#}");
    text
}

fn first_sentence(text: &str) -> &str {
    text.split_once(". ")
        .map_or(text, |(first, _)| first)
        .trim_end_matches('.')
}

fn page(node_type: &NodeType) -> String {
    let mut text = String::new();
    let (name, category) = (node_type.name, category_name(node_type.category));
    let _ = writeln!(
        text,
        "{BOLD}{name}{BOLD:#} {DIM}({category}){DIM:#}\n{}",
        wrapped(node_type.description, 0)
    );
    ports(&mut text, "Inputs", node_type.inputs);
    match node_type.outputs {
        Outputs::Fixed(outputs) => ports(&mut text, "Outputs", outputs),
        Outputs::SwitchCases => table(
            &mut text,
            "Outputs",
            &[
                [
                    "<case name>".to_owned(),
                    "any".to_owned(),
                    "One for each of `cases`".to_owned(),
                ],
                [
                    "default".to_owned(),
                    "any".to_owned(),
                    "When no case fits".to_owned(),
                ],
            ],
        ),
    }
    let rows: Vec<[String; 3]> = reference::rows(node_type).iter().map(parameter_cells).collect();
    table(&mut text, "Parameters", &rows);
    if rows.iter().any(|row| row[0].ends_with('*')) {
        let _ = writeln!(text, "  {DIM}* required{DIM:#}");
    }
    for example in node_type.examples {
        let _ = writeln!(text, "\n{BOLD}Example: {}{BOLD:#}", example.title);
        for (name, json) in [
            ("parameters", example.parameters),
            ("input", example.input),
            ("output", example.output),
        ] {
            let _ = writeln!(text, "  {name:10}  {json}");
        }
    }
    text
}

fn ports(text: &mut String, title: &str, ports: &[Port]) {
    let rows: Vec<[String; 3]> = ports
        .iter()
        .map(|port| {
            let mark = if port.required { "*" } else { "" };
            [
                format!("{}{mark}", port.name),
                type_name(port.value_type).to_owned(),
                port.description.to_owned(),
            ]
        })
        .collect();
    table(text, title, &rows);
}

fn parameter_cells(row: &Row) -> [String; 3] {
    let mut description = row.description.to_owned();
    if !row.default.is_empty() {
        let _ = write!(description, " Default: {}.", row.default);
    }
    if row.literal {
        description.push_str(" Literal.");
    }
    [
        format!("{}{}", row.path, if row.required { "*" } else { "" }),
        row.value_type.clone(),
        description,
    ]
}

fn table(text: &mut String, title: &str, rows: &[[String; 3]]) {
    if rows.is_empty() {
        return;
    }
    let width = rows.iter().map(|row| row[0].width()).max().unwrap_or(0);
    let _ = writeln!(text, "\n{BOLD}{title}{BOLD:#}");
    for [name, value_type, description] in rows {
        let _ = writeln!(text, "  {name:width$}  {DIM}{value_type}{DIM:#}");
        let _ = writeln!(text, "      {}", wrapped(description, 6));
    }
}

/// The text in lines of at most [`COLUMNS_MAX`] columns, the second and later ones after `indent` spaces.
fn wrapped(text: &str, indent: usize) -> String {
    let mut out = String::new();
    let mut column = indent;
    for word in text.split_whitespace() {
        if !out.is_empty() && column + 1 + word.width() > COLUMNS_MAX {
            let _ = write!(out, "\n{:indent$}", "");
            column = indent;
        } else if !out.is_empty() {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += word.width();
    }
    out
}
