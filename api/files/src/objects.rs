//! Where bytes are: a directory, or a service that speaks S3's protocol. Knows nothing about what they mean.

use crate::error::FileError;
use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use heddle_model::ids::{BlobId, UserId};
use std::fmt;
use std::ops::Range;

/// The name of an object: whose it is, and which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Id of the tenant.
    pub tenant: String,
    pub blob: BlobId,
}

impl Key {
    /// Parts of its path. The middle one keeps directories small; ids end in random digits.
    pub fn path(&self) -> [String; 3] {
        let blob = self.blob.to_string();
        let part = blob.get(blob.len().saturating_sub(2)..).unwrap_or_default();
        [self.tenant.clone(), part.to_owned(), blob]
    }
}

/// Keeps objects.
#[async_trait]
pub trait Objects: fmt::Debug + Send + Sync + 'static {
    /// Begins to write an object that does not exist yet, for the owner of its tenant, if that is known.
    async fn create(&self, key: &Key, owner: Option<UserId>) -> Result<Box<dyn ObjectWriter>, FileError>;

    /// Whether only so many are written at a time, of which owners have shares.
    fn is_shared_out(&self) -> bool {
        false
    }

    /// Reads a part of an object that was finished.
    async fn read(
        &self,
        key: &Key,
        range: Range<u64>,
    ) -> Result<BoxStream<'static, Result<Bytes, FileError>>, FileError>;

    /// Removes an object, whether it was finished, begun or removed before; `upload` is what its writer has told of it.
    async fn remove(&self, key: &Key, upload: Option<&str>) -> Result<(), FileError>;

    /// Checks that objects can be written, read and removed.
    async fn check(&self) -> Result<(), FileError> {
        let key = Key {
            tenant: "check".to_owned(),
            blob: BlobId::new(),
        };
        let mut writer = self.create(&key, None).await?;
        writer.write(vec![Bytes::from_static(b"heddle")]).await?;
        writer.finish().await?;
        self.remove(&key, None).await
    }
}

/// Writes an object.
#[async_trait]
pub trait ObjectWriter: Send {
    /// The next bytes.
    async fn write(&mut self, pieces: Vec<Bytes>) -> Result<(), FileError>;

    /// What has to be known to remove what was written, if it is never finished, and was not told before.
    fn upload(&mut self) -> Option<String> {
        None
    }

    /// Ends when all bytes are safe.
    async fn finish(self: Box<Self>) -> Result<(), FileError>;
}
