//! Email that starts runs: maps a message and its recipients to one run for each addressed OnEmail node. Independent of
//! whether the message arrived by HTTP or SMTP.

mod event;
mod files;
mod parts;
mod reading;
pub mod smtp;

use crate::Service;
use bytes::Bytes;
use heddle_catalogue::Start;
use heddle_execution::{Accepted, ActiveDeployment, IdempotencyKey, NewRun};
use heddle_model::error::ServiceError;
use heddle_model::ids::RunId;
use heddle_model::status::TriggeredBy;
use heddle_store::endpoints::{self, MailboxRow};
use mail_parser::{Address, Message};
use parts::Parts;
pub use parts::Refused;
use reading::aside;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Maximum number of recipients of one message; further ones are ignored.
pub const RECIPIENTS_MAX: usize = 100;
/// Bytes of a message.
pub const BYTES_MAX: usize = 10 << 20;

/// An address under which a node is reached.
pub fn address(domain: &str, mailbox: &str) -> String {
    format!("{mailbox}@{domain}")
}

/// The outcome of a message for one address.
#[derive(Debug)]
pub enum Delivery {
    /// It has a run.
    Accepted(RunId),
    /// The same message had a run before.
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

/// A message that was read.
pub struct Mail {
    /// As it came, for those who want its attachments as files.
    raw: Bytes,
    event: Box<RawValue>,
    /// By which a message that comes again is known.
    key: String,
    /// Addresses that its header names.
    named: Vec<String>,
}

impl Mail {
    /// Parses a message (RFC 5322) outside the async threads.
    pub async fn read(raw: impl Into<Bytes>) -> Result<Mail, ServiceError> {
        let raw = raw.into();
        let mail = aside(&raw, Mail::parse).await?;
        Ok(Mail { raw, ..mail })
    }

    /// Reads a message, in time and memory that its length bounds. It can't be delivered as files.
    pub fn parse(raw: &[u8]) -> Result<Mail, Refused> {
        let parts = Parts::read(raw)?;
        let header = &parts.header;
        if !header.headers_raw().any(|(name, _)| is_field_name(name)) {
            return Err(Refused::NoMessage);
        }
        let key = match header.message_id() {
            Some(id) => hex::encode(Sha256::digest(id)),
            None => hex::encode(Sha256::digest(raw)),
        };
        Ok(Mail {
            raw: Bytes::new(),
            event: event::of_message(&parts).ok_or(Refused::NoMessage)?,
            key,
            named: named(header),
        })
    }

    /// The addresses that its header names, each once.
    pub fn recipients(&self) -> &[String] {
        &self.named
    }

    /// Starts the run of one address.
    pub async fn deliver(&self, service: &Service, address: &str) -> Result<Delivery, ServiceError> {
        let (row, active) = match destination(service, address).await? {
            Destination::Node(row, active) => (row, active),
            Destination::Inactive => return Ok(Delivery::Inactive),
            Destination::Unknown => return Ok(Delivery::Unknown),
        };
        let (id, event) = match stores_files(&active, &row.node_id) {
            true => {
                let run = RunId::new();
                let event =
                    files::stored(&self.raw, service.executions.files(), (active.tenant, run)).await?;
                (Some(run), event)
            }
            false => (None, self.event.clone()),
        };
        let run = NewRun {
            id,
            deployment: active,
            triggered_by: TriggeredBy::Email,
            node_id: Some(row.node_id),
            event,
            idempotency: Some(IdempotencyKey::of_endpoint(row.id, self.key.clone())),
            wait: false,
            caller: None,
        };
        Ok(match service.executions.accept(run).await? {
            Accepted::New(ticket) => Delivery::Accepted(ticket.run_id),
            Accepted::Duplicate(run) => Delivery::Duplicate(run),
        })
    }
}

/// Whether a node wants attachments as files.
fn stores_files(active: &ActiveDeployment, node_id: &str) -> bool {
    let mut triggers = active.manifest().triggers.iter();
    let trigger = triggers.find(|trigger| trigger.node_id == node_id);
    let files = trigger.and_then(|trigger| trigger.parameters.get("files"));
    files.and_then(serde_json::Value::as_bool).unwrap_or_default()
}

/// What the transport added of the recipient comes before what the sender wrote.
fn named(message: &Message<'_>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut addresses: Vec<String> = Vec::new();
    let traced = ["Delivered-To", "X-Original-To"]
        .into_iter()
        .flat_map(|name| message.header_raw(name));
    let traced = traced.map(|value| value.trim().trim_matches(['<', '>']).to_owned());
    let written = [message.to(), message.cc()]
        .into_iter()
        .flatten()
        .flat_map(Address::iter);
    let written = written.filter_map(|address| address.address()).map(str::to_owned);
    for address in traced.chain(written) {
        if addresses.len() < RECIPIENTS_MAX && seen.insert(address.to_ascii_lowercase()) {
            addresses.push(address);
        }
    }
    addresses
}

/// RFC 5322, section 2.2; the parser takes any line for a field.
fn is_field_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':')
}
