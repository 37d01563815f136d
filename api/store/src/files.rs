//! Rows of files, of what they hold, and of what refers to them. Where the bytes are is not known here; when they may go is
//! decided here.
//!
//! **Whoever takes hold of something touches it**, and only what was not touched for a while is removed: so that a removal
//! which waited for another transaction looks at the row again, and leaves it (READ COMMITTED looks again at the row only,
//! not at other tables).

pub mod sweep;

use super::{Db, Sql, StoreError, sql};
use heddle_model::clock::Timestamp;
use heddle_model::file::{FileValue, Holder};
use heddle_model::ids::{BlobId, DataKeyId, FileId};
use heddle_model::tenant::Tenant;
use sqlx_macros::FromRow;
use std::time::Duration;

/// Whoever writes says so at least this often.
pub const TOUCH_EVERY: Duration = Duration::from_secs(60);
/// What was not touched for so long is nobody's any more.
pub const ABANDONED_AFTER: Duration = Duration::from_secs(15 * 60);

/// What is about to be written.
#[derive(Clone, Debug)]
pub struct NewBlob {
    pub id: BlobId,
    /// Whose it is.
    pub tenant: Tenant,
    /// The data key that encrypts its key.
    pub data_key: DataKeyId,
    /// The key of its bytes, encrypted.
    pub sealed_key: Vec<u8>,
}

/// A file that is made of what was written.
#[derive(Clone, Debug)]
pub struct NewFile {
    pub id: FileId,
    /// Whose it is.
    pub tenant: Tenant,
    pub name: String,
    pub media_type: String,
    /// Until when it is kept if nothing refers to it.
    pub kept_until: Timestamp,
    /// What refers to it from the beginning.
    pub holder: Option<Holder>,
}

#[derive(Clone, Debug, FromRow)]
pub struct FileRow {
    pub id: FileId,
    pub name: String,
    pub media_type: String,
    /// Bytes.
    pub size: i64,
    /// SHA-256 in hex.
    pub sha256: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// Until when it is kept if nothing refers to it.
    pub kept_until: Timestamp,
    /// What has its bytes.
    pub blob_id: BlobId,
    /// See [`NewBlob`].
    pub data_key_id: DataKeyId,
    /// See [`NewBlob`].
    pub sealed_key: Vec<u8>,
    /// Whether something refers to it.
    pub is_held: bool,
}

impl FileRow {
    /// As it stands in data.
    pub fn value(&self) -> FileValue {
        FileValue {
            id: self.id,
            name: self.name.clone(),
            media_type: self.media_type.clone(),
            size: self.size,
            sha256: self.sha256.clone(),
        }
    }
}

const SELECT: &str =
    "select f.id, f.name, f.media_type, b.size, b.sha256, f.created_at, f.kept_until, f.blob_id,
     b.data_key_id, b.sealed_key,
     exists (select 1 from file_references h where h.file_id = f.id) as is_held
     from files f join file_blobs b on b.id = f.blob_id ";

/// Notes that somebody is about to write.
pub async fn begin(db: &mut Db<'_>, blob: &NewBlob, now: Timestamp) -> Result<(), StoreError> {
    let insert = sql(
        "insert into file_blobs (id, tenant_id, state, touched_at, data_key_id, sealed_key)
         values (?, ?, 'writing', ?, ?, ?)",
    )
    .bind(blob.id)
    .bind(blob.tenant.to_string())
    .bind(now)
    .bind(blob.data_key)
    .bind(blob.sealed_key.clone());
    db.execute(insert).await.map(drop)
}

/// Notes that somebody still writes, and in which upload of the store. `false`: it was given up meanwhile.
pub async fn touch(
    db: &mut Db<'_>,
    blob: BlobId,
    upload: Option<&str>,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let touch = sql(
        "update file_blobs set touched_at = ?, upload = coalesce(?, upload) where id = ? and state = 'writing'",
    )
    .bind(now)
    .bind(upload)
    .bind(blob);
    Ok(db.execute(touch).await? > 0)
}

/// Makes a file of what was written, or of what is there already with the same bytes. `false`: what was written was given up
/// meanwhile.
pub async fn finish(
    db: &mut Db<'_>,
    blob: BlobId,
    (sha256, size): (&str, i64),
    file: &NewFile,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let tenant = file.tenant.to_string();
    lock_content(db, &tenant, sha256).await?;
    let same = sql(
        "update file_blobs set touched_at = ? where tenant_id = ? and sha256 = ? and state = 'live' returning id",
    );
    let same: Option<(BlobId,)> = db.optional(same.bind(now).bind(&tenant).bind(sha256)).await?;
    let holds = match same {
        Some((same,)) => {
            abandon(db, blob, now).await?;
            same
        }
        None => {
            let live = sql(
                "update file_blobs set state = 'live', sha256 = ?, size = ?, upload = null, touched_at = ?
                 where id = ? and state = 'writing'",
            );
            let live = live.bind(sha256).bind(size).bind(now).bind(blob);
            if db.execute(live).await? == 0 {
                return Ok(false);
            }
            blob
        }
    };
    let insert = sql(
        "insert into files (id, tenant_id, blob_id, name, media_type, created_at, kept_until)
         values (?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(file.id)
    .bind(&tenant)
    .bind(holds)
    .bind(&file.name)
    .bind(&file.media_type)
    .bind(now)
    .bind(file.kept_until);
    db.execute(insert).await?;
    if let Some(holder) = &file.holder {
        let (kind, id) = holder.parts();
        let refer = sql(
            "insert into file_references (holder_kind, holder_id, file_id, created_at) values (?, ?, ?, ?)",
        );
        db.execute(refer.bind(kind).bind(id).bind(file.id).bind(now))
            .await?;
    }
    Ok(true)
}

/// Only one transaction at a time decides what becomes of these bytes.
async fn lock_content(db: &mut Db<'_>, tenant: &str, sha256: &str) -> Result<(), StoreError> {
    if db.is_postgres() {
        let lock = sql("select pg_advisory_xact_lock(hashtextextended(?, 0))");
        db.execute(lock.bind(format!("file {tenant} {sha256}"))).await?;
    }
    Ok(())
}

/// Gives up what was being written: its bytes are removed by the next sweep.
pub async fn abandon(db: &mut Db<'_>, blob: BlobId, now: Timestamp) -> Result<(), StoreError> {
    let dead = sql("update file_blobs set state = 'dead', touched_at = ? where id = ? and state = 'writing'");
    db.execute(dead.bind(now).bind(blob)).await.map(drop)
}

/// A file of a tenant, for somebody who may see all of the tenant's.
pub async fn of_tenant(db: &mut Db<'_>, tenant: Tenant, file: FileId) -> Result<Option<FileRow>, StoreError> {
    let query = sql(SELECT).push("where f.id = ? and f.tenant_id = ?");
    db.optional(query.bind(file).bind(tenant.to_string())).await
}

/// A file of a tenant that this holder holds.
pub async fn of_holder(
    db: &mut Db<'_>,
    tenant: Tenant,
    holder: &Holder,
    file: FileId,
) -> Result<Option<FileRow>, StoreError> {
    let (kind, id) = holder.parts();
    let query = sql(SELECT)
        .push(
            "join file_references r on r.file_id = f.id
             where f.id = ? and f.tenant_id = ? and r.holder_kind = ? and r.holder_id = ?",
        )
        .bind(file)
        .bind(tenant.to_string());
    db.optional(query.bind(kind).bind(id)).await
}

/// A tenant's files, the newest first, from one of them on.
pub async fn list(
    db: &mut Db<'_>,
    tenant: Tenant,
    after: Option<FileId>,
    limit: i64,
) -> Result<Vec<FileRow>, StoreError> {
    let mut query = sql(SELECT).push("where f.tenant_id = ?").bind(tenant.to_string());
    if let Some(after) = after {
        query = query.push(" and f.id < ?").bind(after);
    }
    db.all(query.push(" order by f.id desc limit ?").bind(limit))
        .await
}

/// The files that a holder holds, in the order in which they were made.
pub async fn all_of_holder(
    db: &mut Db<'_>,
    tenant: Tenant,
    holder: &Holder,
    limit: i64,
) -> Result<Vec<FileRow>, StoreError> {
    let (kind, id) = holder.parts();
    let query = sql(SELECT)
        .push(
            "join file_references r on r.file_id = f.id
             where f.tenant_id = ? and r.holder_kind = ? and r.holder_id = ? order by f.id limit ?",
        )
        .bind(tenant.to_string());
    db.all(query.bind(kind).bind(id).bind(limit)).await
}

/// Whose word is taken for it that a holder may have a file.
#[derive(Clone, Copy, Debug)]
pub enum Right<'a> {
    /// Somebody's who may see all files of the tenant.
    Tenant,
    /// Another holder's, which has it.
    Holder(&'a Holder),
}

/// Lets a holder hold those of these files that it may by this right; how many those are that are there.
pub async fn hold(
    db: &mut Db<'_>,
    tenant: Tenant,
    files: &[FileId],
    (holder, right): (&Holder, Right<'_>),
    now: Timestamp,
) -> Result<u64, StoreError> {
    let (kind, id) = holder.parts();
    let mut held = 0;
    for some in files.chunks(256) {
        // Touched first: from here on no sweep that began before removes them.
        let touch = sql(
            "update files set kept_until = case when kept_until < ? then ? else kept_until end
             where tenant_id = ? and id in ",
        );
        let until = now.plus(ABANDONED_AFTER);
        let touch = touch.bind(until).bind(until).bind(tenant.to_string());
        let touch = by_right(touch.list(ids(some)), right).push(" returning id");
        let may: Vec<(FileId,)> = db.all(touch).await?;
        for (file,) in may {
            let refer = sql(
                "insert into file_references (holder_kind, holder_id, file_id, created_at) values (?, ?, ?, ?)
                 on conflict do nothing",
            );
            db.execute(refer.bind(kind).bind(&id).bind(file).bind(now))
                .await?;
            held += 1;
        }
    }
    Ok(held)
}

fn ids(files: &[FileId]) -> impl Iterator<Item = String> + '_ {
    files.iter().map(FileId::to_string)
}

fn by_right(query: Sql, right: Right<'_>) -> Sql {
    match right {
        Right::Tenant => query,
        Right::Holder(holder) => {
            let (kind, id) = holder.parts();
            query
                .push(
                    " and exists (select 1 from file_references g where g.file_id = files.id
                      and g.holder_kind = ? and g.holder_id = ?)",
                )
                .bind(kind)
                .bind(id)
        }
    }
}

/// Takes these from a holder.
pub async fn release(db: &mut Db<'_>, holder: &Holder, files: &[FileId]) -> Result<(), StoreError> {
    let (kind, id) = holder.parts();
    for some in files.chunks(256) {
        let query =
            sql("delete from file_references where holder_kind = ? and holder_id = ? and file_id in ")
                .bind(kind)
                .bind(&id)
                .list(ids(some));
        db.execute(query).await?;
    }
    Ok(())
}

/// Takes from a holder what it holds besides these.
pub async fn release_others(db: &mut Db<'_>, holder: &Holder, kept: &[FileId]) -> Result<(), StoreError> {
    let (kind, id) = holder.parts();
    let query = sql("delete from file_references where holder_kind = ? and holder_id = ?")
        .bind(kind)
        .bind(id);
    let query = match kept.is_empty() {
        true => query,
        false => query.push(" and file_id not in ").list(ids(kept)),
    };
    db.execute(query).await.map(drop)
}

/// What became of a file that was to be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removed {
    /// It is gone.
    Yes,
    /// Something refers to it.
    Held,
    /// There was none.
    Unknown,
}

/// Removes a file of a tenant, unless something refers to it.
pub async fn remove(db: &mut Db<'_>, tenant: Tenant, file: FileId) -> Result<Removed, StoreError> {
    // Locked: whoever wants to refer to it waits, and finds it gone.
    let lock = sql("update files set kept_until = kept_until where id = ? and tenant_id = ?");
    if db.execute(lock.bind(file).bind(tenant.to_string())).await? == 0 {
        return Ok(Removed::Unknown);
    }
    let delete = sql(
        "delete from files where id = ? and not exists (select 1 from file_references r where r.file_id = files.id)",
    );
    Ok(match db.execute(delete.bind(file)).await? {
        0 => Removed::Held,
        _ => Removed::Yes,
    })
}

/// Bytes of a tenant's files, each content once.
pub async fn stored_bytes(db: &mut Db<'_>, tenant: Tenant) -> Result<i64, StoreError> {
    let sum = sql(
        "select cast(coalesce(sum(size), 0) as bigint) from file_blobs where tenant_id = ? and state = 'live'",
    );
    let (bytes,): (i64,) = db.one(sum.bind(tenant.to_string())).await?;
    Ok(bytes)
}
