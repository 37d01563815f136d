//! Panics of work in the background: a loop that ended by one would be missed until the next start.

use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;

/// What the work gives; `None`: it panicked, which was logged where panics are. Whoever goes on after that sees to it that nothing is left
/// half done of what is shared.
pub fn unless_it_panics<W: Future>(work: W) -> impl Future<Output = Option<W::Output>> {
    AssertUnwindSafe(work).catch_unwind().map(Result::ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_before_or_after_a_pause_is_nothing_and_others_give_what_they_give() {
        assert_eq!(unless_it_panics(async { 1 }).await, Some(1));
        for pauses in [0, 1] {
            let work = async {
                for _ in 0..pauses {
                    tokio::task::yield_now().await;
                }
                assert!(pauses > 1, "as by a mistake");
            };
            assert_eq!(unless_it_panics(work).await, None);
        }
    }
}
