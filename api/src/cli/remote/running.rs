//! What is deployed and running on a directory's server: `heddle deploy`, `promote`, `runs` and `open`.

use super::{opened, pattern_name};
use crate::cli::failure::{Exit, Failure};
use crate::cli::output;
use crate::cli::serve;
use clap::Args;
use heddle_remote::Error;
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
    /// Refuse if the version treats any of the newest 100 recorded events differently from what is deployed.
    #[arg(long)]
    require_replay: bool,
    #[command(flatten)]
    confirmed: Confirmations,
    /// Only say what would happen.
    #[arg(long)]
    dry_run: bool,
}

/// What the user confirms of the findings of the environment's rules.
#[derive(Args, Debug)]
struct Confirmations {
    /// Deploy even if recorded events are treated differently; the audit log notes it.
    #[arg(long)]
    acknowledge_differences: bool,
    /// Deploy even if the version may reach more than the deployed one; needs the role admin, and the audit log notes it.
    #[arg(long)]
    approve_rights: bool,
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
    #[command(flatten)]
    confirmed: Confirmations,
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
        Failure::usage(match directory.path_of(name).is_dir() {
            true => format!("`{name}` has not been pushed yet: `heddle push {name}` stores it on the server"),
            false => format!(
                "there is no pattern `{name}` here: `heddle status` lists what is new on the server, and `heddle pull` \
                 brings it"
            ),
        })
    })?;
    Ok(&locked.id)
}

pub(super) async fn environment(
    directory: &Directory,
    server: &Server,
    name: &str,
) -> Result<String, Failure> {
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
            "there is no environment `{name}`; the environments are: {}",
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
            "requireReplay": args.require_replay,
            "acknowledgeDifferences": args.confirmed.acknowledge_differences,
            "approveRights": args.confirmed.approve_rights,
            "dryRun": args.dry_run,
        });
        let path = format!("/api/patterns/{id}/deploy");
        let done = server.ask(Method::POST, &path, Some(&body)).await;
        let done = done.map_err(|error| refused(error, name, &args.env))?;
        print_deployment(name, &args.env, &done["data"])?;
        print_webhooks(&server, id, &environment, &done["data"]).await;
        Ok::<_, Failure>(())
    })??;
    Ok(ExitCode::SUCCESS)
}

/// Deploys to another environment what is deployed to one.
pub fn promote(args: &PromoteArgs) -> Result<ExitCode, Failure> {
    let (directory, server) = opened()?;
    let id = id_of(&directory, &args.pattern)?;
    let name = pattern_name(&args.pattern);
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
            .ok_or_else(|| Failure::usage(format!("`{name}` is not deployed to `{}`", args.from)))?;
        let body = json!({
            "environmentId": to,
            "dryRun": args.dry_run,
            "acknowledgeDifferences": args.confirmed.acknowledge_differences,
            "approveRights": args.confirmed.approve_rights,
        });
        let path = format!("/api/deployments/{from}/promote");
        let done = server.ask(Method::POST, &path, Some(&body)).await;
        let done = done.map_err(|error| refused(error, name, &args.to))?;
        print_deployment(name, &args.to, &done["data"])?;
        print_webhooks(&server, id, &to, &done["data"]).await;
        Ok::<_, Failure>(())
    })??;
    Ok(ExitCode::SUCCESS)
}

/// A refusal with the command that looks into it, and the flag that deploys all the same.
fn refused(error: Error, name: &str, environment: &str) -> Failure {
    let Error::Refused { code, .. } = &error else {
        return error.into();
    };
    let more = match code.as_str() {
        "TESTS_FAILED" => format!("`heddle test {name}` runs the tests of this directory"),
        "REPLAY_DIFFERS" => format!(
            "`heddle replay {name} --env {environment}` shows how the files here differ; `--acknowledge-differences` deploys them all the same"
        ),
        "RIGHTS_NOT_APPROVED" => "`--approve-rights` approves them, with the key of an admin".to_owned(),
        _ => return error.into(),
    };
    let message = format!("{error}\n{more}");
    Failure::new(Exit::Failed, "REFUSED", message)
}

fn print_deployment(name: &str, environment: &str, data: &Value) -> Result<(), Failure> {
    for warning in data["warnings"].as_array().into_iter().flatten() {
        output::note(&format!(
            "warning: {}",
            plain(warning["message"].as_str().unwrap_or_default())
        ));
    }
    let version = &data["versionNumber"];
    if data["dryRun"] != true {
        output::result(&format!("{name}: version {version} is deployed to {environment}"))?;
        for missing in missing_in(data) {
            output::note(&format!(
                "warning: {missing} is missing in {environment}: nodes that need it will fail"
            ));
        }
        return Ok(());
    }
    output::result(&format!(
        "{name}: version {version} would be deployed to {environment}"
    ))?;
    print_rights(data)?;
    for missing in missing_in(data) {
        output::result(&format!("  missing: {missing}"))?;
    }
    Ok(())
}

/// What a deployment names and is not there, each as `secret NAME`.
fn missing_in(data: &Value) -> Vec<String> {
    let of = |(kind, names): (&String, &Value)| -> Vec<String> {
        let kind = kind.strip_suffix('s').unwrap_or(kind).to_owned();
        let names = names.as_array().into_iter().flatten().filter_map(Value::as_str);
        names.map(|name| format!("{kind} {}", plain(name))).collect()
    };
    data["missing"]
        .as_object()
        .into_iter()
        .flatten()
        .flat_map(of)
        .collect()
}

/// Prints where senders reach what was just deployed. It is deployed all the same if that is unknown.
async fn print_webhooks(server: &Server, pattern: &str, environment: &str, deployed: &Value) {
    if deployed["dryRun"] == true {
        return;
    }
    let path = format!("/api/patterns/{pattern}/webhooks?environmentId={environment}");
    let Ok(found) = server.ask(Method::GET, &path, None).await else {
        return;
    };
    for endpoint in found["data"]["endpoints"].as_array().into_iter().flatten() {
        let text = |name: &str| plain(endpoint[name].as_str().unwrap_or_default());
        let methods = endpoint["methods"].as_array().into_iter().flatten();
        let methods: Vec<String> = methods.filter_map(Value::as_str).map(plain).collect();
        output::note(&format!(
            "  {}  {} {}{}",
            text("nodeId"),
            methods.join(", "),
            text("webhookUrl"),
            text("path")
        ));
    }
}

/// Prints which rights a version has and the deployed one has not, and the other way round.
pub(super) fn print_rights(data: &Value) -> Result<(), Failure> {
    for (what, list) in [
        ("would be allowed", "rightsAdded"),
        ("would no longer be allowed", "rightsRemoved"),
    ] {
        for (kind, names) in data[list].as_object().into_iter().flatten() {
            for name in names.as_array().into_iter().flatten() {
                let name = name.as_str().map_or_else(|| name.to_string(), str::to_owned);
                output::result(&format!("  {what}: {kind} {}", plain(&name)))?;
            }
        }
    }
    Ok(())
}

/// The newest runs, of a pattern (by its id) and with a status, if these are given.
pub(super) async fn newest(
    server: &Server,
    pattern: Option<&str>,
    status: Option<&str>,
    wanted: usize,
) -> Result<Vec<Value>, Failure> {
    let mut query = form_urlencoded::Serializer::new(String::new());
    if let Some(pattern) = pattern {
        query.append_pair("patternId", pattern);
    }
    if let Some(status) = status {
        query.append_pair("status", status);
    }
    query.append_pair("limit", &wanted.min(PAGE).to_string());
    let query = query.finish();
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
    Ok(all)
}

/// Lists runs.
pub fn runs(args: &RunsArgs) -> Result<ExitCode, Failure> {
    let (directory, server) = opened()?;
    let pattern = args.pattern.as_deref();
    let pattern = pattern.map(|name| id_of(&directory, name)).transpose()?;
    serve::wait(async {
        let status = args.status.as_deref();
        let all = newest(&server, pattern, status, usize::from(args.limit)).await?;
        if args.json {
            return output::result(&Value::from(all).to_string());
        }
        all.iter().try_for_each(|run| output::result(&run_line(run)))
    })??;
    Ok(ExitCode::SUCCESS)
}

/// A run as a line for people.
pub(super) fn run_line(run: &Value) -> String {
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
        "{}  {}  {:10} {:>9}  {:12} {}{error}",
        text("startedAt"),
        text("id"),
        text("status"),
        took,
        text("environmentName"),
        text("patternName")
    )
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
