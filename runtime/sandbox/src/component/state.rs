//! The host's side of one call of a component.

use super::output::{Printed, Written};
use crate::effect_host::RequestHost;
use crate::limiter::RunLimiter;
use std::sync::Arc;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

/// The host's side of one call.
pub struct CallState {
    pub written: Written,
    pub sender: Option<Sender>,
    pub limiter: RunLimiter,
    pub printed: Printed,
    pub wasi: WasiCtx,
    pub resources: ResourceTable,
}

impl WasiView for CallState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.resources,
        }
    }
}

/// A call's way to the outside.
pub struct Sender {
    pub host: Arc<dyn RequestHost>,
    /// Id of the effect that calls.
    pub call: u32,
    /// With address and headers.
    pub request_bytes_max: usize,
}
