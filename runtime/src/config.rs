//! The operator's settings of the runtime. Knows nothing about flags, files or the environment.

use crate::codecache::CacheKey;
use crate::egress::EgressPolicy;
use heddle_processes::WorkerProgram;
use std::path::PathBuf;
use std::time::Duration;

/// Which SQLite files SqlQuery may open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SqliteFiles {
    #[default]
    None,
    /// Those below a directory, in which each tenant has one of its own; statements can't reach others.
    Below(PathBuf),
    /// Any that the process may.
    Anywhere,
}

/// Processes in which runs execute.
#[derive(Clone, Debug)]
pub struct ExecutorConfig {
    /// What is started as them: it calls [`crate::serve_worker`].
    pub program: WorkerProgram,
    /// How many of them all tenants share that are in none of the groups.
    pub processes: usize,
    /// Tenants with processes of their own, each in one group at most.
    pub groups: Vec<ExecutorGroup>,
    /// Bytes that one of them may write to; `None`: half of the machine's memory. Address space that only reserves room does
    /// not count.
    pub memory_bytes_max: Option<u64>,
}

impl ExecutorConfig {
    /// How many processes there are, all groups included.
    pub fn all_processes(&self) -> usize {
        let of_groups = self.groups.iter().map(|group| group.processes.max(1));
        of_groups.fold(self.processes.max(1), usize::saturating_add)
    }
}

/// Tenants whose runs share processes with each other, and with nobody else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutorGroup {
    /// The tenants, as in [`RunRequest::tenant`](crate::RunRequest::tenant).
    pub tenants: Vec<u128>,
    /// How many processes they have.
    pub processes: usize,
}

/// Settings of a [`crate::Runtime`]. The defaults suit one server with a few cores.
#[derive(Clone, Debug)]
pub struct RuntimeConfig {
    /// Where machine code is kept between starts; created with mode 0700. `None`: everything is compiled anew.
    pub cache_dir: Option<PathBuf>,
    /// By which it is known that this program wrote what is kept. `None`: a random one, in a file in `cache_dir`.
    pub cache_key: Option<CacheKey>,
    /// Where machine code of heddle's own modules is looked for first, as [`crate::precompile()`] writes it. It is used only if nobody can have
    /// changed it but root, the owner of the program and the user who executes it.
    pub precompiled_dir: Option<PathBuf>,
    /// Addresses that effects may reach besides public ones.
    pub egress: EgressPolicy,
    /// Which SQLite files SqlQuery may open.
    pub sqlite_files: SqliteFiles,
    /// What the SQLite files of one tenant may take together, below a directory.
    pub sqlite_bytes_max: u64,
    /// What is started as the processes in which the drivers of databases and mail servers execute, and mailboxes are read: it
    /// calls [`crate::serve_worker`]. Without, they do so in this process, which a hostile server can then bring down.
    pub connectors: Option<WorkerProgram>,
    /// How many of them at once, open mailboxes aside; one tenant has at most half.
    pub connectors_max: usize,
    /// Processes in which runs execute, confined and without anything of this one's; without, runs execute in this process.
    pub executors: Option<ExecutorConfig>,
    /// Runs in flight at once; the others wait in order. Sizes the pool of sandboxes.
    pub concurrent_runs_max: u32,
    /// Threads of low priority for runs that have computed for longer than `foreground_time`.
    pub background_threads: usize,
    /// Threads on which effects do their work.
    pub io_threads: usize,
    /// Processor time after which a run continues on the background threads. Until then it is polled by the
    /// task that called [`crate::Runtime::run`], a millisecond at a time.
    pub foreground_time: Duration,
    /// Machine code of programs kept in memory, in bytes.
    pub code_cache_bytes_max: usize,
    /// Upper bound of `Limits::memory_bytes_max`, in bytes.
    pub memory_bytes_max: usize,
    /// Linear memory of all runs that execute at a time, in bytes, in whatever processes; `None`: half of the machine's memory.
    pub runs_memory_bytes_max: Option<u64>,
    /// Upper bound of `Limits::table_elements_max`.
    pub table_elements_max: usize,
}

impl Default for RuntimeConfig {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        RuntimeConfig {
            cache_dir: None,
            cache_key: None,
            precompiled_dir: None,
            egress: EgressPolicy::default(),
            sqlite_files: SqliteFiles::None,
            sqlite_bytes_max: 1 << 30,
            connectors: None,
            connectors_max: 64,
            executors: None,
            concurrent_runs_max: 256,
            background_threads: threads,
            io_threads: 1,
            foreground_time: Duration::from_millis(5),
            code_cache_bytes_max: 256 << 20,
            memory_bytes_max: 512 << 20,
            runs_memory_bytes_max: None,
            table_elements_max: 100_000,
        }
    }
}
