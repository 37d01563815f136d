//! Failures of nodes.

use heddle_contract::abi::code;
use heddle_values::ParseError;
use std::borrow::Cow;

/// Why a node failed: what `$error` and an error port show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// One of [`heddle_contract::abi::code`], `HTTP_<status>` or a Throw's own.
    pub code: Cow<'static, str>,
    /// For a person: what happened, which parameter, what to do.
    pub message: String,
    /// What the node's `retry` is to do about it.
    pub again: Again,
}

/// When a node that failed may be tried again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Again {
    /// As its policy says.
    #[default]
    ByPolicy,
    /// Not before this many milliseconds, however short the policy's wait is.
    After(u32),
    /// Not in this run.
    Never,
}

impl Failure {
    /// A failure with one of heddle's own codes.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self::with_code(Cow::Borrowed(code), message)
    }

    /// A failure with any code.
    pub fn with_code(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Failure {
            code: code.into(),
            message: message.into(),
            again: Again::ByPolicy,
        }
    }
}

/// Code for JSON that can't be read: `otherwise`, unless it is nested too deeply.
pub(crate) fn unreadable(error: &ParseError, otherwise: &'static str) -> &'static str {
    if error.too_deep {
        code::DEPTH_LIMIT
    } else {
        otherwise
    }
}
