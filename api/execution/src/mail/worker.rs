//! The process in which a message is read: it has the message and nothing else, and ends with it. Whoever takes it over by what they
//! wrote can say of their own message what they could have written into it.

use super::decoder::answer;
use heddle_processes::{Channel, ChannelError, Rights};

/// Its name on the command line.
pub const KIND: &str = "message";

/// Reads messages until its parent asks no more.
pub fn serve(limits: &str) -> Result<(), ChannelError> {
    let channel = Channel::confined(limits, Rights::Compute)?;
    // Not on the main thread, which would look for its stack's size in a file.
    let work = std::thread::Builder::new();
    let ended = work
        .spawn(move || answer_all(channel))
        .map(|thread| thread.join());
    match ended {
        Ok(Ok(())) => Ok(()),
        // It has said why.
        Ok(Err(_)) => std::process::exit(101),
        Err(source) => Err(ChannelError::Confine {
            layer: "threads",
            source,
        }),
    }
}

fn answer_all(mut channel: Channel) {
    while let Ok(Some(raw)) = channel.receive() {
        if channel.send(&answer(&raw)).is_err() {
            return;
        }
    }
}
