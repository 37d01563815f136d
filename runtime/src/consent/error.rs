//! Why a provider gives no tokens.

/// Why a provider gives no tokens. The messages are for people, and hold no secrets.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ConsentError {
    /// It refuses: what was given can't be used again.
    #[error("{0}")]
    Refused(String),
    /// It does not answer as it must; it may later.
    #[error("{0}")]
    Unavailable(String),
}
