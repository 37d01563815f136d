//! Writes a workspace as an archive, part by part, while it is sent.

use super::callbacks::{self, CALLBACKS};
use super::files::{FILES, Left};
use super::format::{self, END, Manifest};
use crate::{Service, hosting};
use heddle_model::audit::{Action, Object, Origin};
use heddle_model::clock::Timestamp;
use heddle_model::error::{Code, ServiceError};
use heddle_model::ids::{RunId, WorkspaceId};
use heddle_model::status::Phase;
use heddle_store::archive::{self, Reading};
use heddle_store::hosting::TenantRow;
use heddle_store::vault::{ArchiveKey, MASTER_KEY_BYTES};
use heddle_store::{StoreError, audit};
use zeroize::Zeroizing;

/// Owners that the manifest names.
const OWNERS_MAX: i64 = 1_000;
/// Runs that are looked at before a workspace counts as standing still.
const RUNS_MAX: i64 = 10_000;

/// An archive that is being written.
pub struct Export {
    service: Service,
    workspace: WorkspaceId,
    archive: String,
    key: ArchiveKey,
    number: i64,
    stage: Stage,
}

enum Stage {
    Manifest(Box<Manifest>),
    Rows(Reading),
    Callbacks(Option<RunId>),
    Files(Left),
    End,
    Over,
}

/// Begins to export a suspended workspace of which nothing executes any more.
pub async fn begin(
    service: &Service,
    origin: Origin,
    workspace: WorkspaceId,
    passphrase: String,
) -> Result<Export, ServiceError> {
    format::acceptable(&passphrase)?;
    let found = hosting::find(service, workspace).await?;
    stands_still(service, &found).await?;
    service.store.meter().await?;
    let mut reader = service.store.reader().await?;
    let owners = archive::owners(&mut reader.db(), workspace, OWNERS_MAX).await?;
    drop(reader);
    let mut manifest = Manifest::new((workspace, found.name, found.created_at), service.clock.now());
    manifest.owners = owners;
    manifest.hosting = found.hosting;
    let key: Zeroizing<[u8; MASTER_KEY_BYTES]> = Zeroizing::new(heddle_model::entropy::random());
    let locked = {
        let key = key.clone();
        tokio::task::spawn_blocking(move || manifest.lock(&passphrase, &key).map(|()| manifest)).await
    };
    let manifest = locked.map_err(ServiceError::internal)??;
    let note = service.store.write(move |db| {
        Box::pin(async move {
            let entry = Action::WorkspaceExported.of(Object::Workspace(workspace));
            audit::note_in_workspace(db, workspace, (None, origin), entry).await
        })
    });
    let note: Result<(), StoreError> = note.await;
    note?;
    Ok(Export {
        service: service.clone(),
        workspace,
        archive: manifest.archive.clone(),
        key: ArchiveKey::new(&key),
        number: 0,
        stage: Stage::Manifest(Box::new(manifest)),
    })
}

/// Checks that nothing of a workspace changes while it is read.
async fn stands_still(service: &Service, found: &TenantRow) -> Result<(), ServiceError> {
    let Some(suspended_at) = found.suspended_at else {
        let message = "Suspend the workspace first, so that nothing in it changes in the meantime and nothing is done twice.";
        return Err(Code::Conflict.with(message));
    };
    let mut reader = service.store.reader().await?;
    let mut db = reader.db();
    if archive::is_under_way(&mut db, found.id).await? {
        return Err(Code::Conflict
            .with("The workspace is being imported: it can be exported when the import has finished."));
    }
    let runs = archive::in_memory(&mut db, found.id, RUNS_MAX).await?;
    // Those that another server has may execute for as long as a run may.
    let is_held = |run: &RunId| service.executions.phase_of(*run) == Some(Phase::Queued);
    let executing = runs.iter().filter(|run| !is_held(run)).count();
    let still_at = Timestamp::from_millis(suspended_at).plus(service.executions.run_timeout());
    let wait_ms = still_at.millis().saturating_sub(service.clock.now().millis());
    match u64::try_from(wait_ms) {
        Ok(wait_ms) if executing > 0 && wait_ms > 0 => {
            let message =
                format!("{executing} of the workspace's runs still execute: try again when they have ended.");
            Err(Code::Conflict
                .with(message)
                .retry_after_s(wait_ms.div_ceil(1_000)))
        }
        _ => Ok(()),
    }
}

impl Export {
    /// The next bytes, which are the manifest or a part; `None` after the last ones.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, ServiceError> {
        loop {
            match &mut self.stage {
                Stage::Manifest(manifest) => {
                    let line = manifest.line()?;
                    self.stage = Stage::Rows(Reading::new(self.workspace));
                    return Ok(Some(line));
                }
                Stage::Rows(reading) => {
                    let mut reader = self.service.store.reader().await?;
                    let page = reading.next(&mut reader.db(), &self.service.vault).await?;
                    drop(reader);
                    match page {
                        Some(page) => return self.part(page.of, page.rows).await.map(Some),
                        None => self.stage = Stage::Callbacks(None),
                    }
                }
                Stage::Callbacks(after) => {
                    match callbacks::next(&self.service, self.workspace, *after).await? {
                        Some((rows, last)) => {
                            *after = Some(last);
                            return self.part(CALLBACKS, rows).await.map(Some);
                        }
                        None => {
                            let files = self.service.executions.sqlite_dir_of(self.workspace);
                            let left = tokio::task::spawn_blocking(move || Left::of(files)).await;
                            let left = left.map_err(ServiceError::internal)?;
                            self.stage = Stage::Files(left.map_err(ServiceError::internal)?);
                        }
                    }
                }
                Stage::Files(left) => {
                    let mut taken = std::mem::take(left);
                    let read = tokio::task::spawn_blocking(move || taken.next().map(|piece| (taken, piece)));
                    let (still, piece) = read
                        .await
                        .map_err(ServiceError::internal)?
                        .map_err(ServiceError::internal)?;
                    match piece {
                        Some(row) => {
                            self.stage = Stage::Files(still);
                            return self.part(FILES, vec![row]).await.map(Some);
                        }
                        None => self.stage = Stage::End,
                    }
                }
                Stage::End => {
                    self.stage = Stage::Over;
                    return self.part(END, Vec::new()).await.map(Some);
                }
                Stage::Over => return Ok(None),
            }
        }
    }

    async fn part(&mut self, of: &'static str, rows: Vec<String>) -> Result<Vec<u8>, ServiceError> {
        self.number += 1;
        format::written((&self.key, &self.archive), self.number, of, &rows)
    }
}
