//! What is deployed and running on a directory's server: `heddle deploy`, `promote`, `runs`, `logs`, `tap` and `open`.

use super::{opened, pattern_name};
use crate::cli::failure::{Exit, Failure};
use crate::cli::output;
use crate::cli::serve;
use clap::Args;
use heddle_remote::directory::Directory;
use heddle_remote::server::{Server, plain};
use reqwest::Method;
use serde_json::{Value, json};
use std::process::ExitCode;

/// Runs of a page.
const PAGE: usize = 100;

/// Flags of `heddle deploy`.
#[derive(Args, Debug)]
pub struct DeployArgs {
    /// The pattern, by its directory's name.
    pattern: String,
    /// The environment's name.
    #[arg(long)]
    env: String,
    /// The version; default: the one that the directory is in step with.
    #[arg(long)]
    version_number: Option<i64>,
    /// Refuse unless all tests of the pattern pass.
    #[arg(long)]
    require_tests: bool,
    /// Only say what would happen.
    #[arg(long)]
    dry_run: bool,
}

/// Flags of `heddle promote`.
#[derive(Args, Debug)]
pub struct PromoteArgs {
    /// The pattern, by its directory's name.
    pattern: String,
    /// The environment that it is deployed to.
    #[arg(long)]
    from: String,
    /// The environment to deploy the same to.
    #[arg(long)]
    to: String,
    /// Only say what would happen.
    #[arg(long)]
    dry_run: bool,
}

/// Flags of `heddle runs`.
#[derive(Args, Debug)]
pub struct RunsArgs {
    /// The pattern, by its directory's name; default: all of the workspace.
    pattern: Option<String>,
    /// Only those with this status: running, success, failure, dead_letter.
    #[arg(long)]
    status: Option<String>,
    /// How many, the newest first.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Flags of `heddle logs`.
#[derive(Args, Debug)]
pub struct LogsArgs {
    /// The pattern, by its directory's name; default: all of the workspace.
    pattern: Option<String>,
    /// Print JSON, an object a line.
    #[arg(long)]
    pub json: bool,
}

/// Flags of `heddle tap`.
#[derive(Args, Debug)]
pub struct TapArgs {
    /// The pattern, by its directory's name.
    pattern: String,
    /// How many, the newest first.
    #[arg(long, default_value_t = 1)]
    last: usize,
}

/// Flags of `heddle open`.
#[derive(Args, Debug)]
pub struct OpenArgs {
    /// The pattern, by its directory's name; default: the workspace.
    pattern: Option<String>,
}

/// The id of a pattern that both sides know.
pub(super) fn id_of<'a>(directory: &'a Directory, name: &str) -> Result<&'a str, Failure> {
    let name = pattern_name(name);
    let locked = directory.locked.get(name).ok_or_else(|| {
        Failure::usage(format!(
            "`{name}` has not been pushed or pulled yet: `heddle status` lists what differs"
        ))
    })?;
    Ok(&locked.id)
}

async fn environment(directory: &Directory, server: &Server, name: &str) -> Result<String, Failure> {
    let path = format!("/api/workspaces/{}/environments", directory.config.workspace);
    let all = server.ask(Method::GET, &path, None).await?;
    let all: Vec<&Value> = all["data"].as_array().into_iter().flatten().collect();
    let found = all.iter().find(|environment| environment["name"] == name);
    let id = found.and_then(|environment| environment["id"].as_str());
    id.map(str::to_owned).ok_or_else(|| {
        let names: Vec<&str> = all
            .iter()
            .filter_map(|environment| environment["name"].as_str())
            .collect();
        let names: Vec<String> = names.into_iter().map(plain).collect();
        Failure::usage(format!(
            "there is no environment `{name}`; there are: {}",
            names.join(", ")
        ))
    })
}

/// Deploys a version to an environment.
pub fn deploy(args: &DeployArgs) -> Result<ExitCode, Failure> {
    let (directory, server) = opened()?;
    let id = id_of(&directory, &args.pattern)?;
    let name = pattern_name(&args.pattern);
    let version = match (args.version_number, directory.locked.get(name)) {
        (Some(version), _) => version,
        (None, Some(locked)) => {
            if directory.read(name)?.digest() != locked.sha256 {
                return Err(Failure::usage(format!(
                    "`{name}` was changed here: push it first, or name a version that the server has with --version-number"
                )));
            }
            locked.version
        }
        (None, None) => return Err(Failure::usage(format!("`{name}` was never pushed"))),
    };
    serve::wait(async {
        let environment = environment(&directory, &server, &args.env).await?;
        let body = json!({
            "nodeDefinitions": {},
            "versionNumber": version,
            "environmentId": environment,
            "move": false,
            "requireTests": args.require_tests,
            "dryRun": args.dry_run,
        });
        let path = format!("/api/patterns/{id}/deploy");
        let done = server.ask(Method::POST, &path, Some(&body)).await?;
        told(name, &args.env, &done["data"])
    })??;
    Ok(ExitCode::SUCCESS)
}

/// Deploys to another environment what is deployed to one.
pub fn promote(args: &PromoteArgs) -> Result<ExitCode, Failure> {
    let (directory, server) = opened()?;
    let id = id_of(&directory, &args.pattern)?;
    serve::wait(async {
        let to = environment(&directory, &server, &args.to).await?;
        let path = format!("/api/patterns/{id}/deployments");
        let deployed = server.ask(Method::GET, &path, None).await?;
        let from = deployed["data"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|deployment| deployment["environmentName"] == args.from.as_str());
        let from = from
            .and_then(|deployment| deployment["id"].as_str())
            .ok_or_else(|| {
                Failure::usage(format!("`{}` is not deployed to `{}`", args.pattern, args.from))
            })?;
        let body = json!({"environmentId": to, "dryRun": args.dry_run});
        let path = format!("/api/deployments/{from}/promote");
        let done = server.ask(Method::POST, &path, Some(&body)).await?;
        told(&args.pattern, &args.to, &done["data"])
    })??;
    Ok(ExitCode::SUCCESS)
}

fn told(name: &str, environment: &str, data: &Value) -> Result<(), Failure> {
    for warning in data["warnings"].as_array().into_iter().flatten() {
        output::note(&format!(
            "warning: {}",
            plain(warning["message"].as_str().unwrap_or_default())
        ));
    }
    let version = &data["versionNumber"];
    if data["dryRun"] != true {
        return output::result(&format!("{name}: version {version} is deployed to {environment}"));
    }
    output::result(&format!(
        "{name}: version {version} would be deployed to {environment}"
    ))?;
    for (what, list) in [
        ("would be allowed", "rightsAdded"),
        ("would not be allowed any more", "rightsRemoved"),
    ] {
        for (kind, names) in data[list].as_object().into_iter().flatten() {
            for name in names.as_array().into_iter().flatten() {
                let name = name.as_str().map_or_else(|| name.to_string(), str::to_owned);
                output::result(&format!("  {what}: {kind} {}", plain(&name)))?;
            }
        }
    }
    for (kind, names) in data["missing"].as_object().into_iter().flatten() {
        for name in names.as_array().into_iter().flatten() {
            let name = name.as_str().map_or_else(|| name.to_string(), str::to_owned);
            output::result(&format!("  missing: {kind} {}", plain(&name)))?;
        }
    }
    Ok(())
}

/// Lists runs.
pub fn runs(args: &RunsArgs) -> Result<ExitCode, Failure> {
    let (directory, server) = opened()?;
    let mut query = form_urlencoded::Serializer::new(String::new());
    if let Some(pattern) = &args.pattern {
        query.append_pair("patternId", id_of(&directory, pattern)?);
    }
    if let Some(status) = &args.status {
        query.append_pair("status", status);
    }
    let wanted = usize::from(args.limit);
    query.append_pair("limit", &wanted.min(PAGE).to_string());
    let query = query.finish();
    serve::wait(async {
        let mut all: Vec<Value> = Vec::new();
        let mut path = format!("/api/runs?{query}");
        loop {
            let page = server.ask(Method::GET, &path, None).await?;
            all.extend(page["data"].as_array().into_iter().flatten().cloned());
            let Some(cursor) = page["meta"]["nextCursor"].as_str().filter(|_| all.len() < wanted) else {
                break;
            };
            let cursor = form_urlencoded::byte_serialize(cursor.as_bytes()).collect::<String>();
            path = format!("/api/runs?{query}&cursor={cursor}");
        }
        all.truncate(wanted);
        if args.json {
            return output::result(&Value::from(all).to_string());
        }
        all.iter().try_for_each(|run| output::result(&run_line(run)))
    })??;
    Ok(ExitCode::SUCCESS)
}

fn run_line(run: &Value) -> String {
    let text = |name: &str| plain(run[name].as_str().unwrap_or_default());
    let took = run["durationMs"]
        .as_i64()
        .map_or_else(String::new, |took| format!("{took} ms"));
    let error = match run["error"]["code"].as_str() {
        Some(code) => format!(
            "  {}: {}",
            plain(code),
            plain(run["error"]["message"].as_str().unwrap_or_default())
        ),
        None => String::new(),
    };
    format!(
        "{}  {}  {:10} {:>9}  {}{error}",
        text("startedAt"),
        text("id"),
        text("status"),
        took,
        text("patternName")
    )
}

/// Follows what happens in the workspace, until it is interrupted or the server ends the stream.
pub fn logs(args: &LogsArgs) -> Result<ExitCode, Failure> {
    let (directory, server) = opened()?;
    let pattern = args
        .pattern
        .as_deref()
        .map(|name| id_of(&directory, name))
        .transpose()?;
    let mut event = String::new();
    let mut failed = None;
    let streamed = serve::wait(server.stream("/api/stream", |line| {
        if let Some(name) = line.strip_prefix("event:") {
            name.trim().clone_into(&mut event);
        }
        let Some(data) = line.strip_prefix("data:") else {
            return true;
        };
        let Ok(data) = serde_json::from_str::<Value>(data.trim()) else {
            return true;
        };
        if pattern.is_some_and(|pattern| data["patternId"] != pattern) {
            return true;
        }
        let text = match args.json {
            true => Some(json!({"event": event, "data": data}).to_string()),
            false => event_line(&event, &data),
        };
        failed = text.and_then(|text| output::result(&text).err());
        failed.is_none()
    }))?;
    match failed {
        Some(failure) => Err(failure),
        None => streamed.map(|()| ExitCode::SUCCESS).map_err(Failure::from),
    }
}

/// A line for people; `None`: this is not for them.
fn event_line(event: &str, data: &Value) -> Option<String> {
    let text = |name: &str| plain(data[name].as_str().unwrap_or_default());
    match event {
        "run" => {
            let id = data["runId"]
                .as_str()
                .or(data["id"].as_str())
                .map(plain)
                .unwrap_or_default();
            let error = data["error"]["code"].as_str().map(plain).unwrap_or_default();
            Some(
                format!("run {id}  {} {error}", text("status"))
                    .trim_end()
                    .to_owned(),
            )
        }
        "saved" => Some(format!(
            "saved {} as version {}",
            text("name"),
            data["versionNumber"]
        )),
        "missed" => Some("some events were missed".to_owned()),
        "server" | "" => None,
        other => Some(format!("{other} {}", plain(&data.to_string()))),
    }
}

/// Prints the newest events that a pattern's webhooks have received, for `heddle run --event`.
pub fn tap(args: &TapArgs) -> Result<ExitCode, Failure> {
    let (directory, server) = opened()?;
    let id = id_of(&directory, &args.pattern)?;
    let path = format!("/api/patterns/{id}/tap-events");
    let found = serve::wait(server.ask(Method::GET, &path, None))??;
    let events: Vec<&Value> = found["events"].as_array().into_iter().flatten().collect();
    if events.is_empty() {
        return Err(Failure::new(
            Exit::Failed,
            "NOT_FOUND",
            "no event has come to this pattern's webhooks",
        ));
    }
    for event in events.into_iter().take(args.last) {
        output::result(&event["eventData"].to_string())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints where the console shows a pattern or the workspace.
pub fn open(args: &OpenArgs) -> Result<ExitCode, Failure> {
    let (directory, server) = opened()?;
    let workspace = &directory.config.workspace;
    let address = match &args.pattern {
        Some(pattern) => format!(
            "{}/w/{workspace}/patterns/{}",
            server.url(),
            id_of(&directory, pattern)?
        ),
        None => format!("{}/w/{workspace}", server.url()),
    };
    output::result(&address)?;
    Ok(ExitCode::SUCCESS)
}
