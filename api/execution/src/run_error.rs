//! Errors of runs that the service itself makes, not the sandbox.

use heddle_contract::abi::code;
use heddle_runtime::RunError;

/// An error of the run as a whole.
pub(crate) fn run_error(code: &str, message: impl Into<String>) -> RunError {
    RunError {
        code: code.to_owned(),
        message: message.into(),
        node_id: None,
    }
}

/// The service failed, not the run.
pub(crate) fn internal(message: impl Into<String>) -> RunError {
    run_error(code::INTERNAL, message)
}

/// Why a cancelled run has failed.
pub(crate) fn cancellation() -> RunError {
    run_error(code::CANCELLED, "cancelled")
}
