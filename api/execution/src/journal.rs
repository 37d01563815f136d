//! The journals of runs: entries of all runs together are stored in groups, those of each run in the order in which they came. A
//! run that starts again is given what its journal holds.

use crate::lease::Lease;
use crate::retry::retry_while_unavailable;
use crate::run::Run;
use crate::side_task::SideTask;
use heddle_contract::manifest::Rights;
use heddle_model::clock::Clock;
use heddle_model::error::{Code, ServiceError, chain};
use heddle_model::ids::{RunId, UserId};
use heddle_runtime::{
    Entry, Journal, JournalError, Permission, RunJournal, Signalled, aside, aside_if_large, is_small,
};
use heddle_store::panics::unless_it_panics;
use heddle_store::runs::journal::{self, EntryRow, StoredEntry};
use heddle_store::turns::Turns;
use heddle_store::{Load, Store, StoreError};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

/// Batches of entries in one statement.
const GROUP_MAX: usize = 256;
/// Key of the entry that tells when the run began.
const BEGINNING: &str = "";

type Stored = Result<HashSet<RunId>, JournalError>;

struct Batch {
    rows: Vec<EntryRow>,
    load: Load,
    run: RunId,
    stored: oneshot::Sender<Result<(), JournalError>>,
}

/// Hands entries to the task that stores them. How many wait is bounded by the runs that execute, each of which
/// waits for its own.
pub(crate) struct Journals {
    batches: mpsc::UnboundedSender<Batch>,
    store: Store,
    clock: Clock,
    lease: Arc<Lease>,
    service: Handle,
}

impl Journals {
    /// Starts that task.
    pub fn start(store: Store, clock: Clock, lease: Arc<Lease>) -> Self {
        let (sender, batches) = mpsc::unbounded_channel();
        tokio::spawn(work(store.clone(), batches));
        Journals {
            batches: sender,
            store,
            clock,
            lease,
            service: Handle::current(),
        }
    }

    /// The journal of a run that starts to execute; read only if it may hold something.
    pub async fn continued(&self, run: &Run, now_ms: i64) -> Result<Continued, ServiceError> {
        let (known, signals) = match run.has_history {
            true => self.history(run).await?,
            false => Default::default(),
        };
        // Without a result that depends on it, the run begins now.
        let Recorded { entries, began_at_ms } = known;
        let bytes = bytes_of(&entries);
        let began_at_ms = began_at_ms.filter(|_| !entries.is_empty());
        let started_at_ms = began_at_ms.unwrap_or(now_ms);
        let sink = Arc::new(Sink {
            batches: self.batches.clone(),
            store: self.store.clone(),
            lease: self.lease.clone(),
            clock: self.clock.clone(),
            run: run.id,
            owner: run.owner.clone(),
            user: run.deployment.owner,
            started_at_ms,
            is_used: AtomicBool::new(began_at_ms.is_some()),
            bytes: AtomicUsize::new(bytes),
            service: self.service.clone(),
        });
        Ok(Continued {
            journal: RunJournal {
                entries,
                signals,
                journal: sink.clone(),
            },
            started_at_ms,
            sink,
        })
    }
}

impl Journals {
    /// What the journal of a run holds, unpacked and read where nobody waits for that, and for which of its effects something has come.
    async fn history(&self, run: &Run) -> Result<(Recorded, HashSet<String>), ServiceError> {
        let mut reader = self.store.reader().await?;
        let entries = journal::entries(&mut reader.db(), run.id).await?;
        let signals = journal::signalled(&mut reader.db(), run.id).await?;
        drop(reader);
        let owner = Some(run.deployment.owner.as_u128());
        let read = aside_if_large(owner, bytes_stored(&entries), move || Recorded::of(entries));
        let recorded = read.await.ok_or(Code::Internal)?;
        Ok((recorded?, signals))
    }
}

/// What has come for an effect of a run, as JSON; `user` owns the run. A database that is away is waited for: what has come is not a failure
/// of the effect.
pub(crate) async fn signal(
    store: &Store,
    (run, key): (RunId, &str),
    user: Option<UserId>,
) -> Result<Option<String>, ServiceError> {
    let read = move || async move {
        let mut reader = store.reader().await?;
        journal::signal_of(&mut reader.db(), run, key).await
    };
    let on_wait = |reason: &str| tracing::warn!("What has come for a run can't be read yet: {reason}");
    let Some(found) = retry_while_unavailable(read, on_wait).await? else {
        return Ok(None);
    };
    let owner = user.map(UserId::as_u128);
    let unpacked = aside_if_large(owner, found.bytes(), move || found.unpacked()).await;
    Ok(Some(unpacked.ok_or(Code::Internal)??))
}

async fn work(store: Store, mut batches: mpsc::UnboundedReceiver<Batch>) {
    let mut group: Vec<Batch> = Vec::with_capacity(GROUP_MAX);
    let mut turns = Turns::new(GROUP_MAX);
    let mut side_task = SideTask::default();
    loop {
        let has_some = turns.has_small() || turns.may_store_large();
        if !has_some && !side_task.more(&mut batches, &mut group, GROUP_MAX).await {
            return;
        }
        if side_task.has_ended() {
            turns.large_is_stored();
        }
        while let Ok(next) = batches.try_recv() {
            group.push(next);
        }
        let load = turns.small_group(&mut group, |batch: &Batch| (batch.load, batch.run));
        if let Some((load, mut large)) = turns.large_group() {
            let store = store.clone();
            side_task.begin(async move { store_batches(&store, load, &mut large).await });
        }
        if !group.is_empty() {
            store_batches(&store, load, &mut group).await;
        }
    }
}

/// Stores a group, and tells everybody in it. If that panics, which is told, they hear that nobody stores theirs.
async fn store_batches(store: &Store, load: Load, group: &mut Vec<Batch>) {
    let rows = newest(group.iter_mut().flat_map(|batch| std::mem::take(&mut batch.rows)));
    let Some(stored) = unless_it_panics(store_rows(store, load, rows)).await else {
        return group.clear();
    };
    for batch in group.drain(..) {
        let answer = match &stored {
            Ok(kept) if kept.contains(&batch.run) => Ok(()),
            Ok(_) => Err(JournalError::Lost),
            Err(error) => Err(error.clone()),
        };
        // Nobody listens when the run has gone, or need not know.
        let _ = batch.stored.send(answer);
    }
}

/// The last entry of each effect.
fn newest(rows: impl Iterator<Item = EntryRow>) -> Vec<EntryRow> {
    let mut by_key: HashMap<(RunId, String), EntryRow> = HashMap::new();
    for row in rows {
        by_key.insert((row.run, row.key.clone()), row);
    }
    let mut rows: Vec<EntryRow> = by_key.into_values().collect();
    // In one order, so that two servers can't wait for each other.
    rows.sort_by(|a, b| (a.run, &a.key).cmp(&(b.run, &b.key)));
    rows
}

async fn store_rows(store: &Store, load: Load, rows: Vec<EntryRow>) -> Stored {
    let rows: Arc<[EntryRow]> = rows.into();
    let write = || {
        let rows = rows.clone();
        store.write_sized(load, move |db| {
            Box::pin(async move { journal::keep(db, &rows).await })
        })
    };
    let on_wait = |reason: &str| tracing::warn!("The results of effects can't be stored yet: {reason}");
    retry_while_unavailable(write, on_wait)
        .await
        .map_err(|error: StoreError| {
            tracing::error!(error = %chain(&error), "The results of effects could not be stored");
            JournalError::Failed(Arc::new(error))
        })
}

/// One run's way to its journal.
#[derive(Debug)]
struct Sink {
    batches: mpsc::UnboundedSender<Batch>,
    store: Store,
    lease: Arc<Lease>,
    clock: Clock,
    run: RunId,
    owner: Arc<str>,
    /// Who owns the tenant.
    user: UserId,
    started_at_ms: i64,
    is_used: AtomicBool,
    /// Bytes of its entries before they are packed.
    bytes: AtomicUsize,
    /// What goes on when a run does not.
    service: Handle,
}

impl Journal for Sink {
    fn record(&self, mut entries: Vec<Entry>) -> heddle_runtime::Recorded {
        if !self.is_used.swap(true, Ordering::SeqCst) {
            entries.push(Entry {
                key: BEGINNING.to_owned(),
                number: None,
                json: json!({ "startedAtMs": self.started_at_ms }).to_string(),
            });
        }
        let (stored, answer) = oneshot::channel();
        let (run, owner, user, batches) = (self.run, self.owner.clone(), self.user, self.batches.clone());
        let bytes = bytes_of(&entries);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        let are_small = is_small(bytes);
        let send = move || {
            let rows = rows_of((run, &owner), entries);
            let load = Load::of(Some(user), rows.iter().map(EntryRow::bytes).sum());
            let batch = Batch {
                rows,
                load,
                run,
                stored,
            };
            // When nobody stores them any more, nobody answers either.
            let _ = batches.send(batch);
        };
        if are_small {
            send();
        } else {
            // Not by the future that is given, which may be dropped. The run records nothing more until it has heard of these.
            self.service.spawn(aside(Some(user.as_u128()), send));
        }
        let (lease, owner) = (self.lease.clone(), self.owner.clone());
        Box::pin(async move {
            answer.await.unwrap_or(Err(JournalError::Stopped))?;
            // The process may have stood still since.
            match lease.is_held(&owner).await {
                true => Ok(()),
                false => Err(JournalError::Lost),
            }
        })
    }

    fn permission(&self) -> Permission {
        let (lease, owner) = (self.lease.clone(), self.owner.clone());
        Box::pin(async move {
            if !lease.is_held(&owner).await {
                // The run is about to be dropped.
                std::future::pending().await
            }
        })
    }

    fn signal(&self, key: &str) -> Signalled {
        let (store, run, user, key) = (self.store.clone(), self.run, self.user, key.to_owned());
        Box::pin(async move {
            let found = signal(&store, (run, key.as_str()), Some(user)).await;
            found.map_err(|error| JournalError::Failed(Arc::new(error)))
        })
    }

    fn now_ms(&self) -> i64 {
        self.clock.now().millis()
    }
}

/// What a run continues from.
pub(crate) struct Continued {
    /// The journal, with all entries that are stored by now.
    pub journal: RunJournal,
    /// When the run began.
    pub started_at_ms: i64,
    sink: Arc<Sink>,
}

impl Continued {
    /// Whether there is something that a later execution, or the end, has to know of.
    pub fn is_used(&self) -> bool {
        self.sink.is_used.load(Ordering::SeqCst)
    }

    /// How large what it holds is, before it is packed.
    pub fn bytes(&self) -> usize {
        self.sink.bytes.load(Ordering::Relaxed)
    }
}

/// How large entries are, before they are packed.
pub(crate) fn bytes_of(entries: &[Entry]) -> usize {
    entries.iter().map(|entry| entry.json.len()).sum()
}

/// Entries as they are stored: packed, which takes milliseconds for a megabyte.
pub(crate) fn rows(run: &Run, entries: Vec<Entry>) -> Vec<EntryRow> {
    rows_of((run.id, &run.owner), entries)
}

fn rows_of((run, owner): (RunId, &Arc<str>), entries: Vec<Entry>) -> Vec<EntryRow> {
    let row = |entry: Entry| {
        let number = entry
            .number
            .map(|number| i64::try_from(number).unwrap_or(i64::MAX));
        EntryRow::new(run, owner.clone(), entry.key, number, entry.json)
    };
    entries.into_iter().map(row).collect()
}

/// What the journal of a run holds.
#[derive(Default)]
pub(crate) struct Recorded {
    pub entries: Vec<Entry>,
    /// When the run began, in milliseconds since 1970 UTC, as far as its journal tells.
    pub began_at_ms: Option<i64>,
}

impl Recorded {
    /// Reads a journal's stored entries.
    pub fn of(stored: Vec<StoredEntry>) -> Result<Self, StoreError> {
        let mut recorded = Recorded::default();
        for entry in stored {
            let kept = entry.unpacked()?;
            if kept.key == BEGINNING {
                let beginning: Value = serde_json::from_str(&kept.entry).unwrap_or_default();
                recorded.began_at_ms = beginning["startedAtMs"].as_i64();
                continue;
            }
            recorded.entries.push(Entry {
                key: kept.key,
                number: kept.number.and_then(|number| u64::try_from(number).ok()),
                json: kept.entry,
            });
        }
        Ok(recorded)
    }
}

/// How large stored entries are once they are unpacked, roughly.
pub(crate) fn bytes_stored(entries: &[StoredEntry]) -> usize {
    entries.iter().map(StoredEntry::bytes).sum()
}

/// Whether a pattern may have effects at all.
pub(crate) fn is_needed(rights: &Rights) -> bool {
    !rights.effects.is_empty() || rights.javascript
}
