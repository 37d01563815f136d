//! Executor processes: as many as are wanted stand ready, and one that dies is replaced. A run goes to the one
//! whose turn it is of those that its tenant may use, or gets one of its own.
//!
//! What an executor says is not trusted; see `heddle_sandbox::protocol` and [`process`].

mod given;
mod idle;
mod look;
mod process;
mod run;
mod start;

pub use given::LoadFailure;
pub use run::Interrupted;
pub use start::Setting;

use crate::ending;
use crate::outcome::Outcome;
use crate::run_host::Begun;
use crate::sealed::SealedProgram;
use heddle_contract::abi::code;
use heddle_processes::{Process, WorkerError};
use heddle_sandbox::RunError;
use heddle_sandbox::clock::{monotonic, since};
use look::Looks;
use process::{Executor, RemoteRun};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::AbortHandle;

/// Executors for one run only, at once.
const ALONE_MAX: usize = 8;
/// A program during whose loading so many executors have ended is not loaded.
const LOAD_DEATHS_MAX: u32 = 1;
/// How long an executor may take to start.
const START_MAX: Duration = Duration::from_secs(30);
/// Wait before another start when one has failed, and what it grows to.
const RESTART_MIN: Duration = Duration::from_millis(10);
const RESTART_MAX: Duration = Duration::from_millis(500);
/// An executor that lived for so long was a good one.
const GOOD_LIFE: Duration = Duration::from_secs(1);
/// How long a run waits for an executor to be there.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct Executors {
    setting: Arc<Setting>,
    /// Where their sockets are read.
    runtime: Handle,
    /// Of all tenants that have none of their own.
    shared: Vec<Arc<ExecutorSlot>>,
    /// Of the tenants that are in groups.
    of_tenants: HashMap<u128, Arc<[Arc<ExecutorSlot>]>>,
    keepers: Vec<AbortHandle>,
    alone: Arc<Semaphore>,
    looks: Looks,
    /// Changes when an executor is there that was not.
    changes: watch::Sender<u64>,
}

/// With whom a run may share its executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Company {
    /// With others.
    Any,
    /// With nobody: if the executor ends, it was this run.
    None,
}

/// A place for an executor.
#[derive(Default)]
struct ExecutorSlot(Mutex<Option<Arc<Executor>>>);

impl ExecutorSlot {
    fn locked(&self) -> MutexGuard<'_, Option<Arc<Executor>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Executors {
    fn drop(&mut self) {
        self.keepers.iter().for_each(AbortHandle::abort);
    }
}

/// An executor for one run, which it ends with.
struct Alone {
    executor: Arc<Executor>,
    keeper: AbortHandle,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Drop for Alone {
    fn drop(&mut self) {
        // The keeper of one that has ended by itself still tells of what.
        if !self.executor.is_gone() {
            self.keeper.abort();
        }
    }
}

impl Executors {
    /// Begins to start them. `io` is used if the caller's own async runtime has a single thread.
    pub fn start(setting: Setting, io: &Handle) -> Self {
        let runtime = own_runtime().unwrap_or_else(|| io.clone());
        let setting = Arc::new(setting);
        let (changes, _) = watch::channel(0);
        let mut keepers = Vec::new();
        let mut places = |processes: usize| -> Vec<Arc<ExecutorSlot>> {
            let started = (0..processes.max(1)).map(|_| {
                let place = Arc::<ExecutorSlot>::default();
                let keeping = keep(setting.clone(), place.clone(), changes.clone());
                keepers.push(runtime.spawn(keeping).abort_handle());
                place
            });
            started.collect()
        };
        let shared = places(setting.executors.processes);
        let mut of_tenants = HashMap::new();
        for group in &setting.executors.groups {
            let own: Arc<[Arc<ExecutorSlot>]> = places(group.processes).into();
            of_tenants.extend(group.tenants.iter().map(|tenant| (*tenant, own.clone())));
        }
        Executors {
            keepers,
            setting,
            runtime,
            shared,
            of_tenants,
            alone: Arc::new(Semaphore::new(ALONE_MAX)),
            looks: Looks::new(),
            changes,
        }
    }

    /// Executes a run.
    pub async fn run(
        &self,
        program: &SealedProgram,
        begun: Begun,
        mut slot: Option<OwnedSemaphorePermit>,
        io: &Handle,
        company: Company,
    ) -> Result<Outcome, Interrupted> {
        let bytes_max = self.setting.code_bytes_max;
        let under_way = self.looks.begin();
        let (remote, _alone) = match company {
            Company::Any => (self.give(program, &begun, slot, io).await, None),
            Company::None => match self.alone().await {
                Ok(alone) => {
                    let given = alone.executor.begin(program, &begun.input, &mut slot, bytes_max);
                    (given.ok(), Some(alone))
                }
                Err(error) => {
                    tracing::error!(%error, "An executor process for one run can't be started");
                    (None, None)
                }
            },
        };
        match remote {
            Some(remote) => {
                under_way.look(&remote);
                run::execute(remote, begun, io).await
            }
            None => Ok(ending::refused(not_started(), begun.ending.started)),
        }
    }

    /// Gives a run to the executor whose turn it is; `None`: there is none.
    async fn give(
        &self,
        program: &SealedProgram,
        begun: &Begun,
        mut slot: Option<OwnedSemaphorePermit>,
        io: &Handle,
    ) -> Option<RemoteRun> {
        loop {
            let executor = self.pick(begun.tenant, io).await?;
            let bytes_max = self.setting.code_bytes_max;
            let given = executor.begin(program, &begun.input, &mut slot, bytes_max);
            // One that has just gone is not picked again.
            if let Ok(remote) = given {
                return Some(remote);
            }
        }
    }

    /// Has an executor load a program, and says why it can't.
    pub async fn load(&self, program: &SealedProgram, io: &Handle) -> Result<(), LoadFailure> {
        let mut deaths = 0;
        loop {
            let Some(executor) = self.pick(None, io).await else {
                return Err((None, "there is no process that could execute it".to_owned()));
            };
            match executor.load(program, self.setting.code_bytes_max).await {
                Ok(loaded) => return loaded,
                Err(process::Gone) if deaths < LOAD_DEATHS_MAX => deaths += 1,
                Err(process::Gone) => {
                    let reason = "the process that should execute it ended when it loaded it";
                    return Err((None, reason.to_owned()));
                }
            }
        }
    }

    /// The executor whose turn it is of those that the tenant may use, once there is one.
    async fn pick(&self, tenant: Option<u128>, io: &Handle) -> Option<Arc<Executor>> {
        if let Some(executor) = self.next(tenant) {
            return Some(executor);
        }
        let mut changes = self.changes.subscribe();
        // By the clock of the I/O threads, so that the caller's executor needs none.
        let patience = {
            let _io = io.enter();
            tokio::time::sleep(PATIENCE)
        };
        let found = async {
            loop {
                if let Some(executor) = self.next(tenant) {
                    return Some(executor);
                }
                // Never closed: this has the sender.
                changes.changed().await.ok()?;
            }
        };
        tokio::select! {
            found = found => found,
            () = patience => None,
        }
    }

    /// The one whose turn it is.
    fn next(&self, tenant: Option<u128>) -> Option<Arc<Executor>> {
        let places = self.places(tenant).iter();
        let standing = places.filter_map(|place| place.locked().clone());
        let living = standing.filter(|executor| !executor.is_gone());
        let now = monotonic();
        living.min_by_key(|executor| executor.turn(now))
    }

    /// One that has no other run.
    async fn alone(&self) -> Result<Alone, WorkerError> {
        // Only closed when dropped, which the borrow of `self` rules out.
        let permit = self.alone.clone().acquire_owned().await.ok();
        let setting = self.setting.clone();
        let (sender, started) = tokio::sync::oneshot::channel();
        let keeper = self.runtime.spawn(async move {
            match start(&setting).await {
                Ok((executor, process)) => {
                    // Whoever wanted it may have gone.
                    let _ = sender.send(Ok(executor.clone()));
                    ended(&executor.listen(process).await);
                }
                Err(error) => drop(sender.send(Err(error))),
            }
        });
        let keeper = keeper.abort_handle();
        let executor = started.await.unwrap_or(Err(WorkerError::GivenUp))?;
        Ok(Alone {
            executor,
            keeper,
            _permit: permit,
        })
    }

    /// Ids of the processes that stand ready for a tenant, or for those that have none of their own.
    pub fn process_ids(&self, tenant: Option<u128>) -> Vec<u32> {
        let own = self.places(tenant).iter();
        let standing = own.filter_map(|place| place.locked().clone());
        standing.filter_map(|executor| executor.process_id()).collect()
    }

    fn places(&self, tenant: Option<u128>) -> &[Arc<ExecutorSlot>] {
        let own = tenant.and_then(|tenant| self.of_tenants.get(&tenant));
        own.map_or(&self.shared, |own| own)
    }
}

fn not_started() -> RunError {
    RunError {
        code: code::INTERNAL.into(),
        message: "The process that should execute the run could not be started.".to_owned(),
        node_id: None,
    }
}

/// The caller's async runtime, if it has threads of its own.
fn own_runtime() -> Option<Handle> {
    let handle = Handle::try_current().ok()?;
    let has_threads = handle.runtime_flavor() == tokio::runtime::RuntimeFlavor::MultiThread;
    has_threads.then_some(handle)
}

/// Keeps an executor in its place.
async fn keep(setting: Arc<Setting>, place: Arc<ExecutorSlot>, changes: watch::Sender<u64>) {
    let mut wait = RESTART_MIN;
    loop {
        let began = monotonic();
        match start(&setting).await {
            Ok((executor, process)) => {
                *place.locked() = Some(executor.clone());
                changes.send_modify(|changes| *changes = changes.wrapping_add(1));
                let error = executor.listen(process).await;
                *place.locked() = None;
                ended(&error);
            }
            Err(error) => tracing::error!(%error, "An executor process can't be started"),
        }
        if since(began) >= GOOD_LIFE {
            // The next one is there at once.
            wait = RESTART_MIN;
            continue;
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(RESTART_MAX);
    }
}

fn ended(error: &WorkerError) {
    match error {
        WorkerError::Died { end, last_words } => {
            tracing::error!(%end, last_words, "An executor process has ended: its runs are taken up again");
        }
        error => tracing::error!(%error, "An executor process was ended: its runs are taken up again"),
    }
}

async fn start(setting: &Setting) -> Result<(Arc<Executor>, Process), WorkerError> {
    let started = tokio::time::timeout(START_MAX, Executor::start(setting)).await;
    let started = started.unwrap_or(Err(WorkerError::TimedOut(START_MAX)))?;
    tokio::spawn(idle::watch(Arc::downgrade(&started.0)));
    Ok(started)
}
