//! Messages that start runs (RFC 5322): what they are as events, with attachments inside or as files. Each is read in a process of
//! its own, which answers in few and bounded words. Knows nothing of how they arrive, and of whom they are for.

mod decoder;
mod event;
mod files;
mod message;
mod parts;
mod reader;
mod received;
mod room;
pub mod worker;

pub use decoder::answer;
pub use message::RECIPIENTS_MAX;
pub use parts::Refused;
pub use reader::{BYTES_MAX, MailReader};
pub use received::Mail;

/// What an answer of a process says of a message: the bytes of its event, with its attachments inside, or why it was refused. The
/// error is why it is not an answer. For those who test that anything may be answered.
pub fn answered(answer: Vec<u8>) -> Result<Result<usize, Refused>, &'static str> {
    let read = match message::read(answer)? {
        Ok(read) => read,
        Err(refused) => return Ok(Err(refused)),
    };
    Ok(event::whole(&read).map(|event| event.get().len()))
}
