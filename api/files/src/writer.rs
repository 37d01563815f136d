//! A file that is being written: its bytes are hashed, encrypted and handed to the store piece by piece, so that it takes the same
//! memory whatever its size.

use crate::cipher::{CHUNK_BYTES, Cipher};
use crate::error::FileError;
use crate::objects::ObjectWriter;
use crate::shared::{NewFile, Shared};
use crate::threads;
use bytes::Bytes;
use heddle_model::clock::{monotonic, since};
use heddle_model::error::ServiceError;
use heddle_model::file::FileValue;
use heddle_model::ids::{BlobId, FileId, UserId};
use heddle_store::files::{self, TOUCH_EVERY};
use sha2::{Digest, Sha256};
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// Plain bytes that are encrypted at a time, on a thread that may be busy.
const PIECE_BYTES: usize = 8 * CHUNK_BYTES;

/// How much a tenant may still store.
pub trait Room: fmt::Debug + Send + Sync + 'static {
    /// Counts more bytes, unless that would be too many.
    fn take(&self, bytes: u64) -> Result<(), ServiceError>;

    /// Counts bytes off again that were not stored after all.
    fn give_back(&self, bytes: u64);
}

/// There is no limit.
#[derive(Clone, Copy, Debug)]
pub struct Unlimited;

impl Room for Unlimited {
    fn take(&self, _: u64) -> Result<(), ServiceError> {
        Ok(())
    }

    fn give_back(&self, _: u64) {}
}

/// Writes a file. Dropping it gives up what was written.
pub struct Writer {
    shared: Arc<Shared>,
    new: Option<NewFile>,
    room: Arc<dyn Room>,
    /// In whose turn it is encrypted.
    payer: u128,
    blob: BlobId,
    object: Option<Box<dyn ObjectWriter>>,
    sealing: Option<Sealing>,
    pending: Vec<u8>,
    size: u64,
    touched: Instant,
    is_done: bool,
}

/// What makes stored bytes of plain ones.
struct Sealing {
    cipher: Cipher,
    hasher: Sha256,
    chunks: u64,
}

impl Sealing {
    /// Encrypts whole chunks, or the rest.
    fn seal(mut self, plain: &[u8], is_last: bool) -> Option<(Self, Vec<Bytes>)> {
        self.hasher.update(plain);
        let count = plain.len().div_ceil(CHUNK_BYTES).max(1);
        let mut sealed = Vec::with_capacity(count);
        let mut rest = plain;
        for number in 1..=count {
            let (chunk, others) = rest.split_at(rest.len().min(CHUNK_BYTES));
            sealed.push(self.cipher.seal(self.chunks, is_last && number == count, chunk)?);
            self.chunks += 1;
            rest = others;
        }
        Some((self, sealed))
    }
}

impl Writer {
    pub(crate) fn new(
        shared: Arc<Shared>,
        (new, room, owner): (NewFile, Arc<dyn Room>, Option<UserId>),
        blob: BlobId,
        cipher: Cipher,
        object: Box<dyn ObjectWriter>,
    ) -> Self {
        Writer {
            shared,
            payer: owner.map_or(new.tenant.as_u128(), UserId::as_u128),
            new: Some(new),
            room,
            blob,
            object: Some(object),
            sealing: Some(Sealing {
                cipher,
                hasher: Sha256::new(),
                chunks: 0,
            }),
            pending: Vec::new(),
            size: 0,
            touched: monotonic(),
            is_done: false,
        }
    }

    /// Bytes so far.
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// The next bytes.
    pub async fn write(&mut self, mut bytes: Bytes) -> Result<(), FileError> {
        let (more, max) = (bytes.len() as u64, self.shared.settings.bytes_max);
        if more > max.saturating_sub(self.size) {
            return Err(FileError::TooLarge { max });
        }
        self.room.take(more).map_err(FileError::Refused)?;
        self.size += more;
        while !bytes.is_empty() {
            // The last piece stays until it is known to be the last.
            if self.pending.len() == PIECE_BYTES {
                self.flush(false).await?;
            }
            let taken = bytes.split_to(bytes.len().min(PIECE_BYTES - self.pending.len()));
            self.pending.extend_from_slice(&taken);
        }
        if since(self.touched) >= TOUCH_EVERY {
            self.touch(None).await?;
        }
        Ok(())
    }

    async fn flush(&mut self, is_last: bool) -> Result<[u8; 32], FileError> {
        let sealing = self.sealing.take().ok_or(FileError::GivenUp)?;
        let plain = std::mem::take(&mut self.pending);
        let sealed = threads::sealing(self.payer, move || {
            let (sealing, sealed) = sealing.seal(&plain, is_last)?;
            let hash = match is_last {
                true => sealing.hasher.clone().finalize().into(),
                false => [0; 32],
            };
            Some((sealing, sealed, hash, plain))
        });
        // Only of more than 2³² chunks.
        let (sealing, sealed, hash, mut room) = sealed.await?.ok_or(FileError::Damaged)?;
        room.clear();
        (self.sealing, self.pending) = (Some(sealing), room);
        let object = self.object.as_mut().ok_or(FileError::GivenUp)?;
        object.write(sealed).await?;
        if let Some(upload) = object.upload() {
            self.touch(Some(upload)).await?;
        }
        Ok(hash)
    }

    /// Says that somebody still writes.
    async fn touch(&mut self, upload: Option<String>) -> Result<(), FileError> {
        let (blob, now) = (self.blob, self.shared.now());
        let touched = self
            .shared
            .store
            .write(move |db| Box::pin(async move { files::touch(db, blob, upload.as_deref(), now).await }));
        self.touched = monotonic();
        let touched: Result<bool, heddle_store::StoreError> = touched.await;
        match touched? {
            true => Ok(()),
            false => Err(FileError::GivenUp),
        }
    }

    /// Makes it a file. Its bytes are safe before its row is.
    pub async fn finish(mut self) -> Result<FileValue, FileError> {
        let sha256 = hex::encode(self.flush(true).await?);
        // What follows takes as long as the store does.
        self.touch(None).await?;
        let object = self.object.take().ok_or(FileError::GivenUp)?;
        object.finish().await?;
        let new = self.new.take().ok_or(FileError::GivenUp)?;
        let size = i64::try_from(self.size).unwrap_or(i64::MAX);
        let row = files::NewFile {
            id: FileId::new(),
            tenant: new.tenant,
            name: new.name,
            media_type: new.media_type,
            kept_until: self.shared.now().plus(new.kept_for),
            holder: new.holder,
        };
        let value = FileValue {
            id: row.id,
            name: row.name.clone(),
            media_type: row.media_type.clone(),
            size,
            sha256: sha256.clone(),
        };
        let (blob, now) = (self.blob, self.shared.now());
        let finished = self.shared.store.write(move |db| {
            Box::pin(async move { files::finish(db, blob, (&sha256, size), &row, now).await })
        });
        let finished: Result<bool, heddle_store::StoreError> = finished.await;
        match finished? {
            true => {
                self.is_done = true;
                metrics::counter!("heddle_file_bytes_written_total").increment(self.size);
                Ok(value)
            }
            false => Err(FileError::GivenUp),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if self.is_done {
            return;
        }
        self.room.give_back(self.size);
        // Without this the next sweep finds it, later.
        if let Ok(executor) = tokio::runtime::Handle::try_current() {
            let (shared, blob) = (self.shared.clone(), self.blob);
            executor.spawn(async move { shared.abandon(blob).await });
        }
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Writer").field(&self.blob).finish()
    }
}
