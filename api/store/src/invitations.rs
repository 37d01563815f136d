//! Invitations to workspaces: pending offers of membership. An invited email need not belong to a registered user.

use super::accounts::email_key;
use super::{Db, StoreError, locks, sql};
use heddle_model::access::{Administrator, Manager, Scope, WorkspaceRole};
use heddle_model::clock::Timestamp;
use heddle_model::ids::{InvitationId, UserId, WorkspaceId};
use sqlx_macros::FromRow;
use std::time::Duration;

/// Time after which an unanswered invitation expires.
pub const AGE_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// An invitation, as the workspace sees it.
#[derive(Clone, Debug, FromRow)]
pub struct InvitationRow {
    /// UUIDv7, so that ids sort by time of creation.
    pub id: InvitationId,
    /// Whose email.
    pub email: String,
    /// The role that they would have.
    pub role: WorkspaceRole,
    /// When invited.
    pub created_at: Timestamp,
    /// When it is over.
    pub expires_at: Timestamp,
}

/// An invitation, as seen by the invited user.
#[derive(Clone, Debug, FromRow)]
pub struct ReceivedRow {
    /// UUIDv7, so that ids sort by time of creation.
    pub id: InvitationId,
    pub workspace_id: WorkspaceId,
    pub workspace_name: String,
    /// The role that they would have.
    pub role: WorkspaceRole,
    /// Who invites.
    pub invited_by: UserId,
    /// Their email.
    pub inviter_email: String,
    /// Their role in the workspace now; `None`: they have left.
    pub inviter_role: Option<String>,
    /// When invited.
    pub created_at: Timestamp,
    /// When it is over.
    pub expires_at: Timestamp,
}

impl ReceivedRow {
    /// Whether the sender still has the right to invite.
    pub fn holds(&self) -> bool {
        let role = self.inviter_role.clone().map(WorkspaceRole::try_from);
        matches!(role, Some(Ok(inviter)) if inviter.may_invite(self.role))
    }
}

/// Invites an email to the manager's workspace, replacing an earlier invitation of the same email.
pub async fn invite(
    db: &mut Db<'_>,
    manager: &Manager,
    email: &str,
    role: WorkspaceRole,
    now: Timestamp,
) -> Result<InvitationRow, StoreError> {
    let workspace = manager.workspace().ok_or(StoreError::Missing)?;
    locks::keep(db, workspace).await?;
    let over = sql("delete from invitations where workspace_id = ? and expires_at <= ?");
    db.execute(over.bind(workspace).bind(now)).await?;
    db.one(
        sql("insert into invitations (id, workspace_id, email, email_key, role, invited_by, created_at, expires_at)
             values (?, ?, ?, ?, ?, ?, ?, ?)
             on conflict (workspace_id, email_key) do update set role = excluded.role,
                 invited_by = excluded.invited_by, created_at = excluded.created_at,
                 expires_at = excluded.expires_at
             returning id, email, role, created_at, expires_at")
        .bind(InvitationId::new())
        .bind(workspace)
        .bind(email)
        .bind(email_key(email))
        .bind(role)
        .bind(manager.user())
        .bind(now)
        .bind(now.plus(AGE_MAX)),
    )
    .await
}

/// The unanswered invitations of the administrator's workspace, the oldest first.
pub async fn list(
    db: &mut Db<'_>,
    administrator: &Administrator,
    now: Timestamp,
) -> Result<Vec<InvitationRow>, StoreError> {
    db.all(
        sql("select id, email, role, created_at, expires_at from invitations
             where workspace_id = ? and expires_at > ? order by created_at, id")
        .bind(administrator.workspace())
        .bind(now),
    )
    .await
}

/// Takes an invitation of the manager's workspace back; whether there was one.
pub async fn withdraw(
    db: &mut Db<'_>,
    manager: &Manager,
    invitation: InvitationId,
) -> Result<bool, StoreError> {
    let delete = sql("delete from invitations where workspace_id = ? and id = ?");
    Ok(db
        .execute(delete.bind(manager.workspace()).bind(invitation))
        .await?
        > 0)
}

const RECEIVED: &str = "select i.id, i.workspace_id, w.name as workspace_name, i.role, i.invited_by,
    s.email as inviter_email, m.role as inviter_role, i.created_at, i.expires_at
    from invitations i join workspaces w on w.id = i.workspace_id join users s on s.id = i.invited_by
    left join memberships m on m.workspace_id = i.workspace_id and m.user_id = i.invited_by
    where i.email_key = ? and i.expires_at > ? and not s.is_disabled and w.suspended_at is null ";

/// The invitations for an email, the newest first, at most `limit`.
pub async fn received(
    db: &mut Db<'_>,
    email: &str,
    now: Timestamp,
    limit: i64,
) -> Result<Vec<ReceivedRow>, StoreError> {
    let select = sql(RECEIVED).bind(email_key(email)).bind(now);
    db.all(
        select
            .push("order by i.created_at desc, i.id desc limit ?")
            .bind(limit),
    )
    .await
}

/// Takes an invitation for an email out, to be answered.
pub async fn take(
    db: &mut Db<'_>,
    email: &str,
    invitation: InvitationId,
    now: Timestamp,
) -> Result<Option<ReceivedRow>, StoreError> {
    let select = sql(RECEIVED).bind(email_key(email)).bind(now);
    let found: Option<ReceivedRow> = db.optional(select.push("and i.id = ?").bind(invitation)).await?;
    let Some(found) = found else { return Ok(None) };
    locks::keep(db, found.workspace_id).await?;
    // Two answers at once: one of them finds nothing.
    let delete = sql("delete from invitations where id = ?").bind(invitation);
    Ok((db.execute(delete).await? > 0).then_some(found))
}

/// Makes a user a member of the workspace that they were invited to; `false`: they are one already, and nothing changes.
pub async fn join(
    db: &mut Db<'_>,
    user: UserId,
    invitation: &ReceivedRow,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let insert = sql(
        "insert into memberships (workspace_id, user_id, role, created_at) values (?, ?, ?, ?)
         on conflict (workspace_id, user_id) do nothing",
    )
    .bind(invitation.workspace_id)
    .bind(user)
    .bind(invitation.role)
    .bind(now);
    Ok(db.execute(insert).await? > 0)
}

/// Whether an email is a member's of the scope's workspace.
pub async fn is_member(db: &mut Db<'_>, scope: &Scope, email: &str) -> Result<bool, StoreError> {
    let found: Option<(String,)> = db
        .optional(
            sql(
                "select m.user_id from memberships m join users u on u.id = m.user_id
                 where m.workspace_id = ? and u.email_key = ?",
            )
            .bind(scope.workspace())
            .bind(email_key(email)),
        )
        .await?;
    Ok(found.is_some())
}
