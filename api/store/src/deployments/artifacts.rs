//! The modules that deployments run, by content.

use crate::{Db, StoreError, sql};
use heddle_model::clock::Timestamp;

/// Stores a module. If it is already stored, its time is renewed, so that [`remove_artifacts`] keeps it, as it is when another
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

/// Modules that nothing which may begin or go on refers to. The runs that go on are told in two parts, each of which has an index of
/// its own, and once for all modules: to look for those of each module would read all runs that are kept, for each.
const REPLACED: &str = " from artifacts where created_at < ?
     and not exists (select 1 from deployments d where d.artifact = artifacts.hash)
     and hash not in (select r.artifact from runs r where r.status = 'running' and r.wake_at is null
                      union all
                      select r.artifact from runs r where r.status = 'running' and r.wake_at is not null)";

/// Bytes of the modules that were replaced before a time.
pub async fn replaced_artifact_bytes(db: &mut Db<'_>, before: Timestamp) -> Result<i64, StoreError> {
    let query = sql("select cast(coalesce(sum(octet_length(wasm)), 0) as bigint)").push(REPLACED);
    let (bytes,): (i64,) = db.one(query.bind(before)).await?;
    Ok(bytes)
}

/// Modules that were replaced before a time, those first that were replaced first, up to `limit`.
pub async fn replaced_artifacts(
    db: &mut Db<'_>,
    before: Timestamp,
    limit: i64,
) -> Result<Vec<String>, StoreError> {
    let query = sql("select hash").push(REPLACED).bind(before);
    let query = query.push(" order by created_at, hash limit ?").bind(limit);
    let found: Vec<(String,)> = db.all(query).await?;
    Ok(found.into_iter().map(|(hash,)| hash).collect())
}

/// Removes those of these modules that were replaced before a time and that nothing refers to by now; gives the bytes of each.
pub async fn remove_artifacts(
    db: &mut Db<'_>,
    hashes: &[String],
    before: Timestamp,
) -> Result<Vec<(i64,)>, StoreError> {
    let query = sql("delete").push(REPLACED).bind(before).push(" and hash in ");
    let query = query.list_of_few_sizes(hashes);
    db.all(query.push(" returning cast(octet_length(wasm) as bigint)"))
        .await
}
