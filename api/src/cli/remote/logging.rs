//! `heddle logs`: what the newest runs of a directory's workspace have logged, or with `-f` what happens there from now on.

use super::opened;
use super::running::{id_of, newest, run_line};
use crate::cli::failure::Failure;
use crate::cli::output;
use crate::cli::serve;
use clap::Args;
use heddle_remote::Error;
use heddle_remote::directory::Directory;
use heddle_remote::server::{Server, plain};
use reqwest::Method;
use serde_json::{Value, json};
use std::process::ExitCode;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Sender, channel};

/// Events that wait while the server is asked for what runs have logged. Of more, some are left out, and that is said.
const WAITING: usize = 10_000;
/// The event that says that others are missing.
const MISSED: &str = "missed";
/// The first event of a connection.
const CONNECTED: &str = "server";

/// Flags of `heddle logs`.
#[derive(Args, Debug)]
pub struct LogsArgs {
    /// The pattern, by its directory's name; default: all of the workspace.
    pattern: Option<String>,
    /// Follow what happens from now on, until it is interrupted: runs with what they have logged, once they end, what is saved and deployed, what webhooks receive.
    #[arg(short, long)]
    follow: bool,
    /// Without -f: of how many runs, the newest.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
    /// Print JSON, one object per line.
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
pub fn logs(args: &LogsArgs) -> Result<ExitCode, Failure> {
    let (directory, server) = opened()?;
    let pattern = args.pattern.as_deref();
    let pattern = pattern.map(|name| id_of(&directory, name)).transpose()?;
    match args.follow {
        true => serve::wait(follow(args, &directory, &server, pattern))??,
        false => serve::wait(print(args, &server, pattern))??,
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the newest runs, the newest last, each with what its nodes have logged.
async fn print(args: &LogsArgs, server: &Server, pattern: Option<&str>) -> Result<(), Failure> {
    let runs = newest(server, pattern, None, usize::from(args.limit)).await?;
    for run in runs.iter().rev() {
        let lines = logged(server, &run["deploymentId"], &run["id"]).await?;
        if args.json {
            output::result(&json!({"run": run, "logs": lines}).to_string())?;
        } else {
            print_run(run, &lines)?;
        }
    }
    Ok(())
}

/// What the nodes of a run have logged.
async fn logged(server: &Server, deployment: &Value, run: &Value) -> Result<Value, Error> {
    let [deployment, run] = [deployment, run].map(|id| id.as_str().unwrap_or_default());
    let path = format!("/api/deployments/{deployment}/runs/{run}");
    let whole = server.ask(Method::GET, &path, None).await?;
    Ok(whole["data"]["logOutput"].clone())
}

fn print_run(run: &Value, lines: &Value) -> Result<(), Failure> {
    output::result(&run_line(run))?;
    for line in lines.as_array().into_iter().flatten() {
        output::result(&log_line(line))?;
    }
    Ok(())
}

/// A line that a node has logged.
pub fn log_line(line: &Value) -> String {
    let text = |name: &str| plain(line[name].as_str().unwrap_or_default());
    let node = match line["nodeId"].as_str() {
        Some(node) => format!("{}: ", plain(node)),
        None => String::new(),
    };
    format!("  {:5} {node}{}", text("level"), text("message"))
}

/// Prints what happens until the connection ends.
async fn follow(
    args: &LogsArgs,
    directory: &Directory,
    server: &Server,
    pattern: Option<&str>,
) -> Result<(), Failure> {
    let (sender, mut receiver) = channel(WAITING);
    // What has come before the connection ended is printed all the same.
    let listening = async { Ok::<_, Failure>(listen(server, pattern, sender).await) };
    let telling = async {
        while let Some((event, data)) = receiver.recv().await {
            print_event(args, directory, server, &event, &data).await?;
        }
        Ok::<_, Failure>(())
    };
    let (listened, ()) = tokio::try_join!(listening, telling)?;
    listened.map_err(Failure::from)
}

/// Hands on each event by its name, with its data.
async fn listen(
    server: &Server,
    pattern: Option<&str>,
    sender: Sender<(String, Value)>,
) -> Result<(), Error> {
    let mut event = String::new();
    let mut is_missing = false;
    let each = |line: &str| {
        if let Some(name) = line.strip_prefix("event:") {
            name.trim().clone_into(&mut event);
        }
        let Some(data) = line.strip_prefix("data:") else {
            return true;
        };
        let Ok(data) = serde_json::from_str::<Value>(data.trim()) else {
            return true;
        };
        let is_of_all = matches!(event.as_str(), MISSED | CONNECTED);
        if !is_of_all && pattern.is_some_and(|pattern| data["patternId"] != pattern) {
            return true;
        }
        if is_missing {
            let missed = (MISSED.to_owned(), json!({"what": "all"}));
            is_missing = sender.try_send(missed).is_err();
        }
        match sender.try_send((event.clone(), data)) {
            Ok(()) => true,
            Err(TrySendError::Full(_)) => {
                is_missing = true;
                true
            }
            Err(TrySendError::Closed(_)) => false,
        }
    };
    server.stream("/api/stream", each).await
}

/// Prints an event; a run that has ended with what it has logged.
async fn print_event(
    args: &LogsArgs,
    directory: &Directory,
    server: &Server,
    event: &str,
    data: &Value,
) -> Result<(), Failure> {
    let lines = match event == "run" && data["phase"] == "ended" {
        true => match logged(server, &data["deploymentId"], &data["runId"]).await {
            Ok(lines) => Some(lines),
            // It was deleted in between.
            Err(Error::Refused { status: 404, .. }) => None,
            Err(error) => return Err(error.into()),
        },
        false => None,
    };
    if args.json {
        let mut line = json!({"event": event, "data": data});
        if let Some(lines) = lines {
            line["logs"] = lines;
        }
        return output::result(&line.to_string());
    }
    if event == CONNECTED {
        output::note("following what happens from now on");
        return Ok(());
    }
    if let Some(lines) = lines {
        let id = data["runId"].as_str().unwrap_or_default();
        let path = format!("/api/runs?q={id}&limit=1");
        let found = server.ask(Method::GET, &path, None).await?;
        if let Some(run) = found["data"].as_array().and_then(|runs| runs.first()) {
            return print_run(run, &lines);
        }
    }
    match event_line(directory, event, data) {
        Some(line) => output::result(&line),
        None => Ok(()),
    }
}

/// A line for people; `None`: this is not for them.
fn event_line(directory: &Directory, event: &str, data: &Value) -> Option<String> {
    let text = |name: &str| plain(data[name].as_str().unwrap_or_default());
    let pattern = || {
        let id = data["patternId"].as_str().unwrap_or_default();
        let found = directory.locked.iter().find(|(_, locked)| locked.id == id);
        found.map_or_else(|| plain(id), |(name, _)| name.clone())
    };
    match event {
        // Runs of a moment would fill the screen with their beginnings.
        "run" if matches!(data["phase"].as_str(), Some("queued" | "executing")) => None,
        "run" => {
            let phase = data["phase"].as_str().or(data["status"].as_str());
            let phase = plain(phase.unwrap_or_default());
            Some(format!("run {}  {phase}  {}", text("runId"), pattern()))
        }
        "saved" => Some(format!(
            "{}  saved {} as version {}",
            text("updatedAt"),
            text("name"),
            data["versionNumber"]
        )),
        "deployment" => Some(format!(
            "{}  deployment of {}, version {}: {}",
            text("updatedAt"),
            pattern(),
            data["versionNumber"],
            text("status")
        )),
        "webhook" => {
            let more = match data["rejectionReason"].as_str() {
                Some(why) => format!(", {}", plain(why)),
                None => data["runId"]
                    .as_str()
                    .map_or_else(String::new, |run| format!(", run {}", plain(run))),
            };
            Some(format!(
                "{}  webhook of {}: {} ({}){more}",
                text("createdAt"),
                pattern(),
                text("status"),
                data["statusCode"]
            ))
        }
        MISSED => Some("some events were missed".to_owned()),
        "" => None,
        other => Some(format!("{other} {}", plain(&data.to_string()))),
    }
}
