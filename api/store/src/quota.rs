//! Counts usage against quotas, and checks that a change stays within them. The change is made first and then counted
//! in its own transaction; an owner's changes are serialised, so concurrent changes can't exceed a quota together.
//! Nothing has to be decremented when objects are deleted.

use super::deployments::owner_of_deployment;
use super::runs::event_text::event_sql;
use super::{Db, Sql, StoreError, sql};
use heddle_model::ids::{PatternId, UserId, WorkspaceId};
use heddle_model::quota::{Exceeded, Quota, Quotas};
use heddle_model::tenant::Tenant;

/// The owner whose quotas a change counts towards.
#[derive(Clone, Copy, Debug)]
pub enum Payer {
    /// A user's.
    User(UserId),
    /// The user who created the workspace.
    Workspace(WorkspaceId),
    /// A pattern's own.
    Pattern(PatternId),
}

/// Checks what this transaction has added; its error undoes it. To be called once in a transaction, at its end.
pub async fn check(db: &mut Db<'_>, quotas: &Quotas, added: &[(Payer, &[Quota])]) -> Result<(), StoreError> {
    let mut owners = Vec::with_capacity(added.len());
    for (payer, counted) in added {
        owners.extend(owner(db, *payer).await?.map(|owner| (owner, *counted)));
    }
    // In one order, so that no two transactions wait for each other.
    owners.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    for (place, (owner, counted)) in owners.iter().enumerate() {
        if db.is_postgres() {
            // What others of the same owner have added is committed before it is counted here.
            let lock = sql("select pg_advisory_xact_lock(hashtextextended(?, 0))");
            db.execute(lock.bind(format!("quota {owner}"))).await?;
        }
        for quota in counted.iter().copied() {
            // Most workspaces are those of whoever changes them.
            let mut before = owners.iter().take(place);
            let is_checked = before.any(|(other, of_other)| other == owner && of_other.contains(&quota));
            let Some(limit) = quotas.limit(quota).filter(|_| !is_checked) else {
                continue;
            };
            let (used,): (i64,) = db.one(used(quota, owner)).await?;
            if used > limit {
                return Err(StoreError::Quota(Exceeded { quota, limit }));
            }
        }
    }
    Ok(())
}

/// Checks whether a user may have so much more, before any of it is stored. That another change comes in between is left to [`check`].
pub async fn check_ahead(
    db: &mut Db<'_>,
    quotas: &Quotas,
    user: UserId,
    (quota, more): (Quota, i64),
) -> Result<(), StoreError> {
    let Some(limit) = quotas.limit(quota) else {
        return Ok(());
    };
    match count(db, quota, user).await?.saturating_add(more) > limit {
        true => Err(StoreError::Quota(Exceeded { quota, limit })),
        false => Ok(()),
    }
}

/// How much a user has of what this quota limits.
pub async fn count(db: &mut Db<'_>, quota: Quota, user: UserId) -> Result<i64, StoreError> {
    let (used,): (i64,) = db.one(used(quota, &user.to_string())).await?;
    Ok(used)
}

/// The key that usage is counted under; `None`: a workspace without a creator, which only earlier versions could leave
/// behind.
async fn owner(db: &mut Db<'_>, payer: Payer) -> Result<Option<String>, StoreError> {
    let workspace = match payer {
        Payer::User(user) => return Ok(Some(user.to_string())),
        Payer::Pattern(pattern) => return Ok(Some(pattern.to_string())),
        Payer::Workspace(workspace) => workspace,
    };
    let maker = user_of(db, Tenant::Workspace(workspace)).await?;
    Ok(maker.map(|maker| maker.to_string()))
}

/// The user whose quotas a tenant's files count towards: whoever created the workspace, or the user outside of workspaces. `None`:
/// nobody is left.
pub async fn user_of(db: &mut Db<'_>, tenant: Tenant) -> Result<Option<UserId>, StoreError> {
    let workspace = match tenant {
        Tenant::User(user) => return Ok(Some(user)),
        Tenant::Workspace(workspace) => workspace,
    };
    let maker = sql("select created_by from workspaces where id = ?").bind(workspace);
    let found: Option<(Option<UserId>,)> = db.optional(maker).await?;
    Ok(found.and_then(|(maker,)| maker))
}

/// What is stored of a run `r` until it ends: its event, the results of its effects, and what has come for it.
macro_rules! bytes_of_waiting {
    () => {
        concat!(
            "coalesce(",
            event_sql!(bytes "r"),
            ", 0)
         + coalesce((select sum(octet_length(j.entry)) from journal_entries j where j.run_id = r.id), 0)
         + coalesce((select sum(octet_length(s.payload)) from signals s where s.run_id = r.id), 0)"
        )
    };
}

fn used(quota: Quota, owner: &str) -> Sql {
    let text = match quota {
        Quota::Workspaces => "select count(*) from workspaces where created_by = ?",
        Quota::Environments => {
            "select count(*) from environments e join workspaces w on w.id = e.workspace_id where w.created_by = ?"
        }
        Quota::Members => {
            "select (select count(*) from memberships m join workspaces w on w.id = m.workspace_id
                     where w.created_by = ?)
                  + (select count(*) from invitations i join workspaces w on w.id = i.workspace_id
                     where w.created_by = ?)
                  + (select count(*) from invitation_links l join workspaces w on w.id = l.workspace_id
                     where l.invitation_id is null and w.created_by = ?)"
        }
        Quota::Patterns => "select count(*) from patterns where owner_id = ?",
        Quota::PatternBytes => {
            "select cast(
                 (select coalesce(sum(stored_bytes), 0) from patterns where owner_id = ?)
                 + (select coalesce(sum(t.stored_bytes), 0) from pattern_tests t
                    join patterns p on p.id = t.pattern_id where p.owner_id = ?)
                 + (select coalesce(sum(stored_bytes), 0) from pattern_drafts where user_id = ?) as bigint)"
        }
        // Numbered without gaps.
        Quota::Versions => "select version_number from patterns where id = ?",
        Quota::Endpoints => {
            "select (select count(*) from webhook_endpoints where pattern_id = ?)
                  + (select count(*) from email_endpoints where pattern_id = ?)"
        }
        Quota::Secrets => {
            "select count(*) from secrets s join environments e on e.id = s.environment_id
             join workspaces w on w.id = e.workspace_id where w.created_by = ?"
        }
        Quota::SecretBytes => {
            "select cast(coalesce(sum(length(s.ciphertext)), 0) as bigint) from secrets s
             join environments e on e.id = s.environment_id join workspaces w on w.id = e.workspace_id
             where w.created_by = ?"
        }
        Quota::Connections => "select count(*) from connections where user_id = ?",
        Quota::ConnectionBytes => {
            "select cast(coalesce(sum(length(ciphertext)), 0) as bigint) from connections where user_id = ?"
        }
        Quota::ApiKeys => "select count(*) from api_keys where user_id = ?",
        // That of each deployment, which bounds their number as well, and what was deployed: it is sealed for its workspace for as
        // long as it is kept. Triggers measure both; all that is read is in two indexes, since others wait to write meanwhile.
        Quota::ModuleBytes => {
            "select cast(
                 (select coalesce(sum(module_bytes), 0) from deployments where user_id = ?)
                 + (select coalesce(sum(bytes), 0) from (
                        select distinct s.hash, s.bytes from module_seals s
                        where s.tenant in (select ? union all select id from workspaces where created_by = ?)
                        and not exists (select 1 from deployments d where d.artifact = s.hash and d.user_id = ?)) replaced)
                 as bigint)"
        }
        Quota::Schedules => {
            "select count(*) from schedules s join deployments d on d.id = s.deployment_id where d.user_id = ?"
        }
        // Each content once. With `or`, SQLite would read those of everybody.
        Quota::FileBytes => {
            "select cast(coalesce(sum(size), 0) as bigint) from file_blobs where state = 'live'
             and exists (select 1 from files where files.blob_id = file_blobs.id)
             and tenant_id in (select ? union all select id from workspaces where created_by = ?)"
        }
        Quota::Files => {
            "select count(*) from files where tenant_id = ? or tenant_id in (select id from workspaces where created_by = ?)"
        }
        // Counted by triggers.
        Quota::KeyValues => "select coalesce((select entries from key_value_usage where owner_id = ?), 0)",
        Quota::KeyValueBytes => "select coalesce((select bytes from key_value_usage where owner_id = ?), 0)",
        // Of the same runs. Two selections, each with an index of its own.
        Quota::WaitingRunBytes => concat!(
            "select cast(coalesce(sum(w.bytes), 0) as bigint) from (select ",
            bytes_of_waiting!(),
            " as bytes from deployments d join runs r on r.deployment_id = d.id
             where r.wake_at is not null and (d.user_id = ? or d.workspace_id in
                 (select workspace_id from memberships where user_id = ? and role = 'owner')) and ",
            owner_of_deployment!(),
            " = ? union all select ",
            bytes_of_waiting!(),
            " as bytes from runs r join deployments d on d.id = r.deployment_id
             where r.status = 'running' and r.wake_at is null and d.status = 'paused' and ",
            owner_of_deployment!(),
            " = ?) w"
        ),
        // Those that wait for something, and those that wait for their deployment to be resumed.
        Quota::WaitingRuns => concat!(
            "select (select count(*) from deployments d join runs r on r.deployment_id = d.id
             where r.wake_at is not null and (d.user_id = ? or d.workspace_id in
                 (select workspace_id from memberships where user_id = ? and role = 'owner')) and ",
            owner_of_deployment!(),
            " = ?) + (select count(*) from runs r join deployments d on d.id = r.deployment_id
             where r.status = 'running' and r.wake_at is null and d.status = 'paused' and ",
            owner_of_deployment!(),
            " = ?)"
        ),
    };
    let owners = text.matches('?').count();
    (0..owners).fold(sql(text), |query, _| query.bind(owner))
}
