//! Responses of RespondToWebhook for senders that wait at a different server than the one that executes the run.

use crate::{Db, StoreError, sql};
use heddle_model::clock::Timestamp;
use heddle_model::ids::RunId;

/// Keeps a run's response; the first one counts.
pub async fn keep(db: &mut Db<'_>, run: RunId, response: &str, now: Timestamp) -> Result<(), StoreError> {
    let query =
        sql("insert into responses (run_id, response, created_at) values (?, ?, ?) on conflict do nothing");
    db.execute(query.bind(run).bind(response).bind(now))
        .await
        .map(drop)
}

/// A run's response, if it gave one.
pub async fn of(db: &mut Db<'_>, run: RunId) -> Result<Option<String>, StoreError> {
    let found: Option<(String,)> = db
        .optional(sql("select response from responses where run_id = ?").bind(run))
        .await?;
    Ok(found.map(|(response,)| response))
}

/// Removes up to `limit` responses that are no longer waited for.
pub async fn sweep(db: &mut Db<'_>, before: Timestamp, limit: i64) -> Result<u64, StoreError> {
    let query = sql(
        "delete from responses where run_id in (select run_id from responses where created_at < ? limit ?)",
    );
    db.execute(query.bind(before).bind(limit)).await
}
