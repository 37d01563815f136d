//! What one may take of something that all share: no more than what is free. So whoever comes when others have all they
//! can get still finds room, however many these are: n who take all they can leave one part of n + 1.
//!
//! Source: Choudhury and Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches" (1998).

/// Whether somebody who has `own` of all that is `used` may have `more`.
pub const fn fits(own: usize, used: usize, more: usize, all: usize) -> bool {
    own.saturating_add(more) <= all.saturating_sub(used)
}
