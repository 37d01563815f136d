//! Trying a connection outside of any run: what a node would do with it first, by the same effects, so that the same guards
//! hold.
//!
//! Knows nothing of where connections are stored, and of whose budget it is.

use crate::connections::{Connection, ConnectionFuture, Connections};
use crate::outside::{Given, perform};
use crate::run_host::HostServices;
use heddle_sandbox::EffectError;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// The name of the only connection that there is.
const NAME: &str = "connection";

/// A connection to try.
#[derive(Debug)]
pub struct Probe {
    /// Its fields, stored or not.
    pub connection: Connection,
    /// Whose it is, see [`Connections::tenant`].
    pub tenant: Option<String>,
    /// Who pays, see [`Connections::owner`].
    pub owner: Option<u128>,
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
    /// A login at a server of mailboxes, which is not an effect.
    Mailbox,
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
    owner: Option<u128>,
}

impl Connections for Single {
    fn open(&self, _: String) -> ConnectionFuture {
        let connection = self.connection.clone();
        Box::pin(async move { Ok(connection) })
    }

    fn tenant(&self) -> Option<String> {
        self.tenant.clone()
    }

    fn owner(&self) -> Option<u128> {
        self.owner
    }
}

/// Tries a connection. Messages of errors hold nothing of its secrets. Dropping the future ends the work.
pub async fn probe(services: &HostServices, probe: Probe) -> Result<Probed, EffectError> {
    let given = Given {
        connections: Arc::new(Single {
            connection: probe.connection,
            tenant: probe.tenant,
            owner: probe.owner,
        }),
        names: [NAME.to_owned()].into(),
        // What the connection may be sent to, it says itself.
        hosts: ["*".to_owned()].into(),
        time_max: probe.time_max,
        answer_bytes_max: probe.answer_bytes_max,
        called: "The test",
    };
    let value = perform(services, asked(&probe.way), given).await?;
    Ok(Probed {
        http_status: value["status"].as_u64().and_then(|status| status.try_into().ok()),
    })
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
        ProbeWay::Smtp | ProbeWay::Mailbox => ("mail", json!({"connection": NAME, "onlyLogIn": true})),
    }
}
