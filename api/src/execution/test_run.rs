//! Test runs: a module that its sender compiled, or made up, runs once for whoever sent it, under the same limits
//! as everything else of their workspace. Nothing of it is stored.

use super::compile::{Asker, Compiled, LoadFailure, Sources};
use super::queue::{Class, Place, Share};
use super::{Executions, Tenant};
use crate::access::{Editor, Scope};
use crate::error::{ApiError, Code};
use crate::ids::UserId;
use crate::store::workspaces;
use heddle_compiler::Options;
use heddle_contract::abi::code;
use heddle_runtime::{Limits, Outcome, ProgramError, RunRequest, Tier};
use serde_json::value::RawValue;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// What is to run.
#[derive(Debug)]
pub struct TestRun {
    /// A module, which may come from anyone.
    pub wasm: Vec<u8>,
    /// eventData as JSON.
    pub event: Box<RawValue>,
}

/// Why there is no outcome.
#[derive(Debug)]
pub enum TestRunError {
    /// The module is none that may run here.
    Refused(ProgramError),
    /// Anything else: no free place in time, or the time limit.
    Other(ApiError),
}

impl From<ApiError> for TestRunError {
    fn from(error: ApiError) -> Self {
        TestRunError::Other(error)
    }
}

impl Executions {
    /// Compiles a graph for a test run, in the caller's turn.
    pub async fn transpile(
        &self,
        scope: &Scope,
        sources: Sources,
        options: Options,
    ) -> Result<Compiled, ApiError> {
        let mut session = self.0.compilers.session(Asker::Request(scope.user())).await?;
        session.graph(&self.0.budget, sources, options).await
    }

    /// Runs a module in the caller's default environment. The outcome, and whether it has a trace.
    pub async fn test_run(&self, editor: &Editor, run: TestRun) -> Result<(Outcome, bool), TestRunError> {
        let inner = &self.0;
        let runtime = inner.runtime().await?.clone();
        let loaded = inner
            .loaded(run.wasm, Tier::Fast, Asker::Request(editor.user()))
            .await;
        let program = loaded.map_err(|failure| match failure {
            LoadFailure::Program(error) => TestRunError::Refused(error),
            LoadFailure::Other(error) => TestRunError::Other(error),
        })?;
        let environment = self.default_environment(editor).await?;
        let given = inner.environments.given(environment).await?;
        let tenant = Tenant::of(editor.user(), editor.workspace());
        let share = Share {
            owner: self.owner(editor).await?,
            tenant,
        };
        let _place = self.place(share, inner.test_timeout).await?;
        let limits = Limits {
            deadline: inner.test_timeout.min(inner.limits.deadline),
            ..inner.limits.clone()
        };
        let deadline = limits.deadline;
        let request = RunRequest {
            run_id: uuid::Uuid::now_v7().to_string(),
            pattern_id: "test".to_owned(),
            attempt: 1,
            triggered_by: "manual".to_owned(),
            started_at_ms: inner.clock.now().millis(),
            seed: rand::random(),
            trigger_node_id: None,
            event: run.event,
            variables: given.variables.clone(),
            secrets: given.secrets.clone(),
            journal: None,
            calls: Some(inner.calls_of_test(tenant)),
            callbacks: None,
            services: inner.test_services(tenant),
            limits,
        };
        let started = Instant::now();
        let outcome = runtime.run(&program, request).await;
        let own_ms = program.manifest().settings.timeout_ms.map(Duration::from_millis);
        let allowed = own_ms.map_or(deadline, |own| own.min(deadline));
        let ran_out = outcome
            .error
            .as_ref()
            .is_some_and(|error| error.code == code::TIMEOUT);
        // A request of the run that took too long has the same code, but ends before the run's time is over.
        if ran_out && started.elapsed() >= allowed {
            let message = format!("The execution took longer than {} ms.", allowed.as_millis());
            return Err(Code::ExecutionTimeout.with(message).into());
        }
        Ok((outcome, program.manifest().trace))
    }

    async fn default_environment(
        &self,
        editor: &Editor,
    ) -> Result<Option<crate::ids::EnvironmentId>, ApiError> {
        let Some(workspace) = editor.workspace() else {
            return Ok(None);
        };
        let mut reader = self.0.store.reader().await?;
        let environment = workspaces::default_environment(&mut reader.db(), workspace).await?;
        Ok(environment.map(|environment| environment.id))
    }

    /// Who owns the workspace that the caller is in.
    async fn owner(&self, editor: &Editor) -> Result<UserId, ApiError> {
        let Some(workspace) = editor.workspace() else {
            return Ok(editor.user());
        };
        let owner = workspaces::owner(&mut self.0.store.reader().await?.db(), workspace).await?;
        Ok(owner.unwrap_or(editor.user()))
    }

    /// A place among the executing runs of a tenant.
    async fn place(&self, share: Share, patience: Duration) -> Result<Place, ApiError> {
        let full = || {
            Code::Unavailable
                .with("Too many runs of your workspace execute: try again shortly.")
                .retry_after_s(1)
        };
        let reservation = self.0.queue.reserve(share, 0).map_err(|_| full())?;
        let (sender, place) = oneshot::channel();
        let start = Box::new(move |place: Option<Place>| {
            // Whoever waited has gone when it comes back, and with it the place.
            drop(place.map(|place| sender.send(place)));
        });
        self.0
            .queue
            .push(share, Class::Awaited, None, Some(reservation), start);
        match tokio::time::timeout(patience, place).await {
            Ok(Ok(place)) => Ok(place),
            _ => Err(full()),
        }
    }
}
