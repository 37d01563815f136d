//! `heddle config` and `heddle doctor`: the settings a server would start with, and whether it could start.

use super::data_dir;
use super::failure::{Exit, Failure};
use super::output;
use super::serve;
use crate::config::settings;
use crate::config::sources::{Flags, Source, Values};
use crate::config::table::{SETTINGS, Setting};
use crate::config::{Config, keys};
use crate::disk;
use crate::http::server::Tls;
use bytesize::ByteSize;
use clap::Args;
use heddle_model::error::chain;
use heddle_runtime::{CacheKey, Runtime, RuntimeConfig, is_precompiled};
use heddle_store::sqlite_file::{self, Depth};
use serde_json::{Map, Value, json};
use std::os::unix::fs::PermissionsExt;
use std::process::ExitCode;

/// Flags of `heddle config` and `heddle doctor`.
#[derive(Args, Debug)]
pub struct SettingsArgs {
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    settings: Flags,
}

/// The settings that were given to a command that serves nothing; what is to be said of them goes to standard error.
pub fn gathered(flags: &Flags) -> Result<Values, Failure> {
    let values = Values::gather(flags, std::env::vars())?;
    for warning in values.warnings() {
        output::note(&format!("warning: {warning}"));
    }
    Ok(values)
}

/// Prints the settings in effect, secrets masked.
pub fn config(args: &SettingsArgs) -> Result<ExitCode, Failure> {
    let values = gathered(&args.settings)?;
    let shown = |setting: &Setting| match (values.text(setting.name), setting.is_secret) {
        (Some(_), true) => "(set)".to_owned(),
        (Some(text), false) => text.to_owned(),
        (None, _) => setting.default.to_owned(),
    };
    let source = |setting: &Setting| match values.source(setting.name) {
        None => "default".to_owned(),
        Some(Source::Flag) => "flag".to_owned(),
        Some(Source::Environment) => "environment".to_owned(),
        Some(Source::File(path)) => path.display().to_string(),
    };
    if args.json {
        let settings = SETTINGS.iter().map(|setting| {
            let shown_setting =
                json!({"value": shown(setting), "from": source(setting), "help": setting.help});
            (setting.name.to_owned(), shown_setting)
        });
        output::result(&Value::Object(settings.collect::<Map<_, _>>()).to_string())?;
        return Ok(ExitCode::SUCCESS);
    }
    let width = SETTINGS
        .iter()
        .map(|setting| setting.name.len())
        .max()
        .unwrap_or_default();
    for setting in SETTINGS {
        let line = format!(
            "{:width$} = {}  # {}",
            setting.name,
            shown(setting),
            source(setting)
        );
        output::result(&line)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Checks all that a start needs, and says what to do about what is wrong.
pub fn doctor(args: &SettingsArgs) -> Result<ExitCode, Failure> {
    let values = gathered(&args.settings)?;
    let mut checks = vec![("settings", Ok("can be read".to_owned()))];
    match settings::read(&values) {
        Err(error) => checks = vec![("settings", Err(error.to_string()))],
        Ok(config) => {
            checks.push(("keys", key_files(&config)));
            checks.push(("address", address(&config)));
            if let Some(files) = &config.http.tls {
                let opened =
                    Tls::open(files).map(|_| "the certificate and its key belong together".to_owned());
                checks.push(("tls", opened.map_err(|error| chain(&error))));
            }
            checks.push(("database", database(&config)));
            checks.push(("disk", free_space(&config)));
            checks.push(("machine code", Ok(machine_code(&config))));
            checks.push(("sandbox", sandbox(&config)));
        }
    }
    let is_well = checks.iter().all(|(_, found)| found.is_ok());
    if args.json {
        let results = checks.iter().map(|(name, found)| {
            let (ok, message) = match found {
                Ok(message) => (true, message),
                Err(message) => (false, message),
            };
            json!({"check": name, "ok": ok, "message": message})
        });
        output::result(&Value::Array(results.collect()).to_string())?;
    } else {
        for (name, found) in &checks {
            let line = match found {
                Ok(message) => format!("ok       {name}: {message}"),
                Err(message) => format!("PROBLEM  {name}: {message}"),
            };
            output::result(&line)?;
        }
    }
    Ok(ExitCode::from(if is_well { 0 } else { Exit::Failed as u8 }))
}

fn key_files(config: &Config) -> Result<String, String> {
    for name in ["master_key", "jwt_secret"] {
        let path = keys::path(&config.data_dir, name);
        // Absent when the key comes from outside.
        let Ok(metadata) = path.metadata() else { continue };
        let mode = metadata.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            let path = path.display();
            return Err(format!(
                "{path} can be read by others (mode {mode:o}): run `chmod 600 {path}`"
            ));
        }
    }
    Ok("are there and private".to_owned())
}

fn address(config: &Config) -> Result<String, String> {
    match std::net::TcpListener::bind(config.listen) {
        Ok(_) => Ok(format!("{} is free", config.listen)),
        Err(error) => Err(format!(
            "can't listen on {}: {error}. Is a server already running? Choose another address with --listen",
            config.listen
        )),
    }
}

/// An embedded database is read as a whole, and not changed.
fn database(config: &Config) -> Result<String, String> {
    let message = |failure| match failure {
        Failure::Reported(reported) => reported.message,
        Failure::Closed => "did not open".to_owned(),
    };
    if config.database_url.is_some() {
        serve::with_store(config, async |_| Ok(())).map_err(message)?;
        return Ok("PostgreSQL answers, and its tables are up to date".to_owned());
    }
    let path = data_dir::database(&config.data_dir);
    let checked = serve::wait(sqlite_file::check(&path, Depth::Full)).map_err(message)?;
    let Some(found) = checked.map_err(|error| message(serve::not_opened(error)))? else {
        return Ok(format!("{} will be created by the first start", path.display()));
    };
    let size = ByteSize::b(found.bytes);
    let known = sqlite_file::schema_known();
    Ok(match found.schema == known {
        true => format!("SQLite, {size}: every page is intact, and its tables are up to date"),
        false => format!(
            "SQLite, {size}: every page is intact; the next start migrates its tables from version {} to \
             {known}",
            found.schema
        ),
    })
}

/// Before the first start the data directory is not there: its disk is that of the nearest directory above it.
fn free_space(config: &Config) -> Result<String, String> {
    if config.database_url.is_some() {
        return Ok("the database has its own".to_owned());
    }
    let there = config.data_dir.ancestors().find(|dir| dir.exists());
    let dir = there.unwrap_or(std::path::Path::new("."));
    let free = disk::check(dir).map_err(|problem| problem.to_string())?;
    Ok(format!("{} is free", ByteSize::b(free)))
}

/// That of heddle's own modules. Without it a start takes longer, which is not a problem.
fn machine_code(config: &Config) -> String {
    let compiles = "the first start compiles heddle's own parts, which takes some seconds";
    match config.precompiled_dir.as_deref().map(is_precompiled) {
        Some(Ok(true)) => "heddle's own parts were compiled when it was installed".to_owned(),
        Some(Ok(false)) | None => format!("{compiles}; `heddle precompile` does it before"),
        Some(Err(unusable)) => format!("{compiles}: {unusable}"),
    }
}

fn sandbox(config: &Config) -> Result<String, String> {
    let runtime = RuntimeConfig {
        cache_dir: Some(config.cache_dir.clone()),
        cache_key: Some(CacheKey::derived(config.master_key.expose())),
        precompiled_dir: config.precompiled_dir.clone(),
        ..RuntimeConfig::default()
    };
    Runtime::new(runtime).map_err(|error| error.to_string())?;
    Ok("WebAssembly compiles, and its cache is writable".to_owned())
}
