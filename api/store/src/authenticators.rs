//! Authenticators and the recovery codes that stand in for them. Knows nothing of how a code is checked.

use super::vault::{Sealed, Vault, VaultError};
use super::{Db, StoreError, sql};
use heddle_model::clock::Timestamp;
use heddle_model::ids::{DataKeyId, UserId};
use sqlx_macros::FromRow;
use zeroize::Zeroizing;

/// A user's authenticator.
#[derive(Clone, Debug, FromRow)]
pub struct AuthenticatorRow {
    secret_key_id: DataKeyId,
    /// Encrypted.
    sealed: Vec<u8>,
    /// Since when it counts, in milliseconds; `None`: it does not, before a first code.
    pub confirmed_at: Option<i64>,
    /// The time step of the last code that was accepted.
    pub last_step: i64,
}

/// The place of a user's secret, to which its ciphertext is bound.
fn place(user: UserId) -> String {
    format!("authenticators/{user}")
}

impl AuthenticatorRow {
    /// The secret that codes follow from.
    pub async fn secret(
        &self,
        db: &mut Db<'_>,
        vault: &Vault,
        user: UserId,
    ) -> Result<Zeroizing<Vec<u8>>, VaultError> {
        let sealed = Sealed {
            data_key: self.secret_key_id,
            bytes: self.sealed.clone(),
        };
        vault.open(db, None, &place(user), &sealed).await
    }
}

/// A user's authenticator, whether it counts or not.
pub async fn find(db: &mut Db<'_>, user: UserId) -> Result<Option<AuthenticatorRow>, StoreError> {
    let select = sql(
        "select secret_key_id, secret as sealed, confirmed_at, last_step from authenticators where user_id = ?",
    );
    db.optional(select.bind(user)).await
}

/// Stores a secret that does not count yet, in place of one that does not; false: the user has one that counts.
pub async fn begin(
    db: &mut Db<'_>,
    vault: &Vault,
    user: UserId,
    secret: &[u8],
    now: Timestamp,
) -> Result<bool, VaultError> {
    let sealed = vault.seal(db, None, &place(user), secret).await?;
    let insert = sql(
        "insert into authenticators (user_id, secret_key_id, secret, created_at) values (?, ?, ?, ?)
         on conflict (user_id) do update set secret_key_id = excluded.secret_key_id, secret = excluded.secret,
             created_at = excluded.created_at, last_step = 0
         where authenticators.confirmed_at is null",
    )
    .bind(user)
    .bind(sealed.data_key)
    .bind(sealed.bytes)
    .bind(now);
    Ok(db.execute(insert).await? > 0)
}

/// Has a user's authenticator count from now on, whose code of this time step was right; false: it did before, there is none,
/// or its secret is not the one that was checked any more.
pub async fn confirm(
    db: &mut Db<'_>,
    user: UserId,
    checked: &AuthenticatorRow,
    step: i64,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let confirm = sql("update authenticators set confirmed_at = ?, last_step = ?
         where user_id = ? and secret = ? and confirmed_at is null")
    .bind(now)
    .bind(step)
    .bind(user)
    .bind(checked.sealed.clone());
    Ok(db.execute(confirm).await? > 0)
}

/// Counts a code of this time step as used; false: one of it, or of a later one, was used before.
pub async fn accept(db: &mut Db<'_>, user: UserId, step: i64) -> Result<bool, StoreError> {
    let accept = sql(
        "update authenticators set last_step = ? where user_id = ? and last_step < ? and confirmed_at is not null",
    );
    Ok(db.execute(accept.bind(step).bind(user).bind(step)).await? > 0)
}

/// Takes a user's authenticator and recovery codes away; whether there was one that counted.
pub async fn remove(db: &mut Db<'_>, user: UserId) -> Result<bool, StoreError> {
    db.execute(sql("delete from recovery_codes where user_id = ?").bind(user))
        .await?;
    let counted = sql("delete from authenticators where user_id = ? and confirmed_at is not null");
    let counted = db.execute(counted.bind(user)).await? > 0;
    db.execute(sql("delete from authenticators where user_id = ?").bind(user))
        .await?;
    Ok(counted)
}

/// Replaces a user's recovery codes by those with these hashes.
pub async fn set_recovery_codes(db: &mut Db<'_>, user: UserId, hashes: &[String]) -> Result<(), StoreError> {
    db.execute(sql("delete from recovery_codes where user_id = ?").bind(user))
        .await?;
    for hash in hashes {
        let insert = sql("insert into recovery_codes (user_id, code_hash) values (?, ?)");
        db.execute(insert.bind(user).bind(hash)).await?;
    }
    Ok(())
}

/// Uses a recovery code up; false: it is not one of the user's, or was used before.
pub async fn use_recovery_code(db: &mut Db<'_>, user: UserId, hash: &str) -> Result<bool, StoreError> {
    let delete = sql("delete from recovery_codes where user_id = ? and code_hash = ?");
    Ok(db.execute(delete.bind(user).bind(hash)).await? > 0)
}

/// How many recovery codes a user has left.
pub async fn count_recovery_codes(db: &mut Db<'_>, user: UserId) -> Result<i64, StoreError> {
    let count = sql("select count(*) from recovery_codes where user_id = ?").bind(user);
    db.one(count).await.map(|(count,): (i64,)| count)
}
