//! The answer that describes what deploying would do.

use super::deployments::{Trigger, triggers};
use super::webhook_endpoints::url;
use crate::app::App;
use crate::http::error::ApiError;
use heddle_catalogue::Start;
use heddle_execution::compile::Finding;
use heddle_execution::compile::validation::NeededRights;
use heddle_execution::deploy::{Missing, Plan, PlannedSchedule};
use heddle_model::access::Editor;
use heddle_model::ids::{DeploymentId, EnvironmentId};
use heddle_model::status::DeploymentStatus;
use heddle_service::mail;
use heddle_store::deployments::DeploymentRow;
use heddle_store::endpoints;
use serde::Serialize;
use std::collections::HashMap;
use utoipa::ToSchema;

/// What would be deployed, and what would change by it. Nothing has changed.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeployPlan {
    /// Always true.
    dry_run: bool,
    version_number: i64,
    /// Where its secrets and variables would come from.
    environment_id: Option<EnvironmentId>,
    /// Whether it would be the pattern's main deployment.
    is_main: bool,
    /// The deployment whose place it would take; null: there would be one more.
    replaces: Option<Replaced>,
    /// What would start runs.
    triggers: Vec<Trigger>,
    /// What looks wrong in the graph.
    warnings: Vec<Finding>,
    /// What it could do.
    rights: NeededRights,
    /// What of that the deployment whose place it takes could not do.
    rights_added: NeededRights,
    /// What that one could do, and this one no longer could.
    rights_removed: NeededRights,
    /// What it names but does not exist there: nodes that need it would fail.
    missing: Missing,
    /// The addresses of its OnWebhook, OnForm and OnChat nodes.
    webhooks: Vec<PlannedWebhook>,
    /// The addresses of its OnEmail nodes.
    emails: Vec<PlannedEmail>,
    schedules: Vec<PlannedSchedule>,
    /// Size of the compiled module.
    #[schema(example = 14_336)]
    module_bytes: usize,
}

/// A deployment whose place would be taken.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Replaced {
    deployment_id: DeploymentId,
    status: DeploymentStatus,
    version_number: i64,
    environment_id: Option<EnvironmentId>,
}

/// The address of an OnWebhook, OnForm or OnChat node.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct PlannedWebhook {
    #[schema(example = "on-order")]
    node_id: String,
    /// Null: it would get a new one.
    #[schema(example = "https://heddle.example.com/webhooks/6f1ed002ab5595859014ebf0951522d9")]
    webhook_url: Option<String>,
}

/// An OnEmail node's address.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct PlannedEmail {
    #[schema(example = "on-mail")]
    node_id: String,
    /// Null: it would get a new one.
    #[schema(example = "6f1ed002ab5595859014ebf0951522d9@heddle.example.com")]
    address: Option<String>,
}

impl From<DeploymentRow> for Replaced {
    fn from(row: DeploymentRow) -> Self {
        Replaced {
            deployment_id: row.id,
            status: row.status,
            version_number: row.version_number,
            environment_id: row.environment_id,
        }
    }
}

impl DeployPlan {
    /// The plan with the addresses that are there.
    pub async fn new(app: &App, editor: &Editor, plan: Plan) -> Result<DeployPlan, ApiError> {
        let slot = plan.row.slot();
        let mut reader = app.store.reader().await?;
        let db = &mut reader.db();
        let webhooks = endpoints::in_slot(db, editor, slot).await?;
        let mut webhooks: HashMap<String, String> = webhooks
            .into_iter()
            .map(|row| (row.node_id.clone(), url(app, &row)))
            .collect();
        let mailboxes = endpoints::mailboxes_in_slot(db, editor, slot).await?;
        let mut mailboxes: HashMap<String, String> = mailboxes
            .into_iter()
            .map(|row| (row.node_id, mail::address(&app.mail_domain, &row.mailbox)))
            .collect();
        drop(reader);
        let triggers = triggers(plan.row.id, &plan.row.triggers)?;
        let nodes = |start: Start| -> Vec<String> {
            let of_type = triggers.iter().filter(|trigger| trigger.is(start));
            of_type.map(|trigger| trigger.node_id().to_owned()).collect()
        };
        let requested = Start::REQUESTS.iter().flat_map(|start| nodes(*start));
        let webhooks = requested.map(|node_id| PlannedWebhook {
            webhook_url: webhooks.remove(&node_id),
            node_id,
        });
        let emails = nodes(Start::Email).into_iter().map(|node_id| PlannedEmail {
            address: mailboxes.remove(&node_id),
            node_id,
        });
        let former = plan.former_rights.unwrap_or_default();
        Ok(DeployPlan {
            dry_run: true,
            version_number: plan.row.version_number,
            environment_id: plan.row.environment_id,
            is_main: slot.is_main(),
            replaces: plan.replaces.map(Replaced::from),
            webhooks: webhooks.collect(),
            emails: emails.collect(),
            triggers,
            warnings: plan.warnings,
            rights_added: plan.rights.without(&former),
            rights_removed: former.without(&plan.rights),
            rights: plan.rights,
            missing: plan.missing,
            schedules: plan.schedules,
            module_bytes: plan.module_bytes,
        })
    }
}
