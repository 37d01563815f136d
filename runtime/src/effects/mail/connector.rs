//! Talks to a mail server from a process of its own, which has one end of a socket pair; the service has the other end, and
//! carries bytes between that and what the egress guard has connected to.
//!
//! Answers of such a process are not trusted.

use super::exchange::Mailing;
use super::serve::{KIND, Reply, written};
use super::server::Server;
use crate::effects::connectors::{Connectors, LIMITS, pair};
use crate::egress::{Metered, relay};
use heddle_processes::{Limits, Worker, WorkerError};
use heddle_sandbox::{EffectCode, EffectError};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;

/// Codes with which it may fail.
const CODES: &[EffectCode] = &[EffectCode::MailFailed, EffectCode::Parameter];
/// An answer is a word, or an error's message.
const ANSWER_BYTES_MAX: usize = 64 << 10;
/// What the process has beyond the effect's own time, which is to end first: then the node says that time was up, and not that
/// a process has ended.
const AFTER_THE_EFFECT: Duration = Duration::from_secs(2);
/// Messages with all their attachments.
const REQUEST_BYTES_MAX: usize = 128 << 20;

/// Sends a mailing by this stream, or only logs in.
pub(super) async fn talk(
    connectors: &Connectors,
    server: &Server,
    mailing: Option<&Mailing>,
    stream: Metered<TcpStream>,
    time_max: Duration,
) -> Result<(), EffectError> {
    let internal = |error: String| EffectError::new(EffectCode::Internal, error);
    let request = written(server, mailing).map_err(|error| internal(error.to_string()))?;
    let limits = Limits {
        request_bytes_max: REQUEST_BYTES_MAX,
        answer_bytes_max: ANSWER_BYTES_MAX,
        ..LIMITS
    };
    let (inside, theirs) = pair().map_err(|error| ended(server, WorkerError::Start(error)))?;
    let mut command = connectors.command(KIND, limits);
    command.peer = Some(Arc::new(theirs));
    let mut worker = Worker::start(command)
        .await
        .map_err(|error| ended(server, error))?;
    let carried = async {
        relay(inside, stream).await;
        // The process notices by itself, and answers.
        std::future::pending::<()>().await;
    };
    let time_max = time_max.saturating_add(AFTER_THE_EFFECT);
    let answer = tokio::select! {
        answer = worker.ask(&request, time_max) => answer.map_err(|error| ended(server, error))?,
        () = carried => return Err(internal("The relay of the connection ended unexpectedly.".to_owned())),
    };
    let answered = answered(&answer).map_err(|error| WorkerError::Malformed(error.to_string()));
    answered.unwrap_or_else(|error| Err(ended(server, error)))
}

/// What an answer says: that the message was sent, or the error that the node fails with.
pub fn answered(answer: &[u8]) -> Result<Result<(), EffectError>, serde_json::Error> {
    Ok(match serde_json::from_slice(answer)? {
        Reply::Sent => Ok(()),
        Reply::Failed(failure) => Err(failure.into_error(CODES)),
    })
}

/// The process has ended, or is of no use any more.
fn ended(server: &Server, error: WorkerError) -> EffectError {
    tracing::warn!(%error, "A mail connector process has ended");
    let name = server.name();
    let reason = match error {
        WorkerError::Start(error) => {
            let message = format!("Can't start the connector process for {name}: {error}.");
            return EffectError::new(EffectCode::Internal, message);
        }
        WorkerError::RequestTooLarge { bytes, bytes_max } => {
            let message = format!(
                "The message has {} KiB with its attachments; at most {} KiB can be sent.",
                bytes >> 10,
                bytes_max >> 10
            );
            return EffectError::new(EffectCode::MailFailed, message);
        }
        error if error.is_out_of_memory() => "it would take more memory than a connection may use",
        _ => "the process that read it crashed",
    };
    let message = format!(
        "{name} sent an unreadable reply: {reason}. Nothing else is affected, but whether the message was sent is not \
         known."
    );
    EffectError::new(EffectCode::MailFailed, message)
}
