//! `heddle worker`: the confined processes that the service starts for itself. Not meant for people.

use super::failure::Failure;
use clap::Args;
use heddle_execution::compile::worker;
use std::process::ExitCode;

/// What the service gives a worker.
#[derive(Args, Debug)]
pub struct WorkerArgs {
    /// What it does.
    kind: String,
    /// What it may use.
    limits: String,
}

/// Serves requests until the service closes the connection. Nothing may be opened or read before the process has
/// confined itself.
pub fn worker(args: &WorkerArgs) -> Result<ExitCode, Failure> {
    let served = match args.kind.as_str() {
        worker::KIND => worker::serve(&args.limits),
        kind => {
            return Err(Failure::usage(format!("the worker kind `{kind}` does not exist")));
        }
    };
    match served {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => Err(Failure::usage(error.to_string())),
    }
}
