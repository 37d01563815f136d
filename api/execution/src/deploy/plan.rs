//! Says what deploying would do. Changes nothing.

use super::missing::{Missing, Needs, missing};
use super::ready::Ready;
use super::target;
use crate::active_deployments::ActiveDeployments;
use crate::compile::validation::NeededRights;
use crate::compile::{Asker, Finding, Sources};
use crate::deployed_schedules;
use crate::deployment::Origin;
use crate::modules::{LoadError, Modules};
use heddle_contract::manifest::Manifest;
use heddle_model::access::Editor;
use heddle_model::clock::Timestamp;
use heddle_model::error::ServiceError;
use heddle_model::ids::PatternId;
use heddle_model::slot::Slot;
use heddle_model::tenant::Tenant;
use heddle_store::deployments::{self, DeploymentRow};
use heddle_store::{Store, polls, schedules, versions};
use serde::Serialize;
use utoipa::ToSchema;

/// What would be deployed, and what would change by it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The deployment as it would be; its id is that of the one whose place it takes, if there is one.
    pub row: DeploymentRow,
    /// The deployment whose place it would take.
    pub replaces: Option<DeploymentRow>,
    /// What looks wrong in the graph.
    pub warnings: Vec<Finding>,
    /// What it could do.
    pub rights: NeededRights,
    /// What the deployment whose place it takes could do; `None`: there is none, or its module can't be loaded any more.
    pub former_rights: Option<NeededRights>,
    /// What it names and is not there.
    pub missing: Missing,
    pub schedules: Vec<PlannedSchedule>,
    pub module_bytes: usize,
    /// Whether its runs record what each node did.
    pub trace: bool,
}

/// A schedule as it would be.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlannedSchedule {
    /// The OnSchedule, OnPoll or OnMailbox node.
    #[schema(example = "every-hour")]
    pub node_id: String,
    /// The expression that would hold: as it was set for the deployment, or else as the version has it.
    #[schema(example = "0 * * * *")]
    pub cron_expression: String,
    /// Its time zone.
    #[schema(example = "UTC")]
    pub timezone: String,
    /// When it would run first; null: never.
    pub next_at: Option<Timestamp>,
}

/// Tells what deploying would do.
pub(super) struct Planner<'a> {
    pub store: &'a Store,
    pub modules: &'a Modules,
    pub active: &'a ActiveDeployments,
}

impl Planner<'_> {
    /// What deploying this would do.
    pub async fn plan(&self, editor: &Editor, ready: &Ready) -> Result<Plan, ServiceError> {
        let (slot, replaces) = self.place(ready).await?;
        let rights = self
            .needed(
                editor,
                (ready.row.pattern_id, ready.row.version_number),
                &ready.manifest,
            )
            .await?;
        let former_rights = match &replaces {
            Some(row) => self.former(editor, row).await?,
            None => None,
        };
        let mut row = ready.row.clone();
        row.slot_environment_id = slot.environment;
        if let Some(former) = &replaces {
            (row.id, row.created_at) = (former.id, former.created_at);
        }
        let missing = self.missing(editor, ready, slot, &rights).await?;
        Ok(Plan {
            missing,
            schedules: self.schedules(editor, &row, &ready.manifest).await?,
            row,
            replaces,
            warnings: ready.warnings.clone(),
            rights,
            former_rights,
            module_bytes: ready.wasm.len(),
            trace: ready.manifest.trace,
        })
    }

    /// Refuses to deploy this where something is missing.
    pub async fn check(&self, editor: &Editor, ready: &Ready) -> Result<(), ServiceError> {
        let (slot, _) = self.place(ready).await?;
        let version = (ready.row.pattern_id, ready.row.version_number);
        let rights = self.needed(editor, version, &ready.manifest).await?;
        let missing = self.missing(editor, ready, slot, &rights).await?;
        let environment = ready.environment.as_ref();
        missing.refuse(environment.map_or("", |environment| &environment.name))
    }

    /// What a deployment names and is not there, now that it is stored.
    pub async fn missing_of(
        &self,
        editor: &Editor,
        (row, needed): (&DeploymentRow, &NeededRights),
        error_pattern: Option<&str>,
    ) -> Result<Missing, ServiceError> {
        let origin = Origin {
            environment: row.environment_id,
            is_main: row.slot().is_main(),
        };
        let needs = Needs {
            tenant: Tenant::of(row.user_id, row.workspace_id),
            origin,
            rights: needed,
            error_pattern,
        };
        missing((self.store, self.active), editor, needs).await
    }

    /// Where it would go, and what is there.
    async fn place(&self, ready: &Ready) -> Result<(Slot, Option<DeploymentRow>), ServiceError> {
        let mut reader = self.store.reader().await?;
        let db = &mut reader.db();
        let slot = target::choose(db, ready.row.pattern_id, ready.row.environment_id, ready.moves).await?;
        Ok((slot, deployments::in_slot_for_system(db, slot).await?))
    }

    /// What a version could do by its module. One that an earlier heddle has compiled does not say which variables it names:
    /// those are its graph's, as far as that can be compiled with its own definitions.
    pub async fn needed(
        &self,
        editor: &Editor,
        (pattern, version): (PatternId, i64),
        manifest: &Manifest,
    ) -> Result<NeededRights, ServiceError> {
        if manifest.variables.is_some() {
            return Ok(NeededRights::of(manifest));
        }
        let mut session = self.modules.session(Asker::Request(editor.user())).await?;
        let content = versions::content(&mut self.store.reader().await?.db(), pattern, version).await?;
        let variables = match content {
            Some(content) => {
                let sources = Sources::of_version(content).map_err(ServiceError::internal)?;
                let found = self.modules.validate(&mut session, sources, true).await?;
                found.rights.map(|rights| rights.variables)
            }
            None => None,
        };
        Ok(NeededRights {
            variables: variables.unwrap_or_default(),
            ..NeededRights::of(manifest)
        })
    }

    async fn former(
        &self,
        editor: &Editor,
        row: &DeploymentRow,
    ) -> Result<Option<NeededRights>, ServiceError> {
        match self.modules.load(row).await {
            Ok(program) => {
                let version = (row.pattern_id, row.version_number);
                self.needed(editor, version, program.manifest()).await.map(Some)
            }
            Err(LoadError::Unusable(_)) => Ok(None),
            Err(LoadError::Failed(error)) => Err(error),
        }
    }

    async fn missing(
        &self,
        editor: &Editor,
        ready: &Ready,
        slot: Slot,
        rights: &NeededRights,
    ) -> Result<Missing, ServiceError> {
        let origin = Origin {
            environment: ready.row.environment_id,
            is_main: slot.is_main(),
        };
        let needs = Needs {
            tenant: Tenant::of(ready.row.user_id, ready.row.workspace_id),
            origin,
            rights,
            error_pattern: ready.manifest.settings.error_pattern_id.as_deref(),
        };
        missing((self.store, self.active), editor, needs).await
    }

    async fn schedules(
        &self,
        editor: &Editor,
        row: &DeploymentRow,
        manifest: &Manifest,
    ) -> Result<Vec<PlannedSchedule>, ServiceError> {
        let mut reader = self.store.reader().await?;
        let known = schedules::of_deployment(&mut reader.db(), editor, row.id).await?;
        let asked = polls::of_deployment(&mut reader.db(), editor, row.id).await?;
        let rows = deployed_schedules::rows(
            row.id,
            (known.as_slice(), asked.as_slice()),
            manifest,
            row.updated_at,
        )?;
        let planned = rows.into_iter().map(|row| {
            let (cron, timezone) = row.effective();
            PlannedSchedule {
                cron_expression: cron.to_owned(),
                timezone: timezone.to_owned(),
                next_at: row.next_due_at.map(Timestamp::from_millis),
                node_id: row.node_id,
            }
        });
        Ok(planned.collect())
    }
}
