//! Why a process can't be a worker.

use rustix::io::Errno;
use std::io;

/// Why a process can't be a worker.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChannelError {
    /// Somebody else than the program started it: its last argument does not say what it may use.
    #[error("workers are started by heddle itself: {0}")]
    Limits(&'static str),
    /// It was not started by the program: standard input is not a socket, or not one that can be used.
    #[error("workers are started by heddle itself: {0}")]
    Socket(#[source] io::Error),
    /// A limit or wall could not be put up.
    #[error("this process can't be confined ({layer}): {source}")]
    Confine {
        layer: &'static str,
        /// Why.
        source: io::Error,
    },
}

/// The error of a call of the system that was to put up this layer.
pub(crate) fn failed(layer: &'static str) -> impl Fn(Errno) -> ChannelError {
    move |error| ChannelError::Confine {
        layer,
        source: error.into(),
    }
}
