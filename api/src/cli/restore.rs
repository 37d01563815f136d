//! `heddle restore`: puts a backup in the place of the embedded database, or changes nothing.

use super::backup::{held_id, quoted};
use super::data_dir::{self, Lock};
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

/// Flags of `heddle restore`.
#[derive(Args, Debug)]
pub struct RestoreArgs {
    /// File created by `heddle backup`.
    file: PathBuf,
    /// Replace an existing database, and keys that differ from the backup's.
    #[arg(long)]
    force: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    settings: Flags,
}

/// Runs the command.
pub fn restore(args: &RestoreArgs) -> Result<ExitCode, Failure> {
    let values = gathered(&args.settings)?;
    if values.text("database_url").is_some() {
        return Err(for_postgres(&args.file));
    }
    let data_dir = settings::data_dir(&values);
    let target = data_dir::database(&data_dir);
    let source = File::open(&args.file).map_err(|error| {
        let message = format!("can't read {}: {error}", args.file.display());
        Failure::new(Exit::File, "FILE", message)
    })?;
    if target.exists() && fs::canonicalize(&args.file).ok() == fs::canonicalize(&target).ok() {
        return Err(Failure::usage("FILE is the database itself"));
    }
    if sqlite_file::log_of(&args.file).exists() {
        let message = format!(
            "{} is in use, or was copied while in use: the latest changes are in the file beside it that \
             ends in -wal. Back it up with `heddle backup`",
            args.file.display()
        );
        return Err(Failure::new(Exit::Failed, "IN_USE", message));
    }
    data_dir::make(&data_dir)?;
    let _lock = Lock::take(&data_dir)?;
    if target.exists() && !args.force {
        let message = format!(
            "{} already exists: to replace it and lose its contents, use --force",
            target.display()
        );
        return Err(Failure::new(Exit::Failed, "EXISTS", message));
    }
    let copy = data_dir.join("heddle.db.restoring");
    let restored = Restoring {
        args,
        values: &values,
        data_dir: &data_dir,
        copy: &copy,
    }
    .restore(source);
    if restored.is_err() {
        for path in [copy.clone()].iter().chain(&sqlite_file::companions_of(&copy)) {
            // Unless it is not there.
            let _ = fs::remove_file(path);
        }
    }
    let (found, keys) = restored?;
    report(args, &values, &data_dir, &found, &keys)?;
    Ok(ExitCode::SUCCESS)
}

struct Restoring<'a> {
    args: &'a RestoreArgs,
    values: &'a Values,
    data_dir: &'a Path,
    /// The backup's copy beside the database that it replaces.
    copy: &'a Path,
}

impl Restoring<'_> {
    /// Checks a copy of the backup first, then puts it in its place. Gives the keys that were in it, too.
    fn restore(&self, mut source: File) -> Result<(Found, Vec<NamedKey>), Failure> {
        let mut copy = fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(self.copy)
            .map_err(|error| self.failed(&error))?;
        io::copy(&mut source, &mut copy).map_err(|error| self.failed(&error))?;
        let checked = serve::wait(async {
            let found = sqlite_file::check(self.copy, Depth::Full).await?;
            Ok((found, snapshot::take_keys(self.copy).await?))
        })?;
        // What is wrong is wrong with the file that was given.
        let (found, keys) = checked.map_err(|error| self.not_usable(error))?;
        let found = found.ok_or_else(|| self.failed(&io::ErrorKind::NotFound.into()))?;
        self.needs_its_master_key(&found, &keys)?;
        copy.sync_all().map_err(|error| self.failed(&error))?;
        self.put(&keys).map_err(|error| self.failed(&error))?;
        Ok((found, keys))
    }

    fn failed(&self, error: &io::Error) -> Failure {
        let message = format!("can't restore {}: {error}", self.args.file.display());
        Failure::new(Exit::File, "FILE", message)
    }

    fn not_usable(&self, error: StoreError) -> Failure {
        let file = self.args.file.display();
        match error {
            StoreError::Unusable { reason, .. } => {
                let message = format!("{file} {reason}. Nothing was changed");
                Failure::new(Exit::Unusable, "BACKUP", message)
            }
            error => {
                let message = format!("can't restore {file}: {}", chain(&error));
                Failure::new(Exit::File, "DATABASE", message)
            }
        }
    }

    /// Credentials that nobody can read are found now rather than at the next start.
    fn needs_its_master_key(&self, found: &Found, keys: &[NamedKey]) -> Result<(), Failure> {
        let held = held_id(self.values, self.data_dir);
        let refused = |message: String| Err(Failure::new(Exit::Failed, "MASTER_KEY", message));
        let brought = keys.iter().find(|(name, _)| name == "master_key");
        if let Some((_, brought)) = brought {
            let brought = keys::decode(brought).map(|key| MasterKeyId::of(&key).as_str().to_owned());
            let is_other = held.is_some() && held != brought;
            if is_other && self.values.text("master_key").is_some() {
                return refused(
                    "HEDDLE_MASTER_KEY differs from the master key in the backup: unset it".to_owned(),
                );
            }
            if is_other && !self.args.force {
                let message = "the data directory and the backup have different master keys: to replace the \
                    one in the directory, use --force";
                return refused(message.to_owned());
            }
            return Ok(());
        }
        let Some(needed) = &found.master_key_id else {
            return Ok(());
        };
        if held.as_ref() == Some(needed) {
            return Ok(());
        }
        let place = keys::path(self.data_dir, "master_key");
        let place = place.display();
        refused(match held {
            Some(held) => format!(
                "the backup needs the master key with the id {needed}, but the one here is {held}: put the \
                 right key into {place} first, or set HEDDLE_MASTER_KEY"
            ),
            None => format!(
                "the backup needs the master key with the id {needed}: put the saved key file at {place} \
                 first, or set HEDDLE_MASTER_KEY"
            ),
        })
    }

    /// The old log has to go before the new database comes, since SQLite would apply it to that one.
    fn put(&self, keys: &[NamedKey]) -> io::Result<()> {
        let target = data_dir::database(self.data_dir);
        for (name, text) in keys {
            let path = keys::path(self.data_dir, name);
            let is_given = self.values.text(name).is_some();
            let kept = fs::read_to_string(&path).ok();
            if is_given || kept.as_ref().is_some_and(|kept| kept.trim() == text) {
                continue;
            }
            if kept.is_some() {
                fs::rename(&path, path.with_extension("replaced"))?;
            }
            keys::write(&path, text)?;
        }
        for path in sqlite_file::companions_of(&target) {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        let dir = File::open(self.data_dir)?;
        dir.sync_all()?;
        fs::rename(self.copy, &target)?;
        dir.sync_all()
    }
}

fn report(
    args: &RestoreArgs,
    values: &Values,
    data_dir: &Path,
    found: &Found,
    keys: &[NamedKey],
) -> Result<(), Failure> {
    let target = data_dir::database(data_dir).display().to_string();
    if args.json {
        let summary = json!({
            "database": target,
            "bytes": found.bytes,
            "schema": found.schema,
            "masterKeyId": found.master_key_id,
            "withKeys": !keys.is_empty(),
        });
        output::result(&summary.to_string())?;
    } else {
        let size = ByteSize::b(found.bytes);
        output::result(&format!(
            "{target}: restored, {size}, checked, tables at version {} of {}. `heddle serve` continues from \
             there.",
            found.schema,
            sqlite_file::schema_known()
        ))?;
    }
    let has_secret = values.text("jwt_secret").is_some() || keys::path(data_dir, "jwt_secret").exists();
    if !has_secret {
        output::note(
            "The token secret is missing: the next start generates a new one, so everybody has to log in \
             again, and the callback URLs of waiting runs become invalid. To prevent this, put the file \
             jwt-secret there first.",
        );
    }
    output::note(
        "Runs that were in progress at the time of the backup will be resumed. Make sure that the server \
         that was backed up is no longer running.",
    );
    Ok(())
}

fn for_postgres(file: &Path) -> Failure {
    Failure::usage(format!(
        "the database is PostgreSQL: stop the servers, and restore the output of pg_dump with\n  pg_restore \
         --clean --if-exists --single-transaction --dbname=\"$HEDDLE_DATABASE_URL\" {}",
        quoted(file)
    ))
}
