//! What is deployed: from a pattern's newest version to an active deployment, and through its states. Compiling
//! and loading come first; what is stored then is stored at once or not at all.

use super::active::LoadError;
use super::compile::{Asker, Finding, LoadFailure, Sources};
use super::status::{DeploymentStatus, Operation};
use super::{Executions, Inner};
use crate::access::{Editor, Scope};
use crate::error::{ApiError, Code};
use crate::ids::{DeploymentId, EnvironmentId, PatternId};
use crate::quota::Quota;
use crate::scheduler;
use crate::store::deployments::{self, DeploymentRow};
use crate::store::patterns::{self, PatternRow};
use crate::store::quota::{self, Payer};
use crate::store::{StoreError, runs, schedules, workspaces};
use heddle_compiler::Options;
use heddle_contract::manifest::Manifest;
use heddle_runtime::{ProgramError, Tier};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::sync::Arc;

/// Runs that one statement removes.
const REMOVED_MAX: i64 = 1_000;

/// What to deploy a pattern with.
#[derive(Clone, Debug)]
pub struct DeployRequest {
    /// Definitions of node types that are not standard, by name.
    pub node_definitions: Box<RawValue>,
    /// Where secrets and variables come from; `None`: the workspace's default.
    pub environment: Option<EnvironmentId>,
    /// Whether its runs record what each node did.
    pub trace: bool,
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
    },
    /// Anything else.
    Other(ApiError),
}

impl From<ApiError> for DeployError {
    fn from(error: ApiError) -> Self {
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
            ) => DeployError::Invalid {
                errors: vec![Finding {
                    node_id: None,
                    message: error.to_string(),
                }],
                warnings: Vec::new(),
            },
            LoadFailure::Program(error) => DeployError::Other(ApiError::internal(error)),
            LoadFailure::Other(error) => DeployError::Other(error),
        }
    }
}

impl From<StoreError> for DeployError {
    fn from(error: StoreError) -> Self {
        DeployError::Other(error.into())
    }
}

impl Executions {
    /// Deploys the newest version of a pattern; the pattern's deployment, if there is one, moves to it.
    pub async fn deploy(
        &self,
        editor: &Editor,
        pattern: PatternId,
        request: DeployRequest,
    ) -> Result<(DeploymentRow, Vec<Finding>), DeployError> {
        let inner = &self.0;
        let row = changeable(inner, editor, pattern).await?;
        let environment = environment(inner, editor, &row, request.environment).await?;
        let graph =
            patterns::graph(&mut inner.store.reader().await?.db(), pattern, row.version_number).await?;
        let sources = Sources {
            graph: RawValue::from_string(graph.unwrap_or_default()).map_err(ApiError::internal)?,
            definitions: request.node_definitions,
            pinned_nodes: None,
        };
        let options = Options {
            trace: request.trace,
            ..Options::default()
        };
        let mut session = inner.compilers.session(Asker::Request(editor.user())).await?;
        let compiled = session.graph(&inner.budget, sources, options).await?;
        let (Some(artifact), warnings) = (compiled.artifact, compiled.warnings) else {
            let (errors, warnings) = (compiled.errors, Vec::new());
            return Err(DeployError::Invalid { errors, warnings });
        };
        let plan = inner.plan(artifact.wasm.clone(), Tier::Optimized).await?;
        let program = session.load(inner.runtime().await?, plan).await?;
        drop(session);
        let triggers: Vec<Value> = artifact
            .manifest
            .triggers
            .iter()
            .map(|trigger| json!({ "type": trigger.node_type, "nodeId": trigger.node_id }))
            .collect();
        let now = inner.clock.now();
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
        let stored = store(inner, *editor, new, module).await?;
        inner.changed(&stored);
        Ok((stored, warnings))
    }

    /// Takes a pattern's triggers away; runs that were accepted still end. 404 for what was never deployed.
    pub async fn undeploy(&self, editor: &Editor, pattern: PatternId) -> Result<DeploymentRow, ApiError> {
        let row = changeable(&self.0, editor, pattern).await?;
        let mut reader = self.0.store.reader().await?;
        let found = deployments::visible_of_pattern(&mut reader.db(), editor, row.id).await?;
        let found = found.ok_or_else(|| Code::NotFound.with("The pattern was never deployed."))?;
        drop(reader);
        self.0.apply(editor, found.id, Operation::Undeploy).await
    }

    /// Holds the triggers and the runs that wait for their turn.
    pub async fn pause(&self, editor: &Editor, deployment: DeploymentId) -> Result<DeploymentRow, ApiError> {
        self.0.apply(editor, deployment, Operation::Pause).await
    }

    /// Lets triggers and runs go on.
    pub async fn resume(&self, editor: &Editor, deployment: DeploymentId) -> Result<DeploymentRow, ApiError> {
        self.0.load_and_apply(editor, deployment, Operation::Resume).await
    }

    /// Puts the stored module in place again.
    pub async fn redeploy(
        &self,
        editor: &Editor,
        deployment: DeploymentId,
    ) -> Result<DeploymentRow, ApiError> {
        self.0
            .load_and_apply(editor, deployment, Operation::Redeploy)
            .await
    }

    /// Removes a deployment with its runs; those under way are cancelled.
    pub async fn delete(&self, editor: &Editor, deployment: DeploymentId) -> Result<(), ApiError> {
        let inner = &self.0;
        let owner = *editor;
        let row = inner
            .store
            .write(move |db| {
                Box::pin(async move {
                    let row = deployments::owned(db, &owner, deployment)
                        .await?
                        .ok_or(Code::NotFound)?;
                    deployments::remove(db, &owner, deployment).await?;
                    schedules::remove(db, &owner, deployment).await?;
                    Ok::<_, ApiError>(row)
                })
            })
            .await?;
        inner.actives.forget(row.pattern_id);
        inner.cancel_all(deployment).await;
        loop {
            let removed = inner
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

    /// To be called when a workspace was deleted with its deployments.
    pub fn workspace_deleted(&self) {
        self.0.actives.forget_all();
        self.0.environments.changed();
    }

    /// To be called when a pattern was deleted, whose deployment [`deployments::undeploy_deleted`] has ended.
    pub fn pattern_deleted(&self, pattern: PatternId) {
        self.0.actives.forget(pattern);
    }
}

/// The pattern, which the editor may change: 403 if it is merely public.
async fn changeable(inner: &Inner, editor: &Editor, pattern: PatternId) -> Result<PatternRow, ApiError> {
    let mut reader = inner.store.reader().await?;
    if let Some(row) = patterns::visible(&mut reader.db(), editor, pattern).await? {
        return Ok(row);
    }
    Err(
        match patterns::readable(&mut reader.db(), editor, pattern).await? {
            Some(_) => Code::Forbidden.with("This pattern is somebody else's: clone it to deploy it."),
            None => Code::NotFound.into(),
        },
    )
}

async fn environment(
    inner: &Inner,
    scope: &Scope,
    pattern: &PatternRow,
    wanted: Option<EnvironmentId>,
) -> Result<Option<EnvironmentId>, ApiError> {
    let mut reader = inner.store.reader().await?;
    let found = match (wanted, pattern.workspace_id) {
        (Some(wanted), _) => {
            let found = workspaces::environment(&mut reader.db(), scope, wanted).await?;
            Some(
                found
                    .ok_or_else(|| ApiError::field("environmentId", "is no environment of the workspace"))?,
            )
        }
        (None, Some(workspace)) => workspaces::default_environment(&mut reader.db(), workspace).await?,
        (None, None) => None,
    };
    Ok(found.map(|environment| environment.id))
}

/// The deployment as stored.
async fn store(
    inner: &Inner,
    editor: Editor,
    new: DeploymentRow,
    (wasm, manifest): (Vec<u8>, Manifest),
) -> Result<DeploymentRow, ApiError> {
    let quotas = inner.quotas;
    inner
        .store
        .write(move |db| {
            Box::pin(async move {
                let pattern = patterns::owned(db, &editor, new.pattern_id).await?;
                pattern.ok_or(Code::NotFound)?;
                deployments::keep_artifact(db, &new.artifact, &wasm, new.updated_at).await?;
                deployments::put(db, &editor, &new).await?;
                let stored = deployments::for_system(db, new.pattern_id).await?;
                let stored = stored.ok_or(Code::NotFound)?;
                scheduler::register(db, &editor, stored.id, &manifest, new.updated_at).await?;
                let counted = [Quota::ModuleBytes, Quota::Schedules];
                quota::check(db, &quotas, &[(Payer::User(stored.user_id), &counted)]).await?;
                Ok(stored)
            })
        })
        .await
}

/// What becomes of a deployment's schedules.
enum After {
    /// They wait; why, if the deployment has failed.
    Held(Option<String>),
    /// They are due as the module says.
    Due(Box<Manifest>),
}

impl Inner {
    /// Changes a deployment's state, and what follows from it in memory.
    async fn apply(
        self: &Arc<Self>,
        editor: &Editor,
        deployment: DeploymentId,
        operation: Operation,
    ) -> Result<DeploymentRow, ApiError> {
        self.apply_with(editor, deployment, operation, After::Held(None))
            .await
    }

    /// The same for operations that need the module: if it can't be loaded, the deployment has failed.
    async fn load_and_apply(
        self: &Arc<Self>,
        editor: &Editor,
        deployment: DeploymentId,
        operation: Operation,
    ) -> Result<DeploymentRow, ApiError> {
        let row = deployments::visible(&mut self.store.reader().await?.db(), editor, deployment).await?;
        let row = row.ok_or(Code::NotFound)?;
        row.status.apply(operation)?;
        match self.load(&row.artifact, row.user_id).await {
            Ok(program) => {
                let manifest = program.manifest().clone();
                self.apply_with(editor, deployment, operation, After::Due(Box::new(manifest)))
                    .await
            }
            Err(LoadError::Failed(error)) => Err(error),
            Err(LoadError::Unusable(reason)) => {
                let message = format!("The deployment's module can't be loaded: {reason}");
                if row.status.apply(Operation::Fail).is_ok() {
                    self.apply_with(editor, deployment, Operation::Fail, After::Held(Some(reason)))
                        .await?;
                }
                Err(Code::NotActive.with(message))
            }
        }
    }

    async fn apply_with(
        self: &Arc<Self>,
        editor: &Editor,
        deployment: DeploymentId,
        operation: Operation,
        after: After,
    ) -> Result<DeploymentRow, ApiError> {
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
                            scheduler::register(db, &editor, deployment, manifest, now).await?;
                            None
                        }
                    };
                    deployments::set_status(db, deployment, status, reason, now).await?;
                    let mut strikes = row.strikes;
                    if operation == Operation::Redeploy {
                        deployments::confirm(db, deployment, now).await?;
                        strikes = 0;
                    }
                    Ok::<_, ApiError>(DeploymentRow {
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
    pub(super) fn changed(self: &Arc<Self>, row: &DeploymentRow) {
        self.actives.forget(row.pattern_id);
        let mut paused = self.paused();
        if row.holds_runs() {
            paused.insert(row.id);
            return;
        }
        paused.remove(&row.id);
        drop(paused);
        self.let_go(row.id);
        // Those that no server has, since it was paused.
        self.waker.look();
        self.recovery.look();
    }

    /// Queues the held runs of a deployment.
    pub(super) fn let_go(self: &Arc<Self>, deployment: DeploymentId) {
        for job in self.take_held(|job| job.deployment.id == deployment) {
            job.queue(self, None);
        }
    }
}

/// Finds active deployments whose modules this heddle can't load, in the background: they have failed.
pub(super) fn check_all(inner: &Arc<Inner>) {
    let inner = inner.clone();
    tokio::spawn(async move {
        if let Err(error) = check(&inner).await {
            tracing::error!("The deployments could not be checked: {}", error.message());
        }
    });
}

async fn check(inner: &Arc<Inner>) -> Result<(), ApiError> {
    let rows = deployments::all_active(&mut inner.store.reader().await?.db()).await?;
    for row in rows {
        let reason = match inner.load(&row.artifact, row.user_id).await {
            Ok(_) => continue,
            Err(LoadError::Failed(error)) => {
                // It is loaded when it is needed; the others may be well.
                tracing::error!(deployment = %row.id, "A deployment could not be looked at: {}", error.message());
                continue;
            }
            Err(LoadError::Unusable(reason)) => reason,
        };
        tracing::error!(deployment = %row.id, "A deployment can't be loaded: {reason}");
        let (id, artifact, now) = (row.id, row.artifact, inner.clock.now());
        let write = inner.store.write(move |db| {
            Box::pin(async move { deployments::fail_for_system(db, id, &artifact, &reason, now).await })
        });
        write.await?;
        inner.actives.forget(row.pattern_id);
    }
    Ok(())
}
