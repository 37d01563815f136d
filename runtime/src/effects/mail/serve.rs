//! The process of a connector to a mail server: it has at most one message, what is needed to log in, and a connection that the
//! service has made.

use super::exchange::{Addresses, Mailing, exchange};
use super::server::Server;
use crate::effects::connectors::{self, Failure, receive, reply};
use heddle_processes::{Channel, ChannelError, Rights};
use heddle_sandbox::{EffectCode, EffectError};
use serde::{Deserialize, Serialize};
use std::io;
use std::os::unix::net::UnixStream;

/// Its name on the command line.
pub const KIND: &str = "mail";
/// Of the length of what comes before the message's content.
const LENGTH_BYTES: usize = 4;

/// What the service asks for, once; the message's content follows. Without addresses it is only to log in.
#[derive(Serialize, Deserialize)]
pub(super) struct Request<Of, To> {
    pub server: Of,
    pub addresses: Option<To>,
}

/// What it answers.
#[derive(Serialize, Deserialize)]
pub(super) enum Reply {
    Sent,
    Failed(Failure),
}

/// A request as a frame.
pub(super) fn written(server: &Server, mailing: Option<&Mailing>) -> serde_json::Result<Vec<u8>> {
    let (addresses, content) = mailing.map(Mailing::parts).unzip();
    let content = content.unwrap_or_default();
    let head = serde_json::to_vec(&Request { server, addresses })?;
    let mut frame = Vec::with_capacity(LENGTH_BYTES + head.len() + content.len());
    // A longer one is over the limit of a request, which says so.
    frame.extend(u32::try_from(head.len()).unwrap_or(u32::MAX).to_le_bytes());
    frame.extend(head);
    frame.extend(content);
    Ok(frame)
}

fn read(frame: &[u8]) -> io::Result<(Request<Server, Addresses>, &[u8])> {
    let cut = || io::Error::other("received a request that is cut off");
    let (length, rest) = frame.split_first_chunk::<LENGTH_BYTES>().ok_or_else(cut)?;
    let length = u32::from_le_bytes(*length) as usize;
    let (head, content) = rest.split_at_checked(length).ok_or_else(cut)?;
    Ok((serde_json::from_slice(head)?, content))
}

/// Talks by the connection that this process was given.
pub fn serve(limits: &str) -> Result<(), ChannelError> {
    connectors::serve(limits, Rights::Peer, Channel::peer, send)
}

async fn send(channel: Channel, peer: UnixStream) -> io::Result<()> {
    let peer = tokio::net::UnixStream::from_std(peer)?;
    let (mut sender, mut receiver) = channel.into_halves()?;
    let Some(frame) = receive(&mut receiver).await? else {
        return Ok(());
    };
    let (Request { server, addresses }, content) = read(&frame)?;
    let unfit = |reason| EffectError::new(EffectCode::MailFailed, format!("{}: {reason}.", server.name()));
    let sent = match server.security().map_err(unfit) {
        Ok(security) => {
            let mailing = addresses.as_ref().map(|addresses| (addresses, content));
            exchange(&server, security, mailing, peer).await
        }
        Err(error) => Err(error),
    };
    let answer = match sent {
        Ok(()) => Reply::Sent,
        Err(error) => Reply::Failed(error.into()),
    };
    let sent = reply(&mut sender, &answer).await?;
    sent.map_err(|bytes_max| io::Error::other(format!("an answer has more than {bytes_max} bytes")))
}
