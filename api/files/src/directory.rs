//! Objects as files in a directory, which only this user can read. A file is complete when its row says so, therefore it has its
//! name from the beginning.

use crate::error::FileError;
use crate::objects::{Key, ObjectWriter, Objects};
use async_trait::async_trait;
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::{BoxStream, try_unfold};
use heddle_model::ids::UserId;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Bytes that are read at a time.
const PIECE_BYTES: usize = 256 << 10;

/// Objects below a directory.
#[derive(Debug)]
pub struct Directory(pub PathBuf);

impl Directory {
    fn path(&self, key: &Key) -> PathBuf {
        key.path()
            .iter()
            .fold(self.0.clone(), |path, part| path.join(part))
    }
}

struct DirectoryWriter {
    file: Option<File>,
    path: PathBuf,
}

#[async_trait]
impl Objects for Directory {
    async fn create(&self, key: &Key, _: Option<UserId>) -> Result<Box<dyn ObjectWriter>, FileError> {
        let (root, path) = (self.0.clone(), self.path(key));
        let file = blocking({
            let path = path.clone();
            move || created(&root, &path)
        });
        Ok(Box::new(DirectoryWriter {
            file: Some(file.await?),
            path,
        }))
    }

    async fn read(
        &self,
        key: &Key,
        range: Range<u64>,
    ) -> Result<BoxStream<'static, Result<Bytes, FileError>>, FileError> {
        let path = self.path(key);
        let opened = blocking(move || {
            let mut file = File::open(path)?;
            file.seek(SeekFrom::Start(range.start))?;
            Ok((file, range.end.saturating_sub(range.start)))
        });
        let pieces = try_unfold(opened.await?, |(mut file, left)| async move {
            if left == 0 {
                return Ok(None);
            }
            let read = blocking(move || {
                let wanted = usize::try_from(left).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
                let mut piece = vec![0; wanted];
                file.read_exact(&mut piece)?;
                Ok((piece, file))
            });
            let (piece, file) = read.await?;
            let left = left.saturating_sub(piece.len() as u64);
            Ok(Some((Bytes::from(piece), (file, left))))
        });
        Ok(pieces.boxed())
    }

    async fn remove(&self, key: &Key, _upload: Option<&str>) -> Result<(), FileError> {
        let path = self.path(key);
        blocking(move || {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            // Directories that are empty now; others stay.
            for dir in path.ancestors().skip(1).take(2) {
                if fs::remove_dir(dir).is_err() {
                    break;
                }
            }
            Ok(())
        })
        .await
    }
}

#[async_trait]
impl ObjectWriter for DirectoryWriter {
    async fn write(&mut self, pieces: Vec<Bytes>) -> Result<(), FileError> {
        let mut file = self.file.take().ok_or(FileError::GivenUp)?;
        let written = blocking(move || {
            for piece in pieces {
                file.write_all(&piece)?;
            }
            Ok(file)
        });
        self.file = Some(written.await?);
        Ok(())
    }

    async fn finish(self: Box<Self>) -> Result<(), FileError> {
        let (file, path) = (self.file.ok_or(FileError::GivenUp)?, self.path);
        blocking(move || {
            file.sync_all()?;
            path.parent().map_or(Ok(()), synced)
        })
        .await
    }
}

/// A new file, in directories that are made and on disk.
fn created(root: &Path, path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    // A sweep may remove an empty directory between the two steps.
    for _ in 0..8 {
        let parent = path.parent().unwrap_or(root);
        if !parent.is_dir() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
            for dir in parent.ancestors().take_while(|dir| dir.starts_with(root)) {
                synced(dir)?;
            }
            root.parent().map_or(Ok(()), synced)?;
        }
        match options.open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            opened => return opened,
        }
    }
    options.open(path)
}

/// Makes sure that the names in a directory are on disk.
fn synced(dir: &Path) -> io::Result<()> {
    let dir = match dir.as_os_str().is_empty() {
        true => Path::new("."),
        false => dir,
    };
    match File::open(dir) {
        // Removed meanwhile by a sweep: whoever needs it makes it again.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        opened => opened?.sync_all(),
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, FileError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(FileError::bytes)?.map_err(FileError::bytes)
}
