//! What the patterns of `heddle dev` find around them: the variables of one of the directory's environments, and values of secrets,
//! which come from a file that git ignores, or from the process's environment.

use super::local::Local;
use crate::cli::failure::Failure;
use crate::cli::input::{self, DATA_BYTES_MAX};
use crate::cli::output;
use heddle_model::secret_name;
use heddle_remote::directory::Directory;
use heddle_remote::environments;
use heddle_remote::server::plain;
use reqwest::Method;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Where values of secrets are, from the directory's root: in the folder that git ignores.
const SECRETS_FILE: &str = ".heddle/secrets.json";
/// The environment that is meant if there are several.
const DEVELOPMENT: &str = "development";
const VARIABLE: &str = "HEDDLE_SECRET_";

/// What was brought to the server last.
pub struct Given {
    wanted: Option<String>,
    file: PathBuf,
    /// Whether somebody has named the file, who means it wherever it is.
    is_named: bool,
    variables: Value,
    secrets: BTreeMap<String, String>,
    missing: BTreeSet<String>,
    noted: Option<String>,
}

impl Given {
    /// Takes variables from the named environment, and secrets from the named file, or else from the directory's own.
    pub fn new(wanted: Option<String>, named: Option<PathBuf>, root: &Path) -> Self {
        Given {
            wanted,
            is_named: named.is_some(),
            file: named.unwrap_or_else(|| root.join(SECRETS_FILE)),
            variables: json!({}),
            secrets: BTreeMap::new(),
            missing: BTreeSet::new(),
            noted: None,
        }
    }

    /// Where values of secrets are.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Brings what has changed to the server.
    pub async fn bring(&mut self, directory: &Directory, local: &Local) -> Result<(), Failure> {
        let name = self.environment(directory)?;
        let environment = match &name {
            Some(name) => environments::read(directory, name)?,
            None => None,
        };
        let noted = match &name {
            Some(name) => format!("variables are those of environments/{name}.json"),
            None => "there are no variables: no environment is named development".to_owned(),
        };
        if self.noted.as_ref() != Some(&noted) {
            output::note(&noted);
            self.noted = Some(noted);
        }
        let environment = environment.unwrap_or_else(|| json!({"variables": {}, "secrets": []}));
        let variables = &environment["variables"];
        if self.variables != *variables {
            let path = format!("{}/variables", local.environment);
            local.server.ask(Method::PUT, &path, Some(variables)).await?;
            self.variables = variables.clone();
        }
        let listed = environment["secrets"].as_array().into_iter().flatten();
        let listed = listed.filter_map(Value::as_str).map(str::to_owned).collect();
        if !self.is_named {
            // What came with the directory is to read nothing of its user's.
            directory.refuse_link(SECRETS_FILE)?;
        }
        self.bring_secrets(listed, local).await
    }

    /// The environment whose variables count. `None`: there is none.
    fn environment(&self, directory: &Directory) -> Result<Option<String>, Failure> {
        let files = directory.files_in(environments::FOLDER)?;
        if let Some(wanted) = &self.wanted {
            return match files.contains(wanted) {
                true => Ok(Some(wanted.clone())),
                false => Err(Failure::usage(format!(
                    "there is no environments/{wanted}.json; the environments are: {}",
                    files.join(", ")
                ))),
            };
        }
        let only = match files.as_slice() {
            [only] => Some(only.clone()),
            _ => None,
        };
        Ok(files.into_iter().find(|file| file == DEVELOPMENT).or(only))
    }

    async fn bring_secrets(&mut self, listed: BTreeSet<String>, local: &Local) -> Result<(), Failure> {
        let mut secrets: BTreeMap<String, String> = match self.file.exists() {
            true => input::read_json(&self.file, "the file of secrets", DATA_BYTES_MAX)?,
            false => BTreeMap::new(),
        };
        for (name, value) in std::env::vars_os() {
            let name = name.to_str().and_then(|name| name.strip_prefix(VARIABLE));
            if let (Some(name), Some(value)) = (name, value.to_str()) {
                secrets.insert(name.to_owned(), value.to_owned());
            }
        }
        if let Some(wrong) = secrets.keys().find(|name| !secret_name::is_allowed(name)) {
            let file = self.file.display();
            return Err(Failure::usage(format!(
                "{file}: `{}` can't be the name of a secret: use letters, digits and _",
                plain(wrong)
            )));
        }
        for (name, value) in &secrets {
            if self.secrets.get(name) == Some(value) {
                continue;
            }
            let path = format!("{}/secrets/{name}", local.environment);
            let body = json!({ "value": value });
            local.server.ask(Method::PUT, &path, Some(&body)).await?;
        }
        for name in self.secrets.keys().filter(|name| !secrets.contains_key(*name)) {
            let path = format!("{}/secrets/{name}", local.environment);
            local.server.ask(Method::DELETE, &path, None).await?;
        }
        let missing: BTreeSet<String> = listed
            .into_iter()
            .filter(|name| !secrets.contains_key(name))
            .collect();
        for name in missing.difference(&self.missing) {
            output::note(&format!(
                "the secret {name} has no value here: set it in {}, or as {VARIABLE}{name}",
                self.file.display()
            ));
        }
        (self.secrets, self.missing) = (secrets, missing);
        Ok(())
    }
}
