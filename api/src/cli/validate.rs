//! `heddle validate`: every error and warning of one or several patterns.

use super::diagnostics;
use super::failure::{Exit, Failure};
use super::output;
use super::pattern::Input;
use super::report::Report;
use clap::Args;
use heddle_compiler::{Explained, Options, Route, Severity, Why};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Flags of `heddle validate`.
#[derive(Args, Debug)]
pub struct ValidateArgs {
    /// Patterns as JSON; - reads standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Custom node types, as a JSON object of definitions by type name.
    #[arg(long, value_name = "FILE")]
    definitions: Option<PathBuf>,
    /// List every expression: compiled, or evaluated by the JavaScript engine and why.
    #[arg(long)]
    explain: bool,
    /// Print one JSON object: {valid, files: [{file, valid, errors, warnings, expressions}]}.
    #[arg(long)]
    pub json: bool,
}

/// What came of one file.
struct Checked {
    exit: Option<Exit>,
    json: Value,
}

/// Runs the command. A file that can't be read does not keep the others from being checked.
pub fn validate(args: &ValidateArgs) -> Result<ExitCode, Failure> {
    let mut worst = None;
    let mut files = Vec::new();
    for file in &args.files {
        let checked = check(file, args)?;
        worst = worst.max(checked.exit.map(|exit| exit as u8));
        files.push(checked.json);
    }
    if args.json {
        output::result(&format!(
            "{:#}",
            json!({"valid": worst.is_none(), "files": files})
        ))?;
    }
    Ok(worst.map_or(ExitCode::SUCCESS, ExitCode::from))
}

fn check(file: &Path, args: &ValidateArgs) -> Result<Checked, Failure> {
    let name = file.display().to_string();
    let pattern = match Input::read(file, args.definitions.as_deref()) {
        Ok(Input::Pattern(pattern)) => pattern,
        Ok(Input::Module { name, .. }) => {
            let message = "this is a module, but only patterns can be validated";
            output::note(&Report::error(message).in_file(&name).to_string());
            return Ok(unreadable(&name, Exit::Invalid, "INVALID_PATTERN", message));
        }
        Err(Failure::Reported(reported)) => {
            output::note(&reported.report);
            return Ok(unreadable(&name, reported.exit, reported.code, &reported.message));
        }
        Err(Failure::Closed) => return Err(Failure::Closed),
    };
    let (graph, definitions, options) = (&pattern.graph, &pattern.definitions, Options::default());
    let (explained, found) = match args.explain {
        true => heddle_compiler::explain(graph, definitions, &options),
        false => (Vec::new(), heddle_compiler::check(graph, definitions, &options)),
    };
    let (errors, warnings) = diagnostics::count(&found);
    output::note_if_any(&diagnostics::render(&pattern, &found));
    if !args.json {
        let verdict = if errors > 0 {
            "does not compile"
        } else {
            "is valid"
        };
        let summary = diagnostics::summary(errors, warnings);
        output::result(&format!("{}: {verdict} ({summary})", pattern.source.name))?;
        if args.explain {
            output::result(&explanation(&explained))?;
        }
    }
    let of = |severity| {
        found
            .iter()
            .filter(|it| it.severity == severity)
            .map(|it| json!(it))
            .collect::<Vec<_>>()
    };
    let mut json = json!({
        "file": name,
        "valid": errors == 0,
        "errors": of(Severity::Error),
        "warnings": of(Severity::Warning),
    });
    if args.explain {
        json["expressions"] = json!(explained);
    }
    Ok(Checked {
        exit: (errors > 0).then_some(Exit::Invalid),
        json,
    })
}

/// A line for each expression and each module of code, and one for each reason.
fn explanation(explained: &[Explained]) -> String {
    let mut text = String::new();
    // How many there are, and how many of them the engine evaluates.
    let (mut expressions, mut code) = ((0_usize, 0_usize), (0_usize, 0_usize));
    for expression in explained {
        let route = match expression.route {
            Route::Compiled => "compiled",
            Route::Engine => "engine  ",
        };
        let count = if expression.is_code {
            &mut code
        } else {
            &mut expressions
        };
        count.0 += 1;
        count.1 += usize::from(expression.route == Route::Engine);
        let definition = expression
            .definition
            .as_deref()
            .map(|name| format!("definition {name}"));
        let place: Vec<&str> = definition
            .as_deref()
            .into_iter()
            .chain(expression.node_id.as_deref())
            .chain([expression.parameter.as_str()])
            .collect();
        let source = in_one_line(&expression.expression);
        text.push_str(&format!("  {route}  {}: {source}\n", place.join(" · ")));
        if let Some(span) = &expression.compiled_part {
            let part = expression.expression.get(span.clone()).unwrap_or_default();
            let at = span.start + 1;
            text.push_str(&format!(
                "            compiled all the same, at {at}: {}\n",
                in_one_line(part)
            ));
        }
        for Why { what, span } in &expression.reasons {
            let part = expression.expression.get(span.clone()).unwrap_or_default();
            let at = span.start + 1;
            text.push_str(&format!("            {what}, at {at}: {}\n", in_one_line(part)));
        }
    }
    let (all, by_engine) = expressions;
    text.push_str(&format!(
        "  {} of {all} expressions compiled, {by_engine} evaluated by the JavaScript engine\n",
        all - by_engine
    ));
    let (all, by_engine) = code;
    if all > 0 {
        text.push_str(&format!(
            "  {} of {all} modules of code compiled, {by_engine} executed by the JavaScript engine\n",
            all - by_engine
        ));
    }
    text
}

/// The text without line breaks, shortened.
fn in_one_line(text: &str) -> String {
    const CHARACTERS_MAX: usize = 100;
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(CHARACTERS_MAX) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default()),
        None => line,
    }
}

fn unreadable(file: &str, exit: Exit, code: &str, message: &str) -> Checked {
    let error = json!({"severity": "error", "code": code, "nodeId": null, "message": message});
    Checked {
        exit: Some(exit),
        json: json!({"file": file, "valid": false, "errors": [error], "warnings": []}),
    }
}
