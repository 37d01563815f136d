//! Starts the runs of OnSchedule nodes. What is due, and that it ran, is in the database: a tick's run has the tick
//! for its idempotency key, so that neither a second server nor a restart in between makes a second run of it.

use crate::access::Editor;
use crate::app::App;
use crate::clock::Timestamp;
use crate::error::{ApiError, Code};
use crate::execution::NewRun;
use crate::execution::status::TriggeredBy;
use crate::ids::{DeploymentId, EndpointId};
use crate::schedule::{CatchUp, Schedule};
use crate::store::schedules::{self, DueRow, ScheduleRow};
use crate::store::{Db, StoreError};
use heddle_contract::manifest::Manifest;
use serde_json::json;
use std::time::Duration;
use tokio::task::JoinHandle;

/// Schedules of one look at the database.
const DUE_MAX: i64 = 500;
/// Runs of one schedule at once; what else is due waits for the next tick.
const RUNS_MAX: usize = 100;
/// A schedule that was just set is seen within this time.
const PAUSE_MAX: Duration = Duration::from_secs(1);
const PAUSE_MIN: Duration = Duration::from_millis(5);
/// How often old lines of the webhook log are deleted.
const SWEEP_EVERY: Duration = Duration::from_secs(60);

/// Ticks until the task is aborted; that does no harm at any moment.
pub fn start(app: App) -> JoinHandle<()> {
    tokio::spawn(async move {
        let mut swept_at = app.clock.now();
        loop {
            let now = app.clock.now();
            if let Err(error) = tick(&app, now).await {
                tracing::error!(error = error.message(), "The schedules can't be looked at now");
            }
            if now >= swept_at.plus(SWEEP_EVERY) {
                swept_at = now;
                if let Err(error) = app.webhooks.sweep(now).await {
                    tracing::error!(%error, "Old lines of the webhook log can't be deleted now");
                }
            }
            tokio::time::sleep(pause(&app).await).await;
        }
    })
}

async fn pause(app: &App) -> Duration {
    let next = async { schedules::next_due_for_system(&mut app.store.reader().await?.db()).await };
    let Ok(Some(next)) = next.await else {
        return PAUSE_MAX;
    };
    let wait_ms = next.millis().saturating_sub(app.clock.now().millis());
    Duration::from_millis(u64::try_from(wait_ms).unwrap_or(0)).clamp(PAUSE_MIN, PAUSE_MAX)
}

/// Starts what is due at `now`; how many runs that were.
pub async fn tick(app: &App, now: Timestamp) -> Result<usize, ApiError> {
    let due = schedules::due_for_system(&mut app.store.reader().await?.db(), now, DUE_MAX).await?;
    let mut runs = 0;
    for row in due {
        match fire(app, &row, now).await {
            Ok(count) => runs += count,
            // The others are not to wait for this one, which is due until it succeeds.
            Err(error) => tracing::warn!(
                deployment = %row.schedule.deployment_id,
                node = row.schedule.node_id,
                "A schedule can't run now: {}",
                error.message()
            ),
        }
    }
    Ok(runs)
}

async fn fire(app: &App, row: &DueRow, now: Timestamp) -> Result<usize, ApiError> {
    let schedule = &row.schedule;
    let (cron, timezone) = schedule.effective();
    let parsed = Schedule::parse(cron, timezone);
    let parsed =
        parsed.map_err(|mistake| ApiError::internal(anyhow::anyhow!("a stored schedule {mistake}")))?;
    let first = Timestamp::from_millis(schedule.next_due_at.unwrap_or_else(|| now.millis()));
    let Some(active) = app.executions.active_for(row.pattern_id).await? else {
        // Failed: what comes meanwhile is not caught up.
        return advance(app, schedule, parsed.next_after(now)).await.map(|()| 0);
    };
    let due = parsed.due(first, now, CatchUp::named(&schedule.catch_up), RUNS_MAX);
    let mut runs = 0;
    for time in &due.times {
        let event = json!({"scheduledAt": time, "firedAt": now});
        let run = NewRun {
            deployment: active.clone(),
            triggered_by: TriggeredBy::Schedule,
            node_id: Some(schedule.node_id.clone()),
            event: serde_json::value::to_raw_value(&event).map_err(ApiError::internal)?,
            idempotency: Some((schedule.id, time.millis().to_string())),
            wait: false,
        };
        match app.executions.accept(run).await {
            Ok(crate::execution::Accepted::New(_)) => runs += 1,
            Ok(crate::execution::Accepted::Duplicate(_)) => {}
            Err(error) => {
                // Those before this one have run; this one is due still.
                if *time > first {
                    advance(app, schedule, Some(*time)).await?;
                }
                return Err(error);
            }
        }
    }
    advance(app, schedule, due.next).await?;
    Ok(runs)
}

async fn advance(app: &App, read: &ScheduleRow, next: Option<Timestamp>) -> Result<(), ApiError> {
    let read = read.clone();
    app.store
        .write(move |db| Box::pin(async move { schedules::advance_for_system(db, &read, next).await }))
        .await
        .map_err(|error: StoreError| error.into())
}

/// Makes the OnSchedule nodes of what is deployed due from now on: with deploy, redeploy and resume. What was set for
/// the deployment holds, until a version comes that has another expression itself.
pub async fn register(
    db: &mut Db<'_>,
    editor: &Editor,
    deployment: DeploymentId,
    manifest: &Manifest,
    now: Timestamp,
) -> Result<(), ApiError> {
    let known = schedules::of_deployment(db, editor, deployment).await?;
    let nodes = manifest
        .triggers
        .iter()
        .filter(|trigger| trigger.node_type == "OnSchedule");
    let mut rows = Vec::new();
    for node in nodes {
        let parameter = |name| node.parameters.get(name).and_then(serde_json::Value::as_str);
        let mut row = ScheduleRow {
            id: EndpointId::new(),
            deployment_id: deployment,
            node_id: node.node_id.clone(),
            cron: parameter("cron").unwrap_or_default().to_owned(),
            timezone: parameter("timezone").unwrap_or("UTC").to_owned(),
            catch_up: CatchUp::named(parameter("catchUp").unwrap_or_default())
                .name()
                .to_owned(),
            set_cron: None,
            set_timezone: None,
            next_due_at: None,
        };
        if let Some(known) = known.iter().find(|known| known.node_id == row.node_id) {
            row.id = known.id;
            if (&known.cron, &known.timezone) == (&row.cron, &row.timezone) {
                row.set_cron.clone_from(&known.set_cron);
                row.set_timezone.clone_from(&known.set_timezone);
                row.next_due_at = known.next_due_at;
            }
        }
        if row.next_due_at.is_none() {
            row.next_due_at = next_of(&row, now)?.map(Timestamp::millis);
        }
        rows.push(row);
    }
    Ok(schedules::replace(db, editor, deployment, &rows).await?)
}

fn next_of(row: &ScheduleRow, now: Timestamp) -> Result<Option<Timestamp>, ApiError> {
    let (cron, timezone) = row.effective();
    let schedule = Schedule::parse(cron, timezone).map_err(|mistake| {
        Code::Validation.with(format!(
            "The schedule of `{}`: `{cron}` in `{timezone}` {mistake}",
            row.node_id
        ))
    })?;
    Ok(schedule.next_after(now))
}

/// Sets the expression and zone of all of a deployment's schedules. `is_active`: they are due from now on.
pub async fn set(
    db: &mut Db<'_>,
    editor: &Editor,
    (deployment, is_active): (DeploymentId, bool),
    (cron, timezone): (&str, &str),
    now: Timestamp,
) -> Result<(), ApiError> {
    let mut rows = schedules::of_deployment(db, editor, deployment).await?;
    if rows.is_empty() {
        return Err(Code::NoSchedule.into());
    }
    for row in &mut rows {
        row.set_cron = Some(cron.to_owned());
        row.set_timezone = Some(timezone.to_owned());
        row.next_due_at = match is_active {
            true => next_of(row, now)?.map(Timestamp::millis),
            false => None,
        };
    }
    Ok(schedules::replace(db, editor, deployment, &rows).await?)
}
