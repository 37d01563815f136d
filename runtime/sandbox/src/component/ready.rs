//! A component that is ready to be called, with its entry function.

use super::state::CallState;
use wasmtime::component::{ComponentExportIndex, ComponentType, InstancePre, Lift};

/// What `execute` takes and gives.
pub type ExecuteArguments<'a> = (&'a str, &'a str, &'a str);
pub type ExecuteResults = (Result<String, Failure>,);

/// Why a component failed, in its own words.
#[derive(ComponentType, Lift)]
#[component(record)]
pub struct Failure {
    pub code: Option<String>,
    pub message: String,
}

/// A component, ready to be called. One may be shared by many programs.
pub struct Ready {
    pub instance: InstancePre<CallState>,
    pub execute: ComponentExportIndex,
}
