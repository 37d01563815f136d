//! Files that runs hold by reference: how effects read and write them. Where they are, and who may read them, is decided by the
//! host.

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt};
use heddle_sandbox::EffectCode;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::ops::Range;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of all files of a run whose files are in memory.
const MEMORY_BYTES_MAX: usize = 64 << 20;

/// A file in a run's data. Whatever a run says of it besides the id is a wish, such as another name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileValue {
    #[serde(rename = "$file")]
    pub id: String,
    #[serde(default)]
    pub name: String,
    #[serde(default, rename = "type")]
    pub media_type: String,
    /// Bytes.
    #[serde(default)]
    pub size: u64,
    /// SHA-256 in hex.
    #[serde(default)]
    pub sha256: String,
}

/// Why a file can't be read or written.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileFailure {
    /// There is none with this id, or the run may not read it.
    #[error(
        "There is no file `{0}` that this run may read: it may read those of its event, those that it has made, and those \
         that come to it by KeyValue, CallPattern or a test."
    )]
    NotFound(String),
    /// It would be too large, or there would be too many.
    #[error("{0}")]
    Limit(String),
    /// Whatever keeps them does not answer, or has failed.
    #[error("The service can't read or write files now.")]
    Unavailable(#[source] Arc<dyn Error + Send + Sync>),
}

impl FileFailure {
    /// The code of the node's failure.
    pub fn code(&self) -> EffectCode {
        match self {
            FileFailure::NotFound(_) => EffectCode::FileNotFound,
            FileFailure::Limit(_) => EffectCode::FileLimit,
            FileFailure::Unavailable(_) => EffectCode::Unavailable,
        }
    }
}

/// Something that is being done with files.
pub type FileFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, FileFailure>> + Send + 'a>>;

/// A file that is read.
pub struct OpenedFile {
    /// What it is, whatever the run says of it.
    pub value: FileValue,
    /// The part of it that was asked for.
    pub content: BoxStream<'static, Result<Bytes, FileFailure>>,
}

/// A file that is written. Dropping it gives it up.
pub trait FileSink: Send {
    /// The next bytes. Ends when there is room for more.
    fn write(&mut self, bytes: Bytes) -> FileFuture<'_, ()>;

    /// Makes it a file of the run's.
    fn finish(self: Box<Self>) -> FileFuture<'static, FileValue>;
}

/// The files of one run.
pub trait Files: fmt::Debug + Send + Sync + 'static {
    /// Opens a file that the run may read; `None`: all of it.
    fn open(&self, id: &str, part: Option<Range<u64>>) -> FileFuture<'static, OpenedFile>;

    /// Begins to write a file.
    fn create(&self, name: &str, media_type: &str) -> FileFuture<'static, Box<dyn FileSink>>;
}

/// Files in memory, for as long as this is there: of runs without a service.
#[derive(Clone, Debug, Default)]
pub struct MemoryFiles(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    files: HashMap<String, (FileValue, Bytes)>,
    bytes: usize,
}

impl MemoryFiles {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Files for MemoryFiles {
    fn open(&self, id: &str, part: Option<Range<u64>>) -> FileFuture<'static, OpenedFile> {
        let found = self.kept().files.get(id).cloned();
        let opened = found.ok_or_else(|| FileFailure::NotFound(id.to_owned()));
        let opened = opened.map(|(value, bytes)| {
            let at = |place: u64| usize::try_from(place).unwrap_or(usize::MAX).min(bytes.len());
            let part = part.map_or(0..bytes.len(), |part| at(part.start)..at(part.end));
            let part = bytes.slice(part.start.min(part.end)..part.end);
            OpenedFile {
                value,
                content: stream::iter([Ok(part)]).boxed(),
            }
        });
        Box::pin(std::future::ready(opened))
    }

    fn create(&self, name: &str, media_type: &str) -> FileFuture<'static, Box<dyn FileSink>> {
        let sink: Box<dyn FileSink> = Box::new(MemorySink {
            files: self.clone(),
            value: FileValue {
                id: crate::entropy::nonce(),
                name: name.to_owned(),
                media_type: media_type.to_owned(),
                size: 0,
                sha256: String::new(),
            },
            bytes: Vec::new(),
        });
        Box::pin(std::future::ready(Ok(sink)))
    }
}

struct MemorySink {
    files: MemoryFiles,
    value: FileValue,
    bytes: Vec<u8>,
}

impl FileSink for MemorySink {
    fn write(&mut self, bytes: Bytes) -> FileFuture<'_, ()> {
        let written = match self.files.kept().bytes + self.bytes.len() + bytes.len() > MEMORY_BYTES_MAX {
            true => Err(FileFailure::Limit(format!(
                "Without a server, the files of a run can have at most {} MiB in total.",
                MEMORY_BYTES_MAX >> 20
            ))),
            false => {
                self.bytes.extend_from_slice(&bytes);
                Ok(())
            }
        };
        Box::pin(std::future::ready(written))
    }

    fn finish(self: Box<Self>) -> FileFuture<'static, FileValue> {
        let MemorySink {
            files,
            mut value,
            bytes,
        } = *self;
        value.size = bytes.len() as u64;
        value.sha256 = heddle_sandbox::hex(&Sha256::digest(&bytes));
        let mut kept = files.kept();
        kept.bytes += bytes.len();
        kept.files.insert(value.id.clone(), (value.clone(), bytes.into()));
        drop(kept);
        Box::pin(std::future::ready(Ok(value)))
    }
}
