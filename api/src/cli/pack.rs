//! `heddle pack`: a pattern with what it names beside it in one text, as the API takes it.

use super::failure::{Exit, Failure};
use super::output;
use super::pattern::Input;
use clap::Args;
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;

/// Flags of `heddle pack`.
#[derive(Args, Debug)]
pub struct PackArgs {
    /// Pattern as JSON; - reads standard input.
    file: PathBuf,
    /// Custom node types, as a JSON object of definitions by type name.
    #[arg(long, value_name = "FILE")]
    definitions: Option<PathBuf>,
    /// A name for the pattern: the output can then be sent to POST /api/patterns, which creates it.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

/// Prints the pattern as `PUT /api/patterns/:id` takes it, with a name as `POST /api/patterns` does. Whether it is valid is for `validate`, and for deploying.
pub fn pack(args: &PackArgs) -> Result<ExitCode, Failure> {
    let Input::Pattern(pattern) = Input::read(&args.file, args.definitions.as_deref())? else {
        return Err(Failure::new(
            Exit::Invalid,
            "INVALID_PATTERN",
            "this is a compiled module: give the pattern that it was compiled from",
        ));
    };
    let mut packed = json!({"graphData": pattern.graph, "nodeDefinitions": pattern.definitions});
    if let Some(name) = &args.name {
        packed["name"] = json!(name);
    }
    output::result(&packed.to_string())?;
    Ok(ExitCode::SUCCESS)
}
