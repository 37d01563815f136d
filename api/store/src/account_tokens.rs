//! Tokens that prove once who somebody is, each found by its hash: links for another password, and to verify an address.
//! Knows nothing of what a token is, nor of how it is sent.

use super::accounts::email_key;
use super::{Db, StoreError, sql};
use heddle_model::clock::Timestamp;
use heddle_model::ids::UserId;
use sqlx_macros::FromRow;

/// Tokens for the same purpose that a user may have at once; the oldest make room for others.
const OF_USER_MAX: i64 = 5;

/// What a token is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// For another password.
    Reset,
    /// To verify an address.
    Verify,
}

impl Purpose {
    const fn name(self) -> &'static str {
        match self {
            Purpose::Reset => "reset",
            Purpose::Verify => "verify",
        }
    }
}

/// A token to be stored.
#[derive(Clone, Debug)]
pub struct NewToken {
    /// SHA-256 of it, in hex.
    pub hash: String,
    /// Whose it is.
    pub user: UserId,
    pub purpose: Purpose,
    /// The address that it is sent to; `None`: the operator gets it.
    pub mailed_to: Option<String>,
    /// When it is over.
    pub expires_at: Timestamp,
}

/// Whose a token is.
#[derive(Clone, Debug, FromRow)]
pub struct TokenRow {
    /// Whose.
    pub user_id: UserId,
    /// Whether it was sent to the address that its user has now.
    pub is_proof_of_address: bool,
}

/// Stores a token, and forgets those that are over, and the oldest of too many.
pub async fn add(db: &mut Db<'_>, new: &NewToken, now: Timestamp) -> Result<(), StoreError> {
    db.execute(sql("delete from account_tokens where expires_at <= ?").bind(now))
        .await?;
    db.execute(
        sql(
            "delete from account_tokens where user_id = ? and purpose = ? and token_hash not in
             (select token_hash from account_tokens where user_id = ? and purpose = ?
              order by created_at desc, token_hash limit ?)",
        )
        .bind(new.user)
        .bind(new.purpose.name())
        .bind(new.user)
        .bind(new.purpose.name())
        .bind(OF_USER_MAX - 1),
    )
    .await?;
    db.execute(
        sql(
            "insert into account_tokens (token_hash, user_id, purpose, mailed_to, created_at, expires_at)
             values (?, ?, ?, ?, ?, ?)",
        )
        .bind(&new.hash)
        .bind(new.user)
        .bind(new.purpose.name())
        .bind(new.mailed_to.as_deref().map(email_key))
        .bind(now)
        .bind(new.expires_at),
    )
    .await
    .map(drop)
}

const TOKEN: &str =
    "select t.user_id, (t.mailed_to is not null and t.mailed_to = u.email_key) as is_proof_of_address
    from account_tokens t join users u on u.id = t.user_id
    where t.token_hash = ? and t.purpose = ? and t.expires_at > ? and not u.is_disabled";

/// Whose token this is, by its hash. It stays.
pub async fn find(
    db: &mut Db<'_>,
    hash: &str,
    purpose: Purpose,
    now: Timestamp,
) -> Result<Option<TokenRow>, StoreError> {
    db.optional(sql(TOKEN).bind(hash).bind(purpose.name()).bind(now))
        .await
}

/// Takes a token out, with all others of its user for the same purpose. Of two that come with it at once, one gets it.
pub async fn take(
    db: &mut Db<'_>,
    hash: &str,
    purpose: Purpose,
    now: Timestamp,
) -> Result<Option<TokenRow>, StoreError> {
    let Some(found) = find(db, hash, purpose, now).await? else {
        return Ok(None);
    };
    if db
        .execute(sql("delete from account_tokens where token_hash = ?").bind(hash))
        .await?
        == 0
    {
        return Ok(None);
    }
    forget(db, found.user_id, purpose).await?;
    Ok(Some(found))
}

/// Forgets a user's tokens for a purpose.
pub async fn forget(db: &mut Db<'_>, user: UserId, purpose: Purpose) -> Result<(), StoreError> {
    let delete = sql("delete from account_tokens where user_id = ? and purpose = ?");
    db.execute(delete.bind(user).bind(purpose.name())).await.map(drop)
}
