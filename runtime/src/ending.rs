//! Builds a run's outcome from the report of its sandbox, with all secrets masked.

use crate::aside::{aside, is_small};
use crate::journal::execution_of;
use crate::outcome::{Outcome, Status, Usage};
use crate::run_host::{Ending, node_id};
use crate::secrets::Vault;
use heddle_contract::abi::code;
use heddle_sandbox::{End, Report, RunError};
use serde_json::value::RawValue;
use std::pin::Pin;
use std::sync::PoisonError;
use std::time::Instant;

/// An outcome of a run that could not begin, or came to no end by itself.
pub fn refused(error: RunError, started: Instant) -> Outcome {
    let mut outcome = Outcome::refused(error);
    outcome.usage.duration_us = heddle_sandbox::clock::since(started).as_micros() as u64;
    outcome
}

/// The error of a run that a bug has stopped.
pub fn bug() -> RunError {
    RunError {
        code: code::INTERNAL.into(),
        message: "The run was stopped by a bug in heddle. Please report it.".to_owned(),
        node_id: None,
    }
}

/// An outcome in which secrets are still being looked for.
pub type Masking = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// The outcome of a run with this report. `Err`: there is so much in it that secrets are looked for aside.
pub fn outcome(report: Report, ending: &Ending) -> Result<Outcome, Masking> {
    let facts = ending
        .facts
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    let unsaved = std::mem::take(&mut *ending.unsaved.lock().unwrap_or_else(PoisonError::into_inner));
    let by_components = ending.senders.as_ref().map_or(0, |senders| senders.sent_bytes());
    let mut outcome = Outcome {
        status: Status::Completed,
        output: None,
        error: None,
        breakpoint: None,
        pinned_nodes: None,
        wake_at_ms: facts.wake_at_ms,
        failed_execution: None,
        failed_input: None,
        response: report.response,
        logs: report.logs,
        trace: report.trace,
        trace_omitted: report.trace_omitted,
        unsaved,
        usage: Usage {
            fuel_used: report.fuel_used,
            memory_bytes_peak: report.memory_bytes_peak,
            effects: facts.started,
            effects_begun: facts.begun,
            egress_bytes: facts.egress_bytes.saturating_add(by_components),
            duration_us: heddle_sandbox::clock::since(ending.started).as_micros() as u64,
        },
    };
    match report.end {
        End::Completed(output) => outcome.output = Some(output),
        End::Parked => outcome.status = Status::Parked,
        End::Paused {
            breakpoint,
            pinned_nodes,
        } => {
            outcome.status = Status::Paused;
            (outcome.breakpoint, outcome.pinned_nodes) = (Some(breakpoint), Some(pinned_nodes));
        }
        End::Failed {
            error,
            in_node,
            input,
        } => {
            outcome.status = Status::Failed;
            outcome.failed_input = input;
            let last = facts.last_seen.filter(|(node, _)| {
                let node_id = node_id(&ending.manifest, *node);
                in_node && node_id.is_some() && node_id == error.node_id
            });
            outcome.failed_execution = last.map(|(_, key)| execution_of(&key).to_owned());
            outcome.error = Some(error);
        }
    }
    if !ending.vault.was_used() {
        return Ok(outcome);
    }
    if is_small(bytes_of(&outcome).saturating_add(ending.vault.spelling_bytes(None))) {
        return Ok(mask(&ending.vault, outcome));
    }
    let (vault, owner, started) = (ending.vault.clone(), ending.owner, ending.started);
    Err(Box::pin(async move {
        let masked = aside(owner, move || mask(&vault, outcome)).await;
        masked.unwrap_or_else(|| refused(bug(), started))
    }))
}

/// How much of an outcome may hold secrets, roughly.
fn bytes_of(outcome: &Outcome) -> usize {
    let values = [
        &outcome.output,
        &outcome.breakpoint,
        &outcome.pinned_nodes,
        &outcome.response,
    ];
    let of_nodes = outcome
        .trace
        .iter()
        .flat_map(|entry| [&entry.output, &entry.error]);
    let values = values.into_iter().chain(of_nodes).flatten();
    let values: usize = values.map(|json| json.get().len()).sum();
    let lines: usize = outcome.logs.iter().map(|line| line.message.len()).sum();
    let input = outcome.failed_input.as_ref();
    values + lines + input.map_or(0, |failed| failed.input.get().len())
}

/// Takes out of an outcome every secret that the run has used.
fn mask(vault: &Vault, mut outcome: Outcome) -> Outcome {
    for field in [
        &mut outcome.output,
        &mut outcome.breakpoint,
        &mut outcome.pinned_nodes,
        &mut outcome.response,
    ] {
        *field = field.take().map(|json| vault.mask_json(json));
    }
    for line in &mut outcome.logs {
        line.message = vault.mask(&line.message).into_owned();
    }
    for entry in &mut outcome.trace {
        entry.output = entry.output.take().map(|json| vault.mask_json(json));
        entry.error = entry.error.take().map(|json| vault.mask_json(json));
    }
    if let Some(failed) = &mut outcome.failed_input {
        let input = std::mem::replace(&mut failed.input, RawValue::NULL.to_owned());
        failed.input = match failed.truncated {
            true => vault.mask_cut_json(input),
            false => vault.mask_json(input),
        };
    }
    if let Some(error) = &mut outcome.error {
        error.message = vault.mask(&error.message).into_owned();
    }
    outcome
}
