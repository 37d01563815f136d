//! `heddle user remove`: an account with what is in it, once the operator has seen what that is.

use super::lookup::{broken, find};
use crate::cli::data_dir::Lock;
use crate::cli::failure::{Exit, Failure};
use crate::cli::output;
use crate::config::Config;
use heddle_execution::remove_sqlite_files;
use heddle_model::audit::Origin;
use heddle_model::clock::Clock;
use heddle_model::error::chain;
use heddle_model::tenant::Tenant;
use heddle_service::removing::in_the_way;
use heddle_store::removal::{self, Plan};
use heddle_store::{Store, StoreError};
use serde_json::json;

/// Says what would go, or removes it.
pub(super) async fn remove(
    json: bool,
    store: &Store,
    config: &Config,
    email: &str,
    is_sure: bool,
) -> Result<(), Failure> {
    let user = find(store, email).await?;
    let mut reader = store.reader().await.map_err(|error| broken(&error))?;
    let plan = removal::plan(&mut reader.db(), user.id).await;
    let plan = plan.map_err(|error| broken(&error))?;
    drop(reader);
    if !plan.in_the_way.is_empty() {
        return Err(conflict(&plan));
    }
    if !is_sure {
        return report(json, &user.email, &plan, false);
    }
    // A server on SQLite hears nothing of what others do to its database: it would go on running what is gone.
    let _lock = match config.database_url.is_none() && !plan.ended.is_empty() {
        true => Some(Lock::take(&config.data_dir)?),
        false => None,
    };
    let origin = Origin {
        at: Clock::System.now(),
        address: None,
        api_key: None,
    };
    let id = user.id;
    let removed = store.write(move |db| {
        Box::pin(async move {
            match removal::remove(db, id, (None, origin)).await? {
                Ok(plan) => Ok(plan),
                Err(plan) => Err(Refused::InTheWay(plan)),
            }
        })
    });
    match removed.await {
        Ok(plan) => {
            for workspace in &plan.go {
                let of = format!("of the workspace {}", workspace.name);
                remove_files(config, Tenant::Workspace(workspace.id), &of).await?;
            }
            remove_files(config, Tenant::User(id), "outside of workspaces").await?;
            report(json, &user.email, &plan, true)
        }
        Err(Refused::InTheWay(plan)) => Err(conflict(&plan)),
        Err(Refused::Broken(error)) => Err(broken(&error)),
    }
}

/// Removes the SQLite files of somebody who is gone.
async fn remove_files(config: &Config, tenant: Tenant, of: &str) -> Result<(), Failure> {
    let removed = remove_sqlite_files(config.sqlite_dir.as_deref(), tenant).await;
    removed.map_err(|error| {
        let why = chain(&error);
        Failure::new(
            Exit::File,
            "FILE",
            format!("The account is removed, but SQLite files {of} stay: {why}"),
        )
    })
}

/// Why nothing was removed.
enum Refused {
    InTheWay(Plan),
    Broken(StoreError),
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        Refused::Broken(error)
    }
}

fn conflict(plan: &Plan) -> Failure {
    Failure::new(Exit::Failed, "CONFLICT", in_the_way(plan))
}

fn report(json: bool, email: &str, plan: &Plan, is_done: bool) -> Result<(), Failure> {
    let names: Vec<&str> = plan.go.iter().map(|workspace| &*workspace.name).collect();
    if json {
        let data = json!({"email": email, "removed": is_done, "workspaces": names, "patterns": plan.patterns,
            "activeDeployments": plan.deployments});
        return output::result(&data.to_string());
    }
    let (verb, workspaces) = (
        if is_done { "is removed" } else { "would be removed" },
        names.join(", "),
    );
    output::result(&format!("{email} {verb}, with"))?;
    output::result(&format!(
        "  workspaces: {}",
        if names.is_empty() { "none" } else { &workspaces }
    ))?;
    output::result(&format!(
        "  patterns: {}, active deployments: {}",
        plan.patterns, plan.deployments
    ))?;
    if is_done {
        return Ok(());
    }
    output::result("What is in workspaces with other owners stays. To remove the user, add --yes")
}
