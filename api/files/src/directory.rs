//! Objects as files in a directory, which only this user can read. A file is complete when its row says so, therefore it has its
//! name from the beginning. What is large is written at a [pace](crate::pace).

use crate::error::FileError;
use crate::objects::{Key, ObjectWriter, Objects};
use crate::pace::{Pace, Turn};
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
use std::sync::Arc;

/// Bytes that are read at a time.
const PIECE_BYTES: usize = 256 << 10;
/// Bytes of a file that are written without waiting for a turn, as long as they are not more: many small files are synced at a time.
const LITTLE_BYTES: usize = 64 << 10;
/// Bytes that are synced before further ones are written. What is left at a file's end is synced there.
const SYNCED_BYTES: usize = 256 << 10;

/// Objects below a directory.
#[derive(Debug)]
pub struct Directory {
    root: PathBuf,
    pace: Arc<Pace>,
}

impl Directory {
    pub fn new(root: PathBuf) -> Self {
        Directory {
            root,
            pace: Pace::new(),
        }
    }

    fn path(&self, key: &Key) -> PathBuf {
        key.path()
            .iter()
            .fold(self.root.clone(), |path, part| path.join(part))
    }
}

struct DirectoryWriter {
    file: Option<File>,
    path: PathBuf,
    pace: Arc<Pace>,
    owner: Option<UserId>,
    /// Bytes that may be in memory only.
    unsynced: usize,
}

impl DirectoryWriter {
    /// A turn, for what is not so little that it needs none.
    async fn turn(&self) -> Result<Option<Turn>, FileError> {
        match self.unsynced > LITTLE_BYTES {
            true => self.pace.turn(self.owner).await.map(Some),
            false => Ok(None),
        }
    }
}

#[async_trait]
impl Objects for Directory {
    async fn create(&self, key: &Key, owner: Option<UserId>) -> Result<Box<dyn ObjectWriter>, FileError> {
        let (root, path) = (self.root.clone(), self.path(key));
        let file = blocking({
            let path = path.clone();
            move || created(&root, &path)
        });
        Ok(Box::new(DirectoryWriter {
            file: Some(file.await?),
            path,
            pace: self.pace.clone(),
            owner,
            unsynced: 0,
        }))
    }

    fn is_shared_out(&self) -> bool {
        true
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
        let bytes: usize = pieces.iter().map(Bytes::len).sum();
        self.unsynced = self.unsynced.saturating_add(bytes);
        let is_synced = self.unsynced >= SYNCED_BYTES;
        let turn = match is_synced {
            true => self.turn().await?,
            false => None,
        };
        let mut file = self.file.take().ok_or(FileError::GivenUp)?;
        let written = blocking(move || {
            for piece in pieces {
                file.write_all(&piece)?;
            }
            if is_synced {
                file.sync_data()?;
            }
            // Not before, even if nobody waits for it any more.
            drop(turn);
            Ok(file)
        });
        self.file = Some(written.await?);
        if is_synced {
            self.unsynced = 0;
        }
        Ok(())
    }

    async fn finish(self: Box<Self>) -> Result<(), FileError> {
        let turn = self.turn().await?;
        let (file, path) = (self.file.ok_or(FileError::GivenUp)?, self.path);
        blocking(move || {
            file.sync_all()?;
            let named = path.parent().map_or(Ok(()), synced);
            drop(turn);
            named
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

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::{TryStreamExt, poll};
    use heddle_model::ids::BlobId;

    /// A directory that is removed in the end.
    struct Temporary(PathBuf);

    impl Temporary {
        fn new() -> Self {
            Temporary(std::env::temp_dir().join(BlobId::new().to_string()))
        }
    }

    impl Drop for Temporary {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn key() -> Key {
        Key {
            tenant: "tenant".to_owned(),
            blob: BlobId::new(),
        }
    }

    async fn whole(directory: &Directory, key: &Key, bytes: usize) -> Vec<u8> {
        let read = directory.read(key, 0..bytes as u64).await.unwrap();
        let pieces: Vec<Bytes> = read.try_collect().await.unwrap();
        pieces.concat()
    }

    #[tokio::test]
    async fn pieces_of_any_size_are_a_file() {
        let place = Temporary::new();
        let directory = Directory::new(place.0.clone());
        let owner = Some(UserId::new());
        for sizes in [vec![], vec![5], vec![600_000, 600_000, 70_000, 200_000, 1]] {
            let (key, mut content) = (key(), Vec::new());
            let mut writer = directory.create(&key, owner).await.unwrap();
            for (number, size) in (1_u8..).zip(sizes) {
                let piece = Bytes::from(vec![number; size]);
                content.extend_from_slice(&piece);
                let rest = piece.slice(size / 3..);
                writer.write(vec![piece.slice(..size / 3), rest]).await.unwrap();
            }
            writer.finish().await.unwrap();
            assert!(whole(&directory, &key, content.len()).await == content);
        }
    }

    #[tokio::test]
    async fn only_what_is_large_waits_for_a_turn() {
        let place = Temporary::new();
        let directory = Directory::new(place.0.clone());
        let turn = directory.pace.turn(None).await.unwrap();
        let small = Bytes::from(vec![1_u8; LITTLE_BYTES]);
        let mut writer = directory.create(&key(), None).await.unwrap();
        writer.write(vec![small]).await.unwrap();
        writer.finish().await.unwrap();

        let (key, large) = (key(), Bytes::from(vec![2_u8; SYNCED_BYTES]));
        let mut writer = directory.create(&key, None).await.unwrap();
        let mut written = writer.write(vec![large.clone()]);
        assert!(poll!(&mut written).is_pending());
        drop(turn);
        written.await.unwrap();
        writer.finish().await.unwrap();
        assert!(whole(&directory, &key, large.len()).await == large);
    }
}
