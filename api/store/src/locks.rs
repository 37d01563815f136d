//! The order in which transactions lock rows on PostgreSQL, where many change things at once: two that lock the same rows in another
//! order wait for each other until one of them is undone, and its request fails with 503. SQLite has a single writer, which locks
//! everything.
//!
//! 1. the **workspace**: by whoever needs it as it is (`hosting::hold_running`, `for share`), has others wait (`workspaces::lock`,
//!    `for no key update`), removes it (`workspaces::lock_to_delete`, `for update`) or only needs it to stay ([`keep_workspace`],
//!    `for key share`), as every entry of the audit log does. Whoever changes what goes with it comes here first: its environments and
//!    their secrets, patterns, deployments, connections, keys and invitations; of several workspaces, in the order of ids
//! 2. the **pattern** (`patterns::owned`)
//! 3. the **environment** (`workspaces::hold_environment`)
//! 4. **deployments** (`deployments::owned`; several by [`deployments`], in the order of ids), before
//! 5. their **schedules**, **endpoints** and **subscriptions**
//! 6. **connections** (`connections::opened_to_change`, [`keep_connection`]), before their tokens and consents
//! 7. **kept values**, before the **files** that they refer to, and before what each user keeps of them (`key_value_usage`, which triggers
//!    change once all rows of a statement are locked)
//! 8. counts: of quotas (`quota::check`, last and in the order of owners), of a workspace's patterns, then `usage_hours`, where each
//!    counter has rows of its own
//! 9. the **user**, whom a removal of the account deletes last. A row that refers to the user as well locks them in the order of its
//!    columns, so that what else it refers to is locked before
//!
//! Runs are apart from these: nothing of the above is locked together with one. Several are taken with `skip locked`, keys that are
//! taken for them in their order, and what ends them is done again if it was undone.

use super::{Db, Sql, StoreError, sql};
use heddle_model::access::Scope;
use heddle_model::ids::{ConnectionId, WorkspaceId};

/// Keeps the scope's workspace from being removed until the transaction ends.
pub(crate) async fn keep_workspace(db: &mut Db<'_>, scope: &Scope) -> Result<(), StoreError> {
    match scope.workspace() {
        Some(workspace) => keep(db, workspace).await,
        None => Ok(()),
    }
}

/// Keeps this workspace from being removed until the transaction ends.
pub(crate) async fn keep(db: &mut Db<'_>, workspace: WorkspaceId) -> Result<(), StoreError> {
    if db.is_postgres() {
        let keep = sql("select id from workspaces where id = ? for key share").bind(workspace);
        let _: Option<(String,)> = db.optional(keep).await?;
    }
    Ok(())
}

/// Keeps a connection from being removed until the transaction ends.
pub(crate) async fn keep_connection(db: &mut Db<'_>, connection: ConnectionId) -> Result<(), StoreError> {
    if db.is_postgres() {
        let keep = sql("select id from connections where id = ? for key share").bind(connection);
        let _: Option<(String,)> = db.optional(keep).await?;
    }
    Ok(())
}

/// Locks the deployments for which this condition is true until the transaction ends.
pub(crate) async fn deployments(db: &mut Db<'_>, condition: Sql) -> Result<(), StoreError> {
    if db.is_postgres() {
        let lock = sql("select id from deployments where ").append(condition);
        let lock = lock.push(" order by id for no key update");
        let _: Vec<(String,)> = db.all(lock).await?;
    }
    Ok(())
}
