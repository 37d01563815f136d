//! What requests need from the run that sends them.

use super::super::handles::{Bounds, Egress, GrantedHosts, IdempotencyKey};
use super::super::needs::{Handles, Needs};
use super::super::open_streams::OpenStreams;
use super::super::result_place::ResultPlace;
use crate::connections::Granted;
use crate::files::Files;
use crate::secrets::Vault;
use std::sync::Arc;

/// What requests need from the run that sends them.
#[derive(Clone, Debug)]
pub struct HttpNeeds {
    pub bounds: Bounds,
    /// For requests without one of their own.
    pub idempotency_key: IdempotencyKey,
    pub hosts: GrantedHosts,
    /// Secrets that go to hosts, and what is masked in answers.
    pub vault: Arc<Vault>,
    pub connections: Arc<Granted>,
    pub files: Arc<dyn Files>,
    pub egress: Egress,
    /// Where responses stay that are read while they arrive.
    pub streams: OpenStreams,
    /// Reads what has many values.
    pub place: ResultPlace,
}

impl Needs for HttpNeeds {
    fn of(handles: &Handles) -> Self {
        HttpNeeds {
            bounds: Needs::of(handles),
            idempotency_key: Needs::of(handles),
            hosts: Needs::of(handles),
            vault: Needs::of(handles),
            connections: Needs::of(handles),
            files: Needs::of(handles),
            egress: Needs::of(handles),
            streams: Needs::of(handles),
            place: Needs::of(handles),
        }
    }
}
