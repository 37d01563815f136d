//! The server of `heddle dev`: this program once more, on an address of this machine alone, with its data in a directory that is
//! removed at the end, and one user.

use crate::cli::data_dir;
use crate::cli::failure::{Exit, Failure};
use crate::cli::run::user_cache_dir;
use heddle_model::entropy;
use heddle_remote::Error;
use heddle_remote::dev_file::Running;
use heddle_remote::server::Server;
use reqwest::Method;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

const EMAIL: &str = "dev@heddle.example";
/// A server that was asked to end may take so long. Its data is not needed any more.
const END_MAX: Duration = Duration::from_secs(3);
const END_LOOK: Duration = Duration::from_millis(20);
/// Bytes at the end of the server's log that are shown if it has ended by itself.
const LOG_SHOWN: usize = 4_000;

/// A folder that goes with its owner.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // Nobody is left to be told.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A process that goes with its owner.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
        }
        let mut waited = Duration::ZERO;
        while waited < END_MAX && matches!(self.0.try_wait(), Ok(None)) {
            std::thread::sleep(END_LOOK);
            waited += END_LOOK;
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A running server.
pub struct Local {
    // Ends before its folder is removed.
    process: Process,
    _output: BufReader<ChildStdout>,
    folder: Folder,
    pub server: Server,
    /// The path of its only environment in the API.
    pub environment: String,
    key: String,
    password: String,
}

fn failed(what: &str, error: &dyn std::fmt::Display) -> Failure {
    Failure::new(Exit::File, "FILE", format!("can't {what}: {error}"))
}

impl Local {
    /// Starts it, and waits until it listens.
    pub async fn start(
        listen: SocketAddr,
        egress: &[String],
        cache_dir: Option<&Path>,
    ) -> Result<Self, Failure> {
        let name = format!("heddle-dev-{}", hex::encode(entropy::random::<[u8; 8]>()));
        let folder = Folder(std::env::temp_dir().join(name));
        data_dir::make(&folder.0)?;
        let cache_dir = cache_dir.map(Path::to_path_buf).or_else(user_cache_dir);
        let command = |arguments: &[&str]| command(arguments, &folder.0, cache_dir.as_deref());
        let password = user(command(&["user", "create", EMAIL, "--json"])?)?;
        let mut serve = command(&["serve", "--registration", "closed"])?;
        serve.args(["--listen", &listen.to_string()]);
        if !egress.is_empty() {
            serve.args(["--egress-allow", &egress.join(",")]);
        }
        let log = File::create(folder.0.join("log")).map_err(|error| failed("write a log", &error))?;
        let child = serve
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn();
        let mut process = Process(child.map_err(|error| failed("start a server", &error))?);
        let output = process.0.stdout.take();
        let output = output.ok_or_else(|| failed("start a server", &"it has no output"))?;
        // The first line takes a while where nothing is compiled yet, and signals are not to wait for it.
        let read = tokio::task::spawn_blocking(move || first_line(output)).await;
        let (line, output) = read
            .map_err(|error| failed("start a server", &error))?
            .map_err(|error| failed("start a server", &error))?;
        let Some(url) = line.trim().strip_prefix("listening on ") else {
            return Err(ended(&folder.0));
        };
        let (key, environment) = sign_in(url, &password).await?;
        Ok(Local {
            process,
            _output: output,
            server: Server::at(url, key.as_str().into())?,
            folder,
            environment,
            key,
            password,
        })
    }

    /// The line that people see about it.
    pub fn welcome(&self) -> String {
        format!(
            "the console is at {}: sign in as {EMAIL} with the password {}",
            self.server.url(),
            self.password
        )
    }

    /// What other commands read about it.
    pub fn running(&self, patterns: BTreeMap<String, String>) -> Running {
        Running {
            url: self.server.url().to_owned(),
            key: self.key.clone(),
            patterns,
        }
    }

    /// Fails if it has ended by itself.
    pub fn check(&mut self) -> Result<(), Failure> {
        match self.process.0.try_wait() {
            Ok(None) => Ok(()),
            _ => Err(ended(&self.folder.0)),
        }
    }
}

/// This program, with settings of nobody's but ours.
fn command(arguments: &[&str], folder: &Path, cache_dir: Option<&Path>) -> Result<Command, Failure> {
    let program = std::env::current_exe().map_err(|error| failed("find this program", &error))?;
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("HEDDLE_") {
            command.env_remove(name);
        }
    }
    // Where no file of settings is either.
    command.args(arguments).current_dir(folder);
    command.env("HEDDLE_DATA_DIR", folder);
    if let Some(cache_dir) = cache_dir {
        let absolute = std::path::absolute(cache_dir);
        command.env(
            "HEDDLE_CACHE_DIR",
            absolute.map_err(|error| failed("find the cache", &error))?,
        );
    }
    Ok(command)
}

/// Creates the user: the password that they were given.
fn user(mut command: Command) -> Result<String, Failure> {
    let made = command.stdin(Stdio::null()).output();
    let made = made.map_err(|error| failed("make a user", &error))?;
    let created: Value = serde_json::from_slice(&made.stdout).unwrap_or_default();
    let password = created["password"].as_str().map(str::to_owned);
    password.ok_or_else(|| failed("make a user", &String::from_utf8_lossy(&made.stderr)))
}

fn first_line(output: ChildStdout) -> io::Result<(String, BufReader<ChildStdout>)> {
    let mut output = BufReader::new(output);
    let mut line = String::new();
    output.read_line(&mut line)?;
    Ok((line, output))
}

fn ended(folder: &Path) -> Failure {
    let log = fs::read(folder.join("log")).unwrap_or_default();
    let from = log.len().saturating_sub(LOG_SHOWN);
    let log = String::from_utf8_lossy(log.get(from..).unwrap_or_default()).into_owned();
    Failure::new(
        Exit::Failed,
        "UNHEALTHY",
        format!("the server has ended. The end of its log:\n{log}"),
    )
}

/// A key to the user's workspace, and the address of its environment.
async fn sign_in(url: &str, password: &str) -> Result<(String, String), Failure> {
    let strange = |what: &str| Error::Unreachable(format!("{url}: there is no {what} in its answer"));
    let text = |value: &Value, what: &str| value.as_str().map(str::to_owned).ok_or_else(|| strange(what));
    let stranger = Server::at(url, "".into())?;
    let login = json!({"email": EMAIL, "password": password});
    let session = stranger
        .ask(Method::POST, "/api/auth/login", Some(&login))
        .await?;
    let session = Server::at(url, text(&session["data"]["token"], "token")?.into())?;
    let name = json!({"name": "heddle dev"});
    let made = session
        .ask(Method::POST, "/api/auth/api-keys", Some(&name))
        .await?;
    let key = text(&made["data"]["key"], "key")?;
    let all = session.ask(Method::GET, "/api/workspaces", None).await?;
    let workspace = text(&all["data"][0]["id"], "workspace")?;
    let environments = format!("/api/workspaces/{workspace}/environments");
    let all = session.ask(Method::GET, &environments, None).await?;
    let id = text(&all["data"][0]["id"], "environment")?;
    Ok((key, format!("{environments}/{id}")))
}
