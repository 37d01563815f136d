//! Imports that are under way: which part comes next, and what has become of names so far. The workspace is there from the
//! beginning, suspended and without members, so that whatever fails leaves something that can be removed like any other.

use super::lookups::account;
use super::report::Report;
use super::{ArchiveError, Archived, Names};
use crate::db::{Db, sql};
use crate::error::StoreError;
use crate::notices::{self, Notice};
use crate::vault::{Sealed, Vault};
use heddle_model::access::WorkspaceRole;
use heddle_model::clock::Timestamp;
use heddle_model::ids::{DataKeyId, InvitationId, UserId, WorkspaceId};
use sqlx_macros::FromRow;
use std::time::Duration;
use zeroize::Zeroizing;

/// Why the workspace is suspended meanwhile.
const UNDER_WAY: &str = "it is being imported";
/// Why it is suspended once the import has finished.
const FINISHED: &str = "it was imported: resume it once its addresses lead here";
/// How long people without an account have to accept their invitation.
const INVITATION_AGE_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// An import to begin.
pub struct NewImport {
    /// The archive's own id, in hex.
    pub archive_id: String,
    pub archived: Archived,
    /// Who gets what belonged to people without an account; who is to own the workspace if none of its owners has one.
    pub owner: UserId,
    /// Whether ids are to be others although they are free.
    pub wants_new_ids: bool,
    /// The archive's key.
    pub key: Zeroizing<[u8; 32]>,
    pub now: Timestamp,
}

#[derive(Clone, Debug, FromRow)]
pub struct ImportRow {
    /// The workspace here.
    pub workspace_id: WorkspaceId,
    /// The archive's own id.
    pub archive_id: String,
    /// The workspace there.
    pub former_id: WorkspaceId,
    /// Whether ids stay as they were.
    pub keeps_ids: bool,
    /// See [`NewImport::owner`].
    pub owner_id: UserId,
    /// The number of the part that comes next.
    pub next_part: i64,
    /// When it was begun.
    pub began_at: Timestamp,
    /// When it was finished, in milliseconds; `None`: it is under way.
    pub finished_at: Option<i64>,
    key_id: DataKeyId,
    key: Vec<u8>,
    report: String,
}

/// How far it has come, to be written down.
#[derive(Clone, Copy, Debug)]
pub struct ImportProgress<'a> {
    /// The number of the part that comes next.
    pub next_part: i64,
    /// What is not as it was.
    pub report: &'a Report,
    pub now: Timestamp,
}

fn aad(workspace: WorkspaceId) -> String {
    format!("imports/{workspace}")
}

impl ImportRow {
    /// What ids become.
    pub fn names(&self) -> Names {
        Names {
            workspace: self.workspace_id,
            former: self.former_id,
            keeps_ids: self.keeps_ids,
        }
    }

    /// What is not as it was, so far.
    pub fn report(&self) -> Report {
        serde_json::from_str(&self.report).unwrap_or_default()
    }

    /// The archive's key.
    pub async fn key(&self, db: &mut Db<'_>, vault: &Vault) -> Result<Zeroizing<[u8; 32]>, ArchiveError> {
        let sealed = Sealed {
            data_key: self.key_id,
            bytes: self.key.clone(),
        };
        let workspace = self.workspace_id;
        let opened = vault.open(db, Some(workspace), &aad(workspace), &sealed).await?;
        let key = opened.as_slice().try_into().map_err(|_| StoreError::Missing)?;
        Ok(Zeroizing::new(key))
    }
}

const IMPORT: &str = "select workspace_id, archive_id, former_id, keeps_ids, owner_id, next_part, began_at, finished_at, key_id, key,
    report from imports where workspace_id = ?";

/// The import of a workspace. For a transaction that goes on with it, nobody else does before its end.
pub async fn find(
    db: &mut Db<'_>,
    workspace: WorkspaceId,
    to_go_on: bool,
) -> Result<Option<ImportRow>, StoreError> {
    let lock = if to_go_on && db.is_postgres() {
        " for update"
    } else {
        ""
    };
    db.optional(sql(IMPORT).bind(workspace).push(lock)).await
}

/// Whether a workspace is being imported.
pub async fn is_under_way(db: &mut Db<'_>, workspace: WorkspaceId) -> Result<bool, StoreError> {
    let query = sql("select workspace_id from imports where workspace_id = ? and finished_at is null");
    let found: Option<(String,)> = db.optional(query.bind(workspace)).await?;
    Ok(found.is_some())
}

/// Makes the workspace, and begins.
pub async fn begin(db: &mut Db<'_>, vault: &Vault, new: NewImport) -> Result<WorkspaceId, ArchiveError> {
    let taken = sql("select id from workspaces where id = ?").bind(new.archived.id);
    let taken: Option<(String,)> = db.optional(taken).await?;
    let keeps_ids = taken.is_none() && !new.wants_new_ids;
    let workspace = match keeps_ids {
        true => new.archived.id,
        false => WorkspaceId::new(),
    };
    let insert = sql("insert into workspaces (id, name, created_by, created_at, updated_at, suspended_at, suspended_reason, hosting)
         values (?, ?, ?, ?, ?, ?, ?, ?)")
    .bind(workspace)
    .bind(new.archived.name)
    .bind(new.owner)
    .bind(new.archived.created_at)
    .bind(new.now)
    .bind(new.now)
    .bind(UNDER_WAY)
    .bind(new.archived.hosting);
    db.execute(insert).await?;
    let sealed = vault
        .seal(db, Some(workspace), &aad(workspace), new.key.as_slice())
        .await?;
    let insert = sql(
        "insert into imports (workspace_id, archive_id, former_id, keeps_ids, owner_id, key_id, key, next_part, report,
         began_at, touched_at) values (?, ?, ?, ?, ?, ?, ?, 1, '{}', ?, ?)",
    )
    .bind(workspace)
    .bind(new.archive_id)
    .bind(new.archived.id)
    .bind(keeps_ids)
    .bind(new.owner)
    .bind(sealed.data_key)
    .bind(sealed.bytes)
    .bind(new.now)
    .bind(new.now);
    db.execute(insert).await?;
    notices::tell(db, Notice::Workspace(workspace)).await?;
    Ok(workspace)
}

/// Notes how far an import has come.
pub async fn note(
    db: &mut Db<'_>,
    workspace: WorkspaceId,
    progress: ImportProgress<'_>,
) -> Result<(), StoreError> {
    let update = sql("update imports set next_part = ?, report = ?, touched_at = ? where workspace_id = ?");
    let update = update
        .bind(progress.next_part)
        .bind(serde_json::to_string(progress.report)?)
        .bind(progress.now)
        .bind(workspace);
    db.execute(update).await.map(drop)
}

/// Gives the workspace its members, when all rows are there. It stays suspended.
pub async fn finish(
    db: &mut Db<'_>,
    import: &ImportRow,
    report: &mut Report,
    now: Timestamp,
) -> Result<(), ArchiveError> {
    let workspace = import.workspace_id;
    members(db, import, report, now).await?;
    for statement in [
        // Only runs of the workspace itself are told of its runs' ends.
        "update runs set parent_id = null, parent_key = null where parent_id is not null
         and deployment_id in (select id from deployments where workspace_id = ?)
         and not exists (select 1 from runs p join deployments d on d.id = p.deployment_id
                         where p.id = runs.parent_id and d.workspace_id = ?)",
        // What counts is what there is, and all of that is in rows.
        "update patterns set stored_bytes = coalesce((select sum(octet_length(v.graph)) from pattern_versions v
             where v.pattern_id = patterns.id), 0)
             + coalesce((select sum(octet_length(f.definitions)) from pattern_definitions f
             where f.pattern_id = patterns.id), 0) where workspace_id = ?",
        "update pattern_drafts set stored_bytes = octet_length(graph) + coalesce(octet_length(definitions), 0)
         where pattern_id in (select id from patterns where workspace_id = ?)",
        "update pattern_tests set stored_bytes = octet_length(name) + octet_length(content)
         where pattern_id in (select id from patterns where workspace_id = ?)",
        "delete from imported_names where workspace_id = ?",
    ] {
        let query = statement.matches('?').fold(sql(statement), |query, _| query.bind(workspace));
        db.execute(query).await?;
    }
    let reason = sql("update workspaces set suspended_reason = ? where id = ?");
    db.execute(reason.bind(FINISHED).bind(workspace)).await?;
    let update = sql("update imports set finished_at = ?, key = ? where workspace_id = ?");
    db.execute(update.bind(now).bind(Vec::<u8>::new()).bind(workspace))
        .await?;
    Ok(notices::tell(db, Notice::Everything).await?)
}

/// Members by their addresses; those who have no account are invited.
async fn members(
    db: &mut Db<'_>,
    import: &ImportRow,
    report: &mut Report,
    now: Timestamp,
) -> Result<(), ArchiveError> {
    let query = sql("select user_id, email, role, joined_at from imported_names
         where workspace_id = ? and kind = 'user' and role is not null order by joined_at, name");
    type Member = (Option<UserId>, String, String, Option<i64>);
    let found: Vec<Member> = db.all(query.bind(import.workspace_id)).await?;
    let mut is_owned = false;
    for (user, email, role, joined_at) in found {
        let role = WorkspaceRole::try_from(role).map_err(|_| StoreError::Missing)?;
        match user {
            Some(user) => {
                is_owned |= role == WorkspaceRole::Owner;
                member(
                    db,
                    import.workspace_id,
                    (user, role),
                    joined_at.map_or(now, Timestamp::from_millis),
                )
                .await?;
            }
            None => {
                invite(db, import, (&email, role), now).await?;
                report.invited.push(email);
            }
        }
    }
    if !is_owned {
        let delete = sql("delete from memberships where workspace_id = ? and user_id = ?");
        db.execute(delete.bind(import.workspace_id).bind(import.owner_id))
            .await?;
        member(
            db,
            import.workspace_id,
            (import.owner_id, WorkspaceRole::Owner),
            now,
        )
        .await?;
    }
    Ok(())
}

async fn member(
    db: &mut Db<'_>,
    workspace: WorkspaceId,
    (user, role): (UserId, WorkspaceRole),
    joined_at: Timestamp,
) -> Result<(), StoreError> {
    let insert = sql(
        "insert into memberships (workspace_id, user_id, role, created_at) values (?, ?, ?, ?)
         on conflict do nothing",
    );
    let insert = insert.bind(workspace).bind(user).bind(role).bind(joined_at);
    db.execute(insert).await.map(drop)
}

async fn invite(
    db: &mut Db<'_>,
    import: &ImportRow,
    (email, role): (&str, WorkspaceRole),
    now: Timestamp,
) -> Result<(), StoreError> {
    let insert = sql("insert into invitations (id, workspace_id, email, email_key, role, invited_by, created_at, expires_at)
         values (?, ?, ?, ?, ?, ?, ?, ?) on conflict do nothing")
    .bind(InvitationId::new())
    .bind(import.workspace_id)
    .bind(email)
    .bind(crate::accounts::email_key(email))
    .bind(role)
    .bind(import.owner_id)
    .bind(now)
    .bind(now.plus(INVITATION_AGE_MAX));
    db.execute(insert).await.map(drop)
}

/// The first of these addresses that has an account.
pub async fn first_account(
    db: &mut Db<'_>,
    emails: &[String],
    wants_verified: bool,
) -> Result<Option<UserId>, StoreError> {
    for email in emails {
        if let Some(user) = account(db, email, wants_verified).await? {
            return Ok(Some(user));
        }
    }
    Ok(None)
}

/// Workspaces whose import nobody has gone on with since a time.
pub async fn abandoned(db: &mut Db<'_>, since: Timestamp) -> Result<Vec<WorkspaceId>, StoreError> {
    let query =
        sql("select workspace_id from imports where finished_at is null and touched_at <= ? limit 100");
    let found: Vec<(WorkspaceId,)> = db.all(query.bind(since)).await?;
    Ok(found.into_iter().map(|(workspace,)| workspace).collect())
}

/// Forgets what was told of imports that were finished before a time.
pub async fn forget_finished(db: &mut Db<'_>, before: Timestamp) -> Result<u64, StoreError> {
    db.execute(sql("delete from imports where finished_at <= ?").bind(before))
        .await
}
