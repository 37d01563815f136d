//! Errors of effects: a code for patterns, and a message for people.
//!
//! Knows nothing of effects. These errors are values of the run: they are recorded, masked and passed to the node, and
//! their messages include those of libraries.

use heddle_contract::abi::code;
use std::fmt;

/// An effect's failure; the node's `onError` decides what that means.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct EffectError {
    /// The kind of error, for patterns.
    pub code: EffectCode,
    /// The message, for people.
    pub message: String,
}

impl EffectError {
    /// An error with this code and message.
    pub fn new(code: EffectCode, message: impl Into<String>) -> Self {
        EffectError {
            code,
            message: message.into(),
        }
    }

    /// What was asked for can't be meant.
    pub fn parameter(message: impl Into<String>) -> Self {
        EffectError::new(EffectCode::Parameter, message)
    }
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $text:path,)+) => {
        /// What can go wrong with an effect. It is displayed as one of the standard library's codes.
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum EffectCode {
            $($(#[doc = $doc])+ $variant,)+
            /// What called code has chosen itself, such as a component. [`EffectCode::from`] makes it of text that is none
            /// of the others.
            Custom(String),
        }

        impl EffectCode {
            /// The code as patterns see it.
            pub fn as_str(&self) -> &str {
                match self {
                    $(EffectCode::$variant => $text,)+
                    EffectCode::Custom(text) => text,
                }
            }
        }

        impl From<&str> for EffectCode {
            fn from(text: &str) -> Self {
                match text {
                    $($text => EffectCode::$variant,)+
                    other => EffectCode::Custom(other.to_owned()),
                }
            }
        }
    };
}

/// The service could not be asked; it may be able to answer later.
const UNAVAILABLE: &str = "UNAVAILABLE";

codes! {
    /// What was asked for can't be meant.
    Parameter = code::PARAMETER,
    /// An answer can't be read.
    Parse = code::PARSE,
    /// It took too long.
    Timeout = code::TIMEOUT,
    /// A component used all its fuel.
    OutOfFuel = code::OUT_OF_FUEL,
    /// A component asked for more memory than it may have.
    OutOfMemory = code::OUT_OF_MEMORY,
    /// A component's tables grew past their limit.
    TableLimit = code::TABLE_LIMIT,
    /// A component nested its calls too deeply.
    StackOverflow = code::STACK_OVERFLOW,
    /// A component wrote too many lines or bytes of log.
    LogLimit = code::LOG_LIMIT,
    /// The result is too large.
    OutputLimit = code::OUTPUT_LIMIT,
    /// Too much was asked for at a time, or in all.
    EffectLimit = code::EFFECT_LIMIT,
    /// The manifest does not grant it.
    NotPermitted = code::NOT_PERMITTED,
    /// There is no such connection or secret.
    ConnectionMissing = code::CONNECTION_MISSING,
    /// The address is not a public one.
    EgressDenied = code::EGRESS_DENIED,
    /// A request could not be sent, or its answer not be read.
    HttpFailed = code::HTTP_FAILED,
    /// An OAuth 2.0 server returned no token.
    OauthFailed = code::OAUTH_FAILED,
    /// A database could not be reached, or refused a statement.
    SqlFailed = code::SQL_FAILED,
    /// A query gave more rows, or larger ones, than it may.
    SqlRowLimit = code::SQL_ROW_LIMIT,
    /// A mail server could not be reached, or did not take a message.
    MailFailed = code::MAIL_FAILED,
    /// An operation on a kept value does not fit the value.
    KeyValueType = code::KEY_VALUE_TYPE,
    /// A key or a kept value is too large, or there are too many.
    KeyValueLimit = code::KEY_VALUE_LIMIT,
    /// There is no such file, or the run may not read it.
    FileNotFound = code::FILE_NOT_FOUND,
    /// A file is too large, or its part to be read at once.
    FileLimit = code::FILE_LIMIT,
    /// A response that is read while it arrives is not open, or no longer.
    StreamGone = code::STREAM_GONE,
    /// An entry of such a response is too large, or too many of them are open.
    StreamLimit = code::STREAM_LIMIT,
    /// The pattern to call is not there, not deployed, or has no OnCall.
    CallTarget = code::CALL_TARGET,
    /// The inputs of a call are not what the called pattern takes.
    CallInputs = code::CALL_INPUTS,
    /// Patterns called each other too deeply.
    CallDepth = code::CALL_DEPTH,
    /// What the effect needs is there only where patterns are deployed.
    NoService = code::NO_SERVICE,
    /// A component failed without a code of its own.
    Component = code::COMPONENT,
    /// A component trapped.
    Trap = code::TRAP,
    /// The service can't do it now.
    Unavailable = UNAVAILABLE,
    /// A bug in heddle, or a failure of the machine that it runs on.
    Internal = code::INTERNAL,
}

impl fmt::Display for EffectCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_that_was_written_down_is_read_as_the_same() {
        for code in [EffectCode::Timeout, EffectCode::Unavailable, EffectCode::Internal] {
            assert_eq!(EffectCode::from(code.as_str()), code);
        }
        let own = EffectCode::from("OUT_OF_STOCK");
        assert_eq!(own, EffectCode::Custom("OUT_OF_STOCK".to_owned()));
        assert_eq!(own.to_string(), "OUT_OF_STOCK");
    }
}
