//! Why a file can't be written or read.

use heddle_model::error::{Code, ServiceError};
use heddle_store::StoreError;
use heddle_store::vault::VaultError;

/// Why a file can't be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// There is no such file, or not for whoever asks.
    #[error("The file does not exist, or may not be read here.")]
    NotFound,
    /// It has more bytes than a file may have.
    #[error("The file is larger than the {max} bytes that a file may have (file_max_bytes).")]
    TooLarge {
        /// The most that it may have.
        max: u64,
    },
    /// The tenant may not store so much.
    #[error(transparent)]
    Refused(ServiceError),
    /// It took so long to come that it was given up.
    #[error("The file arrived too slowly, so the upload was aborted: send it again.")]
    GivenUp,
    /// The database has failed.
    #[error(transparent)]
    Rows(#[from] StoreError),
    /// Its key can't be used.
    #[error("The file's key can't be used.")]
    Key(#[from] VaultError),
    /// Whatever has the bytes has failed.
    #[error("The file store has failed.")]
    Bytes(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// What is stored is not what was written.
    #[error("The file is damaged: its stored bytes differ from what was written.")]
    Damaged,
}

impl FileError {
    /// A failure of the store that has the bytes.
    pub(crate) fn bytes(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        FileError::Bytes(error.into())
    }
}

impl From<FileError> for ServiceError {
    fn from(error: FileError) -> Self {
        match error {
            FileError::NotFound => Code::NotFound.into(),
            FileError::TooLarge { .. } => Code::PayloadTooLarge.with(error.to_string()),
            FileError::Refused(error) => error,
            FileError::GivenUp => Code::RequestTimeout.with(error.to_string()),
            FileError::Rows(error) => error.into(),
            FileError::Bytes(_) => Code::Unavailable
                .with("The file store is not responding: try again shortly.")
                .retry_after_s(1)
                .caused_by(error),
            FileError::Key(_) | FileError::Damaged => ServiceError::internal(error),
        }
    }
}
