//! A compilation job, and its encoding for a worker: one byte for the kind, followed by the bytes to compile.
//!
//! Knows nothing of how workers are started or what they may use.

use crate::program_error::{CompileError, ProgramError};
use heddle_sandbox::{Engines, Form, Tier, compile_alone};

const MODULE_OPTIMIZED: u8 = 0;
const MODULE_FAST: u8 = 1;
const COMPONENT: u8 = 2;

/// Something to be compiled, which may come from anyone. Compiling it takes as much time and memory as its author likes.
#[derive(Clone, Copy)]
pub struct CompileJob<'a> {
    pub(crate) form: Form,
    pub(crate) wasm: &'a [u8],
    /// Its definition, for a component.
    pub(crate) name: Option<&'a str>,
}

impl CompileJob<'_> {
    /// For a worker, which gives it to [`CompileJob::execute_request`].
    pub fn request(&self) -> Vec<u8> {
        let form = match self.form {
            Form::Module(Tier::Optimized) => MODULE_OPTIMIZED,
            Form::Module(Tier::Fast) => MODULE_FAST,
            Form::Component => COMPONENT,
        };
        let mut request = Vec::with_capacity(1 + self.wasm.len());
        request.push(form);
        request.extend_from_slice(self.wasm);
        request
    }

    /// Machine code for a request, in the worker; or why the compiler refuses it.
    pub fn execute_request(request: &[u8]) -> Result<Vec<u8>, CompileError> {
        let (form, wasm) = match request {
            [MODULE_OPTIMIZED, wasm @ ..] => (Form::Module(Tier::Optimized), wasm),
            [MODULE_FAST, wasm @ ..] => (Form::Module(Tier::Fast), wasm),
            [COMPONENT, wasm @ ..] => (Form::Component, wasm),
            _ => return Err(CompileError::UnknownForm),
        };
        Ok(compile_alone(wasm, form)?)
    }

    /// What is said when the compiler refuses it.
    pub fn refused(&self, source: CompileError) -> ProgramError {
        match self.name {
            Some(name) => ProgramError::Component {
                name: name.to_owned(),
                source,
            },
            None => ProgramError::Compile(source),
        }
    }

    /// Machine code for it, in this thread.
    pub(crate) fn execute(&self, engines: &Engines) -> Result<Vec<u8>, ProgramError> {
        let code = engines.compile(self.wasm, self.form);
        code.map_err(|error| self.refused(error.into()))
    }
}
