//! Variables and secrets for runs outside of a service: flags, and the files that they name.

use super::failure::Failure;
use super::input::{self, DATA_BYTES_MAX};
use super::values;
use clap::Args;
use heddle_runtime::Secrets;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Flags of what `$vars` has.
#[derive(Args, Debug)]
pub struct Variables {
    /// A variable, `$vars.NAME`, as a string; can be given several times.
    #[arg(long = "var", value_name = "NAME=VALUE", value_parser = values::variable)]
    variables: Vec<(String, String)>,
    /// Variables as a JSON object.
    #[arg(long = "vars", value_name = "FILE")]
    variables_file: Option<PathBuf>,
}

impl Variables {
    /// The file's variables; flags for single ones take precedence.
    pub fn read(&self) -> Result<Map<String, Value>, Failure> {
        let mut variables: Map<String, Value> = match &self.variables_file {
            Some(path) => input::read_json(path, "the file of variables", DATA_BYTES_MAX)?,
            None => Map::new(),
        };
        let given = self.variables.iter();
        variables.extend(given.map(|(name, value)| (name.clone(), value.as_str().into())));
        Ok(variables)
    }
}

/// The secrets of a file, if there is one.
pub fn secrets(path: Option<&Path>) -> Result<Secrets, Failure> {
    let secrets: BTreeMap<String, String> = match path {
        Some(path) => input::read_json(path, "the file of secrets", DATA_BYTES_MAX)?,
        None => BTreeMap::new(),
    };
    Ok(secrets
        .into_iter()
        .map(|(name, value)| (name, value.into()))
        .collect())
}
