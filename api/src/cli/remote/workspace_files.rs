//! What `heddle status`, `diff`, `pull` and `push` do with what is around patterns: environments, and the list of connections.

use super::pattern_name;
use super::words::{line, report, state_of, word};
use crate::cli::failure::Failure;
use crate::cli::output;
use heddle_remote::connections::{self, CONNECTIONS, Connections};
use heddle_remote::directory::Directory;
use heddle_remote::environments::{self, Environment};
use heddle_remote::merge::Prefer;
use heddle_remote::server::{Server, plain};
use heddle_remote::sync::{Done, PushOptions, Since};
use serde_json::{Value, json};

/// Before the names of environments' files.
const FOLDER: &str = "environments/";

/// What a command is about; `None`: all.
pub struct Selection {
    /// By the names of their directories.
    pub patterns: Option<Vec<String>>,
    /// By the names of their files.
    environments: Option<Vec<String>>,
}

impl Selection {
    /// What is named, or all if nothing is.
    pub fn of(names: &[String]) -> Self {
        if names.is_empty() {
            return Selection {
                patterns: None,
                environments: None,
            };
        }
        let (mut patterns, mut environments) = (Vec::new(), Vec::new());
        for name in names {
            match name.strip_prefix(FOLDER) {
                Some(file) => environments.push(file.trim_end_matches(".json").to_owned()),
                None => patterns.push(pattern_name(name).to_owned()),
            }
        }
        Selection {
            patterns: Some(patterns),
            environments: Some(environments),
        }
    }

    /// Whether it is about this pattern.
    pub fn has_pattern(&self, name: &str) -> bool {
        let named = self.patterns.as_ref();
        named.is_none_or(|names| names.iter().any(|named| named == name))
    }
}

/// What is around patterns, on both sides.
pub struct WorkspaceFiles {
    environments: Vec<Environment>,
    /// Only where all is asked for.
    connections: Option<Connections>,
}

impl WorkspaceFiles {
    /// Whatever the workspace has.
    pub async fn all(directory: &Directory, server: &Server) -> Result<Self, Failure> {
        Ok(WorkspaceFiles {
            environments: environments::all(directory, server).await?,
            connections: Some(connections::all(directory, server).await?),
        })
    }

    /// As far as the command names it.
    pub async fn wanted(directory: &Directory, server: &Server, wanted: &Selection) -> Result<Self, Failure> {
        let Some(files) = &wanted.environments else {
            return Self::all(directory, server).await;
        };
        let mut environments = match files.is_empty() {
            true => Vec::new(),
            false => environments::all(directory, server).await?,
        };
        let is_there = |file: &str| environments.iter().any(|environment| environment.file == file);
        if let Some(missing) = files.iter().find(|file| !is_there(file)) {
            return Err(Failure::usage(format!(
                "there is no {FOLDER}{missing}.json, and the server has no such environment"
            )));
        }
        environments.retain(|environment| files.contains(&environment.file));
        Ok(WorkspaceFiles {
            environments,
            connections: None,
        })
    }

    /// For `status --json`.
    pub fn json(&self) -> Vec<Value> {
        let environments = self.environments.iter().map(|environment| {
            let (here, there) = (word(environment.here), word(environment.there));
            json!({"file": environment.place(), "here": here, "there": there, "missing": environment.missing})
        });
        let connections = self.connections.iter().filter(|connections| is_told(connections));
        let connections = connections.map(|connections| {
            json!({"file": CONNECTIONS, "here": "same", "there": word(connections.there), "missing": connections.missing})
        });
        environments.chain(connections).collect()
    }

    /// For `status`: what differs, and what is listed and not there.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for environment in &self.environments {
            if !environment.is_in_step() {
                let state = state_of(environment.here, environment.there);
                lines.push(format!("{:44} {state}", environment.place()));
            }
        }
        if let Some(connections) = &self.connections
            && connections.there != Since::Same
        {
            let state = state_of(Since::Same, connections.there);
            lines.push(format!("{CONNECTIONS:44} {state}"));
        }
        lines.extend(self.missing());
        lines
    }

    /// What files list and the server has not.
    fn missing(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for environment in &self.environments {
            // Of one that is not there yet, all secrets are missing as well.
            for secret in &environment.missing {
                let secret = plain(secret);
                lines.push(format!(
                    "{:44} secret {secret} is not on the server: set it there",
                    environment.place()
                ));
            }
        }
        let connections = self
            .connections
            .iter()
            .flat_map(|connections| &connections.missing);
        lines.extend(connections.map(|why| format!("{CONNECTIONS:44} {why}")));
        lines
    }

    /// Prints what has changed here, or on the server.
    pub fn diff(&self, directory: &Directory, on_server: bool) -> Result<(), Failure> {
        for environment in &self.environments {
            let side = if on_server {
                environment.there
            } else {
                environment.here
            };
            if side == Since::Same {
                continue;
            }
            output::result(&format!("{}:", environment.place()))?;
            for change in environment.changes(directory, on_server) {
                output::result(&format!("  {}", line(&change)))?;
            }
            for secret in environment.unlisted().filter(|_| on_server) {
                output::result(&format!("  + secret {}", plain(&secret)))?;
            }
        }
        let connections = self.connections.iter().filter(|_| on_server);
        for connections in connections.filter(|connections| connections.there != Since::Same) {
            output::result(&format!("{CONNECTIONS}:"))?;
            for unlisted in connections.unlisted() {
                output::result(&format!("  + {unlisted}"))?;
            }
        }
        Ok(())
    }

    /// What was done with what.
    pub fn pull(
        &self,
        directory: &mut Directory,
        prefer: Option<Prefer>,
        dry_run: bool,
    ) -> Result<Vec<(String, Done)>, Failure> {
        let mut all = Vec::new();
        for environment in &self.environments {
            let done = environments::pull(directory, environment, prefer, dry_run)?;
            all.extend(done.map(|done| (environment.place(), done)));
        }
        if let Some(connections) = &self.connections {
            let done = connections::pull(directory, connections, dry_run)?;
            all.extend(done.map(|done| (CONNECTIONS.to_owned(), done)));
        }
        Ok(all)
    }

    /// What keeps it from being pushed.
    pub fn obstacles(&self, directory: &Directory, options: PushOptions<'_>) -> Vec<String> {
        let environments = self.environments.iter().filter_map(|environment| {
            let why = environments::obstacle(directory, environment, options)?;
            Some(format!("  {}: {why}", environment.place()))
        });
        environments.collect()
    }

    /// How many were pushed, before the patterns.
    pub async fn push_variables(
        &mut self,
        directory: &mut Directory,
        server: &Server,
        options: PushOptions<'_>,
    ) -> Result<usize, Failure> {
        let mut count = 0;
        for environment in &mut self.environments {
            let done = environments::push_variables(directory, server, environment, options).await?;
            if let Some(done) = done {
                count += 1;
                output::result(&report(&environment.place(), &done))?;
            }
        }
        Ok(count)
    }

    /// How many were pushed, after the patterns; and what people have to do themselves.
    pub async fn push_schedules(
        &mut self,
        directory: &mut Directory,
        server: &Server,
        options: PushOptions<'_>,
    ) -> Result<usize, Failure> {
        let mut count = 0;
        for environment in &mut self.environments {
            let place = environment.place();
            let pushed = environments::push_schedules(directory, server, environment, options).await?;
            let (done, waiting) = pushed;
            if let Some(done) = done {
                count += 1;
                let text = match done {
                    Done::Stored => format!("{place}: schedules stored"),
                    done => report(&place, &done),
                };
                output::result(&text)?;
            } else if environment.here == Since::Gone && environment.there == Since::Same {
                output::note(&format!(
                    "{place}: removed here, and still on the server: --delete deletes it with its secrets"
                ));
            }
            for pattern in waiting {
                output::note(&format!(
                    "{place}: the schedule of {} waits until it is deployed there: push again after `heddle deploy`",
                    plain(&pattern)
                ));
            }
        }
        self.missing().iter().for_each(|line| output::note(line));
        Ok(count)
    }
}

/// Where nothing is listed and nothing is there, there is nothing to print.
fn is_told(connections: &Connections) -> bool {
    connections.there != Since::Same || !connections.missing.is_empty()
}
