//! `heddle tap`: the newest events that a pattern's webhooks have received, printed, or sent on as they come.

use super::forwarding;
use super::opened;
use super::running::id_of;
use crate::cli::failure::{Exit, Failure};
use crate::cli::output;
use crate::cli::serve;
use clap::Args;
use reqwest::Method;
use serde_json::Value;
use std::process::ExitCode;

/// Flags of `heddle tap`.
#[derive(Args, Debug)]
pub struct TapArgs {
    /// The pattern, by its directory's name.
    pattern: String,
    /// How many, the newest first.
    #[arg(long, default_value_t = 1, conflicts_with = "forward")]
    last: usize,
    /// Send what comes from now on to the same webhook of `heddle dev`, which runs in this directory, or to this address.
    #[arg(long, value_name = "URL", num_args = 0..=1, default_missing_value = "")]
    forward: Option<String>,
}

/// Prints events, for `heddle run --event`, or forwards them until it is interrupted.
pub fn tap(args: &TapArgs) -> Result<ExitCode, Failure> {
    if let Some(url) = &args.forward {
        return forwarding::forward(&args.pattern, url);
    }
    let (directory, server) = opened()?;
    let id = id_of(&directory, &args.pattern)?;
    let path = format!("/api/patterns/{id}/tap-events");
    let found = serve::wait(server.ask(Method::GET, &path, None))??;
    let events: Vec<&Value> = found["events"].as_array().into_iter().flatten().collect();
    if events.is_empty() {
        return Err(Failure::new(
            Exit::Failed,
            "NOT_FOUND",
            "this pattern's webhooks have not received any events",
        ));
    }
    for event in events.into_iter().take(args.last) {
        output::result(&event["eventData"].to_string())?;
    }
    Ok(ExitCode::SUCCESS)
}
