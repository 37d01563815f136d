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

use crate::code::Code;
use crate::digest::Digest256;
use state::CallState;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use wasmtime::Engine;
use wasmtime::component::Linker;

/// All components that are loaded, and what they link to.
pub struct Components {
    engine: Engine,
    /// What every component may import, and with `http` besides.
    linker: Linker<CallState>,
    sending: Linker<CallState>,
    loaded: Mutex<HashMap<(Digest256, bool), Weak<Ready>>>,
}

impl Components {
    pub fn new(engine: &Engine) -> wasmtime::Result<Self> {
        let mut linker = Linker::new(engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
        log::link(&mut linker)?;
        let mut sending = linker.clone();
        requests::link(&mut sending)?;
        Ok(Components {
            engine: engine.clone(),
            linker,
            sending,
            loaded: Mutex::default(),
        })
    }

    /// The component with this SHA-256, if it is loaded.
    pub fn find(&self, digest: &Digest256, may_send: bool) -> Option<Arc<Ready>> {
        self.loaded().get(&(*digest, may_send)).and_then(Weak::upgrade)
    }

    /// Makes a component ready to be called. One that imports what it may not, or can't be called, is refused.
    pub fn ready(&self, code: &Code, digest: Digest256, may_send: bool) -> wasmtime::Result<Arc<Ready>> {
        if let Some(ready) = self.find(&digest, may_send) {
            return Ok(ready);
        }
        let component = code.component(&self.engine)?;
        let linker = if may_send { &self.sending } else { &self.linker };
        let instance = linker.instantiate_pre(&component)?;
        let execute = component
            .get_export_index(None, "execute")
            .ok_or_else(|| wasmtime::Error::msg("it does not export a function `execute`"))?;
        let ready = Arc::new(Ready { instance, execute });
        let mut loaded = self.loaded();
        loaded.retain(|_, ready| ready.strong_count() > 0);
        loaded.insert((digest, may_send), Arc::downgrade(&ready));
        Ok(ready)
    }

    fn loaded(&self) -> MutexGuard<'_, HashMap<(Digest256, bool), Weak<Ready>>> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
