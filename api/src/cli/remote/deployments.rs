//! What is deployed where, since when and by whom: `heddle deployments`.

use super::opened;
use super::running::{environment, id_of};
use crate::cli::failure::Failure;
use crate::cli::output;
use crate::cli::serve;
use clap::Args;
use heddle_remote::Error;
use heddle_remote::directory::Directory;
use heddle_remote::server::{Server, plain};
use reqwest::Method;
use serde::Serialize;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::process::ExitCode;

/// Deployments, and entries of the audit log, of a page.
const PAGE: usize = 100;
/// Pages of the audit log that are read of each action: what was deployed before them has no name beside it.
const AUDIT_PAGES_MAX: usize = 20;
/// What the audit log calls it when something is deployed.
const DEPLOYING: [&str; 2] = ["pattern.deployed", "deployment.promoted"];

/// Flags of `heddle deployments`.
#[derive(Args, Debug)]
pub struct DeploymentsArgs {
    /// The pattern, by its directory's name; default: all of the workspace.
    pattern: Option<String>,
    /// Only what is deployed to this environment.
    #[arg(long)]
    env: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// A pattern in an environment.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    /// By its directory's name if it is here, or else as it is called on the server.
    pattern: String,
    environment: Option<String>,
    version_number: i64,
    status: String,
    deployed_at: String,
    /// The email of whoever did it, with the name of the API key; `None`: not known, or not for this key to see.
    deployed_by: Option<String>,
    pattern_id: String,
    deployment_id: String,
    /// The webhooks that its triggers have registered with services.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    subscriptions: Vec<Subscribed>,
}

/// A webhook that is registered with a service, or is to be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
struct Subscribed {
    node_id: String,
    service: String,
    /// `pending`, `active` or `failed`.
    status: String,
    /// Why the last request to the service failed.
    error: Option<String>,
}

/// When something was deployed, and by whom.
struct Deploying {
    at: String,
    by: Option<String>,
}

/// Lists what is deployed where.
pub fn deployments(args: &DeploymentsArgs) -> Result<ExitCode, Failure> {
    let (directory, server) = opened()?;
    let pattern = args.pattern.as_deref();
    let pattern = pattern.map(|name| id_of(&directory, name)).transpose()?;
    serve::wait(async {
        let wanted = match &args.env {
            Some(name) => Some(environment(&directory, &server, name).await?),
            None => None,
        };
        let mut found = listed(&server).await?;
        found.retain(|deployment| {
            deployment["status"] != "undeployed"
                && pattern.is_none_or(|id| deployment["patternId"] == id)
                && wanted
                    .as_deref()
                    .is_none_or(|id| deployment["environmentId"] == id)
        });
        let ids: HashSet<&str> = found
            .iter()
            .filter_map(|deployment| deployment["id"].as_str())
            .collect();
        let by = match ids.is_empty() {
            true => Some(HashMap::new()),
            false => deployers(&server, &ids).await?,
        };
        let names = names(&directory);
        let mut of_deployments = subscriptions(&server).await?;
        let mut lines: Vec<Line> = found
            .iter()
            .map(|deployment| line(deployment, &names, by.as_ref()))
            .collect();
        for line in &mut lines {
            line.subscriptions = of_deployments.remove(&line.deployment_id).unwrap_or_default();
        }
        lines.sort();
        print(args, &lines, by.is_none())
    })??;
    Ok(ExitCode::SUCCESS)
}

fn print(args: &DeploymentsArgs, lines: &[Line], is_hidden: bool) -> Result<(), Failure> {
    if args.json {
        return output::result(&serde_json::json!(lines).to_string());
    }
    if lines.is_empty() {
        output::note("nothing is deployed");
        return Ok(());
    }
    output::result(&table(lines))?;
    for line in lines {
        for subscribed in line
            .subscriptions
            .iter()
            .filter(|subscribed| subscribed.status != "active" || subscribed.error.is_some())
        {
            output::note(&warning(line, subscribed));
        }
    }
    if is_hidden {
        output::note("who deployed is shown to API keys of admins only");
    }
    Ok(())
}

/// What is to be known of a service that does not send, or could not be asked.
fn warning(line: &Line, subscribed: &Subscribed) -> String {
    let place = line.environment.as_deref().map(|name| format!(" in {name}"));
    let (place, error) = (
        place.unwrap_or_default(),
        subscribed
            .error
            .as_deref()
            .unwrap_or("heddle is about to register it"),
    );
    let Line { pattern, .. } = line;
    let Subscribed {
        node_id,
        service,
        status,
        ..
    } = subscribed;
    format!("{pattern}{place}: the webhook of `{node_id}` at {service} is {status}: {error}")
}

/// The webhooks that triggers have registered with services, by deployment. Servers of earlier versions list none.
async fn subscriptions(server: &Server) -> Result<HashMap<String, Vec<Subscribed>>, Failure> {
    let mut all: HashMap<String, Vec<Subscribed>> = HashMap::new();
    let mut cursor = String::new();
    loop {
        let path = format!("/api/subscriptions?limit={PAGE}&cursor={cursor}");
        let page = match server.ask(Method::GET, &path, None).await {
            Ok(page) => page,
            Err(Error::Refused { status: 404, .. }) => return Ok(all),
            Err(error) => return Err(error.into()),
        };
        for listed in page["data"].as_array().into_iter().flatten() {
            let text = |name: &str| plain(listed[name].as_str().unwrap_or_default());
            all.entry(text("deploymentId")).or_default().push(Subscribed {
                node_id: text("nodeId"),
                service: text("service"),
                status: text("status"),
                error: listed["lastError"]["message"].as_str().map(plain),
            });
        }
        match next(&page) {
            Some(next) => cursor = next,
            None => return Ok(all),
        }
    }
}

/// All deployments of the workspace.
async fn listed(server: &Server) -> Result<Vec<Value>, Failure> {
    let mut all = Vec::new();
    let mut cursor = String::new();
    loop {
        let path = format!("/api/deployments?limit={PAGE}&cursor={cursor}");
        let page = server.ask(Method::GET, &path, None).await?;
        all.extend(page["data"].as_array().into_iter().flatten().cloned());
        match next(&page) {
            Some(next) => cursor = next,
            None => return Ok(all),
        }
    }
}

/// Where a list goes on, ready for a query.
fn next(page: &Value) -> Option<String> {
    let cursor = page["meta"]["nextCursor"].as_str()?;
    Some(form_urlencoded::byte_serialize(cursor.as_bytes()).collect())
}

/// The newest entries about deploying by deployment; `None`: the key may not read the audit log.
async fn deployers(
    server: &Server,
    wanted: &HashSet<&str>,
) -> Result<Option<HashMap<String, Deploying>>, Failure> {
    let mut newest: HashMap<String, Deploying> = HashMap::new();
    for action in DEPLOYING {
        let mut path = format!("/api/audit?action={action}&limit={PAGE}");
        for _ in 0..AUDIT_PAGES_MAX {
            let page = match server.ask(Method::GET, &path, None).await {
                Ok(page) => page,
                Err(Error::Refused { status: 403, .. }) => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            let entries: Vec<&Value> = page["data"].as_array().into_iter().flatten().collect();
            for entry in &entries {
                note(&mut newest, wanted, entry);
            }
            let oldest = entries.last().and_then(|entry| entry["at"].as_str());
            let is_known = newest.len() == wanted.len()
                && newest
                    .values()
                    .all(|known| oldest.is_none_or(|oldest| known.at.as_str() >= oldest));
            match next(&page).filter(|_| !is_known) {
                Some(next) => path = format!("/api/audit?action={action}&limit={PAGE}&cursor={next}"),
                None => break,
            }
        }
    }
    Ok(Some(newest))
}

/// Takes an entry if it is about what was asked for, and newer than the known one. Times of one form sort as texts.
fn note(newest: &mut HashMap<String, Deploying>, wanted: &HashSet<&str>, entry: &Value) {
    let (Some(id), Some(at)) = (entry["object"]["id"].as_str(), entry["at"].as_str()) else {
        return;
    };
    let is_older = newest.get(id).is_some_and(|known| known.at.as_str() >= at);
    if entry["outcome"] != "done" || is_older || !wanted.contains(id) {
        return;
    }
    let actor = &entry["actor"];
    let person = actor["email"].as_str().or_else(|| actor["id"].as_str());
    let by = person.map(|person| match entry["apiKey"]["name"].as_str() {
        Some(key) => format!("{} ({})", plain(person), plain(key)),
        None => plain(person),
    });
    let at = at.to_owned();
    newest.insert(id.to_owned(), Deploying { at, by });
}

/// Names of patterns' directories by the patterns' ids.
fn names(directory: &Directory) -> HashMap<&str, &str> {
    let locked = directory.locked.iter();
    locked
        .map(|(name, locked)| (locked.id.as_str(), name.as_str()))
        .collect()
}

fn line(deployment: &Value, names: &HashMap<&str, &str>, by: Option<&HashMap<String, Deploying>>) -> Line {
    let text = |name: &str| plain(deployment[name].as_str().unwrap_or_default());
    let (id, pattern) = (text("id"), text("patternId"));
    let deploying = by.and_then(|by| by.get(&id));
    let name = names.get(pattern.as_str());
    Line {
        pattern: name.map_or_else(|| text("patternName"), |name| (*name).to_owned()),
        environment: deployment["environmentName"].as_str().map(plain),
        version_number: deployment["versionNumber"].as_i64().unwrap_or_default(),
        status: text("status"),
        deployed_at: deploying.map_or_else(|| text("updatedAt"), |found| plain(&found.at)),
        deployed_by: deploying.and_then(|found| found.by.clone()),
        pattern_id: pattern,
        deployment_id: id,
        subscriptions: Vec::new(),
    }
}

/// Columns as wide as what is in them.
fn table(lines: &[Line]) -> String {
    let head = ["PATTERN", "ENVIRONMENT", "VERSION", "STATUS", "DEPLOYED", "BY"].map(str::to_owned);
    let rows = lines.iter().map(|line| {
        [
            line.pattern.clone(),
            line.environment.clone().unwrap_or_else(|| "-".to_owned()),
            line.version_number.to_string(),
            line.status.clone(),
            line.deployed_at.clone(),
            line.deployed_by.clone().unwrap_or_else(|| "-".to_owned()),
        ]
    });
    let rows: Vec<[String; 6]> = std::iter::once(head).chain(rows).collect();
    let mut widths = [0; 6];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let text = |row: &[String; 6]| -> String {
        let cells = row.iter().zip(widths);
        let cells: Vec<String> = cells.map(|(cell, width)| format!("{cell:width$}")).collect();
        cells.join("  ").trim_end().to_owned()
    };
    rows.iter().map(text).collect::<Vec<_>>().join("\n")
}
