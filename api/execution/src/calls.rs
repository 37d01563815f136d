//! CallPattern between deployed patterns: who may call what with which inputs, and how a run waits for the one that it
//! has called. At first in memory; after a moment the waiting run parks, so that runs that wait for each other never
//! take all places.

mod accepting;
mod called;
mod inputs;
mod newest;

use accepting::{Accepting, CancelOnDrop};
use called::{Called, key_of, park};
use newest::NewestError;
pub(crate) use newest::NewestVersions;

use crate::acceptor::{Accepted, Acceptor};
use crate::active_deployments::ActiveDeployments;
use crate::call_result;
use crate::cancel::Canceller;
use crate::deployment::{ActiveDeployment, Origin};
use crate::files::{FileService, OwnedRight};
use crate::journal::signal;
use crate::lease::Lease;
use crate::live::{self, End, Ended};
use crate::live_runs::LiveRuns;
use crate::retry::retry_while_unavailable;
use crate::run::{Caller, IdempotencyKey, NewRun, Run};
use crate::stop::Stop;
use heddle_catalogue::Start;
use heddle_model::error::{Code, ServiceError};
use heddle_model::file::{self, Holder};
use heddle_model::ids::{EnvironmentId, PatternId, RunId, UserId};
use heddle_model::slot::Slot;
use heddle_model::status::{DeploymentStatus, TriggeredBy};
use heddle_model::tenant::Tenant;
use heddle_runtime::{
    Call, CallContext, Calls, EffectCode, EffectError, EffectFuture, Progress, result_from_json,
};
use heddle_store::patterns::{self, PatternRow};
use heddle_store::runs::{journal, keys};
use heddle_store::{Store, StoreError, deployments, workspaces};
use serde_json::{Value, json};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::Semaphore;

/// How deep patterns call each other.
const DEPTH_MAX: u32 = 16;
/// How long a called run is waited for in memory.
const IN_MEMORY_MAX: Duration = Duration::from_secs(1);
/// KiB that called runs of a test run have given which it has no place for yet: of a test run nothing is stored.
const UNPLACED_KIB_MAX: usize = 64 << 10;

/// Calls patterns for runs.
pub(crate) struct PatternCalls {
    pub store: Store,
    pub lease: Arc<Lease>,
    pub live: Arc<LiveRuns>,
    pub active: Arc<ActiveDeployments>,
    pub newest: NewestVersions,
    pub acceptor: Arc<Acceptor>,
    pub canceller: Arc<Canceller>,
    pub files: FileService,
    pub stop: Stop,
}

/// The run that calls.
#[derive(Clone)]
struct CallingRun {
    /// `None`: a test run, of which nothing is stored.
    id: Option<RunId>,
    tenant: Tenant,
    /// Who owns the tenant, for whom is read what called runs have given; `None`: a test run, which parks at none.
    user: Option<UserId>,
    /// In a test run: room for results that have no place yet, in KiB.
    unplaced: Option<Arc<Semaphore>>,
    origin: Origin,
    depth: u32,
    owner: Arc<str>,
    /// Whether its executor has ended, so that it begins again and goes on to wait for what it has called.
    is_interrupted: Arc<AtomicBool>,
}

impl PatternCalls {
    /// How a run calls patterns.
    pub fn of_run(self: &Arc<Self>, run: &Run) -> Arc<dyn Calls> {
        self.of(CallingRun {
            id: Some(run.id),
            tenant: run.deployment.tenant,
            user: Some(run.deployment.owner),
            unplaced: None,
            origin: run.deployment.origin(),
            depth: run.depth,
            owner: run.owner.clone(),
            is_interrupted: Arc::default(),
        })
    }

    /// How a test run calls patterns.
    pub fn of_test(self: &Arc<Self>, tenant: Tenant, environment: Option<EnvironmentId>) -> Arc<dyn Calls> {
        self.of(CallingRun {
            id: None,
            tenant,
            user: None,
            unplaced: Some(Arc::new(Semaphore::new(UNPLACED_KIB_MAX))),
            origin: Origin {
                environment,
                is_main: true,
            },
            depth: 0,
            owner: self.lease.owner(),
            is_interrupted: Arc::default(),
        })
    }

    fn of(self: &Arc<Self>, run: CallingRun) -> Arc<dyn Calls> {
        Arc::new(RunCalls {
            calls: Arc::downgrade(self),
            run,
        })
    }
}

/// Calls for one run. Effects under way don't keep the service alive.
struct RunCalls {
    calls: Weak<PatternCalls>,
    run: CallingRun,
}

impl fmt::Debug for RunCalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RunCalls").field(&self.run.id).finish()
    }
}

impl Calls for RunCalls {
    /// Executes the effect. It may be executed more than once for one call, each time continuing from the state that the
    /// last execution has parked with: the first one starts the called run, the others find that run's id in the state.
    fn call(&self, call: Call, context: CallContext) -> EffectFuture {
        let (calls, run) = (self.calls.clone(), self.run.clone());
        Box::pin(async move {
            // The service has gone: the run is taken up again by the next one.
            let Some(calls) = calls.upgrade() else {
                return std::future::pending().await;
            };
            let effect = CallEffect { calls, run };
            let called = context
                .parked()
                .and_then(|state| Called::of_state(state, &context));
            match called {
                Some(called) => effect.wait_again(&called, &call, &context).await,
                None => effect.start(call, &context).await,
            }
        })
    }

    fn interrupted(&self) {
        // A test run does not begin again.
        self.run
            .is_interrupted
            .store(self.run.id.is_some(), Ordering::SeqCst);
    }
}

/// One execution of the effect.
struct CallEffect {
    calls: Arc<PatternCalls>,
    run: CallingRun,
}

impl CallEffect {
    /// Starts the called run, and waits for its end if that is wanted.
    async fn start(&self, mut call: Call, context: &CallContext) -> Result<Progress, EffectError> {
        let depth = self.run.depth.saturating_add(1);
        if depth > DEPTH_MAX {
            let message = format!(
                "Patterns call each other more than {DEPTH_MAX} levels deep here. Does one of them call \
                    itself endlessly?"
            );
            return Err(EffectError::new(EffectCode::CallDepth, message));
        }
        let key = key_of(&call, context);
        let (callee, node_id) = match self.target(&call).await {
            Ok(target) => target,
            Err(refused) => {
                let called = self.called_before(&key, &call, context).await;
                return called.unwrap_or(Err(refused));
            }
        };
        let event = std::mem::take(&mut call.inputs);
        let signal = context.signal_key();
        let id = self
            .files_of(event.get())
            .await
            .map_err(|error| unavailable(&error))?;
        let new = NewRun {
            triggered_by: TriggeredBy::Call,
            node_id: Some(node_id),
            event,
            text: None,
            // A run that starts again after a stop of the server finds the one that it has called.
            idempotency: self.run.id.map(|parent| IdempotencyKey::of_run(parent, key)),
            wait: call.wait,
            caller: Some(Caller {
                parent: self
                    .run
                    .id
                    .filter(|_| call.wait)
                    .map(|parent| (parent, signal.clone())),
                depth,
            }),
            id,
            deployment: callee,
        };
        let cancelling = call.wait.then(|| self.cancel_on_drop(None));
        let accepting = Accepting::begin(self.calls.acceptor.clone(), new, cancelling);
        let (run, end) = match accepting.accepted().await.map_err(|error| unavailable(&error))? {
            Accepted::New(ticket) => (ticket.run_id, Some(ticket.into_end())),
            Accepted::Duplicate(run) => (run, None),
        };
        if !call.wait {
            return Ok(json!({ "runId": run }).into());
        }
        match end {
            Some(end) => {
                let called = Called { run, signal };
                self.wait_in_memory(&called, end, &call, context).await
            }
            None => self.wait_for_former(run, &call, context).await,
        }
    }

    /// What is called, and where it begins.
    async fn target(&self, call: &Call) -> Result<(Arc<ActiveDeployment>, String), EffectError> {
        let callee = self.callee(call).await?;
        let trigger = callee.trigger(Start::Call).ok_or_else(|| {
            let message = format!(
                "The pattern `{}` has no OnCall node, so it can't be called.",
                call.pattern_id
            );
            EffectError::new(EffectCode::CallTarget, message)
        })?;
        let node_id = trigger.node_id.clone();
        Ok((callee, node_id))
    }

    /// What became of a call that was made before the run began again, whether or not it could be made now. `None`: there was none.
    async fn called_before(
        &self,
        key: &str,
        call: &Call,
        context: &CallContext,
    ) -> Option<Result<Progress, EffectError>> {
        let caller = self.run.id?;
        let read = move || async move {
            let mut reader = self.calls.store.reader().await?;
            keys::started_by(&mut reader.db(), caller, key).await
        };
        let run = retry_while_unavailable(read, log_wait).await.ok()??;
        if !call.wait {
            return Some(Ok(json!({ "runId": run }).into()));
        }
        Some(self.wait_for_former(run, call, context).await)
    }

    /// Waits for a run that was called before the run that calls began again. It leaves its end under the key that is stored with it: an
    /// older heddle may have chosen another one than this.
    async fn wait_for_former(
        &self,
        run: RunId,
        call: &Call,
        context: &CallContext,
    ) -> Result<Progress, EffectError> {
        let read = move || async move {
            let mut reader = self.calls.store.reader().await?;
            journal::parent_of(&mut reader.db(), run).await
        };
        let stored = retry_while_unavailable(read, log_wait).await;
        let stored = stored.map_err(|error| unavailable(&error.into()))?;
        let signal = stored.map_or_else(|| context.signal_key(), |(_, key)| key);
        self.wait_again(&Called { run, signal }, call, context).await
    }

    /// Waits for a run that was called by an execution of this effect before: in memory if it is here, and by what the
    /// database knows of it if it is not.
    async fn wait_again(
        &self,
        called: &Called,
        call: &Call,
        context: &CallContext,
    ) -> Result<Progress, EffectError> {
        let is_overdue = call.until_ms.is_some_and(|until_ms| until_ms <= context.now_ms());
        let live = self.calls.live.get(called.run);
        // Not kept while it is waited for: it has what the run gives.
        let end = live
            .filter(|live| !live.is_parked() && !is_overdue)
            .map(|live| live.watch());
        match end {
            Some(end) => self.wait_in_memory(called, end, call, context).await,
            None => self.look(called, call, context).await,
        }
    }

    /// Looks what the database knows of a called run.
    async fn look(
        &self,
        called: &Called,
        call: &Call,
        context: &CallContext,
    ) -> Result<Progress, EffectError> {
        let child = called.run;
        let is_overdue = call.until_ms.is_some_and(|until_ms| until_ms <= context.now_ms());
        let state = self.state_of(called, context).await;
        match state.map_err(|error| unavailable(&error))? {
            CalledRun::Ended(json) => {
                let ended = context.read(json).await?;
                self.with_files(child, result_from_json(ended)?).await
            }
            CalledRun::Running if is_overdue => {
                self.calls.canceller.cancel_by_service(child).await;
                let message = format!("The called run {child} took too long, and was cancelled.");
                Err(EffectError::new(EffectCode::Timeout, message))
            }
            CalledRun::Running => Ok(park(called, call, context)),
            CalledRun::Gone => {
                let message = format!("The called run {child} is gone: its deployment was deleted.");
                Err(EffectError::new(EffectCode::CallTarget, message))
            }
        }
    }

    /// Waits for the end in memory: for a moment if the caller can park, which it does then; else as long as it takes.
    async fn wait_in_memory(
        &self,
        called: &Called,
        end: End,
        call: &Call,
        context: &CallContext,
    ) -> Result<Progress, EffectError> {
        let mut guard = self.cancel_on_drop(Some(called.run));
        let ended = live::wait(end);
        let ended = match context.can_park() {
            false => Some(ended.await),
            true => tokio::time::timeout(IN_MEMORY_MAX, ended).await.ok(),
        };
        guard.child = None;
        match ended {
            Some(Some(ended)) => self.ended(called, ended, call, context).await,
            Some(None) => match self.is_going_on().await {
                // It was ended elsewhere just before it ended here, or is taken up again: the database knows.
                true => self.look(called, call, context).await,
                // The service stops: the run that waits is taken up again.
                false => std::future::pending().await,
            },
            None => Ok(park(called, call, context)),
        }
    }

    fn cancel_on_drop(&self, child: Option<RunId>) -> CancelOnDrop {
        CancelOnDrop {
            canceller: Arc::downgrade(&self.calls.canceller),
            lease: self.calls.lease.clone(),
            stop: self.calls.stop.clone(),
            owner: self.run.owner.clone(),
            is_interrupted: self.run.is_interrupted.clone(),
            child,
        }
    }

    /// Whether the run that waits has something stored, and goes on here.
    async fn is_going_on(&self) -> bool {
        let calls = &self.calls;
        self.run.id.is_some() && !calls.stop.has_begun() && calls.lease.is_held(&self.run.owner).await
    }

    /// What a called run gives that has ended here. While the run that calls has no place for it, it is not kept in memory, but read from
    /// the database afterwards.
    async fn ended(
        &self,
        called: &Called,
        ended: Arc<Ended>,
        call: &Call,
        context: &CallContext,
    ) -> Result<Progress, EffectError> {
        if !context.try_take_place() {
            let Some(unplaced) = &self.run.unplaced else {
                drop(ended);
                return self.look(called, call, context).await;
            };
            let kib = u32::try_from(ended.bytes() >> 10).unwrap_or(u32::MAX);
            let room = unplaced.clone().try_acquire_many_owned(kib);
            let _room = room.map_err(|_| too_much())?;
            context.take_place().await;
        }
        let json = call_result::output(called.run, &ended)?.to_owned();
        drop(ended);
        let value = context.read(json).await?;
        self.with_files(called.run, value).await
    }

    /// The id of the called run, if the inputs refer to files: it may read those that the caller may.
    async fn files_of(&self, inputs: &str) -> Result<Option<RunId>, ServiceError> {
        let right = match self.run.id {
            Some(caller) => OwnedRight::Holder(Holder::Run(caller)),
            // A test run of somebody who may read all files of the tenant.
            None => OwnedRight::Tenant,
        };
        let files = &self.calls.files;
        Ok(files.run_with(self.run.tenant, inputs, right).await?)
    }

    /// What the called run gives; the caller may read the files that it gives.
    async fn with_files(&self, child: RunId, value: Value) -> Result<Progress, EffectError> {
        if let Some(caller) = self.run.id
            && file::is_mentioned_in(&value)
        {
            let json = value.to_string();
            let by = (Holder::Run(caller), OwnedRight::Holder(Holder::Run(child)));
            let held = self.calls.files.hold(self.run.tenant, &json, by).await;
            held.map_err(|error| unavailable(&error.into()))?;
        }
        Ok(Progress::Done(value))
    }

    /// Asks the database for a called run; while the database is away, this waits: that is not a failure of the call. What the run has given is
    /// read once there is a place for it.
    async fn state_of(&self, called: &Called, context: &CallContext) -> Result<CalledRun, ServiceError> {
        let Some(parent) = self.run.id else {
            return Ok(CalledRun::Gone);
        };
        let key = called.signal.as_str();
        let read = move || async move {
            let mut reader = self.calls.store.reader().await?;
            // First, since the end leaves both at once.
            let running = journal::is_running(&mut reader.db(), called.run).await?;
            let has_ended = journal::has_signal(&mut reader.db(), parent, key).await?;
            Ok::<_, StoreError>((running, has_ended))
        };
        let (running, has_ended) = retry_while_unavailable(read, log_wait).await?;
        if !has_ended {
            return Ok(match running {
                Some(true) => CalledRun::Running,
                _ => CalledRun::Gone,
            });
        }
        context.take_place().await;
        let signal = signal(&self.calls.store, (parent, key), self.run.user).await?;
        Ok(signal.map_or(CalledRun::Gone, CalledRun::Ended))
    }

    /// What is called, if the caller may.
    async fn callee(&self, call: &Call) -> Result<Arc<ActiveDeployment>, EffectError> {
        let target = |message: String| EffectError::new(EffectCode::CallTarget, message);
        let missing = || {
            target(format!(
                "There is no pattern `{}` in this workspace.",
                call.pattern_id
            ))
        };
        let id: PatternId = call.pattern_id.parse().map_err(|_| missing())?;
        let row = self.pattern(id).await.map_err(|error| unavailable(&error))?;
        let row = row.ok_or_else(missing)?;
        inputs::check(&row, &call.inputs)?;
        let slot = self.calls.active.slot_for(id, self.run.origin).await;
        let slot = slot.map_err(|error| unavailable(&error))?;
        let active = self.calls.active.in_slot(slot).await;
        let Some(active) = active.map_err(|error| unavailable(&error))? else {
            let state = self.state(slot).await.map_err(|error| unavailable(&error))?;
            let message = format!(
                "The pattern `{}` ({id}) can't be called: it is {state}.",
                row.name
            );
            return Err(target(message));
        };
        match call.latest && active.version_number != row.version_number {
            false => Ok(active),
            true => self.newest(&active, &row).await,
        }
    }

    /// The pattern, if it is the caller's.
    async fn pattern(&self, id: PatternId) -> Result<Option<PatternRow>, ServiceError> {
        let row = patterns::for_system(&mut self.calls.store.reader().await?.db(), id).await?;
        Ok(row.filter(|row| Tenant::of(row.owner_id, row.workspace_id) == self.run.tenant))
    }

    async fn state(&self, slot: Slot) -> Result<&'static str, ServiceError> {
        let row = deployments::in_slot_for_system(&mut self.calls.store.reader().await?.db(), slot).await?;
        Ok(match row.map(|row| row.status) {
            Some(DeploymentStatus::Paused) => "paused",
            Some(DeploymentStatus::Failed) => "stopped; its deployment says why",
            _ if slot.is_main() => "not deployed",
            _ => "not deployed in the environment of the run that calls it",
        })
    }

    /// The name of the environment of a deployment, if that asks something of what is deployed to it.
    async fn ruled(&self, active: &ActiveDeployment) -> Result<Option<String>, ServiceError> {
        let Some(environment) = active.environment else {
            return Ok(None);
        };
        let mut reader = self.calls.store.reader().await?;
        Ok(workspaces::ruled_for_system(&mut reader.db(), environment).await?)
    }

    /// The newest version in the place of the deployed one. It would have that one's secrets and variables, and may be all that the
    /// environment's rules keep from them.
    async fn newest(
        &self,
        active: &ActiveDeployment,
        row: &PatternRow,
    ) -> Result<Arc<ActiveDeployment>, EffectError> {
        if let Some(environment) = self.ruled(active).await.map_err(|error| unavailable(&error))? {
            let message = format!(
                "The newest version of the pattern `{}` ({}) can't be called: the environment `{}` has rules for what is deployed \
                 to it, and has version {}. Deploy the newest one there, or call the one that is deployed.",
                row.name, row.version_number, environment, active.version_number
            );
            return Err(EffectError::new(EffectCode::CallTarget, message));
        }
        let found = self.calls.newest.in_place_of(active, row).await;
        found.map_err(|error| match error {
            NewestError::Failed(error) => unavailable(&error),
            refused => {
                let message = format!(
                    "The newest version of the pattern `{}` ({}) can't be called: {refused}",
                    row.name, row.version_number
                );
                EffectError::new(EffectCode::CallTarget, message)
            }
        })
    }
}

/// What the database knows of a called run.
enum CalledRun {
    /// It has ended, with this result as JSON.
    Ended(String),
    Running,
    /// There is no such run, and no result of it.
    Gone,
}

fn log_wait(reason: &str) {
    tracing::warn!("A called run can't be looked for yet: {reason}");
}

/// More than a test run may have others keep for it.
fn too_much() -> EffectError {
    let message = format!(
        "The runs that this test run calls at the same time have given more than {} MiB that it has not taken yet. Call fewer at \
         the same time, with a lower `concurrency`, or deploy the pattern: runs of deployments have no such limit.",
        UNPLACED_KIB_MAX >> 10
    );
    EffectError::new(EffectCode::OutputLimit, message)
}

fn unavailable(error: &ServiceError) -> EffectError {
    let code = match error.code() {
        Code::Unavailable => EffectCode::Unavailable,
        _ => EffectCode::Internal,
    };
    EffectError::new(
        code,
        format!("The pattern can't be called now: {}", error.message()),
    )
}
