//! Links by which people join a workspace, each found by the hash of the secret in it. One that belongs to an address's
//! invitation ends with that. Knows nothing of what a secret is, nor of how a link is sent.

use super::{Db, StoreError, locks, sql};
use heddle_model::access::{Administrator, Manager, WorkspaceRole};
use heddle_model::clock::Timestamp;
use heddle_model::ids::{InvitationId, InvitationLinkId, UserId, WorkspaceId};
use sqlx_macros::FromRow;

/// A link, as the workspace sees it.
#[derive(Clone, Debug, FromRow)]
pub struct LinkRow {
    /// UUIDv7, so that ids sort by time of creation.
    pub id: InvitationLinkId,
    /// The role of those who join by it.
    pub role: WorkspaceRole,
    /// Whether it ends with its first use.
    pub is_single_use: bool,
    /// How many have joined by it.
    pub uses: i64,
    /// Email of who made it.
    pub inviter_email: String,
    /// When made.
    pub created_at: Timestamp,
    /// When it is over.
    pub expires_at: Timestamp,
}

/// A link to be made.
#[derive(Clone, Debug)]
pub struct NewLink {
    /// SHA-256 of its secret, in hex.
    pub hash: String,
    /// The role of those who join by it.
    pub role: WorkspaceRole,
    /// Whether it ends with its first use.
    pub is_single_use: bool,
    /// When it is over.
    pub expires_at: Timestamp,
}

/// What a link offers to whoever has it.
#[derive(Clone, Debug, FromRow)]
pub struct OfferRow {
    pub id: InvitationLinkId,
    pub workspace_id: WorkspaceId,
    pub workspace_name: String,
    /// The role that they would have.
    pub role: WorkspaceRole,
    /// The invitation that it belongs to.
    pub invitation_id: Option<InvitationId>,
    /// The only address that may use it, as it is compared; `None`: any.
    pub email_key: Option<String>,
    /// Whether it was sent to that address.
    pub is_mailed: bool,
    /// Whether it ends with its first use.
    pub is_single_use: bool,
    /// Email of who invites.
    pub inviter_email: String,
    /// Their role in the workspace now; `None`: they have left.
    pub inviter_role: Option<String>,
    /// When it is over.
    pub expires_at: Timestamp,
}

impl OfferRow {
    /// Whether whoever made it still has the right to.
    pub fn holds(&self) -> bool {
        let role = self.inviter_role.clone().map(WorkspaceRole::try_from);
        matches!(role, Some(Ok(inviter)) if inviter.may_invite(self.role))
    }
}

const LINK: &str =
    "select l.id, l.role, l.is_single_use, l.uses, s.email as inviter_email, l.created_at, l.expires_at
    from invitation_links l join users s on s.id = l.invited_by ";

/// Makes a link into the manager's workspace, for whoever has it.
pub async fn create(
    db: &mut Db<'_>,
    manager: &Manager,
    new: &NewLink,
    now: Timestamp,
) -> Result<LinkRow, StoreError> {
    locks::keep_workspace(db, manager).await?;
    forget_expired(db, now).await?;
    let id = InvitationLinkId::new();
    insert(db, (id, None, false), manager, new, now).await?;
    let link = sql(LINK).push("where l.id = ?").bind(id);
    db.one(link).await
}

/// Gives an address's invitation a link, in place of one that it has.
pub async fn create_for_invitation(
    db: &mut Db<'_>,
    manager: &Manager,
    (invitation, is_mailed): (InvitationId, bool),
    new: &NewLink,
    now: Timestamp,
) -> Result<(), StoreError> {
    db.execute(sql("delete from invitation_links where invitation_id = ?").bind(invitation))
        .await?;
    let link = (InvitationLinkId::new(), Some(invitation), is_mailed);
    insert(db, link, manager, new, now).await
}

async fn insert(
    db: &mut Db<'_>,
    (id, invitation, is_mailed): (InvitationLinkId, Option<InvitationId>, bool),
    manager: &Manager,
    new: &NewLink,
    now: Timestamp,
) -> Result<(), StoreError> {
    let workspace = manager.workspace().ok_or(StoreError::Missing)?;
    db.execute(
        sql(
            "insert into invitation_links (id, token_hash, workspace_id, role, invitation_id, is_mailed, is_single_use,
                 invited_by, created_at, expires_at) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(id)
        .bind(&new.hash)
        .bind(workspace)
        .bind(new.role)
        .bind(invitation)
        .bind(is_mailed)
        .bind(new.is_single_use)
        .bind(manager.user())
        .bind(now)
        .bind(new.expires_at),
    )
    .await
    .map(drop)
}

async fn forget_expired(db: &mut Db<'_>, now: Timestamp) -> Result<(), StoreError> {
    let over = sql("delete from invitation_links where invitation_id is null and expires_at <= ?");
    db.execute(over.bind(now)).await.map(drop)
}

/// The links into the administrator's workspace that belong to no address, the oldest first.
pub async fn list(
    db: &mut Db<'_>,
    administrator: &Administrator,
    now: Timestamp,
) -> Result<Vec<LinkRow>, StoreError> {
    db.all(
        sql(LINK)
            .push("where l.workspace_id = ? and l.invitation_id is null and l.expires_at > ?")
            .bind(administrator.workspace())
            .bind(now)
            .push(" order by l.created_at, l.id"),
    )
    .await
}

/// Takes a link into the manager's workspace back; whether there was one.
pub async fn revoke(db: &mut Db<'_>, manager: &Manager, link: InvitationLinkId) -> Result<bool, StoreError> {
    locks::keep_workspace(db, manager).await?;
    let delete =
        sql("delete from invitation_links where workspace_id = ? and id = ? and invitation_id is null");
    Ok(db.execute(delete.bind(manager.workspace()).bind(link)).await? > 0)
}

/// What the link offers whose secret has this hash; nothing while whoever made it is disabled, or the workspace suspended.
pub async fn offered(db: &mut Db<'_>, hash: &str, now: Timestamp) -> Result<Option<OfferRow>, StoreError> {
    db.optional(
        sql(
            "select l.id, l.workspace_id, w.name as workspace_name, coalesce(i.role, l.role) as role, l.invitation_id,
                 i.email_key, l.is_mailed, l.is_single_use, s.email as inviter_email, m.role as inviter_role, l.expires_at
             from invitation_links l join workspaces w on w.id = l.workspace_id join users s on s.id = l.invited_by
             left join invitations i on i.id = l.invitation_id
             left join memberships m on m.workspace_id = l.workspace_id and m.user_id = l.invited_by
             where l.token_hash = ? and l.expires_at > ? and not s.is_disabled and w.suspended_at is null",
        )
        .bind(hash)
        .bind(now),
    )
    .await
}

/// Makes a user a member by a link; false: it was used up or taken back meanwhile, or they are a member already.
pub async fn join(
    db: &mut Db<'_>,
    user: UserId,
    offer: &OfferRow,
    now: Timestamp,
) -> Result<bool, StoreError> {
    locks::keep(db, offer.workspace_id).await?;
    if !use_up(db, offer, now).await? {
        return Ok(false);
    }
    let insert = sql(
        "insert into memberships (workspace_id, user_id, role, created_at) values (?, ?, ?, ?)
         on conflict (workspace_id, user_id) do nothing",
    )
    .bind(offer.workspace_id)
    .bind(user)
    .bind(offer.role)
    .bind(now);
    Ok(db.execute(insert).await? > 0)
}

/// Counts a use. Of two that come at once, a link for one lets one in.
async fn use_up(db: &mut Db<'_>, offer: &OfferRow, now: Timestamp) -> Result<bool, StoreError> {
    let used = match (offer.invitation_id, offer.is_single_use) {
        // One that was made anew for another role meanwhile is not the one that was looked at.
        (Some(invitation), _) => sql("delete from invitations where id = ? and role = ?")
            .bind(invitation)
            .bind(offer.role),
        (None, true) => sql("delete from invitation_links where id = ? and expires_at > ?")
            .bind(offer.id)
            .bind(now),
        (None, false) => sql("update invitation_links set uses = uses + 1 where id = ? and expires_at > ?")
            .bind(offer.id)
            .bind(now),
    };
    Ok(db.execute(used).await? > 0)
}
