//! Time and memory limits of HTTP connections. Knows nothing about what is served over them.

use super::sources::{SettingError, Values};
use super::values::{bytes, duration, set};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Default limit of connections, if the limit of open files allows it.
const CONNECTIONS_USUAL: usize = 10_000;
/// Minimum limit of connections: a page and its proxy need as many.
pub const CONNECTIONS_MIN: usize = 16;

/// Files of a certificate with its key, in PEM.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The certificate, followed by those that lead to its authority.
    pub certificate: PathBuf,
    pub private_key: PathBuf,
}

impl TlsFiles {
    fn read(values: &Values) -> Result<Option<Self>, SettingError> {
        match (values.text("tls_cert"), values.text("tls_key")) {
            (None, None) => Ok(None),
            (Some(certificate), Some(private_key)) => Ok(Some(TlsFiles {
                certificate: certificate.into(),
                private_key: private_key.into(),
            })),
            (Some(_), None) => Err(values.error("tls_cert", "needs tls_key")),
            (None, Some(_)) => Err(values.error("tls_key", "needs tls_cert")),
        }
    }
}

/// Limits of the HTTP server.
#[derive(Clone, Debug)]
pub struct HttpLimits {
    /// Time limit for receiving a request's headers.
    pub header_timeout: Duration,
    /// Time limit for receiving a request's body, plus one second for each 16 KiB received.
    pub body_timeout: Duration,
    /// Time limit between two requests on a connection.
    pub idle_timeout: Duration,
    /// Time limit for a body or an answer that makes no progress.
    pub stall_timeout: Duration,
    /// Limit of connections in total.
    pub connections_max: usize,
    /// Limit of connections from one address; `None`: an eighth of the total.
    pub connections_per_address_max: Option<usize>,
    /// Limit of the memory for partially received bodies, in bytes.
    pub unfinished_bytes_max: usize,
    /// Limit of the memory for large answers that their clients have not taken yet, in bytes.
    pub unsent_bytes_max: usize,
    /// Limit of live tails in total.
    pub streams_max: usize,
    /// Live tails per user.
    pub streams_per_user_max: usize,
    /// Separate address for `/metrics`; `None`: it is served at the main address, to private networks only.
    pub metrics_listen: Option<SocketAddr>,
    /// Separate address for the operator's API; `None`: it is served at the main address.
    pub operator_listen: Option<SocketAddr>,
    /// With these the main address speaks TLS only.
    pub tls: Option<TlsFiles>,
}

impl Default for HttpLimits {
    fn default() -> Self {
        HttpLimits {
            header_timeout: Duration::from_secs(15),
            body_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(75),
            stall_timeout: Duration::from_secs(30),
            connections_max: CONNECTIONS_USUAL,
            connections_per_address_max: None,
            unfinished_bytes_max: 256 << 20,
            unsent_bytes_max: 512 << 20,
            streams_max: 1_000,
            streams_per_user_max: 50,
            metrics_listen: None,
            operator_listen: None,
            tls: None,
        }
    }
}

impl HttpLimits {
    /// From the settings.
    pub(super) fn read(values: &Values) -> Result<Self, SettingError> {
        let mut limits = HttpLimits::default();
        for (name, field) in [
            ("header_timeout", &mut limits.header_timeout),
            ("body_timeout", &mut limits.body_timeout),
            ("idle_timeout", &mut limits.idle_timeout),
            ("stall_timeout", &mut limits.stall_timeout),
        ] {
            set(field, values.read(name, duration)?);
            if field.is_zero() {
                return Err(values.error(name, "must be longer than zero"));
            }
        }
        set(&mut limits.connections_max, values.parsed("max_connections")?);
        if limits.connections_max < CONNECTIONS_MIN {
            let why = format!("must be at least {CONNECTIONS_MIN}");
            return Err(values.error("max_connections", why));
        }
        limits.connections_per_address_max = values.parsed("max_connections_per_address")?;
        if limits.connections_per_address_max == Some(0) {
            return Err(values.error("max_connections_per_address", "must be at least 1"));
        }
        set(
            &mut limits.unfinished_bytes_max,
            values.read("max_unfinished_bodies", bytes)?,
        );
        set(&mut limits.streams_max, values.parsed("max_streams")?);
        set(
            &mut limits.streams_per_user_max,
            values.parsed("max_streams_per_user")?,
        );
        limits.metrics_listen = values.parsed("metrics_listen")?;
        limits.operator_listen = values.parsed("operator_listen")?;
        limits.tls = TlsFiles::read(values)?;
        Ok(limits)
    }

    /// Connections of one address.
    pub fn per_address_max(&self) -> usize {
        let usual = (self.connections_max / 8).max(CONNECTIONS_MIN);
        self.connections_per_address_max.unwrap_or(usual)
    }
}
