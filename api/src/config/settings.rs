//! The settings by name, and how their texts are read. One table serves flags, environment, file and documentation.

use super::http::HttpLimits;
use super::sources::{Mistake, Values};
use super::{AuthRateLimit, Config, ExternalLogin, Isolation, LogFormat, RegistrationLimit, Role, keys};
use crate::quota::Quota;
use bytesize::ByteSize;
use heddle_runtime::{ConnectorProgram, EgressPolicy};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// Shortest lease: a busy machine needs its time to renew it.
const LEASE_MIN: Duration = Duration::from_secs(1);

/// Shortest time and least memory of a compilation: with less, honest patterns don't compile.
const COMPILE_TIMEOUT_MIN: Duration = Duration::from_secs(1);
const COMPILE_MEMORY_BYTES_MIN: u64 = 512 << 20;

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

/// Reads all settings; the first mistake is told with where it was made. Keys that must be there and are not are
/// made in the data directory.
pub fn read(values: &Values) -> Result<Config, Mistake> {
    let listen = values.parsed("listen")?.unwrap_or(([127, 0, 0, 1], 8080).into());
    let data_dir = data_dir(values);
    let is_shared = values.text("database_url").is_some();
    let found = keys::Keys::load(values, &data_dir, is_shared)?;
    let mut config = Config::new(listen, data_dir, found.master_key, found.jwt_secret);
    config.master_key_previous = found.master_key_previous;
    config.keys_made = found.made;
    identity(values, &mut config)?;
    http(values, &mut config)?;
    runs(values, &mut config)?;
    mail(values, &mut config)?;
    set(&mut config.log, values.parsed("log")?);
    config.log_format = match values.text("log_format") {
        None | Some("text") => LogFormat::Text,
        Some("json") => LogFormat::Json,
        Some(_) => return Err(values.mistake("log_format", "must be text or json")),
    };
    config.otlp_endpoint = values.read("otlp_endpoint", web_address)?;
    Ok(config)
}

/// Where the embedded database and the keys are, for those who need nothing else.
pub fn data_dir(values: &Values) -> PathBuf {
    values.text("data_dir").unwrap_or("./heddle-data").into()
}

fn identity(values: &Values, config: &mut Config) -> Result<(), Mistake> {
    set(&mut config.cache_dir, values.parsed("cache_dir")?);
    config.database_url = values.text("database_url").map(str::to_owned);
    if let Some(url) = &config.database_url
        && !url.starts_with("postgres://")
        && !url.starts_with("postgresql://")
    {
        return Err(values.mistake(
            "database_url",
            "must begin with postgres://; for SQLite leave it out",
        ));
    }
    set(&mut config.role, values.read("role", role)?);
    if config.role != Role::All && config.database_url.is_none() {
        let why = format!(
            "{} needs a database_url: the embedded database has one server, which does all",
            config.role.name()
        );
        return Err(values.mistake("role", why));
    }
    set(&mut config.token_ttl, values.read("token_ttl", duration)?);
    set(&mut config.session_ttl, values.read("session_ttl", duration)?);
    set(&mut config.local_auth, values.read("local_auth", truth)?);
    if let Some((email, ip)) = values
        .text("auth_rate_limit")
        .map(|text| text.split_once(',').unwrap_or((text, text)))
    {
        let count = |text: &str| {
            text.trim().parse().map_err(|_| {
                values.mistake(
                    "auth_rate_limit",
                    "must be two whole numbers, as in 10,30: for an email, for an address",
                )
            })
        };
        config.auth_rate_limit = AuthRateLimit {
            per_email: count(email)?,
            per_ip: count(ip)?,
        };
    }
    config.external_login = external_login(values)?;
    quotas(values, config)
}

fn quotas(values: &Values, config: &mut Config) -> Result<(), Mistake> {
    if let Some((ip, all)) = values
        .text("registration_limit")
        .map(|text| text.split_once(',').unwrap_or((text, "0")))
    {
        let count = |text: &str| {
            let problem = "must be two whole numbers, as in 200,10000: from an address, in all";
            text.trim()
                .parse()
                .map_err(|_| values.mistake("registration_limit", problem))
        };
        config.registration_limit = RegistrationLimit {
            per_ip: count(ip)?,
            in_all: count(all)?,
        };
    }
    set(&mut config.write_rate_limit, values.parsed("write_rate_limit")?);
    for quota in Quota::ALL {
        let limit = match quota.is_of_bytes() {
            true => values
                .read(quota.setting(), bytes)?
                .map(|bytes| u64::try_from(bytes).unwrap_or(u64::MAX)),
            false => values.parsed(quota.setting())?,
        };
        if let Some(limit) = limit {
            config.quotas.set(*quota, limit);
        }
    }
    Ok(())
}

fn external_login(values: &Values) -> Result<Option<ExternalLogin>, Mistake> {
    let text = |name| values.text(name).map(str::to_owned);
    let Some(client_id) = text("ext_client_id") else {
        let given = [
            "ext_client_secret",
            "ext_issuer",
            "ext_token_url",
            "ext_userinfo_url",
            "ext_redirect_uri",
        ];
        return match given.into_iter().find(|name| values.text(name).is_some()) {
            Some(name) => Err(values.mistake(name, "needs ext_client_id")),
            None => Ok(None),
        };
    };
    let needed = |name| text(name).ok_or_else(|| values.mistake(name, "is needed beside ext_client_id"));
    let login = ExternalLogin {
        client_id,
        client_secret: needed("ext_client_secret")?,
        issuer: text("ext_issuer"),
        token_url: text("ext_token_url"),
        userinfo_url: text("ext_userinfo_url"),
        redirect_uri: needed("ext_redirect_uri")?,
    };
    if login.issuer.is_none() && (login.token_url.is_none() || login.userinfo_url.is_none()) {
        return Err(values.mistake(
            "ext_issuer",
            "is needed, or both ext_token_url and ext_userinfo_url",
        ));
    }
    Ok(Some(login))
}

fn http(values: &Values, config: &mut Config) -> Result<(), Mistake> {
    if let Some(url) = values.text("base_url") {
        if !url.starts_with("http://") && !url.starts_with("https://") {
            return Err(values.mistake("base_url", "must begin with http:// or https://"));
        }
        config.base_url = url.trim_end_matches('/').to_owned();
    }
    set(
        &mut config.webhook_rate_limit,
        values.parsed("webhook_rate_limit")?,
    );
    set(
        &mut config.webhook_body_bytes_max,
        values.read("webhook_max_body", bytes)?,
    );
    set(
        &mut config.api_body_bytes_max,
        values.read("api_max_body", bytes)?,
    );
    set(
        &mut config.large_request_bytes_max,
        values.read("large_request_memory", bytes)?,
    );
    config.http = HttpLimits::read(values)?;
    for network in values.list("trusted_proxies") {
        let parsed = network
            .parse()
            .or_else(|_| network.parse().map(|ip: std::net::IpAddr| ip.into()));
        let parsed = parsed.map_err(|_| {
            values.mistake(
                "trusted_proxies",
                format!("`{network}` is no network, such as 10.0.0.0/8"),
            )
        })?;
        config.trusted_proxies.push(parsed);
    }
    config.cors_origins = values.list("cors_origins").map(str::to_owned).collect();
    config.egress = EgressPolicy::parse(values.list("egress_allow"))
        .map_err(|error| values.mistake("egress_allow", error.to_string()))?;
    config.sqlite_dir = values.parsed("sqlite_dir")?;
    connectors(values, config)
}

fn connectors(values: &Values, config: &mut Config) -> Result<(), Mistake> {
    let wanted: Option<usize> = values.parsed("connectors")?;
    if wanted == Some(0) || (wanted.is_none() && !cfg!(target_os = "linux")) {
        return Ok(());
    }
    let program = std::env::current_exe().map_err(|error| {
        values.mistake(
            "connectors",
            format!("can't be started, since this program can't be found ({error}); set it to 0"),
        )
    })?;
    config.connectors = Some(ConnectorProgram {
        program,
        arguments: vec!["connector".into()],
    });
    set(&mut config.connectors_max, wanted);
    Ok(())
}

fn runs(values: &Values, config: &mut Config) -> Result<(), Mistake> {
    let millis = |name| Ok::<_, Mistake>(values.parsed(name)?.map(Duration::from_millis));
    set(&mut config.run_timeout, millis("run_timeout_ms")?);
    set(&mut config.test_timeout, millis("test_timeout_ms")?);
    set(&mut config.run_fuel_max, values.parsed("run_fuel")?);
    set(
        &mut config.run_memory_bytes_max,
        values.read("run_memory", bytes)?,
    );
    for (name, field) in [
        ("workspace_concurrency", &mut config.workspace_concurrency_max),
        ("workers", &mut config.workers),
        ("queue_runs", &mut config.queue_runs_max),
    ] {
        set(field, values.parsed(name)?);
        if *field == 0 {
            return Err(values.mistake(name, "must be at least 1"));
        }
    }
    compilations(values, config)?;
    set(&mut config.lease, millis("lease_ms")?);
    if config.lease < LEASE_MIN {
        return Err(values.mistake("lease_ms", "must be at least 1000"));
    }
    set(&mut config.crash_backoff, values.read("crash_backoff", duration)?);
    set(&mut config.retention, values.read("retention", duration)?);
    set(&mut config.retention_runs_max, values.parsed("retention_runs")?);
    Ok(())
}

/// The program that this process executes; on Linux also when another one, such as a newer heddle, has taken its file's place.
fn own_program() -> std::io::Result<PathBuf> {
    let running = PathBuf::from("/proc/self/exe");
    match running.exists() {
        true => Ok(running),
        false => std::env::current_exe(),
    }
}

fn compilations(values: &Values, config: &mut Config) -> Result<(), Mistake> {
    config.isolation = match values.text("isolation") {
        None if cfg!(not(target_os = "linux")) => Isolation::Thread,
        Some("thread") => Isolation::Thread,
        None | Some("process") => {
            let program = own_program().map_err(|error| {
                values.mistake(
                    "isolation",
                    format!("can't be process: {error}; set it to thread"),
                )
            })?;
            Isolation::Process(program)
        }
        Some(_) => return Err(values.mistake("isolation", "must be process or thread")),
    };
    let timeout = values.parsed("compile_timeout_ms")?.map(Duration::from_millis);
    set(&mut config.compile_timeout, timeout);
    if config.compile_timeout < COMPILE_TIMEOUT_MIN {
        return Err(values.mistake("compile_timeout_ms", "must be at least 1000"));
    }
    let memory = values.read("compile_memory", bytes)?;
    set(
        &mut config.compile_memory_bytes_max,
        memory.and_then(|memory| u64::try_from(memory).ok()),
    );
    if config.compile_memory_bytes_max < COMPILE_MEMORY_BYTES_MIN {
        return Err(values.mistake("compile_memory", "must be at least 512MiB"));
    }
    Ok(())
}

fn mail(values: &Values, config: &mut Config) -> Result<(), Mistake> {
    set(&mut config.mail_domain, values.parsed("mail_domain")?);
    config.inbound_secret = values.text("inbound_secret").map(str::to_owned);
    config.smtp_listen = values.parsed("smtp_listen")?;
    Ok(())
}

pub(super) fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

fn web_address(text: &str) -> Result<String, String> {
    match text.parse::<reqwest::Url>() {
        Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(text.to_owned()),
        _ => Err("must be an address with http:// or https://".to_owned()),
    }
}

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|_| "must be a duration, such as 24h or 30d".to_owned())
}

pub(super) fn bytes(text: &str) -> Result<usize, String> {
    let size = ByteSize::from_str(text).map_err(|_| "must be a size, such as 8MiB".to_owned())?;
    usize::try_from(size.as_u64()).map_err(|_| "is too large".to_owned())
}

fn role(text: &str) -> Result<Role, String> {
    Role::try_from(text.to_owned()).map_err(|_| "must be all, api or worker".to_owned())
}

fn truth(text: &str) -> Result<bool, String> {
    match text {
        "true" | "1" | "yes" | "on" => Ok(true),
        "false" | "0" | "no" | "off" => Ok(false),
        _ => Err("must be true or false".to_owned()),
    }
}
