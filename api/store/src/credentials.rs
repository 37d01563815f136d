//! Credentials of accounts and their revocation: passwords, the external login, logins and their IP addresses. Knows
//! nothing about how a password or a token is checked.

use super::account_tokens::{self, Purpose};
use super::accounts::email_key;
use super::authenticators;
use super::notices::{self, Notice};
use super::{Db, Sql, StoreError, locks, sql};
use heddle_model::clock::Timestamp;
use heddle_model::ids::UserId;
use std::time::Duration;

/// Addresses that are remembered of a user.
const ADDRESSES_MAX: i64 = 20;
/// Interval at which a known address is updated, so that not every login has to write.
const ADDRESS_NOTED_EVERY: Duration = Duration::from_secs(24 * 60 * 60);
/// Time after which an address without logins is no longer known.
const ADDRESS_AGE_MAX: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// Lets a user sign in as this subject (`<provider>|<subject>`) of a login provider; false: they do as another one there.
pub async fn link(db: &mut Db<'_>, user: UserId, provider: &str, subject: &str) -> Result<bool, StoreError> {
    let insert = sql(
        "insert into login_identities (subject, user_id, provider) values (?, ?, ?)
         on conflict do nothing",
    );
    let linked = db.execute(insert.bind(subject).bind(user).bind(provider)).await? > 0;
    if linked {
        // Servers of the version before know no other place.
        let first = sql("update users set external_subject = ? where id = ? and external_subject is null");
        db.execute(first.bind(subject).bind(user)).await?;
    }
    Ok(linked)
}

/// Notes that a user's email is theirs.
pub async fn verify(db: &mut Db<'_>, user: UserId) -> Result<(), StoreError> {
    let verify = sql("update users set email_verified = ? where id = ?").bind(true);
    db.execute(verify.bind(user)).await.map(drop)
}

/// What was cleared from an account.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cleared {
    pub api_keys: u64,
    /// Others' memberships in workspaces that it had made.
    pub members: u64,
    /// Its deployments, which are paused.
    pub deployments: u64,
}

/// Clears from an account everything by which whoever has had it could still open it or act for it, for the person who
/// has proven that its email is theirs: password, authenticator, external login, tokens, API keys, invitations, and other
/// members of the workspaces that it has made, whose deployments are paused. What it has drawn and stored stays.
pub async fn clear_unproven(db: &mut Db<'_>, user: UserId, now: Timestamp) -> Result<Cleared, StoreError> {
    for delete in [
        sql("delete from known_addresses where user_id = ?"),
        sql("delete from invitations where invited_by = ?"),
        sql("delete from invitation_links where invited_by = ?"),
        sql("delete from login_identities where user_id = ?"),
    ] {
        db.execute(delete.bind(user)).await?;
    }
    authenticators::remove(db, user).await?;
    for purpose in [Purpose::Reset, Purpose::Verify] {
        account_tokens::forget(db, user, purpose).await?;
    }
    let api_keys = db
        .execute(sql("delete from api_keys where user_id = ?").bind(user))
        .await?;
    let own = |text| its_own_workspaces(sql(text), user);
    let members = own("delete from memberships where workspace_id in ").push(" and user_id <> ?");
    let members = db.execute(members.bind(user)).await?;
    // Those who made them could not delete them any more, nor could anybody else.
    let take = sql("update connections set user_id = ? where user_id <> ? and workspace_id in ");
    db.execute(its_own_workspaces(take.bind(user).bind(user), user))
        .await?;
    let all = sql("(workspace_id is null and user_id = ?) or workspace_id in ").bind(user);
    locks::deployments(db, its_own_workspaces(all, user)).await?;
    let hold = "update schedules set next_due_at = null, held_due_at = null where deployment_id in
         (select id from deployments where (workspace_id is null and user_id = ?) or workspace_id in ";
    db.execute(its_own_workspaces(sql(hold).bind(user), user).push(")"))
        .await?;
    // Those as well that would be active again when the operator lets their workspace go on.
    let pause = "update deployments set status = 'paused', suspended = false, updated_at = ?
         where (status = 'active' or (status = 'paused' and suspended))
         and ((workspace_id is null and user_id = ?) or workspace_id in ";
    let pause = its_own_workspaces(sql(pause).bind(now).bind(user), user).push(")");
    let deployments = db.execute(pause).await?;
    db.execute(
        sql(
            "update users set password_hash = null, external_subject = null, generation = generation + 1
             where id = ?",
        )
        .bind(user),
    )
    .await?;
    notices::tell(db, Notice::Everything).await?;
    Ok(Cleared {
        api_keys,
        members,
        deployments,
    })
}

/// The workspaces that a user has made and still owns.
fn its_own_workspaces(query: Sql, user: UserId) -> Sql {
    query
        .push(
            "(select w.id from workspaces w join memberships o on o.workspace_id = w.id and o.role = 'owner'
             where w.created_by = ? and o.user_id = ?)",
        )
        .bind(user)
        .bind(user)
}

/// Ends a login before its time, and forgets those that are past theirs.
pub async fn end_session(
    db: &mut Db<'_>,
    session: &str,
    expires_at: Timestamp,
    now: Timestamp,
) -> Result<(), StoreError> {
    db.execute(sql("delete from ended_sessions where expires_at <= ?").bind(now))
        .await?;
    db.execute(sql("delete from sessions where id = ?").bind(session))
        .await?;
    let end = sql("insert into ended_sessions (id, expires_at) values (?, ?) on conflict do nothing");
    db.execute(end.bind(session).bind(expires_at)).await.map(drop)
}

/// Ends all of a user's logins; the generation that holds from now on.
pub async fn end_all_sessions(db: &mut Db<'_>, user: UserId) -> Result<i64, StoreError> {
    let next = sql("update users set generation = generation + 1 where id = ? returning generation");
    let (generation,): (i64,) = db.one(next.bind(user)).await?;
    Ok(generation)
}

/// Replaces a password, unless it was replaced since it was read, and ends all logins; the generation that holds from now
/// on.
pub async fn set_password(
    db: &mut Db<'_>,
    user: UserId,
    before: Option<&str>,
    hash: &str,
) -> Result<Option<i64>, StoreError> {
    let set = sql("update users set password_hash = ?, generation = generation + 1
         where id = ? and coalesce(password_hash, '') = ? returning generation");
    let set = set.bind(hash).bind(user).bind(before.unwrap_or_default());
    let generation: Option<(i64,)> = db.optional(set).await?;
    if generation.is_some() {
        account_tokens::forget(db, user, Purpose::Reset).await?;
    }
    Ok(generation.map(|(generation,)| generation))
}

/// Gives a user another password, whatever it was before, and ends all logins.
pub async fn recover_password(db: &mut Db<'_>, user: UserId, hash: &str) -> Result<(), StoreError> {
    let set = sql("update users set password_hash = ?, generation = generation + 1 where id = ?");
    db.execute(set.bind(hash).bind(user)).await?;
    account_tokens::forget(db, user, Purpose::Reset).await
}

/// Shuts a user out, or lets them in again; with either all logins end. Whether there is such a user.
pub async fn set_disabled(db: &mut Db<'_>, email: &str, is_disabled: bool) -> Result<bool, StoreError> {
    let set = sql("update users set is_disabled = ?, generation = generation + 1 where email_key = ?");
    Ok(db.execute(set.bind(is_disabled).bind(email_key(email))).await? > 0)
}

/// How many API keys a user has.
pub async fn count_api_keys(db: &mut Db<'_>, user: UserId) -> Result<i64, StoreError> {
    let count = sql("select count(*) from api_keys where user_id = ?").bind(user);
    db.one(count).await.map(|(count,): (i64,)| count)
}

/// Deletes all API keys of a user.
pub async fn delete_api_keys(db: &mut Db<'_>, user: UserId) -> Result<u64, StoreError> {
    db.execute(sql("delete from api_keys where user_id = ?").bind(user))
        .await
}

/// Whether the user with this email has logged in from this address of late.
pub async fn is_known(
    db: &mut Db<'_>,
    email: &str,
    address: &str,
    now: Timestamp,
) -> Result<bool, StoreError> {
    seen_since(db, email, address, now.minus(ADDRESS_AGE_MAX)).await
}

/// Whether a login from this address is to be noted with [`note_address`].
pub async fn is_address_news(
    db: &mut Db<'_>,
    email: &str,
    address: &str,
    now: Timestamp,
) -> Result<bool, StoreError> {
    Ok(!seen_since(db, email, address, now.minus(ADDRESS_NOTED_EVERY)).await?)
}

async fn seen_since(
    db: &mut Db<'_>,
    email: &str,
    address: &str,
    since: Timestamp,
) -> Result<bool, StoreError> {
    let seen: Option<(i64,)> = db
        .optional(
            sql(
                "select k.seen_at from known_addresses k join users u on u.id = k.user_id
                 where u.email_key = ? and k.address = ? and k.seen_at > ?",
            )
            .bind(email_key(email))
            .bind(address)
            .bind(since),
        )
        .await?;
    Ok(seen.is_some())
}

/// Remembers that a user has logged in from this address, and forgets the oldest of too many.
pub async fn note_address(
    db: &mut Db<'_>,
    user: UserId,
    address: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    db.execute(
        sql(
            "insert into known_addresses (user_id, address, seen_at) values (?, ?, ?)
             on conflict (user_id, address) do update set seen_at = excluded.seen_at",
        )
        .bind(user)
        .bind(address)
        .bind(now),
    )
    .await?;
    db.execute(
        sql("delete from known_addresses where user_id = ? and address not in
             (select address from known_addresses where user_id = ? order by seen_at desc, address limit ?)")
        .bind(user)
        .bind(user)
        .bind(ADDRESSES_MAX),
    )
    .await
    .map(drop)
}
