//! Commands between a directory and a server: `heddle login`, `init`, `pull`, `push`, `status`, `diff`, and those that ask for what
//! is deployed and running. What they do with patterns is `heddle-remote`'s; here is how people say it and what they are told.

mod changes;
mod deployments;
mod forwarding;
mod logging;
mod making;
mod replaying;
mod resending;
mod running;
mod tapping;
mod words;
mod workspace_files;

pub use changes::{DiffArgs, PullArgs, PushArgs, StatusArgs, diff, pull, push, status};
pub use deployments::{DeploymentsArgs, deployments};
pub use logging::{LogsArgs, log_line, logs};
pub use making::{MadeFrom, make_test};
pub use replaying::{ReplayArgs, replay};
pub use running::{DeployArgs, OpenArgs, PromoteArgs, RunsArgs, deploy, open, promote, runs};
pub use tapping::{TapArgs, tap};

use super::failure::{Exit, Failure};
use super::output;
use super::schema;
use super::serve;
use clap::Args;
use heddle_remote::Error;
use heddle_remote::directory::{Config, Directory};
use heddle_remote::profile;
use heddle_remote::server::{Server, address, plain};
use reqwest::Method;
use secrecy::SecretString;
use serde_json::Value;
use std::io::{self, BufRead, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Characters of a key; they have fewer.
const KEY_BYTES_MAX: u64 = 4096;

/// Flags of `heddle login`.
#[derive(Args, Debug)]
pub struct LoginArgs {
    /// The server's address, such as `https://heddle.example.com`.
    server: String,
    /// The workspace's id, if the key's user has several.
    #[arg(long)]
    workspace: Option<String>,
}

/// Flags of `heddle logout`.
#[derive(Args, Debug)]
pub struct LogoutArgs {
    /// The server's address.
    server: String,
    /// The workspace's id; without it, the keys for all workspaces of the server are forgotten.
    #[arg(long)]
    workspace: Option<String>,
}

/// Flags of `heddle init`.
#[derive(Args, Debug)]
pub struct InitArgs {
    /// The server's address, such as `https://heddle.example.com`.
    server: String,
    /// The directory; default: the current one.
    #[arg(default_value = ".")]
    directory: PathBuf,
    /// The workspace's id, if there are keys for several.
    #[arg(long)]
    workspace: Option<String>,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error {
            Error::File { .. } => Failure::new(Exit::File, "FILE", message),
            Error::Invalid { .. } => Failure::new(Exit::Invalid, "INVALID_FILE", message),
            Error::Refused { .. } => Failure::new(Exit::Failed, "REFUSED", message),
            Error::Unreachable(_) => Failure::new(Exit::Failed, "UNREACHABLE", message),
            Error::Usage(_) => Failure::usage(message),
        }
    }
}

/// Stores an API key for a workspace, after trying it.
pub fn login(args: &LoginArgs) -> Result<ExitCode, Failure> {
    let url = address(&args.server)?;
    if io::stdin().is_terminal() {
        output::note(&format!(
            "Create an API key in the console, under Keys ({url}), and paste it here:"
        ));
    }
    let mut line = String::new();
    let read = io::stdin().lock().take(KEY_BYTES_MAX).read_line(&mut line);
    read.map_err(|error| Failure::new(Exit::File, "FILE", format!("can't read the key: {error}")))?;
    let key = line.trim();
    if key.is_empty() {
        return Err(Failure::usage("there is no key on standard input"));
    }
    let key = SecretString::from(key);
    let server = Server::at(&url, key.clone())?;
    let workspace = serve::wait(workspace_of(&server, args.workspace.as_deref()))??;
    let id = workspace["id"].as_str().unwrap_or_default();
    let file = profile::path()?;
    profile::set(&file, &url, id, Some(&key))?;
    let name = plain(workspace["name"].as_str().unwrap_or_default());
    output::note(&format!(
        "{}: the key for “{name}” ({id}) is stored",
        file.display()
    ));
    Ok(ExitCode::SUCCESS)
}

/// The workspace that a key is for.
async fn workspace_of(server: &Server, wanted: Option<&str>) -> Result<Value, Failure> {
    let listed = server.ask(Method::GET, "/api/workspaces", None).await?;
    let all: Vec<&Value> = listed["data"].as_array().into_iter().flatten().collect();
    let found = match (wanted, all.as_slice()) {
        (Some(wanted), all) => all.iter().find(|workspace| workspace["id"] == wanted).copied(),
        (None, [one]) => Some(*one),
        (None, _) => None,
    };
    let Some(found) = found else {
        let lines = all.iter().map(|workspace| {
            let text = |name: &str| plain(workspace[name].as_str().unwrap_or_default());
            format!("  {}  {}", text("id"), text("name"))
        });
        let lines: Vec<String> = lines.collect();
        let what = match wanted {
            Some(wanted) => format!("the key's user has no workspace {wanted}"),
            None => "say which workspace the key is for, with --workspace".to_owned(),
        };
        return Err(Failure::usage(format!("{what}:\n{}", lines.join("\n"))));
    };
    // A key is for one workspace, whichever its user has besides.
    let id = found["id"].as_str().unwrap_or_default();
    let path = format!("/api/workspaces/{id}/environments");
    server.ask(Method::GET, &path, None).await?;
    Ok(found.clone())
}

/// Forgets keys.
pub fn logout(args: &LogoutArgs) -> Result<ExitCode, Failure> {
    let url = address(&args.server)?;
    let file = profile::path()?;
    let forgotten = match &args.workspace {
        Some(workspace) => vec![workspace.clone()],
        None => profile::workspaces(&file, &url)?,
    };
    for workspace in &forgotten {
        profile::set(&file, &url, workspace, None)?;
    }
    output::note(&format!(
        "keys forgotten: {}. They work until they are deleted in the console, under Keys",
        forgotten.len()
    ));
    Ok(ExitCode::SUCCESS)
}

/// Makes a directory a workspace.
pub fn init(args: &InitArgs) -> Result<ExitCode, Failure> {
    let url = address(&args.server)?;
    let workspace = match &args.workspace {
        Some(workspace) => workspace.clone(),
        None => only_workspace(&url)?,
    };
    // Fails here rather than at the first pull.
    let key = profile::key(&profile::path()?, &url, &workspace)?;
    let server = Server::at(&url, key)?;
    let path = format!("/api/workspaces/{workspace}/environments");
    serve::wait(server.ask(Method::GET, &path, None))??;
    let config = Config {
        server: url,
        workspace,
    };
    let directory = Directory::create(&args.directory, config)?;
    schema::keep(&directory);
    schema::set_up_editor(&directory)?;
    output::note(&format!(
        "{} is the workspace now: `heddle pull` brings its patterns",
        directory.root().display()
    ));
    Ok(ExitCode::SUCCESS)
}

fn only_workspace(url: &str) -> Result<String, Failure> {
    let mut all = profile::workspaces(&profile::path()?, url)?;
    match (all.pop(), all.is_empty()) {
        (Some(one), true) => Ok(one),
        (None, _) => Err(Failure::usage(format!(
            "there is no key for {url}: `heddle login {url}`"
        ))),
        (Some(_), false) => Err(Failure::usage(format!(
            "there are keys for several workspaces of {url}: say which with --workspace"
        ))),
    }
}

/// A pattern's name, also where its directory is given, as a shell completes it.
pub fn pattern_name(given: &str) -> &str {
    let name = given.trim_end_matches('/');
    name.strip_prefix("patterns/").unwrap_or(name)
}

/// The directory that the command was started in, and its server.
fn opened() -> Result<(Directory, Server), Failure> {
    let here =
        std::env::current_dir().map_err(|error| Failure::new(Exit::File, "FILE", error.to_string()))?;
    opened_at(&here)
}

fn opened_at(here: &Path) -> Result<(Directory, Server), Failure> {
    let directory = Directory::find(here)?;
    let url = address(&directory.config.server)?;
    let key = profile::key_of_directory(&profile::path()?, &url, &directory.config.workspace)?;
    Ok((directory, Server::at(&url, key)?))
}
