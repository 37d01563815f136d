//! What runs do, as it happens, for those who look on. Costs nothing while nobody does.

use crate::live::Ended;
use crate::run::Run;
use heddle_model::clock::Timestamp;
use heddle_model::ids::{DeploymentId, RunId};
use heddle_model::status::{Phase, RunStatus, TriggeredBy};
use heddle_runtime::{OnWait, RunError};
use serde::{Deserialize, Serialize};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Notify, broadcast};
use utoipa::ToSchema;

/// Changes that a slow onlooker may be behind.
const BACKLOG_MAX: usize = 1_024;

/// A change of a run.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunChange {
    /// The run.
    pub run_id: RunId,
    /// Its deployment.
    pub deployment_id: DeploymentId,
    /// Its state.
    pub status: RunStatus,
    /// What it is doing.
    pub phase: Phase,
    /// What started it.
    pub triggered_by: TriggeredBy,
    /// Attempt, from 1.
    pub attempt: u32,
    /// When accepted.
    pub accepted_at: Timestamp,
    /// Why it failed, once it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<RunError>,
}

/// Publishes changes to those who look on. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Tail(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    here: broadcast::Sender<Arc<RunChange>>,
    /// How many receive from it: the channel counts them as well, but under its lock, and each run asks several times.
    receivers: AtomicUsize,
    /// How many look on here, by deployment.
    watched: Mutex<HashMap<DeploymentId, usize>>,
    is_watched_elsewhere: AtomicBool,
    elsewhere: Mutex<Elsewhere>,
    /// Wakes whoever sends to other servers.
    news: Notify,
}

/// What other servers look on at.
#[derive(Debug, Default)]
struct Elsewhere {
    /// Until when, unless they say so again.
    until: HashMap<DeploymentId, Instant>,
    /// To be sent to them.
    changes: VecDeque<Arc<RunChange>>,
}

impl Default for Tail {
    fn default() -> Self {
        Tail(Arc::new(Shared {
            here: broadcast::Sender::new(BACKLOG_MAX),
            receivers: AtomicUsize::new(0),
            watched: Mutex::default(),
            is_watched_elsewhere: AtomicBool::new(false),
            elsewhere: Mutex::default(),
            news: Notify::new(),
        }))
    }
}

/// Somebody who looks on at a deployment's runs.
#[derive(Debug)]
pub struct Watch {
    tail: Tail,
    deployment: DeploymentId,
    changes: broadcast::Receiver<Arc<RunChange>>,
}

impl Watch {
    /// The next change of a run of the deployment; the error says how many were missed, or that there are no more.
    pub async fn next(&mut self) -> Result<Arc<RunChange>, RecvError> {
        loop {
            let change = self.changes.recv().await?;
            if change.deployment_id == self.deployment {
                return Ok(change);
            }
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.tail.unwatch(self.deployment);
        self.tail.0.receivers.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Somebody who looks on at the runs of several deployments.
#[derive(Debug)]
pub struct WatchMany {
    tail: Tail,
    deployments: HashSet<DeploymentId>,
    changes: broadcast::Receiver<Arc<RunChange>>,
}

impl WatchMany {
    /// Looks on at these deployments from now on, and at no others.
    pub fn set(&mut self, deployments: impl IntoIterator<Item = DeploymentId>) {
        let deployments: HashSet<DeploymentId> = deployments.into_iter().collect();
        let mut watched = self.tail.watched();
        for deployment in deployments.difference(&self.deployments) {
            *watched.entry(*deployment).or_default() += 1;
        }
        drop(watched);
        for deployment in self.deployments.difference(&deployments) {
            self.tail.unwatch(*deployment);
        }
        if deployments != self.deployments {
            self.tail.0.news.notify_one();
        }
        self.deployments = deployments;
    }

    /// The next change of a run of these deployments; the error says how many were missed, or that there are no more.
    pub async fn next(&mut self) -> Result<Arc<RunChange>, RecvError> {
        loop {
            let change = self.changes.recv().await?;
            if self.deployments.contains(&change.deployment_id) {
                return Ok(change);
            }
        }
    }
}

impl Drop for WatchMany {
    fn drop(&mut self) {
        self.set([]);
        self.tail.0.receivers.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Tail {
    /// All changes of the deployment's runs from now on.
    pub fn watch(&self, deployment: DeploymentId) -> Watch {
        let changes = self.subscribe();
        *self.watched().entry(deployment).or_default() += 1;
        self.0.news.notify_one();
        Watch {
            tail: self.clone(),
            deployment,
            changes,
        }
    }

    /// Changes of the runs of deployments that are still to be set.
    pub fn watch_many(&self) -> WatchMany {
        WatchMany {
            tail: self.clone(),
            deployments: HashSet::new(),
            changes: self.subscribe(),
        }
    }

    /// Whoever drops what this gives counts it off.
    fn subscribe(&self) -> broadcast::Receiver<Arc<RunChange>> {
        let changes = self.0.here.subscribe();
        self.0.receivers.fetch_add(1, Ordering::SeqCst);
        changes
    }

    fn unwatch(&self, deployment: DeploymentId) {
        let mut watched = self.watched();
        if let Entry::Occupied(mut count) = watched.entry(deployment) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }

    fn watched(&self) -> MutexGuard<'_, HashMap<DeploymentId, usize>> {
        self.0.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn elsewhere(&self) -> MutexGuard<'_, Elsewhere> {
        self.0.elsewhere.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many look on here.
    pub fn onlookers(&self) -> usize {
        self.0.receivers.load(Ordering::SeqCst)
    }

    /// The deployments that are looked on at here.
    pub fn watched_here(&self) -> Vec<DeploymentId> {
        self.watched().keys().copied().collect()
    }

    /// Waits for a new onlooker, or for a change that is to be sent to onlookers elsewhere.
    pub async fn news(&self) {
        self.0.news.notified().await;
    }

    /// Another server's onlookers are to be sent the changes of these deployments' runs until then.
    pub fn watch_elsewhere(&self, deployments: &[DeploymentId], until: Instant) {
        let mut elsewhere = self.elsewhere();
        elsewhere
            .until
            .extend(deployments.iter().map(|deployment| (*deployment, until)));
        self.0
            .is_watched_elsewhere
            .store(!elsewhere.until.is_empty(), Ordering::Relaxed);
    }

    /// Takes what is to be sent to other servers' onlookers, and forgets those that have gone by `now`.
    pub fn take_for_elsewhere(&self, now: Instant) -> Vec<Arc<RunChange>> {
        if !self.0.is_watched_elsewhere.load(Ordering::Relaxed) {
            return Vec::new();
        }
        let mut elsewhere = self.elsewhere();
        elsewhere.until.retain(|_, until| *until > now);
        self.0
            .is_watched_elsewhere
            .store(!elsewhere.until.is_empty(), Ordering::Relaxed);
        elsewhere.changes.drain(..).collect()
    }

    /// A change of a run that another server has.
    pub fn publish_remote(&self, change: RunChange) {
        // Refused only when nobody looks on here any more.
        let _ = self.0.here.send(Arc::new(change));
    }

    pub(crate) fn accepted(&self, run: &Run) {
        self.send(run, RunStatus::Running, Phase::Queued, None);
    }

    pub(crate) fn phase(&self, run: &Run, phase: Phase) {
        run.live.set_phase(phase);
        self.send(run, RunStatus::Running, phase, None);
    }

    pub(crate) fn ended(&self, run: &Run, ended: &Ended) {
        run.live.set_phase(Phase::Ended);
        self.send(run, ended.status, Phase::Ended, ended.error.as_ref());
    }

    /// Tells of a run that executes when it does nothing but wait.
    pub(crate) fn on_wait(&self, run: &Run) -> OnWait {
        let (tail, live) = (self.clone(), run.live.clone());
        let change = change(run, RunStatus::Running, Phase::Executing, None);
        OnWait::new(move |is_waiting| {
            let phase = match is_waiting {
                true => Phase::Waiting,
                false => Phase::Executing,
            };
            live.set_phase(phase);
            if tail.is_watched() {
                tail.publish(RunChange {
                    phase,
                    ..change.clone()
                });
            }
        })
    }

    fn send(&self, run: &Run, status: RunStatus, phase: Phase, error: Option<&RunError>) {
        if self.is_watched() {
            self.publish(change(run, status, phase, error));
        }
    }

    /// Whether anybody may look on.
    pub(crate) fn is_watched(&self) -> bool {
        self.0.receivers.load(Ordering::SeqCst) > 0 || self.0.is_watched_elsewhere.load(Ordering::Relaxed)
    }

    /// Tells all who look on of a change, wherever they do.
    pub(crate) fn publish(&self, change: RunChange) {
        let change = Arc::new(change);
        if self.0.is_watched_elsewhere.load(Ordering::Relaxed) {
            self.send_elsewhere(&change);
        }
        // Refused only when the last onlooker has just gone.
        let _ = self.0.here.send(change);
    }

    fn send_elsewhere(&self, change: &Arc<RunChange>) {
        let mut elsewhere = self.elsewhere();
        if !elsewhere.until.contains_key(&change.deployment_id) {
            return;
        }
        if elsewhere.changes.len() >= BACKLOG_MAX {
            elsewhere.changes.pop_front();
        }
        elsewhere.changes.push_back(change.clone());
        drop(elsewhere);
        self.0.news.notify_one();
    }
}

fn change(run: &Run, status: RunStatus, phase: Phase, error: Option<&RunError>) -> RunChange {
    RunChange {
        run_id: run.id,
        deployment_id: run.deployment.id,
        status,
        phase,
        triggered_by: run.triggered_by,
        attempt: run.attempt,
        accepted_at: run.accepted_at,
        error: error.cloned(),
    }
}
