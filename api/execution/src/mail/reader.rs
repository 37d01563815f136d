//! Has messages read, each in a process of its own: what ends that process, or keeps it busy, is a message that can't be read, and
//! nothing else. Where the settings want no processes, it is done on threads of this one.

use super::decoder;
use super::message::ANSWER_BYTES_MAX;
use super::parts::Refused;
use super::received::{Mail, rejected};
use super::room::Rooms;
use super::worker;
use crate::compile::Isolation;
use bytes::Bytes;
use heddle_model::error::{Code, ServiceError};
use heddle_model::ids::UserId;
use heddle_processes::{Limits, Worker, WorkerCommand, WorkerError};
use heddle_store::per_user::PerUser;
use std::time::Duration;
use tokio::sync::Semaphore;

/// Bytes of a message.
pub const BYTES_MAX: usize = 10 << 20;
/// Messages that are read at one time, each of which takes several times its size: of those that come in, and of those that are
/// fetched.
const AT_ONCE_MAX: usize = 4;
/// Messages from mailboxes of one owner whose runs are not stored yet.
const PER_OWNER_MAX: usize = 2;
/// How long a message may take. The largest one takes a second.
const TIME_MAX: Duration = Duration::from_secs(30);
/// A message that can be read if any can.
const HARMLESS: &[u8] = b"Subject: one\r\n\r\nanything\r\n";

/// What a process may use. The largest message fits into it several times.
const LIMITS: Limits = Limits {
    address_space_bytes_max: 768 << 20,
    data_bytes_max: u64::MAX,
    processor_seconds_max: 20,
    files_max: 16,
    file_bytes_max: 0,
    // Webhooks come first.
    niceness: 5,
    // Whoever gives a message has looked how large it is.
    request_bytes_max: 2 * BYTES_MAX,
    answer_bytes_max: ANSWER_BYTES_MAX,
};

/// A message, or why it can't be taken.
type Answer = Result<Mail, Refused>;

/// Has messages read.
#[derive(Debug)]
pub struct MailReader {
    worker: Option<WorkerCommand>,
    incoming: Turns,
    fetched: Turns,
    of_owners: PerUser,
}

/// What messages of a kind share, so that those of the other kind don't keep them waiting.
#[derive(Debug)]
struct Turns {
    places: Semaphore,
    rooms: Rooms,
}

impl Turns {
    fn new() -> Self {
        Turns {
            places: Semaphore::new(AT_ONCE_MAX),
            rooms: Rooms::default(),
        }
    }
}

impl MailReader {
    /// Where work on strangers' bytes executes. Starts nothing.
    pub fn new(isolation: &Isolation) -> Self {
        MailReader {
            worker: match isolation {
                Isolation::Thread => None,
                Isolation::Process(program) => Some(program.command(worker::KIND, LIMITS)),
            },
            incoming: Turns::new(),
            fetched: Turns::new(),
            of_owners: PerUser::new(PER_OWNER_MAX),
        }
    }

    /// Reads a message that has come in. One that can't be read, now or later, is [`Code::Validation`].
    pub async fn read(&self, raw: impl Into<Bytes>) -> Result<Mail, ServiceError> {
        self.read_in_turn(&self.incoming, raw.into()).await
    }

    /// Reads a message from a mailbox of this owner, who waits for their own messages before those of others.
    pub async fn read_fetched(&self, owner: UserId, raw: impl Into<Bytes>) -> Result<Mail, ServiceError> {
        let raw = raw.into();
        // Never closed.
        let turn = self.of_owners.of(owner).acquire_owned().await.ok();
        let mail = self.read_in_turn(&self.fetched, raw).await?;
        Ok(mail.in_turn(turn))
    }

    async fn read_in_turn(&self, turns: &Turns, raw: Bytes) -> Result<Mail, ServiceError> {
        // Never closed, so there is always a permit to wait for.
        let _place = turns.places.acquire().await;
        let room = turns.rooms.for_message(raw.len()).await;
        let answer = match &self.worker {
            Some(command) => Box::pin(in_process(command, &raw)).await?,
            None => in_thread(raw).await?,
        };
        match answer {
            Ok(mail) => Ok(mail.within(room)),
            Err(refused) => Err(rejected(&refused.to_string())),
        }
    }
}

async fn in_thread(raw: Bytes) -> Result<Answer, ServiceError> {
    let done = tokio::task::spawn_blocking(move || Mail::of_answer(decoder::answer(&raw), &raw)).await;
    let answer = done.map_err(|error| match error.is_panic() {
        true => rejected("it can't be read because of a bug in heddle"),
        false => later(),
    })?;
    answer.map_err(|reason| ServiceError::internal(WorkerError::Malformed(reason.to_owned())))
}

async fn in_process(command: &WorkerCommand, raw: &Bytes) -> Result<Answer, ServiceError> {
    let mut asked = ask(command, raw).await;
    // It may have been somebody else: a person, or the system when memory is short.
    if matches!(&asked, Err(error @ WorkerError::Died { .. }) if !is_beyond_limits(error)) {
        asked = ask(command, raw).await;
    }
    let error = match asked {
        Ok(answer) => return Ok(answer),
        Err(error) => error,
    };
    tracing::warn!(%error, "A process that reads a message has ended");
    let is_of_the_moment = matches!(error, WorkerError::Start(_) | WorkerError::Socket(_));
    // A message is given up for good only if it is the message.
    if is_of_the_moment || !matches!(ask(command, &Bytes::from_static(HARMLESS)).await, Ok(Ok(_))) {
        return Err(later());
    }
    Err(rejected(match error {
        WorkerError::RequestTooLarge { .. } => "it is too large",
        error if error.is_out_of_memory() => "it would take too much memory to read it",
        error if error.is_out_of_time() => "it would take too long to read it",
        _ => "the process that read it crashed",
    }))
}

fn is_beyond_limits(error: &WorkerError) -> bool {
    error.is_out_of_memory() || error.is_out_of_time()
}

/// Has a process read a message, and nothing after it.
async fn ask(command: &WorkerCommand, raw: &Bytes) -> Result<Answer, WorkerError> {
    let mut worker = Worker::start(command.clone()).await?;
    let answer = worker.ask(raw, TIME_MAX).await?;
    drop(worker);
    let raw = raw.clone();
    let done = tokio::task::spawn_blocking(move || Mail::of_answer(answer, &raw)).await;
    let read = done.map_err(|error| WorkerError::Malformed(error.to_string()))?;
    read.map_err(|reason| WorkerError::Malformed(reason.to_owned()))
}

fn later() -> ServiceError {
    Code::Unavailable.with(
        "The message can't be read right now, since the processes that read messages don't start or crash. It can be sent again later.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_owner_has_few_messages_until_their_runs_are_stored() {
        let reader = MailReader::new(&Isolation::Thread);
        let (ann, bob) = (UserId::new(), UserId::new());
        let mut held = Vec::new();
        for left in (0..PER_OWNER_MAX).rev() {
            held.push(reader.read_fetched(ann, HARMLESS).await.unwrap());
            assert_eq!(reader.of_owners.of(ann).available_permits(), left);
        }
        assert!(reader.read_fetched(bob, HARMLESS).await.is_ok());
        held.pop();
        assert!(reader.read_fetched(ann, HARMLESS).await.is_ok());
    }
}
