//! Trying a connection outside of any run: what a node would do with it first, by the same effects, so that the same guards
//! hold: hosts, addresses, processes of drivers, time.
//!
//! Knows nothing of where connections are stored, and of whose budget it is.

use crate::connections::{Connection, ConnectionFuture, Connections, Granted};
use crate::effects::{Bounds, Clock, Egress, Handles, OpenSinks, Parking, Progress, Signals};
use crate::entropy::nonce;
use crate::files::MemoryFiles;
use crate::key_values::MemoryValues;
use crate::run_host::HostServices;
use crate::secrets::{Secrets, Vault};
use heddle_sandbox::clock::monotonic;
use heddle_sandbox::{EffectCode, EffectError};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// The name of the only connection that there is.
const NAME: &str = "connection";

/// A connection to try.
#[derive(Debug)]
pub struct Probe {
    /// Its fields, stored or not.
    pub connection: Connection,
    /// Whose it is, see [`Connections::tenant`].
    pub tenant: Option<String>,
    /// How it is tried.
    pub way: ProbeWay,
    /// Time for all of it.
    pub time_max: Duration,
    /// Largest answer, in bytes.
    pub answer_bytes_max: usize,
}

/// How a connection is tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeWay {
    /// A GET request, with the credentials, to this address, or to a path below the connection's `baseUrl`.
    Http(String),
    /// A login, and `select 1`.
    Sql,
    /// A login, and no message.
    Smtp,
}

/// How it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probed {
    /// Of the answer to a request.
    pub http_status: Option<u16>,
}

/// The one connection.
#[derive(Debug)]
struct Single {
    connection: Connection,
    tenant: Option<String>,
}

impl Connections for Single {
    fn open(&self, _: String) -> ConnectionFuture {
        let connection = self.connection.clone();
        Box::pin(async move { Ok(connection) })
    }

    fn tenant(&self) -> Option<String> {
        self.tenant.clone()
    }
}

/// Tries a connection. Messages of errors hold nothing of its secrets. Dropping the future ends the work.
pub async fn probe(services: &HostServices, probe: Probe) -> Result<Probed, EffectError> {
    let (kind, request) = asked(&probe.way);
    let Some(effect) = services.effects.get(kind) else {
        let message = format!("This heddle has no effect `{kind}`.");
        return Err(EffectError::new(EffectCode::NotPermitted, message));
    };
    let vault = Arc::new(Vault::new(Secrets::new(), Arc::new([]), nonce()));
    let time_max = probe.time_max;
    let handles = handles(probe, &vault);
    let work = effect.start(request, &handles);
    // Sessions and clients that are kept belong to these threads. The set ends what nobody waits for any more: whoever
    // goes away gives their place back, and must not leave work without one.
    let mut tasks = JoinSet::new();
    tasks.spawn_on(tokio::time::timeout(time_max, work), &services.io);
    let late = || {
        let message = format!("There was no answer within {} ms.", time_max.as_millis());
        EffectError::new(EffectCode::Timeout, message)
    };
    let result = match tasks.join_next().await {
        Some(Ok(Ok(result))) => result,
        Some(Ok(Err(_))) => return Err(late()),
        Some(Err(_)) | None => {
            let message = "The test failed because of a bug in heddle.";
            return Err(EffectError::new(EffectCode::Internal, message));
        }
    };
    match result {
        Ok(Progress::Done(value)) => Ok(Probed {
            http_status: value["status"].as_u64().and_then(|status| status.try_into().ok()),
        }),
        Ok(Progress::Parked(_)) => Err(late()),
        Err(error) => Err(EffectError {
            message: vault.mask(&error.message).into_owned(),
            ..error
        }),
    }
}

/// The effect and its request.
fn asked(way: &ProbeWay) -> (&'static str, Value) {
    match way {
        ProbeWay::Http(url) => (
            "http",
            json!({"connection": NAME, "method": "GET", "url": url, "followRedirects": false}),
        ),
        ProbeWay::Sql => (
            "sql",
            json!({"connection": NAME, "query": "select 1", "maxRows": 1}),
        ),
        ProbeWay::Smtp => ("mail", json!({"connection": NAME, "onlyLogIn": true})),
    }
}

fn handles(probe: Probe, vault: &Arc<Vault>) -> Handles {
    let now = monotonic();
    let single = Single {
        connection: probe.connection,
        tenant: probe.tenant,
    };
    Handles {
        key: "probe".to_owned(),
        idempotency_key: nonce(),
        attempt: 1,
        bounds: Bounds {
            result_bytes_max: probe.answer_bytes_max,
            deadline: now.checked_add(probe.time_max).unwrap_or(now),
        },
        // What the connection may be sent to, it says itself.
        hosts: ["*".to_owned()].into(),
        patterns: Vec::new().into(),
        vault: vault.clone(),
        connections: Arc::new(Granted::new(
            Arc::new(single),
            Arc::new([NAME.to_owned()]),
            vault.clone(),
        )),
        key_values: Arc::new(MemoryValues::default()),
        files: Arc::new(MemoryFiles::default()),
        response: None,
        sinks: OpenSinks::default(),
        egress: Egress::default(),
        calls: None,
        signals: Signals::of(None),
        clock: Clock::of(None),
        parking: Parking {
            is_possible: false,
            state: None,
        },
    }
}
