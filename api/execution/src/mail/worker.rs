//! The process in which a message is read: it has the message and nothing else, and ends with it. Whoever takes it over by what they
//! wrote can say of their own message what they could have written into it.

use super::decoder::answer;
use heddle_processes::{Channel, ChannelError, Rights};
use std::thread::Builder;

/// Its name on the command line.
pub const KIND: &str = "message";

/// Reads messages until its parent asks no more.
pub fn serve(limits: &str) -> Result<(), ChannelError> {
    Channel::confined(limits, Rights::Compute)?.serve(Builder::new(), answer_all)
}

fn answer_all(mut channel: Channel) {
    while let Ok(Some(raw)) = channel.receive() {
        if channel.send(&answer(&raw)).is_err() {
            return;
        }
    }
}
