//! The process in which a server of mailboxes is talked to: it has what is needed to log in, one mailbox's messages as they pass, and
//! a connection that the service has made.
//!
//! Knows nothing of the egress guard, and of which messages are new.

use super::imap::AboutMessage;
use super::pop::{self, ListedMessage};
use super::server::{Server, failed};
use super::session::{Answer, Numbering, Question, Selection};
use super::wire::MailboxError;
use crate::bounded_list::BoundedList;
use crate::effects::connectors::{self, Failure, receive, reply};
use crate::egress::{Meter, Metered};
use heddle_processes::{Channel, ChannelError, Rights, Sender};
use serde::{Deserialize, Serialize};
use std::io;
use std::os::unix::net::UnixStream;

/// Its name on the command line.
pub const KIND: &str = "mailbox";
/// What a frame begins with that holds a message as it is. Nothing in JSON begins so.
pub(super) const MESSAGE: u8 = 0;
/// More than a search may find: its answer has fewer bytes.
pub(super) const FOUND_MAX: usize = 1 << 20;
/// Messages of which something is told at once.
pub(super) const TOLD_MAX: usize = 10_000;

/// What the service asks for first; then there are questions.
#[derive(Serialize, Deserialize)]
pub(super) struct Entry<Of, Which> {
    pub server: Of,
    /// `None`: it is only to log in.
    pub selection: Option<Which>,
}

/// What is answered. A message is in a frame of its own, behind [`MESSAGE`].
#[derive(Serialize, Deserialize)]
pub(super) enum Reply {
    /// The mailbox is open.
    Entered {
        numbering: Numbering,
        can_wait: bool,
    },
    Found(BoundedList<u32, FOUND_MAX>),
    Listed(BoundedList<ListedMessage, { pop::MESSAGES_MAX }>),
    About(BoundedList<AboutMessage, TOLD_MAX>),
    /// A message is gone.
    Gone,
    Waited(bool),
    Done,
    Failed(Failure),
}

/// Talks by the connection that this process was given.
pub fn serve(limits: &str) -> Result<(), ChannelError> {
    connectors::serve(limits, Rights::Peer, Channel::peer, talk)
}

async fn talk(channel: Channel, peer: UnixStream) -> io::Result<()> {
    let peer = tokio::net::UnixStream::from_std(peer)?;
    let (mut sender, mut receiver) = channel.into_halves()?;
    let Some(frame) = receive(&mut receiver).await? else {
        return Ok(());
    };
    let Entry { server, selection }: Entry<Server, Selection> = serde_json::from_slice(&frame)?;
    let meter = Meter::new(0);
    let stream = Metered {
        stream: peer,
        meter: meter.clone(),
    };
    let entered = server.enter(Box::new(stream), selection.as_ref(), &meter).await;
    let mut session = match entered {
        Ok(session) => session,
        Err(error) => return send_reply(&mut sender, &failure(&server, error)).await,
    };
    let entered = Reply::Entered {
        numbering: session.numbering(),
        can_wait: session.can_wait(),
    };
    send_reply(&mut sender, &entered).await?;
    while let Some(frame) = receive(&mut receiver).await? {
        let question: Question = serde_json::from_slice(&frame)?;
        let reply = match session.answer(&question).await {
            Ok(Answer::Message(Some(message))) => {
                give(&mut sender, message).await?;
                continue;
            }
            Ok(Answer::Message(None)) => Reply::Gone,
            Ok(Answer::Found(found)) => Reply::Found(BoundedList(found)),
            Ok(Answer::Listed(listed)) => Reply::Listed(BoundedList(listed)),
            Ok(Answer::About(about)) => Reply::About(BoundedList(about)),
            Ok(Answer::Waited(has_news)) => Reply::Waited(has_news),
            Ok(Answer::Done) => Reply::Done,
            Err(error) => failure(&server, error),
        };
        send_reply(&mut sender, &reply).await?;
    }
    Ok(())
}

fn failure(server: &Server, error: MailboxError) -> Reply {
    Reply::Failed(failed(&server.name(), error).into())
}

async fn send_reply(sender: &mut Sender, said: &Reply) -> io::Result<()> {
    let sent = reply(sender, said).await?;
    sent.map_err(|bytes_max| io::Error::other(format!("an answer has more than {bytes_max} bytes")))
}

async fn give(sender: &mut Sender, mut message: Vec<u8>) -> io::Result<()> {
    message.insert(0, MESSAGE);
    sender.send(&message).await.map_err(io::Error::other)
}
