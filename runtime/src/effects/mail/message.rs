//! The message, made of what the node says.
//!
//! Knows nothing of servers.

use super::super::connectors::Owner;
use super::super::stored_file::failed;
use crate::files::{FileValue, Files};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::StreamExt;
use heddle_processes::places::PerOwner;
use heddle_sandbox::{EffectCode, EffectError};
use heddle_sandbox::{hex, sha256};
use lettre::Message;
use lettre::message::header::ContentType;
use lettre::message::{Attachment, Mailbox, Mailboxes, MultiPart, SinglePart};
use serde::Deserialize;
use std::sync::{Arc, LazyLock};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Recipients of one message.
const RECIPIENTS_MAX: usize = 100;
/// Bytes of all files of one message: most servers refuse more.
const FILES_BYTES_MAX: u64 = 25 << 20;
/// KiB of files in messages that are being sent, of all runs. Encoded, each takes about four times its size.
const FILES_KIB_MAX: usize = 64 << 10;
/// Of these an owner's at most: messages to a server that never answers keep their room for as long as their runs like.
const FILES_KIB_OF_OWNER_MAX: usize = FILES_KIB_MAX / 2;
/// That of the process.
static FILES_ROOM: LazyLock<FilesRoom> = LazyLock::new(FilesRoom::default);

/// Room for files in memory.
struct FilesRoom {
    of_owners: PerOwner<Owner>,
    of_all: Arc<Semaphore>,
}

/// Room that is taken, until it is dropped.
pub(super) struct Room {
    _own: Option<OwnedSemaphorePermit>,
    _of_all: Option<OwnedSemaphorePermit>,
}

impl Default for FilesRoom {
    fn default() -> Self {
        FilesRoom {
            of_owners: PerOwner::new(FILES_KIB_OF_OWNER_MAX),
            of_all: Arc::new(Semaphore::new(FILES_KIB_MAX)),
        }
    }
}

impl FilesRoom {
    /// Waits for room for so many bytes of an owner's, no more than a message may have: first among its own, so that nobody else waits
    /// for those.
    async fn take(&self, owner: Owner, bytes: u64) -> Room {
        let kib = u32::try_from(bytes.div_ceil(1 << 10)).unwrap_or(u32::MAX);
        // Never closed, so there are always permits to wait for.
        let own = self.of_owners.of(owner).acquire_many_owned(kib).await;
        let of_all = self.of_all.clone().acquire_many_owned(kib).await;
        Room {
            _own: own.ok(),
            _of_all: of_all.ok(),
        }
    }
}

/// What the node says.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Request {
    from: String,
    to: Vec<String>,
    #[serde(default)]
    cc: Vec<String>,
    #[serde(default)]
    bcc: Vec<String>,
    #[serde(default)]
    reply_to: Option<String>,
    subject: String,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    html: Option<String>,
    #[serde(default)]
    attachments: Vec<File>,
    #[serde(default)]
    pub timeout_ms: Option<f64>,
    #[serde(default)]
    pub idempotency_key: Option<String>,
}

impl Request {
    /// A message of plain text to one address.
    pub fn plain(from: &str, to: &str, subject: &str, text: &str) -> Self {
        Request {
            from: from.to_owned(),
            to: vec![to.to_owned()],
            cc: Vec::new(),
            bcc: Vec::new(),
            reply_to: None,
            subject: subject.to_owned(),
            text: Some(text.to_owned()),
            html: None,
            attachments: Vec::new(),
            timeout_ms: None,
            idempotency_key: None,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    filename: String,
    #[serde(default)]
    content_type: Option<String>,
    #[serde(default)]
    base64: String,
    /// Its bytes are elsewhere.
    #[serde(default)]
    file: Option<FileValue>,
    /// They are here.
    #[serde(skip)]
    fetched: Option<Vec<u8>>,
}

impl Request {
    /// Reads the attachments that are files; they have room in memory for as long as what this gives is kept.
    pub async fn fetch(&mut self, files: &dyn Files, owner: Owner) -> Result<Option<Room>, EffectError> {
        let mut bytes = 0_u64;
        for file in self
            .attachments
            .iter()
            .filter_map(|attachment| attachment.file.as_ref())
        {
            let opened = files.open(&file.id, Some(0..0)).await;
            let opened = opened.map_err(|failure| failed(&failure))?;
            bytes = bytes.saturating_add(opened.value.size);
            if bytes > FILES_BYTES_MAX {
                let message = format!(
                    "The files of the message have more than {} MiB together, which mail servers refuse: send a link instead.",
                    FILES_BYTES_MAX >> 20
                );
                return Err(EffectError::new(EffectCode::FileLimit, message));
            }
        }
        let room = match bytes {
            0 => None,
            bytes => Some(FILES_ROOM.take(owner, bytes).await),
        };
        for attachment in &mut self.attachments {
            let Some(file) = &attachment.file else { continue };
            let opened = files.open(&file.id, None).await;
            let mut opened = opened.map_err(|failure| failed(&failure))?;
            let mut content = Vec::new();
            while let Some(piece) = opened.content.next().await {
                content.extend_from_slice(&piece.map_err(|failure| failed(&failure))?);
            }
            attachment.fetched = Some(content);
        }
        Ok(room)
    }
}

/// The message, and its id: the same for a repetition, so that a receiver can tell that it is one.
pub(super) fn message(request: &Request, key: &str) -> Result<(Message, String), EffectError> {
    let from = mailbox("from", &request.from)?;
    let digest = hex(&sha256(key.as_bytes()));
    let id = format!(
        "<{}@{}>",
        digest.get(..32).unwrap_or(&digest),
        from.email.domain()
    );
    let mut recipients = 0;
    let mut builder = Message::builder()
        .from(from)
        .subject(request.subject.clone())
        .message_id(Some(id.clone()));
    for (name, texts) in [("to", &request.to), ("cc", &request.cc), ("bcc", &request.bcc)] {
        for mailbox in mailboxes(name, texts)? {
            recipients += 1;
            builder = match name {
                "to" => builder.to(mailbox),
                "cc" => builder.cc(mailbox),
                _ => builder.bcc(mailbox),
            };
        }
    }
    if recipients == 0 || recipients > RECIPIENTS_MAX {
        let message = format!("A message must have 1 to {RECIPIENTS_MAX} recipients, not {recipients}.");
        return Err(EffectError::parameter(message));
    }
    if let Some(reply_to) = &request.reply_to {
        builder = builder.reply_to(mailbox("replyTo", reply_to)?);
    }
    let body = match (&request.text, &request.html) {
        (Some(text), Some(html)) => MultiPart::alternative_plain_html(text.clone(), html.clone()),
        (None, Some(html)) => MultiPart::mixed().singlepart(SinglePart::html(html.clone())),
        (text, None) => {
            let text = text.clone().unwrap_or_default();
            MultiPart::mixed().singlepart(SinglePart::plain(text))
        }
    };
    let built = match (request.attachments.is_empty(), &request.text, &request.html) {
        (true, _, None) => builder.singlepart(SinglePart::plain(request.text.clone().unwrap_or_default())),
        (true, None, Some(html)) => builder.singlepart(SinglePart::html(html.clone())),
        (true, ..) => builder.multipart(body),
        (false, ..) => {
            let whole = MultiPart::mixed().multipart(body);
            let whole = request.attachments.iter().try_fold(whole, |whole, file| {
                Ok::<_, EffectError>(whole.singlepart(attachment(file)?))
            })?;
            builder.multipart(whole)
        }
    };
    let built =
        built.map_err(|error| EffectError::parameter(format!("Can't compose the message: {error}.")))?;
    Ok((built, id))
}

fn attachment(file: &File) -> Result<SinglePart, EffectError> {
    let name: String = file.filename.chars().filter(|c| !c.is_control()).collect();
    let content = match &file.fetched {
        Some(content) => content.clone(),
        None => STANDARD.decode(&file.base64).map_err(|error| {
            EffectError::parameter(format!("The attachment `{name}` is not valid base64: {error}."))
        })?,
    };
    let content_type = file.content_type.as_deref().unwrap_or("application/octet-stream");
    let content_type = ContentType::parse(content_type).map_err(|_| {
        EffectError::parameter(format!(
            "`{content_type}` of the attachment `{name}` is not a content type."
        ))
    })?;
    Ok(Attachment::new(name).body(content, content_type))
}

fn mailbox(name: &str, text: &str) -> Result<Mailbox, EffectError> {
    text.parse().map_err(|error| {
        EffectError::parameter(format!("`{text}` in `{name}` is not an email address: {error}."))
    })
}

fn mailboxes(name: &str, texts: &[String]) -> Result<Vec<Mailbox>, EffectError> {
    let mut all = Vec::new();
    for text in texts.iter().filter(|text| !text.trim().is_empty()) {
        let list: Mailboxes = text.parse().map_err(|error| {
            EffectError::parameter(format!("`{text}` in `{name}` is not an email address: {error}."))
        })?;
        all.extend(list);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[test]
    fn an_owner_s_files_leave_room_for_others() {
        let rooms = FilesRoom::default();
        let take = |owner| rooms.take(owner, FILES_BYTES_MAX).now_or_never();
        let held = take(Some(1));
        assert!(held.is_some());
        assert!(take(Some(1)).is_none());
        let other = take(Some(2));
        assert!(other.is_some());
        // Whoever has left keeps nothing.
        let small = rooms.take(Some(1), 1).now_or_never();
        assert!(small.is_some());
        assert!(take(None).is_none(), "there is no more for anybody");
        drop((held, small));
        assert!(take(Some(1)).is_some());
    }
}
