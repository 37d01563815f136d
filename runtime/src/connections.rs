//! Connections: addresses of and credentials for other services. A pattern holds a connection's id or name and nothing
//! else; the host opens it when an effect leaves the sandbox. Their contents never enter the guest.
//!
//! Knows nothing about where connections are stored.

use crate::files::{Files, MemoryFiles};
use crate::hosts;
use crate::key_values::{KeyValues, MemoryValues};
use crate::response_stream::ResponseStream;
use crate::secrets::Vault;
use heddle_sandbox::{EffectCode, EffectError};
use reqwest::Url;
use serde_json::{Map, Value};
use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use zeroize::Zeroize;

/// Names under which a token is kept.
pub(crate) const TOKEN: &[&str] = &["apiKey", "token", "accessToken", "value"];

/// Fields that may be shown; the values of all others are masked wherever a service gives them back.
const PLAIN_FIELDS: &[&str] = &[
    "audience",
    "auth",
    "baseUrl",
    "clientAuth",
    "clientId",
    "database",
    "file",
    "headerName",
    "headerPrefix",
    "host",
    "kind",
    "organization",
    "port",
    "provider",
    "queryName",
    "region",
    "schema",
    "scope",
    "tls",
    "tlsCa",
    "tokenUrl",
    "user",
    "username",
];

/// Opens the connections of one run.
pub trait Connections: fmt::Debug + Send + Sync + 'static {
    /// The connection with this id, or else of this name.
    fn open(&self, reference: String) -> ConnectionFuture;

    /// Whose they are, where there are several tenants: an id that is fit for the name of a directory. What is of one
    /// tenant, such as files and processes, is kept from others.
    fn tenant(&self) -> Option<String> {
        None
    }

    /// Who pays for what is done with them, as a number: names are looked up from their share.
    fn owner(&self) -> Option<u128> {
        None
    }
}

/// A connection about to be opened.
pub type ConnectionFuture = Pin<Box<dyn Future<Output = Result<Connection, ConnectionError>> + Send>>;

/// Why a connection can't be opened.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionError {
    /// There is none.
    #[error("there is no such connection")]
    Missing,
    /// Its provider gives no token before somebody has consented to it again; why.
    #[error("it needs consent again: {0}")]
    ConsentNeeded(String),
    /// Its provider gives no token now; why.
    #[error("there is no token for it: {0}")]
    NoToken(String),
    /// Wherever it is kept, it can't be read now.
    #[error("the service can't read it now")]
    Unavailable(#[source] Arc<dyn Error + Send + Sync>),
}

/// An opened connection.
#[derive(Clone)]
pub struct Connection {
    /// Distinguishes it from all others of this host.
    pub id: String,
    /// The connection's name in messages.
    pub name: String,
    /// The service, such as `postgres` or `open-ai`.
    pub provider: String,
    /// Hosts that it may be sent to: `api.example.com`, `api.example.com:8443`, `*.example.com`. None: any.
    pub hosts: Vec<String>,
    /// Fields by name: texts, numbers and truth values.
    pub fields: Map<String, Value>,
    /// What was secret of it before, and is hidden as well: a run may have waited since.
    pub former: Vec<String>,
}

/// Wipes what may be secret.
impl Drop for Connection {
    fn drop(&mut self) {
        for value in self.fields.values_mut() {
            if let Value::String(text) = value {
                text.zeroize();
            }
        }
        self.former.zeroize();
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl Connection {
    /// The first of these fields that is there and not empty, as text.
    pub(crate) fn text(&self, names: &[&str]) -> Option<String> {
        let mut texts = names.iter().filter_map(|name| match self.fields.get(*name) {
            Some(Value::String(text)) => Some(text.trim().to_owned()),
            Some(Value::Null) | None => None,
            Some(other) => Some(other.to_string()),
        });
        texts.find(|text| !text.is_empty())
    }

    /// As [`Connection::text`]; what is missing is named.
    pub(crate) fn required(&self, names: &[&str]) -> Result<String, EffectError> {
        self.text(names).ok_or_else(|| {
            let name = names.first().copied().unwrap_or_default();
            self.unfit(format!("it has no field `{name}`"))
        })
    }

    /// The port in the field `port`.
    pub(crate) fn port(&self, default: u16) -> Result<u16, EffectError> {
        match self.text(&["port"]) {
            None => Ok(default),
            Some(text) => text
                .parse()
                .map_err(|_| self.unfit(format!("`{text}` is not a port"))),
        }
    }

    /// The connection is not what the node needs.
    pub(crate) fn unfit(&self, reason: impl fmt::Display) -> EffectError {
        let message = format!("The connection `{}` can't be used here: {reason}.", self.name);
        EffectError::new(EffectCode::Parameter, message)
    }

    /// Refuses hosts that the connection does not name, if it names any.
    pub(crate) fn check_host(&self, host: &str, port: Option<u16>) -> Result<(), EffectError> {
        if self.hosts.is_empty() || hosts::names(&self.hosts, host, port) {
            return Ok(());
        }
        let host = host.trim_matches(['[', ']']);
        let message = format!(
            "The connection `{}` may only be sent to {}, not to {host}.",
            self.name,
            self.hosts.join(", ")
        );
        Err(EffectError::new(EffectCode::NotPermitted, message))
    }
}

/// A host without connections.
#[derive(Debug)]
pub struct NoConnections;

impl Connections for NoConnections {
    fn open(&self, _: String) -> ConnectionFuture {
        Box::pin(async { Err(ConnectionError::Missing) })
    }
}

/// The connections of one run, as far as its manifest grants them.
#[derive(Debug)]
pub struct Granted {
    source: Arc<dyn Connections>,
    names: Arc<[String]>,
    vault: Arc<Vault>,
}

impl Granted {
    pub fn new(source: Arc<dyn Connections>, names: Arc<[String]>, vault: Arc<Vault>) -> Self {
        Granted { source, names, vault }
    }

    /// Whether none is granted.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// See [`Connections::tenant`].
    pub fn tenant(&self) -> Option<String> {
        self.source.tenant()
    }

    /// See [`Connections::owner`].
    pub fn owner(&self) -> Option<u128> {
        self.source.owner()
    }

    /// Opens a connection. From now on its secrets are masked.
    pub async fn open(&self, reference: &str) -> Result<Connection, EffectError> {
        if !self.names.iter().any(|name| name == "*" || name == reference) {
            let message = format!("The pattern's manifest does not list the connection `{reference}`.");
            return Err(EffectError::new(EffectCode::NotPermitted, message));
        }
        let opened = self.source.open(reference.to_owned()).await;
        let connection = opened.map_err(|error| match error {
            ConnectionError::Missing => {
                let message = format!(
                    "There is no connection `{reference}`. Create one with this name, or correct the name in \
                     the pattern."
                );
                EffectError::new(EffectCode::ConnectionMissing, message)
            }
            ConnectionError::ConsentNeeded(reason) => {
                let message = format!(
                    "The connection `{reference}` needs consent again: choose “Connect” for it in the console. {reason}"
                );
                EffectError::new(EffectCode::OauthFailed, message)
            }
            ConnectionError::NoToken(reason) => {
                let message = format!("There is no token for the connection `{reference}` right now. {reason}");
                EffectError::new(EffectCode::OauthFailed, message)
            }
            ConnectionError::Unavailable(_) => {
                let message = format!("The connection `{reference}` can't be opened: {error}.");
                EffectError::new(EffectCode::Internal, message)
            }
        })?;
        for secret in &connection.former {
            self.vault.note_use(secret)?;
        }
        for (name, value) in &connection.fields {
            if let Value::String(secret) = value
                && !PLAIN_FIELDS.contains(&name.as_str())
            {
                self.vault.note_use(secret)?;
                self.vault.note_use(secret.trim())?;
                if let Some(password) = password_of(secret) {
                    self.vault.note_use(&password)?;
                }
            }
        }
        Ok(connection)
    }
}

/// The password within a URL, such as that of a database.
fn password_of(url: &str) -> Option<String> {
    let url = Url::parse(url.trim()).ok()?;
    let password = percent_encoding::percent_decode_str(url.password()?);
    Some(password.decode_utf8_lossy().into_owned())
}

/// What a host gives to the effects of a run. By default it has no connections, and keeps values in memory.
#[derive(Clone, Debug)]
pub struct Services {
    pub connections: Arc<dyn Connections>,
    /// Values that patterns keep.
    pub key_values: Arc<dyn KeyValues>,
    /// Files that runs hold by reference.
    pub files: Arc<dyn Files>,
    /// Where pieces of the run's response go, if somebody may wait for it.
    pub response: Option<Arc<dyn ResponseStream>>,
}

impl Default for Services {
    fn default() -> Self {
        Services {
            connections: Arc::new(NoConnections),
            key_values: Arc::new(MemoryValues::default()),
            files: Arc::new(MemoryFiles::default()),
            response: None,
        }
    }
}
