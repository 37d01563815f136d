//! Programs in memory: those that are asked for most, up to a number of bytes of machine code.

use crate::program::Program;
use heddle_sandbox::{Digest256, Tier};
use quick_cache::Weighter;
use quick_cache::unsync::Cache;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Machine code of an ordinary program: only an estimate of how many there will be follows from it.
const PROGRAM_BYTES: usize = 64 << 10;

/// A module, by its SHA-256, and how it was compiled.
pub type ProgramKey = (Digest256, Tier);

/// Programs by their modules.
pub struct Programs(Mutex<Cache<ProgramKey, Program, CodeBytes>>);

#[derive(Clone)]
struct CodeBytes;

impl Weighter<ProgramKey, Program> for CodeBytes {
    fn weight(&self, _: &ProgramKey, program: &Program) -> u64 {
        // What weighs nothing would never go.
        program.code_bytes().max(1) as u64
    }
}

impl Programs {
    pub fn new(code_bytes_max: usize) -> Self {
        let programs = code_bytes_max / PROGRAM_BYTES;
        Programs(Mutex::new(Cache::with_weighter(
            programs,
            code_bytes_max as u64,
            CodeBytes,
        )))
    }

    fn lock(&self) -> MutexGuard<'_, Cache<ProgramKey, Program, CodeBytes>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn get(&self, key: &ProgramKey) -> Option<Program> {
        self.lock().get(key).cloned()
    }

    pub fn keep(&self, key: ProgramKey, program: Program) {
        self.lock().insert(key, program);
    }
}
