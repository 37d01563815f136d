//! Removing an account, with what this server keeps of it in memory.

use crate::Service;
use crate::notices;
use heddle_model::audit::Origin;
use heddle_model::error::{Code, ServiceError, chain};
use heddle_model::ids::UserId;
use heddle_model::tenant::Tenant;
use heddle_store::notices::Notice;
use heddle_store::removal::{self, OwnedAlone, Plan};

/// Removes a user who asks for it.
pub async fn remove(service: &Service, user: UserId, origin: Origin) -> Result<(), ServiceError> {
    let plan = removal::plan(&mut service.store.reader().await?.db(), user).await?;
    let consents = service.executions.consents();
    let revocations = consents.revocations(&tenants(&plan, user)).await;
    let removed = service.store.write(move |db| {
        Box::pin(async move {
            let removed = removal::remove(db, user, (Some(user), origin)).await?;
            removed.map_err(|plan| -> ServiceError { Code::Conflict.with(in_the_way(&plan)) })
        })
    });
    let removed = removed.await?;
    let gone = tenants(&removed, user);
    revocations.begin(&gone);
    // On SQLite no notice comes.
    for deployment in removed.ended {
        service.executions.follow(Notice::Deployment(deployment)).await?;
    }
    notices::everything_changed(service).await;
    service.executions.workspace_deleted();
    for tenant in gone {
        if let Err(error) = service.executions.remove_files(tenant).await {
            tracing::error!(%tenant, "Files of a removed workspace or user stay: {}", chain(&error));
        }
    }
    tracing::info!(%user, "A user has removed their account");
    Ok(())
}

/// What goes with an account: workspaces, and the user outside of workspaces.
fn tenants(plan: &Plan, user: UserId) -> Vec<Tenant> {
    let workspaces = plan.go.iter().map(|workspace| Tenant::Workspace(workspace.id));
    workspaces.chain([Tenant::User(user)]).collect()
}

/// Why an account stays.
pub fn in_the_way(plan: &Plan) -> String {
    let names = |of: fn(&OwnedAlone) -> bool| {
        let those = plan.in_the_way.iter().filter(|workspace| of(workspace));
        let names: Vec<&str> = those.map(|workspace| &*workspace.name).collect();
        names.join(", ")
    };
    let (shared, suspended) = (
        names(|workspace| !workspace.is_suspended),
        names(|workspace| workspace.is_suspended),
    );
    let mut why = Vec::new();
    if !shared.is_empty() {
        why.push(format!(
            "The account is the only owner of workspaces with other members: {shared}. Make another member an owner there, \
             or delete them, first."
        ));
    }
    if !suspended.is_empty() {
        why.push(format!(
            "The account is the only owner of workspaces that are suspended: {suspended}. Ask the operator, who can resume \
             or delete them."
        ));
    }
    why.join(" ")
}
