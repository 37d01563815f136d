//! Components of definitions: compiled and linked once, and instantiated for every call.
//!
//! Knows what a component is given (the world `heddle:node`, see wit/node.wit); what a call may use is in `call`.

mod call;
mod log;
mod output;
mod ready;
mod requests;
mod state;

pub use call::{CallingNode, Calls, Origin, Setting, Threads};
pub use ready::Ready;

use crate::codecache::DiskCache;
use crate::digest::Digest256;
use state::CallState;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use wasmtime::component::{Component, Linker};
use wasmtime::{Engine, Precompiled};

/// What there is of a component.
pub enum Found {
    /// All.
    Ready(Arc<Ready>),
    /// Its machine code, and the bytes of it.
    Compiled(Component, usize),
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

    /// What there is of a component with this SHA-256: itself, or its machine code.
    pub fn find(&self, digest: &Digest256, may_send: bool) -> Option<Found> {
        let key = (*digest, may_send);
        if let Some(ready) = self.loaded().get(&key).and_then(Weak::upgrade) {
            return Some(Found::Ready(ready));
        }
        let (component, code_bytes) = self.disk.as_ref()?.load_component(&self.engine, digest)?;
        Some(Found::Compiled(component, code_bytes))
    }

    /// Takes what the compiler made of a component with this SHA-256.
    pub fn compiled(&self, code: &[u8], digest: &Digest256) -> wasmtime::Result<Found> {
        if Engine::detect_precompiled(code) != Some(Precompiled::Component) {
            return Err(wasmtime::Error::msg("its machine code can't be used"));
        }
        #[expect(unsafe_code, reason = "loading machine code that was just compiled")]
        // SAFETY: `code` is the output of wasmtime's compiler in this process, or in a worker, which is this program as
        // well, was confined before it read the component, and was asked for nothing else (see ARCHITECTURE.md).
        let component = unsafe { Component::deserialize(&self.engine, code)? };
        if let Some(disk) = &self.disk
            && let Err(error) = disk.store(digest, code)
        {
            tracing::warn!(%error, "Could not write machine code to the cache");
        }
        Ok(Found::Compiled(component, code.len()))
    }

    /// Makes a component ready to be called. One that imports what it may not, or can't be called, is refused.
    pub fn ready(&self, found: Found, digest: Digest256, may_send: bool) -> wasmtime::Result<Arc<Ready>> {
        let (component, code_bytes) = match found {
            Found::Ready(ready) => return Ok(ready),
            Found::Compiled(component, code_bytes) => (component, code_bytes),
        };
        let linker = if may_send { &self.sending } else { &self.linker };
        let instance = linker.instantiate_pre(&component)?;
        let execute = component
            .get_export_index(None, "execute")
            .ok_or_else(|| wasmtime::Error::msg("it does not export a function `execute`"))?;
        let ready = Arc::new(Ready {
            instance,
            execute,
            code_bytes,
        });
        let mut loaded = self.loaded();
        loaded.retain(|_, ready| ready.strong_count() > 0);
        loaded.insert((digest, may_send), Arc::downgrade(&ready));
        Ok(ready)
    }

    fn loaded(&self) -> MutexGuard<'_, HashMap<(Digest256, bool), Weak<Ready>>> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
