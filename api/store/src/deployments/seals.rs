//! Seals over modules: which of them a tenant has deployed, with which rights. They are made with the vault's data keys, which
//! the database has only encrypted, so that whoever can merely write to the database can make none. Knows nothing of what is
//! in a module.

use crate::vault::{Sealed, Vault, VaultError};
use crate::{Db, StoreError, sql};
use heddle_model::clock::Timestamp;
use heddle_model::ids::{DataKeyId, DeploymentId};
use heddle_model::tenant::Tenant;
use zeroize::Zeroizing;

/// Names the row that tells when sealing began.
const BEGUN: &str = "module_seals_begun/1";

/// Seals a module that a tenant deploys, with what it may do.
pub async fn seal_module(
    db: &mut Db<'_>,
    vault: &Vault,
    (hash, tenant): (&str, Tenant),
    rights: &str,
) -> Result<(), VaultError> {
    let name = name(hash, tenant);
    let sealed = vault
        .seal(db, tenant.workspace(), &name, rights.as_bytes())
        .await?;
    let insert = sql(
        "insert into module_seals (hash, tenant, key_id, seal) values (?, ?, ?, ?)
         on conflict (hash, tenant) do update set key_id = excluded.key_id, seal = excluded.seal",
    );
    let insert = insert.bind(hash).bind(tenant.to_string());
    db.execute(insert.bind(sealed.data_key).bind(sealed.bytes))
        .await?;
    Ok(())
}

/// What a module could do when a tenant deployed it; `None`: there is no seal that says so.
pub async fn sealed_rights(
    db: &mut Db<'_>,
    vault: &Vault,
    (hash, tenant): (&str, Tenant),
) -> Result<Option<Zeroizing<Vec<u8>>>, VaultError> {
    let query = sql("select key_id, seal from module_seals where hash = ? and tenant = ?");
    let found: Option<(DataKeyId, Vec<u8>)> = db.optional(query.bind(hash).bind(tenant.to_string())).await?;
    let Some((data_key, bytes)) = found else {
        return Ok(None);
    };
    let sealed = Sealed { data_key, bytes };
    let name = name(hash, tenant);
    vault.open(db, tenant.workspace(), &name, &sealed).await.map(Some)
}

/// Notes that sealing begins, if there are deployments and nothing was ever sealed: an earlier heddle has deployed them.
pub async fn begin_sealing(db: &mut Db<'_>, vault: &Vault, now: Timestamp) -> Result<(), VaultError> {
    let before = sql(
        "select d.id from deployments d where not exists (select 1 from module_seals)
         and not exists (select 1 from module_seals_begun) limit 1",
    );
    let before: Option<(DeploymentId,)> = db.optional(before).await?;
    if before.is_none() {
        return Ok(());
    }
    let time = now.millis().to_string();
    let sealed = vault.seal(db, None, BEGUN, time.as_bytes()).await?;
    let insert =
        sql("insert into module_seals_begun (id, key_id, seal) values (1, ?, ?) on conflict (id) do nothing");
    db.execute(insert.bind(sealed.data_key).bind(sealed.bytes))
        .await?;
    Ok(())
}

/// When sealing began in a database that had deployments before; `None`: it had none.
pub async fn sealing_begun(db: &mut Db<'_>, vault: &Vault) -> Result<Option<Timestamp>, VaultError> {
    let found: Option<(DataKeyId, Vec<u8>)> = db
        .optional(sql("select key_id, seal from module_seals_begun where id = 1"))
        .await?;
    let Some((data_key, bytes)) = found else {
        return Ok(None);
    };
    let opened = vault.open(db, None, BEGUN, &Sealed { data_key, bytes }).await?;
    let time = std::str::from_utf8(&opened)
        .ok()
        .and_then(|time| time.parse().ok());
    Ok(time.map(Timestamp::from_millis))
}

/// Deployments that no server loads by itself, and those with waiting runs of a module that was replaced, each with a module
/// without a seal.
pub async fn without_seals(db: &mut Db<'_>) -> Result<Vec<(DeploymentId, String)>, StoreError> {
    db.all(sql(
        "select d.id, d.artifact from deployments d where d.status <> 'active'
         and not exists (select 1 from module_seals s
                         where s.hash = d.artifact and s.tenant = coalesce(d.workspace_id, d.user_id))
         union
         select d.id, r.artifact from runs r join deployments d on d.id = r.deployment_id
         where r.status = 'running'
         and not exists (select 1 from module_seals s
                         where s.hash = r.artifact and s.tenant = coalesce(d.workspace_id, d.user_id))",
    ))
    .await
}

fn name(hash: &str, tenant: Tenant) -> String {
    format!("module_seals/{hash}/{tenant}")
}
