//! `heddle backup`: a checked copy of the embedded database in one file, made while a server goes on writing to it.

use super::data_dir;
use super::failure::{Exit, Failure};
use super::output;
use super::serve;
use super::settings::gathered;
use crate::config::sources::{Flags, Values};
use crate::config::{keys, settings};
use bytesize::ByteSize;
use clap::Args;
use heddle_model::error::chain;
use heddle_store::StoreError;
use heddle_store::snapshot::{self, NamedKey};
use heddle_store::sqlite_file::{self, Depth, Found};
use heddle_store::vault::MasterKeyId;
use serde_json::json;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Flags of `heddle backup`.
#[derive(Args, Debug)]
pub struct BackupArgs {
    /// File to create.
    file: PathBuf,
    /// Replace the file if it exists.
    #[arg(long)]
    force: bool,
    /// Include the master key and the token secret in the file: anybody who has it can then read all credentials.
    #[arg(long)]
    with_keys: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    settings: Flags,
}

/// Runs the command.
pub fn backup(args: &BackupArgs) -> Result<ExitCode, Failure> {
    let values = gathered(&args.settings)?;
    if values.text("database_url").is_some() {
        return Err(for_postgres(&args.file));
    }
    let data_dir = settings::data_dir(&values);
    let source = data_dir::database(&data_dir);
    if !source.exists() {
        let message = format!(
            "there is no database in {}: name the server's data directory with --data-dir",
            data_dir.display()
        );
        return Err(Failure::new(Exit::File, "FILE", message));
    }
    if args.file.is_dir() {
        let message = format!(
            "{} is a directory: give the name of a file in it",
            args.file.display()
        );
        return Err(Failure::usage(message));
    }
    if args.file.exists() && !args.force {
        let message = format!(
            "{} already exists: choose another name, or replace it with --force",
            args.file.display()
        );
        return Err(Failure::new(Exit::Failed, "EXISTS", message));
    }
    if args.file.exists() && fs::canonicalize(&args.file).ok() == fs::canonicalize(&source).ok() {
        return Err(Failure::usage("FILE is the database itself"));
    }
    let unfinished = unfinished(&args.file);
    let made = make(args, &values, &data_dir, &unfinished);
    if made.is_err() {
        // Unless it could not even be made.
        let _ = fs::remove_file(&unfinished);
    }
    report(args, &values, &data_dir, &made?)?;
    note_files(&values, &data_dir);
    Ok(ExitCode::SUCCESS)
}

/// The copy is made under this name, and gets its own when it is whole.
fn unfinished(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".unfinished");
    name.into()
}

fn make(args: &BackupArgs, values: &Values, data_dir: &Path, unfinished: &Path) -> Result<Found, Failure> {
    let failed = |error: io::Error| {
        let message = format!("can't write {}: {error}", args.file.display());
        Failure::new(Exit::File, "FILE", message)
    };
    let file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(unfinished)
        .map_err(failed)?;
    let copied = serve::wait(async {
        snapshot::copy(&data_dir::database(data_dir), unfinished).await?;
        sqlite_file::check(unfinished, Depth::Full).await
    })?;
    let mut found = copied
        .map_err(not_made)?
        .ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
    if args.with_keys {
        let keys = keys_of(values, data_dir, &found)?;
        serve::wait(snapshot::put_keys(unfinished, &keys))?.map_err(not_made)?;
        found.bytes = unfinished.metadata().map_err(failed)?.len();
    }
    file.sync_all().map_err(failed)?;
    fs::rename(unfinished, &args.file).map_err(failed)?;
    let dir = args.file.parent().filter(|dir| !dir.as_os_str().is_empty());
    File::open(dir.unwrap_or(Path::new(".")))
        .and_then(|dir| dir.sync_all())
        .map_err(failed)?;
    Ok(found)
}

fn not_made(error: StoreError) -> Failure {
    match error {
        error @ StoreError::Unusable { .. } => serve::not_opened(error),
        error => {
            let message = format!("can't make the backup: {}", chain(&error));
            Failure::new(Exit::File, "DATABASE", message)
        }
    }
}

/// The keys in effect, of which the master key must be the copy's.
fn keys_of(values: &Values, data_dir: &Path, found: &Found) -> Result<Vec<NamedKey>, Failure> {
    let mut keys = Vec::new();
    for name in keys::NAMES {
        let text = match values.text(name) {
            Some(text) => text.to_owned(),
            None => {
                let path = keys::path(data_dir, name);
                fs::read_to_string(&path).map_err(|error| {
                    Failure::new(
                        Exit::File,
                        "FILE",
                        format!("the key {} can't be read: {error}", path.display()),
                    )
                })?
            }
        };
        keys.push((name.to_owned(), text.trim().to_owned()));
    }
    let held = held_id(values, data_dir);
    if found.master_key_id.is_some() && held != found.master_key_id {
        let message =
            "the master key here is not the one that the database uses: complete `heddle keys rotate` first";
        return Err(Failure::new(Exit::Failed, "MASTER_KEY", message));
    }
    Ok(keys)
}

/// Id of the master key that the settings or the data directory give.
pub fn held_id(values: &Values, data_dir: &Path) -> Option<String> {
    let from_file = || fs::read_to_string(keys::path(data_dir, "master_key")).ok();
    let text = values.text("master_key").map(str::to_owned).or_else(from_file)?;
    Some(MasterKeyId::of(&keys::decode(&text)?).as_str().to_owned())
}

fn report(args: &BackupArgs, values: &Values, data_dir: &Path, found: &Found) -> Result<(), Failure> {
    let file = args.file.display().to_string();
    let needed = found.master_key_id.as_deref();
    let held = held_id(values, data_dir);
    if args.json {
        let summary = json!({
            "file": file,
            "bytes": found.bytes,
            "schema": found.schema,
            "masterKeyId": needed,
            "withKeys": args.with_keys,
        });
        output::result(&summary.to_string())?;
    } else {
        let size = ByteSize::b(found.bytes);
        output::result(&format!(
            "{file}: {size}, checked, tables at version {}",
            found.schema
        ))?;
    }
    if args.with_keys {
        output::note(&format!(
            "{file} contains the keys: anybody who has it can read all credentials and sign in as any user. \
             Encrypt it, or store it as securely as the keys themselves."
        ));
        return Ok(());
    }
    let place = |name: &str| match values.text(name) {
        Some(_) => format!("HEDDLE_{}", name.to_uppercase()),
        None => keys::path(data_dir, name).display().to_string(),
    };
    output::note(&format!(
        "{file} contains no keys. Store a copy of these somewhere else: without the first nobody can read \
         the credentials, without the second all tokens and callback URLs are invalid (--with-keys includes \
         both in the file).\n  {}{}\n  {}",
        place("master_key"),
        needed.map_or(String::new(), |id| format!(" (id {id})")),
        place("jwt_secret"),
    ));
    if needed.is_some() && held.as_deref() != needed {
        output::note(
            "The master key there is a different one: `heddle keys rotate` was interrupted, or has just \
             completed.",
        );
    }
    Ok(())
}

/// Says that what files hold is somewhere else, if there are any.
fn note_files(values: &Values, data_dir: &Path) {
    let place = values.text("file_store").map(str::to_owned);
    let place = place.unwrap_or_else(|| data_dir.join("files").display().to_string());
    let is_there = place.starts_with("s3://")
        || Path::new(&place)
            .read_dir()
            .is_ok_and(|mut dir| dir.next().is_some());
    if is_there {
        output::note(&format!(
            "The contents of files are in {place}, not in this backup: copy them now. For an hour, all that the backup \
             refers to stays there."
        ));
    }
}

fn for_postgres(file: &Path) -> Failure {
    Failure::usage(format!(
        "the database is PostgreSQL: back it up with its own tool, which works while servers run:\n  pg_dump \
         --format=custom --file={} \"$HEDDLE_DATABASE_URL\"\n\
         Store HEDDLE_MASTER_KEY and HEDDLE_JWT_SECRET as well, somewhere else",
        quoted(file)
    ))
}

/// As a shell takes it.
pub fn quoted(file: &Path) -> String {
    let text = file.display().to_string();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte);
    match text.bytes().all(is_plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}
