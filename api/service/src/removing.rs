//! Removing an account, with what this server keeps of it in memory.

use crate::Service;
use heddle_model::audit::Origin;
use heddle_model::error::{Code, ServiceError};
use heddle_model::ids::UserId;
use heddle_store::notices::Notice;
use heddle_store::removal::{self, Plan};

/// Removes a user who asks for it.
pub async fn remove(service: &Service, user: UserId, origin: Origin) -> Result<(), ServiceError> {
    let removed = service.store.write(move |db| {
        Box::pin(async move {
            let removed = removal::remove(db, user, (Some(user), origin)).await?;
            removed.map_err(|plan| -> ServiceError { Code::Conflict.with(in_the_way(&plan)) })
        })
    });
    removed.await?;
    service.executions.follow(Notice::Everything).await?;
    service.executions.workspace_deleted();
    service.webhooks.all_changed();
    tracing::info!(%user, "A user has removed their account");
    Ok(())
}

/// Why an account stays.
pub fn in_the_way(plan: &Plan) -> String {
    let names: Vec<&str> = plan.in_the_way.iter().map(|workspace| &*workspace.name).collect();
    format!(
        "The account is the only owner of workspaces with other members: {}. Make another member an owner there, or delete \
         them, first.",
        names.join(", ")
    )
}
