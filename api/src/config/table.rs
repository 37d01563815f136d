//! The settings by name: one table serves flags, environment, file and documentation. Knows nothing of how their texts
//! are read.

/// One setting.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Key in the file; `--its-name` as a flag and `HEDDLE_ITS_NAME` in the environment.
    pub name: &'static str,
    /// Value without any, for people.
    pub default: &'static str,
    /// What it is.
    pub help: &'static str,
    /// Not shown in clear.
    pub is_secret: bool,
}

const fn setting(name: &'static str, default: &'static str, help: &'static str) -> Setting {
    Setting {
        name,
        default,
        help,
        is_secret: false,
    }
}

const fn secret(name: &'static str, default: &'static str, help: &'static str) -> Setting {
    Setting {
        is_secret: true,
        ..setting(name, default, help)
    }
}

/// All of them.
pub const SETTINGS: &[Setting] = &[
    setting(
        "listen",
        "127.0.0.1:8080",
        "Address to listen on; port 0 picks a free one",
    ),
    setting("base_url", "http://<listen>", "Where clients reach the service"),
    setting(
        "data_dir",
        "./heddle-data",
        "Directory of the embedded database, the keys and machine code",
    ),
    setting("cache_dir", "<data_dir>/cache", "Directory for machine code"),
    secret(
        "database_url",
        "SQLite in the data directory",
        "PostgreSQL, as postgres://user:password@host/database",
    ),
    setting(
        "role",
        "all",
        "What this server does, with PostgreSQL: api accepts and answers, worker executes, all does both",
    ),
    secret(
        "master_key",
        "made at first start",
        "Encrypts credentials: base64 of 32 bytes. Required with PostgreSQL",
    ),
    secret(
        "master_key_previous",
        "none",
        "The master key before this one; what it encrypts is encrypted anew at start",
    ),
    secret(
        "jwt_secret",
        "made at first start",
        "Signs tokens: at least 32 bytes of text. Required with PostgreSQL",
    ),
    setting("token_ttl", "24h", "Lifetime of tokens"),
    setting(
        "session_ttl",
        "30d",
        "How long a login lasts, however often its token is renewed",
    ),
    setting(
        "local_auth",
        "true",
        "Registration and login by email and password",
    ),
    setting("ext_client_id", "none", "Client id at the external login"),
    secret("ext_client_secret", "none", "Client secret at the external login"),
    setting(
        "ext_issuer",
        "none",
        "OpenID Connect issuer of the external login",
    ),
    setting(
        "ext_token_url",
        "none",
        "Token endpoint of the external login, without an issuer",
    ),
    setting(
        "ext_userinfo_url",
        "none",
        "Userinfo endpoint of the external login, without an issuer",
    ),
    setting(
        "ext_redirect_uri",
        "none",
        "Redirect URI with which clients get their codes",
    ),
    setting(
        "auth_rate_limit",
        "10,30",
        "Attempts to log in or register within a minute: for an email, for an address",
    ),
    setting(
        "registration_limit",
        "200,10000",
        "Users that may register within an hour: from an address, in all; 0: any number",
    ),
    setting(
        "write_rate_limit",
        "6000",
        "Changes that a user may make through the API within a minute; 0: any number",
    ),
    setting(
        "quota_workspaces",
        "100",
        "Workspaces that one user may make; 0: any number",
    ),
    setting(
        "quota_environments",
        "500",
        "Environments that the workspaces of one user may have",
    ),
    setting(
        "quota_members",
        "5000",
        "Members and invitations that the workspaces of one user may have",
    ),
    setting("quota_patterns", "10000", "Patterns that one user may make"),
    setting(
        "quota_pattern_bytes",
        "1GiB",
        "What all versions of one user's patterns may take",
    ),
    setting("quota_versions", "100000", "Versions that a pattern may have"),
    setting(
        "quota_endpoints",
        "1000",
        "Webhooks and mail addresses that a pattern may have had",
    ),
    setting(
        "quota_secrets",
        "5000",
        "Secrets that the workspaces of one user may have",
    ),
    setting(
        "quota_secret_bytes",
        "64MiB",
        "What the secrets in the workspaces of one user may take",
    ),
    setting("quota_connections", "1000", "Connections that one user may make"),
    setting(
        "quota_connection_bytes",
        "64MiB",
        "What the credentials of one user's connections may take",
    ),
    setting("quota_api_keys", "200", "API keys that one user may have"),
    setting(
        "quota_module_bytes",
        "1GiB",
        "What the modules of one user's deployments may take",
    ),
    setting(
        "quota_schedules",
        "2000",
        "Schedules that one user's deployments may have",
    ),
    setting(
        "webhook_rate_limit",
        "100",
        "Webhook requests of an address within a minute; 0: any number",
    ),
    setting("webhook_max_body", "1MiB", "Largest body of a webhook"),
    setting(
        "api_max_body",
        "8MiB",
        "Largest body under /api; six times as much for deploy, transpile and run, which carry components",
    ),
    setting("header_timeout", "15s", "Longest time for a request's headers"),
    setting(
        "body_timeout",
        "30s",
        "Longest time for a request's body, and a second more for each 16 KiB of it",
    ),
    setting(
        "idle_timeout",
        "75s",
        "Longest time between two requests on a connection",
    ),
    setting(
        "stall_timeout",
        "30s",
        "Longest time in which nothing of a body comes, or nothing of an answer is taken",
    ),
    setting(
        "max_connections",
        "10000",
        "Connections in all; fewer when the system allows few open files",
    ),
    setting(
        "max_connections_per_address",
        "an eighth of max_connections",
        "Connections of an address (IPv6: a /64), but for this machine and trusted_proxies",
    ),
    setting(
        "max_unfinished_bodies",
        "256MiB",
        "Bytes of bodies that have arrived in part; a quarter of it for an address",
    ),
    setting("max_streams", "1000", "Live tails (…/stream) in all"),
    setting("max_streams_per_user", "50", "Live tails of one user"),
    setting(
        "metrics_listen",
        "none",
        "Address for /metrics alone; without one it is at listen, for peers in private networks",
    ),
    setting(
        "large_request_memory",
        "256MiB",
        "Memory for large requests and answers under /api, all together; each user has half of it at most",
    ),
    setting(
        "trusted_proxies",
        "none",
        "Networks whose X-Forwarded-For is believed, with commas between",
    ),
    setting(
        "cors_origins",
        "none",
        "Origins of pages that may use the API, with commas between; * is any",
    ),
    setting(
        "egress_allow",
        "none",
        "Networks or host:port that may be reached although they aren't public, with commas between",
    ),
    setting(
        "sqlite_dir",
        "none",
        "Directory of the SQLite files that connections may name, with one for each workspace in it; without it they may name none",
    ),
    setting(
        "connectors",
        "64 on Linux, 0 elsewhere",
        "Processes in which drivers of databases execute, at a time; 0: in the server itself, which a hostile one can bring down",
    ),
    setting(
        "isolation",
        "process on Linux",
        "Where compilers and drivers execute: process (confined processes of their own) or thread (this process)",
    ),
    setting(
        "compile_timeout_ms",
        "20000",
        "Processor time of one compilation, in milliseconds; by the clock three times as much, at least a minute",
    ),
    setting(
        "compile_memory",
        "1GiB",
        "Memory of one compilation, in its process",
    ),
    setting("run_timeout_ms", "300000", "Longest run, in milliseconds"),
    setting("test_timeout_ms", "10000", "Longest test run, in milliseconds"),
    setting("run_fuel", "10000000000", "Fuel of a run, roughly instructions"),
    setting("run_memory", "64MiB", "Memory of a run"),
    setting(
        "workspace_concurrency",
        "64",
        "Runs of one workspace that execute at once",
    ),
    setting("workers", "processors", "Threads that execute runs"),
    setting(
        "queue_runs",
        "10000",
        "Accepted runs that wait; beyond it webhooks get 503",
    ),
    setting(
        "lease_ms",
        "15000",
        "After so many milliseconds without a sign of life a server's runs are others', with PostgreSQL; at least 1000",
    ),
    setting(
        "crash_backoff",
        "1s",
        "After two crashes in a row a start waits twice this time, then 5, 10 and 15 times; 0s: not at all",
    ),
    setting("retention", "30d", "How long ended runs are kept"),
    setting(
        "retention_runs",
        "100000",
        "Ended runs that a workspace keeps at most",
    ),
    setting(
        "mail_domain",
        "localhost",
        "Domain of the addresses of OnEmail nodes",
    ),
    secret(
        "inbound_secret",
        "none",
        "Secret of POST /inbound/email; without one it is closed",
    ),
    setting("smtp_listen", "none", "Address of the built-in SMTP listener"),
    setting(
        "log",
        "info",
        "What is logged: error, warn, info, debug, trace, or by module as in info,sqlx=warn",
    ),
    setting("log_format", "text", "Form of the log: text or json"),
    setting(
        "otlp_endpoint",
        "none",
        "Collector of traces by OTLP over HTTP, as http://127.0.0.1:4318",
    ),
];
