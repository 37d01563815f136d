//! POP3 (RFC 1939, 2449 and 2595): a mailbox is listed by the lasting ids of its messages (UIDL), and messages are fetched and deleted
//! by their place in it, which holds until the session ends.

use super::login::{Login, Proof, xoauth2};
use super::response::words;
use super::wire::{MailboxError, Wire, timed};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Bytes beside what is asked for, TLS among them.
const ASIDE_BYTES: u64 = 64 << 10;
/// Bytes of a line that is not part of a message.
const LINE_BYTES_MAX: usize = 2 << 10;
/// Messages that a mailbox may have.
pub(super) const MESSAGES_MAX: usize = 50_000;
/// Bytes of a message's id, by the standard.
const ID_BYTES_MAX: usize = 70;
/// Bytes of the list of them all.
const LIST_BYTES: u64 = 5 << 20;
/// Lines of a list of capabilities.
const CAPABILITIES_MAX: usize = 100;
const ANSWER_TIME: Duration = Duration::from_secs(30);
const LONG_TIME: Duration = Duration::from_secs(120);

const POP: &str = "POP3";

/// A message in a mailbox.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ListedMessage {
    /// Its place in this session.
    pub number: u32,
    /// What tells it from all others, in every session.
    pub id: String,
}

/// A session.
pub(super) struct Pop {
    wire: Wire,
}

impl Pop {
    pub async fn greeted(wire: Wire) -> Result<Self, MailboxError> {
        let mut pop = Pop { wire };
        pop.wire.grant(ASIDE_BYTES);
        timed(ANSWER_TIME, pop.answer("the connection")).await?;
        Ok(pop)
    }

    /// Asks for TLS; the stream is then ready for it.
    pub async fn start_tls(mut self) -> Result<Wire, MailboxError> {
        self.ask("STLS", "TLS").await?;
        Ok(self.wire)
    }

    pub fn secured(wire: Wire) -> Self {
        Pop { wire }
    }

    pub async fn log_in(&mut self, login: &Login) -> Result<(), MailboxError> {
        match &login.proof {
            Proof::Password(password) => {
                self.ask(&format!("USER {}", login.user), "the user").await?;
                let command = format!("PASS {}", password.as_str());
                self.ask(&command, "the login").await?;
            }
            Proof::Token(token) => {
                let initial = xoauth2(&login.user, token);
                self.wire.grant(ASIDE_BYTES);
                timed(ANSWER_TIME, self.authenticate(&initial)).await?;
            }
        }
        self.check_listing().await
    }

    /// The token comes after its command (RFC 5034, section 4): few fit into the 255 bytes of a command, and not every server takes one
    /// there.
    async fn authenticate(&mut self, initial: &str) -> Result<(), MailboxError> {
        self.wire.send(b"AUTH XOAUTH2\r\n").await?;
        let line = self.wire.line(LINE_BYTES_MAX).await?;
        if !is_more(&line) {
            // Nobody is logged in without the token.
            let refusal = status_line(&line, "the login");
            return refusal.and(Err(MailboxError::Garbled(POP)));
        }
        self.wire.send(format!("{initial}\r\n").as_bytes()).await?;
        let line = self.wire.line(LINE_BYTES_MAX).await?;
        if is_more(&line) {
            // It says what is wrong in its own form, and refuses once it is answered.
            self.wire.send(b"\r\n").await?;
            return self.answer("the login").await.map(drop);
        }
        status_line(&line, "the login").map(drop)
    }

    /// A server that says what it can do must be able to tell messages from each other.
    async fn check_listing(&mut self) -> Result<(), MailboxError> {
        self.wire.grant(ASIDE_BYTES);
        timed(ANSWER_TIME, async {
            self.wire.send(b"CAPA\r\n").await?;
            let line = self.wire.line(LINE_BYTES_MAX).await?;
            if status_line(&line, "CAPA").is_err() {
                return Ok(());
            }
            let (mut count, mut has_ids) = (0, false);
            while let Some(line) = self.line_of_several(LINE_BYTES_MAX).await? {
                count += 1;
                if count > CAPABILITIES_MAX {
                    return Err(MailboxError::Garbled(POP));
                }
                has_ids |= line.eq_ignore_ascii_case(b"UIDL");
            }
            match has_ids {
                true => Ok(()),
                false => Err(MailboxError::Unfit(
                    "gives its messages no lasting ids (UIDL), so that new ones can't be told from others"
                        .to_owned(),
                )),
            }
        })
        .await
    }

    /// The messages in the mailbox, in its order.
    pub async fn list(&mut self) -> Result<Vec<ListedMessage>, MailboxError> {
        self.wire.grant(LIST_BYTES + ASIDE_BYTES);
        timed(LONG_TIME, async {
            self.wire.send(b"UIDL\r\n").await?;
            self.answer("the list of messages").await?;
            let mut listed = Vec::new();
            while let Some(line) = self.line_of_several(LINE_BYTES_MAX).await? {
                if listed.len() >= MESSAGES_MAX {
                    return Err(MailboxError::Unfit(format!(
                        "has more than {MESSAGES_MAX} messages in the mailbox: delete some, or use IMAP"
                    )));
                }
                listed.push(of_line(&line).ok_or(MailboxError::Garbled(POP))?);
            }
            Ok(listed)
        })
        .await
    }

    /// Bytes that a message has by the server's word.
    pub async fn bytes_of(&mut self, number: u32) -> Result<u64, MailboxError> {
        let answer = self
            .ask(&format!("LIST {number}"), "the size of a message")
            .await?;
        let bytes = answer.split_ascii_whitespace().nth(1);
        bytes
            .and_then(|bytes| bytes.parse().ok())
            .ok_or(MailboxError::Garbled(POP))
    }

    /// A message, which has at most so many bytes.
    pub async fn fetch(&mut self, number: u32, bytes_max: usize) -> Result<Vec<u8>, MailboxError> {
        // Dots are doubled, and lines end anew.
        self.wire
            .grant((bytes_max as u64).saturating_mul(2) + ASIDE_BYTES);
        timed(LONG_TIME, async {
            self.wire.send(format!("RETR {number}\r\n").as_bytes()).await?;
            self.answer("a message").await?;
            let mut message = Vec::new();
            // Longer lines than the standard allows are not rare.
            while let Some(line) = self.line_of_several(bytes_max).await.map_err(whole(bytes_max))? {
                if message.len() + line.len() > bytes_max {
                    return Err(MailboxError::Large(bytes_max));
                }
                message.extend_from_slice(&line);
                message.extend_from_slice(b"\r\n");
            }
            Ok(message)
        })
        .await
    }

    /// Deletes a message once the session ends well.
    pub async fn delete(&mut self, number: u32) -> Result<(), MailboxError> {
        self.ask(&format!("DELE {number}"), "to delete a message")
            .await
            .map(drop)
    }

    /// Ends the session; what was deleted is gone then.
    pub async fn quit(&mut self) -> Result<(), MailboxError> {
        self.ask("QUIT", "to end the session").await.map(drop)
    }

    async fn ask(&mut self, command: &str, asked: &str) -> Result<String, MailboxError> {
        self.wire.grant(ASIDE_BYTES);
        timed(ANSWER_TIME, async {
            self.wire.send(format!("{command}\r\n").as_bytes()).await?;
            self.answer(asked).await
        })
        .await
    }

    async fn answer(&mut self, asked: &str) -> Result<String, MailboxError> {
        status_line(&self.wire.line(LINE_BYTES_MAX).await?, asked)
    }

    /// A line of an answer of several, without the dot that is doubled; `None`: it has ended.
    async fn line_of_several(&mut self, bytes_max: usize) -> Result<Option<Vec<u8>>, MailboxError> {
        let mut line = self.wire.line(bytes_max).await?;
        if line == b"." {
            return Ok(None);
        }
        if line.first() == Some(&b'.') {
            line.remove(0);
        }
        Ok(Some(line))
    }
}

/// A line that is too long is a message that is too large.
fn whole(bytes_max: usize) -> impl Fn(MailboxError) -> MailboxError {
    move |error| match error {
        MailboxError::Long(_) => MailboxError::Large(bytes_max),
        other => other,
    }
}

/// Whether a server waits for what comes next of a login.
fn is_more(line: &[u8]) -> bool {
    line == b"+" || line.starts_with(b"+ ")
}

/// What stands behind `+OK`.
fn status_line(line: &[u8], asked: &str) -> Result<String, MailboxError> {
    let text = String::from_utf8_lossy(line);
    let (state, rest) = text.split_once(' ').unwrap_or((&*text, ""));
    match state {
        "+OK" => Ok(rest.to_owned()),
        "-ERR" => Err(MailboxError::Refused {
            asked: asked.to_owned(),
            said: words(rest),
        }),
        _ => Err(MailboxError::Garbled(POP)),
    }
}

fn of_line(line: &[u8]) -> Option<ListedMessage> {
    let (number, id) = std::str::from_utf8(line).ok()?.split_once(' ')?;
    let id = id.trim();
    Some(ListedMessage {
        number: number.parse().ok()?,
        id: is_id(id).then(|| id.to_owned())?,
    })
}

/// Whether the standard allows a message's id.
pub(super) fn is_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= ID_BYTES_MAX && id.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::egress::Meter;
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

    /// Logs in with a token at a server that answers each line with the next of these; how that went, and the lines.
    async fn log_in_with(token: &str, answers: &[&str]) -> (Result<(), MailboxError>, Vec<String>) {
        let (ours, theirs) = tokio::io::duplex(16 << 10);
        let mut pop = Pop::secured(Wire::new(Box::new(ours), Meter::new(u64::MAX)));
        let login = Login {
            user: "ann@example.com".to_owned(),
            proof: Proof::Token(token.to_owned().into()),
        };
        let server = async {
            let (mut theirs, mut heard) = (BufReader::new(theirs), Vec::new());
            for answer in answers {
                let mut line = String::new();
                theirs.read_line(&mut line).await.unwrap();
                heard.push(line.trim_end().to_owned());
                theirs
                    .write_all(format!("{answer}\r\n").as_bytes())
                    .await
                    .unwrap();
            }
            heard
        };
        tokio::join!(pop.log_in(&login), server)
    }

    #[tokio::test]
    async fn a_token_is_sent_after_its_command_however_long_it_is() {
        let told = "+OK\r\nUIDL\r\n.";
        for (token, goes_on) in [("short", "+ "), ("short", "+"), (&*"long".repeat(100), "+ ")] {
            let (went, heard) = log_in_with(token, &[goes_on, "+OK", told]).await;
            went.unwrap();
            let sent = xoauth2("ann@example.com", token);
            assert_eq!(heard, ["AUTH XOAUTH2".to_owned(), sent, "CAPA".to_owned()]);
        }
    }

    #[tokio::test]
    async fn what_is_wrong_with_a_token_is_said_by_the_server() {
        let refused = "refused the login: [AUTH] expired";
        for (answers, expected) in [
            (
                &["+ ", "+ eyJzdGF0dXMiOiI0MDAifQ==", "-ERR [AUTH] expired"][..],
                refused,
            ),
            (&["+ ", "+", "-ERR [AUTH] expired"], refused),
            (&["+ ", "-ERR [AUTH] expired"], refused),
            (&["-ERR [AUTH] expired"], refused),
            (&["+OK"], "sent what POP3 does not allow"),
        ] {
            let (went, heard) = log_in_with("short", answers).await;
            assert_eq!(went.unwrap_err().to_string(), expected);
            assert_eq!(heard.len(), answers.len());
            assert_eq!(heard.last().map(String::is_empty), Some(answers.len() == 3));
        }
    }
}
