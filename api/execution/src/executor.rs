//! Executing: one attempt of a run, from its place among the executing to what follows from it.

use crate::attempt::{self, Attempted, Decision, EndingRun, FinishedAttempt};
use crate::callbacks::Callbacks;
use crate::calls::PatternCalls;
use crate::cancel::Canceller;
use crate::dispatcher::ExecuteRuns;
use crate::environments::{EnvironmentValues, Environments};
use crate::error_pattern::ErrorPatterns;
use crate::held_runs::HeldRuns;
use crate::journal::{self, Continued, Journals};
use crate::lease::Lease;
use crate::live_runs::LiveRuns;
use crate::modules::Modules;
use crate::queue::Place;
use crate::recorder::Recorder;
use crate::retry::retry_while_unavailable;
use crate::run::Run;
use crate::run_error::{internal, run_error};
use crate::services::RunServices;
use crate::stored_event::stored_event;
use crate::strikes::Strikes;
use crate::tail::Tail;
use crate::waiting_runs::WaitingRuns;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use heddle_contract::abi::code;
use heddle_model::clock::{Clock, Timestamp};
use heddle_model::error::{Code, ServiceError, chain};
use heddle_model::ids::{RunId, WorkspaceId};
use heddle_model::quota::Exceeded;
use heddle_model::status::Phase;
use heddle_model::workspace_quota::{WorkspaceExceeded, WorkspaceQuota};
use heddle_runtime::{
    Company, Interrupted, Limits, Outcome, RunError, RunRequest, TRACE_TARGET, apart, aside,
};
use heddle_store::runs::{suspects, upkeep};
use heddle_store::{Store, StoreError, usage};
use metrics::counter;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tracing::field::Empty;
use tracing::{Instrument, Span};

/// How long to wait before asking a database again that does not answer.
const DATABASE_RETRY: Duration = Duration::from_millis(500);

/// Executes runs.
pub(crate) struct Executor {
    pub store: Store,
    pub clock: Clock,
    pub lease: Arc<Lease>,
    pub waiting: Arc<WaitingRuns>,
    pub limits: Limits,
    pub modules: Arc<Modules>,
    pub environments: Arc<Environments>,
    pub services: RunServices,
    pub journals: Journals,
    pub callbacks: Arc<Callbacks>,
    pub calls: Arc<PatternCalls>,
    pub error_patterns: ErrorPatterns,
    pub strikes: Strikes,
    pub canceller: Arc<Canceller>,
    pub live: Arc<LiveRuns>,
    pub held: Arc<HeldRuns>,
    pub tail: Tail,
    pub recorder: Recorder,
}

impl ExecuteRuns for Executor {
    fn execute(self: Arc<Self>, run: Run, place: Option<Place>) {
        tokio::spawn(async move {
            let _given_up = self.live.give_up_on_panic(&run);
            self.begin(run, place).await;
        });
    }

    fn attempt(self: Arc<Self>, run: Run) -> BoxFuture<'static, FinishedAttempt> {
        // The place before what is put there: one that is made first is copied whole, however little is in it yet.
        let place = Box::new_uninit();
        let attempt = Box::write(place, async move {
            let _given_up = self.live.give_up_on_panic(&run);
            self.perform(run).await
        });
        Box::into_pin(attempt)
    }

    fn finish_once_stored(
        self: Arc<Self>,
        attempt: BoxFuture<'static, FinishedAttempt>,
        stored: oneshot::Receiver<Arc<str>>,
        place: Place,
    ) {
        tokio::spawn(async move {
            // Whatever it does is of no use when it is not stored.
            if let Ok((owner, mut finished)) = tokio::try_join!(stored, attempt.map(Ok)) {
                finished.run.owner = owner;
                let _given_up = self.live.give_up_on_panic(&finished.run);
                self.finish(finished).await;
            }
            drop(place);
        });
    }
}

impl Executor {
    async fn begin(&self, run: Run, place: Option<Place>) {
        if !self.lease.is_held(&run.owner).await {
            return self.live.forget(&run);
        }
        if run.live.is_cancelled() || place.is_none() {
            let ending = EndingRun::without_executing(run, attempt::cancelled());
            return self.end(ending).await;
        }
        let Some(run) = self.held.hold_if_paused(run) else {
            return;
        };
        if run.was_taken && !self.is_still_taken(&run).await {
            return self.live.forget(&run);
        }
        if (run.is_suspect || run.deployment.is_struck) && !self.announce(&run).await {
            return self.live.forget(&run);
        }
        self.tail.phase(&run, Phase::Executing);
        let finished = self.perform(run).await;
        self.finish(finished).await;
        drop(place);
    }

    /// Whether a run that was taken from the database is still to be executed: it may have been cancelled there before it was in memory
    /// here, where it would hear of that. Of a run without effects nobody would notice.
    async fn is_still_taken(&self, run: &Run) -> bool {
        if !journal::is_needed(&run.deployment.manifest().rights) {
            return true;
        }
        let read = move || async move {
            let mut reader = self.store.reader().await?;
            Ok::<_, ServiceError>(upkeep::is_taken(&mut reader.db(), &run.owner, run.id).await?)
        };
        let read = read_patiently(run, read, "Whether the run goes on can't be read.").await;
        !matches!(read, Some(Ok(false)))
    }

    /// Says durably that the run is about to execute. `false`: it is not this server's any more.
    async fn announce(&self, run: &Run) -> bool {
        let write = || {
            let (owner, run) = (run.owner.clone(), run.id);
            self.store
                .write(move |db| Box::pin(async move { suspects::announce(db, &owner, run).await }))
        };
        let on_wait = |reason: &str| tracing::warn!("Runs under suspicion have to wait: {reason}");
        let announced = retry_while_unavailable(write, on_wait).await;
        announced.unwrap_or_else(|error: StoreError| {
            tracing::error!(run = %run.id, error = %chain(&error), "A run under suspicion can't begin");
            false
        })
    }

    /// Makes one attempt.
    async fn perform(&self, mut run: Run) -> FinishedAttempt {
        let span = span(&run);
        let (started_at, result) = {
            // Where it stays: handed to what enters the span, it would be copied twice, and is three kilobytes.
            let attempt = pin!(self.attempt_of(&mut run));
            attempt.instrument(span.clone()).await
        };
        note_end(&span, result.outcome());
        FinishedAttempt {
            run,
            started_at,
            result,
        }
    }

    /// Hands on what follows from an attempt.
    async fn finish(&self, mut finished: FinishedAttempt) {
        if finished.parks()
            && let Some(refusal) = self.refusal_to_wait(&finished.run).await
        {
            finished.refuse_to_wait(refusal);
        }
        let run = &finished.run;
        if run.live.is_lost() || !self.lease.is_held(&run.owner).await {
            return self.live.forget(run);
        }
        match finished.decide(self.clock.now()) {
            Decision::Concluded(conclusion) => self.recorder.record(conclusion).await,
            Decision::Ends(ending) => self.end(ending).await,
            Decision::IsDeadly(run) => {
                let ended = self.strikes.give_up(&run).await;
                self.end(EndingRun::without_executing(run, ended)).await;
            }
        }
    }

    /// Why a run may not wait: its workspace or its user has too many that do, or what is kept of them is too much. One that has
    /// waited before is counted already.
    async fn refusal_to_wait(&self, run: &Run) -> Option<RunError> {
        let is_new = !run.has_parked;
        if is_new && let Err(exceeded) = self.admit_to_wait(run).await {
            let code = Code::WorkspaceQuotaExceeded.name();
            return Some(run_error(code, exceeded.to_string()));
        }
        match self
            .waiting
            .add(run.deployment.owner, is_new, run.kept_bytes)
            .await
        {
            Ok(admitted) => {
                let refused =
                    |exceeded: Exceeded| run_error(Code::QuotaExceeded.name(), exceeded.to_string());
                admitted.err().map(refused)
            }
            // Parking says so too, and waits.
            Err(error) => {
                tracing::warn!(run = %run.id, error = %chain(&error), "Waiting runs can't be counted now");
                None
            }
        }
    }

    /// Counts one more of the workspace's runs that wait.
    async fn admit_to_wait(&self, run: &Run) -> Result<(), WorkspaceExceeded> {
        let (state, now) = (&run.deployment.state, self.clock.now());
        let mut admitted = state.admit_one(WorkspaceQuota::WaitingRuns, now);
        if admitted.is_err()
            && let Some(workspace) = state.recounts(WorkspaceQuota::WaitingRuns, now)
            && let Ok(waiting) = self.count_waiting(workspace).await
        {
            state.set_used(WorkspaceQuota::WaitingRuns, waiting);
            admitted = state.admit_one(WorkspaceQuota::WaitingRuns, now);
        }
        admitted
    }

    async fn count_waiting(&self, workspace: WorkspaceId) -> Result<i64, StoreError> {
        let mut reader = self.store.reader().await?;
        usage::count_waiting_runs(&mut reader.db(), workspace).await
    }

    /// Records the end of a run. One that has failed starts its error pattern before, unless it was cancelled, and cancels what it has called.
    pub async fn end(&self, ending: EndingRun) {
        if ending.ended.status.has_failed() {
            // Who has cancelled it knows, and of those that wait as rows nobody would tell either.
            if !ending.was_cancelled() {
                self.error_patterns.start(&ending.run, &ending.ended).await;
            }
            let called = self.canceller.called_by(&ending.run).await;
            // For which the database may have been waited for so long that the run is another server's.
            if !self.lease.is_held(&ending.run.owner).await {
                return self.live.forget(&ending.run);
            }
            self.canceller.cancel_each(called).await;
        }
        let now = self.clock.now();
        if !ending.is_large() {
            return self.recorder.record(ending.conclude(now)).await;
        }
        let (id, owner) = (ending.run.id, ending.run.deployment.owner.as_u128());
        match apart(|| aside(Some(owner), move || ending.conclude(now))).await {
            Some(conclusion) => self.recorder.record(conclusion).await,
            // A panic, which was told: it is taken up again as one that got lost.
            None => self.live.remove(id),
        }
    }

    /// When the run began, and what came of it. If the process that executes it ends, it begins again in one that has no
    /// other run, with what its journal holds by now.
    async fn attempt_of(&self, run: &mut Run) -> (Timestamp, Attempted) {
        let now = self.clock.now();
        let mut event = match self.event(run).await {
            Some(Ok(event)) => event,
            Some(Err(error)) => return (now, Attempted::Outcome(Outcome::refused(error))),
            None => return (now, Attempted::Cancelled),
        };
        let mut company = Company::Any;
        let event_bytes = event.get().len();
        loop {
            let continued = match self.continued(run, now).await {
                Some(Ok(continued)) => continued,
                Some(Err(error)) => return (now, Attempted::Outcome(Outcome::refused(error))),
                None => return (now, Attempted::Cancelled),
            };
            let began_at = continued
                .as_ref()
                .map_or(now, |it| Timestamp::from_millis(it.started_at_ms));
            let executed = self
                .run(run, event, (began_at, company), continued.as_ref())
                .await;
            let journal_bytes = continued.as_ref().map_or(0, Continued::bytes);
            run.kept_bytes = event_bytes.saturating_add(journal_bytes);
            run.has_history |= continued.is_some_and(|it| it.is_used());
            match (executed, company) {
                (Ok(result), _) => return (began_at, result),
                (Err(Interrupted { .. }), Company::None) => return (began_at, Attempted::Deadly),
                (Err(interrupted), Company::Any) => {
                    counter!("heddle_runs_taken_up_total").increment(1);
                    (event, company) = (interrupted.event, Company::None);
                }
            }
        }
    }

    /// Executes the run once.
    async fn run(
        &self,
        run: &Run,
        event: Box<RawValue>,
        (began_at, company): (Timestamp, Company),
        continued: Option<&Continued>,
    ) -> Result<Attempted, Interrupted> {
        let refused = |error| Ok(Attempted::Outcome(Outcome::refused(error)));
        let values = match self.values(run).await {
            Some(Ok(values)) => values,
            Some(Err(error)) => return refused(error),
            None => return Ok(Attempted::Cancelled),
        };
        let runtime = match self.modules.runtime().await {
            Ok(runtime) => runtime,
            Err(error) => return refused(internal(error.message())),
        };
        let callbacks = match self.callbacks(run).await {
            Some(Ok(callbacks)) => callbacks,
            Some(Err(error)) => return refused(error),
            None => return Ok(Attempted::Cancelled),
        };
        let request = self.request(run, event, (began_at, callbacks), continued, &values);
        tokio::select! {
            biased;
            () = run.live.interrupted() => Ok(Attempted::Cancelled),
            outcome = runtime.attempt(&run.deployment.program, request, company) => outcome.map(Attempted::Outcome),
        }
    }

    fn request(
        &self,
        run: &Run,
        event: Box<RawValue>,
        (began_at, callbacks): (Timestamp, Option<heddle_runtime::Callbacks>),
        continued: Option<&Continued>,
        values: &EnvironmentValues,
    ) -> RunRequest {
        let rights = &run.deployment.manifest().rights;
        let may = |kind: &str| rights.effects.iter().any(|right| right == kind);
        let secret = |name: &String| Some((name.clone(), values.secrets.get(name)?.clone()));
        let run_id = run.id.to_string();
        RunRequest {
            seed: seed_of(&run_id),
            run_id,
            pattern_id: run.deployment.pattern_id().to_string(),
            attempt: run.attempt,
            triggered_by: run.triggered_by.name().to_owned(),
            started_at_ms: began_at.millis(),
            trigger_node_id: run.node_id.clone(),
            event,
            variables: values.variables.clone(),
            secrets: rights.secrets.iter().filter_map(secret).collect(),
            journal: continued.map(|it| it.journal.clone()),
            replay: None,
            calls: may("call").then(|| self.calls.of_run(run)),
            callbacks,
            services: self.services.of_run(run),
            watcher: None,
            on_wait: (!rights.effects.is_empty()).then(|| self.tail.on_wait(run)),
            is_contained: false,
            withholds_secrets: false,
            owner: Some(run.deployment.owner.as_u128()),
            tenant: Some(run.deployment.tenant.as_u128()),
            limits: run.deployment.state.of_a_run(&self.limits),
        }
    }

    /// The event, taken out of the run or read from the database. `None`: the run was cancelled or lost.
    async fn event(&self, run: &mut Run) -> Option<Result<Box<RawValue>, RunError>> {
        if let Some(event) = run.event.take() {
            return Some(Ok(event));
        }
        let read = || stored_event(&self.store, run.id);
        apart(|| read_patiently(run, read, "The run's event can't be read.")).await
    }

    /// The journal of a run that may have effects. `None`: the run was cancelled or lost.
    async fn continued(&self, run: &Run, now: Timestamp) -> Option<Result<Option<Continued>, RunError>> {
        if !journal::is_needed(&run.deployment.manifest().rights) {
            return Some(Ok(None));
        }
        let read = || self.journals.continued(run, now.millis());
        let failed = "What the run did before can't be read.";
        let read = apart(|| read_patiently(run, read, failed)).await?;
        Some(read.map(Some))
    }

    /// How the run makes its callback URLs, if it may. `None`: the run was cancelled or lost.
    async fn callbacks(&self, run: &Run) -> Option<Result<Option<heddle_runtime::Callbacks>, RunError>> {
        let effects = &run.deployment.manifest().rights.effects;
        if !effects.iter().any(|right| right == "callback") {
            return Some(Ok(None));
        }
        if !run.has_history {
            return Some(Ok(Some(self.callbacks.of(run.id))));
        }
        let read = || self.callbacks.of_continued(run.id);
        let failed = "How the run makes its URLs can't be read.";
        let read = apart(|| read_patiently(run, read, failed)).await?;
        Some(read.map(Some))
    }

    /// What the run's environment gives it. `None`: the run was cancelled or lost.
    async fn values(&self, run: &Run) -> Option<Result<Arc<EnvironmentValues>, RunError>> {
        let read = || self.environments.values(run.deployment.environment);
        read_patiently(run, read, "The run's secrets and variables can't be read.").await
    }
}

/// The span of an attempt, for traces.
fn span(run: &Run) -> Span {
    tracing::info_span!(
        target: TRACE_TARGET, parent: None, "run",
        otel.name = "run", otel.kind = "consumer", otel.status_code = Empty,
        heddle.run_id = %run.id, heddle.pattern_id = %run.deployment.pattern_id(),
        heddle.deployment_id = %run.deployment.id, heddle.attempt = run.attempt,
        heddle.triggered_by = run.triggered_by.name(), heddle.fuel_used = Empty, error.type = Empty,
    )
}

/// Codes only: messages may hold what the run was about.
fn note_end(span: &Span, outcome: Option<&Outcome>) {
    let error = match outcome {
        Some(outcome) => {
            span.record("heddle.fuel_used", outcome.usage.fuel_used);
            outcome.error.as_ref().map(|error| error.code.as_str())
        }
        None => Some(code::CANCELLED),
    };
    if let Some(code) = error {
        span.record("error.type", code);
        span.record("otel.status_code", "ERROR");
    }
}

/// Seed of a run's random numbers: the same for all of its executions.
pub fn seed(run: RunId) -> u64 {
    seed_of(&run.to_string())
}

/// The seed, from the run's id as text.
fn seed_of(run: &str) -> u64 {
    let digest = Sha256::digest(run.as_bytes());
    digest.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// Reads what a run needs. A database that is away is waited for; `None`: the run was cancelled or lost.
async fn read_patiently<T, F: Future<Output = Result<T, ServiceError>>>(
    run: &Run,
    read: impl Fn() -> F,
    failed: &str,
) -> Option<Result<T, RunError>> {
    loop {
        match read().await {
            Ok(found) => return Some(Ok(found)),
            Err(error) if error.code() == Code::Unavailable => tokio::select! {
                () = run.live.interrupted() => return None,
                () = tokio::time::sleep(DATABASE_RETRY) => {}
            },
            Err(error) => {
                tracing::error!(run = %run.id, "{failed} {}", chain(&error));
                return Some(Err(internal(failed)));
            }
        }
    }
}
