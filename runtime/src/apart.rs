//! Boxes futures of what seldom happens, so that they are no part of those that are polled for each run or request. Knows nothing of what
//! they do.

use std::pin::Pin;

/// Makes a future in a box. It is part neither of the future that waits for it, nor, while it is made, of the stack on which that
/// is polled: so this is not inlined.
#[inline(never)]
pub fn apart<F: Future>(make: impl FnOnce() -> F) -> Pin<Box<F>> {
    Box::pin(make())
}
