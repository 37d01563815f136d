//! Programs for executor processes, which are given their code. Nobody has loaded them in this process.

use heddle_sandbox::protocol::GivenComponent;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A program in machine code, in files that nobody can change.
pub struct SealedProgram {
    /// By which executors know it.
    pub number: u32,
    /// As JSON.
    pub manifest: Vec<u8>,
    /// Names of what it imports, in order.
    pub imports: Vec<String>,
    pub module: Arc<OwnedFd>,
    pub components: Vec<(GivenComponent, Arc<OwnedFd>)>,
    /// The JavaScript engine, if the program needs it.
    pub javascript: Option<Arc<OwnedFd>>,
    pub code_bytes: usize,
}

/// The number of the next program.
pub fn next_number() -> u32 {
    static NUMBERS: AtomicU32 = AtomicU32::new(0);
    NUMBERS.fetch_add(1, Ordering::Relaxed)
}
