//! Test runs: a module that its sender compiled, or made up, runs once for whoever sent it, under the same limits
//! as everything else of their workspace. Nothing of it is stored but what it used.

use crate::blocking::computing_if_large;
use crate::calls::PatternCalls;
use crate::compile::validation::NeededRights;
use crate::compile::{Asker, Compiled, LoadFailure, RenameRequest, Renamed, Sources, Validation};
use crate::environments::{EnvironmentValues, Environments};
use crate::modules::Modules;
use crate::queue::{Class, Place, Queue, Share};
use crate::services::RunServices;
use crate::tenants::Tenants;
use crate::test_usage::TestMeter;
use heddle_compiler::Options;
use heddle_contract::abi::code;
use heddle_model::access::{Editor, Scope};
use heddle_model::audit::{Action, Object};
use heddle_model::clock::{Clock, Timestamp};
use heddle_model::error::{Code, Detail, ServiceError};
use heddle_model::file::{mentioned, mentioned_within};
use heddle_model::ids::{EnvironmentId, UserId};
use heddle_model::tenant::Tenant;
use heddle_runtime::{Limits, Outcome, Program, ProgramError, RunRequest, Runtime, Secrets, Tier, Watcher};
use heddle_store::{Store, audit, workspaces};
use serde_json::value::RawValue;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// Rights that a refusal names.
const NAMED_MAX: usize = 20;

#[derive(Debug)]
pub struct TestRun {
    /// A module, which may come from anyone.
    pub wasm: Vec<u8>,
    /// eventData as JSON.
    pub event: Box<RawValue>,
    /// How it differs from others.
    pub options: TestOptions,
}

/// How a test run differs from others.
#[derive(Debug, Default)]
pub struct TestOptions {
    /// Node at which to start; `None`: OnManual, or else the first trigger in the graph.
    pub trigger_node_id: Option<String>,
    /// Where secrets and variables come from; `None`: the workspace's default.
    pub environment: Option<EnvironmentId>,
    /// Seed of random numbers; `None`: another one for each run.
    pub seed: Option<u64>,
    /// "Now" for the whole run; `None`: the present.
    pub started_at: Option<Timestamp>,
    /// Whoever is told what it does as it happens.
    pub watcher: Option<Watcher>,
    /// Whether it ends before anything of it reaches outside.
    pub is_contained: bool,
    /// Whether somebody approves what it may reach, where the environment asks for that; only somebody with the role admin can.
    pub approves_rights: bool,
}

/// Why there is no outcome.
#[derive(Debug)]
pub enum TestRunError {
    /// The module can't run here.
    Refused(ProgramError),
    /// Anything else: no free place in time, or the time limit.
    Other(ServiceError),
}

impl From<ServiceError> for TestRunError {
    fn from(error: ServiceError) -> Self {
        TestRunError::Other(error)
    }
}

/// Makes test runs.
pub(crate) struct TestRuns {
    pub store: Store,
    pub clock: Clock,
    /// How long every test run may take.
    pub timeout: Duration,
    pub limits: Limits,
    pub tenants: Tenants,
    pub modules: Arc<Modules>,
    pub environments: Arc<Environments>,
    pub services: RunServices,
    pub calls: Arc<PatternCalls>,
    pub queue: Queue,
    pub meter: TestMeter,
}

impl TestRuns {
    /// Compiles a graph for a test run, in the caller's turn.
    pub async fn transpile(
        &self,
        scope: &Scope,
        sources: Sources,
        options: Options,
    ) -> Result<Compiled, ServiceError> {
        let mut session = self.modules.session(Asker::Request(scope.user())).await?;
        self.modules.compile(&mut session, sources, options).await
    }

    /// Finds out what is known of a graph, and of its rights if wanted, in the caller's turn.
    pub async fn validate(
        &self,
        scope: &Scope,
        sources: Sources,
        with_rights: bool,
    ) -> Result<Validation, ServiceError> {
        let mut session = self.modules.session(Asker::Request(scope.user())).await?;
        self.modules.validate(&mut session, sources, with_rights).await
    }

    /// Finds the places that change with a node's label, in the caller's turn.
    pub async fn rename(
        &self,
        scope: &Scope,
        sources: Sources,
        wanted: RenameRequest,
    ) -> Result<Renamed, ServiceError> {
        let mut session = self.modules.session(Asker::Request(scope.user())).await?;
        self.modules.rename(&mut session, sources, wanted).await
    }

    /// Makes a module ready to run in an environment of the caller's, and waits for a place. What is wrong with the request
    /// is found out here.
    pub async fn prepare(&self, editor: &Editor, run: TestRun) -> Result<PreparedTest, TestRunError> {
        let runtime = self.modules.runtime().await?.clone();
        let TestRun { wasm, event, options } = run;
        let environment = match options.environment {
            Some(environment) => Some(self.environment(editor, environment).await?),
            None => self.default_environment(editor).await?,
        };
        // The event and the pins, which are part of the module, were given by somebody who may read all of the tenant's files.
        let bytes = wasm.len().saturating_add(event.get().len());
        let look = move || {
            let mut files = mentioned(event.get());
            files.extend(mentioned_within(&wasm));
            (files, wasm, event)
        };
        let (files, wasm, event) = computing_if_large(Some(editor.user()), bytes, look).await?;
        let loaded = self
            .modules
            .loaded(wasm, Tier::Fast, Asker::Request(editor.user()))
            .await;
        let program = loaded.map_err(|failure| match failure {
            LoadFailure::Program(error) => TestRunError::Refused(error),
            LoadFailure::Other(error) => TestRunError::Other(error),
        })?;
        let protected = self.protected(editor, environment).await?;
        // A contained one may run there, but what is signed with a secret is as good as the secret.
        let withholds_secrets = protected.is_some() && options.is_contained;
        if let Some(environment) = protected.filter(|_| !options.is_contained) {
            let asked = (&program, options.approves_rights);
            self.guard(editor, environment, asked).await?;
        }
        if let Some(wanted) = &options.trigger_node_id
            && !program
                .manifest()
                .triggers
                .iter()
                .any(|trigger| trigger.node_id == *wanted)
        {
            return Err(ServiceError::field("triggerNodeId", "is not a trigger of this graph").into());
        }
        let values = self.environments.values(environment).await?;
        let tenant = Tenant::of(editor.user(), editor.workspace());
        let state = self.tenants.of(tenant).await.map_err(ServiceError::from)?;
        state.check_settings(&program.manifest().settings, &self.limits)?;
        let limits = self.limits_of(tenant).await?;
        let share = Share {
            owner: self.owner(editor).await?,
            tenant,
        };
        let place = self.place(share, self.timeout).await?;
        let request = RunRequest {
            run_id: heddle_model::entropy::new_uuid().to_string(),
            pattern_id: "test".to_owned(),
            attempt: 1,
            triggered_by: "manual".to_owned(),
            started_at_ms: options.started_at.unwrap_or_else(|| self.clock.now()).millis(),
            seed: options.seed.unwrap_or_else(heddle_model::entropy::random),
            trigger_node_id: options.trigger_node_id,
            event,
            variables: values.variables.clone(),
            secrets: secrets(&values, withholds_secrets),
            journal: None,
            replay: None,
            calls: Some(self.calls.of_test(tenant, environment)),
            callbacks: None,
            services: self.services.of_test(share, files),
            watcher: options.watcher,
            on_wait: None,
            is_contained: options.is_contained,
            withholds_secrets,
            owner: Some(share.owner.as_u128()),
            tenant: Some(share.tenant.as_u128()),
            limits,
        };
        Ok(self.prepared((runtime, program), request, (tenant, place)))
    }

    /// The environment, if it gives its secrets and variables to approved versions only.
    async fn protected(
        &self,
        editor: &Editor,
        environment: Option<EnvironmentId>,
    ) -> Result<Option<EnvironmentId>, ServiceError> {
        let Some(environment) = environment else {
            return Ok(None);
        };
        let mut reader = self.store.reader().await?;
        let rules = workspaces::rules(&mut reader.db(), editor, environment).await?;
        Ok(rules.require_approval.then_some(environment))
    }

    /// Keeps what nobody has approved from reaching anything with the secrets and variables of a protected environment, by the rule
    /// that holds for deploying there.
    async fn guard(
        &self,
        editor: &Editor,
        environment: EnvironmentId,
        (program, is_approved): (&Program, bool),
    ) -> Result<(), ServiceError> {
        let needed = NeededRights {
            // It has no sender.
            issuers: Vec::new(),
            ..NeededRights::of(program.manifest())
        };
        let listed = needed.listed();
        if listed.is_empty() {
            return Ok(());
        }
        if is_approved {
            return self.approve(editor, environment, &listed).await;
        }
        let mut reader = self.store.reader().await?;
        let found = workspaces::environment(&mut reader.db(), editor, environment).await?;
        let name = found.map_or_else(|| environment.to_string(), |found| found.name);
        let shown: Vec<&str> = listed.iter().take(NAMED_MAX).map(String::as_str).collect();
        let message = format!(
            "The environment `{name}` gives its secrets and variables only to deployed versions that somebody with the role admin has \
             approved, and this run could reach {}. Run it in another environment (`environmentId`), or deploy the version there. \
             Somebody with the role admin can run it here with `approveRights`. Nothing was executed.",
            shown.join(", ")
        );
        let details = shown.iter().map(|right| Detail {
            path: "rights".to_owned(),
            message: (*right).to_owned(),
        });
        Err(Code::EnvironmentProtected
            .with(message)
            .with_details(details.collect()))
    }

    /// Tells the audit log who lets a test run reach these. 403 for those who may not.
    async fn approve(
        &self,
        editor: &Editor,
        environment: EnvironmentId,
        rights: &[String],
    ) -> Result<(), ServiceError> {
        let manager = editor.manager()?;
        let entry = Action::TestRunApproved
            .of(Object::Environment(environment))
            .with("rights", rights.join(", "));
        let write = self
            .store
            .write(move |db| Box::pin(async move { audit::note(db, &manager, entry).await }));
        write.await?;
        Ok(())
    }

    /// The limits of a tenant's test runs.
    pub(crate) async fn limits_of(&self, tenant: Tenant) -> Result<Limits, ServiceError> {
        let state = self.tenants.of(tenant).await?;
        Ok(Limits {
            deadline: self.timeout.min(self.limits.deadline),
            ..state.of_a_run(&self.limits)
        })
    }

    pub(crate) async fn environment(
        &self,
        editor: &Editor,
        wanted: EnvironmentId,
    ) -> Result<EnvironmentId, ServiceError> {
        let mut reader = self.store.reader().await?;
        let found = workspaces::environment(&mut reader.db(), editor, wanted).await?;
        let found = found
            .ok_or_else(|| ServiceError::field("environmentId", "is not an environment of this workspace"))?;
        Ok(found.id)
    }

    pub(crate) async fn default_environment(
        &self,
        editor: &Editor,
    ) -> Result<Option<EnvironmentId>, ServiceError> {
        let Some(workspace) = editor.workspace() else {
            return Ok(None);
        };
        let mut reader = self.store.reader().await?;
        let environment = workspaces::default_environment(&mut reader.db(), workspace).await?;
        Ok(environment.map(|environment| environment.id))
    }

    /// Who owns the workspace that the caller is in.
    pub(crate) async fn owner(&self, editor: &Editor) -> Result<UserId, ServiceError> {
        let Some(workspace) = editor.workspace() else {
            return Ok(editor.user());
        };
        let owner = workspaces::owner(&mut self.store.reader().await?.db(), workspace).await?;
        Ok(owner.unwrap_or(editor.user()))
    }

    /// A test run that has its place.
    pub(crate) fn prepared(
        &self,
        (runtime, program): (Runtime, Program),
        request: RunRequest,
        (tenant, place): (Tenant, impl Into<Arc<Place>>),
    ) -> PreparedTest {
        PreparedTest {
            runtime,
            program,
            request,
            tenant,
            meter: self.meter.clone(),
            _place: place.into(),
        }
    }

    /// A place among the executing runs of a tenant, for what somebody waits for.
    pub(crate) async fn place(&self, share: Share, patience: Duration) -> Result<Place, ServiceError> {
        self.place_of(Class::Awaited, share, patience).await
    }

    /// A place among the executing runs of a tenant, for a run of this class.
    pub(crate) async fn place_of(
        &self,
        class: Class,
        share: Share,
        patience: Duration,
    ) -> Result<Place, ServiceError> {
        self.meter.admit(share.tenant).await?;
        let full = || {
            Code::Unavailable
                .with("Too many runs of your workspace are executing: try again shortly.")
                .retry_after_s(1)
        };
        let reservation = self.queue.reserve(share, 0).map_err(|_| full())?;
        let (sender, place) = oneshot::channel();
        let start = Box::new(move |place: Option<Place>| {
            // Whoever waited has gone when it comes back, and with it the place.
            drop(place.map(|place| sender.send(place)));
        });
        self.queue.push(share, class, None, Some(reservation), start);
        match tokio::time::timeout(patience, place).await {
            Ok(Ok(place)) => Ok(place),
            _ => Err(full()),
        }
    }
}

fn secrets(values: &EnvironmentValues, are_withheld: bool) -> Secrets {
    match are_withheld {
        true => Secrets::new(),
        false => values.secrets.clone(),
    }
}

/// A test run that has its place.
pub struct PreparedTest {
    runtime: Runtime,
    program: Program,
    request: RunRequest,
    tenant: Tenant,
    meter: TestMeter,
    _place: Arc<Place>,
}

impl PreparedTest {
    /// Runs it: the outcome, and whether it has a trace. Dropping the future cancels the run. An error if its time is over.
    pub async fn run(self) -> Result<(Outcome, bool), ServiceError> {
        let deadline = self.request.limits.deadline;
        let started = heddle_model::clock::monotonic();
        let outcome = self.runtime.run(&self.program, self.request).await;
        self.meter.count(self.tenant, &outcome).await;
        let manifest = self.program.manifest();
        let own_ms = manifest.settings.timeout_ms.map(Duration::from_millis);
        let allowed = own_ms.map_or(deadline, |own| own.min(deadline));
        let ran_out = outcome
            .error
            .as_ref()
            .is_some_and(|error| error.code == code::TIMEOUT);
        // A request of the run that took too long has the same code, but ends before the run's time is over.
        if ran_out && heddle_model::clock::since(started) >= allowed {
            let message = format!(
                "The execution took longer than {} ms. {}",
                allowed.as_millis(),
                match allowed < deadline {
                    true => format!(
                        "Raise `timeoutMs` in the pattern's settings: a test run may have up to {}.",
                        deadline.as_millis()
                    ),
                    false => "No test run may take longer here (the server's `test_timeout_ms`).".to_owned(),
                }
            );
            return Err(Code::ExecutionTimeout.with(message));
        }
        Ok((outcome, manifest.trace))
    }
}
