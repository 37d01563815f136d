//! How long connections may take and how much they may hold. Knows nothing of what is served over them.

use super::sources::{Mistake, Values};
use super::values::{bytes, duration, set};
use std::net::SocketAddr;
use std::time::Duration;

/// Connections at most when nothing else is said and there are files enough.
const CONNECTIONS_USUAL: usize = 10_000;
/// Fewer are of no use: a page and its proxy have as many.
pub const CONNECTIONS_MIN: usize = 16;

/// Limits of the HTTP server.
#[derive(Clone, Debug)]
pub struct HttpLimits {
    /// For a request's headers.
    pub header_timeout: Duration,
    /// For a request's body, and a second more for each 16 KiB of it that have come.
    pub body_timeout: Duration,
    /// Between a request and the next one.
    pub idle_timeout: Duration,
    /// For the next piece of a body, or for a client to take more of an answer.
    pub stall_timeout: Duration,
    /// Connections in all.
    pub connections_max: usize,
    /// Connections of one address; `None`: an eighth of all.
    pub connections_per_address_max: Option<usize>,
    /// Bytes of bodies that have arrived in part.
    pub unfinished_bytes_max: usize,
    /// Live tails in all.
    pub streams_max: usize,
    /// Live tails per user.
    pub streams_per_user_max: usize,
    /// Address of a listener for `/metrics` alone; `None`: it is served beside all else, to near peers.
    pub metrics_listen: Option<SocketAddr>,
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
            streams_max: 1_000,
            streams_per_user_max: 50,
            metrics_listen: None,
        }
    }
}

impl HttpLimits {
    /// From the settings.
    pub(super) fn read(values: &Values) -> Result<Self, Mistake> {
        let mut limits = HttpLimits::default();
        for (name, field) in [
            ("header_timeout", &mut limits.header_timeout),
            ("body_timeout", &mut limits.body_timeout),
            ("idle_timeout", &mut limits.idle_timeout),
            ("stall_timeout", &mut limits.stall_timeout),
        ] {
            set(field, values.read(name, duration)?);
            if field.is_zero() {
                return Err(values.mistake(name, "must be longer than zero"));
            }
        }
        set(&mut limits.connections_max, values.parsed("max_connections")?);
        if limits.connections_max < CONNECTIONS_MIN {
            let why = format!("must be at least {CONNECTIONS_MIN}");
            return Err(values.mistake("max_connections", why));
        }
        limits.connections_per_address_max = values.parsed("max_connections_per_address")?;
        if limits.connections_per_address_max == Some(0) {
            return Err(values.mistake("max_connections_per_address", "must be at least 1"));
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
        Ok(limits)
    }

    /// Connections of one address.
    pub fn per_address_max(&self) -> usize {
        let usual = (self.connections_max / 8).max(CONNECTIONS_MIN);
        self.connections_per_address_max.unwrap_or(usual)
    }
}
