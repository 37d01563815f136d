//! `heddle:node/log`: lines of the run's log.

use super::state::CallState;
use wasmtime::StoreContextMut;
use wasmtime::component::{ComponentType, Lift, Linker};

#[derive(Clone, Copy, ComponentType, Lift)]
#[component(enum)]
#[repr(u8)]
#[expect(dead_code, reason = "made by the component")]
enum Level {
    #[component(name = "debug")]
    Debug,
    #[component(name = "info")]
    Info,
    #[component(name = "warn")]
    Warn,
    #[component(name = "error")]
    Error,
}

pub fn link(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    linker
        .instance("heddle:node/log@0.1.0")?
        .func_wrap("write", write)
}

fn write(
    mut store: StoreContextMut<'_, CallState>,
    (level, message): (Level, String),
) -> wasmtime::Result<()> {
    let level = match level {
        Level::Debug => "debug",
        Level::Info => "info",
        Level::Warn => "warn",
        Level::Error => "error",
    };
    Ok(store.data_mut().written.push(level, &message)?)
}
