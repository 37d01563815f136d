//! Settings of the service, read once at start. Where they come from is in `config::sources`, how they are parsed in
//! `config::settings`, and the keys are in `config::keys`.

mod executors;
pub mod files;
pub mod http;
pub mod installed;
pub mod keys;
mod logins;
mod oauth_clients;
mod setting;
pub mod settings;
pub mod sources;
pub mod table;
mod values;

use heddle_execution::OperatorClient;
use heddle_execution::compile::{self, Isolation};
use heddle_model::quota::Quotas;
use heddle_model::server_role::ServerRole;
use heddle_model::workspace_quota::WorkspaceQuotas;
use heddle_runtime::{CacheKey, EgressPolicy, ExecutorConfig, ExecutorGroup, Mailer, WorkerProgram};
use heddle_service::auth::external::ExternalLogin;
use heddle_service::auth::limits::{self, AuthRateLimit, RegistrationLimit};
use heddle_service::auth::registration::Registration;
use heddle_service::auth::token::Lifetimes;
use heddle_service::webhooks::{self, CountedBy};
use heddle_service::{audit, onlookers};
use heddle_store::vault::MasterKey;
use ipnet::IpNet;
use secrecy::SecretString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Settings. Every limit has its unit in its name or type.
#[derive(Clone)]
pub struct Config {
    /// Address to listen on; port 0 picks one.
    pub listen: SocketAddr,
    /// URL at which clients reach the service, without a slash at the end.
    pub base_url: String,
    /// Where the embedded database, keys and machine code are kept.
    pub data_dir: PathBuf,
    /// Where machine code is kept between starts.
    pub cache_dir: PathBuf,
    /// Where machine code of heddle's own modules is that was made when it was installed; `None`: nowhere.
    pub precompiled_dir: Option<PathBuf>,
    /// PostgreSQL; `None`: SQLite in the data directory.
    pub database_url: Option<SecretString>,
    /// The part of the service's work that this server does.
    pub role: ServerRole,
    /// Whether the console, the service's own web interface, is served.
    pub console: bool,
    /// Where compilers and other code that parses untrusted input execute.
    pub isolation: Isolation,
    /// What is started as the processes in which runs execute. `None`: they do so in this process.
    pub executors: Option<WorkerProgram>,
    /// Tenants whose runs execute in processes of their own.
    pub executor_groups: Vec<ExecutorGroup>,
    /// CPU time limit of one compilation; whole seconds.
    pub compile_timeout: Duration,
    /// Memory limit of one compilation, in bytes; has no effect with threads.
    pub compile_memory_bytes_max: u64,
    /// Wraps the data keys.
    pub master_key: MasterKey,
    /// The previous master key: data keys wrapped by it are re-wrapped at start.
    pub master_key_previous: Option<MasterKey>,
    /// Key files that were created at this start.
    pub keys_made: Vec<PathBuf>,
    /// Signs tokens.
    pub jwt_secret: SecretString,
    /// Lifetime of tokens.
    pub token_ttl: Duration,
    /// How long a login lasts, however often its token is renewed.
    pub session_ttl: Duration,
    /// The account that the sign-in page offers; `None`: this is not a demo.
    pub demo: Option<DemoLogin>,
    /// Registration and login by password.
    pub local_auth: bool,
    /// Who may make an account.
    pub registration: Registration,
    /// How the service's own mail is sent; `None`: it sends none.
    pub mailer: Option<Mailer>,
    /// Logins by other services, in the order in which people see them.
    pub external_logins: Vec<ExternalLogin>,
    /// The operator's clients at providers that people consent at, for connections.
    pub oauth_clients: Vec<OperatorClient>,
    /// Limits of login and registration attempts per minute.
    pub auth_rate_limit: AuthRateLimit,
    /// Limits of registrations per hour.
    pub registration_limit: RegistrationLimit,
    /// Limit of changes per minute that one user may make through the API; 0: no limit.
    pub write_rate_limit: u32,
    /// How much one user may create and store.
    pub quotas: Quotas,
    /// How much a workspace may use that has no quotas of its own.
    pub workspace_quotas: WorkspaceQuotas,
    /// Limit of webhook requests per minute from one IP address; 0: no limit.
    pub webhook_rate_limit: u32,
    pub webhook_rate_limit_by: CountedBy,
    /// Limit of requests per minute to all webhooks of a workspace, or of a user outside of workspaces; 0: no limit.
    pub webhook_tenant_rate_limit: u32,
    /// Maximum size of a webhook request's body, in bytes.
    pub webhook_body_bytes_max: usize,
    /// Maximum size of a request body under /api, in bytes.
    pub api_body_bytes_max: usize,
    /// Memory for all large requests together, in bytes.
    pub large_request_bytes_max: usize,
    /// Limits of HTTP connections.
    pub http: http::HttpLimits,
    /// Token that `/metrics` requires; `None`: only this machine and private networks may read them.
    pub metrics_token: Option<SecretString>,
    /// Token of the operator's API; `None`: it is off.
    pub operator_token: Option<SecretString>,
    /// Tenants that have metrics of their own; those of all others are counted together. 0: there are none.
    pub metrics_tenants_max: usize,
    /// Requests that take longer are logged as warnings; zero: none are.
    pub slow_request: Duration,
    /// Peers whose `X-Forwarded-For` is trusted.
    pub trusted_proxies: Vec<IpNet>,
    /// Origins of browser pages that may use the API; `*` is any.
    pub cors_origins: Vec<String>,
    /// Addresses that patterns and the external login may reach although they aren't public.
    pub egress: EgressPolicy,
    /// Directory for SQLite files of connections; `None`: connections to SQLite are rejected.
    pub sqlite_dir: Option<PathBuf>,
    /// Where files are, and how large they may be.
    pub files: files::FileSettings,
    /// Program that is started for each database session; `None`: drivers execute in this process.
    pub connectors: Option<WorkerProgram>,
    /// Limit of concurrent connector processes.
    pub connectors_max: usize,
    /// Wall-clock time limit of a run.
    pub run_timeout: Duration,
    /// Wall-clock time limit of a test run.
    pub test_timeout: Duration,
    /// Fuel limit of a run, roughly instructions.
    pub run_fuel_max: u64,
    /// Memory limit of a run, in bytes.
    pub run_memory_bytes_max: usize,
    /// Limit of the effects of a run.
    pub run_effects_max: u32,
    /// Fuel that a pattern may give its runs; at least their limit.
    pub run_fuel_ceiling: u64,
    /// Memory that a pattern may give its runs, in bytes; at least their limit.
    pub run_memory_bytes_ceiling: usize,
    /// Effects that a pattern may give its runs; at least their limit.
    pub run_effects_ceiling: u32,
    /// Memory of all runs that execute at a time, in bytes; `None`: half of the machine's.
    pub runs_memory_bytes_max: Option<u64>,
    /// Concurrent runs per workspace.
    pub workspace_concurrency_max: usize,
    /// Connections to mailboxes that this server keeps open, and those of one workspace.
    pub mailboxes_max: usize,
    pub workspace_mailboxes_max: usize,
    /// Concurrent runs in total, and threads that execute them.
    pub workers: usize,
    /// Limit of accepted runs that wait in memory; beyond that new ones get 503.
    pub queue_runs_max: usize,
    /// Lease duration: a server that has not renewed its lease for this long loses its runs to others.
    pub lease: Duration,
    /// Unit of the waits before starts that follow crashes.
    pub crash_backoff: Duration,
    /// How long ended runs are kept.
    pub retention: Duration,
    /// Ended runs kept per workspace.
    pub retention_runs_max: u64,
    /// Bytes of ended runs that are kept of a workspace, roughly; 0: any number.
    pub retention_bytes_max: u64,
    /// Bytes of ended runs that are kept in all workspaces that one user has made; 0: any number.
    pub retention_user_bytes_max: u64,
    /// How long entries of the audit log are kept.
    pub audit_retention: Duration,
    /// Entries of the audit log that are kept of a workspace or an account; 0: any number.
    pub audit_entries_max: u64,
    /// How long the journals of failed runs are kept.
    pub retention_journals: Duration,
    /// Successful runs per workspace whose journals are kept.
    pub retention_journal_runs_max: u64,
    /// Bytes of the journals that are kept of a workspace; 0: any number.
    pub retention_journal_bytes_max: u64,
    /// Lines of the webhook log that are kept of a pattern; 0: any number.
    pub webhook_log_lines_max: u64,
    /// Lines of the webhook log that are kept of all patterns that one user has made; 0: any number.
    pub webhook_log_user_lines_max: u64,
    /// Bytes of captured events of all webhooks of a user; 0: any number.
    pub tap_user_bytes_max: u64,
    /// Domain of the addresses of OnEmail nodes.
    pub mail_domain: String,
    /// Secret for `POST /inbound/email`; `None`: the endpoint is disabled.
    pub inbound_secret: Option<SecretString>,
    /// Address of the SMTP listener; `None`: there is none.
    pub smtp_listen: Option<SocketAddr>,
    /// What is logged, in tracing's syntax.
    pub log: String,
    pub log_format: LogFormat,
    /// OTLP/HTTP collector that traces are sent to; `None`: traces are not sent.
    pub otlp_endpoint: Option<String>,
}

/// The account of a demo, known to everybody.
#[derive(Clone, Copy, Debug)]
pub struct DemoLogin {
    /// Email address.
    pub email: &'static str,
    pub password: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Lines of text for people.
    Text,
    /// One JSON object per line.
    Json,
}

impl Config {
    /// The default settings, given those that have no default.
    pub fn new(
        listen: SocketAddr,
        data_dir: PathBuf,
        master_key: impl Into<MasterKey>,
        jwt_secret: impl Into<SecretString>,
    ) -> Self {
        Config {
            listen,
            base_url: format!("http://{listen}"),
            cache_dir: data_dir.join("cache"),
            precompiled_dir: None,
            data_dir,
            database_url: None,
            role: ServerRole::All,
            console: true,
            isolation: Isolation::Thread,
            executors: None,
            executor_groups: Vec::new(),
            compile_timeout: Duration::from_secs(20),
            compile_memory_bytes_max: 1 << 30,
            master_key: master_key.into(),
            master_key_previous: None,
            keys_made: Vec::new(),
            jwt_secret: jwt_secret.into(),
            token_ttl: Duration::from_secs(24 * 60 * 60),
            session_ttl: Duration::from_secs(30 * 24 * 60 * 60),
            demo: None,
            local_auth: true,
            registration: Registration::default(),
            mailer: None,
            external_logins: Vec::new(),
            oauth_clients: Vec::new(),
            auth_rate_limit: AuthRateLimit {
                per_email: 10,
                per_ip: 30,
            },
            registration_limit: RegistrationLimit {
                per_ip: 200,
                in_all: 10_000,
            },
            write_rate_limit: 6_000,
            quotas: Quotas::default(),
            workspace_quotas: WorkspaceQuotas::default(),
            webhook_rate_limit: 100,
            webhook_rate_limit_by: CountedBy::Address,
            webhook_tenant_rate_limit: 0,
            webhook_body_bytes_max: 8 << 20,
            api_body_bytes_max: 8 << 20,
            large_request_bytes_max: 256 << 20,
            http: http::HttpLimits::default(),
            metrics_token: None,
            operator_token: None,
            metrics_tenants_max: 0,
            slow_request: Duration::from_secs(5),
            trusted_proxies: Vec::new(),
            cors_origins: Vec::new(),
            egress: EgressPolicy::default(),
            sqlite_dir: None,
            files: files::FileSettings::default(),
            connectors: None,
            connectors_max: 64,
            run_timeout: Duration::from_secs(300),
            test_timeout: Duration::from_secs(10),
            run_fuel_max: 10_000_000_000,
            run_memory_bytes_max: 256 << 20,
            run_effects_max: 1_000,
            run_fuel_ceiling: 300_000_000_000,
            run_memory_bytes_ceiling: 512 << 20,
            run_effects_ceiling: 10_000,
            runs_memory_bytes_max: None,
            workspace_concurrency_max: 64,
            mailboxes_max: 64,
            workspace_mailboxes_max: 20,
            workers: std::thread::available_parallelism().map_or(2, usize::from),
            queue_runs_max: 10_000,
            lease: Duration::from_secs(15),
            crash_backoff: Duration::from_secs(1),
            retention: Duration::from_secs(30 * 24 * 60 * 60),
            retention_runs_max: 100_000,
            retention_bytes_max: 20 << 30,
            retention_user_bytes_max: 100 << 30,
            audit_retention: Duration::from_secs(365 * 24 * 60 * 60),
            audit_entries_max: 100_000,
            retention_journals: Duration::from_secs(7 * 24 * 60 * 60),
            retention_journal_runs_max: 1_000,
            retention_journal_bytes_max: 256 << 20,
            webhook_log_lines_max: 100_000,
            webhook_log_user_lines_max: 2_000_000,
            tap_user_bytes_max: 512 << 20,
            mail_domain: "localhost".to_owned(),
            inbound_secret: None,
            smtp_listen: None,
            log: "info".to_owned(),
            log_format: LogFormat::Text,
            otlp_endpoint: None,
        }
    }

    /// The settings that the service needs.
    pub fn service(&self) -> heddle_service::Settings {
        heddle_service::Settings {
            execution: self.execution(),
            master_key: self.master_key.clone(),
            jwt_secret: self.jwt_secret.clone(),
            lifetimes: Lifetimes {
                token: self.token_ttl,
                session: self.session_ttl,
            },
            auth_limits: limits::Settings {
                attempts: self.auth_rate_limit,
                registrations: self.registration_limit,
                writes_per_minute: self.write_rate_limit,
            },
            external_logins: self.external_logins.clone(),
            registration: self.registration.clone(),
            mailer: self.mailer.clone(),
            quotas: self.quotas,
            large_request_bytes_max: self.large_request_bytes_max,
            webhooks: webhooks::Settings {
                limits: webhooks::LimitSettings {
                    requests_per_minute: self.webhook_rate_limit,
                    counted_by: self.webhook_rate_limit_by,
                    tenant_requests_per_minute: self.webhook_tenant_rate_limit,
                },
                log_age_max: self.retention,
                log_lines_max: self.webhook_log_lines_max,
                log_user_lines_max: self.webhook_log_user_lines_max,
                tap_user_bytes_max: self.tap_user_bytes_max,
            },
            audit: audit::Policy {
                age_max: self.audit_retention,
                entries_max: self.audit_entries_max,
            },
            onlookers: onlookers::Limits {
                in_all: self.http.streams_max,
                per_user: self.http.streams_per_user_max,
            },
            mail_domain: self.mail_domain.clone(),
        }
    }

    /// The settings that execution needs.
    fn execution(&self) -> heddle_execution::Settings {
        heddle_execution::Settings {
            role: self.role,
            queue_runs_max: self.queue_runs_max,
            workspace_concurrency_max: self.workspace_concurrency_max,
            mailboxes_max: self.mailboxes_max,
            workspace_mailboxes_max: self.workspace_mailboxes_max,
            lease: self.lease,
            run_fuel_max: self.run_fuel_max,
            run_memory_bytes_max: self.run_memory_bytes_max,
            run_effects_max: self.run_effects_max,
            run_fuel_ceiling: self.run_fuel_ceiling.max(self.run_fuel_max),
            run_memory_bytes_ceiling: self.run_memory_bytes_ceiling.max(self.run_memory_bytes_max),
            run_effects_ceiling: self.run_effects_ceiling.max(self.run_effects_max),
            runs_memory_bytes_max: self.runs_memory_bytes_max,
            run_timeout: self.run_timeout,
            test_timeout: self.test_timeout,
            quotas: self.quotas,
            workspace_quotas: self.workspace_quotas,
            retention: self.retention,
            retention_runs_max: self.retention_runs_max,
            retention_bytes_max: self.retention_bytes_max,
            retention_user_bytes_max: self.retention_user_bytes_max,
            retention_journals: self.retention_journals,
            retention_journal_runs_max: self.retention_journal_runs_max,
            retention_journal_bytes_max: self.retention_journal_bytes_max,
            cache_dir: self.cache_dir.clone(),
            cache_key: CacheKey::derived(self.master_key.expose()),
            precompiled_dir: self.precompiled_dir.clone(),
            egress: self.egress.clone(),
            oauth_clients: self.oauth_clients.clone(),
            sqlite_dir: self.sqlite_dir.clone(),
            files: self.files.store(&self.data_dir),
            connectors: self.connectors.clone(),
            connectors_max: self.connectors_max,
            executors: self.executors.clone().map(|program| ExecutorConfig {
                program,
                processes: self.workers,
                groups: self.executor_groups.clone(),
                memory_bytes_max: None,
            }),
            workers: self.workers,
            metrics_tenants_max: self.metrics_tenants_max,
            base_url: self.base_url.clone(),
            callback_secret: self.jwt_secret.clone(),
            compilers: compile::Settings {
                isolation: self.isolation.clone(),
                timeout: self.compile_timeout,
                memory_bytes_max: self.compile_memory_bytes_max,
                workers: self.workers,
            },
        }
    }
}
