//! Rows of accepted runs on their way to the database: those whose keys are taken are none.

use crate::attempt::Signal;
use heddle_model::clock::Timestamp;
use heddle_model::error::chain;
use heddle_model::ids::{RunId, UserId};
use heddle_store::large_texts::{self, is_large, remove_of_unstored};
use heddle_store::notices::{self, Notice};
use heddle_store::runs::journal as stored_journal;
use heddle_store::runs::keys::{self, KeyRow};
use heddle_store::runs::{self, AcceptedRow};
use heddle_store::{Failed, Load, Store, StoreError};
use std::collections::HashMap;
use std::sync::Arc;

/// Which run each key of the group belongs to.
pub(super) type Keys = HashMap<(String, String), RunId>;

/// Stores rows of runs, and what is left for runs that wait for them.
pub(super) async fn store(
    store: &Store,
    now: Timestamp,
    (server, executes): (&Arc<str>, bool),
    (load, rows): (Load, Vec<AcceptedRow>),
    signals: Vec<(RunId, Signal)>,
) -> Result<Keys, StoreError> {
    if executes && signals.is_empty() && rows.iter().all(|row| row.key.is_none()) {
        if !store.is_shared() {
            runs::accept_alone(store, server, (load, rows)).await?;
        } else if !runs::accept_shared(store, server, (load, rows)).await? {
            return Err(StoreError::Unavailable(Failed::NoLease));
        }
        return Ok(Keys::new());
    }
    let server = server.clone();
    store
        .write_metered(load, move |db| {
            Box::pin(async move {
                let keys: Vec<KeyRow> = rows
                    .iter()
                    .filter_map(|row| Some(KeyRow::new(row.key.clone()?, row.id, now)))
                    .collect();
                let mut taken = Keys::new();
                if !keys.is_empty() {
                    taken.extend(keys::take(db, keys, now).await?);
                }
                let is_new = |row: &AcceptedRow| holder(&taken, row.key.as_ref(), row.id) == row.id;
                let new: Vec<AcceptedRow> = rows.into_iter().filter(is_new).collect();
                let is_stored = |run: RunId| new.iter().any(|row| row.id == run);
                let signals: Vec<Signal> = signals
                    .into_iter()
                    .filter_map(|(run, signal)| is_stored(run).then_some(signal))
                    .collect();
                let owner = if executes { &server } else { runs::NOBODY };
                let Some(later) = runs::accept(db, &server, owner, (load, new)).await? else {
                    return Err(StoreError::Unavailable(Failed::NoLease));
                };
                for signal in &signals {
                    stored_journal::leave(db, signal.parent, &signal.key, &signal.payload).await?;
                }
                if !executes {
                    notices::tell(db, Notice::Accepted).await?;
                }
                Ok((taken, later))
            })
        })
        .await
}

/// Stores a group that has a large event, in an embedded database: large events are stored before the rows, in pieces, between which others
/// write, and removed if the rows are not stored. What a crash leaves in between is removed later. It is one group's at most, since
/// groups of what is large are stored one after another, and a group has one large event.
pub(super) async fn store_large(
    store: &Store,
    now: Timestamp,
    server: (&Arc<str>, bool),
    (load, mut rows): (Load, Vec<AcceptedRow>),
    signals: Vec<(RunId, Signal)>,
) -> Result<Keys, StoreError> {
    let (load, mut apart) = set_apart(store, now, load, &mut rows).await?;
    let stored = self::store(store, now, server, (load, rows), signals).await;
    apart.retain(|run| match &stored {
        // Without any keys, all are stored.
        Ok(keys) => !keys.is_empty() && keys.values().all(|holder| holder != run),
        Err(_) => true,
    });
    forget(store, &apart).await;
    stored
}

/// Stores the events of these rows that are large, and leaves marks in the rows. Gives what is left to store, and the runs whose
/// events are stored.
async fn set_apart(
    store: &Store,
    now: Timestamp,
    load: Load,
    rows: &mut [AcceptedRow],
) -> Result<(Load, Vec<RunId>), StoreError> {
    let mut apart = Vec::new();
    for row in rows.iter_mut() {
        let Some(event) = row.event.clone().filter(|event| is_large(event)) else {
            continue;
        };
        let is_apart = of_row(store, now, load.owner, row, &event).await;
        if !matches!(is_apart, Ok(false)) {
            apart.push(row.id);
        }
        if let Err(error) = is_apart {
            forget(store, &apart).await;
            return Err(error);
        }
    }
    if apart.is_empty() {
        return Ok((load, apart));
    }
    let left = rows.iter().map(AcceptedRow::bytes).sum();
    Ok((Load::of(load.owner, left), apart))
}

/// Stores the event of one row apart from it; `false`: it was left in the row. If its key is taken, the row is not going to be stored, so no
/// pieces are. Should
/// the key be free again by then, the event is stored in the row.
async fn of_row(
    store: &Store,
    now: Timestamp,
    owner: Option<UserId>,
    row: &mut AcceptedRow,
    event: &str,
) -> Result<bool, StoreError> {
    if let Some(key) = &row.key {
        let mut reader = store.reader().await?;
        if keys::is_taken(&mut reader.db(), key, now).await? {
            return Ok(false);
        }
    }
    let mark = large_texts::set_apart(store, owner, row.id, event).await?;
    row.event = Some(mark.into());
    Ok(true)
}

/// Removes what is stored of the events of these runs, except of those that are stored themselves.
async fn forget(store: &Store, runs: &[RunId]) {
    for run in runs {
        if let Err(error) = remove_of_unstored(store, &run.shared_text()).await {
            tracing::warn!(%run, "The pieces of an event that was not accepted are removed later: {}", chain(&error));
        }
    }
}

/// The run that an event belongs to: its own, unless its key was taken.
pub(super) fn holder(keys: &Keys, key: Option<&(String, String)>, run: RunId) -> RunId {
    key.and_then(|key| keys.get(key)).copied().unwrap_or(run)
}
