//! `heddle worker KIND`: the confined processes that the service starts for itself, all of them. Not meant for people.

use super::failure::Failure;
use clap::Args;
use heddle_execution::compile;
use heddle_execution::mail;
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
        compile::worker::KIND => Some(compile::worker::serve(&args.limits)),
        mail::worker::KIND => Some(mail::worker::serve(&args.limits)),
        kind => heddle_runtime::serve_worker(kind, &args.limits),
    };
    match served {
        Some(Ok(())) => Ok(ExitCode::SUCCESS),
        Some(Err(error)) => Err(Failure::usage(error.to_string())),
        None => {
            let message = format!("the worker kind `{}` does not exist", args.kind);
            Err(Failure::usage(message))
        }
    }
}
