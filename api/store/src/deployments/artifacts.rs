//! The modules that deployments run, by content.

use crate::{Db, StoreError, sql};
use heddle_model::clock::Timestamp;

/// Stores a module. If it is already stored, its time is renewed, so that [`sweep_artifacts`] keeps it, as it is when another
/// one takes its place; and so are its bytes, since they may be damaged.
pub async fn keep_artifact(
    db: &mut Db<'_>,
    hash: &str,
    wasm: &[u8],
    now: Timestamp,
) -> Result<(), StoreError> {
    db.execute(
        sql("insert into artifacts (hash, wasm, created_at) values (?, ?, ?) 
             on conflict (hash) do update set wasm = excluded.wasm, created_at = excluded.created_at")
        .bind(hash)
        .bind(wasm)
        .bind(now),
    )
    .await?;
    Ok(())
}

/// A module, by the SHA-256 of its content in hex.
pub async fn artifact(db: &mut Db<'_>, hash: &str) -> Result<Option<Vec<u8>>, StoreError> {
    let found: Option<(Vec<u8>,)> = db
        .optional(sql("select wasm from artifacts where hash = ?").bind(hash))
        .await?;
    Ok(found.map(|(wasm,)| wasm))
}

/// Modules that nothing which may begin or go on refers to.
const REPLACED: &str = " from artifacts where created_at < ?
     and not exists (select 1 from deployments d where d.artifact = artifacts.hash)
     and not exists (select 1 from runs r where r.status = 'running' and r.artifact = artifacts.hash)";

/// Removes modules that were replaced before a time.
pub async fn sweep_artifacts(db: &mut Db<'_>, before: Timestamp) -> Result<u64, StoreError> {
    db.execute(sql("delete").push(REPLACED).bind(before)).await
}

/// Bytes of the modules that were replaced before a time.
pub async fn replaced_artifact_bytes(db: &mut Db<'_>, before: Timestamp) -> Result<i64, StoreError> {
    let query = sql("select cast(coalesce(sum(octet_length(wasm)), 0) as bigint)").push(REPLACED);
    let (bytes,): (i64,) = db.one(query.bind(before)).await?;
    Ok(bytes)
}

/// Removes up to `limit` modules that were replaced before a time, those first that were replaced first; gives the bytes of
/// each.
pub async fn remove_replaced_artifacts(
    db: &mut Db<'_>,
    before: Timestamp,
    limit: i64,
) -> Result<Vec<(i64,)>, StoreError> {
    let query = sql("delete from artifacts where hash in (select hash")
        .push(REPLACED)
        .bind(before)
        .push(" order by created_at limit ?) returning cast(octet_length(wasm) as bigint)");
    db.all(query.bind(limit)).await
}
