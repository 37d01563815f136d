//! What deployed triggers want of their services: that they send to the webhook. Asks no service.

use heddle_contract::manifest::Manifest;
use heddle_model::access::Editor;
use heddle_model::clock::Timestamp;
use heddle_model::error::ServiceError;
use heddle_model::subscription::fingerprint;
use heddle_model::tenant::Tenant;
use heddle_store::deployments::DeploymentRow;
use heddle_store::subscriptions::{self, WantedSubscription};
use heddle_store::vault::Vault;
use heddle_store::{Db, endpoints};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What is kept of a subscription, for it to be ended also when its module is gone.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Plan {
    /// As the module has it.
    pub subscription: Map<String, Value>,
    /// Hosts that the pattern may send to.
    pub hosts: Vec<String>,
}

/// Has the services of what is deployed looked at next: with deploy, promote, redeploy and resume. Those of triggers that it does
/// not have any more are to forget the address.
pub(crate) async fn register(
    db: &mut Db<'_>,
    vault: &Vault,
    editor: &Editor,
    (row, manifest): (&DeploymentRow, &Manifest),
    now: Timestamp,
) -> Result<(), ServiceError> {
    let subscribes = manifest.triggers.iter().any(|it| !it.subscription.is_empty());
    let mut kept = Vec::new();
    let endpoints = match subscribes {
        true => endpoints::in_slot(db, editor, row.slot()).await?,
        false => Vec::new(),
    };
    for endpoint in endpoints {
        let mut triggers = manifest.triggers.iter();
        let trigger = triggers.find(|it| it.node_id == endpoint.node_id && !it.subscription.is_empty());
        let Some(trigger) = trigger else {
            continue;
        };
        let plan = Plan {
            subscription: trigger.subscription.clone(),
            hosts: manifest.rights.hosts.clone(),
        };
        let plan = serde_json::to_string(&plan).map_err(ServiceError::internal)?;
        let service = trigger.subscription.get("service").and_then(Value::as_str);
        let wanted = WantedSubscription {
            endpoint: endpoint.id,
            deployment: row.id,
            tenant: Tenant::of(row.user_id, row.workspace_id),
            node_id: &trigger.node_id,
            service: service.unwrap_or_default(),
            plan: &plan,
            fingerprint: &fingerprint(&trigger.subscription),
        };
        subscriptions::want(db, vault, wanted, now).await?;
        kept.push(endpoint.id);
    }
    Ok(subscriptions::unwant(db, row.id, &kept).await?)
}
