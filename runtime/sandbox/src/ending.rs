//! Builds a run's report from its end: the guest's result, or why it was stopped.

use crate::limits::Limits;
use crate::report::{End, FailedInput, Report, RunError};
use crate::state::{Finish, RunState};
use crate::stop::{HasParked, Stop};
use heddle_contract::abi::code;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};
use wasmtime::Trap;

/// The report of a run that ended with `result` while `node_id` was executing.
pub fn report(
    mut state: RunState,
    result: wasmtime::Result<()>,
    node_id: Option<String>,
    fuel_used: u64,
) -> Report {
    // While the run waits, no node is executing.
    let node_id = node_id.or_else(|| state.waiting_node());
    let finish = state.finish.take();
    let failed_input = state.failed_input.take();
    let end = match (result, finish) {
        // It had failed before it was stopped, while it told what its node had been given.
        (Err(_), Some(Finish::Failed(json))) => failed(&json, None),
        (Err(error), _) if error.is::<HasParked>() => End::Parked,
        (Err(error), _) => stopped(trap_error(&error, &state.limits, node_id)),
        (Ok(()), Some(Finish::Completed(json))) => End::Completed(json),
        (Ok(()), Some(Finish::Failed(json))) => failed(&json, failed_input),
        (Ok(()), Some(Finish::Paused(json))) => {
            let output_name = |node_id: &str, port| state.output_name(node_id, port);
            match read_pause(&json, &output_name) {
                Ok((breakpoint, pinned_nodes)) => End::Paused {
                    breakpoint,
                    pinned_nodes,
                },
                Err(error) => stopped(error),
            }
        }
        (Ok(()), None) => stopped(RunError {
            code: code::TRAP.into(),
            message: "The module returned without ending the run. Compile the pattern again.".into(),
            node_id,
        }),
    };
    let (trace, trace_omitted) = state.trace.finish();
    Report {
        end,
        response: state.response,
        logs: state.logs,
        trace,
        trace_omitted,
        fuel_used,
        memory_bytes_peak: state.limiter.memory_bytes_peak(),
    }
}

fn failed(json: &RawValue, input: Option<Box<FailedInput>>) -> End {
    End::Failed {
        error: read_failure(json),
        in_node: true,
        input,
    }
}

fn stopped(error: RunError) -> End {
    End::Failed {
        error,
        in_node: false,
        input: None,
    }
}

fn internal(message: String) -> RunError {
    RunError {
        code: code::INTERNAL.into(),
        message,
        node_id: None,
    }
}

fn read_failure(json: &RawValue) -> RunError {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Failure {
        code: String,
        message: String,
        node_id: Option<String>,
    }
    match serde_json::from_str::<Failure>(json.get()) {
        Ok(failure) => RunError {
            code: failure.code,
            message: failure.message,
            node_id: failure.node_id,
        },
        Err(error) => internal(format!(
            "The run's error can't be read: {error}. This is a bug in heddle."
        )),
    }
}

/// Reads a pause. The guest knows ports by number, and pins name them: `output_name` tells the name.
fn read_pause(
    json: &RawValue,
    output_name: &dyn Fn(&str, usize) -> String,
) -> Result<(Box<RawValue>, Box<RawValue>), RunError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Pause {
        breakpoint: Box<RawValue>,
        pinned_nodes: Map<String, Value>,
    }
    let unreadable = |error| {
        internal(format!(
            "The pause can't be read: {error}. This is a bug in heddle."
        ))
    };
    let mut pause: Pause = serde_json::from_str(json.get()).map_err(unreadable)?;
    for (node_id, pin) in &mut pause.pinned_nodes {
        if pin.get("$pin") != Some(&Value::Bool(true)) {
            continue;
        }
        let Some(port) = pin.get_mut("port").filter(|port| port.is_number()) else {
            continue;
        };
        let number = port.as_f64().map_or(0, |port| port as usize);
        *port = output_name(node_id, number).into();
    }
    let pinned_nodes = to_raw_value(&pause.pinned_nodes).map_err(unreadable)?;
    Ok((pause.breakpoint, pinned_nodes))
}

/// Says why a run was stopped from outside.
fn trap_error(error: &wasmtime::Error, limits: &Limits, node_id: Option<String>) -> RunError {
    let stop = match (error.downcast_ref::<Stop>(), error.downcast_ref::<Trap>()) {
        (Some(stop), _) => stop.clone(),
        (None, Some(Trap::OutOfFuel)) => Stop::out_of_fuel(limits),
        (None, Some(Trap::Interrupt)) => Stop::timeout(limits),
        (None, Some(Trap::StackOverflow)) => Stop::new(
            code::STACK_OVERFLOW,
            "The run nested function calls too deeply",
            "Look for unbounded recursion in expressions or data.",
        ),
        (None, Some(trap)) => Stop::new(
            code::TRAP,
            format!("The run was stopped by a trap ({trap})"),
            "If heddle compiled this module, please report it.",
        ),
        (None, None) => Stop::broken_guest(format!("The run could not continue ({error:#})")),
    };
    RunError {
        code: stop.code.clone().into_owned(),
        message: stop.message(node_id.as_deref()),
        node_id,
    }
}
