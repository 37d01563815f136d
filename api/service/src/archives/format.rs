//! What an archive looks like: a line of JSON that tells what it is of, the manifest; and parts, each with a line that names it
//! and as many bytes as that says. The bytes of a part are its rows, a line of JSON for each, compressed and encrypted.
//!
//! The archive's key is random; the manifest has it under a key that is made of the passphrase. A part is bound to the archive,
//! its number, its name and how many rows it has; the last one tells that there are no more.

use argon2::Argon2;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use heddle_compiler::text::values_at_most;
use heddle_model::clock::Timestamp;
use heddle_model::error::{Code, ServiceError};
use heddle_model::ids::WorkspaceId;
use heddle_store::archive::Row;
use heddle_store::vault::{ArchiveKey, MASTER_KEY_BYTES};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io::{Read, Write};
use utoipa::ToSchema;
use zeroize::Zeroizing;

/// Version of the format. One that this service does not know is refused.
const VERSION: u32 = 1;
/// Bytes of a part as it travels, with its line: a module with large components has the most.
pub const PART_BYTES_MAX: usize = 96 << 20;
/// Bytes of a part's rows once they are unpacked.
const ROWS_BYTES_MAX: u64 = 192 << 20;
/// Values of its rows, each of which takes more memory than bytes; heddle writes some thousand rows into one part.
const VALUES_MAX: usize = 1_000_000;
/// Characters of a passphrase at least: it is all that protects what is in the archive.
const PASSPHRASE_CHARS_MIN: usize = 16;
const PASSPHRASE_BYTES_MAX: usize = 1_024;

/// Name of the last part.
pub(super) const END: &str = "end";

/// What an archive is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = ArchiveManifest)]
pub struct Manifest {
    /// `workspace`.
    #[schema(example = "workspace", max_length = 20)]
    pub heddle: String,
    /// Version of the format.
    #[schema(minimum = 1, maximum = 1, example = 1)]
    pub version: u32,
    /// Version of the service that wrote it.
    #[schema(example = "0.1.0", max_length = 100)]
    pub made_by: String,
    /// When.
    pub made_at: Timestamp,
    /// The archive's own id, in hex.
    #[schema(
        example = "6f1d4c0e9b7a4f5d8c3e2a1b0f9e8d7c",
        min_length = 32,
        max_length = 32
    )]
    pub archive: String,
    /// The workspace's id.
    pub workspace: WorkspaceId,
    /// Its name.
    #[schema(example = "Accounting", min_length = 1, max_length = 100)]
    pub name: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// Emails of its owners, those first who have owned it for longest.
    #[schema(max_items = 1_000, example = json!(["ann@example.com"]))]
    pub owners: Vec<String>,
    /// Quotas and retention that its operator had set, as JSON; null: none.
    #[schema(max_length = 10_000, example = "{}")]
    pub hosting: Option<String>,
    /// What the key of the passphrase is made with, in hex.
    #[schema(
        example = "00112233445566778899aabbccddeeff",
        min_length = 32,
        max_length = 32
    )]
    pub salt: String,
    /// The archive's key, encrypted, in hex.
    #[schema(example = "00", max_length = 200)]
    pub key: String,
}

/// The line before a part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// Its number, from 1.
    pub part: i64,
    /// What its rows are of.
    pub of: String,
    /// How many they are.
    pub rows: u64,
    /// How many bytes follow the line.
    pub bytes: usize,
    /// Their SHA-256 in hex, for whoever has the archive and not the passphrase.
    pub sha256: String,
}

fn refused(why: impl Into<String>) -> ServiceError {
    ServiceError::field("", why)
}

/// Checks that a passphrase can be used.
pub(super) fn acceptable(passphrase: &str) -> Result<(), ServiceError> {
    if passphrase.chars().count() < PASSPHRASE_CHARS_MIN || passphrase.len() > PASSPHRASE_BYTES_MAX {
        let problem = format!(
            "must have {PASSPHRASE_CHARS_MIN} characters at least, and {PASSPHRASE_BYTES_MAX} bytes at most"
        );
        return Err(ServiceError::field("passphrase", problem));
    }
    Ok(())
}

/// Takes some tens of milliseconds and 19 MiB: Argon2id with its default parameters (OWASP, "Password Storage").
fn key_of(passphrase: &str, salt: &[u8]) -> Result<ArchiveKey, ServiceError> {
    let mut bytes = Zeroizing::new([0; MASTER_KEY_BYTES]);
    let made = Argon2::default().hash_password_into(passphrase.as_bytes(), salt, bytes.as_mut_slice());
    made.map_err(|error| {
        ServiceError::internal(anyhow::anyhow!("can't make a key of the passphrase: {error}"))
    })?;
    Ok(ArchiveKey::new(&bytes))
}

impl Manifest {
    /// Sets the key, under one that is made of the passphrase.
    pub(super) fn lock(
        &mut self,
        passphrase: &str,
        key: &[u8; MASTER_KEY_BYTES],
    ) -> Result<(), ServiceError> {
        let salt: [u8; 16] = heddle_model::entropy::random();
        self.salt = hex::encode(salt);
        self.key = String::new();
        let sealed = key_of(passphrase, &salt)?.seal(&self.bound()?, key);
        self.key = hex::encode(sealed);
        Ok(())
    }

    /// The archive's key.
    pub(super) fn unlock(&self, passphrase: &str) -> Result<Zeroizing<[u8; MASTER_KEY_BYTES]>, ServiceError> {
        if self.heddle != "workspace" {
            return Err(refused("This is not an archive of a workspace."));
        }
        if self.version != VERSION {
            return Err(refused(format!(
                "The archive has version {} of the format, and this heddle knows {VERSION}: use one that is as new as the \
                 one that wrote it ({}).",
                self.version, self.made_by
            )));
        }
        let salt = hex::decode(&self.salt).ok().filter(|salt| salt.len() == 16);
        let sealed = hex::decode(&self.key).ok();
        let (Some(salt), Some(sealed)) = (salt, sealed) else {
            return Err(refused("The manifest's salt or key was not written by heddle."));
        };
        let mut unsigned = self.clone();
        unsigned.key = String::new();
        let opened = key_of(passphrase, &salt)?.open(&unsigned.bound()?, &sealed);
        let opened = opened.ok_or_else(|| {
            ServiceError::field(
                "passphrase",
                "is wrong, or the manifest was changed since it was written",
            )
        })?;
        let key = opened.as_slice().try_into();
        Ok(Zeroizing::new(key.map_err(|_| {
            refused("The manifest's key has the wrong length.")
        })?))
    }

    /// What the key is bound to: all else that is told.
    fn bound(&self) -> Result<Vec<u8>, ServiceError> {
        serde_json::to_vec(self).map_err(ServiceError::internal)
    }

    /// As it is written.
    pub(super) fn line(&self) -> Result<Vec<u8>, ServiceError> {
        let mut line = serde_json::to_vec(self).map_err(ServiceError::internal)?;
        line.push(b'\n');
        Ok(line)
    }

    /// Without a key yet.
    pub(super) fn new(workspace: (WorkspaceId, String, Timestamp), made_at: Timestamp) -> Self {
        let (workspace, name, created_at) = workspace;
        Manifest {
            heddle: "workspace".to_owned(),
            version: VERSION,
            made_by: env!("CARGO_PKG_VERSION").to_owned(),
            made_at,
            archive: hex::encode(heddle_model::entropy::random::<[u8; 16]>()),
            workspace,
            name,
            created_at,
            owners: Vec::new(),
            hosting: None,
            salt: String::new(),
            key: String::new(),
        }
    }
}

fn bound(archive: &str, number: i64, of: &str, rows: u64) -> Vec<u8> {
    format!("heddle workspace archive\n{archive}\n{number}\n{of}\n{rows}").into_bytes()
}

/// A part of these rows, each in JSON and without line breaks, with its line.
///
/// # Errors
///
/// [`Code::Internal`] if they can't be packed.
pub fn written(
    sealing: (&ArchiveKey, &str),
    number: i64,
    of: &str,
    rows: &[String],
) -> Result<Vec<u8>, ServiceError> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    for row in rows {
        // A row is one line: JSON of a database has no line breaks but escaped ones.
        encoder
            .write_all(row.as_bytes())
            .map_err(ServiceError::internal)?;
        encoder.write_all(b"\n").map_err(ServiceError::internal)?;
    }
    let packed = encoder.finish().map_err(ServiceError::internal)?;
    enclosed(sealing, (number, of, rows.len() as u64), &packed)
}

/// A part of what is packed already, and so many rows, with its line.
///
/// # Errors
///
/// [`Code::Internal`] if its line can't be written.
pub fn enclosed(
    (key, archive): (&ArchiveKey, &str),
    (number, of, count): (i64, &str, u64),
    packed: &[u8],
) -> Result<Vec<u8>, ServiceError> {
    let sealed = key.seal(&bound(archive, number, of, count), packed);
    let head = Head {
        part: number,
        of: of.to_owned(),
        rows: count,
        bytes: sealed.len(),
        sha256: hex::encode(Sha256::digest(&sealed)),
    };
    let mut part = serde_json::to_vec(&head).map_err(ServiceError::internal)?;
    part.push(b'\n');
    part.extend(sealed);
    Ok(part)
}

/// A whole archive of these parts, each with its rows as JSON, for whoever makes one of something else than a workspace here.
pub fn assembled(
    workspace: WorkspaceId,
    owner: &str,
    passphrase: &str,
    parts: &[(&str, Vec<String>)],
) -> Result<Vec<u8>, ServiceError> {
    let at = Timestamp::from_millis(0);
    let mut manifest = Manifest::new((workspace, "Workspace".to_owned(), at), at);
    manifest.owners.push(owner.to_owned());
    let key: Zeroizing<[u8; MASTER_KEY_BYTES]> = Zeroizing::new(heddle_model::entropy::random());
    manifest.lock(passphrase, &key)?;
    let sealing = (&ArchiveKey::new(&key), manifest.archive.as_str());
    let mut archive = manifest.line()?;
    let end = (END, Vec::new());
    for (number, (of, rows)) in (1..).zip(parts.iter().chain([&end])) {
        archive.extend(written(sealing, number, of, rows)?);
    }
    Ok(archive)
}

/// A part as it came, apart into its line and its bytes.
///
/// # Errors
///
/// [`Code::Validation`] if it has no such line, or not as many bytes as that says; [`Code::Conflict`] if they are others.
pub fn apart(part: &[u8]) -> Result<(Head, &[u8]), ServiceError> {
    const LINE_MAX: usize = 1_000;
    let end = part.iter().take(LINE_MAX).position(|byte| *byte == b'\n');
    let (line, bytes) = end
        .and_then(|end| Some((part.get(..end)?, part.get(end + 1..)?)))
        .ok_or_else(|| refused("A part must begin with a line that names it."))?;
    let head: Head = serde_json::from_slice(line).map_err(|error| {
        refused(format!(
            "The line before a part was not written by heddle: {error}."
        ))
    })?;
    if head.bytes != bytes.len() {
        return Err(refused(format!(
            "Part {} has {} bytes, and its line says {}.",
            head.part,
            bytes.len(),
            head.bytes
        )));
    }
    if head.sha256 != hex::encode(Sha256::digest(bytes)) {
        let message = format!(
            "Part {} was damaged in transit: its SHA-256 differs. Send it again.",
            head.part
        );
        return Err(Code::Conflict.with(message));
    }
    Ok((head, bytes))
}

/// The rows of a part.
///
/// # Errors
///
/// [`Code::Validation`] if it is not one of this archive at this place, has not as many rows as its line says, or more than a part may have.
pub fn read(
    (key, archive): (&ArchiveKey, &str),
    head: &Head,
    bytes: &[u8],
) -> Result<Vec<Row>, ServiceError> {
    let number = head.part;
    let wrong = |why: String| refused(format!("Part {number} ({}) {why}.", head.of));
    let packed = key.open(&bound(archive, number, &head.of, head.rows), bytes);
    let packed = packed.ok_or_else(|| {
        wrong("can't be decrypted: it was changed, or belongs to another archive".to_owned())
    })?;
    let mut text = String::new();
    let mut decoder = ZlibDecoder::new(packed.as_slice()).take(ROWS_BYTES_MAX + 1);
    let read = decoder.read_to_string(&mut text);
    read.map_err(|error| wrong(format!("can't be unpacked: {error}")))?;
    if text.len() as u64 > ROWS_BYTES_MAX {
        return Err(wrong("is too large".to_owned()));
    }
    // Up to the first line that is not a row, at which the reading ends.
    if values_at_most(&text) > VALUES_MAX {
        return Err(wrong(format!("has more than {VALUES_MAX} values")));
    }
    let mut rows = Vec::new();
    for line in text.lines() {
        if rows.len() as u64 >= head.rows {
            return Err(wrong("has more rows than its line says".to_owned()));
        }
        let row: Row = serde_json::from_str(line)
            .map_err(|error| wrong(format!("has a row that is not an object: {error}")))?;
        rows.push(row);
    }
    if rows.len() as u64 != head.rows {
        return Err(wrong("has fewer rows than its line says".to_owned()));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSPHRASE: &str = "a long and unguessable passphrase";

    fn manifest(key: &[u8; 32]) -> Manifest {
        let at = Timestamp::from_millis(1);
        let mut manifest = Manifest::new((WorkspaceId::new(), "Accounting".to_owned(), at), at);
        manifest.owners.push("ann@example.com".to_owned());
        manifest.lock(PASSPHRASE, key).unwrap();
        manifest
    }

    #[test]
    fn only_the_passphrase_opens_a_manifest_as_it_was() {
        let manifest = manifest(&[7; 32]);
        let line = manifest.line().unwrap();
        let read: Manifest = serde_json::from_slice(&line).unwrap();
        assert_eq!(read, manifest);
        assert_eq!(*read.unlock(PASSPHRASE).unwrap(), [7; 32]);
        assert!(read.unlock("another passphrase").is_err());
        let mut changed = read.clone();
        changed.owners[0] = "mallory@example.com".to_owned();
        assert!(changed.unlock(PASSPHRASE).is_err());
        let newer = Manifest { version: 2, ..read };
        let refused = newer.unlock(PASSPHRASE).unwrap_err();
        assert!(refused.message().contains("version 2"), "{refused}");
    }

    #[test]
    fn a_part_is_read_in_its_place_only() {
        let key = ArchiveKey::new(&[7; 32]);
        let rows = [r#"{"a":1}"#.to_owned(), r#"{"b":"größe\n"}"#.to_owned()];
        let part = written((&key, "x"), 3, "runs", &rows).unwrap();
        let (head, bytes) = apart(&part).unwrap();
        let found = read((&key, "x"), &head, bytes).unwrap();
        assert_eq!(found[1]["b"], "größe\n");
        for (archive, head) in [
            ("y", head.clone()),
            (
                "x",
                Head {
                    part: 4,
                    ..head.clone()
                },
            ),
            (
                "x",
                Head {
                    of: "secrets".to_owned(),
                    ..head.clone()
                },
            ),
            (
                "x",
                Head {
                    rows: 1,
                    ..head.clone()
                },
            ),
        ] {
            assert!(read((&key, archive), &head, bytes).is_err(), "{head:?}");
        }
        for cut in 0..part.len() {
            assert!(apart(&part[..cut]).is_err(), "{cut}");
        }
        for place in 0..part.len() {
            let mut changed = part.clone();
            changed[place] ^= 1;
            let found = apart(&changed).and_then(|(head, bytes)| read((&key, "x"), &head, bytes));
            assert!(found.is_err(), "{place}");
        }
    }

    #[test]
    fn what_would_be_too_large_once_unpacked_is_refused() {
        let key = ArchiveKey::new(&[7; 32]);
        let row = format!("\"{}\"", " ".repeat(ROWS_BYTES_MAX as usize));
        let part = written((&key, "x"), 1, "runs", &[row]).unwrap();
        let (head, bytes) = apart(&part).unwrap();
        let refused = read((&key, "x"), &head, bytes).unwrap_err();
        assert!(refused.message().contains("too large"), "{refused}");
    }

    #[test]
    fn what_would_take_more_memory_than_bytes_is_refused() {
        let key = ArchiveKey::new(&[7; 32]);
        let list = format!(r#"{{"a":[{}1]}}"#, "1,".repeat(VALUES_MAX));
        for rows in [vec![list], vec!["{}".to_owned(); VALUES_MAX]] {
            let part = written((&key, "x"), 1, "runs", &rows).unwrap();
            let (head, bytes) = apart(&part).unwrap();
            let refused = read((&key, "x"), &head, bytes).unwrap_err();
            assert!(
                refused.message().contains("more than 1000000 values"),
                "{refused}"
            );
        }
    }
}
