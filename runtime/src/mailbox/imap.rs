//! IMAP (RFC 3501 and 9051) as far as it takes to watch a mailbox: logging in, finding what is new, fetching it, saying what becomes
//! of it, and waiting (IDLE, RFC 2177).

use super::login::{Login, Proof, xoauth2};
use super::names::{mailbox, quoted};
use super::response::{self, Fetched, Reply, State, StatusResponse, capabilities};
use super::wire::{MailboxError, Wire, timed};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use heddle_sandbox::clock::monotonic;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::time::Duration;

/// Bytes beside what is asked for: what a server says unasked, and TLS.
const ASIDE_BYTES: u64 = 256 << 10;
/// Bytes of literals where none is asked for.
const ASIDE_LITERAL_BYTES: usize = 64 << 10;
/// How long a server may be silent when it was asked.
const ANSWER_TIME: Duration = Duration::from_secs(30);
/// Time for a message, and for a search through a large mailbox.
const LONG_TIME: Duration = Duration::from_secs(120);
/// Bytes of what a search finds.
const SEARCH_BYTES: u64 = response::TEXT_BYTES_MAX as u64;

/// What a command may take.
#[derive(Clone, Copy)]
struct Bounds {
    time: Duration,
    bytes: u64,
    literal_bytes: usize,
}

const SHORT: Bounds = Bounds {
    time: ANSWER_TIME,
    bytes: 0,
    literal_bytes: ASIDE_LITERAL_BYTES,
};

/// What becomes of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Afterwards {
    /// It stays as it is.
    Leave,
    /// It is marked as read.
    Seen,
    Delete,
    /// It goes to this mailbox.
    Move(String),
}

/// What is known of a message before it is fetched.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AboutMessage {
    /// Its number, which grows.
    pub number: u32,
    pub bytes: u64,
    /// When the server got it, as IMAP writes it.
    pub received_at: Option<String>,
}

/// A session.
pub(super) struct Imap {
    wire: Wire,
    /// Of the last command.
    number: u32,
    capabilities: BTreeSet<String>,
    /// UIDVALIDITY of the open mailbox: its numbers hold as long as this stays.
    pub validity: u32,
    /// The number that the next message gets, if that is known.
    pub next: Option<u32>,
    /// Whether messages have come that nobody has looked for yet.
    has_news: bool,
}

impl Imap {
    /// Reads the greeting. `true`: the server takes us as logged in.
    pub async fn greeted(wire: Wire) -> Result<(Self, bool), MailboxError> {
        let mut imap = Imap::secured(wire);
        imap.wire.grant(ASIDE_BYTES);
        let greeting = timed(ANSWER_TIME, response::read(&mut imap.wire, 0)).await?;
        match response::parse(greeting, "")? {
            Reply::Status(said) if said.state == State::Ok => Ok((imap, false)),
            Reply::Status(said) if said.state == State::PreAuth => Ok((imap, true)),
            Reply::Status(said) => Err(refused("the connection", said)),
            _ => Err(MailboxError::Garbled("IMAP")),
        }
    }

    /// Asks for TLS; the stream is then ready for it.
    pub async fn start_tls(mut self) -> Result<Wire, MailboxError> {
        let said = self.ask("STARTTLS", SHORT, &mut |_| {}).await?;
        accepted("TLS", said)?;
        Ok(self.wire)
    }

    /// Once TLS is spoken after all: nothing that was said before counts.
    pub fn secured(wire: Wire) -> Self {
        Imap {
            wire,
            number: 0,
            capabilities: BTreeSet::new(),
            validity: 0,
            next: None,
            has_news: false,
        }
    }

    pub async fn log_in(&mut self, login: &Login) -> Result<(), MailboxError> {
        self.learn().await?;
        let user = &login.user;
        let said = match &login.proof {
            Proof::Token(token) => self.authenticate("XOAUTH2", &xoauth2(user, token)).await?,
            Proof::Password(password) if self.can("AUTH=PLAIN") => {
                let plain = STANDARD.encode(format!("\0{user}\0{}", password.as_str()));
                self.authenticate("PLAIN", &plain).await?
            }
            Proof::Password(_) if self.can("LOGINDISABLED") => {
                let problem = "takes no password without TLS: set the connection's `tls`";
                return Err(MailboxError::Unfit(problem.to_owned()));
            }
            Proof::Password(password) => {
                let command = format!("LOGIN {} {}", quoted(user), quoted(password));
                self.ask(&command, SHORT, &mut |_| {}).await?
            }
        };
        accepted("the login", said)?;
        // Much is only told to who is logged in.
        self.learn().await
    }

    /// What comes after a `+` is what the mechanism begins with; whoever is asked for more has failed.
    async fn authenticate(&mut self, mechanism: &str, initial: &str) -> Result<StatusResponse, MailboxError> {
        self.wire.grant(ASIDE_BYTES);
        let tag = self.tag();
        timed(ANSWER_TIME, async {
            let begin = format!("{tag} AUTHENTICATE {mechanism}\r\n");
            self.wire.send(begin.as_bytes()).await?;
            let mut next = initial;
            loop {
                match self.reply(&tag, ASIDE_LITERAL_BYTES).await? {
                    Reply::Done(said) => return Ok(said),
                    Reply::More => {
                        self.wire.send(format!("{next}\r\n").as_bytes()).await?;
                        next = "";
                    }
                    _ => {}
                }
            }
        })
        .await
    }

    async fn learn(&mut self) -> Result<(), MailboxError> {
        let said = self.ask("CAPABILITY", SHORT, &mut |_| {}).await?;
        accepted("CAPABILITY", said)
    }

    fn can(&self, capability: &str) -> bool {
        self.capabilities.contains(capability)
    }

    /// Whether it tells of new messages by itself.
    pub fn can_wait(&self) -> bool {
        self.can("IDLE")
    }

    /// Opens a mailbox, in which nothing can be changed unless that is said.
    pub async fn select(&mut self, name: &str, is_changed: bool) -> Result<(), MailboxError> {
        let verb = if is_changed { "SELECT" } else { "EXAMINE" };
        let command = format!("{verb} {}", mailbox(name));
        let said = self.ask(&command, SHORT, &mut |_| {}).await?;
        accepted(&format!("the mailbox `{name}`"), said)?;
        self.has_news = false;
        match self.validity {
            0 => Err(MailboxError::Unfit(
                "does not number its messages for good, so that new ones can't be told from others"
                    .to_owned(),
            )),
            _ => Ok(()),
        }
    }

    /// The numbers of messages from this one on that the criteria find, in order.
    pub async fn search(&mut self, from: u32, criteria: Option<&str>) -> Result<Vec<u32>, MailboxError> {
        self.has_news = false;
        let criteria = criteria
            .map(|criteria| format!(" {criteria}"))
            .unwrap_or_default();
        let command = format!("UID SEARCH UID {from}:*{criteria}");
        let mut found = Vec::new();
        let bounds = Bounds {
            time: LONG_TIME,
            bytes: SEARCH_BYTES,
            ..SHORT
        };
        let said = self
            .ask(&command, bounds, &mut |reply| {
                if let Reply::Found(some) = reply {
                    found.extend(some);
                }
            })
            .await?;
        accepted("the search", said)?;
        // The last message is found by `*`, whatever its number is.
        found.retain(|uid| *uid >= from);
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// What is told of these messages; of those that are gone, nothing.
    pub async fn about(&mut self, uids: &[u32]) -> Result<Vec<AboutMessage>, MailboxError> {
        let list: Vec<String> = uids.iter().map(u32::to_string).collect();
        let command = format!("UID FETCH {} (UID RFC822.SIZE INTERNALDATE)", list.join(","));
        let mut messages = Vec::new();
        let said = self
            .ask(&command, SHORT, &mut |reply| {
                if let Reply::Message(Fetched {
                    uid: Some(number),
                    size: Some(bytes),
                    received_at,
                    ..
                }) = reply
                    && uids.contains(&number)
                {
                    messages.push(AboutMessage {
                        number,
                        bytes,
                        received_at,
                    });
                }
            })
            .await?;
        accepted("a list of messages", said)?;
        messages.sort_by_key(|about| about.number);
        messages.dedup_by_key(|about| about.number);
        Ok(messages)
    }

    /// A message, which has at most so many bytes; `None`: it is gone.
    pub async fn fetch(&mut self, uid: u32, bytes_max: usize) -> Result<Option<Vec<u8>>, MailboxError> {
        let command = format!("UID FETCH {uid} (UID BODY.PEEK[])");
        let mut body = None;
        let bounds = Bounds {
            time: LONG_TIME,
            bytes: bytes_max as u64,
            literal_bytes: bytes_max,
        };
        let said = self
            .ask(&command, bounds, &mut |reply| {
                if let Reply::Message(fetched) = reply
                    && fetched.uid == Some(uid)
                    && fetched.body.is_some()
                {
                    body = fetched.body;
                }
            })
            .await?;
        accepted("a message", said)?;
        Ok(body)
    }

    /// Says what becomes of a message.
    pub async fn settle(&mut self, uid: u32, afterwards: &Afterwards) -> Result<(), MailboxError> {
        let done = match afterwards {
            Afterwards::Leave => return Ok(()),
            Afterwards::Seen => self.flag(uid, "\\Seen").await?,
            Afterwards::Delete => return self.delete(uid).await,
            Afterwards::Move(to) if self.can("MOVE") => {
                let command = format!("UID MOVE {uid} {}", mailbox(to));
                self.ask(&command, SHORT, &mut |_| {}).await?
            }
            Afterwards::Move(to) => {
                let command = format!("UID COPY {uid} {}", mailbox(to));
                let said = self.ask(&command, SHORT, &mut |_| {}).await?;
                accepted(&format!("to copy a message to `{to}`"), said)?;
                return self.delete(uid).await;
            }
        };
        accepted("to change a message", done)
    }

    /// Where a server can't remove single messages, this one keeps the mark: with it, others would go that nobody spoke of.
    async fn delete(&mut self, uid: u32) -> Result<(), MailboxError> {
        let said = self.flag(uid, "\\Deleted").await?;
        accepted("to delete a message", said)?;
        if !self.can("UIDPLUS") {
            return Ok(());
        }
        let command = format!("UID EXPUNGE {uid}");
        let said = self.ask(&command, SHORT, &mut |_| {}).await?;
        accepted("to delete a message", said)
    }

    async fn flag(&mut self, uid: u32, flag: &str) -> Result<StatusResponse, MailboxError> {
        let command = format!("UID STORE {uid} +FLAGS.SILENT ({flag})");
        self.ask(&command, SHORT, &mut |_| {}).await
    }

    /// Waits until messages come, for so long at most: whether some have. It must be dropped only together with the session.
    pub async fn wait(&mut self, time_max: Duration) -> Result<bool, MailboxError> {
        let until = monotonic().checked_add(time_max).unwrap_or_else(monotonic);
        self.wire.grant(ASIDE_BYTES);
        let tag = self.tag();
        self.wire.send(format!("{tag} IDLE\r\n").as_bytes()).await?;
        let ended = timed(ANSWER_TIME, self.until_more(&tag)).await?;
        if let Some(said) = ended {
            return Err(refused("to tell of new messages", said));
        }
        while !self.has_news {
            let ready = tokio::time::timeout_at(until.into(), self.wire.ready());
            let Ok(ready) = ready.await else { break };
            ready?;
            if let Reply::Done(said) = timed(ANSWER_TIME, self.reply(&tag, ASIDE_LITERAL_BYTES)).await? {
                accepted("to tell of new messages", said)?;
                return Ok(self.has_news);
            }
        }
        let said = timed(ANSWER_TIME, async {
            self.wire.send(b"DONE\r\n").await?;
            self.end(&tag, ASIDE_LITERAL_BYTES, &mut |_| {}).await
        });
        accepted("to tell of new messages", said.await?)?;
        Ok(self.has_news)
    }

    /// `None`: it waits for more; or how the command has ended.
    async fn until_more(&mut self, tag: &str) -> Result<Option<StatusResponse>, MailboxError> {
        loop {
            match self.reply(tag, ASIDE_LITERAL_BYTES).await? {
                Reply::More => return Ok(None),
                Reply::Done(said) => return Ok(Some(said)),
                _ => {}
            }
        }
    }

    pub async fn log_out(&mut self) -> Result<(), MailboxError> {
        self.wire.grant(ASIDE_BYTES);
        let tag = self.tag();
        self.wire.send(format!("{tag} LOGOUT\r\n").as_bytes()).await
    }

    fn tag(&mut self) -> String {
        self.number = self.number.wrapping_add(1);
        format!("h{}", self.number)
    }

    async fn ask(
        &mut self,
        command: &str,
        bounds: Bounds,
        seen: &mut (dyn FnMut(Reply) + Send),
    ) -> Result<StatusResponse, MailboxError> {
        self.wire.grant(bounds.bytes.saturating_add(ASIDE_BYTES));
        let tag = self.tag();
        timed(bounds.time, async {
            self.wire.send(format!("{tag} {command}\r\n").as_bytes()).await?;
            self.end(&tag, bounds.literal_bytes, seen).await
        })
        .await
    }

    async fn end(
        &mut self,
        tag: &str,
        literal_bytes: usize,
        seen: &mut (dyn FnMut(Reply) + Send),
    ) -> Result<StatusResponse, MailboxError> {
        loop {
            match self.reply(tag, literal_bytes).await? {
                Reply::Done(said) => return Ok(said),
                reply => seen(reply),
            }
        }
    }

    /// The next response; what it says of the session is noted.
    async fn reply(&mut self, tag: &str, literal_bytes: usize) -> Result<Reply, MailboxError> {
        let raw = response::read(&mut self.wire, literal_bytes).await?;
        let reply = response::parse(raw, tag)?;
        match &reply {
            Reply::Exists => self.has_news = true,
            Reply::Capabilities(names) => self.capabilities = names.iter().cloned().collect(),
            Reply::Status(said) if said.state == State::Bye => {
                let asked = "to go on".to_owned();
                let said = said.text.clone();
                return Err(MailboxError::Refused { asked, said });
            }
            Reply::Status(said) | Reply::Done(said) => self.note(said),
            Reply::More | Reply::Found(_) | Reply::Message(_) | Reply::Other => {}
        }
        Ok(reply)
    }

    fn note(&mut self, said: &StatusResponse) {
        let code = said.code.as_deref().unwrap_or_default();
        let Some((name, value)) = code.split_once(' ') else {
            return;
        };
        match name.to_ascii_uppercase().as_str() {
            "UIDVALIDITY" => self.validity = value.trim().parse().unwrap_or_default(),
            "UIDNEXT" => self.next = value.trim().parse().ok(),
            "CAPABILITY" => self.capabilities = capabilities(value).into_iter().collect(),
            _ => {}
        }
    }
}

fn refused(asked: &str, said: StatusResponse) -> MailboxError {
    MailboxError::Refused {
        asked: asked.to_owned(),
        said: said.text,
    }
}

fn accepted(asked: &str, said: StatusResponse) -> Result<(), MailboxError> {
    match said.state {
        State::Ok => Ok(()),
        State::No | State::Bad | State::Bye | State::PreAuth => Err(refused(asked, said)),
    }
}
