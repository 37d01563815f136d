//! Parsing and validation of settings. Their names are in [`super::table`].

use super::files::FileSettings;
use super::http::HttpLimits;
use super::sources::{SettingError, Values};
use super::values::{bytes, domain, duration, origin, set};
use super::{Config, LogFormat, installed, keys, logins, oauth_clients};
use heddle_execution::compile::Isolation;
use heddle_model::quota::Quota;
use heddle_model::server_role::ServerRole;
use heddle_model::workspace_quota::WorkspaceQuota;
use heddle_runtime::{EgressPolicy, Mailer, MailerError, WorkerProgram};
use heddle_service::auth::email;
use heddle_service::auth::limits::{AuthRateLimit, RegistrationLimit};
use heddle_service::auth::registration::{Mode, Registration};
use heddle_service::webhooks::CountedBy;
use secrecy::SecretString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Minimum lease: a busy machine needs some time to renew it.
const LEASE_MIN: Duration = Duration::from_secs(1);

/// Minimum time and memory for a compilation: with less, legitimate patterns don't compile.
const COMPILE_TIMEOUT_MIN: Duration = Duration::from_secs(1);
const COMPILE_MEMORY_BYTES_MIN: u64 = 512 << 20;
/// As the least `memoryMb` of a pattern: a run needs some before it has done anything.
const MEMORY_BYTES_MIN: usize = 16 << 20;
/// All that 32 bits can address.
const MEMORY_CEILING_BYTES_MAX: usize = 4 << 30;
/// Effects of a run: what is kept of each is little, but not nothing (see `retention_journal_bytes`).
const EFFECTS_CEILING_MAX: u32 = 100_000;

/// Reads all settings; the first error is reported with its place. Missing keys are generated in the data directory.
pub fn read(values: &Values) -> Result<Config, SettingError> {
    let listen = listen(values)?;
    let data_dir = data_dir(values);
    let is_shared = values.text("database_url").is_some();
    let found = keys::Keys::load(values, &data_dir, is_shared)?;
    let mut config = Config::new(listen, data_dir, found.master_key, found.jwt_secret);
    config.master_key_previous = found.master_key_previous;
    config.keys_made = found.made;
    identity(values, &mut config)?;
    http(values, &mut config)?;
    config.external_logins = logins::read(values, &config.base_url)?;
    config.oauth_clients = oauth_clients::read(values)?;
    runs(values, &mut config)?;
    connectors(values, &mut config)?;
    mail(values, &mut config)?;
    set(&mut config.log, values.parsed("log")?);
    config.log_format = match values.text("log_format") {
        None | Some("text") => LogFormat::Text,
        Some("json") => LogFormat::Json,
        Some(_) => return Err(values.error("log_format", "must be text or json")),
    };
    config.otlp_endpoint = values.read("otlp_endpoint", web_address)?;
    Ok(config)
}

/// The main address, for commands that need nothing else.
pub fn listen(values: &Values) -> Result<SocketAddr, SettingError> {
    Ok(values.parsed("listen")?.unwrap_or(([127, 0, 0, 1], 8080).into()))
}

/// The directory of the embedded database and the keys, for commands that need nothing else.
pub fn data_dir(values: &Values) -> PathBuf {
    values.text("data_dir").unwrap_or("./heddle-data").into()
}

fn identity(values: &Values, config: &mut Config) -> Result<(), SettingError> {
    set(&mut config.cache_dir, values.parsed("cache_dir")?);
    config.precompiled_dir = values.parsed("precompiled_dir")?.or_else(installed::code_dir);
    let database_url = values.text("database_url");
    config.database_url = database_url.map(Into::into);
    if let Some(url) = database_url
        && !url.starts_with("postgres://")
        && !url.starts_with("postgresql://")
    {
        return Err(values.error(
            "database_url",
            "must begin with postgres://; for SQLite leave it out",
        ));
    }
    set(&mut config.role, values.read("role", role)?);
    if config.role != ServerRole::All && config.database_url.is_none() {
        let why = format!(
            "{} needs a database_url: the embedded database serves a single server, which does everything",
            config.role.name()
        );
        return Err(values.error("role", why));
    }
    set(&mut config.console, values.read("console", truth)?);
    set(&mut config.token_ttl, values.read("token_ttl", duration)?);
    set(&mut config.session_ttl, values.read("session_ttl", duration)?);
    set(&mut config.local_auth, values.read("local_auth", truth)?);
    if let Some((email, ip)) = values
        .text("auth_rate_limit")
        .map(|text| text.split_once(',').unwrap_or((text, text)))
    {
        let count = |text: &str| {
            text.trim().parse().map_err(|_| {
                values.error(
                    "auth_rate_limit",
                    "must be two whole numbers, such as 10,30: per email, per IP address",
                )
            })
        };
        config.auth_rate_limit = AuthRateLimit {
            per_email: count(email)?,
            per_ip: count(ip)?,
        };
    }
    config.mailer = mailer(values)?;
    config.registration = registration(values, config)?;
    quotas(values, config)
}

/// How the service's own mail is sent.
fn mailer(values: &Values) -> Result<Option<Mailer>, SettingError> {
    let from = values.text("mail_from");
    let Some(url) = values.text("mail_url") else {
        return match from {
            Some(_) => Err(values.error("mail_from", "needs mail_url")),
            None => Ok(None),
        };
    };
    let from = from.ok_or_else(|| values.error("mail_from", "is required with mail_url"))?;
    let mailer = Mailer::new(&SecretString::from(url), from).map_err(|error| {
        let name = match error {
            MailerError::Url(_) => "mail_url",
            MailerError::From => "mail_from",
        };
        values.error(name, error)
    })?;
    Ok(Some(mailer))
}

fn registration(values: &Values, config: &Config) -> Result<Registration, SettingError> {
    let mode = values.read("registration", |text| {
        Mode::try_from(text.to_owned()).map_err(|_| "must be open, invitation, domains or closed".to_owned())
    })?;
    let mode = mode.unwrap_or_default();
    let mut domains = Vec::new();
    for given in values.list("registration_domains") {
        let wrong = || {
            values.error(
                "registration_domains",
                format!("`{given}` is not a domain such as example.com"),
            )
        };
        domains.push(email::read_domain(given).ok_or_else(wrong)?);
    }
    match (mode, domains.is_empty()) {
        (Mode::Domains, true) => {
            Err(values.error("registration_domains", "is required with registration = domains"))
        }
        (Mode::Domains, false) if config.mailer.is_none() => {
            let why = "domains needs mail_url: without mail nobody can prove that an address is theirs";
            Err(values.error("registration", why))
        }
        (Mode::Open | Mode::Invitation | Mode::Closed, false) => {
            Err(values.error("registration_domains", "needs registration = domains"))
        }
        _ => Ok(Registration { mode, domains }),
    }
}

fn quotas(values: &Values, config: &mut Config) -> Result<(), SettingError> {
    if let Some((ip, all)) = values
        .text("registration_limit")
        .map(|text| text.split_once(',').unwrap_or((text, "0")))
    {
        let count = |text: &str| {
            let problem = "must be two whole numbers, such as 200,10000: per IP address, in total";
            text.trim()
                .parse()
                .map_err(|_| values.error("registration_limit", problem))
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
    workspace_quotas(values, config)
}

fn workspace_quotas(values: &Values, config: &mut Config) -> Result<(), SettingError> {
    // How many run at once is a setting of its own, which has no 0.
    let counted = WorkspaceQuota::ALL
        .iter()
        .filter(|quota| **quota != WorkspaceQuota::RunsAtOnce);
    for quota in counted {
        let limit = match quota.is_of_bytes() {
            true => values
                .read(quota.setting(), bytes)?
                .map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX)),
            false => values.parsed(quota.setting())?,
        };
        if limit.is_some_and(|limit| limit < 0) {
            return Err(values.error(quota.setting(), "must not be negative"));
        }
        if limit.is_some_and(|limit| limit > 0 && limit < quota.least()) {
            let least = quota.least();
            return Err(values.error(quota.setting(), format!("must be 0 or at least {least}")));
        }
        config
            .workspace_quotas
            .set(*quota, limit.filter(|limit| *limit > 0));
    }
    Ok(())
}

fn http(values: &Values, config: &mut Config) -> Result<(), SettingError> {
    if let Some(url) = values.text("base_url") {
        if !url.starts_with("http://") && !url.starts_with("https://") {
            return Err(values.error("base_url", "must begin with http:// or https://"));
        }
        config.base_url = url.trim_end_matches('/').to_owned();
    }
    set(
        &mut config.webhook_rate_limit,
        values.parsed("webhook_rate_limit")?,
    );
    set(
        &mut config.webhook_rate_limit_by,
        values.read("webhook_rate_limit_by", |text| match text {
            "address" => Ok(CountedBy::Address),
            "webhook" => Ok(CountedBy::Webhook),
            _ => Err("must be address or webhook".to_owned()),
        })?,
    );
    set(
        &mut config.webhook_tenant_rate_limit,
        values.parsed("webhook_tenant_rate_limit")?,
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
    config.metrics_token = values.text("metrics_token").map(Into::into);
    config.operator_token = operator_token(values)?;
    if config.operator_token.is_none() && config.http.operator_listen.is_some() {
        return Err(values.error("operator_listen", "needs operator_token"));
    }
    set(&mut config.metrics_tenants_max, values.parsed("metrics_tenants")?);
    set(&mut config.slow_request, values.read("slow_request", duration)?);
    for network in values.list("trusted_proxies") {
        let parsed = network
            .parse()
            .or_else(|_| network.parse().map(|ip: std::net::IpAddr| ip.into()));
        let parsed = parsed.map_err(|_| {
            values.error(
                "trusted_proxies",
                format!("`{network}` is not a network such as 10.0.0.0/8"),
            )
        })?;
        config.trusted_proxies.push(parsed);
    }
    for given in values.list("cors_origins") {
        let wrong = || {
            let message = format!("`{given}` is not an origin such as https://app.example.com");
            values.error("cors_origins", message)
        };
        config.cors_origins.push(origin(given).ok_or_else(wrong)?);
    }
    config.egress = EgressPolicy::parse(values.list("egress_allow"))
        .map_err(|error| values.error("egress_allow", error.to_string()))?;
    config.sqlite_dir = values.parsed("sqlite_dir")?;
    config.files = FileSettings::read(values)?;
    Ok(())
}

/// Whoever has it may delete every workspace: it must not be guessed.
const OPERATOR_TOKEN_BYTES_MIN: usize = 32;

/// The token of the operator's API, for commands that need nothing else.
pub fn operator_token(values: &Values) -> Result<Option<SecretString>, SettingError> {
    match values.text("operator_token") {
        Some(token) if token.len() < OPERATOR_TOKEN_BYTES_MIN => {
            let why = format!("must have at least {OPERATOR_TOKEN_BYTES_MIN} characters");
            Err(values.error("operator_token", why))
        }
        token => Ok(token.map(Into::into)),
    }
}

fn connectors(values: &Values, config: &mut Config) -> Result<(), SettingError> {
    let wanted: Option<usize> = values.parsed("connectors")?;
    if matches!(config.isolation, Isolation::Thread)
        || wanted == Some(0)
        || (wanted.is_none() && !cfg!(target_os = "linux"))
    {
        return Ok(());
    }
    let program = worker_program().map_err(|error| {
        values.error(
            "connectors",
            format!("can't be started, since this program can't be found ({error}); set it to 0"),
        )
    })?;
    config.connectors = Some(program);
    set(&mut config.connectors_max, wanted);
    Ok(())
}

/// How far patterns can raise the limits of their runs.
fn ceilings(values: &Values, config: &mut Config) -> Result<(), SettingError> {
    if let Some(fuel) = values.parsed::<u64>("run_fuel_ceiling")? {
        if fuel < config.run_fuel_max {
            return Err(values.error("run_fuel_ceiling", "must be at least run_fuel"));
        }
        config.run_fuel_ceiling = fuel;
    }
    if let Some(memory) = values.read("run_memory_ceiling", bytes)? {
        if memory < config.run_memory_bytes_max {
            return Err(values.error("run_memory_ceiling", "must be at least run_memory"));
        }
        if memory > MEMORY_CEILING_BYTES_MAX {
            return Err(values.error("run_memory_ceiling", "must be at most 4GiB"));
        }
        config.run_memory_bytes_ceiling = memory;
    }
    if let Some(effects) = values.parsed::<u32>("run_effects_ceiling")? {
        if effects < config.run_effects_max {
            return Err(values.error("run_effects_ceiling", "must be at least run_effects"));
        }
        if effects > EFFECTS_CEILING_MAX {
            let problem = format!("must be at most {EFFECTS_CEILING_MAX}");
            return Err(values.error("run_effects_ceiling", problem));
        }
        config.run_effects_ceiling = effects;
    }
    Ok(())
}

fn runs(values: &Values, config: &mut Config) -> Result<(), SettingError> {
    let millis = |name| Ok::<_, SettingError>(values.parsed(name)?.map(Duration::from_millis));
    set(&mut config.run_timeout, millis("run_timeout_ms")?);
    set(&mut config.test_timeout, millis("test_timeout_ms")?);
    set(&mut config.run_fuel_max, values.parsed("run_fuel")?);
    let memory = values.read("run_memory", bytes)?;
    if memory.is_some_and(|memory| memory < MEMORY_BYTES_MIN) {
        return Err(values.error("run_memory", "must be at least 16MiB"));
    }
    set(&mut config.run_memory_bytes_max, memory);
    if let Some(effects) = values.parsed::<u32>("run_effects")? {
        if !(1..=EFFECTS_CEILING_MAX).contains(&effects) {
            let problem = format!("must be from 1 to {EFFECTS_CEILING_MAX}");
            return Err(values.error("run_effects", problem));
        }
        config.run_effects_max = effects;
    }
    ceilings(values, config)?;
    let in_all = values.read("runs_memory", bytes)?;
    config.runs_memory_bytes_max = in_all.map(|bytes| u64::try_from(bytes).unwrap_or(u64::MAX));
    for (name, field) in [
        ("workspace_concurrency", &mut config.workspace_concurrency_max),
        ("workers", &mut config.workers),
        ("queue_runs", &mut config.queue_runs_max),
    ] {
        set(field, values.parsed(name)?);
        if *field == 0 {
            return Err(values.error(name, "must be at least 1"));
        }
    }
    set(&mut config.mailboxes_max, values.parsed("mailboxes")?);
    set(
        &mut config.workspace_mailboxes_max,
        values.parsed("workspace_mailboxes")?,
    );
    compilations(values, config)?;
    config.executors = executors(values)?;
    set(
        &mut config.executor_groups,
        values.read("executor_groups", super::executors::groups)?,
    );
    if config.executors.is_none() && !config.executor_groups.is_empty() {
        return Err(values.error("executor_groups", "needs run_isolation = process"));
    }
    set(&mut config.lease, millis("lease_ms")?);
    if config.lease < LEASE_MIN {
        return Err(values.error("lease_ms", "must be at least 1000"));
    }
    set(&mut config.crash_backoff, values.read("crash_backoff", duration)?);
    set(&mut config.retention, values.read("retention", duration)?);
    set(&mut config.retention_runs_max, values.parsed("retention_runs")?);
    let kept = values.read("retention_bytes", bytes)?;
    set(
        &mut config.retention_bytes_max,
        kept.map(|bytes| u64::try_from(bytes).unwrap_or(u64::MAX)),
    );
    let kept = values.read("retention_bytes_per_user", bytes)?;
    set(
        &mut config.retention_user_bytes_max,
        kept.map(|bytes| u64::try_from(bytes).unwrap_or(u64::MAX)),
    );
    set(
        &mut config.audit_retention,
        values.read("audit_retention", duration)?,
    );
    set(&mut config.audit_entries_max, values.parsed("audit_entries")?);
    set(
        &mut config.retention_journals,
        values.read("retention_journals", duration)?,
    );
    set(
        &mut config.retention_journal_runs_max,
        values.parsed("retention_journal_runs")?,
    );
    let kept = values.read("retention_journal_bytes", bytes)?;
    set(
        &mut config.retention_journal_bytes_max,
        kept.map(|bytes| u64::try_from(bytes).unwrap_or(u64::MAX)),
    );
    set(
        &mut config.webhook_log_lines_max,
        values.parsed("webhook_log_lines")?,
    );
    set(
        &mut config.webhook_log_user_lines_max,
        values.parsed("webhook_log_lines_per_user")?,
    );
    let kept = values.read("captured_bytes_per_user", bytes)?;
    set(
        &mut config.tap_user_bytes_max,
        kept.map(|bytes| u64::try_from(bytes).unwrap_or(u64::MAX)),
    );
    Ok(())
}

/// What is started as the processes that execute runs.
fn executors(values: &Values) -> Result<Option<WorkerProgram>, SettingError> {
    match values.text("run_isolation") {
        None | Some("thread") => Ok(None),
        Some("process") if cfg!(target_os = "linux") => {
            let failed = |error| values.error("run_isolation", format!("can't be process: {error}"));
            worker_program().map(Some).map_err(failed)
        }
        Some("process") => {
            Err(values.error("run_isolation", "can be process on Linux only; set it to thread"))
        }
        Some(_) => Err(values.error("run_isolation", "must be process or thread")),
    }
}

/// `heddle worker` of the program that this process executes; on Linux even if its file has been replaced, for example by a
/// newer heddle.
fn worker_program() -> std::io::Result<WorkerProgram> {
    let running = PathBuf::from("/proc/self/exe");
    let program = match running.exists() {
        true => running,
        false => std::env::current_exe()?,
    };
    Ok(WorkerProgram {
        program,
        arguments: vec!["worker".into()],
    })
}

fn compilations(values: &Values, config: &mut Config) -> Result<(), SettingError> {
    config.isolation = match values.text("isolation") {
        None if cfg!(not(target_os = "linux")) => Isolation::Thread,
        Some("thread") => Isolation::Thread,
        None | Some("process") => {
            let program = worker_program().map_err(|error| {
                values.error(
                    "isolation",
                    format!("can't be process: {error}; set it to thread"),
                )
            })?;
            Isolation::Process(program)
        }
        Some(_) => return Err(values.error("isolation", "must be process or thread")),
    };
    let timeout = values.parsed("compile_timeout_ms")?.map(Duration::from_millis);
    set(&mut config.compile_timeout, timeout);
    if config.compile_timeout < COMPILE_TIMEOUT_MIN {
        return Err(values.error("compile_timeout_ms", "must be at least 1000"));
    }
    let memory = values.read("compile_memory", bytes)?;
    set(
        &mut config.compile_memory_bytes_max,
        memory.and_then(|memory| u64::try_from(memory).ok()),
    );
    if config.compile_memory_bytes_max < COMPILE_MEMORY_BYTES_MIN {
        return Err(values.error("compile_memory", "must be at least 512MiB"));
    }
    Ok(())
}

fn mail(values: &Values, config: &mut Config) -> Result<(), SettingError> {
    set(&mut config.mail_domain, values.read("mail_domain", domain)?);
    config.inbound_secret = values.text("inbound_secret").map(Into::into);
    config.smtp_listen = values.parsed("smtp_listen")?;
    Ok(())
}

fn web_address(text: &str) -> Result<String, String> {
    match text.parse::<reqwest::Url>() {
        Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(text.to_owned()),
        _ => Err("must be a URL that begins with http:// or https://".to_owned()),
    }
}

fn role(text: &str) -> Result<ServerRole, String> {
    ServerRole::try_from(text.to_owned()).map_err(|_| "must be all, api or worker".to_owned())
}

fn truth(text: &str) -> Result<bool, String> {
    match text {
        "true" | "1" | "yes" | "on" => Ok(true),
        "false" | "0" | "no" | "off" => Ok(false),
        _ => Err("must be true or false".to_owned()),
    }
}
