//! `heddle keys`: exchanges the master key, beside running servers.

use super::failure::{Exit, Failure};
use super::output;
use super::serve;
use super::settings::gathered;
use crate::config::Config;
use crate::config::keys;
use crate::config::settings;
use crate::config::sources::Flags;
use clap::{Args, Subcommand};
use heddle_model::clock::Clock;
use heddle_model::error::chain;
use heddle_store::Store;
use heddle_store::vault::{MASTER_KEY_BYTES, MasterKeyId, Vault, VaultError};
use serde_json::json;
use std::io::{self, BufRead};
use std::process::ExitCode;

/// Flags of `heddle keys`.
#[derive(Args, Debug)]
pub struct KeysArgs {
    #[command(subcommand)]
    action: Action,
    /// Print JSON.
    #[arg(long, global = true)]
    pub json: bool,
    #[command(flatten)]
    settings: Flags,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Encrypt all credentials under a new master key, without restarting servers. A key stored in the data directory
    /// is replaced there; a key from the settings is printed and must be set within 24 hours.
    Rotate {
        /// Read the new key from standard input (32 bytes in base64) instead of generating one.
        #[arg(long)]
        new_key_stdin: bool,
    },
}

/// Runs the command.
pub fn keys(args: &KeysArgs) -> Result<ExitCode, Failure> {
    let values = gathered(&args.settings)?;
    let config = settings::read(&values)?;
    let Action::Rotate { new_key_stdin } = args.action;
    let given = if new_key_stdin { Some(from_stdin()?) } else { None };
    serve::with_store(&config, async |store| match values.text("master_key") {
        Some(_) => rotate_setting(args.json, &config, &store, given).await,
        None => rotate_file(args.json, &config, &store, given).await,
    })?;
    Ok(ExitCode::SUCCESS)
}

fn from_stdin() -> Result<[u8; MASTER_KEY_BYTES], Failure> {
    let mut line = String::new();
    io::stdin()
        .lock()
        .read_line(&mut line)
        .map_err(|error| Failure::new(Exit::File, "FILE", format!("can't read the key: {error}")))?;
    keys::decode(&line).ok_or_else(|| {
        Failure::usage("the new key must be 32 bytes in base64: make one with `openssl rand -base64 32`")
    })
}

/// The operator stores the key: it is printed before anything depends on it.
async fn rotate_setting(
    json: bool,
    config: &Config,
    store: &Store,
    given: Option<[u8; MASTER_KEY_BYTES]>,
) -> Result<(), Failure> {
    let new = given.unwrap_or_else(heddle_model::entropy::random);
    let made = given.is_none().then(|| keys::encode(&new));
    if let Some(made) = made.as_deref().filter(|_| !json) {
        output::result(&format!("HEDDLE_MASTER_KEY={made}"))?;
    }
    let count = rotate(config, store, &new).await?;
    if json {
        let summary = json!({"dataKeys": count, "keyId": MasterKeyId::of(&new).as_str(), "masterKey": made});
        return output::result(&summary.to_string());
    }
    output::note(&format!(
        "{} encrypted under the new master key. Running servers continue to work; set \
         HEDDLE_MASTER_KEY to the new key within 24 hours. Backups made before now need the previous key.",
        data_keys_are(count)
    ));
    Ok(())
}

fn data_keys_are(count: usize) -> String {
    match count {
        1 => "1 data key is".to_owned(),
        count => format!("{count} data keys are"),
    }
}

/// The key is a file: the new one is on disk before the database depends on it, and a rotation that was interrupted
/// in between goes on with the same key.
async fn rotate_file(
    json: bool,
    config: &Config,
    store: &Store,
    given: Option<[u8; MASTER_KEY_BYTES]>,
) -> Result<(), Failure> {
    let path = keys::path(&config.data_dir, "master_key");
    let failed = |error: io::Error| {
        Failure::new(
            Exit::File,
            "FILE",
            format!("can't replace the key file {}: {error}", path.display()),
        )
    };
    let next = path.with_extension("next");
    let begun = match std::fs::read_to_string(&next) {
        Ok(text) => keys::decode(&text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed(error)),
    };
    let new = match (given, begun) {
        (Some(given), Some(begun)) if given != begun => {
            return Err(Failure::usage(format!(
                "a rotation to the key in {} was interrupted: complete it first with `heddle keys rotate`, \
                 without giving a key",
                next.display()
            )));
        }
        (given, begun) => given.or(begun).unwrap_or_else(heddle_model::entropy::random),
    };
    keys::write(&next, &keys::encode(&new)).map_err(failed)?;
    let count = match rotate(config, store, &new).await {
        Ok(count) => count,
        Err(failure) => {
            // The database does not know the new key, unless the outcome is unknown: then the file must stay.
            if begun.is_none() && matches!(&failure, Failure::Reported(reported) if reported.code == REFUSED)
            {
                std::fs::remove_file(&next).map_err(failed)?;
            }
            return Err(failure);
        }
    };
    let previous = path.with_extension("previous");
    keys::write(&previous, &keys::encode(config.master_key.expose())).map_err(failed)?;
    std::fs::rename(&next, &path).map_err(failed)?;
    let (place, previous) = (path.display(), previous.display());
    if json {
        let summary =
            json!({"dataKeys": count, "keyId": MasterKeyId::of(&new).as_str(), "file": place.to_string()});
        return output::result(&summary.to_string());
    }
    output::result(&format!(
        "{} encrypted under the new master key, which is in {place}. Running servers \
         continue to work.\n\
         Backups made before now need the previous key, which is in {previous}: delete it together with them.",
        data_keys_are(count)
    ))
}

const REFUSED: &str = "MASTER_KEY";

/// Gives how many data keys were encrypted anew; none if the database has the new key already.
async fn rotate(config: &Config, store: &Store, new: &[u8; MASTER_KEY_BYTES]) -> Result<usize, Failure> {
    match Vault::rotate(store, config.master_key.expose(), new, &Clock::System).await {
        Ok(count) => Ok(count),
        Err(VaultError::WrongMasterKey { needed, .. }) if needed == MasterKeyId::of(new).as_str() => Ok(0),
        Err(VaultError::Store(error)) => Err(Failure::new(Exit::File, "DATABASE", chain(&error))),
        Err(refused) => Err(Failure::new(Exit::Failed, REFUSED, refused.to_string())),
    }
}
