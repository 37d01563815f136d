//! Tokens of connections that a person has consented to, and consents that are under way. Of all servers, one at a time
//! asks the provider for other tokens: whoever holds the claim.

use super::{Db, StoreError, locks, sql};
use crate::vault::{Sealed, Vault, VaultError};
use heddle_model::access::Scope;
use heddle_model::clock::Timestamp;
use heddle_model::ids::{ConnectionId, DataKeyId, UserId, WorkspaceId};
use serde::{Deserialize, Serialize};
use sqlx_macros::FromRow;
use zeroize::{Zeroize, Zeroizing};

/// Consents of one connection that may be under way at once; the oldest make room for others.
const UNDER_WAY_MAX: i64 = 5;
/// Access tokens that others have come for, and that are still kept.
const FORMER_MAX: usize = 4;

/// What a provider has given, in clear.
#[derive(Clone, Serialize, Deserialize)]
pub struct Tokens {
    pub access: String,
    #[serde(default)]
    pub refresh: Option<String>,
    /// The access tokens before this one, the newest first: runs that have used them hide them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former: Vec<String>,
}

impl Tokens {
    /// Those that have come in their place.
    pub fn replaced_by(&self, access: String, refresh: Option<String>) -> Tokens {
        let all = std::iter::once(&self.access).chain(&self.former);
        let former = all.filter(|token| **token != access).take(FORMER_MAX);
        Tokens {
            former: former.cloned().collect(),
            access,
            refresh,
        }
    }
}

/// Wipes them.
impl Drop for Tokens {
    fn drop(&mut self) {
        self.access.zeroize();
        self.refresh.zeroize();
        self.former.zeroize();
    }
}

/// The tokens of a connection, and how they stand.
pub struct Kept {
    pub tokens: Tokens,
    /// When the access token is over; `None`: the provider does not say.
    pub expires_at: Option<Timestamp>,
    /// From when on others are asked for.
    pub renew_at: Option<Timestamp>,
    /// Why there will be no others without another consent.
    pub refused: Option<String>,
    /// Goes up with every change.
    pub version: i64,
    /// Until when somebody is asking for others.
    pub claimed_until: Option<Timestamp>,
}

/// New tokens to be stored.
pub struct NewTokens<'a> {
    pub tokens: &'a Tokens,
    /// `None`: as they were.
    pub scopes: Option<&'a [String]>,
    /// When the access token is over, and from when on others are asked for; `None`: the provider does not say.
    pub expires_at: Option<Timestamp>,
    pub renew_at: Option<Timestamp>,
}

#[derive(FromRow)]
struct Found {
    data_key: DataKeyId,
    ciphertext: Vec<u8>,
    expires_at: Option<i64>,
    renew_at: Option<i64>,
    refused: Option<String>,
    claimed_until: Option<i64>,
    version: i64,
}

fn aad(connection: ConnectionId) -> String {
    format!("connection_tokens/{connection}")
}

/// The tokens of a connection; `None`: nobody has consented to it, or it was disconnected.
pub async fn find(
    db: &mut Db<'_>,
    vault: &Vault,
    workspace: Option<WorkspaceId>,
    connection: ConnectionId,
) -> Result<Option<Kept>, VaultError> {
    let select = sql(
        "select data_key, ciphertext, expires_at, renew_at, refused, claimed_until, version
         from connection_tokens where connection_id = ?",
    );
    let Some(found) = db.optional::<Found>(select.bind(connection)).await? else {
        return Ok(None);
    };
    let sealed = Sealed {
        data_key: found.data_key,
        bytes: found.ciphertext,
    };
    let opened = vault.open(db, workspace, &aad(connection), &sealed).await?;
    Ok(Some(Kept {
        tokens: serde_json::from_slice(&opened).map_err(|_| VaultError::Unopenable)?,
        expires_at: found.expires_at.map(Timestamp::from_millis),
        renew_at: found.renew_at.map(Timestamp::from_millis),
        refused: found.refused,
        version: found.version,
        claimed_until: found.claimed_until.map(Timestamp::from_millis),
    }))
}

/// What the provider has granted; none without tokens.
pub async fn scopes(db: &mut Db<'_>, connection: ConnectionId) -> Result<Vec<String>, StoreError> {
    let select = sql("select scopes from connection_tokens where connection_id = ?").bind(connection);
    let found: Option<(String,)> = db.optional(select).await?;
    Ok(found.map_or_else(Vec::new, |(text,)| {
        serde_json::from_str(&text).unwrap_or_default()
    }))
}

/// Why the connection needs another consent, if the provider has said so.
pub async fn refused(db: &mut Db<'_>, connection: ConnectionId) -> Result<Option<String>, StoreError> {
    let select = sql("select refused from connection_tokens where connection_id = ?").bind(connection);
    let found: Option<(Option<String>,)> = db.optional(select).await?;
    Ok(found.and_then(|(refused,)| refused))
}

async fn sealed(
    db: &mut Db<'_>,
    vault: &Vault,
    workspace: Option<WorkspaceId>,
    connection: ConnectionId,
    tokens: &Tokens,
) -> Result<Sealed, VaultError> {
    let text = Zeroizing::new(serde_json::to_vec(tokens).map_err(|_| VaultError::Unopenable)?);
    vault.seal(db, workspace, &aad(connection), &text).await
}

/// Stores what a consent has given, in place of whatever there was.
pub async fn put(
    db: &mut Db<'_>,
    vault: &Vault,
    workspace: Option<WorkspaceId>,
    connection: ConnectionId,
    new: NewTokens<'_>,
) -> Result<(), VaultError> {
    let sealed = sealed(db, vault, workspace, connection, new.tokens).await?;
    db.execute(
        sql(
            "insert into connection_tokens (connection_id, data_key, ciphertext, scopes, expires_at, renew_at, refused, claim,
                 claimed_until, version) values (?, ?, ?, ?, ?, ?, null, null, null, 1)
             on conflict (connection_id) do update set data_key = excluded.data_key, ciphertext = excluded.ciphertext,
                 scopes = excluded.scopes, expires_at = excluded.expires_at, renew_at = excluded.renew_at, refused = null, claim = null,
                 claimed_until = null, version = connection_tokens.version + 1",
        )
        .bind(connection)
        .bind(sealed.data_key)
        .bind(sealed.bytes)
        .bind(serde_json::to_string(new.scopes.unwrap_or_default()).unwrap_or_default())
        .bind(new.expires_at)
        .bind(new.renew_at),
    )
    .await?;
    Ok(())
}

/// Claims the right to ask the provider for tokens in place of those of this version; whether it was had.
pub async fn claim(
    db: &mut Db<'_>,
    connection: ConnectionId,
    version: i64,
    claim: &str,
    (now, until): (Timestamp, Timestamp),
) -> Result<bool, StoreError> {
    let update = sql("update connection_tokens set claim = ?, claimed_until = ?
         where connection_id = ? and version = ? and refused is null and (claimed_until is null or claimed_until <= ?)");
    let update = update
        .bind(claim)
        .bind(until)
        .bind(connection)
        .bind(version)
        .bind(now);
    Ok(db.execute(update).await? == 1)
}

/// Stores the tokens that were asked for under a claim; whether it still held.
pub async fn renew(
    db: &mut Db<'_>,
    vault: &Vault,
    (workspace, connection): (Option<WorkspaceId>, ConnectionId),
    claim: &str,
    new: NewTokens<'_>,
) -> Result<bool, VaultError> {
    let sealed = sealed(db, vault, workspace, connection, new.tokens).await?;
    let scopes = new
        .scopes
        .map(|scopes| serde_json::to_string(scopes).unwrap_or_default());
    let update = sql(
        "update connection_tokens set data_key = ?, ciphertext = ?, scopes = coalesce(?, scopes), expires_at = ?, renew_at = ?,
             claim = null, claimed_until = null, version = version + 1 where connection_id = ? and claim = ?",
    );
    let update = update
        .bind(sealed.data_key)
        .bind(sealed.bytes)
        .bind(scopes)
        .bind(new.expires_at)
        .bind(new.renew_at)
        .bind(connection)
        .bind(claim);
    Ok(db.execute(update).await? == 1)
}

/// Gives a claim back; with a reason, nobody asks again before there is another consent.
pub async fn give_up(
    db: &mut Db<'_>,
    connection: ConnectionId,
    claim: &str,
    refused: Option<&str>,
) -> Result<(), StoreError> {
    let update = sql(
        "update connection_tokens set claim = null, claimed_until = null, refused = ?
         where connection_id = ? and claim = ?",
    );
    let update = update
        .bind(refused.map(str::to_owned))
        .bind(connection)
        .bind(claim);
    db.execute(update).await.map(drop)
}

/// Notes that tokens which can't be renewed are over: those of this version.
pub async fn refuse(
    db: &mut Db<'_>,
    connection: ConnectionId,
    version: i64,
    reason: &str,
) -> Result<(), StoreError> {
    let update = sql("update connection_tokens set refused = ? where connection_id = ? and version = ?");
    db.execute(update.bind(reason).bind(connection).bind(version))
        .await
        .map(drop)
}

/// Forgets the tokens of a connection, and what is under way; whether there were any tokens.
pub async fn forget(db: &mut Db<'_>, connection: ConnectionId) -> Result<bool, StoreError> {
    db.execute(sql("delete from connection_consents where connection_id = ?").bind(connection))
        .await?;
    let delete = sql("delete from connection_tokens where connection_id = ?").bind(connection);
    Ok(db.execute(delete).await? > 0)
}

/// A consent that is to begin.
pub struct NewConsent<'a> {
    /// SHA-256 of its state, in hex.
    pub state_hash: &'a str,
    pub connection: ConnectionId,
    /// The workspace of the connection.
    pub workspace: Option<WorkspaceId>,
    /// The proof key.
    pub verifier: &'a str,
    pub expires_at: Timestamp,
}

/// A consent that was begun.
pub struct Consent {
    pub connection: ConnectionId,
    /// The proof key.
    pub verifier: Zeroizing<String>,
}

/// Begins a consent of this user, and forgets those that are over, and the oldest of too many.
pub async fn begin(
    db: &mut Db<'_>,
    vault: &Vault,
    user: UserId,
    new: NewConsent<'_>,
    now: Timestamp,
) -> Result<(), VaultError> {
    if let Some(workspace) = new.workspace {
        locks::keep(db, workspace).await?;
    }
    locks::keep_connection(db, new.connection).await?;
    db.execute(sql("delete from connection_consents where expires_at <= ?").bind(now))
        .await?;
    db.execute(
        sql(
            "delete from connection_consents where connection_id = ? and state_hash not in
             (select state_hash from connection_consents where connection_id = ?
              order by expires_at desc, state_hash limit ?)",
        )
        .bind(new.connection)
        .bind(new.connection)
        .bind(UNDER_WAY_MAX - 1),
    )
    .await?;
    let sealed = vault
        .seal(
            db,
            new.workspace,
            &consent_aad(new.state_hash),
            new.verifier.as_bytes(),
        )
        .await?;
    db.execute(
        sql(
            "insert into connection_consents (state_hash, user_id, connection_id, data_key, ciphertext, expires_at)
             values (?, ?, ?, ?, ?, ?)",
        )
        .bind(new.state_hash)
        .bind(user)
        .bind(new.connection)
        .bind(sealed.data_key)
        .bind(sealed.bytes)
        .bind(new.expires_at),
    )
    .await?;
    Ok(())
}

fn consent_aad(state_hash: &str) -> String {
    format!("connection_consents/{state_hash}")
}

#[derive(FromRow)]
struct FoundConsent {
    connection_id: ConnectionId,
    workspace_id: Option<String>,
    data_key: DataKeyId,
    ciphertext: Vec<u8>,
}

/// Takes out the consent of this state, which the same user has begun. Of two that come with it at once, one gets it.
pub async fn take(
    db: &mut Db<'_>,
    vault: &Vault,
    scope: &Scope,
    state_hash: &str,
    now: Timestamp,
) -> Result<Option<Consent>, VaultError> {
    let select = sql(
        "select s.connection_id, c.workspace_id, s.data_key, s.ciphertext from connection_consents s
         join connections c on c.id = s.connection_id
         where s.state_hash = ? and s.user_id = ? and s.expires_at > ? and c.user_id = ?
           and (c.workspace_id = ? or c.workspace_id is null)",
    );
    let select = select
        .bind(state_hash)
        .bind(scope.user())
        .bind(now)
        .bind(scope.user())
        .bind(scope.workspace());
    let Some(found) = db.optional::<FoundConsent>(select).await? else {
        return Ok(None);
    };
    let delete = sql("delete from connection_consents where state_hash = ?").bind(state_hash);
    if db.execute(delete).await? == 0 {
        return Ok(None);
    }
    let workspace = match found.workspace_id {
        Some(id) => Some(id.parse().map_err(|_| VaultError::Unopenable)?),
        None => None,
    };
    let sealed = Sealed {
        data_key: found.data_key,
        bytes: found.ciphertext,
    };
    let opened = vault
        .open(db, workspace, &consent_aad(state_hash), &sealed)
        .await?;
    let verifier = std::str::from_utf8(&opened).map_err(|_| VaultError::Unopenable)?;
    Ok(Some(Consent {
        connection: found.connection_id,
        verifier: Zeroizing::new(verifier.to_owned()),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_tokens_stay_known_when_others_have_come() {
        let mut tokens: Tokens = serde_json::from_str(r#"{"access": "0", "refresh": "a"}"#).unwrap();
        for access in ["1", "1", "2", "3", "4", "5"] {
            tokens = tokens.replaced_by(access.to_owned(), None);
        }
        assert_eq!((tokens.access.as_str(), tokens.refresh.as_deref()), ("5", None));
        assert_eq!(tokens.former, ["4", "3", "2", "1"]);
        let kept = serde_json::to_string(&tokens).unwrap();
        let kept: Tokens = serde_json::from_str(&kept).unwrap();
        assert_eq!(kept.former, tokens.former);
    }
}
