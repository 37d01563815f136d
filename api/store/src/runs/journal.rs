//! The journals of runs (the results of their effects), and the signals for waiting runs. What is kept of journals after a run's
//! end is in `replays`.

use super::packed::{pack, unpack, unpacked_bytes};
use crate::notices::{self, Notice};
use crate::{Arg, Db, StoreError, sql, with_rows};
use heddle_model::clock::Timestamp;
use heddle_model::ids::RunId;
use sqlx_macros::FromRow;
use std::collections::HashSet;
use std::sync::Arc;

/// An entry of a run's journal.
#[derive(Clone, Debug)]
pub struct EntryRow {
    pub run: RunId,
    /// The server that has it.
    pub owner: Arc<str>,
    /// Which effect of the run; empty: when the run began.
    pub key: String,
    /// Place among those that have ended; `None`: it has parked.
    pub number: Option<i64>,
    /// As it is stored.
    entry: String,
}

impl EntryRow {
    /// Of a run that `owner` has: the result of the effect `key` as JSON, or without a number its state.
    pub fn new(run: RunId, owner: Arc<str>, key: String, number: Option<i64>, json: String) -> Self {
        EntryRow {
            run,
            owner,
            key,
            number,
            entry: pack(json),
        }
    }
}

impl EntryRow {
    /// Of what is stored, roughly.
    pub const fn bytes(&self) -> usize {
        self.key.len() + self.entry.len()
    }

    fn cells(&self) -> [Arg; 5] {
        [
            self.run.into(),
            (&self.key).into(),
            self.number.into(),
            (&self.entry).into(),
            (&*self.owner).into(),
        ]
    }
}

/// What is before and after the rows of [`keep`].
const KEEP: (&str, &str) = (
    "insert into journal_entries (run_id, key, number, entry)
     select v.column1, v.column2, v.column3, v.column4 from ",
    " where exists (select 1 from runs x where x.id = v.column1 and x.owner = v.column5 and x.status = 'running')
     on conflict (run_id, key) do update set number = excluded.number, entry = excluded.entry returning run_id",
);

/// Keeps entries, of which no two are of the same effect, as far as their runs are still their owner's; gives the runs
/// whose entries are kept.
pub async fn keep(db: &mut Db<'_>, rows: &[EntryRow]) -> Result<HashSet<RunId>, StoreError> {
    let (before, after) = KEEP;
    let statements = with_rows((before, before), rows.iter().map(EntryRow::cells), after);
    if statements.is_empty() {
        return Ok(HashSet::new());
    }
    let kept: Vec<(RunId,)> = db.all_of(statements).await?;
    Ok(kept.into_iter().map(|(run,)| run).collect())
}

/// An entry as it is read.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Which effect.
    pub key: String,
    /// Place among those that have ended.
    pub number: Option<i64>,
    /// JSON.
    pub entry: String,
}

/// An entry as it is stored. Whoever wants its JSON unpacks it where nobody waits for that: a megabyte takes milliseconds.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct StoredEntry {
    /// Which effect.
    pub key: String,
    /// Place among those that have ended.
    pub number: Option<i64>,
    entry: String,
}

impl StoredEntry {
    /// Of its JSON, roughly.
    pub fn bytes(&self) -> usize {
        unpacked_bytes(&self.entry)
    }

    pub fn unpacked(self) -> Result<Kept, StoreError> {
        Ok(Kept {
            key: self.key,
            number: self.number,
            entry: unpack(self.entry)?,
        })
    }
}

/// What has come for an effect of a run, as it is stored.
#[derive(Clone, Debug, FromRow)]
pub struct StoredSignal {
    payload: String,
}

impl StoredSignal {
    /// Of its JSON, roughly.
    pub fn bytes(&self) -> usize {
        unpacked_bytes(&self.payload)
    }

    /// Its JSON.
    pub fn unpacked(self) -> Result<String, StoreError> {
        unpack(self.payload)
    }
}

/// All entries of a run.
pub async fn entries(db: &mut Db<'_>, run: RunId) -> Result<Vec<StoredEntry>, StoreError> {
    db.all(sql("select key, number, entry from journal_entries where run_id = ?").bind(run))
        .await
}

/// What has come for one effect of a run.
pub async fn signal_of(db: &mut Db<'_>, run: RunId, key: &str) -> Result<Option<StoredSignal>, StoreError> {
    let query = sql("select payload from signals where run_id = ? and key = ?").bind(run);
    db.optional(query.bind(key)).await
}

/// Whether something has come for one effect of a run.
pub async fn has_signal(db: &mut Db<'_>, run: RunId, key: &str) -> Result<bool, StoreError> {
    let query = sql("select key from signals where run_id = ? and key = ?").bind(run);
    let found: Option<(String,)> = db.optional(query.bind(key)).await?;
    Ok(found.is_some())
}

/// Bytes of what has come for a run.
pub async fn signal_bytes(db: &mut Db<'_>, run: RunId) -> Result<i64, StoreError> {
    let query = sql(
        "select cast(coalesce(sum(octet_length(key) + octet_length(payload)), 0) as bigint)
         from signals where run_id = ?",
    );
    let (bytes,): (i64,) = db.one(query.bind(run)).await?;
    Ok(bytes)
}

/// The keys alone of what has come for a run, each of which may be large.
pub async fn signalled(db: &mut Db<'_>, run: RunId) -> Result<HashSet<String>, StoreError> {
    let rows: Vec<(String,)> = db
        .all(sql("select key from signals where run_id = ?").bind(run))
        .await?;
    Ok(rows.into_iter().map(|(key,)| key).collect())
}

/// Forgets the effects of an execution of a node, which a further attempt is to do again, and how the runs have ended that it had called.
/// What has come to its callback URL stays, which works once.
pub async fn forget(db: &mut Db<'_>, run: RunId, execution: &str) -> Result<(), StoreError> {
    let prefix = format!("{execution}/");
    for query in [
        "delete from journal_entries where run_id = ? and substr(key, 1, length(?)) = ?",
        "delete from signals where run_id = ? and substr(key, 1, length(?)) = ?",
    ] {
        db.execute(sql(query).bind(run).bind(&prefix).bind(&prefix))
            .await?;
    }
    Ok(())
}

/// Forgets all of runs that have ended, whose journals nobody wants.
pub async fn clear(db: &mut Db<'_>, runs: &[RunId]) -> Result<(), StoreError> {
    let ids = || runs.iter().map(RunId::to_string);
    db.execute(sql("delete from journal_entries where run_id in ").list(ids()))
        .await?;
    db.execute(sql("delete from signals where run_id in ").list(ids()))
        .await?;
    Ok(())
}

/// Forgets up to `limit` signals of runs that do not wait any more.
pub async fn sweep(db: &mut Db<'_>, limit: i64) -> Result<u64, StoreError> {
    db.execute(
        sql("delete from signals where (run_id, key) in (
             select s.run_id, s.key from signals s where not exists
             (select 1 from runs r where r.id = s.run_id and r.status = 'running') limit ?)")
        .bind(limit),
    )
    .await
}

/// What comes for an effect of a run, as it is stored. To be made before the transaction: packing a megabyte takes milliseconds.
#[derive(Clone, Debug)]
pub struct Payload(String);

impl Payload {
    /// Of JSON.
    pub fn new(json: String) -> Self {
        Payload(pack(json))
    }

    /// Packed and in base64, or plain JSON where that is shorter.
    #[cfg(test)]
    pub(crate) fn stored(&self) -> &str {
        &self.0
    }
}

/// Something comes for an effect of a run, which goes on if it is parked. `false`: it has come before.
pub async fn signal(db: &mut Db<'_>, run: RunId, key: &str, payload: &Payload) -> Result<bool, StoreError> {
    let is_new = leave(db, run, key, payload).await?;
    if is_new {
        wake(db, run).await?;
    }
    Ok(is_new)
}

/// Leaves something for an effect of a run that can't have parked at it, and looks for it when it begins. `false`: it has come before.
pub async fn leave(db: &mut Db<'_>, run: RunId, key: &str, payload: &Payload) -> Result<bool, StoreError> {
    let insert = sql("insert into signals (run_id, key, payload) values (?, ?, ?) on conflict do nothing");
    let inserted = db.execute(insert.bind(run).bind(key).bind(&payload.0)).await?;
    Ok(inserted > 0)
}

/// Wakes a parked run; a run that is just about to park is woken too.
async fn wake(db: &mut Db<'_>, run: RunId) -> Result<(), StoreError> {
    db.execute(
        sql(
            "update runs set woken = true, wake_at = case when wake_at is null then null else 0 end
             where id = ? and status = 'running'",
        )
        .bind(run),
    )
    .await?;
    notices::tell(db, Notice::Woken).await
}

/// When the next parked run of a deployment that is not paused is due.
pub async fn next_wake(db: &mut Db<'_>) -> Result<Option<Timestamp>, StoreError> {
    let (next,): (Option<i64>,) = db
        .one(
            sql(
                "select min(r.wake_at) from runs r join deployments d on d.id = r.deployment_id
                 where r.wake_at is not null and r.status = 'running' and d.status <> 'paused' and not d.suspended and d.strikes < ?",
            )
            .bind(super::suspects::STRIKES_MAX),
        )
        .await?;
    Ok(next.map(Timestamp::from_millis))
}

/// The state of a run that waits, or may wait: in a transaction nobody else changes it before that one's end.
pub async fn is_running(db: &mut Db<'_>, run: RunId) -> Result<Option<bool>, StoreError> {
    let lock = if db.is_postgres() { " for update" } else { "" };
    let query = sql("select status from runs where id = ?").bind(run).push(lock);
    let found: Option<(String,)> = db.optional(query).await?;
    Ok(found.map(|(status,)| status == "running"))
}

/// One of these entries of a run, if there is any.
pub async fn entry_of(
    db: &mut Db<'_>,
    run: RunId,
    keys: [String; 2],
) -> Result<Option<StoredEntry>, StoreError> {
    let query = sql("select key, number, entry from journal_entries where run_id = ? and key in ").bind(run);
    db.optional(query.list(keys)).await
}

/// What a run is parked at.
pub async fn parked(db: &mut Db<'_>, run: RunId) -> Result<Vec<StoredEntry>, StoreError> {
    let query = sql(
        "select key, number, entry from journal_entries where run_id = ? and number is null and key <> '' order by key",
    );
    db.all(query.bind(run)).await
}

/// Runs under way that a run waits for.
pub async fn children(db: &mut Db<'_>, parent: RunId) -> Result<Vec<(RunId,)>, StoreError> {
    db.all(sql("select id from runs where parent_id = ? and status = 'running'").bind(parent))
        .await
}

/// The run whose CallPattern waits for a run, and the key of that effect.
pub async fn parent_of(db: &mut Db<'_>, run: RunId) -> Result<Option<(RunId, String)>, StoreError> {
    db.optional(
        sql("select parent_id, parent_key from runs where id = ? and parent_id is not null").bind(run),
    )
    .await
}
