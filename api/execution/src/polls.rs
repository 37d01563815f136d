//! Asks for the lists of OnPoll nodes. A poll that is due is claimed in the database, so that one server at a time asks; each
//! element that is new is accepted as a run under a key of its own, and counts as seen only afterwards. A run for several elements
//! has a key that is stored with these elements before. So whenever a server stops, no element is lost, and none has two runs.

pub(crate) mod claim;
mod failure;
mod picked;

use crate::acceptor::Accepted;
use crate::deployment::ActiveDeployment;
use crate::executions::Executions;
use crate::outside::{self, Failure, Request, requested_rest};
use crate::queue::{Class, Place};
use crate::run::{IdempotencyKey, NewRun};
use crate::schedule::Schedule;
use claim::Claim;
use heddle_model::clock::Timestamp;
use heddle_model::error::{Code, ServiceError, chain};
use heddle_model::ids::RunId;
use heddle_model::poll::{Pending, Poll, Seen};
use heddle_model::status::TriggeredBy;
use heddle_store::polls::{self, PollRow};
use heddle_store::schedules::ScheduleRow;
use heddle_store::{Load, StoreError};
use metrics::counter;
use picked::Batch;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// For how long a poll is claimed: if its server stops, another one asks after that.
const CLAIM: Duration = Duration::from_secs(10);
/// How long it waits for a place among the runs of its workspace, and then for one among all polls.
const PATIENCE: Duration = Duration::from_secs(30);
/// A request may take this much longer than its node allows, so that the node's own time limit is reported.
const GRACE: Duration = Duration::from_secs(2);
const TIME_MAX: Duration = Duration::from_secs(60);
/// Characters of a list's fingerprint that its runs' keys have.
const SOURCE_CHARS: usize = 16;

/// Claims a poll that is due, and has it done in the background.
pub(crate) async fn begin(
    executions: &Executions,
    read: &ScheduleRow,
    (active, poll): (Arc<ActiveDeployment>, Poll),
    times: Schedule,
) -> Result<(), ServiceError> {
    let Some((claim, known)) = Claim::of(executions, read, CLAIM).await? else {
        return Ok(());
    };
    let turn = Turn {
        executions: executions.clone(),
        node: read.node_id.clone(),
        active,
        source: poll.fingerprint(),
        poll,
        times,
        known,
        claim,
    };
    tokio::spawn(turn.take());
    Ok(())
}

/// A poll that is this server's.
struct Turn {
    executions: Executions,
    node: String,
    active: Arc<ActiveDeployment>,
    poll: Poll,
    /// Which list that is.
    source: String,
    times: Schedule,
    /// What was known when it was claimed.
    known: PollRow,
    claim: Claim,
}

/// Which elements have runs.
struct Started {
    /// What was known before.
    seen: Seen,
    /// Those that have got one since.
    keys: HashSet<String>,
}

impl Started {
    fn has(&self, key: &str) -> bool {
        self.seen.has(key) || self.keys.contains(key)
    }
}

impl Turn {
    async fn take(self) {
        let mut stopping = self.executions.stopping();
        let (row, due) = tokio::select! {
            done = self.done() => done,
            // Whoever asks next finds what is new; those that have a run by now get no other.
            _ = stopping.wait_for(|stops| *stops) => (None, Some(self.now())),
            () = self.claim.hold() => return,
        };
        let said = self.claim.said();
        let (schedule, former) = (self.known.schedule_id, self.known.clone());
        let bytes = row.as_ref().map_or(0, |row| row.seen.len());
        let load = Load::of(Some(self.active.owner), bytes);
        let stored = self.executions.store().write_sized(load, move |db| {
            Box::pin(async move {
                match row {
                    Some(row) => polls::finish_for_system(db, (&row, &former), (said, due)).await,
                    None => polls::renew_for_system(db, schedule, said, due).await.map(drop),
                }
            })
        });
        let stored: Result<(), StoreError> = stored.await;
        if let Err(error) = stored {
            tracing::warn!(
                deployment = %self.active.id,
                node = self.node,
                "What a poll has found can't be stored, so it is repeated: {}",
                chain(&error)
            );
        }
    }

    fn now(&self) -> Timestamp {
        self.executions.clock().now()
    }

    /// Asks and starts runs: what is known now, and when it is due.
    async fn done(&self) -> (Option<PollRow>, Option<Timestamp>) {
        let mut row = self.known.clone();
        let went = match self.asked(&mut row).await {
            // The poll was lost before anybody was asked.
            Ok(false) => return (None, Some(self.now())),
            Ok(true) => Ok(()),
            Err(failure) => Err(failure),
        };
        let now = self.now();
        let regular = self.times.next_after(now);
        row.last.polled_at = Some(now.millis());
        let result = match &went {
            Ok(()) => "success",
            Err(failure) if failure.is_ours => "refused",
            Err(_) => "failure",
        };
        counter!("heddle_polls_total", "result" => result).increment(1);
        let due = match went {
            Ok(()) => {
                (row.last.failures, row.last.error, row.last.error_code) = (0, None, None);
                regular
            }
            Err(failure) => {
                let code = failure.code.as_str();
                tracing::info!(deployment = %self.active.id, node = self.node, code, "A poll has failed");
                let rested = failure.note(&mut row.last, now);
                Some(regular.map_or(rested, |regular| regular.max(rested)))
            }
        };
        (Some(row), due)
    }

    /// Asks and starts runs when it is its turn; `false`: it was lost before anybody was asked.
    async fn asked(&self, row: &mut PollRow) -> Result<bool, Failure> {
        // Whoever has many lists waits for their own first, then for runs of their own, and only then for others: so few lists
        // wait there, and none that waits for its owner's keeps others from asking. Neither of these is ever closed.
        let _of_owner = self.executions.polls_of(self.active.owner).acquire_owned().await;
        let place = self
            .executions
            .test_runs()
            .place_of(Class::Background, self.active.share(), PATIENCE)
            .await?;
        // Until all runs are started: answers may be large.
        let one = self.executions.polls_at_once().acquire();
        let _one = tokio::time::timeout(PATIENCE, one).await.map_err(|_| {
            Code::Unavailable
                .with("Too many lists are being polled right now: this one will be polled later.")
        })?;
        if self.claim.is_lost() {
            return Ok(false);
        }
        let at = self.now();
        let cursor = self.cursor(at);
        let answer = self.ask(place, cursor.as_deref()).await?;
        self.start(answer, (cursor, at), row).await?;
        Ok(true)
    }

    /// What the request says of what is known. The first one asks for all there is, or passes over it.
    fn cursor(&self, at: Timestamp) -> Option<String> {
        match self.is_first() {
            true => self.poll.since(at).filter(|_| !self.poll.from_beginning),
            false => self.known.cursor.clone(),
        }
    }

    /// The answer's text, asked for in a place among the workspace's runs and on its account.
    async fn ask(&self, place: Place, cursor: Option<&str>) -> Result<String, Failure> {
        let rights = &self.active.manifest().rights;
        let request = Request {
            request: self.poll.request(cursor),
            share: self.active.share(),
            granted: (rights.connections.clone(), rights.hosts.clone()),
            time_max: TIME_MAX + GRACE,
        };
        text_of(outside::send(&self.executions, request, place).await?)
    }

    /// Whether nothing is known of this list.
    fn is_first(&self) -> bool {
        self.known.source != self.source
    }

    /// Starts runs for what is new, unless it is lost meanwhile. `said` is what the request said, at which time.
    async fn start(
        &self,
        answer: String,
        (said, at): (Option<String>, Timestamp),
        row: &mut PollRow,
    ) -> Result<(), Failure> {
        let is_first = self.is_first();
        let seen = match is_first {
            true => Seen::default(),
            false => Seen::of_stored(&row.seen),
        };
        // What was noted of another list says nothing of this one.
        let pending = row.pending.as_deref().filter(|_| !is_first);
        let pending = pending.and_then(Pending::of_stored);
        let since = said.filter(|_| self.poll.says_since());
        let known = (seen.clone(), pending.clone());
        let when = (self.now(), since);
        let picked = picked::pick(self.active.owner, self.poll.clone(), answer, known, when).await?;
        let picked = picked.map_err(|problem| unreadable(format!("The answer {problem}.")))?;
        row.last.things = i64::try_from(picked.keys.len()).unwrap_or(i64::MAX);
        row.source.clone_from(&self.source);
        row.pending = pending.as_ref().map(Pending::stored);
        // What another list's requests said.
        row.cursor = row.cursor.take().filter(|_| !is_first);
        let passes_over = is_first && !self.poll.from_beginning;
        let mut started = Started {
            seen,
            keys: HashSet::new(),
        };
        // Whether these were all.
        let began = match passes_over {
            true => Ok(true),
            false => {
                self.start_all((pending, picked.noted), picked.batches, (&mut started, &mut *row))
                    .await
            }
        };
        if !started.keys.is_empty() {
            // Whatever fails now, the service has answered.
            row.last.failures = 0;
        }
        let is_seen = |key: &&str| passes_over || started.has(key);
        let keys = picked.keys.iter().map(String::as_str).filter(is_seen);
        row.seen = started.seen.with(keys).stored();
        // Unless all of the list is seen, since a request for what follows it would leave out the rest.
        if matches!(began, Ok(true)) {
            let before = row.cursor.take();
            row.cursor = picked.cursor.or_else(|| self.poll.since(at)).or(before);
        }
        began.map(drop)
    }

    /// Starts a run for each batch, and before that the one that was noted; `false`: it was lost before these were all.
    async fn start_all(
        &self,
        (pending, noted): (Option<Pending>, Option<Batch>),
        batches: Vec<Batch>,
        (started, row): (&mut Started, &mut PollRow),
    ) -> Result<bool, Failure> {
        if let Some(pending) = pending {
            let is_stored = match noted {
                Some(_) if self.claim.is_lost() => return Ok(false),
                Some(batch) => {
                    let accepted = self.accept(&list_key(&pending.run), batch.event).await?;
                    started.keys.extend(batch.keys);
                    matches!(accepted, Accepted::Duplicate(_))
                }
                // Whether it had been stored is not known any more, and no element may have two runs.
                None => true,
            };
            if is_stored {
                started.seen = started.seen.and(pending.elements());
            }
            row.pending = None;
        }
        for batch in batches {
            let key = match self.poll.is_list {
                true => self.note(&batch, (&*started, &mut *row)).await?,
                false => Some(batch.keys.concat()),
            };
            let Some(key) = key.filter(|_| !self.claim.is_lost()) else {
                return Ok(false);
            };
            match self.accept(&key, batch.event).await {
                Ok(_) => started.keys.extend(batch.keys),
                Err(error) => {
                    if matches!(error.code(), Code::WorkspaceQuotaExceeded) {
                        // It is stored nowhere, so what comes meanwhile may be in the same list.
                        row.pending = None;
                    }
                    return Err(error.into());
                }
            }
            row.pending = None;
        }
        Ok(true)
    }

    /// Stores that a run for all of these is about to be stored: the key that it has; `None`: others have overtaken this turn. A key
    /// made of the elements would not do, since whoever asks next may find others with them.
    async fn note(
        &self,
        batch: &Batch,
        (started, row): (&Started, &mut PollRow),
    ) -> Result<Option<String>, Failure> {
        let run = RunId::new().to_string();
        let pending = Pending::of(&run, batch.keys.iter().map(String::as_str)).stored();
        let keys = started.keys.iter().map(String::as_str);
        row.seen = started.seen.with(keys).stored();
        let noted = PollRow {
            pending: Some(pending.clone()),
            ..row.clone()
        };
        let former = self.known.clone();
        let bytes = noted.seen.len().saturating_add(pending.len());
        let load = Load::of(Some(self.active.owner), bytes);
        let kept = self.executions.store().write_sized(load, move |db| {
            Box::pin(async move { polls::keep_for_system(db, &noted, &former).await })
        });
        let kept: Result<bool, StoreError> = kept.await;
        if !kept.map_err(ServiceError::from)? {
            return Ok(None);
        }
        row.version = row.version.saturating_add(1);
        row.pending = Some(pending);
        Ok(Some(list_key(&run)))
    }

    /// Under a key of this list: what has the same id in another one is another element.
    async fn accept(&self, key: &str, event: Box<RawValue>) -> Result<Accepted, ServiceError> {
        let source = self.source.get(..SOURCE_CHARS).unwrap_or_default();
        let run = NewRun {
            deployment: self.active.clone(),
            triggered_by: TriggeredBy::Schedule,
            node_id: Some(self.node.clone()),
            event,
            text: None,
            idempotency: Some(IdempotencyKey::of_endpoint(
                self.known.schedule_id,
                format!("poll:{source}:{key}"),
            )),
            wait: false,
            caller: None,
            id: None,
        };
        self.executions.accept(run).await
    }
}

/// The key of a run for several elements, within those of its list; the key of one element is a hash.
fn list_key(run: &str) -> String {
    format!("list:{run}")
}

fn unreadable(message: String) -> Failure {
    Failure {
        code: "PARSE".to_owned(),
        message,
        is_ours: false,
        rest: None,
    }
}

/// The text of an answer that is one.
fn text_of(mut result: Value) -> Result<String, Failure> {
    let failed = |code: String, message: String| Failure {
        code,
        message,
        is_ours: false,
        rest: requested_rest(&result),
    };
    match result["status"].as_u64().unwrap_or_default() {
        200..=299 => {}
        status => {
            let message = format!("The service answered {status}.");
            return Err(failed(format!("HTTP_{status}"), message));
        }
    }
    match result["text"].take() {
        // Services without news may send no body at all, such as with status 204.
        Value::String(text) if text.trim().is_empty() => Ok("[]".to_owned()),
        Value::String(text) => Ok(text),
        _ => Err(unreadable("The answer is not text.".to_owned())),
    }
}
