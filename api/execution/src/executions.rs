//! The crate's face, and the one place where its parts are put together.

use crate::acceptor::{self, Accepted, Acceptor};
use crate::active_deployments::ActiveDeployments;
use crate::backlog::Backlog;
use crate::budget::Budget;
use crate::callbacks::Callbacks;
use crate::calls::{NewestVersions, PatternCalls};
use crate::cancel::Canceller;
use crate::claims::Claims;
use crate::compile::{Compiled, Compilers, Finding, Sources};
use crate::deploy::{DeployError, DeployRequest, Deployer};
use crate::deployment::ActiveDeployment;
use crate::dispatcher::{Dispatcher, ExecuteRuns};
use crate::end_notifier::EndNotifier;
use crate::environments::Environments;
use crate::error_pattern::ErrorPatterns;
use crate::executor::Executor;
use crate::held_runs::HeldRuns;
use crate::journal::Journals;
use crate::lease::{self, Lease, LeaseHolder};
use crate::live_runs::LiveRuns;
use crate::modules::Modules;
use crate::notices::NoticeFollower;
use crate::poller::Wakeups;
use crate::queue::{self, Queue};
use crate::recorder::Recorder;
use crate::recover::Recovery;
use crate::resume::Resumer;
use crate::retention::{self, Retention};
use crate::run::NewRun;
use crate::services::RunServices;
use crate::settings::Settings;
use crate::stop::Stop;
use crate::tail::Tail;
use crate::test_run::{TestRun, TestRunError, TestRuns};
use crate::trials::Trials;
use crate::waker::Waker;
use heddle_compiler::Options;
use heddle_model::access::{Editor, Scope};
use heddle_model::clock::Clock;
use heddle_model::error::ServiceError;
use heddle_model::ids::{DeploymentId, PatternId, RunId};
use heddle_model::status::{Phase, RunStatus};
use heddle_runtime::{Limits, Outcome, RuntimeConfig, SqliteFiles};
use heddle_store::deployments::DeploymentRow;
use heddle_store::notices::{self, Notice};
use heddle_store::runs::upkeep;
use heddle_store::vault::Vault;
use heddle_store::{Store, servers};
use metrics::counter;
use serde_json::Value;
use std::collections::HashSet;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::watch;

/// Runs that execute at once: most of them wait for something outside.
const EXECUTING_MAX: usize = 256;
/// Bytes of events that wait in memory.
const WAITING_BYTES_MAX: usize = 64 << 20;
/// Bytes of events that have no room there, and are read when their turn comes.
const STORED_BYTES_MAX: usize = 1 << 30;

/// Runs everything that is deployed. Cheap to clone.
#[derive(Clone)]
pub struct Executions(Arc<Parts>);

/// The parts that the outside reaches, with what starting and stopping needs. Each holds what it uses itself.
struct Parts {
    store: Store,
    clock: Clock,
    stop: Stop,
    lease: Arc<Lease>,
    queue: Queue,
    backlog: Arc<Backlog>,
    live: Arc<LiveRuns>,
    held: Arc<HeldRuns>,
    tail: Tail,
    wakeups: Wakeups,
    modules: Arc<Modules>,
    active: Arc<ActiveDeployments>,
    environments: Arc<Environments>,
    callbacks: Arc<Callbacks>,
    dispatcher: Arc<Dispatcher>,
    acceptor: Arc<Acceptor>,
    recorder: Recorder,
    canceller: Arc<Canceller>,
    executor: Arc<Executor>,
    deployer: Arc<Deployer>,
    test_runs: TestRuns,
    notices: NoticeFollower,
    retention: Retention,
}

fn queue_limits(settings: &Settings) -> queue::Limits {
    queue::Limits {
        waiting_max: settings.queue_runs_max,
        waiting_bytes_max: WAITING_BYTES_MAX,
        stored_bytes_max: STORED_BYTES_MAX,
        executing_max: EXECUTING_MAX,
        tenant_executing_max: settings.workspace_concurrency_max.max(1),
    }
}

fn run_limits(settings: &Settings) -> Limits {
    Limits {
        fuel_max: settings.run_fuel_max,
        memory_bytes_max: settings.run_memory_bytes_max,
        deadline: settings.run_timeout,
        ..Limits::default()
    }
}

fn runtime_config(settings: &Settings) -> RuntimeConfig {
    RuntimeConfig {
        cache_dir: Some(settings.cache_dir.clone()),
        cache_key: Some(settings.cache_key.clone()),
        egress: settings.egress.clone(),
        sqlite_files: settings
            .sqlite_dir
            .clone()
            .map_or(SqliteFiles::None, SqliteFiles::Below),
        connectors: settings.connectors.clone(),
        connectors_max: settings.connectors_max,
        concurrent_runs_max: EXECUTING_MAX as u32,
        background_threads: settings.workers.max(1),
        // What effects bring is decoded, masked and written as JSON there.
        io_threads: settings.workers.max(1),
        ..RuntimeConfig::default()
    }
}

impl Parts {
    /// Puts everything together, from what knows little to what knows much. The executor comes last; whoever starts runs
    /// reaches it through the dispatcher.
    fn new(settings: Settings, store: Store, clock: Clock, vault: Arc<Vault>, budget: Budget) -> Self {
        let limits = run_limits(&settings);
        let queue = Queue::new(queue_limits(&settings));
        let backlog = Arc::new(Backlog::new(queue_limits(&settings)));
        let lease = Lease::new(settings.lease, settings.role);
        let (stop, wakeups, tail) = (Stop::new(), Wakeups::default(), Tail::default());
        let (live, held) = (Arc::<LiveRuns>::default(), Arc::<HeldRuns>::default());
        let config = runtime_config(&settings);
        let modules = Modules::new(store.clone(), budget, Compilers::new(settings.compilers), config);
        let modules = Arc::new(modules);
        let active = Arc::new(ActiveDeployments::new(store.clone(), modules.clone()));
        let environments = Arc::new(Environments::new(store.clone(), vault.clone()));
        let services = RunServices {
            store: store.clone(),
            vault,
            clock: clock.clone(),
        };
        let callbacks = Arc::new(Callbacks::new(
            (settings.base_url, &settings.callback_secret),
            store.clone(),
            clock.clone(),
            wakeups.parked.clone(),
        ));
        let notifier = EndNotifier {
            live: live.clone(),
            tail: tail.clone(),
            parked: wakeups.parked.clone(),
        };
        let dispatcher = Dispatcher::new(queue.clone());
        let acceptor = Acceptor::start(acceptor::Parts {
            store: store.clone(),
            clock: clock.clone(),
            lease: lease.clone(),
            queue: queue.clone(),
            backlog: backlog.clone(),
            held: held.clone(),
            notifier: notifier.clone(),
            dispatcher: dispatcher.clone(),
        });
        let recorder = Recorder::start(store.clone(), clock.clone(), notifier, dispatcher.clone());
        let canceller = Arc::new(Canceller {
            store: store.clone(),
            clock: clock.clone(),
            queue: queue.clone(),
            live: live.clone(),
            held: held.clone(),
            dispatcher: dispatcher.clone(),
            parked: wakeups.parked.clone(),
        });
        let calls = Arc::new(PatternCalls {
            store: store.clone(),
            lease: lease.clone(),
            live: live.clone(),
            active: active.clone(),
            newest: NewestVersions::new(store.clone(), clock.clone(), modules.clone()),
            acceptor: acceptor.clone(),
            canceller: canceller.clone(),
            stop: stop.clone(),
        });
        let executor = Arc::new(Executor {
            store: store.clone(),
            clock: clock.clone(),
            lease: lease.clone(),
            limits: limits.clone(),
            modules: modules.clone(),
            environments: environments.clone(),
            services: services.clone(),
            journals: Journals::start(store.clone(), clock.clone(), lease.clone()),
            callbacks: callbacks.clone(),
            calls: calls.clone(),
            error_patterns: ErrorPatterns {
                store: store.clone(),
                active: active.clone(),
                acceptor: acceptor.clone(),
            },
            canceller: canceller.clone(),
            live: live.clone(),
            held: held.clone(),
            tail: tail.clone(),
            recorder: recorder.clone(),
        });
        let executing: Arc<dyn ExecuteRuns> = executor.clone();
        dispatcher.set_executor(Arc::downgrade(&executing));
        let deployer = Arc::new(Deployer {
            store: store.clone(),
            clock: clock.clone(),
            quotas: settings.quotas,
            modules: modules.clone(),
            active: active.clone(),
            held: held.clone(),
            dispatcher: dispatcher.clone(),
            canceller: canceller.clone(),
            wakeups: wakeups.clone(),
        });
        Parts {
            test_runs: TestRuns {
                store: store.clone(),
                clock: clock.clone(),
                timeout: settings.test_timeout,
                limits,
                modules: modules.clone(),
                environments: environments.clone(),
                services,
                calls,
                queue: queue.clone(),
            },
            notices: NoticeFollower {
                store: store.clone(),
                lease: lease.clone(),
                live: live.clone(),
                held: held.clone(),
                active: active.clone(),
                environments: environments.clone(),
                canceller: canceller.clone(),
                deployer: deployer.clone(),
                wakeups: wakeups.clone(),
            },
            retention: Retention {
                store: store.clone(),
                clock: clock.clone(),
                policy: retention::Policy {
                    age_max: settings.retention,
                    runs_max: i64::try_from(settings.retention_runs_max).unwrap_or(i64::MAX),
                },
            },
            store,
            clock,
            stop,
            lease,
            queue,
            backlog,
            live,
            held,
            tail,
            wakeups,
            modules,
            active,
            environments,
            callbacks,
            dispatcher,
            acceptor,
            recorder,
            canceller,
            executor,
            deployer,
        }
    }

    fn resumer(&self) -> Resumer {
        Resumer {
            store: self.store.clone(),
            clock: self.clock.clone(),
            queue: self.queue.clone(),
            live: self.live.clone(),
            modules: self.modules.clone(),
            active: self.active.clone(),
            dispatcher: self.dispatcher.clone(),
        }
    }

    fn recovery(&self) -> Recovery {
        Recovery {
            store: self.store.clone(),
            lease: self.lease.clone(),
            queue: self.queue.clone(),
            live: self.live.clone(),
            resumer: self.resumer(),
            trials: Trials {
                store: self.store.clone(),
                lease: self.lease.clone(),
                queue: self.queue.clone(),
                resumer: self.resumer(),
                dispatcher: self.dispatcher.clone(),
                executor: self.executor.clone(),
                stop: self.stop.clone(),
                deadline: self.executor.limits.deadline,
                failures: 0,
            },
            left: self.wakeups.left.clone(),
            stop: self.stop.clone(),
            strays: HashSet::new(),
        }
    }

    fn claims(&self) -> Claims {
        Claims {
            store: self.store.clone(),
            lease: self.lease.clone(),
            queue: self.queue.clone(),
            resumer: self.resumer(),
            accepted: self.wakeups.accepted.clone(),
            stop: self.stop.clone(),
        }
    }

    fn waker(&self) -> Waker {
        Waker {
            store: self.store.clone(),
            clock: self.clock.clone(),
            lease: self.lease.clone(),
            resumer: self.resumer(),
            parked: self.wakeups.parked.clone(),
            stop: self.stop.clone(),
        }
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
}

impl LeaseHolder for Parts {
    fn registered(&self) {
        // What has died before may have stopped deployments that were read just now.
        self.active.forget_all();
    }

    fn lost(&self) {
        let lost: Vec<_> = self.live.all().into_iter().map(|(_, live)| live).collect();
        let lost: Vec<_> = lost.into_iter().filter(|live| !live.is_parked()).collect();
        tracing::error!(
            runs = lost.len(),
            "This server did not renew its lease in time and has lost its runs to others; it goes on without them"
        );
        counter!("heddle_leases_lost_total").increment(1);
        for live in lost {
            live.lose();
        }
        for run in self.held.take(|_| true) {
            self.live.forget(&run);
        }
    }
}

impl Executions {
    /// Ready to accept. Starts no thread and compiles nothing before the first run, or [`Executions::start`].
    pub fn new(settings: Settings, store: Store, clock: Clock, vault: Arc<Vault>, budget: Budget) -> Self {
        let parts = Arc::new(Parts::new(settings, store, clock, vault, budget));
        let this: Weak<Parts> = Arc::downgrade(&parts);
        lease::start(parts.store.clone(), parts.lease.clone(), this);
        Executions(parts)
    }

    /// Stores a run and hands it to the executors. A full queue answers 503 rather than lose or hoard.
    pub async fn accept(&self, run: NewRun) -> Result<Accepted, ServiceError> {
        self.0.acceptor.accept(run).await
    }

    pub(crate) fn store(&self) -> &Store {
        &self.0.store
    }

    pub(crate) fn clock(&self) -> &Clock {
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
        self.0.stop.has_begun()
    }

    /// Becomes true when nothing more is accepted.
    pub fn stopping(&self) -> watch::Receiver<bool> {
        self.0.stop.watch()
    }

    /// Loads the engine and finds deployments that can't be loaded. A server that executes begins to take up the runs
    /// that others have accepted, left or parked, and to clear away old ones.
    pub async fn start(&self) -> Result<(), ServiceError> {
        let parts = &self.0;
        parts.modules.runtime().await?;
        parts.modules.log_isolation();
        if !parts.lease.executes() {
            parts.deployer.check_all();
            parts.backlog.start(parts.store.clone(), parts.stop.clone());
            return Ok(());
        }
        let recovery = parts.recovery();
        recovery.try_suspects().await;
        parts.deployer.check_all();
        parts.claims().start();
        recovery.start();
        parts.waker().start();
        parts.retention.start(parts.stop.clone());
        Ok(())
    }

    /// Accepts nothing more, and ends what looks on at runs. What was accepted goes on.
    pub fn begin_stop(&self) {
        self.0.queue.close();
        self.0.stop.begin();
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

    /// The pattern's deployment, if it is active and can be loaded.
    pub async fn active_for(
        &self,
        pattern: PatternId,
    ) -> Result<Option<Arc<ActiveDeployment>>, ServiceError> {
        self.0.active.of_pattern(pattern).await
    }

    /// Deploys the newest version of a pattern; the pattern's deployment, if there is one, moves to it.
    pub async fn deploy(
        &self,
        editor: &Editor,
        pattern: PatternId,
        request: DeployRequest,
    ) -> Result<(DeploymentRow, Vec<Finding>), DeployError> {
        self.0.deployer.deploy(editor, pattern, request).await
    }

    /// Takes a pattern's triggers away; runs that were accepted still end. 404 for what was never deployed.
    pub async fn undeploy(&self, editor: &Editor, pattern: PatternId) -> Result<DeploymentRow, ServiceError> {
        self.0.deployer.undeploy(editor, pattern).await
    }

    /// Holds the triggers and the runs that wait for their turn.
    pub async fn pause(
        &self,
        editor: &Editor,
        deployment: DeploymentId,
    ) -> Result<DeploymentRow, ServiceError> {
        self.0.deployer.pause(editor, deployment).await
    }

    /// Lets triggers and runs go on.
    pub async fn resume(
        &self,
        editor: &Editor,
        deployment: DeploymentId,
    ) -> Result<DeploymentRow, ServiceError> {
        self.0.deployer.resume(editor, deployment).await
    }

    /// Puts the stored module in place again.
    pub async fn redeploy(
        &self,
        editor: &Editor,
        deployment: DeploymentId,
    ) -> Result<DeploymentRow, ServiceError> {
        self.0.deployer.redeploy(editor, deployment).await
    }

    /// Removes a deployment with its runs; those under way are cancelled.
    pub async fn delete(&self, editor: &Editor, deployment: DeploymentId) -> Result<(), ServiceError> {
        self.0.deployer.delete(editor, deployment).await
    }

    /// To be called when a workspace was deleted with its deployments.
    pub fn workspace_deleted(&self) {
        self.0.active.forget_all();
        self.0.environments.changed();
    }

    /// To be called when a pattern was deleted, whose deployment [`heddle_store::deployments::undeploy_deleted`] has
    /// ended.
    pub fn pattern_deleted(&self, pattern: PatternId) {
        self.0.active.forget(pattern);
    }

    /// Ends a run as cancelled, and gives the status that it has then. The caller was found to see the run.
    pub async fn cancel(
        &self,
        editor: &Editor,
        deployment: DeploymentId,
        run: RunId,
    ) -> Result<RunStatus, ServiceError> {
        self.0.canceller.cancel(editor, deployment, run).await
    }

    /// What a run is doing, if it executes here, or waits for that.
    pub fn phase_of(&self, run: RunId) -> Option<Phase> {
        let live = self.0.live.get(run)?;
        (!live.is_parked()).then(|| live.phase())
    }

    /// Whether a URL is one that a run has made.
    pub fn is_callback(&self, run: RunId, token: &str, place: &str) -> bool {
        self.0.callbacks.is_valid(run, place, token)
    }

    /// Lets the run go on that waits at this place, with a request as the event, and gives what the sender gets. It
    /// may come before the run is there; then it waits for the run. 409 for a second call, 410 when nobody waits.
    pub async fn call_back(&self, run: RunId, place: String, event: String) -> Result<Value, ServiceError> {
        self.0.callbacks.call_back(run, place, event).await
    }

    /// Compiles a graph for a test run, in the caller's turn.
    pub async fn transpile(
        &self,
        scope: &Scope,
        sources: Sources,
        options: Options,
    ) -> Result<Compiled, ServiceError> {
        self.0.test_runs.transpile(scope, sources, options).await
    }

    /// Runs a module in the caller's default environment. The outcome, and whether it has a trace.
    pub async fn test_run(&self, editor: &Editor, run: TestRun) -> Result<(Outcome, bool), TestRunError> {
        self.0.test_runs.run(editor, run).await
    }

    /// Brings memory in line with a change that another server, or another part of this one, has made.
    pub async fn follow(&self, notice: Notice) -> Result<(), ServiceError> {
        self.0.notices.follow(notice).await
    }

    /// Clears away once what is too old or too much.
    pub async fn clear_away(&self) -> Result<(), ServiceError> {
        self.0.retention.clear_away().await
    }
}
