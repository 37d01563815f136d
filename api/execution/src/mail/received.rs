//! A message that was read, and the event that it is for a run, with its attachments inside or as files.

use super::event;
use super::files;
use super::message::{self, Read};
use super::parts::Refused;
use super::room::Room;
use crate::blocking::blocking;
use crate::files::FileService;
use heddle_model::error::{Code, ServiceError};
use heddle_model::ids::RunId;
use heddle_model::tenant::Tenant;
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use std::sync::Arc;
use tokio::sync::{OnceCell, OwnedSemaphorePermit};

/// A message that was read. It takes much more memory than the message, so that only so many are there at a time: it should be dropped
/// as soon as its runs are stored.
pub struct Mail {
    read: Arc<Read>,
    key: String,
    /// Its event with its attachments inside, once somebody has wanted that.
    whole: OnceCell<Box<RawValue>>,
    /// Bytes that told of it.
    answer_bytes: usize,
    /// The memory that it takes, given back when it is dropped. `None`: nobody waits for memory.
    _room: Option<Room>,
    /// Its owner's turn, which ends when it is dropped.
    _turn: Option<OwnedSemaphorePermit>,
}

impl Mail {
    /// What an answer says of a message with these bytes. The error is why it is not an answer.
    pub(super) fn of_answer(answer: Vec<u8>, raw: &[u8]) -> Result<Result<Mail, Refused>, &'static str> {
        let answer_bytes = answer.len();
        let read = match message::read(answer)? {
            Ok(read) => read,
            Err(refused) => return Ok(Err(refused)),
        };
        let key = match &read.message.message_id {
            Some(id) => hex::encode(Sha256::digest(id)),
            None => hex::encode(Sha256::digest(raw)),
        };
        Ok(Ok(Mail {
            read: Arc::new(read),
            key,
            whole: OnceCell::new(),
            answer_bytes,
            _room: None,
            _turn: None,
        }))
    }

    /// Keeps the turn of its owner for as long as the message is held.
    pub(super) fn in_turn(self, turn: Option<OwnedSemaphorePermit>) -> Mail {
        Mail { _turn: turn, ..self }
    }

    /// Takes the memory that was reserved for it, and gives back what it does not need.
    pub(super) fn within(self, mut room: Room) -> Mail {
        room.shrink(self.answer_bytes);
        Mail {
            _room: Some(room),
            ..self
        }
    }

    /// The addresses that its header names, each once.
    pub fn recipients(&self) -> &[String] {
        &self.read.message.recipients.0
    }

    /// By which a message that comes again is known: its `Message-ID`, or all of it if it has none.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Its event. Where attachments are to be files, they are stored for the run that it is going to start, whose id is given. If no
    /// run can begin with what would be its event, that is [`Code::Validation`].
    pub async fn event(
        &self,
        as_files: bool,
        files: &FileService,
        tenant: Tenant,
    ) -> Result<(Option<RunId>, Box<RawValue>), ServiceError> {
        if !as_files {
            let whole = self.whole.get_or_try_init(|| self.written(None)).await?;
            return Ok((None, whole.clone()));
        }
        // Nothing is stored for what no run can begin with.
        let read = self.read.clone();
        let checked = blocking(move || event::check(&read.message)).await?;
        checked.map_err(refusal)?;
        let run = RunId::new();
        let stored = files::stored(&self.read, files, (tenant, run)).await?;
        Ok((Some(run), self.written(Some(stored)).await?))
    }

    /// Its event, with its attachments as they are stored, or inside.
    async fn written(&self, stored: Option<Vec<Value>>) -> Result<Box<RawValue>, ServiceError> {
        let read = self.read.clone();
        let written = blocking(move || match stored {
            Some(stored) => event::of(&read.message, stored),
            None => event::whole(&read),
        })
        .await?;
        written.map_err(refusal)
    }
}

fn refusal(refused: Refused) -> ServiceError {
    rejected(&refused.to_string())
}

/// For good: whoever sends it again is told the same.
pub(super) fn rejected(reason: &str) -> ServiceError {
    Code::Validation.with(format!("The message was rejected: {reason}."))
}
