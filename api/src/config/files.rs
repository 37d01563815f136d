//! Where files are, from the settings.

use super::sources::{SettingError, Values};
use super::values::{bytes, duration, set};
use heddle_files::{S3Settings, Settings, Where};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What operators set of files.
#[derive(Clone, Debug)]
pub struct FileSettings {
    /// A bucket; `None`: a directory.
    pub s3: Option<S3Settings>,
    /// The directory; `None`: below the data directory.
    pub dir: Option<PathBuf>,
    /// Bytes of a file at most.
    pub bytes_max: usize,
    /// How long an upload is kept to which nothing refers.
    pub unused_for: Duration,
}

impl Default for FileSettings {
    fn default() -> Self {
        FileSettings {
            s3: None,
            dir: None,
            bytes_max: 5 << 30,
            unused_for: Duration::from_secs(24 * 60 * 60),
        }
    }
}

impl FileSettings {
    pub fn read(values: &Values) -> Result<Self, SettingError> {
        let mut settings = FileSettings::default();
        set(&mut settings.bytes_max, values.read("file_max_bytes", bytes)?);
        set(
            &mut settings.unused_for,
            values.read("file_unused_ttl", duration)?,
        );
        let place = values.text("file_store");
        let Some(bucket) = place.and_then(|place| place.strip_prefix("s3://")) else {
            settings.dir = place.map(Into::into);
            for name in [
                "file_store_endpoint",
                "file_store_region",
                "file_store_access_key",
                "file_store_secret_key",
            ] {
                if values.text(name).is_some() {
                    return Err(values.error(name, "needs file_store = s3://…"));
                }
            }
            return Ok(settings);
        };
        let (bucket, prefix) = bucket.split_once('/').unwrap_or((bucket, ""));
        if bucket.is_empty() {
            return Err(values.error(
                "file_store",
                "must name a bucket, as s3://bucket or s3://bucket/prefix",
            ));
        }
        let keys = match (
            values.text("file_store_access_key"),
            values.text("file_store_secret_key"),
        ) {
            (None, None) => None,
            (Some(id), Some(secret)) => Some((id.to_owned(), secret.into())),
            (Some(_), None) => {
                return Err(values.error("file_store_access_key", "needs file_store_secret_key"));
            }
            (None, Some(_)) => {
                return Err(values.error("file_store_secret_key", "needs file_store_access_key"));
            }
        };
        let endpoint = values.text("file_store_endpoint");
        if endpoint.is_some_and(|url| !url.starts_with("http://") && !url.starts_with("https://")) {
            return Err(values.error("file_store_endpoint", "must begin with https:// or http://"));
        }
        settings.s3 = Some(S3Settings {
            bucket: bucket.to_owned(),
            prefix: prefix.to_owned(),
            region: values.text("file_store_region").unwrap_or("us-east-1").to_owned(),
            endpoint: endpoint.map(str::to_owned),
            keys,
        });
        Ok(settings)
    }
}

impl FileSettings {
    /// The settings of the store of files, of a service with this data directory.
    pub fn store(&self, data_dir: &Path) -> Settings {
        Settings {
            place: match &self.s3 {
                Some(s3) => Where::S3(s3.clone()),
                None => Where::Directory(self.dir.clone().unwrap_or_else(|| data_dir.join("files"))),
            },
            bytes_max: self.bytes_max as u64,
            unused_for: self.unused_for,
        }
    }
}
