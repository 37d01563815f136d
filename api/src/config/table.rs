//! The settings by name: one table serves flags, environment, file and documentation. Knows nothing of how their texts
//! are read.

pub use super::setting::Setting;
use super::setting::{secret, setting, tables};

/// All settings, in the order in which they are documented.
pub const SETTINGS: &[Setting] = &[
    setting(
        "listen",
        "127.0.0.1:8080",
        "Address to listen on; port 0 picks a free one",
    ),
    setting(
        "base_url",
        "http://<listen>, or https://",
        "URL at which clients reach the service",
    ),
    setting(
        "tls_cert",
        "none",
        "File with the TLS certificate and its chain, in PEM; with it and tls_key the server speaks TLS. Read again when \
         it changes",
    ),
    setting("tls_key", "none", "File of the certificate's private key, in PEM"),
    setting(
        "data_dir",
        "./heddle-data",
        "Directory for the embedded database, the keys and machine code",
    ),
    setting("cache_dir", "<data_dir>/cache", "Directory for machine code"),
    setting("precompiled_dir", "../lib/heddle", "Output of heddle precompile"),
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
    setting(
        "console",
        "true",
        "The console, heddle's web interface at /; servers of the role worker have none",
    ),
    secret(
        "master_key",
        "generated at first start",
        "Encrypts credentials: 32 bytes in base64. Required with PostgreSQL",
    ),
    secret(
        "master_key_previous",
        "none",
        "The previous master key; what it encrypts is re-encrypted at start",
    ),
    secret(
        "jwt_secret",
        "generated at first start",
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
    setting(
        "registration",
        "open",
        "Who may create an account: open (anybody), invitation (whoever has an invitation's link), domains (addresses of \
         registration_domains, and the invited), closed (nobody; the operator creates accounts)",
    ),
    setting(
        "registration_domains",
        "none",
        "Domains whose addresses may register, separated by commas; with registration = domains, which needs mail_url",
    ),
    secret(
        "mail_url",
        "none",
        "Mail server for heddle's own mail (invitations, new passwords, verifying addresses): \
         smtp://user:password@host:587 with STARTTLS, smtps://… with TLS from the beginning, smtp://host:25?tls=none \
         without; without it heddle sends none",
    ),
    setting(
        "mail_from",
        "none",
        "Sender of heddle's own mail, such as heddle <heddle@example.com>; required with mail_url",
    ),
    setting("ext_client_id", "none", "Client id for the external login"),
    secret(
        "ext_client_secret",
        "none",
        "Client secret for the external login",
    ),
    setting(
        "ext_issuer",
        "none",
        "OpenID Connect issuer of the external login",
    ),
    setting(
        "ext_name",
        "the issuer's host",
        "Name of the external login on the console's sign-in page",
    ),
    setting(
        "ext_scopes",
        "openid email profile",
        "What the console asks the external login for",
    ),
    setting(
        "ext_authorize_url",
        "none",
        "Authorization endpoint of the external login, without an issuer; for the console's sign-in page",
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
        "Redirect URI with which clients obtain their codes; <base_url>/sign-in/return for the console",
    ),
    tables(secret(
        "login_providers",
        "none",
        "Further login providers, as tables in the file or as JSON: see audit.md",
    )),
    tables(secret(
        "oauth_clients",
        "none",
        "OAuth clients for connections by consent, for all workspaces, as tables in the file or as JSON: see \
         connections.md",
    )),
    tables(setting(
        "group_roles",
        "none",
        "Which groups of login providers give which roles in which workspaces, as tables in the file or as JSON: see audit.md",
    )),
    setting(
        "auth_rate_limit",
        "10,30",
        "Login and registration attempts per minute: per email, per IP address",
    ),
    setting(
        "registration_limit",
        "200,10000",
        "Registrations per hour: per IP address, in total; 0: no limit",
    ),
    setting(
        "write_rate_limit",
        "6000",
        "Changes per minute that one user may make through the API; 0: no limit",
    ),
    setting(
        "quota_workspaces",
        "100",
        "Workspaces that one user may create; 0: no limit",
    ),
    setting(
        "quota_environments",
        "500",
        "Environments in one user's workspaces",
    ),
    setting(
        "quota_members",
        "5000",
        "Members and invitations in one user's workspaces",
    ),
    setting("quota_patterns", "10000", "Patterns that one user may create"),
    setting(
        "quota_pattern_bytes",
        "1GiB",
        "Storage for all versions and tests of one user's patterns, and for drafts",
    ),
    setting("quota_versions", "100000", "Versions per pattern"),
    setting(
        "quota_endpoints",
        "1000",
        "Webhooks and email addresses over the life of a pattern",
    ),
    setting("quota_secrets", "5000", "Secrets in one user's workspaces"),
    setting(
        "quota_secret_bytes",
        "64MiB",
        "Storage for the secrets in one user's workspaces",
    ),
    setting(
        "quota_connections",
        "1000",
        "Connections that one user may create",
    ),
    setting(
        "quota_connection_bytes",
        "64MiB",
        "Storage for the credentials of one user's connections",
    ),
    setting("quota_api_keys", "200", "API keys per user"),
    setting(
        "quota_module_bytes",
        "4GiB",
        "Storage for the modules of one user's deployments, and for replaced ones that are still kept",
    ),
    setting("quota_schedules", "2000", "Schedules in one user's deployments"),
    setting("quota_file_bytes", "20GiB", "Files in one user's workspaces"),
    setting("quota_files", "1000000", "Number of files in a user's workspaces"),
    setting(
        "quota_key_values",
        "1000000",
        "Values that KeyValue keeps in one user's workspaces",
    ),
    setting(
        "quota_key_value_bytes",
        "1GiB",
        "Storage for values that KeyValue keeps in one user's workspaces",
    ),
    setting(
        "quota_waiting_runs",
        "100000",
        "Waiting runs in one user's workspaces; a run that would exceed it fails",
    ),
    setting(
        "quota_waiting_run_bytes",
        "10GiB",
        "Storage for the events of waiting runs and the results of their effects, measured once a minute",
    ),
    setting(
        "workspace_runs_per_month",
        "0",
        "Runs that a workspace may start in a month (UTC), unless the operator has set another quota for it; 0: no limit. The \
         same holds for the following",
    ),
    setting(
        "workspace_fuel_per_month",
        "0",
        "Fuel that the runs of a workspace may use in a month",
    ),
    setting(
        "workspace_egress_per_month",
        "0",
        "Bytes that the runs of a workspace may send to other hosts in a month",
    ),
    setting(
        "workspace_webhooks_per_minute",
        "0",
        "Webhook events of a workspace that start runs in a minute, counted by each server",
    ),
    setting("workspace_patterns", "0", "Patterns of a workspace"),
    setting("workspace_waiting_runs", "0", "Waiting runs of a workspace"),
    setting(
        "workspace_key_values",
        "0",
        "Values that KeyValue keeps for a workspace",
    ),
    setting(
        "workspace_storage",
        "0",
        "Storage of a workspace, measured every ten minutes; beyond it neither runs nor versions are added",
    ),
    setting("workspace_memory_mb_per_run", "0", "MiB of memory of one run"),
    setting(
        "workspace_compute_seconds_per_run",
        "0",
        "Compute seconds of one run, each of 5000000000 units of fuel",
    ),
    setting("workspace_effects_per_run", "0", "Effects that one run may start"),
    setting(
        "webhook_rate_limit",
        "100",
        "Webhook requests per minute from one IP address; 0: no limit",
    ),
    setting(
        "webhook_rate_limit_by",
        "address",
        "What webhook_rate_limit counts by: address (over all webhooks) or webhook (for each webhook and address)",
    ),
    setting(
        "webhook_tenant_rate_limit",
        "0",
        "Requests per minute to all webhooks of a workspace, or of a user outside of workspaces; 0: no limit",
    ),
    setting("webhook_max_body", "8MiB", "Largest body of a webhook request"),
    setting(
        "api_max_body",
        "8MiB",
        "Largest request body under /api; six times as large for deploy, transpile and run, which carry \
         components",
    ),
    setting(
        "header_timeout",
        "15s",
        "Time limit for receiving a request's headers",
    ),
    setting(
        "body_timeout",
        "30s",
        "Time limit for receiving a request's body, plus one second for each 16 KiB",
    ),
    setting(
        "idle_timeout",
        "75s",
        "Time limit between two requests on a connection",
    ),
    setting(
        "stall_timeout",
        "30s",
        "Time limit for a body or an answer that makes no progress",
    ),
    setting(
        "max_connections",
        "10000",
        "Connections in total; fewer if the system's limit on open files is low",
    ),
    setting(
        "max_connections_per_address",
        "an eighth of max_connections",
        "Connections from one IP address (IPv6: one /64), except from this machine and trusted_proxies",
    ),
    setting(
        "max_unfinished_bodies",
        "256MiB",
        "Memory for partially received bodies; a quarter of it per IP address",
    ),
    setting("max_streams", "1000", "Live tails (…/stream) in total"),
    setting("max_streams_per_user", "50", "Live tails per user"),
    setting(
        "metrics_listen",
        "none",
        "Separate address for /metrics; without one it is served at listen, to private networks only",
    ),
    secret(
        "metrics_token",
        "none",
        "Token for /metrics, sent as `Authorization: Bearer …`; with it, any network may ask",
    ),
    setting(
        "metrics_tenants",
        "0",
        "Workspaces (and users outside of workspaces) with metrics of their own; those of further ones are counted \
         together. 0: none",
    ),
    secret(
        "operator_token",
        "none",
        "Token of the operator's API at /operator, sent as `Authorization: Bearer …`: at least 32 characters. Without it \
         the API is off",
    ),
    setting(
        "operator_listen",
        "none",
        "Separate address for the operator's API; without one it is served at listen",
    ),
    setting(
        "large_request_memory",
        "256MiB",
        "Memory for all large requests and answers under /api, and for what forms, chats and callbacks are sent; one user gets \
         half of it at most, and so do all imports and previews together, of which one user has half",
    ),
    setting(
        "trusted_proxies",
        "none",
        "Networks whose X-Forwarded-For is trusted, separated by commas",
    ),
    setting(
        "cors_origins",
        "none",
        "Origins of pages that may use the API, separated by commas; * for any",
    ),
    setting(
        "egress_allow",
        "none",
        "Networks or host:port that may be reached although they aren't public, separated by commas",
    ),
    setting(
        "file_store",
        "<data_dir>/files",
        "Where files of runs are: a directory, or a bucket of a service that speaks S3's protocol, as s3://bucket/prefix. Several \
         servers need a bucket, or a directory that all of them have",
    ),
    setting(
        "file_store_endpoint",
        "Amazon's",
        "Address of the service that has the bucket, such as https://s3.example.com",
    ),
    setting("file_store_region", "us-east-1", "Region of the bucket"),
    setting(
        "file_store_access_key",
        "the machine's role",
        "Id of the key that may read, write and delete objects in the bucket",
    ),
    secret(
        "file_store_secret_key",
        "the machine's role",
        "The key itself; required with file_store_access_key",
    ),
    setting("file_max_bytes", "5GiB", "Largest file"),
    setting(
        "file_unused_ttl",
        "24h",
        "How long an uploaded file is kept while nothing refers to it",
    ),
    setting(
        "sqlite_dir",
        "none",
        "Directory for SQLite files that connections may use, with a subdirectory for each workspace; \
         without it they may use none",
    ),
    setting(
        "connectors",
        "64 on Linux, 0 elsewhere",
        "Concurrent processes for drivers of databases and mail servers, of which one owner of workspaces leaves at least as many free \
         as they have; 0: drivers, and what reads mailboxes, run in the server itself, which a hostile server can then crash",
    ),
    setting(
        "isolation",
        "process on Linux",
        "Where compilers, drivers and what reads email run: process (in separate, confined processes) or thread \
         (in this process)",
    ),
    setting(
        "run_isolation",
        "thread",
        "Where runs execute: process (in as many separate, confined processes as there are workers; Linux \
         only) or thread (in this process)",
    ),
    setting(
        "executor_groups",
        "none",
        "Tenants whose runs execute in processes of their own, with run_isolation = process: ids of workspaces \
         or users, separated by commas, and by semicolons between groups; after a colon a group's number of \
         processes",
    ),
    setting(
        "compile_timeout_ms",
        "20000",
        "CPU time for one compilation, in milliseconds; its wall-clock limit is three times as long, and at \
         least a minute",
    ),
    setting(
        "compile_memory",
        "1GiB",
        "Memory for one compilation, in its process",
    ),
    setting("run_timeout_ms", "300000", "Time limit of a run, in milliseconds"),
    setting(
        "test_timeout_ms",
        "10000",
        "Time limit of a test run, in milliseconds",
    ),
    setting(
        "run_fuel",
        "10000000000",
        "Fuel limit of a run, roughly instructions",
    ),
    setting("run_memory", "256MiB", "Memory limit of a run, at least 16MiB"),
    setting(
        "run_fuel_ceiling",
        "300000000000",
        "Fuel that a pattern may give its runs by `computeSeconds`, of 5000000000 each; at least run_fuel",
    ),
    setting(
        "run_memory_ceiling",
        "512MiB",
        "Memory that a pattern may give its runs by `memoryMb`; at least run_memory",
    ),
    setting("run_effects", "1000", "Effects that a run may start"),
    setting(
        "run_effects_ceiling",
        "10000",
        "Effects that a pattern may give its runs by `maxEffects`; at least run_effects, at most 100000",
    ),
    setting(
        "runs_memory",
        "half of the machine's, at least 1GiB",
        "Memory limit of all executing runs together, of which one user's runs leave a fifth to those of others; a run that \
         needs more than is left fails",
    ),
    setting("workspace_concurrency", "64", "Concurrent runs per workspace"),
    setting(
        "mailboxes",
        "64",
        "Mailboxes that a server stays connected to, each by a process of its own where connectors are processes",
    ),
    setting("workspace_mailboxes", "20", "Such mailboxes of one workspace"),
    setting("workers", "processors", "Threads that execute runs"),
    setting(
        "queue_runs",
        "10000",
        "Accepted runs that may wait; beyond that webhooks get 503",
    ),
    setting(
        "lease_ms",
        "15000",
        "With PostgreSQL: milliseconds without a sign of life after which other servers take over a server's \
         runs; at least 1000",
    ),
    setting(
        "crash_backoff",
        "1s",
        "After two crashes in a row a start waits twice as long as this, then 5, 10 and 15 times; 0s: not at \
         all",
    ),
    setting("retention", "30d", "How long ended runs are kept"),
    setting("retention_runs", "100000", "Ended runs kept per workspace"),
    setting(
        "retention_bytes",
        "20GiB",
        "Storage for the runs of a workspace, counted about once an hour; beyond it the oldest ended runs are \
         removed; 0: no limit",
    ),
    setting(
        "retention_bytes_per_user",
        "100GiB",
        "Storage for the runs in all workspaces that one user has made; beyond it the oldest ended runs of the largest are removed; 0: no limit",
    ),
    setting(
        "audit_retention",
        "365d",
        "How long entries of the audit log are kept",
    ),
    setting(
        "audit_entries",
        "100000",
        "Entries of the audit log kept per workspace, and per account; 0: no limit",
    ),
    setting(
        "retention_journals",
        "7d",
        "How long the journals of failed runs are kept, by which runs are replayed, and modules that a newer \
         deployment has replaced; 0s: such journals are removed with the run's end",
    ),
    setting(
        "retention_journal_runs",
        "1000",
        "Successful runs per workspace whose journals are kept; 0: none",
    ),
    setting(
        "retention_journal_bytes",
        "256MiB",
        "Storage for the journals kept for a workspace; beyond it the oldest are removed; 0: no limit",
    ),
    setting(
        "webhook_log_lines",
        "100000",
        "Lines of the webhook log kept per pattern; 0: no limit",
    ),
    setting(
        "webhook_log_lines_per_user",
        "2000000",
        "Lines of the webhook log kept for all patterns of one user; beyond it the oldest lines of the patterns with most are removed; 0: no limit",
    ),
    setting(
        "captured_bytes_per_user",
        "512MiB",
        "Storage for the events that all webhooks of one user have captured within half an hour, measured once a minute; beyond it the \
         oldest are removed; 0: no limit",
    ),
    setting(
        "mail_domain",
        "localhost",
        "Domain of the addresses of OnEmail nodes",
    ),
    secret(
        "inbound_secret",
        "none",
        "Secret for POST /inbound/email, which is closed without one",
    ),
    setting("smtp_listen", "none", "Address of the built-in SMTP listener"),
    setting(
        "log",
        "info",
        "What is logged: error, warn, info, debug, trace, or per module as in info,sqlx=warn",
    ),
    setting("log_format", "text", "Format of the log: text or json"),
    setting(
        "slow_request",
        "5s",
        "Requests that take longer are logged as warnings; 0s: none",
    ),
    setting(
        "otlp_endpoint",
        "none",
        "OTLP/HTTP collector for traces, such as http://127.0.0.1:4318",
    ),
];
