//! What is deployed: from a pattern's newest version to an active deployment, and through its states. Compiling
//! and loading come first; what is stored then is stored at once or not at all.

use crate::active_deployments::ActiveDeployments;
use crate::cancel::Canceller;
use crate::compile::validation::Diagnostic;
use crate::compile::{Asker, Finding, LoadFailure, Sources};
use crate::deployed_schedules;
use crate::dispatcher::Dispatcher;
use crate::held_runs::HeldRuns;
use crate::modules::{LoadError, Modules};
use crate::poller::Wakeups;
use heddle_compiler::Options;
use heddle_contract::manifest::Manifest;
use heddle_model::access::{Editor, Scope};
use heddle_model::audit::{Action, Object};
use heddle_model::clock::Clock;
use heddle_model::error::{Code, ServiceError, chain};
use heddle_model::ids::{DeploymentId, EnvironmentId, PatternId};
use heddle_model::quota::{Quota, Quotas};
use heddle_model::status::{DeploymentStatus, Operation};
use heddle_runtime::{ProgramError, Tier};
use heddle_store::audit;
use heddle_store::deployments::{self, DeploymentRow};
use heddle_store::patterns::{self, PatternRow};
use heddle_store::quota::{self, Payer};
use heddle_store::{Store, StoreError, runs, schedules, versions, workspaces};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::sync::Arc;

/// Runs that one statement removes.
const REMOVED_MAX: i64 = 1_000;

/// What to deploy a pattern with.
#[derive(Clone, Debug)]
pub struct DeployRequest {
    /// Definitions of node types that are not standard, by name; if empty, the pattern's own.
    pub node_definitions: Box<RawValue>,
    /// Where secrets and variables come from; `None`: the workspace's default.
    pub environment: Option<EnvironmentId>,
    /// Whether its runs record what each node did.
    pub trace: bool,
    /// The version that must be the newest, if that is to be checked.
    pub version: Option<i64>,
}

/// Why a pattern was not deployed.
#[derive(Debug)]
pub enum DeployError {
    /// Its graph is not valid.
    Invalid {
        /// What is wrong.
        errors: Vec<Finding>,
        /// What looks wrong.
        warnings: Vec<Finding>,
        /// All of it with its places.
        diagnostics: Vec<Diagnostic>,
    },
    /// Anything else.
    Other(ServiceError),
}

impl From<ServiceError> for DeployError {
    fn from(error: ServiceError) -> Self {
        DeployError::Other(error)
    }
}

impl From<LoadFailure> for DeployError {
    fn from(failure: LoadFailure) -> Self {
        match failure {
            // The pattern's author can do something about these.
            LoadFailure::Program(
                error @ (ProgramError::Component { .. }
                | ProgramError::TooComplex(_)
                | ProgramError::TooCostly(_)
                | ProgramError::TooLarge { .. }),
            ) => {
                let message = error.to_string();
                DeployError::Invalid {
                    diagnostics: vec![Diagnostic::of_graph("module", message.clone())],
                    errors: vec![Finding {
                        node_id: None,
                        message,
                    }],
                    warnings: Vec::new(),
                }
            }
            LoadFailure::Program(error) => DeployError::Other(ServiceError::internal(error)),
            LoadFailure::Other(error) => DeployError::Other(error),
        }
    }
}

impl From<StoreError> for DeployError {
    fn from(error: StoreError) -> Self {
        DeployError::Other(error.into())
    }
}

/// What becomes of a deployment's schedules.
enum After {
    /// They wait; why, if the deployment has failed.
    Held(Option<String>),
    /// They are due as the module says.
    Due(Box<Manifest>),
}

/// What the audit log calls an operation.
const fn action(operation: Operation) -> Action {
    match operation {
        Operation::Deploy => Action::PatternDeployed,
        Operation::Redeploy => Action::DeploymentRedeployed,
        Operation::Pause => Action::DeploymentPaused,
        Operation::Resume => Action::DeploymentResumed,
        Operation::Undeploy => Action::PatternUndeployed,
        Operation::Fail => Action::DeploymentFailed,
    }
}

/// Deploys patterns.
pub(crate) struct Deployer {
    pub store: Store,
    pub clock: Clock,
    pub quotas: Quotas,
    pub modules: Arc<Modules>,
    pub active: Arc<ActiveDeployments>,
    pub held: Arc<HeldRuns>,
    pub dispatcher: Arc<Dispatcher>,
    pub canceller: Arc<Canceller>,
    pub wakeups: Wakeups,
}

impl Deployer {
    /// Deploys the newest version of a pattern; the pattern's deployment, if there is one, moves to it.
    pub async fn deploy(
        &self,
        editor: &Editor,
        pattern: PatternId,
        request: DeployRequest,
    ) -> Result<(DeploymentRow, Vec<Finding>), DeployError> {
        let row = self.changeable(editor, pattern).await?;
        if request
            .version
            .is_some_and(|version| version != row.version_number)
        {
            let message = "The pattern was saved in the meantime: deploy it again.";
            return Err(Code::Conflict.with(message).into());
        }
        let environment = self.environment(editor, &row, request.environment).await?;
        let options = Options {
            trace: request.trace,
            ..Options::default()
        };
        let mut session = self.modules.session(Asker::Request(editor.user())).await?;
        // Read within the turn: it may be large.
        let content =
            versions::content(&mut self.store.reader().await?.db(), pattern, row.version_number).await?;
        let sources = Sources::of_version(content.ok_or_else(|| ServiceError::from(Code::NotFound))?)
            .map_err(ServiceError::internal)?;
        let sources = sources.with_definitions(request.node_definitions);
        let compiled = self.modules.compile(&mut session, sources, options).await?;
        let (Some(artifact), warnings) = (compiled.artifact, compiled.warnings) else {
            return Err(DeployError::Invalid {
                errors: compiled.errors,
                warnings: Vec::new(),
                diagnostics: compiled.diagnostics,
            });
        };
        let plan = self.modules.plan(artifact.wasm.clone(), Tier::Optimized).await?;
        let program = session.load(self.modules.runtime().await?, plan).await?;
        drop(session);
        let triggers: Vec<Value> = artifact
            .manifest
            .triggers
            .iter()
            .map(|trigger| json!({ "type": trigger.node_type, "nodeId": trigger.node_id }))
            .collect();
        let now = self.clock.now();
        let new = DeploymentRow {
            id: DeploymentId::new(),
            pattern_id: pattern,
            pattern_name: row.name,
            user_id: row.owner_id,
            workspace_id: row.workspace_id,
            owner_id: row.owner_id,
            environment_id: environment,
            status: DeploymentStatus::Active,
            version_number: row.version_number,
            artifact: hex::encode(program.digest()),
            triggers: Value::Array(triggers).to_string(),
            error_message: None,
            strikes: 0,
            confirmed_at: now,
            created_at: now,
            updated_at: now,
        };
        let module = (artifact.wasm, artifact.manifest);
        let stored = self.put(*editor, new, module).await?;
        self.changed(&stored);
        Ok((stored, warnings))
    }

    /// Takes a pattern's triggers away; runs that were accepted still end. 404 for what was never deployed.
    pub async fn undeploy(&self, editor: &Editor, pattern: PatternId) -> Result<DeploymentRow, ServiceError> {
        let row = self.changeable(editor, pattern).await?;
        let mut reader = self.store.reader().await?;
        let found = deployments::visible_of_pattern(&mut reader.db(), editor, row.id).await?;
        let found = found.ok_or_else(|| Code::NotFound.with("The pattern was never deployed."))?;
        drop(reader);
        self.apply(editor, found.id, Operation::Undeploy).await
    }

    /// Holds the triggers and the runs that wait for their turn.
    pub async fn pause(
        &self,
        editor: &Editor,
        deployment: DeploymentId,
    ) -> Result<DeploymentRow, ServiceError> {
        self.apply(editor, deployment, Operation::Pause).await
    }

    /// Lets triggers and runs go on.
    pub async fn resume(
        &self,
        editor: &Editor,
        deployment: DeploymentId,
    ) -> Result<DeploymentRow, ServiceError> {
        self.load_and_apply(editor, deployment, Operation::Resume).await
    }

    /// Puts the stored module in place again.
    pub async fn redeploy(
        &self,
        editor: &Editor,
        deployment: DeploymentId,
    ) -> Result<DeploymentRow, ServiceError> {
        self.load_and_apply(editor, deployment, Operation::Redeploy).await
    }

    /// Removes a deployment with its runs; those under way are cancelled.
    pub async fn delete(&self, editor: &Editor, deployment: DeploymentId) -> Result<(), ServiceError> {
        let owner = *editor;
        let row = self
            .store
            .write(move |db| {
                Box::pin(async move {
                    let row = deployments::owned(db, &owner, deployment)
                        .await?
                        .ok_or(Code::NotFound)?;
                    let gone = Action::DeploymentDeleted.of(Object::Deployment(deployment));
                    audit::note(db, &owner, gone).await?;
                    schedules::remove(db, &owner, deployment).await?;
                    deployments::remove(db, &owner, deployment).await?;
                    Ok::<_, ServiceError>(row)
                })
            })
            .await?;
        self.active.forget(row.pattern_id);
        self.canceller.cancel_all(deployment).await;
        loop {
            let removed = self
                .store
                .write(move |db| {
                    Box::pin(async move { runs::upkeep::remove_of(db, deployment, REMOVED_MAX).await })
                })
                .await?;
            if removed < REMOVED_MAX.unsigned_abs() {
                return Ok(());
            }
        }
    }

    /// The pattern, which the editor may change: 403 if it is merely public.
    async fn changeable(&self, editor: &Editor, pattern: PatternId) -> Result<PatternRow, ServiceError> {
        let mut reader = self.store.reader().await?;
        if let Some(row) = patterns::visible(&mut reader.db(), editor, pattern).await? {
            return Ok(row);
        }
        Err(
            match patterns::readable(&mut reader.db(), editor, pattern).await? {
                Some(_) => {
                    Code::Forbidden.with("This pattern belongs to somebody else: clone it to deploy it.")
                }
                None => Code::NotFound.into(),
            },
        )
    }

    async fn environment(
        &self,
        scope: &Scope,
        pattern: &PatternRow,
        wanted: Option<EnvironmentId>,
    ) -> Result<Option<EnvironmentId>, ServiceError> {
        let mut reader = self.store.reader().await?;
        let found = match (wanted, pattern.workspace_id) {
            (Some(wanted), _) => {
                let found = workspaces::environment(&mut reader.db(), scope, wanted).await?;
                Some(found.ok_or_else(|| {
                    ServiceError::field("environmentId", "is not an environment of this workspace")
                })?)
            }
            (None, Some(workspace)) => workspaces::default_environment(&mut reader.db(), workspace).await?,
            (None, None) => None,
        };
        Ok(found.map(|environment| environment.id))
    }

    /// Stores a deployment with its module and schedules; gives it as it is stored.
    async fn put(
        &self,
        editor: Editor,
        new: DeploymentRow,
        (wasm, manifest): (Vec<u8>, Manifest),
    ) -> Result<DeploymentRow, ServiceError> {
        let quotas = self.quotas;
        self.store
            .write(move |db| {
                Box::pin(async move {
                    let pattern = patterns::owned(db, &editor, new.pattern_id).await?;
                    pattern.ok_or(Code::NotFound)?;
                    deployments::keep_artifact(db, &new.artifact, &wasm, new.updated_at).await?;
                    deployments::put(db, &editor, &new).await?;
                    let stored = deployments::for_system(db, new.pattern_id).await?;
                    let stored = stored.ok_or(Code::NotFound)?;
                    deployed_schedules::register(db, &editor, stored.id, &manifest, new.updated_at).await?;
                    let counted = [Quota::ModuleBytes, Quota::Schedules];
                    quota::check(db, &quotas, &[(Payer::User(stored.user_id), &counted)]).await?;
                    let told = Action::PatternDeployed
                        .of(Object::Deployment(stored.id))
                        .with("version", stored.version_number);
                    audit::note(db, &editor, told).await?;
                    Ok(stored)
                })
            })
            .await
    }

    /// Changes a deployment's state, and what follows from it in memory.
    async fn apply(
        &self,
        editor: &Editor,
        deployment: DeploymentId,
        operation: Operation,
    ) -> Result<DeploymentRow, ServiceError> {
        self.apply_with(editor, deployment, operation, After::Held(None))
            .await
    }

    /// The same for operations that need the module: if it can't be loaded, the deployment has failed.
    async fn load_and_apply(
        &self,
        editor: &Editor,
        deployment: DeploymentId,
        operation: Operation,
    ) -> Result<DeploymentRow, ServiceError> {
        let row = deployments::visible(&mut self.store.reader().await?.db(), editor, deployment).await?;
        let row = row.ok_or(Code::NotFound)?;
        row.status.apply(operation)?;
        match self.modules.load(&row.artifact, row.user_id).await {
            Ok(program) => {
                let manifest = program.manifest().clone();
                self.apply_with(editor, deployment, operation, After::Due(Box::new(manifest)))
                    .await
            }
            Err(LoadError::Failed(error)) => Err(error),
            Err(LoadError::Unusable(reason)) => {
                let message = format!("The deployment's module can't be loaded: {reason}");
                if row.status.apply(Operation::Fail).is_ok() {
                    self.apply_with(
                        editor,
                        deployment,
                        Operation::Fail,
                        After::Held(Some(reason.to_string())),
                    )
                    .await?;
                }
                Err(Code::NotActive.with(message))
            }
        }
    }

    async fn apply_with(
        &self,
        editor: &Editor,
        deployment: DeploymentId,
        operation: Operation,
        after: After,
    ) -> Result<DeploymentRow, ServiceError> {
        let (editor, now) = (*editor, self.clock.now());
        let row = self
            .store
            .write(move |db| {
                Box::pin(async move {
                    let row = deployments::owned(db, &editor, deployment)
                        .await?
                        .ok_or(Code::NotFound)?;
                    let status = row.status.apply(operation)?;
                    let reason = match &after {
                        After::Held(reason) => {
                            schedules::hold(db, &editor, deployment).await?;
                            reason.as_deref()
                        }
                        After::Due(manifest) => {
                            deployed_schedules::register(db, &editor, deployment, manifest, now).await?;
                            None
                        }
                    };
                    deployments::set_status(db, deployment, status, reason, now).await?;
                    let told = action(operation).of(Object::Deployment(deployment));
                    audit::note(db, &editor, told).await?;
                    let mut strikes = row.strikes;
                    if operation == Operation::Redeploy {
                        deployments::confirm(db, deployment, now).await?;
                        strikes = 0;
                    }
                    Ok::<_, ServiceError>(DeploymentRow {
                        status,
                        strikes,
                        updated_at: now,
                        ..row
                    })
                })
            })
            .await?;
        self.changed(&row);
        Ok(row)
    }

    /// Brings memory in line with a deployment that was changed.
    pub fn changed(&self, row: &DeploymentRow) {
        self.active.forget(row.pattern_id);
        if row.holds_runs() {
            self.held.pause(row.id);
            return;
        }
        self.held.unpause(row.id);
        self.release(row.id);
        // Those that no server has, since it was paused.
        self.wakeups.parked.wake();
        self.wakeups.left.wake();
    }

    /// Queues the held runs of a deployment.
    pub fn release(&self, deployment: DeploymentId) {
        self.dispatcher
            .release(self.held.take(|run| run.deployment.id == deployment));
    }

    /// Finds active deployments whose modules this heddle can't load, in the background: they have failed.
    pub fn check_all(self: &Arc<Self>) {
        let this = self.clone();
        tokio::spawn(async move {
            if let Err(error) = this.check().await {
                tracing::error!("The deployments could not be checked: {}", chain(&error));
            }
        });
    }

    async fn check(&self) -> Result<(), ServiceError> {
        let rows = deployments::all_active(&mut self.store.reader().await?.db()).await?;
        for row in rows {
            let reason = match self.modules.load(&row.artifact, row.user_id).await {
                Ok(_) => continue,
                Err(LoadError::Failed(error)) => {
                    // It is loaded when it is needed; the others may be well.
                    tracing::error!(deployment = %row.id, "A deployment could not be looked at: {}", chain(&error));
                    continue;
                }
                Err(LoadError::Unusable(reason)) => reason.to_string(),
            };
            tracing::error!(deployment = %row.id, "A deployment can't be loaded: {reason}");
            let (id, artifact, now) = (row.id, row.artifact, self.clock.now());
            let write = self.store.write(move |db| {
                Box::pin(async move { deployments::fail_for_system(db, id, &artifact, &reason, now).await })
            });
            write.await?;
            self.active.forget(row.pattern_id);
        }
        Ok(())
    }
}
