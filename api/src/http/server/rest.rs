//! What is left of a body whose request was answered without it. HTTP/1.1 has no other way to the next request than through it:
//! a little is read and dropped, for more than that the connection ends, which the answer says.

use super::connection::Connection;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use std::sync::Arc;
use std::time::Duration;

/// What is read and dropped, in bytes.
const DROPPED_BYTES_MAX: u64 = 64 << 10;
/// How long it may take to come.
const DROPPED_WITHIN: Duration = Duration::from_secs(2);

/// The rest of a body that nobody reads.
pub(super) struct Rest {
    body: Incoming,
    connection: Arc<Connection>,
}

impl Rest {
    /// What the reader of a connection's body has left, if it has.
    pub fn of(connection: &Arc<Connection>) -> Option<Rest> {
        let body = connection.left()?;
        let connection = connection.clone();
        Some(Rest { body, connection })
    }

    /// Reads and drops it beside the answer if it is known to be little. `false`: it is not, and the connection has to end.
    pub fn begin_to_drop(self) -> bool {
        let bytes = self.body.size_hint().exact();
        let is_little = bytes.is_some_and(|bytes| bytes <= DROPPED_BYTES_MAX);
        if is_little {
            tokio::spawn(self.drop_it());
        }
        is_little
    }

    /// If it does not come in time, the connection is closed with it.
    async fn drop_it(mut self) {
        let all = async { while let Some(Ok(_)) = self.body.frame().await {} };
        if tokio::time::timeout(DROPPED_WITHIN, all).await.is_ok() {
            self.connection.has_answered();
        }
    }
}
