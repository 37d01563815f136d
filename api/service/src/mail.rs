//! Email that starts runs: maps a message and its recipients to one run for each addressed OnEmail node. Independent of
//! whether the message arrived by HTTP or SMTP.

pub mod smtp;

use crate::Service;
use heddle_catalogue::Start;
pub use heddle_execution::mail::{BYTES_MAX, Mail, RECIPIENTS_MAX};
use heddle_execution::{Accepted, ActiveDeployment, IdempotencyKey, NewRun};
use heddle_model::error::ServiceError;
use heddle_model::ids::RunId;
use heddle_model::status::TriggeredBy;
use heddle_store::endpoints::{self, MailboxRow};
use std::sync::Arc;

/// An address under which a node is reached.
pub fn address(domain: &str, mailbox: &str) -> String {
    format!("{mailbox}@{domain}")
}

/// The outcome of a message for one address.
#[derive(Debug)]
pub enum Delivery {
    /// The message has started this run.
    Accepted(RunId),
    /// The message came again: it had started this run before.
    Duplicate(RunId),
    /// No active deployment has the node.
    Inactive,
    /// Nobody has the address.
    Unknown,
}

/// Where messages to an address go.
pub enum Destination {
    /// To a node that is deployed.
    Node(MailboxRow, Arc<ActiveDeployment>),
    /// To a node that is not.
    Inactive,
    /// Nowhere.
    Unknown,
}

/// Looks up an address. Case does not count, and neither does what follows a `+`.
pub async fn destination(service: &Service, address: &str) -> Result<Destination, ServiceError> {
    let Some((local, host)) = address.trim().rsplit_once('@') else {
        return Ok(Destination::Unknown);
    };
    if !host.eq_ignore_ascii_case(&service.mail_domain) {
        return Ok(Destination::Unknown);
    }
    let mailbox = local.split('+').next().unwrap_or(local).to_ascii_lowercase();
    if mailbox.len() != 32 || !mailbox.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(Destination::Unknown);
    }
    let found = endpoints::mailbox_for_ingestion(&mut service.store.reader().await?.db(), &mailbox).await?;
    let Some(row) = found else {
        return Ok(Destination::Unknown);
    };
    let active = service.executions.active_for(row.slot()).await?;
    let has_node = |active: &Arc<ActiveDeployment>| {
        let mut triggers = active.manifest().triggers.iter();
        triggers
            .any(|trigger| trigger.node_type == Start::Email.type_name() && trigger.node_id == row.node_id)
    };
    Ok(match active.filter(has_node) {
        Some(active) => Destination::Node(row, active),
        None if row.is_present => Destination::Inactive,
        None => Destination::Unknown,
    })
}

/// Starts the run of one address.
pub async fn deliver(mail: &Mail, service: &Service, address: &str) -> Result<Delivery, ServiceError> {
    let (row, active) = match destination(service, address).await? {
        Destination::Node(row, active) => (row, active),
        Destination::Inactive => return Ok(Delivery::Inactive),
        Destination::Unknown => return Ok(Delivery::Unknown),
    };
    let as_files = stores_files(&active, &row.node_id);
    let files = service.executions.files();
    let (id, event) = mail.event(as_files, files, active.tenant).await?;
    let run = NewRun {
        id,
        deployment: active,
        triggered_by: TriggeredBy::Email,
        node_id: Some(row.node_id),
        event,
        text: None,
        idempotency: Some(IdempotencyKey::of_endpoint(row.id, mail.key().to_owned())),
        wait: false,
        caller: None,
    };
    Ok(match service.executions.accept(run).await? {
        Accepted::New(ticket) => Delivery::Accepted(ticket.run_id),
        Accepted::Duplicate(run) => Delivery::Duplicate(run),
    })
}

/// Whether a node wants attachments as files.
fn stores_files(active: &ActiveDeployment, node_id: &str) -> bool {
    let mut triggers = active.manifest().triggers.iter();
    let trigger = triggers.find(|trigger| trigger.node_id == node_id);
    let files = trigger.and_then(|trigger| trigger.parameters.get("files"));
    files.and_then(serde_json::Value::as_bool).unwrap_or_default()
}
