//! `heddle tenants`: workspaces, for whoever hosts the service for others. Asks a running server by the operator's API, since
//! what servers have in memory has to follow.

mod archives;
mod operator;

use super::failure::Failure;
use super::healthcheck::reachable;
use super::output;
use super::serve;
use super::settings::gathered;
use crate::config::settings;
use crate::config::sources::{Flags, Values};
use clap::{Args, Subcommand, ValueEnum};
use heddle_model::ids::WorkspaceId;
use heddle_model::workspace_quota::WorkspaceQuota;
use operator::{Operator, print_data};
use reqwest::Method;
use serde_json::{Value, json};
use std::process::ExitCode;

/// Flags of `heddle tenants`.
#[derive(Args, Debug)]
pub struct TenantsArgs {
    #[command(subcommand)]
    action: Action,
    /// Print JSON.
    #[arg(long, global = true)]
    pub json: bool,
    /// Where the operator's API is; default: operator_listen, or else listen.
    #[arg(long, global = true)]
    url: Option<String>,
    #[command(flatten)]
    settings: Flags,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List all workspaces.
    List {
        /// Only those that the user with this email owns.
        #[arg(long)]
        owner: Option<String>,
    },
    /// Create a workspace for a registered user.
    Create {
        /// The workspace's name.
        name: String,
        /// Email of the user who will own it.
        #[arg(long)]
        owner: String,
    },
    /// Suspend a workspace: nothing in it runs or can be changed until it is resumed.
    Suspend {
        /// The workspace's id.
        id: WorkspaceId,
        /// The reason, for you and the workspace's audit log.
        #[arg(long)]
        reason: Option<String>,
    },
    /// Resume a suspended workspace.
    Resume {
        /// The workspace's id.
        id: WorkspaceId,
    },
    /// Delete a workspace with everything that it has.
    Delete {
        /// The workspace's id.
        id: WorkspaceId,
        /// Confirm that all of it is to be deleted.
        #[arg(long)]
        yes: bool,
    },
    /// Export a suspended workspace with everything that it has, secrets included, into a file that is locked with a passphrase.
    Export(archives::ExportArgs),
    /// Import such a file: as the same workspace, or, if that already exists here, as a copy of it.
    Import(archives::ImportArgs),
    /// Print the quotas of a workspace, after setting those that are given. `name=none` removes one.
    Quota {
        /// The workspace's id.
        id: WorkspaceId,
        /// Quotas to set, as in runsPerMonth=100000.
        quotas: Vec<String>,
        /// How many days ended runs are kept; 0: as long as the service keeps them.
        #[arg(long)]
        retention_days: Option<i64>,
    },
    /// Print what a workspace, or all, have used.
    Usage {
        /// The workspace's id; without one, all.
        id: Option<WorkspaceId>,
        /// From this time on, such as 2026-11-01T00:00:00Z; default: this month.
        #[arg(long)]
        from: Option<String>,
        /// Before this time; default: now.
        #[arg(long)]
        to: Option<String>,
        /// By hour or by day.
        #[arg(long, value_enum, default_value_t = By::Day)]
        by: By,
    },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum By {
    Hour,
    Day,
}

/// Runs the command.
pub fn tenants(args: &TenantsArgs) -> Result<ExitCode, Failure> {
    let values = gathered(&args.settings)?;
    let token = settings::operator_token(&values)?.ok_or_else(|| {
        Failure::usage("the operator's API needs a token: set operator_token, as for the server")
    })?;
    let url = match &args.url {
        Some(url) => url.trim_end_matches('/').to_owned(),
        None => address(&values)?,
    };
    let operator = Operator::at(url, token)?;
    serve::wait(operator.perform(&args.action, args.json))??;
    Ok(ExitCode::SUCCESS)
}

/// Where the settings say that the operator's API is.
fn address(values: &Values) -> Result<String, Failure> {
    if let Some(listen) = values.parsed("operator_listen")? {
        return Ok(format!("http://{}", reachable(listen)));
    }
    match (values.text("tls_cert"), values.text("base_url")) {
        (None, _) => Ok(format!("http://{}", reachable(settings::listen(values)?))),
        // The certificate is for the server's public name.
        (Some(_), Some(url)) => Ok(url.trim_end_matches('/').to_owned()),
        (Some(_), None) => Err(Failure::usage("the server speaks TLS: give its name with --url")),
    }
}

impl Operator {
    async fn perform(&self, action: &Action, json: bool) -> Result<(), Failure> {
        match action {
            Action::List { owner } => self.list(owner.as_deref(), json).await,
            Action::Create { name, owner } => {
                let body = json!({"name": name, "owner": owner});
                let made = self
                    .ask(Method::POST, "/operator/workspaces", Some(&body))
                    .await?;
                print_data(&made, json, workspace_line)
            }
            Action::Suspend { id, reason } => {
                let path = format!("/operator/workspaces/{id}/suspend");
                let body = reason
                    .as_ref()
                    .map_or_else(|| json!({}), |reason| json!({"reason": reason}));
                let suspended = self.ask(Method::POST, &path, Some(&body)).await?;
                print_data(&suspended, json, workspace_line)
            }
            Action::Resume { id } => {
                let path = format!("/operator/workspaces/{id}/resume");
                let resumed = self.ask(Method::POST, &path, None).await?;
                print_data(&resumed, json, workspace_line)
            }
            Action::Delete { id, yes: true } => {
                let path = format!("/operator/workspaces/{id}");
                let gone = self.ask(Method::DELETE, &path, None).await?;
                print_data(&gone, json, |_| format!("{id} is deleted"))
            }
            Action::Delete { id, yes: false } => Err(Failure::usage(format!(
                "this deletes {id} with its patterns, runs, secrets and files, and can't be undone: add --yes"
            ))),
            Action::Export(args) => self.export(args, json).await,
            Action::Import(args) => self.import(args, json).await,
            Action::Quota {
                id,
                quotas,
                retention_days,
            } => self.quota(*id, quotas, *retention_days, json).await,
            Action::Usage { id, from, to, by } => {
                let path = match id {
                    Some(id) => format!("/operator/workspaces/{id}/usage"),
                    None => "/operator/usage".to_owned(),
                };
                self.usage(&path, (from.as_deref(), to.as_deref(), *by), json)
                    .await
            }
        }
    }

    async fn list(&self, owner: Option<&str>, json: bool) -> Result<(), Failure> {
        let mut all = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let mut query = form_urlencoded::Serializer::new(String::from("limit=100"));
            if let Some(owner) = owner {
                query.append_pair("owner", owner);
            }
            if let Some(cursor) = &cursor {
                query.append_pair("cursor", cursor);
            }
            let path = format!("/operator/workspaces?{}", query.finish());
            let page = self.ask(Method::GET, &path, None).await?;
            all.extend(page["data"].as_array().cloned().unwrap_or_default());
            cursor = page["meta"]["nextCursor"].as_str().map(str::to_owned);
            if cursor.is_none() {
                break;
            }
        }
        if json {
            return output::result(&Value::Array(all).to_string());
        }
        all.iter()
            .try_for_each(|workspace| output::result(&workspace_line(workspace)))
    }

    async fn quota(
        &self,
        id: WorkspaceId,
        quotas: &[String],
        retention_days: Option<i64>,
        json: bool,
    ) -> Result<(), Failure> {
        let path = format!("/operator/workspaces/{id}/quotas");
        if quotas.is_empty() && retention_days.is_none() {
            let standings = self.ask(Method::GET, &path, None).await?;
            return print_data(&standings, json, quota_lines);
        }
        let workspace = self
            .ask(Method::GET, &format!("/operator/workspaces/{id}"), None)
            .await?;
        let workspace = &workspace["data"];
        let mut own = workspace["quotas"].as_object().cloned().unwrap_or_default();
        for quota in quotas {
            let (name, limit) = given(quota)?;
            own.insert(name, limit);
        }
        let days = match retention_days {
            None => workspace["retentionDays"].clone(),
            Some(0) => Value::Null,
            Some(days) => days.into(),
        };
        let body = json!({"quotas": Value::Object(own), "retentionDays": days});
        let standings = self.ask(Method::PUT, &path, Some(&body)).await?;
        print_data(&standings, json, quota_lines)
    }

    async fn usage(
        &self,
        path: &str,
        (from, to, by): (Option<&str>, Option<&str>, By),
        json: bool,
    ) -> Result<(), Failure> {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair(
            "by",
            match by {
                By::Hour => "hour",
                By::Day => "day",
            },
        );
        for (name, value) in [("from", from), ("to", to)] {
            if let Some(value) = value {
                query.append_pair(name, value);
            }
        }
        if !json {
            let path = format!("{path}?{}", query.append_pair("format", "csv").finish());
            let lines = self.send(Method::GET, &path, None).await?;
            return output::result(lines.trim_end());
        }
        let mut all = Vec::new();
        let asked = query.finish();
        let mut path_of_page = format!("{path}?{asked}");
        loop {
            let page = self.ask(Method::GET, &path_of_page, None).await?;
            all.extend(page["data"].as_array().cloned().unwrap_or_default());
            let Some(cursor) = page["meta"]["nextCursor"].as_str() else {
                return output::result(&Value::Array(all).to_string());
            };
            path_of_page = format!("{path}?{asked}&cursor={cursor}");
        }
    }
}

/// `name=limit` as a member of an object.
fn given(quota: &str) -> Result<(String, Value), Failure> {
    let names = || {
        let names: Vec<&str> = WorkspaceQuota::ALL.iter().map(|quota| quota.name()).collect();
        Failure::usage(format!(
            "`{quota}` must be name=number or name=none, and the name one of {}",
            names.join(", ")
        ))
    };
    let (name, limit) = quota.split_once('=').ok_or_else(names)?;
    let known = WorkspaceQuota::named(name).ok_or_else(names)?;
    let limit = match limit {
        "none" => Value::Null,
        limit => limit.parse::<i64>().map_err(|_| names())?.into(),
    };
    Ok((known.name().to_owned(), limit))
}

fn workspace_line(workspace: &Value) -> String {
    // Names are what others have written: they give a terminal no orders.
    let text = |name: &str| {
        let text = workspace[name].as_str().unwrap_or("-");
        text.replace(char::is_control, " ")
    };
    let state = match workspace["suspendedAt"].as_str() {
        Some(_) => "suspended",
        None => "active",
    };
    format!(
        "{}  {state:9}  {:5} patterns  {}  {}",
        text("id"),
        workspace["patterns"],
        text("owner"),
        text("name")
    )
}

fn quota_lines(quotas: &Value) -> String {
    let lines = quotas.as_array().into_iter().flatten().map(|quota| {
        let number = |name: &str| match &quota[name] {
            Value::Null => "-".to_owned(),
            number => number.to_string(),
        };
        let name = quota["name"].as_str().unwrap_or_default();
        let mark = match quota["isNearlyUsed"] == true {
            true => "  (80 % used)",
            false => "",
        };
        format!(
            "{name:20} {:>16} of {:>16}{mark}",
            number("used"),
            number("limit")
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}
