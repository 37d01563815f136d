//! Users, and the queries on workspaces and memberships that accounts need.

use super::{Db, StoreError, sql};
use heddle_model::access::{Role, WorkspaceRole};
use heddle_model::clock::Timestamp;
use heddle_model::ids::{EnvironmentId, UserId, WorkspaceId};
use sqlx_macros::FromRow;

#[derive(Clone, FromRow)]
pub struct UserRow {
    /// UUIDv7, so that ids sort by time of creation.
    pub id: UserId,
    /// Email as registered.
    pub email: String,
    pub first_name: String,
    pub last_name: String,
    /// Role in the service.
    pub role: Role,
    /// Argon2id in PHC form; `None` for users of an external login.
    pub password_hash: Option<String>,
    /// Picture.
    pub avatar_url: Option<String>,
    /// When registered.
    pub created_at: Timestamp,
    /// Whether the login provider or the operator has verified that the email is theirs.
    pub email_verified: bool,
    /// Tokens of earlier generations have ended.
    pub generation: i64,
    /// Whether nothing of theirs is let in.
    pub is_disabled: bool,
}

/// What a user may do, as of now.
#[derive(Clone, Debug)]
pub struct Standing {
    /// Email address, as registered.
    pub email: String,
    /// Role in the service.
    pub role: Role,
    /// Role in the workspace that was asked for; `None`: no member.
    pub workspace_role: Option<WorkspaceRole>,
    /// Generation of tokens that holds.
    pub generation: i64,
    /// Whether nothing of theirs is let in.
    pub is_disabled: bool,
    /// Whether the login that was asked about was ended.
    pub has_ended: bool,
    /// Whether the workspace that was asked for is suspended.
    pub is_suspended: bool,
}

/// The form in which emails are compared.
pub fn email_key(email: &str) -> String {
    email.trim().to_lowercase()
}

/// Gives a user another name, as far as one is given.
pub async fn rename(
    db: &mut Db<'_>,
    user: UserId,
    first_name: Option<&str>,
    last_name: Option<&str>,
) -> Result<(), StoreError> {
    let update = sql(
        "update users set first_name = coalesce(?, first_name), last_name = coalesce(?, last_name)
         where id = ?",
    );
    db.execute(update.bind(first_name).bind(last_name).bind(user))
        .await
        .map(drop)
}

/// A user's rights, if there is such a user, and whether this login of theirs was ended.
pub async fn standing(
    db: &mut Db<'_>,
    user: UserId,
    workspace: Option<WorkspaceId>,
    session: Option<&str>,
) -> Result<Option<Standing>, StoreError> {
    #[derive(FromRow)]
    struct Found {
        email: String,
        role: Role,
        workspace_role: Option<String>,
        generation: i64,
        is_disabled: bool,
        has_ended: bool,
        is_suspended: bool,
    }
    let found: Option<Found> = db
        .optional(
            sql(
                "select u.email, u.role, u.generation, u.is_disabled, m.role as workspace_role,
                 exists (select 1 from ended_sessions e where e.id = ?) as has_ended,
                 exists (select 1 from workspaces w where w.id = m.workspace_id and w.suspended_at is not null) as is_suspended
                 from users u
                 left join memberships m on m.user_id = u.id and m.workspace_id = ?
                 where u.id = ?",
            )
            .bind(session)
            .bind(workspace)
            .bind(user),
        )
        .await?;
    let Some(found) = found else { return Ok(None) };
    let workspace_role = found.workspace_role.map(WorkspaceRole::try_from).transpose();
    Ok(Some(Standing {
        email: found.email,
        role: found.role,
        generation: found.generation,
        is_disabled: found.is_disabled,
        has_ended: found.has_ended,
        is_suspended: found.is_suspended,
        workspace_role: workspace_role.map_err(|_| StoreError::Corrupt {
            table: "memberships",
            column: "role",
            row: user.to_string(),
        })?,
    }))
}

const USER: &str = "select id, email, first_name, last_name, role, password_hash, avatar_url, created_at,
    email_verified, generation, is_disabled from users ";

/// The user with this email.
pub async fn by_email(db: &mut Db<'_>, email: &str) -> Result<Option<UserRow>, StoreError> {
    db.optional(sql(USER).push("where email_key = ?").bind(email_key(email)))
        .await
}

/// The user with this id.
pub async fn by_id(db: &mut Db<'_>, user: UserId) -> Result<Option<UserRow>, StoreError> {
    db.optional(sql(USER).push("where id = ?").bind(user)).await
}

/// A new user with a personal workspace of one environment, `production`. `Unique`: the email is taken.
pub async fn create(db: &mut Db<'_>, user: &UserRow) -> Result<WorkspaceId, StoreError> {
    db.execute(
        sql("insert into users (id, email, email_key, first_name, last_name, role, password_hash, avatar_url, created_at,
                 email_verified, generation, is_disabled) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        .bind(user.id)
        .bind(&user.email)
        .bind(email_key(&user.email))
        .bind(&user.first_name)
        .bind(&user.last_name)
        .bind(user.role)
        .bind(user.password_hash.clone())
        .bind(user.avatar_url.clone())
        .bind(user.created_at)
        .bind(user.email_verified)
        .bind(user.generation)
        .bind(user.is_disabled),
    )
    .await?;
    let workspace = WorkspaceId::new();
    db.execute(
        sql("insert into workspaces (id, name, created_by, created_at, updated_at) values (?, ?, ?, ?, ?)")
            .bind(workspace)
            .bind(format!("{}'s workspace", user.first_name))
            .bind(user.id)
            .bind(user.created_at)
            .bind(user.created_at),
    )
    .await?;
    db.execute(
        sql("insert into memberships (workspace_id, user_id, role, created_at) values (?, ?, ?, ?)")
            .bind(workspace)
            .bind(user.id)
            .bind(WorkspaceRole::Owner)
            .bind(user.created_at),
    )
    .await?;
    db.execute(
        sql("insert into environments (id, workspace_id, name, created_at) values (?, ?, ?, ?)")
            .bind(EnvironmentId::new())
            .bind(workspace)
            .bind("production")
            .bind(user.created_at),
    )
    .await?;
    Ok(workspace)
}

/// The workspace that a login opens: the one that the user joined first.
pub async fn first_membership(
    db: &mut Db<'_>,
    user: UserId,
) -> Result<Option<(WorkspaceId, WorkspaceRole)>, StoreError> {
    #[derive(FromRow)]
    struct Found {
        workspace_id: WorkspaceId,
        role: WorkspaceRole,
    }
    let found: Option<Found> = db
        .optional(
            sql("select workspace_id, role from memberships where user_id = ?
                 order by created_at, workspace_id limit 1")
            .bind(user),
        )
        .await?;
    Ok(found.map(|found| (found.workspace_id, found.role)))
}

/// All users, in the order of their registration.
pub async fn all(db: &mut Db<'_>) -> Result<Vec<UserRow>, StoreError> {
    db.all(sql(USER).push("order by created_at, id")).await
}

/// Gives a user another role in the service; whether there is such a user.
pub async fn set_role(db: &mut Db<'_>, email: &str, role: Role) -> Result<bool, StoreError> {
    let changed = db
        .execute(
            sql("update users set role = ? where email_key = ?")
                .bind(role)
                .bind(email_key(email)),
        )
        .await?;
    Ok(changed > 0)
}

/// The user who signs in as this subject of a login provider.
pub async fn by_subject(db: &mut Db<'_>, subject: &str) -> Result<Option<UserRow>, StoreError> {
    let linked = "where id = (select user_id from login_identities where subject = ?)";
    if let Some(user) = db.optional(sql(USER).push(linked).bind(subject)).await? {
        return Ok(Some(user));
    }
    // Linked by a server of the version before.
    db.optional(sql(USER).push("where external_subject = ?").bind(subject))
        .await
}

/// Replaces a user's picture, if there is a new one.
pub async fn set_avatar(db: &mut Db<'_>, user: UserId, avatar_url: Option<&str>) -> Result<(), StoreError> {
    if let Some(avatar_url) = avatar_url {
        db.execute(
            sql("update users set avatar_url = ? where id = ?")
                .bind(avatar_url)
                .bind(user),
        )
        .await?;
    }
    Ok(())
}
