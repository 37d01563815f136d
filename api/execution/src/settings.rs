//! What operators can set of executing.

use crate::compile;
use crate::consents::OperatorClient;
use heddle_model::quota::Quotas;
use heddle_model::server_role::ServerRole;
use heddle_model::workspace_quota::WorkspaceQuotas;
use heddle_runtime::{CacheKey, EgressPolicy, ExecutorConfig, WorkerProgram};
use secrecy::SecretString;
use std::path::PathBuf;
use std::time::Duration;

/// What operators can set of executing.
#[derive(Clone)]
pub struct Settings {
    /// What this server does, of several.
    pub role: ServerRole,
    /// Runs that may wait.
    pub queue_runs_max: usize,
    /// Runs of one workspace that execute at once.
    pub workspace_concurrency_max: usize,
    /// Connections to mailboxes that this server keeps open, and those of one workspace.
    pub mailboxes_max: usize,
    pub workspace_mailboxes_max: usize,
    /// How long this server counts as alive after it was last heard of.
    pub lease: Duration,
    /// Wasm instructions of a run.
    pub run_fuel_max: u64,
    pub run_memory_bytes_max: usize,
    pub run_effects_max: u32,
    /// How far patterns can raise these three.
    pub run_fuel_ceiling: u64,
    pub run_memory_bytes_ceiling: usize,
    pub run_effects_ceiling: u32,
    /// Where files are.
    pub files: heddle_files::Settings,
    /// Memory of all runs that execute at a time in bytes; `None`: half of the machine's.
    pub runs_memory_bytes_max: Option<u64>,
    /// Time of a run.
    pub run_timeout: Duration,
    /// Time of a test run.
    pub test_timeout: Duration,
    /// How much a user may store.
    pub quotas: Quotas,
    /// How much a workspace may use that has no quotas of its own.
    pub workspace_quotas: WorkspaceQuotas,
    /// How long ended runs are kept.
    pub retention: Duration,
    /// Ended runs that are kept of one workspace.
    pub retention_runs_max: u64,
    /// Bytes of the runs that are kept of one workspace, roughly; 0: any number.
    pub retention_bytes_max: u64,
    /// Bytes of the runs that are kept in all workspaces that one user has made; 0: any number.
    pub retention_user_bytes_max: u64,
    /// How long the journals of failed runs are kept, and the modules of deployments that have got another one.
    pub retention_journals: Duration,
    /// Successful runs of one workspace whose journals are kept.
    pub retention_journal_runs_max: u64,
    /// Bytes of the journals that are kept of one workspace; 0: any number.
    pub retention_journal_bytes_max: u64,
    /// Tenants that have metrics of their own; those of all others are counted together. 0: there are none.
    pub metrics_tenants_max: usize,
    /// Where machine code is kept.
    pub cache_dir: PathBuf,
    /// Signs what is kept there.
    pub cache_key: CacheKey,
    /// Where that of heddle's own modules is looked for first.
    pub precompiled_dir: Option<PathBuf>,
    /// Addresses that patterns may reach although they aren't public.
    pub egress: EgressPolicy,
    /// The operator's clients at providers that people consent at.
    pub oauth_clients: Vec<OperatorClient>,
    /// Where files of SQLite connections are; `None`: there are no such connections.
    pub sqlite_dir: Option<PathBuf>,
    /// What drivers of databases and mail servers execute in; `None`: in this process.
    pub connectors: Option<WorkerProgram>,
    /// What runs execute in; `None`: in this process.
    pub executors: Option<ExecutorConfig>,
    /// Connectors at once.
    pub connectors_max: usize,
    /// Threads for what computes.
    pub workers: usize,
    /// The URL of the service, with which callback URLs begin.
    pub base_url: String,
    /// What the tokens of callback URLs follow from.
    pub callback_secret: SecretString,
    /// How graphs are compiled.
    pub compilers: compile::Settings,
}
