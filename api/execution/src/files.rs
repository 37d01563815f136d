//! The files of runs: which of them a run may read, and what it makes of its own.
//!
//! **A value that says `$file` proves nothing**: events come from senders, and code writes what it likes. A run reads a file only
//! if a row says that the run holds it. It holds those of its event (whoever stored the event has checked them), those that it
//! has made, and those that come to it by a kept value, a called run or a test whose author may see them.

use crate::file_rooms::FileRooms;
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt};
use heddle_files::{FileError, Files, NewFile, Reader, Writer};
use heddle_model::clock::Clock;
use heddle_model::error::{ServiceError, chain};
use heddle_model::file::{self, Holder, mentioned};
use heddle_model::ids::{FileId, RunId};
use heddle_model::tenant::Tenant;
use heddle_runtime::files::{FileFailure, FileFuture, FileSink, FileValue, Files as RunFiles, OpenedFile};
use heddle_store::files::{self, ABANDONED_AFTER, Right};
use heddle_store::{Store, StoreError};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// How long files of test runs are kept.
const TEST_KEPT_FOR: std::time::Duration = std::time::Duration::from_secs(60 * 60);

/// Files, and what tenants may store. Cheap to clone.
#[derive(Clone, Debug)]
pub struct FileService {
    pub(crate) files: Files,
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) rooms: FileRooms,
}

impl FileService {
    /// The files of all tenants.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// Begins to write a file that a run is going to hold, or one that is only uploaded.
    pub async fn create(
        &self,
        tenant: Tenant,
        holder: Option<Holder>,
        (name, media_type): (&str, &str),
    ) -> Result<Writer, ServiceError> {
        let kept_for = match holder {
            Some(_) => ABANDONED_AFTER,
            None => self.files.unused_for(),
        };
        let new = NewFile {
            tenant,
            name: name.to_owned(),
            media_type: media_type.to_owned(),
            kept_for,
            holder,
        };
        Ok(self.files.create(new, self.rooms.of(tenant).await?).await?)
    }

    /// Lets a holder have the files that a text refers to, as far as this right goes. A text that refers to none costs a search.
    pub async fn hold(&self, tenant: Tenant, json: &str, by: (Holder, OwnedRight)) -> Result<(), StoreError> {
        self.hold_these(tenant, mentioned(json).into_iter().collect(), by)
            .await
    }

    async fn hold_these(
        &self,
        tenant: Tenant,
        ids: Vec<FileId>,
        (holder, right): (Holder, OwnedRight),
    ) -> Result<(), StoreError> {
        if ids.is_empty() {
            return Ok(());
        }
        let now = self.clock.now();
        let held = self.store.write(move |db| {
            Box::pin(async move {
                let right = match &right {
                    OwnedRight::Tenant => Right::Tenant,
                    OwnedRight::Holder(other) => Right::Holder(other),
                };
                files::hold(db, tenant, &ids, (&holder, right), now).await
            })
        });
        let held: Result<u64, StoreError> = held.await;
        held.map(drop)
    }

    /// Removes files that this holder has or was to have, unless others refer to them as well.
    async fn discard(
        &self,
        tenant: Tenant,
        ids: Vec<FileId>,
        holder: Option<Holder>,
    ) -> Result<(), StoreError> {
        if ids.is_empty() {
            return Ok(());
        }
        let discarded = self.store.write(move |db| {
            Box::pin(async move {
                if let Some(holder) = &holder {
                    files::release(db, holder, &ids).await?;
                }
                for file in ids {
                    files::remove(db, tenant, file).await?;
                }
                Ok::<_, StoreError>(())
            })
        });
        discarded.await
    }

    /// Files that are about to come, for a holder if there is one already.
    pub fn arriving(&self, tenant: Tenant, holder: Option<Holder>) -> ArrivedFiles {
        ArrivedFiles {
            service: self.clone(),
            tenant,
            holder,
            ids: Vec::new(),
            are_kept: false,
        }
    }

    /// The id of a run that is about to be accepted with this event, if it has one already: since the event refers to files,
    /// which the run holds from now on.
    pub async fn run_with(
        &self,
        tenant: Tenant,
        event: &str,
        right: OwnedRight,
    ) -> Result<Option<RunId>, StoreError> {
        if !event.contains(file::MARK) {
            return Ok(None);
        }
        let run = RunId::new();
        self.hold(tenant, event, (Holder::Run(run), right)).await?;
        Ok(Some(run))
    }

    /// What a run of a deployment does with files.
    pub(crate) fn of_run(&self, tenant: Tenant, run: RunId) -> Arc<dyn RunFiles> {
        Arc::new(HeldFiles {
            service: self.clone(),
            tenant,
            held: Held::By(Holder::Run(run)),
        })
    }

    /// What a test run does with files: it may read those that its event and pins refer to, which somebody wrote who may read
    /// all of the tenant's.
    pub(crate) fn of_test(&self, tenant: Tenant, known: BTreeSet<FileId>) -> Arc<dyn RunFiles> {
        Arc::new(HeldFiles {
            service: self.clone(),
            tenant,
            held: Held::Known(Arc::new(Mutex::new(known))),
        })
    }
}

/// Files that have come with something that may still be refused. Dropping it removes them, unless they are kept: so whatever goes
/// wrong, nothing of what was refused counts towards what may be stored.
#[derive(Debug)]
pub struct ArrivedFiles {
    service: FileService,
    tenant: Tenant,
    /// What has them, or is to have them.
    holder: Option<Holder>,
    ids: Vec<FileId>,
    are_kept: bool,
}

impl ArrivedFiles {
    /// One more has come.
    pub fn add(&mut self, file: FileId) {
        self.ids.push(file);
    }

    /// Lets a holder have them.
    pub async fn hold(&mut self, holder: Holder) -> Result<(), StoreError> {
        self.holder = Some(holder.clone());
        let by = (holder, OwnedRight::Tenant);
        self.service.hold_these(self.tenant, self.ids.clone(), by).await
    }

    /// They stay from here on, unless [`discard`](Self::discard) says otherwise.
    pub fn keep(&mut self) {
        self.are_kept = true;
    }

    /// Removes them.
    pub async fn discard(mut self) -> Result<(), StoreError> {
        let (ids, holder) = (std::mem::take(&mut self.ids), self.holder.take());
        self.service.discard(self.tenant, ids, holder).await
    }
}

impl Drop for ArrivedFiles {
    fn drop(&mut self) {
        if self.are_kept || self.ids.is_empty() {
            return;
        }
        // Without this the next sweep finds them, later.
        if let Ok(executor) = tokio::runtime::Handle::try_current() {
            let (service, tenant) = (self.service.clone(), self.tenant);
            let (ids, holder) = (std::mem::take(&mut self.ids), self.holder.take());
            executor.spawn(async move {
                if let Err(error) = service.discard(tenant, ids, holder).await {
                    tracing::warn!(error = %chain(&error), "Files that were refused could not be removed: a sweep does it later");
                }
            });
        }
    }
}

/// By whose right a holder gets files.
#[derive(Clone, Debug)]
pub enum OwnedRight {
    /// Somebody's who may see all files of the tenant.
    Tenant,
    /// Another holder's, which has it.
    Holder(Holder),
}

/// Which files a run may read.
#[derive(Clone, Debug)]
enum Held {
    /// Those that rows say.
    By(Holder),
    Known(Arc<Mutex<BTreeSet<FileId>>>),
}

#[derive(Debug)]
struct HeldFiles {
    service: FileService,
    tenant: Tenant,
    held: Held,
}

impl Held {
    fn reader(&self, file: FileId) -> Option<Reader> {
        match self {
            Held::By(holder) => Some(Reader::Holder(holder.clone())),
            Held::Known(known) => {
                let known = known.lock().unwrap_or_else(PoisonError::into_inner);
                known.contains(&file).then_some(Reader::Tenant)
            }
        }
    }
}

impl RunFiles for HeldFiles {
    fn open(&self, id: &str, part: Option<Range<u64>>) -> FileFuture<'static, OpenedFile> {
        let (files, tenant, given) = (self.service.files.clone(), self.tenant, id.to_owned());
        let file: Option<FileId> = id.parse().ok();
        let reader = file.and_then(|file| self.held.reader(file));
        Box::pin(async move {
            let (Some(file), Some(reader)) = (file, reader) else {
                return Err(FileFailure::NotFound(given));
            };
            let failed = |error| failure(error, &given);
            let row = files.find(tenant, &reader, file).await.map_err(failed)?;
            let size = u64::try_from(row.size).unwrap_or(0);
            let part = part.unwrap_or(0..size);
            let content = files.read(tenant, &row, part).await.map_err(failed)?;
            Ok(OpenedFile {
                value: shown(row.value()),
                content: content.map_err(move |error| failure(error, &given)).boxed(),
            })
        })
    }

    fn create(&self, name: &str, media_type: &str) -> FileFuture<'static, Box<dyn FileSink>> {
        let (service, tenant) = (self.service.clone(), self.tenant);
        let held = self.held.clone();
        let (holder, kept_for) = match &held {
            Held::By(holder) => (Some(holder.clone()), ABANDONED_AFTER),
            Held::Known(_) => (None, TEST_KEPT_FOR),
        };
        let new = NewFile {
            tenant,
            name: name.to_owned(),
            media_type: media_type.to_owned(),
            kept_for,
            holder,
        };
        Box::pin(async move {
            let room = service.rooms.of(tenant).await;
            let room = room.map_err(|error| match error {
                StoreError::Quota(exceeded) => FileFailure::Limit(exceeded.to_string()),
                error => FileFailure::Unavailable(Arc::new(error)),
            })?;
            let writer = service.files.create(new, room).await;
            let writer = writer.map_err(|error| failure(error, ""))?;
            let sink: Box<dyn FileSink> = Box::new(Sink { writer, held });
            Ok(sink)
        })
    }
}

struct Sink {
    writer: Writer,
    held: Held,
}

impl FileSink for Sink {
    fn write(&mut self, bytes: Bytes) -> FileFuture<'_, ()> {
        Box::pin(async move { self.writer.write(bytes).await.map_err(|error| failure(error, "")) })
    }

    fn finish(self: Box<Self>) -> FileFuture<'static, FileValue> {
        Box::pin(async move {
            let made = self.writer.finish().await.map_err(|error| failure(error, ""))?;
            if let Held::Known(known) = &self.held {
                known
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .insert(made.id);
            }
            Ok(shown(made))
        })
    }
}

fn shown(value: file::FileValue) -> FileValue {
    FileValue {
        id: value.id.to_string(),
        name: value.name,
        media_type: value.media_type,
        size: u64::try_from(value.size).unwrap_or(0),
        sha256: value.sha256,
    }
}

fn failure(error: FileError, id: &str) -> FileFailure {
    match error {
        FileError::NotFound => FileFailure::NotFound(id.to_owned()),
        FileError::TooLarge { .. } | FileError::Refused(_) => FileFailure::Limit(error.to_string()),
        error => FileFailure::Unavailable(Arc::new(error)),
    }
}
