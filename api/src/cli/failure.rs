//! Why a command could not do its job, and with which code the process then ends.

use crate::config::sources::Mistake;
use heddle_compiler::Diagnostic;

/// Exit codes, as `heddle --help` lists them. 0 is success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The run failed, a limit ended it, or the command refused.
    Failed = 1,
    /// The command line is wrong (clap's own code).
    Usage = 2,
    /// What was given is no valid pattern, module or JSON.
    Invalid = 3,
    /// A file could not be read or written.
    File = 4,
    /// The database, or a backup, is damaged, another program's, or a newer heddle's.
    Unusable = 5,
}

/// A command's failure.
#[derive(Debug)]
pub enum Failure {
    /// Told to the user.
    Told(Box<Told>),
    /// The reader of standard output has gone away; there is nobody to tell.
    Closed,
}

/// A failure with all that is said of it.
#[derive(Debug)]
pub struct Told {
    /// Exit code.
    pub exit: Exit,
    /// For machines: `FILE`, `USAGE`, `INVALID_JSON`, `INVALID_PATTERN`, `INVALID_MODULE`, ….
    pub code: &'static str,
    /// One sentence.
    pub message: String,
    /// The same for a terminal, with place and help; already styled.
    pub report: String,
    /// The pattern's errors and warnings, if it is about those.
    pub diagnostics: Vec<Diagnostic>,
}

impl Failure {
    /// A failure whose report is its message.
    pub fn new(exit: Exit, code: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        let report = super::report::Report::error(&message).to_string();
        Failure::told(exit, code, message, report)
    }

    /// A failure with a report of its own.
    pub fn told(exit: Exit, code: &'static str, message: impl Into<String>, report: String) -> Self {
        Failure::Told(Box::new(Told {
            exit,
            code,
            message: message.into(),
            report,
            diagnostics: Vec::new(),
        }))
    }

    /// A mistake in the command line that clap can't see.
    pub fn usage(message: impl Into<String>) -> Self {
        Failure::new(Exit::Usage, "USAGE", message)
    }
}

impl From<Mistake> for Failure {
    fn from(mistake: Mistake) -> Self {
        Failure::usage(mistake.to_string())
    }
}
