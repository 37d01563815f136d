//! A request of the service itself, for a pattern but outside of its runs: by the effect that runs' requests are sent by, with
//! the pattern's rights.
//!
//! Knows nothing of when requests are sent, and of what becomes of answers.

use crate::connections::Connections;
use crate::outside::{Given, perform};
use crate::run_host::HostServices;
use heddle_sandbox::EffectError;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// A request to be sent.
#[derive(Debug)]
pub struct Fetch {
    /// As the effect `http` takes it.
    pub request: Value,
    pub connections: Arc<dyn Connections>,
    /// The connections and hosts that the pattern's manifest lists.
    pub granted: (Vec<String>, Vec<String>),
    /// Time for all of it.
    pub time_max: Duration,
    /// Largest answer, in bytes.
    pub answer_bytes_max: usize,
}

/// How it went.
#[derive(Debug)]
pub struct Fetched {
    /// The result of the effect `http`.
    pub result: Result<Value, EffectError>,
    /// Bytes that have left for it.
    pub egress_bytes: u64,
}

pub(crate) async fn fetch(services: &HostServices, fetch: Fetch) -> Fetched {
    let egress_bytes = fetch.request.to_string().len() as u64;
    let (connections, hosts) = fetch.granted;
    let given = Given {
        connections: fetch.connections,
        names: connections.into(),
        hosts: hosts.into(),
        time_max: fetch.time_max,
        answer_bytes_max: fetch.answer_bytes_max,
        called: "The request",
    };
    Fetched {
        result: perform(services, ("http", fetch.request), given).await,
        egress_bytes,
    }
}
