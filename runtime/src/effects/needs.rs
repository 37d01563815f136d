//! Maps a run's resources to what an effect declares to need; this is the only place that knows both.

use super::calls::{CallContext, Calls};
use super::handles::{
    Bounds, Clock, Egress, GrantedHosts, GrantedPatterns, IdempotencyKey, Owner, Parking, References, Signals,
};
use super::open_streams::OpenStreams;
use super::result_place::ResultPlace;
use super::sinks::OpenSinks;
use crate::connections::Granted;
use crate::files::Files;
use crate::key_values::KeyValues;
use crate::response_stream::ResponseStream;
use crate::secrets::Vault;
use std::sync::Arc;

/// All that a run has for the effect that it starts.
pub struct Handles {
    /// Which effect of the run it is, see the run loop in `node-stdlib`.
    pub key: String,
    pub idempotency_key: String,
    /// The run's attempt, from 1.
    pub attempt: u32,
    pub bounds: Bounds,
    pub hosts: Arc<[String]>,
    pub patterns: Arc<[String]>,
    pub vault: Arc<Vault>,
    pub connections: Arc<Granted>,
    pub key_values: Arc<dyn KeyValues>,
    pub files: Arc<dyn Files>,
    /// Where pieces of the run's response go, if somebody waits for it.
    pub response: Option<Arc<dyn ResponseStream>>,
    /// The files that the run is writing.
    pub sinks: OpenSinks,
    /// The responses that the run reads while they arrive.
    pub streams: OpenStreams,
    /// Calls of other patterns, where they are supported.
    pub calls: Option<Arc<dyn Calls>>,
    pub signals: Signals,
    pub clock: Clock,
    pub egress: Egress,
    pub parking: Parking,
    /// The place of its result; `None`: it is not about to start in a run.
    pub place: Option<ResultPlace>,
}

/// What an effect needs besides its request. An effect names one in its type, and gets nothing else.
pub trait Needs: Send + 'static {
    /// Takes it out of what there is.
    fn of(handles: &Handles) -> Self;
}

impl Needs for () {
    fn of(_: &Handles) -> Self {}
}

impl Needs for Bounds {
    fn of(handles: &Handles) -> Self {
        handles.bounds
    }
}

impl Needs for Owner {
    fn of(handles: &Handles) -> Self {
        Owner(handles.connections.owner())
    }
}

impl Needs for Clock {
    fn of(handles: &Handles) -> Self {
        handles.clock.clone()
    }
}

impl Needs for Egress {
    fn of(handles: &Handles) -> Self {
        handles.egress.clone()
    }
}

impl Needs for Parking {
    fn of(handles: &Handles) -> Self {
        handles.parking.clone()
    }
}

impl Needs for Signals {
    fn of(handles: &Handles) -> Self {
        handles.signals.clone()
    }
}

impl Needs for ResultPlace {
    fn of(handles: &Handles) -> Self {
        handles.place.clone().unwrap_or_default()
    }
}

impl Needs for IdempotencyKey {
    fn of(handles: &Handles) -> Self {
        IdempotencyKey(handles.idempotency_key.clone())
    }
}

impl Needs for GrantedHosts {
    fn of(handles: &Handles) -> Self {
        GrantedHosts(handles.hosts.clone())
    }
}

impl Needs for GrantedPatterns {
    fn of(handles: &Handles) -> Self {
        GrantedPatterns(handles.patterns.clone())
    }
}

impl Needs for References {
    fn of(handles: &Handles) -> Self {
        References::of(handles.vault.clone())
    }
}

impl Needs for Arc<Vault> {
    fn of(handles: &Handles) -> Self {
        handles.vault.clone()
    }
}

impl Needs for Arc<Granted> {
    fn of(handles: &Handles) -> Self {
        handles.connections.clone()
    }
}

impl Needs for Arc<dyn KeyValues> {
    fn of(handles: &Handles) -> Self {
        handles.key_values.clone()
    }
}

impl Needs for Arc<dyn Files> {
    fn of(handles: &Handles) -> Self {
        handles.files.clone()
    }
}

impl Needs for Option<Arc<dyn ResponseStream>> {
    fn of(handles: &Handles) -> Self {
        handles.response.clone()
    }
}

impl Needs for OpenSinks {
    fn of(handles: &Handles) -> Self {
        handles.sinks.clone()
    }
}

impl Needs for OpenStreams {
    fn of(handles: &Handles) -> Self {
        handles.streams.clone()
    }
}

impl Needs for Option<Arc<dyn Calls>> {
    fn of(handles: &Handles) -> Self {
        handles.calls.clone()
    }
}

impl Needs for CallContext {
    fn of(handles: &Handles) -> Self {
        CallContext {
            key: handles.key.clone(),
            attempt: handles.attempt,
            clock: Needs::of(handles),
            parking: Needs::of(handles),
            place: Needs::of(handles),
        }
    }
}

macro_rules! several {
    ($($part:ident),+) => {
        impl<$($part: Needs),+> Needs for ($($part,)+) {
            fn of(handles: &Handles) -> Self {
                ($($part::of(handles),)+)
            }
        }
    };
}

several!(A, B);
several!(A, B, C);
several!(A, B, C, D);
several!(A, B, C, D, E);
