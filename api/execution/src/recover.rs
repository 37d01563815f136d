//! Runs that a server left running are taken up again, oldest first and a few at a time. Parked ones that are woken go on
//! in the same way. What may have brought the server down is tried first (`trials`).
//!
//! A server has left its runs when its lease is over and its row is removed, which any other one does.

use super::active::{ActiveDeployment, LoadError};
use super::live::{self, Live};
use super::trials::Trials;
use super::worker::Job;
use super::{Inner, record};
use heddle_model::error::ServiceError;
use heddle_model::ids::RunId;
use heddle_model::status::RunStatus;
use heddle_runtime::RunError;
use heddle_store::runs::left::LeftRow;
use heddle_store::runs::upkeep;
use heddle_store::runs::{self, ResultRow};
use heddle_store::{StoreError, deployments, servers};
use metrics::{counter, gauge};
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// Runs taken up at once.
const GROUP_MAX: usize = 64;
/// How long a group's runs may take before the next group follows.
const GROUP_PATIENCE: Duration = Duration::from_secs(1);
/// Wait before asking a database again that does not answer.
const DATABASE_RETRY: Duration = Duration::from_secs(1);

/// Looks in the background, again and again, for servers that have gone and for runs that nobody has.
pub(super) fn start(inner: &Arc<Inner>) {
    let inner = inner.clone();
    tokio::spawn(async move {
        let mut stopping = inner.stopping.subscribe();
        let (mut strays, mut trials) = (HashSet::new(), Trials::default());
        while !*stopping.borrow() {
            let wait = match look(&inner, &mut strays, &mut trials).await {
                Ok(()) => inner.lease.period(),
                Err(error) => {
                    tracing::error!("Runs that were left could not be taken up: {}", error.message());
                    DATABASE_RETRY
                }
            };
            inner.recovery.rest(wait, &mut stopping).await;
        }
    });
}

async fn look(
    inner: &Arc<Inner>,
    strays: &mut HashSet<RunId>,
    trials: &mut Trials,
) -> Result<(), ServiceError> {
    if !inner.lease.is_valid().await {
        return Ok(());
    }
    if inner.store.is_shared() && inner.lease.may_judge() {
        let removed = inner.store.write(|db| {
            Box::pin(async move {
                let now = servers::now(db).await?;
                servers::remove_expired(db, now).await
            })
        });
        let removed: Result<u64, StoreError> = removed.await;
        match removed? {
            0 => {}
            servers => tracing::warn!(
                servers,
                "Servers did not renew their leases: their runs are taken up"
            ),
        }
    }
    let (servers, executing) = servers::count(&mut inner.store.reader().await?.db()).await?;
    gauge!("heddle_servers").set(servers as f64);
    inner.queue.share_among(usize::try_from(executing).unwrap_or(1));
    hand_back_strays(inner, strays).await?;
    while !*inner.stopping.borrow() && group(inner).await? > 0 {}
    trials.look(inner).await
}

/// Gives up runs that are this server's in the database and not in memory, seen so twice: the answer of the database
/// was lost, or something failed after it.
async fn hand_back_strays(inner: &Arc<Inner>, seen: &mut HashSet<RunId>) -> Result<(), ServiceError> {
    let owner = inner.lease.owner();
    let owned = upkeep::owned(&mut inner.store.reader().await?.db(), &owner).await?;
    let strays: HashSet<RunId> = {
        let live = inner.live();
        let owned = owned.into_iter().map(|(run,)| run);
        owned.filter(|run| !live.contains_key(run)).collect()
    };
    let certain: Vec<RunId> = strays.intersection(seen).copied().collect();
    *seen = strays;
    for runs in certain.chunks(GROUP_MAX).map(<[RunId]>::to_vec) {
        tracing::warn!(
            runs = runs.len(),
            "Runs of this server got lost in between: they are taken up again"
        );
        let owner = owner.clone();
        let handed = inner
            .store
            .write(move |db| Box::pin(async move { upkeep::hand_back(db, &owner, &runs).await }));
        handed.await?;
    }
    Ok(())
}

async fn group(inner: &Arc<Inner>) -> Result<usize, ServiceError> {
    let owner = inner.lease.owner();
    let taking = owner.clone();
    let limit = i64::try_from(GROUP_MAX).unwrap_or(i64::MAX);
    let left = inner
        .store
        .write(move |db| Box::pin(async move { upkeep::take_up(db, &taking, limit).await }))
        .await?;
    let count = left.len();
    let mut ends = Vec::with_capacity(count);
    for row in left {
        counter!("heddle_runs_taken_up_total").increment(1);
        ends.extend(go_on(inner, row, &owner).await?);
    }
    let all_ended = async {
        for end in ends {
            live::wait(end).await;
        }
    };
    // Slow ones go on while the next group begins.
    let _ = tokio::time::timeout(GROUP_PATIENCE, all_ended).await;
    Ok(count)
}

pub(super) type End = tokio::sync::watch::Receiver<Option<Arc<live::Ended>>>;

/// Queues a run that this server has taken; gives its end to wait for, unless it starts later.
pub(super) async fn go_on(
    inner: &Arc<Inner>,
    row: LeftRow,
    owner: &Arc<str>,
) -> Result<Option<End>, ServiceError> {
    let resumes_at = row.resumes_at;
    let Some(mut job) = prepare(inner, row, owner).await? else {
        return Ok(None);
    };
    let wait_ms = resumes_at.unwrap_or(0).saturating_sub(inner.clock.now().millis());
    match u64::try_from(wait_ms) {
        Ok(wait_ms) if wait_ms > 0 => {
            job.leave_event();
            job.queue_after(inner, Duration::from_millis(wait_ms));
            Ok(None)
        }
        _ => {
            let end = job.live.watch();
            let (share, bytes) = (job.deployment.share(), job.event.get().len());
            let reservation = inner.queue.reserve_patiently(share, bytes).await;
            if reservation.is_stored() {
                job.leave_event();
            }
            job.queue(inner, Some(reservation));
            Ok(Some(end))
        }
    }
}

/// What this server is to do of a run that it has taken; `None`: nothing.
pub(super) async fn prepare(
    inner: &Arc<Inner>,
    row: LeftRow,
    owner: &Arc<str>,
) -> Result<Option<Job>, ServiceError> {
    let active = match deployment_of(inner, &row).await {
        Ok(Some(active)) => active,
        Ok(None) => return Ok(None),
        Err(LoadError::Failed(error)) => return Err(error),
        Err(LoadError::Unusable(reason)) => {
            give_up(
                inner,
                (&row, owner),
                &format!("The run's module can't be loaded: {reason}"),
            )
            .await?;
            return Ok(None);
        }
    };
    // One that somebody waits for was kept when it parked.
    let kept = inner.live().get(&row.id).cloned();
    let live = kept.unwrap_or_else(|| Live::new(active.id, active.share()));
    live.set_parked(false);
    let job = job(row, owner.clone(), active, live.clone());
    inner.live().insert(job.run, live);
    Ok(Some(job))
}

/// The deployment with the module that the run began with; `None`: it was deleted in the meantime, and its runs with it.
async fn deployment_of(inner: &Inner, row: &LeftRow) -> Result<Option<Arc<ActiveDeployment>>, LoadError> {
    let Some(pattern) = row.pattern_id else {
        return Ok(None);
    };
    let is_same = |active: &Arc<ActiveDeployment>| {
        active.id == row.deployment_id
            && active.artifact == row.artifact
            && active.version_number == row.version_number
    };
    if let Some(active) = inner.active_for(pattern).await?.filter(is_same) {
        return Ok(Some(active));
    }
    let found =
        deployments::by_id_for_system(&mut inner.store.reader().await?.db(), row.deployment_id).await?;
    let Some(mut deployment) = found else {
        return Ok(None);
    };
    deployment.artifact.clone_from(&row.artifact);
    deployment.version_number = row.version_number;
    let program = inner.load(&row.artifact, deployment.user_id).await?;
    Ok(Some(Arc::new(ActiveDeployment::new(&deployment, program))))
}

fn job(row: LeftRow, owner: Arc<str>, deployment: Arc<ActiveDeployment>, live: Arc<Live>) -> Job {
    // What was stored as JSON is JSON.
    let event = row.event.and_then(|event| RawValue::from_string(event).ok());
    Job {
        run: row.id,
        owner,
        deployment,
        triggered_by: row.triggered_by,
        node_id: row.node_id,
        event: event.unwrap_or_else(|| RawValue::NULL.to_owned()),
        attempt: u32::try_from(row.attempt).unwrap_or(1),
        wait: row.awaited,
        accepted_at: row.accepted_at,
        parent: row.parent_id.zip(row.parent_key),
        depth: u32::try_from(row.depth).unwrap_or(u32::MAX),
        has_history: true,
        was_taken: true,
        is_event_left: false,
        is_suspect: row.suspicion > 0,
        live,
    }
}

/// Ends a run whose module is not there, so that there is nothing to make a job of.
async fn give_up(
    inner: &Inner,
    (row, owner): (&LeftRow, &Arc<str>),
    reason: &str,
) -> Result<(), ServiceError> {
    let attempt = u32::try_from(row.attempt).unwrap_or(1);
    let mut end = ResultRow::running(row.id, owner.clone(), attempt);
    end.status = RunStatus::Failure;
    end.completed_at = Some(inner.clock.now());
    end.error = Some(record::error(&error("ARTIFACT", reason.to_owned())));
    let write = inner
        .store
        .write(move |db| Box::pin(async move { runs::record(db, &[&end]).await }));
    write.await?;
    Ok(())
}

pub(super) fn error(code: &str, message: String) -> RunError {
    RunError {
        code: code.to_owned(),
        message,
        node_id: None,
    }
}
