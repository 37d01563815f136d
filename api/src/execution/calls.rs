//! CallPattern between deployed patterns: who may call what with which inputs, and how a run waits for the one that it
//! has called. At first in memory; after a moment the waiting run parks, so that runs that wait for each other never
//! take all places.

mod inputs;

use super::acceptor::{self, Accepted};
use super::active::ActiveDeployment;
use super::compile::{Asker, LoadFailure, Sources};
use super::live::{self, Ended};
use super::recover::End;
use super::status::{DeploymentStatus, RunStatus, TriggeredBy};
use super::worker::Job;
use super::{Inner, Tenant};
use crate::error::{ApiError, Code};
use crate::ids::{PatternId, RunId};
use crate::store::deployments;
use crate::store::patterns::{self, PatternRow};
use crate::store::runs::journal;
use heddle_compiler::Options;
use heddle_contract::abi::code;
use heddle_runtime::{
    Call, Calls, EffectContext, EffectError, EffectFuture, EffectResult, Park, Tier, result_from_json,
    result_to_json,
};
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

/// How deep patterns call each other.
const DEPTH_MAX: u32 = 16;
/// How long a called run is waited for in memory.
const IN_MEMORY_MAX: Duration = Duration::from_secs(1);
/// A parked run looks after the one that it waits for so often, should its end not be told: it may be deleted.
const LOOK_EVERY_MS: i64 = 60 * 60 * 1_000;
/// Compiled newest versions that are kept; past this many the cache starts anew.
const LATEST_MAX: usize = 256;
/// How long each is kept: less than its stored module is without being used.
const LATEST_AGE_MAX: Duration = Duration::from_secs(60 * 60);

/// Newest versions of patterns that were called as such.
pub(super) type Latest = Mutex<HashMap<PatternId, (Instant, Arc<ActiveDeployment>)>>;

/// Calls for one run.
pub(super) struct RunCalls {
    inner: Weak<Inner>,
    run: CallingRun,
}

/// The run that calls.
#[derive(Clone)]
struct CallingRun {
    /// `None`: a test run, of which nothing is stored.
    id: Option<RunId>,
    tenant: Tenant,
    depth: u32,
    owner: Arc<str>,
}

impl fmt::Debug for RunCalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RunCalls").field(&self.run.id).finish()
    }
}

impl Inner {
    /// How a run calls patterns.
    pub(super) fn calls_of(self: &Arc<Self>, job: &Job) -> Arc<dyn Calls> {
        Arc::new(RunCalls {
            inner: Arc::downgrade(self),
            run: CallingRun {
                id: Some(job.run),
                tenant: job.deployment.tenant,
                depth: job.depth,
                owner: job.owner.clone(),
            },
        })
    }

    /// How a test run calls patterns.
    pub(super) fn calls_of_test(self: &Arc<Self>, tenant: Tenant) -> Arc<dyn Calls> {
        Arc::new(RunCalls {
            inner: Arc::downgrade(self),
            run: CallingRun {
                id: None,
                tenant,
                depth: 0,
                owner: self.lease.owner(),
            },
        })
    }
}

impl Calls for RunCalls {
    fn call(&self, call: Call, context: EffectContext) -> EffectFuture {
        let (inner, run) = (self.inner.clone(), self.run.clone());
        Box::pin(async move {
            let Some(inner) = inner.upgrade() else {
                return std::future::pending().await;
            };
            let caller = Caller { inner, run };
            let known = context
                .parked
                .as_ref()
                .and_then(|state| state["runId"].as_str()?.parse().ok());
            match known {
                Some(child) => caller.await_known(child, &call, &context).await,
                None => caller.begin(call, &context).await,
            }
        })
    }
}

struct Caller {
    inner: Arc<Inner>,
    run: CallingRun,
}

impl Caller {
    async fn begin(&self, call: Call, context: &EffectContext) -> EffectResult {
        let depth = self.run.depth.saturating_add(1);
        if depth > DEPTH_MAX {
            let message = format!(
                "Patterns call each other more than {DEPTH_MAX} deep here. Does one of them call itself without end?"
            );
            return Err(EffectError::new(code::CALL_DEPTH, message));
        }
        let callee = self.callee(&call).await?;
        let trigger = callee.trigger("OnCall").ok_or_else(|| {
            let message = format!(
                "The pattern `{}` has no OnCall node, so it can't be called.",
                call.pattern_id
            );
            EffectError::new(code::CALL_TARGET, message)
        })?;
        let request = acceptor::Request {
            triggered_by: TriggeredBy::Call,
            node_id: Some(trigger.node_id.clone()),
            event: to_raw_value(&call.inputs).map_err(|error| unavailable(&ApiError::internal(error)))?,
            // A run that starts again after a stop of the server finds the one that it has called.
            key: self.run.id.map(|parent| {
                (
                    parent.to_string(),
                    format!("call {}@{}", context.key, context.attempt),
                )
            }),
            wait: call.wait,
            parent: self
                .run
                .id
                .filter(|_| call.wait)
                .map(|parent| (parent, context.key.clone())),
            depth,
            deployment: callee,
        };
        let accepted = acceptor::accept(&self.inner, request).await;
        let (child, end) = match accepted.map_err(|error| unavailable(&error))? {
            Accepted::New(ticket) => (ticket.run_id, Some(ticket.into_end())),
            Accepted::Duplicate(run) => (run, None),
        };
        if !call.wait {
            return Ok(json!({ "runId": child }));
        }
        match end {
            Some(end) => self.await_end(child, end, &call, context).await,
            None => self.await_known(child, &call, context).await,
        }
    }

    /// Waits for a run that was called in a former execution.
    async fn await_known(&self, child: RunId, call: &Call, context: &EffectContext) -> EffectResult {
        let is_overdue = call.until_ms.is_some_and(|until_ms| until_ms <= context.now_ms());
        let live = self.inner.live().get(&child).cloned();
        if let Some(live) = live.filter(|live| !live.is_parked() && !is_overdue) {
            let end = live.watch();
            return self.await_end(child, end, call, context).await;
        }
        let looked = self.look(child, context).await;
        match looked.map_err(|error| unavailable(&error))? {
            Looked::Told(result) => result,
            Looked::Running if is_overdue => {
                self.inner.cancel_by_service(child).await;
                let message = format!("The called run {child} took too long, and was cancelled.");
                Err(EffectError::new(code::TIMEOUT, message))
            }
            Looked::Running => park(child, call, context),
            Looked::Gone => {
                let message = format!("The called run {child} is gone: its deployment was deleted.");
                Err(EffectError::new(code::CALL_TARGET, message))
            }
        }
    }

    async fn await_end(&self, child: RunId, end: End, call: &Call, context: &EffectContext) -> EffectResult {
        let mut guard = CancelOnDrop {
            inner: Arc::downgrade(&self.inner),
            owner: self.run.owner.clone(),
            child: Some(child),
        };
        let ended = live::wait(end);
        let ended = match context.can_park() {
            false => Some(ended.await),
            true => tokio::time::timeout(IN_MEMORY_MAX, ended).await.ok(),
        };
        guard.child = None;
        match ended {
            Some(Some(ended)) => result(child, &ended),
            // The service stops: the run that waits is taken up again.
            Some(None) => std::future::pending().await,
            None => park(child, call, context),
        }
    }

    /// What the database knows of a called run.
    async fn look(&self, child: RunId, context: &EffectContext) -> Result<Looked, ApiError> {
        let mut reader = self.inner.store.reader().await?;
        let running = journal::is_running(&mut reader.db(), child).await?;
        let Some(parent) = self.run.id else {
            return Ok(Looked::Gone);
        };
        let signals = journal::signals(&mut reader.db(), parent).await?;
        let told = signals.into_iter().find(|(key, _)| *key == context.key);
        Ok(match (told, running) {
            (Some((_, payload)), _) => Looked::Told(result_from_json(
                serde_json::from_str(&payload).unwrap_or_default(),
            )),
            (None, Some(true)) => Looked::Running,
            (None, _) => Looked::Gone,
        })
    }

    /// What is called, if the caller may.
    async fn callee(&self, call: &Call) -> Result<Arc<ActiveDeployment>, EffectError> {
        let target = |message: String| EffectError::new(code::CALL_TARGET, message);
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
        let active = self
            .inner
            .active_for(id)
            .await
            .map_err(|error| unavailable(&error))?;
        let Some(active) = active else {
            let state = self.state(id).await.map_err(|error| unavailable(&error))?;
            let message = format!(
                "The pattern `{}` ({id}) can't be called: it is {state}.",
                row.name
            );
            return Err(target(message));
        };
        match call.latest && active.version_number != row.version_number {
            false => Ok(active),
            true => self.latest(&active, &row).await,
        }
    }

    /// The pattern, if it is the caller's.
    async fn pattern(&self, id: PatternId) -> Result<Option<PatternRow>, ApiError> {
        let row = patterns::for_system(&mut self.inner.store.reader().await?.db(), id).await?;
        Ok(row.filter(|row| Tenant::of(row.owner_id, row.workspace_id) == self.run.tenant))
    }

    async fn state(&self, id: PatternId) -> Result<&'static str, ApiError> {
        let row = deployments::for_system(&mut self.inner.store.reader().await?.db(), id).await?;
        Ok(match row.map(|row| row.status) {
            Some(DeploymentStatus::Paused) => "paused",
            Some(DeploymentStatus::Failed) => "stopped, for the reason that its deployment tells",
            _ => "not deployed",
        })
    }

    /// The newest version in the place of the deployed one.
    async fn latest(
        &self,
        active: &ActiveDeployment,
        row: &PatternRow,
    ) -> Result<Arc<ActiveDeployment>, EffectError> {
        let kept = || self.inner.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept().get(&row.id).cloned();
        let is_same = |(made_at, found): &(Instant, Arc<ActiveDeployment>)| {
            made_at.elapsed() < LATEST_AGE_MAX
                && (found.id, found.environment, found.version_number)
                    == (active.id, active.environment, row.version_number)
        };
        if let Some((_, found)) = found.filter(is_same) {
            return Ok(found);
        }
        let compiled = self
            .compiled(active, row)
            .await
            .map_err(|error| unavailable(&error))?;
        let compiled = Arc::new(compiled.map_err(|reason| {
            let message = format!(
                "The newest version of the pattern `{}` ({}) can't be called: {reason}",
                row.name, row.version_number
            );
            EffectError::new(code::CALL_TARGET, message)
        })?);
        let mut kept = kept();
        if kept.len() >= LATEST_MAX {
            kept.clear();
        }
        kept.insert(row.id, (Instant::now(), compiled.clone()));
        Ok(compiled)
    }

    async fn compiled(
        &self,
        active: &ActiveDeployment,
        row: &PatternRow,
    ) -> Result<Result<ActiveDeployment, String>, ApiError> {
        let inner = &self.inner;
        let graph =
            patterns::graph(&mut inner.store.reader().await?.db(), row.id, row.version_number).await?;
        let graph = RawValue::from_string(graph.unwrap_or_default()).map_err(ApiError::internal)?;
        let sources = Sources::of_graph(graph);
        let mut session = inner.compilers.session(Asker::Deployment(row.owner_id)).await?;
        let compiled = session.graph(&inner.budget, sources, Options::default()).await?;
        let Some(artifact) = compiled.artifact else {
            let first = compiled.errors.into_iter().next();
            return Ok(Err(
                first.map_or_else(|| "it has errors.".into(), |error| error.message)
            ));
        };
        let loaded = match inner.plan(artifact.wasm.clone(), Tier::Optimized).await {
            Ok(plan) => session.load(inner.runtime().await?, plan).await,
            Err(failure) => Err(failure),
        };
        drop(session);
        let program = match loaded {
            Ok(program) => program,
            Err(LoadFailure::Program(error)) => return Ok(Err(error.to_string())),
            Err(LoadFailure::Other(error)) => return Err(error),
        };
        let (hash, now) = (hex::encode(program.digest()), inner.clock.now());
        let (key, wasm) = (hash.clone(), artifact.wasm);
        inner
            .store
            .write(move |db| Box::pin(async move { deployments::keep_artifact(db, &key, &wasm, now).await }))
            .await?;
        Ok(Ok(ActiveDeployment {
            version_number: row.version_number,
            artifact: hash,
            program,
            ..active.clone()
        }))
    }
}

enum Looked {
    Told(EffectResult),
    Running,
    Gone,
}

/// Cancels a run that is not waited for any more, except when the service stops, or the run that waits goes on at
/// another server.
struct CancelOnDrop {
    inner: Weak<Inner>,
    owner: Arc<str>,
    child: Option<RunId>,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let (Some(inner), Some(child)) = (self.inner.upgrade(), self.child) else {
            return;
        };
        if *inner.stopping.borrow() {
            return;
        }
        if let Ok(handle) = tokio::runtime::Handle::try_current() {
            let owner = self.owner.clone();
            handle.spawn(async move {
                if inner.lease.is_held(&owner).await {
                    inner.cancel_by_service(child).await;
                }
            });
        }
    }
}

fn park(child: RunId, call: &Call, context: &EffectContext) -> EffectResult {
    let look_at_ms = context.now_ms().saturating_add(LOOK_EVERY_MS);
    context.park(Park {
        wake_at_ms: Some(
            call.until_ms
                .map_or(look_at_ms, |until_ms| until_ms.min(look_at_ms)),
        ),
        state: json!({ "runId": child, "untilMs": call.until_ms }),
    })
}

/// The end of a called run, as the effect of the one that waits for it.
fn result(run: RunId, ended: &Ended) -> EffectResult {
    match (&ended.error, ended.status) {
        (None, RunStatus::Success) => {
            let output = ended
                .output
                .as_deref()
                .map(|output| serde_json::from_str(output.get()));
            // What was given out as JSON is JSON.
            Ok(output.and_then(Result::ok).unwrap_or_default())
        }
        (error, _) => {
            let (code, message, node_id) = match error {
                Some(error) => (
                    error.code.as_str(),
                    error.message.as_str(),
                    error.node_id.as_deref(),
                ),
                None => (code::INTERNAL, "it has no error", None),
            };
            let at = node_id
                .map(|node_id| format!(" at its node `{node_id}`"))
                .unwrap_or_default();
            let message = format!("The called run {run} failed{at}: {message}");
            Err(EffectError::new(code, message))
        }
    }
}

/// The same as a run is told that waits for it as a row only.
pub(super) fn told(run: RunId, ended: &Ended) -> String {
    result_to_json(result(run, ended)).to_string()
}

fn unavailable(error: &ApiError) -> EffectError {
    let code = match error.code() {
        Code::Unavailable => "UNAVAILABLE",
        _ => code::INTERNAL,
    };
    EffectError::new(
        code,
        format!("The pattern can't be called now: {}", error.message()),
    )
}
