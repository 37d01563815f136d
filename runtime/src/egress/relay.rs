//! Carries bytes between a connection that was checked and whoever may not make one.

use tokio::io::{AsyncRead, AsyncWrite, copy, split};

/// Carries bytes both ways until either side has ended, or is cut off.
pub(crate) async fn relay(inside: impl AsyncRead + AsyncWrite, outside: impl AsyncRead + AsyncWrite) {
    let (mut from_inside, mut to_inside) = split(inside);
    let (mut from_outside, mut to_outside) = split(outside);
    // Whoever is left sees the end of the stream, which is all that there is to say of an error.
    tokio::select! {
        _ = copy(&mut from_inside, &mut to_outside) => {}
        _ = copy(&mut from_outside, &mut to_inside) => {}
    }
}
