//! From an accepted event to the record of a run. An event is stored before [`Executions::accept`] returns; then
//! the run goes straight from memory to an executor under its tenant's limits, and its result is stored together
//! with others. What a stopped server left behind is taken up again at the next start.
//!
//! Knows nothing of HTTP, flags and files.

mod acceptor;
mod active;
mod backlog;
pub mod blocking;
pub mod budget;
mod callbacks;
mod calls;
mod cancel;
mod claims;
pub mod compile;
mod connections;
pub mod deploy;
mod early;
mod environments;
mod error_pattern;
mod heed;

mod journal;
mod key_values;
pub mod lease;
mod live;
mod poller;
pub mod queue;
mod record;
mod recorder;
mod recover;
mod retention;
mod retry;
mod run_metrics;
pub mod schedule;
pub mod scheduler;
mod settings;
pub mod tail;
mod test_run;
mod trials;
mod waker;
mod worker;

pub use acceptor::{Accepted, Ticket};
pub use active::ActiveDeployment;
pub use live::Ended;
pub use settings::Settings;
pub use test_run::{TestRun, TestRunError};

use crate::blocking::blocking;
use crate::budget::Budget;
use acceptor::Acceptor;
use active::Actives;
use backlog::Backlog;
use callbacks::Callbacks;
use calls::Latest;
use compile::Compilers;
use connections::TenantConnections;
use environments::Environments;
use heddle_model::clock::Clock;
use heddle_model::error::ServiceError;
use heddle_model::ids::{EndpointId, PatternId, RunId};
use heddle_model::quota::Quotas;
use heddle_model::status::TriggeredBy;
use heddle_model::tenant::Tenant;
use heddle_runtime::{Limits, Runtime, RuntimeConfig, RuntimeError, Services, SqliteFiles};
use heddle_store::notices::{self, Notice};
use heddle_store::runs::upkeep;
use heddle_store::vault::Vault;
use heddle_store::{Store, servers};
use journal::Journals;
use key_values::StoredValues;
use lease::Lease;
use live::Live;
use poller::Nudge;
use queue::Queue;
use recorder::Recorder;
use serde_json::value::RawValue;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tail::Tail;
use tokio::sync::watch;

/// Runs that execute at once: most of them wait for something outside.
const EXECUTING_MAX: usize = 256;
/// Bytes of events that wait in memory.
const WAITING_BYTES_MAX: usize = 64 << 20;
/// Bytes of events that have no room there, and are read when their turn comes.
const STORED_BYTES_MAX: usize = 1 << 30;

/// A run to be accepted.
#[derive(Debug)]
pub struct NewRun {
    /// What runs.
    pub deployment: Arc<ActiveDeployment>,
    /// What starts it.
    pub triggered_by: TriggeredBy,
    /// Trigger at which it starts; `None`: OnManual, or else the first one.
    pub node_id: Option<String>,
    /// eventData as JSON; `null` counts as none.
    pub event: Box<RawValue>,
    /// The endpoint and the key under which it may be accepted only once within 24 hours.
    pub idempotency: Option<(EndpointId, String)>,
    /// Whether somebody waits for its end.
    pub wait: bool,
}

/// Runs everything that is deployed. Cheap to clone.
#[derive(Clone)]
pub struct Executions(Arc<Inner>);

struct Inner {
    budget: Budget,
    store: Store,
    vault: Arc<Vault>,
    clock: Clock,
    limits: Limits,
    test_timeout: Duration,
    quotas: Quotas,
    retention: retention::Policy,
    runtime_config: RuntimeConfig,
    compilers: Compilers,
    runtime: OnceLock<Runtime>,
    runtime_starts: tokio::sync::Mutex<()>,
    lease: Arc<Lease>,
    queue: Queue,
    backlog: Backlog,
    acceptor: Acceptor,
    recorder: Recorder,
    actives: Actives,
    journals: Journals,
    callbacks: Callbacks,
    latest: Latest,
    waker: Nudge,
    recovery: Nudge,
    claims: Nudge,
    environments: Environments,
    live: Mutex<HashMap<RunId, Arc<Live>>>,
    /// Runs of paused deployments, until these are resumed.
    held: Mutex<Vec<worker::Job>>,
    paused: Mutex<HashSet<heddle_model::ids::DeploymentId>>,
    tail: Tail,
    stopping: watch::Sender<bool>,
}

impl Executions {
    /// Ready to accept. Starts no thread and compiles nothing before the first run, or [`Executions::start`].
    pub fn new(settings: Settings, store: Store, clock: Clock, vault: Arc<Vault>, budget: Budget) -> Self {
        let limits = queue::Limits {
            waiting_max: settings.queue_runs_max,
            waiting_bytes_max: WAITING_BYTES_MAX,
            stored_bytes_max: STORED_BYTES_MAX,
            executing_max: EXECUTING_MAX,
            tenant_executing_max: settings.workspace_concurrency_max.max(1),
        };
        let queue = Queue::new(limits);
        let lease = Lease::new(settings.lease, settings.role);
        let tail = Tail::default();
        let inner = Arc::new_cyclic(|this| Inner {
            budget,
            limits: Limits {
                fuel_max: settings.run_fuel_max,
                memory_bytes_max: settings.run_memory_bytes_max,
                deadline: settings.run_timeout,
                ..Limits::default()
            },
            test_timeout: settings.test_timeout,
            quotas: settings.quotas,
            retention: retention::Policy {
                age_max: settings.retention,
                runs_max: i64::try_from(settings.retention_runs_max).unwrap_or(i64::MAX),
            },
            runtime_config: RuntimeConfig {
                cache_dir: Some(settings.cache_dir),
                cache_key: Some(settings.cache_key),
                egress: settings.egress,
                sqlite_files: settings.sqlite_dir.map_or(SqliteFiles::None, SqliteFiles::Below),
                connectors: settings.connectors,
                connectors_max: settings.connectors_max,
                concurrent_runs_max: EXECUTING_MAX as u32,
                background_threads: settings.workers.max(1),
                // What effects bring is decoded, masked and written as JSON there.
                io_threads: settings.workers.max(1),
                ..RuntimeConfig::default()
            },
            compilers: Compilers::new(settings.compilers),
            runtime: OnceLock::new(),
            runtime_starts: tokio::sync::Mutex::new(()),
            acceptor: Acceptor::start(store.clone(), clock.clone(), lease.clone(), this.clone()),
            recorder: Recorder::start(store.clone(), clock.clone(), this.clone()),
            environments: Environments::new(store.clone(), vault.clone()),
            vault,
            actives: Actives::default(),
            journals: Journals::start(store.clone()),
            callbacks: Callbacks::new(settings.base_url, &settings.callback_secret),
            latest: Latest::default(),
            waker: Nudge::default(),
            recovery: Nudge::default(),
            claims: Nudge::default(),
            live: Mutex::default(),
            held: Mutex::default(),
            paused: Mutex::default(),
            stopping: watch::Sender::new(false),
            store,
            clock,
            lease,
            queue,
            backlog: Backlog::new(limits),
            tail,
        });
        lease::start(&inner);
        Executions(inner)
    }

    /// Stores a run and hands it to the executors. A full queue answers 503 rather than lose or hoard.
    pub async fn accept(&self, run: NewRun) -> Result<Accepted, ServiceError> {
        let key = run.idempotency.map(|(endpoint, key)| (endpoint.to_string(), key));
        acceptor::accept(
            &self.0,
            acceptor::Request {
                deployment: run.deployment,
                triggered_by: run.triggered_by,
                node_id: run.node_id,
                event: run.event,
                key,
                wait: run.wait,
                parent: None,
                depth: 0,
            },
        )
        .await
    }

    fn store(&self) -> &Store {
        &self.0.store
    }

    fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// What environments give to runs, for those who change them.
    pub fn environments(&self) -> &Environments {
        &self.0.environments
    }

    /// What runs do, as it happens.
    pub fn tail(&self) -> &Tail {
        &self.0.tail
    }

    /// Runs that wait in memory, and runs that execute.
    pub fn counts(&self) -> (usize, usize) {
        self.0.queue.counts()
    }

    /// Measures what changes all the time.
    pub fn gauge(&self) {
        let (waiting, executing) = self.counts();
        metrics::gauge!("heddle_runs_waiting").set(waiting as f64);
        metrics::gauge!("heddle_runs_executing").set(executing as f64);
    }

    /// Whether nothing more is accepted.
    pub fn is_stopping(&self) -> bool {
        *self.0.stopping.borrow()
    }

    /// Becomes true when nothing more is accepted.
    pub fn stopping(&self) -> watch::Receiver<bool> {
        self.0.stopping.subscribe()
    }

    /// Loads the engine and finds deployments that can't be loaded. A server that executes begins to take up the runs
    /// that others have accepted, left or parked, and to clear away old ones.
    pub async fn start(&self) -> Result<(), ServiceError> {
        self.0.runtime().await?;
        self.0.compilers.log_isolation();
        if self.0.lease.executes() {
            trials::before_all(&self.0).await;
        }
        deploy::check_all(&self.0);
        if self.0.lease.executes() {
            claims::start(&self.0);
            recover::start(&self.0);
            waker::start(&self.0);
            retention::start(&self.0);
        } else {
            backlog::start(&self.0);
        }
        Ok(())
    }

    /// Accepts nothing more, and ends what looks on at runs. What was accepted goes on.
    pub fn begin_stop(&self) {
        self.0.queue.close();
        self.0.stopping.send_replace(true);
    }

    /// Starts nothing more, and waits until what executes has ended and is stored, or `patience` is over. What is
    /// left is taken up at the next start.
    pub async fn stop(&self, patience: Duration) {
        self.begin_stop();
        self.0.queue.stop();
        let idle = async {
            while self.counts().1 > 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        if tokio::time::timeout(patience, idle).await.is_err() {
            tracing::warn!(
                executing = self.counts().1,
                "Runs are left to other servers, or the next start"
            );
        }
        if tokio::time::timeout(patience, self.0.recorder.flush())
            .await
            .is_err()
        {
            tracing::warn!("The ends of some runs are not stored: they are taken up again");
        }
        if tokio::time::timeout(patience, self.0.hand_over()).await.is_err() {
            tracing::warn!("Others take up what is left when this server's lease is over");
        }
    }
}

impl Inner {
    /// What effects of test runs may ask for. The values that they keep are gone with the run.
    fn test_services(&self, tenant: Tenant) -> Services {
        Services {
            connections: self.connections(tenant),
            ..Services::default()
        }
    }

    fn connections(&self, tenant: Tenant) -> Arc<TenantConnections> {
        Arc::new(TenantConnections {
            store: self.store.clone(),
            vault: self.vault.clone(),
            tenant,
        })
    }

    /// What effects of runs of this pattern may ask for.
    fn services(&self, tenant: Tenant, pattern: PatternId) -> Services {
        Services {
            connections: self.connections(tenant),
            key_values: Arc::new(StoredValues {
                store: self.store.clone(),
                clock: self.clock.clone(),
                tenant,
                pattern,
            }),
        }
    }

    /// The engine, started at the first call.
    async fn runtime(&self) -> Result<&Runtime, ServiceError> {
        if let Some(runtime) = self.runtime.get() {
            return Ok(runtime);
        }
        let _starting = self.runtime_starts.lock().await;
        if let Some(runtime) = self.runtime.get() {
            return Ok(runtime);
        }
        let config = self.runtime_config.clone();
        let runtime = blocking(move || Runtime::new(config)).await?;
        let runtime = runtime.map_err(|error: RuntimeError| ServiceError::internal(error))?;
        Ok(self.runtime.get_or_init(|| runtime))
    }

    /// Gives back the lease and what is left of the runs.
    async fn hand_over(&self) {
        self.lease.end();
        let owner = self.lease.owner();
        let handed = self.store.write_apart(move |db| {
            Box::pin(async move {
                upkeep::hand_back_all(db, &owner).await?;
                servers::remove(db, &owner).await?;
                notices::tell(db, Notice::Left).await
            })
        });
        if let Err(error) = handed.await {
            tracing::warn!(%error, "The lease could not be given back");
        }
    }

    fn paused(&self) -> MutexGuard<'_, HashSet<heddle_model::ids::DeploymentId>> {
        self.paused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn live(&self) -> MutexGuard<'_, HashMap<RunId, Arc<Live>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
