//! What the operator of the service does with workspaces: makes, suspends, resumes, limits and deletes them. Each of it is
//! told in the log of the workspace, or once that is gone, in its owner's.

use crate::Service;
use heddle_model::audit::{Action, Note, Object, Origin};
use heddle_model::error::{Code, ServiceError};
use heddle_model::ids::{UserId, WorkspaceId};
use heddle_store::hosting::{self, Hosting, TenantRow};
use heddle_store::notices::Notice;
use heddle_store::{Db, StoreError, accounts, archive, audit, workspaces};

/// A workspace. 404 if there is none.
pub async fn find(service: &Service, workspace: WorkspaceId) -> Result<TenantRow, ServiceError> {
    let found = hosting::find(&mut service.store.reader().await?.db(), workspace).await?;
    found.ok_or_else(missing)
}

fn missing() -> ServiceError {
    Code::WorkspaceNotFound.with("There is no workspace with this id.")
}

/// Whom the operator names as the owner of a workspace to be made. Where people prove that an address is theirs, it is somebody who
/// has: anybody may have registered with it.
pub(crate) async fn named_owner(
    db: &mut Db<'_>,
    email: &str,
    wants_verified: bool,
) -> Result<UserId, ServiceError> {
    let found = accounts::by_email(db, email).await?;
    let nobody = || ServiceError::field("owner", format!("is wrong: no user has the email {email}"));
    let user = found.ok_or_else(nobody)?;
    if wants_verified && !user.email_verified {
        let problem = format!(
            "is wrong: whoever has registered with {email} has not proven that it is theirs. They can do so from their profile, or \
             you say so for them by `heddle user verify`"
        );
        return Err(ServiceError::field("owner", problem));
    }
    Ok(user.id)
}

/// Makes a workspace that a registered user owns. No quota of the user counts.
pub async fn create(
    service: &Service,
    origin: Origin,
    name: String,
    owner: String,
) -> Result<TenantRow, ServiceError> {
    let (now, wants_verified) = (service.clock.now(), service.verifies_addresses());
    let created = service.store.write(move |db| {
        Box::pin(async move {
            let user = named_owner(db, &owner, wants_verified).await?;
            let created = workspaces::create(db, user, &name, now).await?;
            let entry = Action::WorkspaceCreated.of(Object::Workspace(created.id));
            audit::note_in_workspace(db, created.id, (None, origin), entry).await?;
            Ok::<_, ServiceError>(created.id)
        })
    });
    find(service, created.await?).await
}

/// Lets nothing of a workspace run or be changed any more. What executes goes on to its end; what waits is kept.
pub async fn suspend(
    service: &Service,
    origin: Origin,
    workspace: WorkspaceId,
    reason: Option<String>,
) -> Result<TenantRow, ServiceError> {
    let now = service.clock.now();
    let suspended = service.store.write(move |db| {
        Box::pin(async move {
            if hosting::suspend(db, workspace, reason.as_deref(), now).await? {
                let entry = Action::WorkspaceSuspended.of(Object::Workspace(workspace));
                let entry = match reason {
                    Some(reason) => entry.with("reason", reason),
                    None => entry,
                };
                audit::note_in_workspace(db, workspace, (None, origin), entry).await?;
            }
            Ok(())
        })
    });
    let suspended: Result<(), StoreError> = suspended.await;
    suspended?;
    changed(service, workspace).await?;
    find(service, workspace).await
}

/// Lets a workspace go on.
pub async fn resume(
    service: &Service,
    origin: Origin,
    workspace: WorkspaceId,
) -> Result<TenantRow, ServiceError> {
    let resumed = service.store.write(move |db| {
        Box::pin(async move {
            if archive::is_under_way(db, workspace).await? {
                return Err(Code::Conflict.with(
                    "The workspace is being imported: it can be resumed when the import has finished.",
                ));
            }
            if hosting::resume(db, workspace).await? {
                let entry = Action::WorkspaceResumed.of(Object::Workspace(workspace));
                audit::note_in_workspace(db, workspace, (None, origin), entry).await?;
            }
            Ok::<_, ServiceError>(())
        })
    });
    let resumed: Result<(), ServiceError> = resumed.await;
    resumed?;
    changed(service, workspace).await?;
    find(service, workspace).await
}

/// Sets the quotas of a workspace, and how long its runs are kept. What is not given is as the settings say.
pub async fn set(
    service: &Service,
    origin: Origin,
    workspace: WorkspaceId,
    hosting: Hosting,
) -> Result<(), ServiceError> {
    find(service, workspace).await?;
    let set = service.store.write(move |db| {
        Box::pin(async move {
            hosting::set(db, workspace, &hosting).await?;
            let entry = Action::WorkspaceQuotasSet.of(Object::Workspace(workspace));
            let entry = entry.with("quotas", serde_json::to_value(hosting.quotas).unwrap_or_default());
            let entry = entry.with("retentionDays", hosting.retention_days);
            audit::note_in_workspace(db, workspace, (None, origin), entry).await
        })
    });
    let set: Result<(), StoreError> = set.await;
    set?;
    changed(service, workspace).await
}

/// Deletes a workspace with everything that it has. It is suspended first, and stays so if this is interrupted.
pub async fn delete(service: &Service, origin: Origin, workspace: WorkspaceId) -> Result<(), ServiceError> {
    suspend(service, origin, workspace, Some("it is being deleted".to_owned())).await?;
    let mut reader = service.store.reader().await?;
    let owner = workspaces::owner(&mut reader.db(), workspace).await?;
    drop(reader);
    if let Some(owner) = owner {
        let gone: Note = Action::WorkspaceDeleted.of(Object::Workspace(workspace));
        let note = service
            .store
            .write(move |db| Box::pin(async move { audit::note_about(db, owner, origin, gone).await }));
        let note: Result<(), StoreError> = note.await;
        note?;
    }
    // What came in just before is removed as well.
    service.webhooks.journal.flush().await;
    service.executions.erase_workspace(workspace).await?;
    service.webhooks.all_changed();
    Ok(())
}

/// Brings this server's memory in line, as others do when they hear of it.
async fn changed(service: &Service, workspace: WorkspaceId) -> Result<(), ServiceError> {
    service.webhooks.all_changed();
    service.executions.follow(Notice::Workspace(workspace)).await
}
