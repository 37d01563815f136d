//! Messages that start runs (RFC 5322): what they are as events, with attachments inside or as files. Knows nothing of how they
//! arrive, and of whom they are for.

mod event;
mod files;
mod parts;
mod reading;

use crate::files::FileService;
use bytes::Bytes;
use heddle_model::error::ServiceError;
use heddle_model::ids::RunId;
use heddle_model::tenant::Tenant;
use mail_parser::{Address, Message};
use parts::Parts;
pub use parts::Refused;
use reading::aside;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

/// Maximum number of recipients of one message; further ones are ignored.
pub const RECIPIENTS_MAX: usize = 100;
/// Bytes of a message.
pub const BYTES_MAX: usize = 10 << 20;

/// A message that was read.
pub struct Mail {
    /// As it came, for those who want its attachments as files.
    raw: Bytes,
    event: Box<RawValue>,
    key: String,
    named: Vec<String>,
}

impl Mail {
    /// Parses a message outside the async threads.
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

    /// By which a message that comes again is known: its `Message-ID`, or all of it if it has none.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Its event. Where attachments are to be files, they are stored for the run that it is going to start, whose id is given.
    pub async fn event(
        &self,
        as_files: bool,
        files: &FileService,
        tenant: Tenant,
    ) -> Result<(Option<RunId>, Box<RawValue>), ServiceError> {
        if !as_files {
            return Ok((None, self.event.clone()));
        }
        let run = RunId::new();
        let event = files::stored(&self.raw, files, (tenant, run)).await?;
        Ok((Some(run), event))
    }
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
