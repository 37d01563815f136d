//! What is removed of files, and when: references of what is gone, files that nothing refers to, bytes that no file has. Each
//! statement removes a little, and looks again at what it removes.

use crate::{Db, StoreError, sql};
use heddle_model::clock::Timestamp;
use heddle_model::ids::{BlobId, FileId};
use heddle_model::tenant::Tenant;
use sqlx_macros::FromRow;

/// A place in the order of references.
pub type Place = (String, String, FileId);

/// References whose holder is not there, among the next `limit` after a place; and the last of these, if there may be more.
/// Those made after `before` are left out: their holder may be about to be stored.
pub async fn dangling(
    db: &mut Db<'_>,
    after: Option<&Place>,
    before: Timestamp,
    limit: i64,
) -> Result<(Vec<Place>, Option<Place>), StoreError> {
    #[derive(FromRow)]
    struct Found {
        holder_kind: String,
        holder_id: String,
        file_id: FileId,
        created_at: i64,
        is_there: bool,
    }
    let (kind, id, file) = match after {
        Some((kind, id, file)) => (kind.clone(), id.clone(), file.to_string()),
        None => Default::default(),
    };
    let query = sql("select r.holder_kind, r.holder_id, r.file_id, r.created_at,
         case r.holder_kind
         when 'run' then exists (select 1 from runs x where x.id = r.holder_id)
         when 'test' then exists (select 1 from pattern_tests x where x.id = r.holder_id)
         when 'value' then exists (select 1 from key_values x where x.scope = ")
    .push(lines(db, true))
    .push(" and x.key = ")
    .push(lines(db, false))
    .push(
        ") else false end as is_there
         from (select * from file_references where (holder_kind, holder_id, file_id) > (?, ?, ?)
         order by holder_kind, holder_id, file_id limit ?) r order by 1, 2, 3",
    )
    .bind(kind)
    .bind(id)
    .bind(file)
    .bind(limit);
    let rows: Vec<Found> = db.all(query).await?;
    let is_full = i64::try_from(rows.len()).unwrap_or(i64::MAX) >= limit;
    let place = |row: &Found| (row.holder_kind.clone(), row.holder_id.clone(), row.file_id);
    let last = rows.last().filter(|_| is_full).map(place);
    let gone = rows
        .iter()
        .filter(|row| !row.is_there && row.created_at < before.millis());
    Ok((gone.map(place).collect(), last))
}

/// The first line of a holder's id, or what follows it: the scope and the key of a value.
fn lines(db: &Db<'_>, first: bool) -> &'static str {
    match (db.is_postgres(), first) {
        (true, true) => "substr(r.holder_id, 1, strpos(r.holder_id, chr(10)) - 1)",
        (true, false) => "substr(r.holder_id, strpos(r.holder_id, chr(10)) + 1)",
        (false, true) => "substr(r.holder_id, 1, instr(r.holder_id, char(10)) - 1)",
        (false, false) => "substr(r.holder_id, instr(r.holder_id, char(10)) + 1)",
    }
}

/// Removes references.
pub async fn release(db: &mut Db<'_>, places: &[Place]) -> Result<(), StoreError> {
    for (kind, id, file) in places {
        let delete =
            sql("delete from file_references where holder_kind = ? and holder_id = ? and file_id = ?");
        db.execute(delete.bind(kind).bind(id).bind(*file)).await?;
    }
    Ok(())
}

/// Files that nothing refers to and that are kept no longer, among the next `limit` after one; and the last of these, if there
/// may be more.
pub async fn unheld(
    db: &mut Db<'_>,
    after: Option<FileId>,
    now: Timestamp,
    limit: i64,
) -> Result<(Vec<FileId>, Option<FileId>), StoreError> {
    let query = sql("select f.id, f.kept_until < ? and not exists
         (select 1 from file_references r where r.file_id = f.id) as is_unheld
         from files f where f.id > ? order by f.id limit ?");
    let after = after.map(|id| id.to_string()).unwrap_or_default();
    let rows: Vec<(FileId, bool)> = db.all(query.bind(now).bind(after).bind(limit)).await?;
    let is_full = i64::try_from(rows.len()).unwrap_or(i64::MAX) >= limit;
    let last = rows.last().filter(|_| is_full).map(|(id, _)| *id);
    let unheld = rows.into_iter().filter(|(_, is_unheld)| *is_unheld);
    Ok((unheld.map(|(id, _)| id).collect(), last))
}

/// Removes files, as far as that is still so.
pub async fn remove(db: &mut Db<'_>, files: &[FileId], now: Timestamp) -> Result<u64, StoreError> {
    let delete = sql("delete from files where kept_until < ? and not exists
         (select 1 from file_references r where r.file_id = files.id) and id in ")
    .bind(now)
    .list(files.iter().map(FileId::to_string));
    db.execute(delete).await
}

/// Contents that nobody writes any more, or that no file has, among the next `limit` after one; and the last of these, if there may
/// be more.
pub async fn unused(
    db: &mut Db<'_>,
    after: Option<BlobId>,
    before: Timestamp,
    limit: i64,
) -> Result<(Vec<BlobId>, Option<BlobId>), StoreError> {
    let query = sql(
        "select b.id, b.state <> 'dead' and b.touched_at < ? and (b.state = 'writing' or not exists
         (select 1 from files f where f.blob_id = b.id)) as is_unused
         from file_blobs b where b.id > ? order by b.id limit ?",
    );
    let after = after.map(|id| id.to_string()).unwrap_or_default();
    let rows: Vec<(BlobId, bool)> = db.all(query.bind(before).bind(after).bind(limit)).await?;
    let is_full = i64::try_from(rows.len()).unwrap_or(i64::MAX) >= limit;
    let last = rows.last().filter(|_| is_full).map(|(id, _)| *id);
    let unused = rows.into_iter().filter(|(_, is_unused)| *is_unused);
    Ok((unused.map(|(id, _)| id).collect(), last))
}

/// Gives up contents, as far as that is still so: whoever writes one, or makes a file of it, has touched it.
pub async fn bury(
    db: &mut Db<'_>,
    blobs: &[BlobId],
    before: Timestamp,
    now: Timestamp,
) -> Result<u64, StoreError> {
    let bury = sql("update file_blobs set state = 'dead', touched_at = ? where state <> 'dead' and touched_at < ?
         and (state = 'writing' or not exists (select 1 from files f where f.blob_id = file_blobs.id)) and id in ")
    .bind(now)
    .bind(before)
    .list(blobs.iter().map(BlobId::to_string));
    db.execute(bury).await
}

/// Bytes that are to be removed.
#[derive(Clone, Debug, FromRow)]
pub struct DeadRow {
    pub id: BlobId,
    /// Whose they were.
    pub tenant_id: String,
    /// Which upload in parts they are, if they were never completed.
    pub upload: Option<String>,
}

/// What has been dead since before a time, up to `limit`; of one tenant, or of all. SQLite does not see that what is dead is not live,
/// and would read all contents, not just those in the index of what is unfinished.
pub async fn dead(
    db: &mut Db<'_>,
    tenant: Option<Tenant>,
    before: Timestamp,
    limit: i64,
) -> Result<Vec<DeadRow>, StoreError> {
    let query = sql(
        "select id, tenant_id, upload from file_blobs where state = 'dead' and state <> 'live' and touched_at <= ?",
    );
    let query = query.bind(before);
    let query = match tenant {
        Some(tenant) => query.push(" and tenant_id = ?").bind(tenant.to_string()),
        None => query,
    };
    db.all(query.push(" order by touched_at limit ?").bind(limit))
        .await
}

/// Forgets what was dead and whose bytes are gone.
pub async fn forget(db: &mut Db<'_>, blobs: &[BlobId]) -> Result<(), StoreError> {
    let delete = sql("delete from file_blobs where state = 'dead' and id in ");
    db.execute(delete.list(blobs.iter().map(BlobId::to_string)))
        .await
        .map(drop)
}

/// Removes up to `limit` files of a tenant that is removed, whatever refers to them; how many there were.
pub async fn remove_of(db: &mut Db<'_>, tenant: Tenant, limit: i64) -> Result<u64, StoreError> {
    let delete = sql("delete from files where id in (select id from files where tenant_id = ? limit ?)");
    db.execute(delete.bind(tenant.to_string()).bind(limit)).await
}

/// Gives up all bytes of a tenant that is removed.
pub async fn bury_all_of(db: &mut Db<'_>, tenant: Tenant) -> Result<(), StoreError> {
    // Each part has an index of its own.
    for part in ["state <> 'live'", "state = 'live'"] {
        let bury = sql("update file_blobs set state = 'dead', touched_at = 0 where tenant_id = ? and ");
        db.execute(bury.bind(tenant.to_string()).push(part)).await?;
    }
    Ok(())
}
