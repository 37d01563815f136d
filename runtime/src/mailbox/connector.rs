//! Asks a server of mailboxes from a process of its own, one for each session. The process has one end of a socket pair; the service
//! has the other end, and carries bytes between that and what the egress guard has connected to.
//!
//! Answers of such a process are not trusted: they are what a server that means harm could have had understood.

use super::serve::{Entry, KIND, MESSAGE, Reply};
use super::server::Server;
use super::session::{Answer, Numbering, Question, Selection};
use crate::bounded_list::BoundedList;
use crate::effects::connectors::{Connectors, Failure, LIMITS, pair};
use crate::egress::{Meter, Metered, relay};
use crate::secrets::CUT;
use heddle_processes::{Limits, Worker, WorkerError};
use heddle_sandbox::{EffectCode, EffectError};
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// Codes with which it may fail.
const CODES: &[EffectCode] = &[
    EffectCode::MailFailed,
    EffectCode::OutputLimit,
    EffectCode::Timeout,
];
/// A connection's fields, or a question.
const REQUEST_BYTES_MAX: usize = 1 << 20;
/// A message, or the list of all messages.
const ANSWER_BYTES_MAX: usize = 16 << 20;
/// Maximum length of an error's message, in bytes.
const ERROR_BYTES_MAX: usize = 2 << 10;
/// Questions after which a session is begun anew, so that nothing piles up in its process, and its processor time lasts.
const QUESTIONS_MAX: u32 = 50_000;

/// How much a server may send while a question is answered, and how long that may take. The process counts each command more closely:
/// this is what holds whoever has taken it over.
struct Bounds {
    bytes: u64,
    time: Duration,
}

/// TLS, the login and the selection of a mailbox, in up to eight answers.
const ENTRY: Bounds = Bounds {
    bytes: 4 << 20,
    time: Duration::from_secs(270),
};
/// Up to three commands that have short answers.
const SHORT: Bounds = Bounds {
    bytes: 1 << 20,
    time: Duration::from_secs(100),
};
/// For a list of everything, or a message.
const LONG_TIME: Duration = Duration::from_secs(130);
const LIST_BYTES: u64 = 6 << 20;
/// Of a message of which something is told by a command of its own.
const EACH_BYTES: u64 = 64 << 10;
const EACH_TIME: Duration = Duration::from_secs(30);
/// For what is said last to get to the server.
const LAST_TIME: Duration = Duration::from_secs(10);

impl Bounds {
    fn of(question: &Question) -> Self {
        match question {
            Question::Search { .. } | Question::List => Bounds {
                bytes: LIST_BYTES,
                time: LONG_TIME,
            },
            Question::About(numbers) => {
                let count = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
                Bounds {
                    bytes: EACH_BYTES
                        .saturating_mul(u64::from(count))
                        .saturating_add(SHORT.bytes),
                    time: EACH_TIME.saturating_mul(count).saturating_add(SHORT.time),
                }
            }
            Question::Fetch { bytes_max, .. } => Bounds {
                bytes: (*bytes_max as u64).saturating_mul(2).saturating_add(SHORT.bytes),
                time: LONG_TIME,
            },
            Question::Wait(time_max) => Bounds {
                time: time_max.saturating_add(SHORT.time),
                ..SHORT
            },
            Question::Settle { .. } | Question::End => SHORT,
        }
    }
}

/// A session in a process.
pub(super) struct Connector {
    worker: Worker,
    /// The server's, in messages.
    name: String,
    meter: Meter,
    numbering: Numbering,
    can_wait: bool,
    questions: u32,
    /// It has answered what can't be an answer.
    is_broken: bool,
    /// Carries the bytes, until this is dropped.
    carried: JoinSet<()>,
}

impl Connector {
    /// Starts a process that logs in by this stream, and opens a mailbox if one is to be.
    pub async fn enter(
        connectors: &Connectors,
        (server, selection): (&Server, Option<&Selection>),
        outside: Metered<TcpStream>,
    ) -> Result<Self, EffectError> {
        let name = server.name();
        let (inside, theirs) = pair().map_err(|error| ended(&name, &WorkerError::Start(error)))?;
        let limits = Limits {
            request_bytes_max: REQUEST_BYTES_MAX,
            answer_bytes_max: ANSWER_BYTES_MAX,
            ..LIMITS
        };
        let mut command = connectors.command(KIND, limits);
        command.peer = Some(Arc::new(theirs));
        let worker = Worker::start(command).await;
        let worker = worker.map_err(|error| ended(&name, &error))?;
        let meter = outside.meter.clone();
        let mut carried = JoinSet::new();
        carried.spawn(relay(inside, outside));
        let mut connector = Connector {
            worker,
            name,
            meter,
            numbering: Numbering::Ids,
            can_wait: false,
            questions: 0,
            is_broken: false,
            carried,
        };
        let entered = connector.exchange(&Entry { server, selection }, &ENTRY).await?;
        match read(entered) {
            Ok(Received::Entered { numbering, can_wait }) => {
                connector.numbering = numbering;
                connector.can_wait = can_wait;
                Ok(connector)
            }
            Ok(Received::Failed(error)) => Err(connector.counted(error)),
            Ok(Received::Answer(_)) => Err(connector.confused()),
            Err(error) => Err(ended(&connector.name, &WorkerError::Malformed(error.to_string()))),
        }
    }

    /// How the messages of the mailbox are told from each other.
    pub const fn numbering(&self) -> Numbering {
        self.numbering
    }

    /// Whether the server tells of new messages by itself.
    pub const fn can_wait(&self) -> bool {
        self.can_wait
    }

    /// Whether it may be asked for long still.
    pub const fn is_fresh(&self) -> bool {
        self.questions < QUESTIONS_MAX
    }

    /// Asks. If this is dropped before it is done, the session can't be used any more.
    pub async fn answer(&mut self, question: &Question) -> Result<Answer, EffectError> {
        if self.is_broken {
            return Err(ended(&self.name, &WorkerError::GivenUp));
        }
        self.questions = self.questions.saturating_add(1);
        let frame = self.exchange(question, &Bounds::of(question)).await?;
        match read(frame) {
            Ok(Received::Answer(answer)) if question.takes(&answer) => Ok(answer),
            Ok(Received::Failed(error)) => Err(self.counted(error)),
            Ok(Received::Answer(_) | Received::Entered { .. }) => Err(self.confused()),
            Err(error) => {
                self.is_broken = true;
                Err(ended(&self.name, &WorkerError::Malformed(error.to_string())))
            }
        }
    }

    /// Ends the process; what it has said last is still carried to the server, which may take its time, but not for ever.
    pub fn leave(mut self) {
        let mut carried = std::mem::take(&mut self.carried);
        tokio::spawn(async move { tokio::time::timeout(LAST_TIME, carried.join_next()).await });
    }

    async fn exchange(&mut self, request: &impl Serialize, bounds: &Bounds) -> Result<Vec<u8>, EffectError> {
        let internal = |error: serde_json::Error| EffectError::new(EffectCode::Internal, error.to_string());
        let request = serde_json::to_vec(request).map_err(internal)?;
        self.meter.grant(bounds.bytes);
        let answer = self.worker.ask(&request, bounds.time).await;
        answer.map_err(|error| self.counted(ended(&self.name, &error)))
    }

    /// The error, or that the server has sent too much, which ends its connection.
    fn counted(&self, error: EffectError) -> EffectError {
        if !self.meter.exceeded() {
            return error;
        }
        let message = format!(
            "{} sent more than the {} KiB that it was asked for at most.",
            self.name,
            self.meter.granted() >> 10
        );
        EffectError::new(EffectCode::MailFailed, message)
    }

    fn confused(&mut self) -> EffectError {
        self.is_broken = true;
        let error = WorkerError::Malformed("it does not match the request".to_owned());
        ended(&self.name, &error)
    }
}

/// What a process says.
enum Received {
    Entered { numbering: Numbering, can_wait: bool },
    Answer(Answer),
    Failed(EffectError),
}

fn read(mut frame: Vec<u8>) -> serde_json::Result<Received> {
    if frame.first() == Some(&MESSAGE) {
        frame.remove(0);
        return Ok(Received::Answer(Answer::Message(Some(frame))));
    }
    Ok(match serde_json::from_slice(&frame)? {
        Reply::Entered { numbering, can_wait } => Received::Entered { numbering, can_wait },
        Reply::Found(BoundedList(found)) => Received::Answer(Answer::Found(found)),
        Reply::Listed(BoundedList(listed)) => Received::Answer(Answer::Listed(listed)),
        Reply::About(BoundedList(messages)) => Received::Answer(Answer::About(messages)),
        Reply::Gone => Received::Answer(Answer::Message(None)),
        Reply::Waited(has_news) => Received::Answer(Answer::Waited(has_news)),
        Reply::Done => Received::Answer(Answer::Done),
        Reply::Failed(failure) => Received::Failed(shortened(failure)),
    })
}

fn shortened(failure: Failure) -> EffectError {
    let mut error = failure.into_error(CODES);
    if error.message.len() > ERROR_BYTES_MAX {
        let end = error.message.floor_char_boundary(ERROR_BYTES_MAX);
        error.message.truncate(end);
        error.message.push(CUT);
    }
    error
}

/// What an answer says: of how many messages, or a message of how many bytes, or an error. `None`: it answers none of the questions.
/// For those who test that anything may be answered.
pub fn answered(frame: &[u8], bytes_max: usize) -> serde_json::Result<Option<Result<usize, EffectError>>> {
    let answer = match read(frame.to_vec())? {
        Received::Failed(error) => return Ok(Some(Err(error))),
        Received::Entered { .. } => return Ok(Some(Ok(0))),
        Received::Answer(answer) => answer,
    };
    let questions = [
        Question::Search {
            from: 1,
            criteria: None,
        },
        Question::List,
        Question::About(vec![1, 2, 3]),
        Question::Fetch { number: 1, bytes_max },
        Question::Wait(Duration::ZERO),
        Question::End,
    ];
    let fits = questions.iter().any(|question| question.takes(&answer));
    let extent = match answer {
        Answer::Found(found) => found.len(),
        Answer::Listed(listed) => listed.len(),
        Answer::About(messages) => messages.len(),
        Answer::Message(message) => message.map_or(0, |message| message.len()),
        Answer::Waited(_) | Answer::Done => 0,
    };
    Ok(fits.then_some(Ok(extent)))
}

/// The process has ended, or is of no use any more.
fn ended(name: &str, error: &WorkerError) -> EffectError {
    if !matches!(error, WorkerError::GivenUp) {
        tracing::warn!(%error, "A mailbox connector process has ended");
    }
    let reason = match error {
        WorkerError::Start(error) => {
            let message = format!("Can't start the connector process for {name}: {error}.");
            return EffectError::new(EffectCode::Internal, message);
        }
        WorkerError::TimedOut(time_max) => {
            let message = format!("{name} did not answer within {} s.", time_max.as_secs());
            return EffectError::new(EffectCode::Timeout, message);
        }
        WorkerError::RequestTooLarge { bytes, bytes_max } => {
            let message = format!(
                "{name} can't be asked for that: the request has {} KiB, and may have {}.",
                bytes >> 10,
                bytes_max >> 10
            );
            return EffectError::new(EffectCode::Parameter, message);
        }
        error if error.is_out_of_memory() => "it would take more memory than a connection may use",
        error if error.is_out_of_time() => "it took too long",
        _ => "the process that read it crashed",
    };
    let message = format!("{name} sent an unreadable answer: {reason}. Nothing else is affected.");
    EffectError::new(EffectCode::MailFailed, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_not_built_and_long_errors_are_cut() {
        let numbers = |count: usize| format!("{{\"Found\":[{}1]}}", "1,".repeat(count - 1));
        assert!(
            matches!(read(numbers(1 << 20).into()), Ok(Received::Answer(Answer::Found(found))) if found.len() == 1 << 20)
        );
        assert!(read(numbers((1 << 20) + 1).into()).is_err());
        let message = "ä".repeat(10_000);
        let failure = format!("{{\"Failed\":{{\"code\":\"SQL_FAILED\",\"message\":\"{message}\"}}}}");
        let Ok(Received::Failed(error)) = read(failure.into_bytes()) else {
            panic!("it is no failure")
        };
        assert_eq!(
            (error.code, error.message.len()),
            (EffectCode::Internal, ERROR_BYTES_MAX + CUT.len_utf8())
        );
        assert!(error.message.ends_with(CUT));
    }

    #[test]
    fn a_message_is_read_as_it_is() {
        let read = |frame: &[u8]| answered(frame, 4).ok().flatten().and_then(Result::ok);
        assert_eq!(read(b"\0{\"a\"}"), Some(5));
        assert_eq!(read(b"\0"), Some(0));
        assert_eq!(read(b"\0more bytes than were asked for"), None);
        assert_eq!(read(b"\"Gone\""), Some(0));
        assert_eq!(read(b"\"Other\""), None);
    }
}
