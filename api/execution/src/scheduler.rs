//! Starts the runs of OnSchedule nodes, the polls of OnPoll nodes and the watching of OnMailbox nodes' mailboxes. What is due, and that it
//! ran, is in the database: a tick's run has the tick for its idempotency key, so that neither a second server nor a restart in between makes a second run of it.

use crate::acceptor::Accepted;
use crate::executions::Executions;
use crate::mailboxes;
use crate::polls;
use crate::run::{IdempotencyKey, NewRun};
use crate::schedule::{CatchUp, Schedule};
use heddle_model::clock::Timestamp;
use heddle_model::error::{Code, ServiceError, chain};
use heddle_model::ids::UserId;
use heddle_model::status::TriggeredBy;
use heddle_store::StoreError;
use heddle_store::panics::unless_it_panics;
use heddle_store::schedules::{self, DueRow, ScheduleRow};
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};
use std::collections::HashSet;
use std::time::Duration;
use tokio::task::JoinHandle;

/// The event of a run that was due at one time and is started at another.
pub fn schedule_event(scheduled_at: Timestamp, fired_at: Timestamp) -> serde_json::Result<Box<RawValue>> {
    to_raw_value(&json!({"scheduledAt": scheduled_at, "firedAt": fired_at}))
}

/// Schedules that are read together.
const DUE_MAX: i64 = 500;
/// Runs of one schedule at once; what else is due waits for the next tick.
const RUNS_MAX: usize = 100;
/// A schedule that was just set is seen within this time, and what could not run is tried again.
const PAUSE_MAX: Duration = Duration::from_secs(1);
const PAUSE_MIN: Duration = Duration::from_millis(5);

/// Ticks until the task is aborted; that does no harm at any moment.
pub fn start(executions: Executions) -> JoinHandle<()> {
    tokio::spawn(async move {
        loop {
            let now = executions.clock().now();
            let pause = match unless_it_panics(look(&executions, now)).await {
                Some(Ok(pause)) => pause,
                Some(Err(error)) => {
                    tracing::error!(error = %chain(&error), "The schedules can't be read now");
                    PAUSE_MAX
                }
                // A panic, which was told. The next look comes all the same.
                None => PAUSE_MAX,
            };
            tokio::time::sleep(pause).await;
        }
    })
}

/// Starts what is due at `now`; how long to rest then.
async fn look(executions: &Executions, now: Timestamp) -> Result<Duration, ServiceError> {
    match start_due(executions, now).await?.is_behind {
        true => Ok(PAUSE_MIN),
        false => Ok(pause(executions, now).await),
    }
}

/// How long nothing is due, after all was tried that was due by `now`: what could not run rests, too.
async fn pause(executions: &Executions, now: Timestamp) -> Duration {
    let next =
        async { schedules::next_due_for_system(&mut executions.store().reader().await?.db(), now).await };
    let Ok(Some(next)) = next.await else {
        return PAUSE_MAX;
    };
    let wait_ms = next.millis().saturating_sub(executions.clock().now().millis());
    Duration::from_millis(u64::try_from(wait_ms).unwrap_or(0)).clamp(PAUSE_MIN, PAUSE_MAX)
}

/// What schedules have begun.
#[derive(Clone, Copy, Debug, Default)]
struct Begun {
    runs: usize,
    /// Whether there is more to catch up with.
    is_behind: bool,
}

/// Starts what is due at `now`; how many runs that were.
pub async fn tick(executions: &Executions, now: Timestamp) -> Result<usize, ServiceError> {
    Ok(start_due(executions, now).await?.runs)
}

/// Tries all that is due, whoever has how much of it.
async fn start_due(executions: &Executions, now: Timestamp) -> Result<Begun, ServiceError> {
    let mut begun = Begun::default();
    let (mut seen, mut full) = (HashSet::new(), HashSet::new());
    let mut last: Option<ScheduleRow> = None;
    loop {
        let mut reader = executions.store().reader().await?;
        let due = schedules::due_for_system(&mut reader.db(), now, last.as_ref(), DUE_MAX).await?;
        drop(reader);
        let is_full = i64::try_from(due.len()).unwrap_or(i64::MAX) >= DUE_MAX;
        for row in &due {
            // One that has more to catch up with comes again, and is for the next look.
            if !seen.insert(row.schedule.id) {
                continue;
            }
            match unless_it_panics(fire(executions, row, now, &mut full)).await {
                Some(Ok(more)) => {
                    begun.runs += more.runs;
                    begun.is_behind |= more.is_behind;
                }
                // The others are not to wait for this one, which is due until it succeeds.
                Some(Err(error)) => tracing::warn!(
                    deployment = %row.schedule.deployment_id,
                    node = row.schedule.node_id,
                    "A schedule can't run now: {}",
                    chain(&error)
                ),
                // A panic, which was told. Nor for that one.
                None => {}
            }
        }
        last = due.last().map(|row| row.schedule.clone());
        if !is_full {
            return Ok(begun);
        }
    }
}

/// Starts what is due of one schedule. `full` are owners that have no room for more runs.
async fn fire(
    executions: &Executions,
    row: &DueRow,
    now: Timestamp,
    full: &mut HashSet<UserId>,
) -> Result<Begun, ServiceError> {
    let schedule = &row.schedule;
    let (cron, timezone) = schedule.effective();
    let parsed = Schedule::parse(cron, timezone);
    let parsed =
        parsed.map_err(|mistake| ServiceError::internal(anyhow::anyhow!("a stored schedule {mistake}")))?;
    let first = Timestamp::from_millis(schedule.next_due_at.unwrap_or_else(|| now.millis()));
    let Some(active) = executions.loaded_for(row.slot()).await? else {
        // Failed: what comes meanwhile is not caught up.
        return advance(executions, schedule, parsed.next_after(now))
            .await
            .map(|()| Begun::default());
    };
    if active.is_paused {
        // Since it was read: the schedule is held, or goes on when this server hears that it was resumed.
        return Ok(Begun::default());
    }
    if let Some(poll) = active.poll(&schedule.node_id) {
        polls::begin(executions, schedule, (active, poll), parsed).await?;
        return Ok(Begun::default());
    }
    if let Some(mailbox) = active.mailbox(&schedule.node_id) {
        mailboxes::begin(executions, schedule, (active, mailbox), parsed).await?;
        return Ok(Begun::default());
    }
    if full.contains(&active.owner) {
        return Ok(Begun::default());
    }
    let due = parsed.due(first, now, CatchUp::named(&schedule.catch_up), RUNS_MAX);
    let mut runs = 0;
    for time in &due.times {
        let run = NewRun {
            deployment: active.clone(),
            triggered_by: TriggeredBy::Schedule,
            node_id: Some(schedule.node_id.clone()),
            event: schedule_event(*time, now).map_err(ServiceError::internal)?,
            text: None,
            idempotency: Some(IdempotencyKey::of_endpoint(
                schedule.id,
                time.millis().to_string(),
            )),
            wait: false,
            caller: None,
            id: None,
        };
        match executions.accept(run).await {
            Ok(Accepted::New(_)) => runs += 1,
            Ok(Accepted::Duplicate(_)) => {}
            // What is due while a quota is used up is not caught up.
            Err(error) if error.code() == Code::WorkspaceQuotaExceeded => {
                tracing::warn!(deployment = %schedule.deployment_id, "A schedule is passed over: {error}");
            }
            Err(error) => {
                if error.code() == Code::Unavailable {
                    full.insert(active.owner);
                }
                // Those before this one have run; this one is due still.
                if *time > first {
                    advance(executions, schedule, Some(*time)).await?;
                }
                return Err(error);
            }
        }
    }
    advance(executions, schedule, due.next).await?;
    Ok(Begun {
        runs,
        is_behind: due.next.is_some_and(|next| next <= now),
    })
}

async fn advance(
    executions: &Executions,
    read: &ScheduleRow,
    next: Option<Timestamp>,
) -> Result<(), ServiceError> {
    let read = read.clone();
    executions
        .store()
        .write(move |db| Box::pin(async move { schedules::advance_for_system(db, &read, next).await }))
        .await
        .map_err(|error: StoreError| error.into())
}
