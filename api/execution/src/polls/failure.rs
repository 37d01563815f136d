//! Notes a failure of a poll, or of a look into a mailbox.

use crate::outside::{Failure, shown};
use heddle_model::clock::Timestamp;
use heddle_store::polls::LastPoll;

impl Failure {
    /// Writes down that it has failed, and why: when it may be tried again.
    pub fn note(self, last: &mut LastPoll, now: Timestamp) -> Timestamp {
        let rest = self.counted(&mut last.failures);
        last.error_code = Some(self.code);
        last.error = Some(shown(&self.message));
        now.plus(rest)
    }
}
