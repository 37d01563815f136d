//! Failures of commands, and the exit codes they lead to.

use crate::config::sources::SettingError;
use heddle_compiler::Diagnostic;

/// Exit codes, as `heddle --help` lists them. 0 is success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The run failed or hit a limit, or the command refused.
    Failed = 1,
    /// The command line is wrong (clap's own code).
    Usage = 2,
    /// The input is not a valid pattern, module or JSON document.
    Invalid = 3,
    /// A file could not be read or written.
    File = 4,
    /// The database or the backup is damaged, or belongs to another program or a newer heddle.
    Unusable = 5,
}

/// A command's failure.
#[derive(Debug)]
pub enum Failure {
    /// Reported to the user.
    Reported(Box<Reported>),
    /// The reader of standard output has closed it; nobody is left to report to.
    Closed,
}

/// A failure and everything that is reported about it.
#[derive(Debug)]
pub struct Reported {
    /// Exit code.
    pub exit: Exit,
    /// For machines: `FILE`, `USAGE`, `INVALID_JSON`, `INVALID_PATTERN`, `INVALID_MODULE`, ….
    pub code: &'static str,
    /// One sentence.
    pub message: String,
    /// The message for a terminal, with place and help; already styled.
    pub report: String,
    /// The pattern's errors and warnings, if it is about those.
    pub diagnostics: Vec<Diagnostic>,
}

impl Failure {
    /// A failure whose report is its message.
    pub fn new(exit: Exit, code: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        let report = super::report::Report::error(&message).to_string();
        Failure::with_report(exit, code, message, report)
    }

    /// A failure with a report of its own.
    pub fn with_report(exit: Exit, code: &'static str, message: impl Into<String>, report: String) -> Self {
        Failure::Reported(Box::new(Reported {
            exit,
            code,
            message: message.into(),
            report,
            diagnostics: Vec::new(),
        }))
    }

    /// An error in the command line that clap can't detect.
    pub fn usage(message: impl Into<String>) -> Self {
        Failure::new(Exit::Usage, "USAGE", message)
    }
}

impl From<SettingError> for Failure {
    fn from(error: SettingError) -> Self {
        Failure::usage(error.to_string())
    }
}
