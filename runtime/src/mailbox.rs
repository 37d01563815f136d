//! Mailboxes on other servers, by IMAP and POP3, for a pattern but outside of its runs: what is in them, one message, and what becomes
//! of it. A server is believed nothing: each line, literal, list and message has a bound that is checked while it arrives, and below
//! TLS the bytes are counted as well. Each session is in a connector, a process of its own, or without these in the service.
//!
//! Knows nothing of which messages are new, and of what becomes of them here.

mod connector;
mod imap;
mod login;
mod names;
mod pop;
mod response;
mod serve;
mod server;
mod session;
mod wire;

pub use connector::answered;
pub use imap::{AboutMessage, Afterwards};
pub use pop::ListedMessage;
pub use serve::{KIND as WORKER, serve};
pub use session::Numbering;

use crate::connections::{Connection, ConnectionFuture, Connections, Granted};
use crate::effects::Connectors;
use crate::egress::{EgressPolicy, Meter};
use crate::entropy::nonce;
use crate::secrets::{Secrets, Vault};
use connector::Connector;
use heddle_sandbox::{EffectCode, EffectError};
use imap::Imap;
use pop::Pop;
use server::{Server, failed};
use session::{Answer, Question, Selection, Session};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use wire::Wire;

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

/// An open mailbox. Dropping it ends the session; what was deleted by POP3 stays then.
pub struct OpenMailbox {
    place: Place,
    server: String,
    vault: Arc<Vault>,
    meter: Meter,
}

/// Where the session is.
enum Place {
    Here(Box<Session>),
    Connector(Box<Connector>),
}

impl fmt::Debug for OpenMailbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenMailbox").finish_non_exhaustive()
    }
}

/// How servers are reached, and from where they are talked to.
#[derive(Clone, Copy)]
pub(crate) struct Ways<'r> {
    pub policy: &'r EgressPolicy,
    /// `None`: from this process.
    pub connectors: Option<&'r Connectors>,
}

/// Opens a mailbox.
pub(crate) async fn open(ways: Ways<'_>, access: MailboxAccess) -> Result<OpenMailbox, EffectError> {
    let vault = Arc::new(Vault::new(Secrets::new(), Arc::new([]), nonce()));
    let granted = Granted::new(access.connections, access.granted.into(), vault.clone());
    let connection = granted.open(&access.connection).await?;
    let selection = Selection {
        name: access.name,
        is_changed: access.is_changed,
    };
    entered(ways, &connection, Some(&selection), vault).await
}

async fn entered(
    ways: Ways<'_>,
    connection: &Connection,
    selection: Option<&Selection>,
    vault: Arc<Vault>,
) -> Result<OpenMailbox, EffectError> {
    let masked = |error: EffectError| masked(&vault, error);
    let server = Server::of(connection).map_err(masked)?;
    let is_there = selection.is_none_or(|selection| selection.name.eq_ignore_ascii_case("inbox"));
    if server.has_one_mailbox() && !is_there {
        let reason = "POP3 has no mailbox but INBOX: delete `mailbox`, or use IMAP";
        return Err(connection.unfit(reason));
    }
    let meter = Meter::new(FIRST_BYTES);
    let place = Place::taken(ways, &server, selection, &meter).await;
    let place = place.map_err(masked)?;
    Ok(OpenMailbox {
        place,
        server: server.name(),
        vault,
        meter,
    })
}

fn masked(vault: &Vault, error: EffectError) -> EffectError {
    EffectError {
        message: vault.mask_message(&error.message).into_owned(),
        ..error
    }
}

impl Place {
    /// Logs in, and opens a mailbox if one is to be.
    async fn taken(
        ways: Ways<'_>,
        server: &Server,
        selection: Option<&Selection>,
        meter: &Meter,
    ) -> Result<Self, EffectError> {
        // Where nothing is reached, nothing needs to be started.
        let stream = server.reach(ways.policy, meter).await?;
        match ways.connectors {
            None => {
                let session = Box::pin(server.enter(Box::new(stream), selection, meter)).await;
                let session = session.map_err(|trouble| failed(&server.name(), trouble))?;
                Ok(Place::Here(Box::new(session)))
            }
            Some(connectors) => {
                let connector = Connector::enter(connectors, (server, selection), stream);
                Ok(Place::Connector(Box::new(Box::pin(connector).await?)))
            }
        }
    }
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

/// Logs in with a connection of this owner's, and leaves it at that.
pub(crate) async fn log_in(
    ways: Ways<'_>,
    (connection, owner): (Connection, Option<u128>),
    time_max: Duration,
) -> Result<(), EffectError> {
    let tried = async {
        let _place = match ways.connectors {
            None => None,
            Some(connectors) => Some(connectors.place(owner).await),
        };
        let vault = Arc::new(Vault::new(Secrets::new(), Arc::new([]), nonce()));
        let granted = Granted::new(
            Arc::new(Single(connection)),
            ["*".to_owned()].into(),
            vault.clone(),
        );
        let connection = granted.open("connection").await?;
        let mailbox = entered(ways, &connection, None, vault).await?;
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
        match &self.place {
            Place::Here(session) => session.numbering(),
            Place::Connector(connector) => connector.numbering(),
        }
    }

    /// Bytes that were sent, and that came.
    pub fn traffic(&self) -> (u64, u64) {
        (self.meter.sent(), self.meter.total())
    }

    /// Where messages have numbers: those of the ones from this number on that IMAP's criteria find, in order.
    pub async fn search(&mut self, from: u32, criteria: Option<&str>) -> Result<Vec<u32>, EffectError> {
        let criteria = criteria.map(str::to_owned);
        match self.ask(&Question::Search { from, criteria }).await? {
            Answer::Found(found) => Ok(found),
            _ => Err(self.confused()),
        }
    }

    /// Where messages have ids: all of them, in the server's order.
    pub async fn list(&mut self) -> Result<Vec<ListedMessage>, EffectError> {
        match self.ask(&Question::List).await? {
            Answer::Listed(listed) => Ok(listed),
            _ => Err(self.confused()),
        }
    }

    /// What is told of some of the messages: of those that are there.
    pub async fn about(&mut self, numbers: &[u32]) -> Result<Vec<AboutMessage>, EffectError> {
        match self.ask(&Question::About(numbers.to_vec())).await? {
            Answer::About(messages) => Ok(messages),
            _ => Err(self.confused()),
        }
    }

    /// A message, which has at most so many bytes; `None`: it is gone.
    pub async fn fetch(&mut self, number: u32, bytes_max: usize) -> Result<Option<Vec<u8>>, EffectError> {
        match self.ask(&Question::Fetch { number, bytes_max }).await? {
            Answer::Message(message) => Ok(message),
            _ => Err(self.confused()),
        }
    }

    /// Says what becomes of a message.
    pub async fn settle(&mut self, number: u32, afterwards: &Afterwards) -> Result<(), EffectError> {
        if *afterwards == Afterwards::Leave {
            return Ok(());
        }
        let afterwards = afterwards.clone();
        let settled = self.ask(&Question::Settle { number, afterwards }).await;
        settled.map(drop)
    }

    /// Whether the server tells of new messages by itself.
    pub fn can_wait(&self) -> bool {
        match &self.place {
            Place::Here(session) => session.can_wait(),
            Place::Connector(connector) => connector.can_wait(),
        }
    }

    /// Whether this session may go on for long still, or is better begun anew.
    pub fn is_fresh(&self) -> bool {
        match &self.place {
            Place::Here(_) => true,
            Place::Connector(connector) => connector.is_fresh(),
        }
    }

    /// Waits until messages come, for so long at most: whether some have. If this is dropped before it is done, the mailbox is no
    /// good any more.
    pub async fn wait(&mut self, time_max: Duration) -> Result<bool, EffectError> {
        match self.ask(&Question::Wait(time_max)).await? {
            Answer::Waited(has_news) => Ok(has_news),
            _ => Err(self.confused()),
        }
    }

    /// Ends the session; what was deleted is gone then. An error is of what was deleted only.
    pub async fn end(mut self) -> Result<(), EffectError> {
        let ended = self.ask(&Question::End).await;
        let is_numbered = self.numbering() != Numbering::Ids;
        if let Place::Connector(connector) = self.place {
            connector.leave();
        }
        match ended {
            // By numbers, messages are deleted at once.
            Err(_) if is_numbered => Ok(()),
            ended => ended.map(drop),
        }
    }

    async fn ask(&mut self, question: &Question) -> Result<Answer, EffectError> {
        // Boxed, since whoever looks would have to carry all that any question takes.
        let answered = match &mut self.place {
            Place::Here(session) => {
                let answered = Box::pin(session.answer(question)).await;
                answered.map_err(|trouble| failed(&self.server, trouble))
            }
            Place::Connector(connector) => Box::pin(connector.answer(question)).await,
        };
        answered.map_err(|error| masked(&self.vault, error))
    }

    /// It was answered something else than it was asked for.
    fn confused(&self) -> EffectError {
        let message = format!("{} was not understood because of a bug in heddle.", self.server);
        EffectError::new(EffectCode::Internal, message)
    }
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
            && let Ok(listed) = imap.about(&found).await
        {
            for about in listed {
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
