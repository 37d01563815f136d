//! Prepares the module of a deployment: compiles a version, or takes what is deployed elsewhere. Stores nothing.

use super::request::{DeployError, DeployRequest, DeployVersion, Gate};
use crate::compile::{Asker, Finding, Sources};
use crate::modules::{LoadError, Modules, Unusable};
use crate::tenants::Tenants;
use heddle_compiler::Options;
use heddle_contract::manifest::Manifest;
use heddle_model::access::Editor;
use heddle_model::clock::Clock;
use heddle_model::error::{Code, ServiceError};
use heddle_model::ids::{DeploymentId, EnvironmentId, PatternId};
use heddle_model::status::DeploymentStatus;
use heddle_model::tenant::Tenant;
use heddle_runtime::{Limits, Tier};
use heddle_store::deployments::{self, DeploymentRow};
use heddle_store::patterns::{self, PatternRow};
use heddle_store::workspaces::EnvironmentRow;
use heddle_store::{Store, versions, workspaces};
use serde_json::{Value, json};

/// What is to be deployed.
pub(super) struct Ready {
    /// As it would be stored if it were new. Its slot is chosen when it is stored.
    pub row: DeploymentRow,
    /// Where its secrets and variables come from.
    pub environment: Option<EnvironmentRow>,
    /// Whether a deployment in another environment moves; `None`: if it is the pattern's only one.
    pub moves: Option<bool>,
    /// The module.
    pub wasm: Vec<u8>,
    /// What the module says of itself.
    pub manifest: Manifest,
    /// What looks wrong in the graph.
    pub warnings: Vec<Finding>,
    /// The name of the environment from which it is promoted.
    pub from: Option<String>,
    /// What was looked at before.
    pub gate: Gate,
}

/// Makes things ready to be deployed.
pub(super) struct Maker<'a> {
    pub store: &'a Store,
    pub clock: &'a Clock,
    pub limits: &'a Limits,
    pub tenants: &'a Tenants,
    pub modules: &'a Modules,
}

impl Maker<'_> {
    /// Compiles and loads a version of a pattern.
    pub async fn compiled(
        &self,
        editor: &Editor,
        pattern: PatternId,
        request: DeployRequest,
    ) -> Result<Ready, DeployError> {
        let row = self.changeable(editor, pattern).await?;
        let version = chosen_version(&row, request.version)?;
        let environment = self.environment(editor, &row, request.target.environment).await?;
        let options = Options {
            trace: request.trace,
            ..Options::default()
        };
        let mut session = self.modules.session(Asker::Request(editor.user())).await?;
        // Read within the turn: it may be large.
        let content = versions::content(&mut self.store.reader().await?.db(), pattern, version).await?;
        let content = content.ok_or_else(|| no_version(&row, version))?;
        let sources = Sources::of_version(content).map_err(ServiceError::internal)?;
        let sources = sources.with_definitions(request.node_definitions);
        let compiled = self.modules.compile(&mut session, sources, options).await?;
        let (Some(artifact), warnings) = (compiled.artifact, compiled.warnings) else {
            return Err(DeployError::Invalid {
                errors: compiled.errors,
                warnings: Vec::new(),
                diagnostics: compiled.diagnostics,
            });
        };
        let tenant = self
            .tenants
            .of(Tenant::of(row.owner_id, row.workspace_id))
            .await?;
        tenant.check_settings(&artifact.manifest.settings, self.limits)?;
        let owner = editor.user();
        let plan = self.modules.plan(artifact.wasm.clone(), Tier::Optimized, owner);
        let plan = plan.await?;
        let program = session.load(self.modules.runtime().await?, plan).await?;
        drop(session);
        // As the module says it: that is what executes.
        let manifest = program.manifest().clone();
        let module = (hex::encode(program.digest()), &manifest);
        Ok(Ready {
            row: self.new_row(row, environment.as_ref(), version, module),
            environment,
            moves: request.target.moves,
            wasm: artifact.wasm,
            manifest,
            warnings,
            from: None,
            gate: request.gate,
        })
    }

    /// What is deployed in one environment, for another one. No deployment moves for it.
    pub async fn promoted(
        &self,
        editor: &Editor,
        deployment: DeploymentId,
        environment: EnvironmentId,
    ) -> Result<Ready, ServiceError> {
        let source = deployments::visible(&mut self.store.reader().await?.db(), editor, deployment).await?;
        let source = source.ok_or(Code::NotFound)?;
        let row = self.changeable(editor, source.pattern_id).await?;
        if !matches!(source.status, DeploymentStatus::Active | DeploymentStatus::Paused) {
            let message = "Only what is deployed can be promoted: deploy or redeploy the pattern first.";
            return Err(Code::NotActive.with(message));
        }
        let environment = self.environment(editor, &row, Some(environment)).await?;
        if environment.as_ref().map(|target| target.id) == source.environment_id {
            let message = "is where this is deployed: name another environment";
            return Err(ServiceError::field("environmentId", message));
        }
        let from = match source.environment_id {
            Some(from) => {
                let mut reader = self.store.reader().await?;
                workspaces::environment(&mut reader.db(), editor, from).await?
            }
            None => None,
        };
        let refused = |error: LoadError| match error {
            LoadError::Failed(error) => error,
            LoadError::Unusable(reason) => reason.refused(),
        };
        let wasm = self.modules.stored(&source.artifact, editor.user());
        let wasm = wasm.await.map_err(refused)?;
        let wasm = wasm.ok_or_else(|| Unusable::Gone.refused())?;
        let program = self.modules.load(&source).await.map_err(refused)?;
        let manifest = program.manifest().clone();
        let module = (source.artifact, &manifest);
        Ok(Ready {
            row: self.new_row(row, environment.as_ref(), source.version_number, module),
            environment,
            moves: Some(false),
            wasm,
            manifest,
            warnings: Vec::new(),
            from: from.map(|from| from.name),
            gate: Gate::default(),
        })
    }

    /// The pattern, which the editor may change: 403 if it is merely public.
    pub async fn changeable(&self, editor: &Editor, pattern: PatternId) -> Result<PatternRow, ServiceError> {
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

    /// The environment that is wanted, or the default one.
    pub async fn environment(
        &self,
        editor: &Editor,
        pattern: &PatternRow,
        wanted: Option<EnvironmentId>,
    ) -> Result<Option<EnvironmentRow>, ServiceError> {
        let mut reader = self.store.reader().await?;
        match (wanted, pattern.workspace_id) {
            (Some(wanted), workspace) => {
                let found = workspaces::environment(&mut reader.db(), editor, wanted).await?;
                // A user's own pattern would keep a workspace's secrets after the user has left it.
                let of_pattern = found.filter(|found| workspace == Some(found.workspace_id));
                of_pattern.map(Some).ok_or_else(no_environment)
            }
            (None, Some(workspace)) => {
                Ok(workspaces::default_environment(&mut reader.db(), workspace).await?)
            }
            (None, None) => Ok(None),
        }
    }

    /// A deployment that is not there yet.
    fn new_row(
        &self,
        pattern: PatternRow,
        environment: Option<&EnvironmentRow>,
        version: i64,
        (artifact, manifest): (String, &Manifest),
    ) -> DeploymentRow {
        let triggers = manifest
            .triggers
            .iter()
            .map(|trigger| json!({ "type": trigger.node_type, "nodeId": trigger.node_id }));
        let now = self.clock.now();
        DeploymentRow {
            id: DeploymentId::new(),
            pattern_id: pattern.id,
            slot_environment_id: None,
            pattern_name: pattern.name,
            user_id: pattern.owner_id,
            workspace_id: pattern.workspace_id,
            owner_id: pattern.owner_id,
            environment_id: environment.map(|environment| environment.id),
            status: DeploymentStatus::Active,
            version_number: version,
            artifact,
            triggers: Value::Array(triggers.collect()).to_string(),
            error_message: None,
            strikes: 0,
            suspended: false,
            confirmed_at: now,
            created_at: now,
            updated_at: now,
        }
    }
}

/// The number of the version that is to be deployed.
fn chosen_version(pattern: &PatternRow, version: DeployVersion) -> Result<i64, ServiceError> {
    let newest = pattern.version_number;
    match version {
        DeployVersion::Newest => Ok(newest),
        DeployVersion::StillNewest(version) if version == newest => Ok(version),
        DeployVersion::StillNewest(_) => {
            Err(Code::Conflict.with("The pattern was saved in the meantime: deploy it again."))
        }
        DeployVersion::Exactly(version) if (1..=newest).contains(&version) => Ok(version),
        DeployVersion::Exactly(version) => Err(no_version(pattern, version)),
    }
}

/// What is wrong with an environment that the pattern's workspace doesn't have, or no longer.
pub(super) fn no_environment() -> ServiceError {
    ServiceError::field(
        "environmentId",
        "is not an environment of the workspace that the pattern is in",
    )
}

fn no_version(pattern: &PatternRow, version: i64) -> ServiceError {
    Code::VersionNotFound.with(format!(
        "The pattern has no version {version}; its newest one is {}. Nothing was deployed.",
        pattern.version_number
    ))
}
