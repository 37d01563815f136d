//! The description of a message by the process that has read it, and how much of it the service accepts: whoever wrote the message may
//! have taken that process over, so everything has a bound that is checked before it is used.
//!
//! An answer is the length of a head, the head as JSON, and what the attachments hold, one after the other. Knows nothing of how a
//! message is read, and of what becomes of it.

use super::parts::{FIELD_BYTES_MAX, FIELDS_MAX, PARTS_MAX, Refused, SECTION_BYTES_MAX};
use bytes::Bytes;
use heddle_runtime::BoundedList;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};

/// Maximum number of recipients of one message; further ones are ignored.
pub const RECIPIENTS_MAX: usize = 100;
/// Addresses of a field, each of which takes two bytes at least.
const ADDRESSES_MAX: usize = FIELD_BYTES_MAX / 2;
/// Bytes of a text from a header. A byte becomes three at most when it is decoded.
const TEXT_BYTES_MAX: usize = 3 * SECTION_BYTES_MAX;
/// A date is a few numbers.
const DATE_BYTES_MAX: usize = 40;
/// Bytes of all that is said of a message. A run whose event is larger than 16 MiB fails.
const HEAD_BYTES_MAX: usize = 17 << 20;
/// Bytes of what all attachments hold: a message has no more than 10 MiB, of which texts can become three times as many.
const CONTENTS_BYTES_MAX: usize = 32 << 20;
/// Bytes of the length that stands before the head.
const LENGTH_BYTES: usize = 4;
/// All three together.
pub(super) const ANSWER_BYTES_MAX: usize = LENGTH_BYTES + HEAD_BYTES_MAX + CONTENTS_BYTES_MAX;

/// A message, but for what its attachments hold.
#[derive(Serialize, Deserialize)]
pub(super) struct Message {
    pub from: Option<Mailbox>,
    pub to: BoundedList<Mailbox, ADDRESSES_MAX>,
    pub cc: BoundedList<Mailbox, ADDRESSES_MAX>,
    pub reply_to: BoundedList<Mailbox, ADDRESSES_MAX>,
    pub subject: Option<String>,
    /// As RFC 3339 writes it.
    pub date: Option<String>,
    pub message_id: Option<String>,
    pub text: Option<String>,
    pub html: Option<String>,
    /// Names and values, as they follow one another.
    pub headers: BoundedList<(String, String), FIELDS_MAX>,
    pub attachments: BoundedList<Attachment, PARTS_MAX>,
    /// The addresses that the header names, each once.
    pub recipients: BoundedList<String, RECIPIENTS_MAX>,
}

/// An address, and whose it is.
#[derive(Serialize, Deserialize)]
pub(super) struct Mailbox {
    pub name: Option<String>,
    pub address: String,
}

/// What an attachment says of itself.
#[derive(Serialize, Deserialize)]
pub(super) struct Attachment {
    pub filename: Option<String>,
    pub content_type: String,
    /// Content-ID, by which HTML refers to it.
    pub content_id: Option<String>,
    /// How much of what follows the head is its content.
    pub bytes: usize,
}

/// A message, and what its attachments hold, in the same order.
pub(super) struct Read {
    pub message: Message,
    pub contents: Vec<Bytes>,
}

#[derive(Serialize, Deserialize)]
enum Reply<M> {
    Read(M),
    Refused(Refused),
}

impl Message {
    /// The answer that tells of it, with what its attachments hold.
    pub fn answer<'c>(&self, contents: impl Iterator<Item = &'c [u8]>) -> Result<Vec<u8>, Refused> {
        self.check()?;
        let reply = Reply::Read(self);
        if !fits(&reply, HEAD_BYTES_MAX) {
            return Err(Refused::Texts);
        }
        let head = serde_json::to_vec(&reply).map_err(|_| Refused::Texts)?;
        let mut answer = framed(&head);
        for content in contents {
            answer.extend_from_slice(content);
        }
        Ok(answer)
    }

    /// Whether it is within the limits of a message. That lists are not too long is known of what was read.
    fn check(&self) -> Result<(), Refused> {
        let has_too_many = self.to.is_too_long()
            || self.cc.is_too_long()
            || self.reply_to.is_too_long()
            || self.recipients.is_too_long();
        if has_too_many || self.headers.is_too_long() {
            return Err(Refused::Fields);
        }
        if self.attachments.is_too_long() {
            return Err(Refused::Parts);
        }
        if self.texts_of_headers().any(|text| text.len() > TEXT_BYTES_MAX) || !self.has_date() {
            return Err(Refused::Field);
        }
        let bodies = [&self.text, &self.html].into_iter().flatten();
        if bodies.map(String::len).sum::<usize>() > HEAD_BYTES_MAX {
            return Err(Refused::Texts);
        }
        let contents = self.attachments.0.iter().map(|one| one.bytes);
        match contents.fold(0, usize::saturating_add) > CONTENTS_BYTES_MAX {
            true => Err(Refused::Contents),
            false => Ok(()),
        }
    }

    fn texts_of_headers(&self) -> impl Iterator<Item = &String> {
        let mailboxes = self.from.iter().chain(&self.to.0);
        let mailboxes = mailboxes.chain(&self.cc.0).chain(&self.reply_to.0);
        let named = mailboxes.flat_map(|mailbox| [mailbox.name.as_ref(), Some(&mailbox.address)]);
        let attachments = self.attachments.0.iter().flat_map(|one| {
            let (filename, content_id) = (one.filename.as_ref(), one.content_id.as_ref());
            [filename, Some(&one.content_type), content_id]
        });
        let single = [self.subject.as_ref(), self.message_id.as_ref()];
        let headers = self.headers.0.iter().flat_map(|(name, value)| [name, value]);
        let optional = named.chain(attachments).chain(single).flatten();
        optional.chain(headers).chain(&self.recipients.0)
    }

    /// Whether its date can be one, if it has any.
    fn has_date(&self) -> bool {
        self.date.as_ref().is_none_or(|date| {
            let mut bytes = date.bytes();
            date.len() <= DATE_BYTES_MAX
                && bytes.all(|byte| byte.is_ascii_digit() || b"-:+TZ".contains(&byte))
        })
    }
}

/// Whether this has so many bytes as JSON at most. It is counted before it is there, since a control character has six of them.
pub(super) fn fits(value: &impl Serialize, bytes_max: usize) -> bool {
    serde_json::to_writer(Left(bytes_max), value).is_ok()
}

/// Counts down what is written, and keeps nothing.
struct Left(usize);

impl Write for Left {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.0.checked_sub(bytes.len());
        self.0 = left.ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The answer that says why a message is rejected.
pub(super) fn refusal(refused: Refused) -> Vec<u8> {
    // If it can't be written, the answer is empty, which can't be read either.
    framed(&serde_json::to_vec(&Reply::<()>::Refused(refused)).unwrap_or_default())
}

fn framed(head: &[u8]) -> Vec<u8> {
    // A head that is longer is not made.
    let length = u32::try_from(head.len()).unwrap_or(u32::MAX);
    let mut answer = length.to_le_bytes().to_vec();
    answer.extend_from_slice(head);
    answer
}

/// What an answer says. The error says why it can't be read, for a log: nothing in it is a stranger's.
pub(super) fn read(answer: Vec<u8>) -> Result<Result<Read, Refused>, &'static str> {
    let answer = Bytes::from(answer);
    let (length, rest) = answer
        .split_first_chunk::<LENGTH_BYTES>()
        .ok_or("it has no length")?;
    let head_bytes = u32::from_le_bytes(*length) as usize;
    let head = rest
        .get(..head_bytes)
        .filter(|head| head.len() <= HEAD_BYTES_MAX)
        .ok_or("it has no such head")?;
    let reply: Reply<Message> = serde_json::from_slice(head).map_err(|_| "its head can't be read")?;
    let message = match reply {
        Reply::Read(message) => message,
        Reply::Refused(refused) => return Ok(Err(refused)),
    };
    message
        .check()
        .map_err(|_| "its head says more than a message may say")?;
    let mut contents = Vec::new();
    let mut at = LENGTH_BYTES + head_bytes;
    for attachment in &message.attachments.0 {
        let end = at.saturating_add(attachment.bytes);
        if end > answer.len() {
            return Err("it ends before its last attachment does");
        }
        contents.push(answer.slice(at..end));
        at = end;
    }
    match at == answer.len() {
        true => Ok(Ok(Read { message, contents })),
        false => Err("it goes on after its last attachment"),
    }
}

#[cfg(test)]
mod tests;
