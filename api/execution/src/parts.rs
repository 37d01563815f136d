//! The parts of the crate, put together here and nowhere else: each holds what it uses, so nothing knows the whole.

use crate::acceptor::{self, Acceptor};
use crate::active_deployments::ActiveDeployments;
use crate::backlog::Backlog;
use crate::budget::Budget;
use crate::callbacks::Callbacks;
use crate::calls::{NewestVersions, PatternCalls};
use crate::cancel::Canceller;
use crate::claims::Claims;
use crate::compile::Compilers;
use crate::consents::Consents;
use crate::deploy::Deployer;
use crate::dispatcher::{Dispatcher, ExecuteRuns};
use crate::end_notifier::EndNotifier;
use crate::environments::Environments;
use crate::erasure::Erasure;
use crate::error_pattern::ErrorPatterns;
use crate::executor::Executor;
use crate::file_rooms::FileRooms;
use crate::files::FileService;
use crate::held_runs::HeldRuns;
use crate::isolation::Isolated;
use crate::journal::Journals;
use crate::kept_journals::{JournalPolicy, KeptJournals};
use crate::lease::Lease;
use crate::live_runs::LiveRuns;
use crate::mail::MailReader;
use crate::mailbox_places::MailboxPlaces;
use crate::modules::Modules;
use crate::notices::NoticeFollower;
use crate::poller::Wakeups;
use crate::queue::{self, Queue};
use crate::recorder::Recorder;
use crate::recover::Recovery;
use crate::resume::Resumer;
use crate::retention::{self, Retention};
use crate::run::EVENT_BYTES_MAX;
use crate::run_metrics::TenantMetrics;
use crate::seals::Seals;
use crate::services::RunServices;
use crate::settings::Settings;
use crate::stop::Stop;
use crate::strikes::Strikes;
use crate::tail::Tail;
use crate::tenants::{TenantSettings, Tenants};
use crate::test_run::TestRuns;
use crate::test_usage::TestMeter;
use crate::trials::Trials;
use crate::waiting_runs::WaitingRuns;
use crate::waker::Waker;
use heddle_files::Files;
use heddle_model::clock::Clock;
use heddle_model::workspace_quota::WorkspaceQuota;
use heddle_runtime::{Ceilings, Limits, RuntimeConfig, SqliteFiles};
use heddle_store::Store;
use heddle_store::per_user::PerUser;
use heddle_store::vault::Vault;
use secrecy::ExposeSecret;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex};
use tokio::sync::Semaphore;

/// Runs that execute at once: most of them wait for something outside.
const EXECUTING_MAX: usize = 256;
/// Lists of OnPoll nodes that are asked for, mailboxes that are read, and services that are told of webhooks, at once; others wait.
const POLLS_AT_ONCE_MAX: usize = 32;
/// Of these, at once for one owner.
const POLLS_PER_OWNER_MAX: usize = 4;
/// Memory of a run, at most: all that 32 bits can address.
const RUN_MEMORY_BYTES_MAX: usize = 4 << 30;
/// Bytes of events that wait in memory.
const WAITING_BYTES_MAX: usize = 64 << 20;
/// Bytes of events that have no room there, and are read when their turn comes.
const STORED_BYTES_MAX: usize = 1 << 30;

/// The foundation that most of the others hold. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Foundation {
    pub store: Store,
    pub clock: Clock,
    pub stop: Stop,
    pub wakeups: Wakeups,
    pub lease: Arc<Lease>,
    pub queue: Queue,
    pub live: Arc<LiveRuns>,
    pub held: Arc<HeldRuns>,
    pub tail: Tail,
    pub tenants: Arc<TenantMetrics>,
    pub of_workspaces: Tenants,
    pub modules: Arc<Modules>,
    pub active: Arc<ActiveDeployments>,
    pub environments: Arc<Environments>,
    pub dispatcher: Arc<Dispatcher>,
    pub waiting: Arc<WaitingRuns>,
    pub files: FileService,
}

/// What accepts, executes, records, cancels and deploys.
pub(crate) struct Parts {
    pub base: Foundation,
    pub consents: Consents,
    pub isolated: Isolated,
    pub backlog: Arc<Backlog>,
    pub callbacks: Arc<Callbacks>,
    pub acceptor: Arc<Acceptor>,
    pub recorder: Recorder,
    pub canceller: Arc<Canceller>,
    pub executor: Arc<Executor>,
    pub deployer: Arc<Deployer>,
    pub test_runs: TestRuns,
    pub mail: MailReader,
    /// Connections to mailboxes that stay open.
    pub mailbox_places: Arc<MailboxPlaces>,
    /// Polls and subscriptions that may ask at once.
    pub polls_at_once: Semaphore,
    /// Polls and subscriptions of each owner that may ask at once.
    pub polls_of_owners: PerUser,
    /// The URL at which senders reach this service.
    pub base_url: String,
    pub notices: NoticeFollower,
    pub retention: Retention,
    pub erasure: Arc<Erasure>,
}

impl Parts {
    /// Puts everything together, what knows least first. The executor comes late; whoever starts runs
    /// reaches it through the dispatcher.
    pub fn new(settings: Settings, store: Store, clock: Clock, vault: Arc<Vault>, budget: Budget) -> Self {
        let base = Foundation::new(&settings, store, clock, &vault, budget);
        let consents = Consents::new(
            (base.store.clone(), vault.clone(), base.clock.clone()),
            &settings.egress,
            settings.oauth_clients.clone(),
            &settings.base_url,
        );
        let services = RunServices {
            consents: consents.clone(),
            store: base.store.clone(),
            vault,
            clock: base.clock.clone(),
            quotas: settings.quotas,
            files: base.files.clone(),
        };
        let backlog = Arc::new(Backlog::new(queue_limits(&settings)));
        let callbacks = base.callbacks(&settings, &services.vault);
        let acceptor = base.acceptor(&backlog);
        let journals = journal_policy(&settings);
        let recorder = base.recorder(journals);
        let canceller = base.canceller(journals);
        let calls = base.calls(&acceptor, &canceller);
        let executor = Arc::new(Executor {
            store: base.store.clone(),
            clock: base.clock.clone(),
            lease: base.lease.clone(),
            waiting: base.waiting.clone(),
            limits: run_limits(&settings),
            modules: base.modules.clone(),
            environments: base.environments.clone(),
            services: services.clone(),
            journals: Journals::start(base.store.clone(), base.clock.clone(), base.lease.clone()),
            callbacks: callbacks.clone(),
            calls: calls.clone(),
            error_patterns: base.error_patterns(&acceptor),
            strikes: base.strikes(),
            canceller: canceller.clone(),
            live: base.live.clone(),
            held: base.held.clone(),
            tail: base.tail.clone(),
            recorder: recorder.clone(),
        });
        let executing: Arc<dyn ExecuteRuns> = executor.clone();
        base.dispatcher.set_executor(Arc::downgrade(&executing));
        let deployer = base.deployer(&settings, &services.vault, &canceller);
        let erasure = Arc::new(base.erasure(&settings, &canceller));
        Parts {
            consents,
            mail: MailReader::new(&settings.compilers.isolation),
            mailbox_places: Arc::new(MailboxPlaces::new(
                settings.mailboxes_max,
                settings.workspace_mailboxes_max,
            )),
            polls_at_once: Semaphore::new(POLLS_AT_ONCE_MAX),
            polls_of_owners: PerUser::new(POLLS_PER_OWNER_MAX),
            base_url: settings.base_url.clone(),
            test_runs: base.test_runs(&settings, services, calls),
            notices: base.notices(&canceller, &deployer),
            retention: base.retention(&settings, journals, (&erasure, &canceller)),
            isolated: Isolated::from(&settings),
            erasure,
            base,
            backlog,
            callbacks,
            acceptor,
            recorder,
            canceller,
            executor,
            deployer,
        }
    }

    /// Takes up the runs that servers have left, once it is started.
    pub fn recovery(&self) -> Recovery {
        let base = &self.base;
        Recovery {
            store: base.store.clone(),
            lease: base.lease.clone(),
            queue: base.queue.clone(),
            live: base.live.clone(),
            resumer: base.resumer(&self.canceller),
            trials: Trials {
                store: base.store.clone(),
                lease: base.lease.clone(),
                queue: base.queue.clone(),
                resumer: base.resumer(&self.canceller),
                dispatcher: base.dispatcher.clone(),
                executor: self.executor.clone(),
                stop: base.stop.clone(),
                deadline: self.executor.limits.deadline,
                failures: AtomicU32::new(0),
            },
            left: base.wakeups.left.clone(),
            stop: base.stop.clone(),
            strays: Mutex::default(),
        }
    }

    /// Claims the runs that servers of the role `api` have accepted, once it is started.
    pub fn claims(&self) -> Claims {
        let base = &self.base;
        Claims {
            store: base.store.clone(),
            lease: base.lease.clone(),
            queue: base.queue.clone(),
            resumer: base.resumer(&self.canceller),
            accepted: base.wakeups.accepted.clone(),
            stop: base.stop.clone(),
        }
    }

    /// Wakes parked runs, once it is started.
    pub fn waker(&self) -> Waker {
        let base = &self.base;
        Waker {
            store: base.store.clone(),
            clock: base.clock.clone(),
            lease: base.lease.clone(),
            resumer: base.resumer(&self.canceller),
            parked: base.wakeups.parked.clone(),
            stop: base.stop.clone(),
        }
    }
}

impl Foundation {
    fn new(settings: &Settings, store: Store, clock: Clock, vault: &Arc<Vault>, budget: Budget) -> Self {
        let queue = Queue::new(queue_limits(settings));
        let tenants = Tenants::new(
            store.clone(),
            clock.clone(),
            queue.clone(),
            tenant_settings(settings),
        );
        let compilers = Compilers::new(settings.compilers.clone());
        let seals = Seals {
            store: store.clone(),
            vault: vault.clone(),
            clock: clock.clone(),
        };
        let modules = Modules::new(seals, budget, compilers, runtime_config(settings));
        let modules = Arc::new(modules);
        let tenants_of_files = tenants.clone();
        Foundation {
            stop: Stop::new(),
            wakeups: Wakeups::default(),
            lease: Lease::new(settings.lease, settings.role),
            live: Arc::default(),
            held: Arc::default(),
            tail: Tail::default(),
            active: Arc::new(ActiveDeployments::new(
                store.clone(),
                modules.clone(),
                tenants.clone(),
            )),
            of_workspaces: tenants,
            modules,
            environments: Arc::new(Environments::new(store.clone(), vault.clone())),
            dispatcher: Dispatcher::new(queue.clone()),
            files: FileService {
                files: Files::new(
                    settings.files.clone(),
                    store.clone(),
                    vault.clone(),
                    clock.clone(),
                ),
                store: store.clone(),
                clock: clock.clone(),
                rooms: FileRooms::new(store.clone(), clock.clone(), settings.quotas, tenants_of_files),
            },
            waiting: Arc::new(WaitingRuns::new(store.clone(), &settings.quotas)),
            tenants: Arc::new(TenantMetrics::new(settings.metrics_tenants_max)),
            queue,
            store,
            clock,
        }
    }

    fn callbacks(&self, settings: &Settings, vault: &Arc<Vault>) -> Arc<Callbacks> {
        Arc::new(Callbacks::new(
            (
                settings.base_url.clone(),
                settings.callback_secret.expose_secret(),
            ),
            (self.store.clone(), vault.clone()),
            self.clock.clone(),
            self.wakeups.parked.clone(),
        ))
    }

    fn notifier(&self) -> EndNotifier {
        EndNotifier {
            live: self.live.clone(),
            tail: self.tail.clone(),
            parked: self.wakeups.parked.clone(),
            tenants: self.tenants.clone(),
        }
    }

    fn acceptor(&self, backlog: &Arc<Backlog>) -> Arc<Acceptor> {
        Acceptor::start(acceptor::Parts {
            store: self.store.clone(),
            clock: self.clock.clone(),
            lease: self.lease.clone(),
            queue: self.queue.clone(),
            backlog: backlog.clone(),
            held: self.held.clone(),
            notifier: self.notifier(),
            dispatcher: self.dispatcher.clone(),
        })
    }

    fn recorder(&self, journals: JournalPolicy) -> Recorder {
        let (store, clock) = (self.store.clone(), self.clock.clone());
        Recorder::start((store, clock), self.notifier(), self.dispatcher.clone(), journals)
    }

    fn canceller(&self, journals: JournalPolicy) -> Arc<Canceller> {
        Arc::new(Canceller {
            store: self.store.clone(),
            clock: self.clock.clone(),
            queue: self.queue.clone(),
            live: self.live.clone(),
            held: self.held.clone(),
            dispatcher: self.dispatcher.clone(),
            parked: self.wakeups.parked.clone(),
            waiting: self.waiting.clone(),
            tail: self.tail.clone(),
            journals,
        })
    }

    fn calls(&self, acceptor: &Arc<Acceptor>, canceller: &Arc<Canceller>) -> Arc<PatternCalls> {
        let (store, clock) = (self.store.clone(), self.clock.clone());
        Arc::new(PatternCalls {
            store: self.store.clone(),
            lease: self.lease.clone(),
            live: self.live.clone(),
            active: self.active.clone(),
            newest: NewestVersions::new(store, clock, self.modules.clone()),
            acceptor: acceptor.clone(),
            canceller: canceller.clone(),
            files: self.files.clone(),
            stop: self.stop.clone(),
        })
    }

    fn strikes(&self) -> Strikes {
        Strikes {
            store: self.store.clone(),
            clock: self.clock.clone(),
            active: self.active.clone(),
            held: self.held.clone(),
        }
    }

    fn error_patterns(&self, acceptor: &Arc<Acceptor>) -> ErrorPatterns {
        ErrorPatterns {
            store: self.store.clone(),
            active: self.active.clone(),
            acceptor: acceptor.clone(),
            files: self.files.clone(),
        }
    }

    fn deployer(&self, settings: &Settings, vault: &Arc<Vault>, canceller: &Arc<Canceller>) -> Arc<Deployer> {
        Arc::new(Deployer {
            store: self.store.clone(),
            vault: vault.clone(),
            clock: self.clock.clone(),
            quotas: settings.quotas,
            limits: run_limits(settings),
            tenants: self.of_workspaces.clone(),
            modules: self.modules.clone(),
            active: self.active.clone(),
            held: self.held.clone(),
            dispatcher: self.dispatcher.clone(),
            canceller: canceller.clone(),
            wakeups: self.wakeups.clone(),
        })
    }

    fn test_runs(&self, settings: &Settings, services: RunServices, calls: Arc<PatternCalls>) -> TestRuns {
        TestRuns {
            store: self.store.clone(),
            clock: self.clock.clone(),
            timeout: settings.test_timeout,
            limits: run_limits(settings),
            tenants: self.of_workspaces.clone(),
            modules: self.modules.clone(),
            environments: self.environments.clone(),
            services,
            calls,
            queue: self.queue.clone(),
            meter: TestMeter {
                store: self.store.clone(),
                clock: self.clock.clone(),
                tenants: self.of_workspaces.clone(),
            },
        }
    }

    fn notices(&self, canceller: &Arc<Canceller>, deployer: &Arc<Deployer>) -> NoticeFollower {
        NoticeFollower {
            store: self.store.clone(),
            lease: self.lease.clone(),
            live: self.live.clone(),
            held: self.held.clone(),
            active: self.active.clone(),
            environments: self.environments.clone(),
            canceller: canceller.clone(),
            deployer: deployer.clone(),
            wakeups: self.wakeups.clone(),
            tenants: self.of_workspaces.clone(),
        }
    }

    fn retention(
        &self,
        settings: &Settings,
        journals: JournalPolicy,
        (erasure, canceller): (&Arc<Erasure>, &Arc<Canceller>),
    ) -> Retention {
        Retention {
            erasure: erasure.clone(),
            canceller: canceller.clone(),
            journals: KeptJournals {
                store: self.store.clone(),
                clock: self.clock.clone(),
                policy: journals,
            },
            store: self.store.clone(),
            clock: self.clock.clone(),
            files: self.files.files().clone(),
            policy: retention::Policy {
                age_max: settings.retention,
                runs_max: i64::try_from(settings.retention_runs_max).unwrap_or(i64::MAX),
                bytes_max: (settings.retention_bytes_max > 0)
                    .then(|| i64::try_from(settings.retention_bytes_max).unwrap_or(i64::MAX)),
                user_bytes_max: (settings.retention_user_bytes_max > 0)
                    .then(|| i64::try_from(settings.retention_user_bytes_max).unwrap_or(i64::MAX)),
            },
        }
    }

    fn erasure(&self, settings: &Settings, canceller: &Arc<Canceller>) -> Erasure {
        Erasure {
            store: self.store.clone(),
            active: self.active.clone(),
            canceller: canceller.clone(),
            environments: self.environments.clone(),
            tenants: self.of_workspaces.clone(),
            files: self.files.files().clone(),
            cache_dir: settings.cache_dir.clone(),
            sqlite_dir: settings.sqlite_dir.clone(),
        }
    }

    fn resumer(&self, canceller: &Arc<Canceller>) -> Resumer {
        Resumer {
            store: self.store.clone(),
            clock: self.clock.clone(),
            queue: self.queue.clone(),
            live: self.live.clone(),
            modules: self.modules.clone(),
            active: self.active.clone(),
            tenants: self.of_workspaces.clone(),
            dispatcher: self.dispatcher.clone(),
            canceller: canceller.clone(),
            full: Arc::default(),
        }
    }
}

fn journal_policy(settings: &Settings) -> JournalPolicy {
    JournalPolicy {
        failed_age_max: settings.retention_journals,
        succeeded_max: i64::try_from(settings.retention_journal_runs_max).unwrap_or(i64::MAX),
        bytes_max: (settings.retention_journal_bytes_max > 0)
            .then(|| i64::try_from(settings.retention_journal_bytes_max).unwrap_or(i64::MAX)),
    }
}

fn queue_limits(settings: &Settings) -> queue::Limits {
    queue::Limits {
        waiting_max: settings.queue_runs_max,
        waiting_bytes_max: WAITING_BYTES_MAX,
        stored_bytes_max: STORED_BYTES_MAX,
        executing_max: EXECUTING_MAX,
        tenant_executing_max: settings.workspace_concurrency_max.max(1),
        servers: 1,
    }
}

fn tenant_settings(settings: &Settings) -> TenantSettings {
    let at_once = i64::try_from(settings.workspace_concurrency_max).unwrap_or(i64::MAX);
    let mut defaults = settings.workspace_quotas;
    defaults.set(WorkspaceQuota::RunsAtOnce, Some(at_once));
    TenantSettings {
        defaults,
        sqlite_dir: settings.sqlite_dir.clone(),
    }
}

fn run_limits(settings: &Settings) -> Limits {
    Limits {
        fuel_max: settings.run_fuel_max,
        memory_bytes_max: settings.run_memory_bytes_max,
        effects_max: settings.run_effects_max,
        ceilings: Ceilings {
            fuel: settings.run_fuel_ceiling,
            memory_bytes: settings.run_memory_bytes_ceiling,
            effects: settings.run_effects_ceiling,
            deadline: settings.run_timeout,
        },
        deadline: settings.run_timeout,
        // The largest body of a webhook, and what quotes and line breaks in it become as JSON.
        event_bytes_max: EVENT_BYTES_MAX,
        ..Limits::default()
    }
}

fn runtime_config(settings: &Settings) -> RuntimeConfig {
    let default = RuntimeConfig::default();
    RuntimeConfig {
        memory_bytes_max: settings
            .run_memory_bytes_ceiling
            .clamp(default.memory_bytes_max, RUN_MEMORY_BYTES_MAX),
        cache_dir: Some(settings.cache_dir.clone()),
        cache_key: Some(settings.cache_key.clone()),
        precompiled_dir: settings.precompiled_dir.clone(),
        egress: settings.egress.clone(),
        sqlite_files: settings
            .sqlite_dir
            .clone()
            .map_or(SqliteFiles::None, SqliteFiles::Below),
        connectors: settings.connectors.clone(),
        executors: settings.executors.clone(),
        connectors_max: settings.connectors_max,
        concurrent_runs_max: EXECUTING_MAX as u32,
        runs_memory_bytes_max: settings.runs_memory_bytes_max,
        background_threads: settings.workers.max(1),
        // What effects bring is decoded, masked and written as JSON there.
        io_threads: settings.workers.max(1),
        ..default
    }
}
