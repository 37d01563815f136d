//! Components of definitions: verified and compiled once, instantiated anew for every call.
//!
//! Knows what a component is given (the world `heddle:node`, see wit/node.wit); what a call may use is in `call`.

mod call;
mod log;
mod requests;

pub use call::{CallingNode, Calls, Origin, Setting, Threads};

use crate::codecache::{Digest256, DiskCache};
use crate::program::BODY_BYTES_MAX;
use call::CallState;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use wasmparser::{Parser, Payload};
use wasmtime::Engine;
use wasmtime::component::{Component, ComponentExportIndex, ComponentType, InstancePre, Lift, Linker};

/// What `execute` takes and gives.
type ExecuteArguments<'a> = (&'a str, &'a str, &'a str);
type ExecuteResults = (Result<String, Failure>,);

/// Why a component failed, in its own words.
#[derive(ComponentType, Lift)]
#[component(record)]
struct Failure {
    code: Option<String>,
    message: String,
}

/// A component, ready to be called. One may be shared by many programs.
pub struct Ready {
    instance: InstancePre<CallState>,
    execute: ComponentExportIndex,
    /// Bytes of machine code.
    pub code_bytes: usize,
}

/// All components that are loaded, and what they link to.
pub struct Components {
    engine: Engine,
    disk: Option<DiskCache>,
    /// What every component may import, and with `http` besides.
    linker: Linker<CallState>,
    sending: Linker<CallState>,
    loaded: Mutex<HashMap<(Digest256, bool), Weak<Ready>>>,
}

impl Components {
    pub fn new(engine: &Engine, disk: Option<DiskCache>) -> wasmtime::Result<Self> {
        let mut linker = Linker::new(engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
        log::link(&mut linker)?;
        let mut sending = linker.clone();
        requests::link(&mut sending)?;
        Ok(Components {
            engine: engine.clone(),
            disk,
            linker,
            sending,
            loaded: Mutex::default(),
        })
    }

    /// Verifies and compiles a component whose SHA-256 is `digest`, unless it is there already. Takes up to seconds of
    /// processor time for one made of JavaScript.
    pub fn load(&self, wasm: &[u8], digest: Digest256, may_send: bool) -> wasmtime::Result<Arc<Ready>> {
        let key = (digest, may_send);
        let loaded = || self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ready) = loaded().get(&key).and_then(Weak::upgrade) {
            return Ok(ready);
        }
        let ready = Arc::new(self.prepare(wasm, &digest, may_send)?);
        let mut loaded = loaded();
        loaded.retain(|_, ready| ready.strong_count() > 0);
        loaded.insert(key, Arc::downgrade(&ready));
        Ok(ready)
    }

    fn prepare(&self, wasm: &[u8], digest: &Digest256, may_send: bool) -> wasmtime::Result<Ready> {
        let (component, code_bytes) = self.compiled(wasm, digest)?;
        let linker = if may_send { &self.sending } else { &self.linker };
        let instance = linker.instantiate_pre(&component)?;
        let execute = component
            .get_export_index(None, "execute")
            .ok_or_else(|| wasmtime::Error::msg("it exports no function `execute`"))?;
        Ok(Ready {
            instance,
            execute,
            code_bytes,
        })
    }

    fn compiled(&self, wasm: &[u8], digest: &Digest256) -> wasmtime::Result<(Component, usize)> {
        let kept = self.disk.as_ref();
        if let Some(found) = kept.and_then(|disk| disk.load_component(&self.engine, digest)) {
            return Ok(found);
        }
        check_bodies(wasm)?;
        let code = self.engine.precompile_component(wasm)?;
        if let Some(disk) = &self.disk
            && let Err(error) = disk.store(digest, &code)
        {
            tracing::warn!(%error, "Machine code could not be written to the cache");
        }
        #[expect(unsafe_code, reason = "loading machine code that was compiled a moment ago")]
        // SAFETY: `code` is the unchanged output of wasmtime's compiler in this process.
        let component = unsafe { Component::deserialize(&self.engine, &code)? };
        Ok((component, code.len()))
    }
}

fn check_bodies(wasm: &[u8]) -> wasmtime::Result<()> {
    for payload in Parser::new(0).parse_all(wasm) {
        if let Payload::CodeSectionEntry(body) =
            payload.map_err(|error| wasmtime::Error::msg(error.to_string()))?
            && body.range().len() > BODY_BYTES_MAX
        {
            return Err(wasmtime::Error::msg(format!(
                "a function has {} KiB; at most {} are allowed",
                body.range().len() >> 10,
                BODY_BYTES_MAX >> 10
            )));
        }
    }
    Ok(())
}
