//! Mailboxes on other servers, by IMAP and POP3, for a pattern but outside of its runs: what is in them, one message, and what becomes
//! of it. A server is believed nothing: each line, literal, list and message has a bound that is checked while it arrives, and below
//! TLS the bytes are counted as well.
//!
//! Knows nothing of which messages are new, and of what becomes of them here.

mod imap;
mod login;
mod names;
mod pop;
mod response;
mod server;
mod wire;

pub use imap::{AboutMessage, Afterwards};
pub use pop::ListedMessage;

use crate::connections::{Connection, ConnectionFuture, Connections, Granted};
use crate::egress::{EgressPolicy, Meter};
use crate::entropy::nonce;
use crate::secrets::{Secrets, Vault};
use heddle_sandbox::{EffectCode, EffectError};
use imap::Imap;
use pop::Pop;
use server::{Server, Session, failed};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use wire::{Trouble, Wire};

/// Bytes that a mailbox's server may send before anybody has asked it for something.
const FIRST_BYTES: u64 = 64 << 10;

/// Which mailbox, by which connection.
#[derive(Debug)]
pub struct MailboxAccess {
    pub connections: Arc<dyn Connections>,
    /// The connections that the pattern's manifest lists.
    pub granted: Vec<String>,
    /// The one that leads there.
    pub connection: String,
    /// The mailbox's name, by IMAP.
    pub name: String,
    /// Whether messages in it are going to be changed.
    pub is_changed: bool,
}

/// How the messages of a mailbox are told from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbering {
    /// By numbers that grow, as long as this value stays the same; the next message gets this one, if that is known.
    Growing { validity: u32, next: Option<u32> },
    /// By ids, in a list of all of them.
    Ids,
}

/// An open mailbox. Dropping it ends the session; what was deleted by POP3 stays then.
pub struct OpenMailbox {
    session: Session,
    server: String,
    vault: Arc<Vault>,
    meter: Meter,
}

impl fmt::Debug for OpenMailbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenMailbox").finish_non_exhaustive()
    }
}

/// Opens a mailbox.
pub(crate) async fn open(policy: &EgressPolicy, access: MailboxAccess) -> Result<OpenMailbox, EffectError> {
    let vault = Arc::new(Vault::new(Secrets::new(), Arc::new([]), nonce()));
    let granted = Granted::new(access.connections, access.granted.into(), vault.clone());
    let connection = granted.open(&access.connection).await?;
    let mut mailbox = entered(policy, &connection, vault).await?;
    match &mut mailbox.session {
        Session::Imap(imap) => {
            let selected = imap.select(&access.name, access.is_changed).await;
            selected.map_err(|trouble| mailbox.failed(trouble))?;
        }
        Session::Pop(_) if access.name.eq_ignore_ascii_case("inbox") => {}
        Session::Pop(_) => {
            let reason = "POP3 knows no mailbox but INBOX: delete `mailbox`, or use IMAP";
            return Err(connection.unfit(reason));
        }
    }
    Ok(mailbox)
}

async fn entered(
    policy: &EgressPolicy,
    connection: &Connection,
    vault: Arc<Vault>,
) -> Result<OpenMailbox, EffectError> {
    let masked = |error: EffectError| EffectError {
        message: vault.mask(&error.message).into_owned(),
        ..error
    };
    let server = Server::of(connection).map_err(masked)?;
    let meter = Meter::new(FIRST_BYTES);
    let session = server.enter(policy, &meter).await.map_err(masked)?;
    Ok(OpenMailbox {
        session,
        server: server.name(),
        vault,
        meter,
    })
}

/// The one connection that is tried.
#[derive(Debug)]
struct Single(Connection);

impl Connections for Single {
    fn open(&self, _: String) -> ConnectionFuture {
        let connection = self.0.clone();
        Box::pin(async move { Ok(connection) })
    }
}

/// Logs in with a connection, and leaves it at that.
pub(crate) async fn log_in(
    policy: &EgressPolicy,
    connection: Connection,
    time_max: Duration,
) -> Result<(), EffectError> {
    let tried = async {
        let vault = Arc::new(Vault::new(Secrets::new(), Arc::new([]), nonce()));
        let granted = Granted::new(
            Arc::new(Single(connection)),
            ["*".to_owned()].into(),
            vault.clone(),
        );
        let connection = granted.open("connection").await?;
        let mailbox = entered(policy, &connection, vault).await?;
        // Nothing was changed that could be lost.
        let _ = mailbox.end().await;
        Ok::<_, EffectError>(())
    };
    let late = |_| {
        let message = format!("There was no answer within {} ms.", time_max.as_millis());
        Err(EffectError::new(EffectCode::Timeout, message))
    };
    tokio::time::timeout(time_max, tried).await.unwrap_or_else(late)
}

impl OpenMailbox {
    /// How its messages are told from each other.
    pub fn numbering(&self) -> Numbering {
        match &self.session {
            Session::Imap(imap) => Numbering::Growing {
                validity: imap.validity,
                next: imap.next,
            },
            Session::Pop(_) => Numbering::Ids,
        }
    }

    /// Bytes that were sent, and that came.
    pub fn traffic(&self) -> (u64, u64) {
        let sent = match &self.session {
            Session::Imap(imap) => imap.sent(),
            Session::Pop(pop) => pop.sent(),
        };
        (sent, self.meter.total())
    }

    /// Where messages have numbers: those of the ones from this number on that IMAP's criteria find, in order.
    pub async fn search(&mut self, from: u32, criteria: Option<&str>) -> Result<Vec<u32>, EffectError> {
        let found = match &mut self.session {
            Session::Imap(imap) => imap.search(from, criteria).await,
            Session::Pop(_) => Ok(Vec::new()),
        };
        found.map_err(|trouble| self.failed(trouble))
    }

    /// Where messages have ids: all of them, in the server's order.
    pub async fn list(&mut self) -> Result<Vec<ListedMessage>, EffectError> {
        let listed = match &mut self.session {
            Session::Imap(_) => Ok(Vec::new()),
            Session::Pop(pop) => pop.list().await,
        };
        listed.map_err(|trouble| self.failed(trouble))
    }

    /// What is told of some of the messages: of those that are there.
    pub async fn about(&mut self, numbers: &[u32]) -> Result<Vec<AboutMessage>, EffectError> {
        let told = match &mut self.session {
            Session::Imap(imap) => imap.about(numbers).await,
            Session::Pop(pop) => about_each(pop, numbers).await,
        };
        told.map_err(|trouble| self.failed(trouble))
    }

    /// A message, which has at most so many bytes; `None`: it is gone.
    pub async fn fetch(&mut self, number: u32, bytes_max: usize) -> Result<Option<Vec<u8>>, EffectError> {
        let fetched = match &mut self.session {
            Session::Imap(imap) => imap.fetch(number, bytes_max).await,
            Session::Pop(pop) => pop.fetch(number, bytes_max).await.map(Some),
        };
        fetched.map_err(|trouble| self.failed(trouble))
    }

    /// Says what becomes of a message.
    pub async fn settle(&mut self, number: u32, afterwards: &Afterwards) -> Result<(), EffectError> {
        let settled = match (&mut self.session, afterwards) {
            (Session::Imap(imap), afterwards) => imap.settle(number, afterwards).await,
            (Session::Pop(_), Afterwards::Leave) => Ok(()),
            (Session::Pop(pop), Afterwards::Delete) => pop.delete(number).await,
            (Session::Pop(_), Afterwards::Seen | Afterwards::Move(_)) => Err(Trouble::Unfit(
                "speaks POP3, by which messages stay or are deleted: correct `afterwards`, or use IMAP"
                    .to_owned(),
            )),
        };
        settled.map_err(|trouble| self.failed(trouble))
    }

    /// Whether the server tells of new messages by itself.
    pub fn can_wait(&self) -> bool {
        match &self.session {
            Session::Imap(imap) => imap.can_wait(),
            Session::Pop(_) => false,
        }
    }

    /// Waits until messages come, for so long at most: whether some have. If this is dropped before it is done, the mailbox is no
    /// good any more.
    pub async fn wait(&mut self, time_max: Duration) -> Result<bool, EffectError> {
        let waited = match &mut self.session {
            Session::Imap(imap) => imap.wait(time_max).await,
            Session::Pop(_) => Ok(false),
        };
        waited.map_err(|trouble| self.failed(trouble))
    }

    /// Ends the session; what was deleted is gone then. An error is of what was deleted only.
    pub async fn end(mut self) -> Result<(), EffectError> {
        let ended = match &mut self.session {
            Session::Imap(imap) => {
                // The server need not hear of it.
                let _ = imap.log_out().await;
                Ok(())
            }
            Session::Pop(pop) => pop.quit().await,
        };
        ended.map_err(|trouble| self.failed(trouble))
    }

    fn failed(&self, trouble: Trouble) -> EffectError {
        let error = failed(&self.server, trouble);
        EffectError {
            message: self.vault.mask(&error.message).into_owned(),
            ..error
        }
    }
}

async fn about_each(pop: &mut Pop, numbers: &[u32]) -> Result<Vec<AboutMessage>, Trouble> {
    let mut told = Vec::new();
    for number in numbers {
        told.push(AboutMessage {
            number: *number,
            bytes: pop.bytes_of(*number).await?,
            received_at: None,
        });
    }
    Ok(told)
}

/// What a client makes of a server that says this, whatever it is asked, for those who test that anything may be said.
pub async fn converse(said: Vec<u8>, by_imap: bool) -> Vec<Vec<u8>> {
    let stream = tokio::io::join(std::io::Cursor::new(said), tokio::io::sink());
    let wire = Wire::new(Box::new(stream), Meter::new(u64::MAX));
    let mut messages = Vec::new();
    if by_imap {
        if let Ok((mut imap, _)) = Imap::greeted(wire).await
            && imap.select("INBOX", true).await.is_ok()
            && let Ok(found) = imap.search(1, None).await
            && let Ok(told) = imap.about(&found).await
        {
            for about in told {
                if let Ok(Some(message)) = imap.fetch(about.number, 1 << 10).await {
                    messages.push(message);
                }
            }
            let _ = imap.wait(Duration::ZERO).await;
        }
    } else if let Ok(mut pop) = Pop::greeted(wire).await
        && let Ok(listed) = pop.list().await
    {
        for one in listed {
            if pop.bytes_of(one.number).await.is_ok()
                && let Ok(message) = pop.fetch(one.number, 1 << 10).await
            {
                messages.push(message);
            }
        }
    }
    messages
}
