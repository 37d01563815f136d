//! What can go wrong between a directory and a server.

use std::io;
use std::path::PathBuf;

/// A failure, in words for people.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file can't be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// As it was asked for, from the root or from where the command was started.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file does not say what it should.
    #[error("{}: {message}", path.display())]
    Invalid {
        /// As it was asked for, from the root or from where the command was started.
        path: PathBuf,
        /// What is wrong with it, and what to do.
        message: String,
    },
    /// The server has refused a request.
    #[error("{message}")]
    Refused {
        /// HTTP's status.
        status: u16,
        /// The error's code, such as `CONFLICT`.
        code: String,
        /// What the server says.
        message: String,
    },
    /// The server can't be reached, or what it answers is not an answer of heddle's.
    #[error("{0}")]
    Unreachable(String),
    /// What was asked for makes no sense as things are.
    #[error("{0}")]
    Usage(String),
}

impl Error {
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |source| Error::File { path, source }
    }

    pub(crate) fn invalid(path: impl Into<PathBuf>, message: impl Into<String>) -> Error {
        Error::Invalid {
            path: path.into(),
            message: message.into(),
        }
    }
}
