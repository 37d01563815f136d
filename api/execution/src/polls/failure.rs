//! A failure of a poll, or of a look into a mailbox, as it is noted.

use crate::outside::{Failure, rest_after};
use heddle_model::clock::Timestamp;
use heddle_store::polls::LastPoll;

/// Characters of a failure's message that are kept.
const MESSAGE_CHARS_MAX: usize = 1_000;

impl Failure {
    /// Writes down that it has failed, and why: when it may be tried again.
    pub fn note(self, last: &mut LastPoll, now: Timestamp) -> Timestamp {
        let rest = match self.is_ours {
            true => rest_after(1, self.rest),
            false => {
                last.failures = last.failures.saturating_add(1);
                rest_after(last.failures, self.rest)
            }
        };
        last.error_code = Some(self.code);
        last.error = Some(shown(&self.message));
        now.plus(rest)
    }
}

/// What is kept of a message.
pub(crate) fn shown(message: &str) -> String {
    message.chars().take(MESSAGE_CHARS_MAX).collect()
}
