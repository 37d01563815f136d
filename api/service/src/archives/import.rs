//! Adds the parts of an archive to a workspace that is made for them, in their order and each in one transaction with the note
//! that it is there: what was interrupted goes on where it was. Whatever is wrong with an archive ends its import, and
//! nothing is left of the workspace; nor is there of an import that nobody goes on with.

use super::callbacks::CALLBACKS;
use super::files::{self, FILES};
use super::format::{self, END, Head, Manifest};
use crate::Service;
use crate::hosting::named_owner;
use heddle_model::audit::{Action, Object, Origin};
use heddle_model::clock::Timestamp;
use heddle_model::error::{Code, ServiceError};
use heddle_model::ids::{UserId, WorkspaceId};
use heddle_model::workspace_quota::{WorkspaceQuota, WorkspaceQuotas};
use heddle_store::archive::{self, Adding, Archived, ImportProgress, ImportRow, NewImport, Report, Row};
use heddle_store::hosting::Hosting;
use heddle_store::notices::Notice;
use heddle_store::turns::GROUP_BYTES_MAX;
use heddle_store::vault::ArchiveKey;
use heddle_store::{Db, Load, StoreError, audit};

/// Characters of a workspace's name.
const NAME_CHARS_MAX: usize = 100;

/// What is to be imported, and how.
pub struct ArchiveImport {
    /// The archive's beginning.
    pub manifest: Manifest,
    /// What the archive was locked with.
    pub passphrase: String,
    /// The email of who gets what belonged to people without an account; `None`: the first of the owners who has one.
    pub owner: Option<String>,
    /// Whether ids are to be others although they are free: what is made is a copy.
    pub wants_new_ids: bool,
}

/// How far an import has come.
#[derive(Clone, Debug)]
pub struct Progress {
    pub workspace: WorkspaceId,
    /// Its id where it was exported.
    pub former: WorkspaceId,
    /// Whether ids stay as they were.
    pub keeps_ids: bool,
    /// The number of the part that comes next.
    pub next_part: i64,
    /// Whether all are there.
    pub is_finished: bool,
    /// What is not as it was.
    pub report: Report,
}

impl From<ImportRow> for Progress {
    fn from(row: ImportRow) -> Self {
        Progress {
            workspace: row.workspace_id,
            former: row.former_id,
            keeps_ids: row.keeps_ids,
            next_part: row.next_part,
            is_finished: row.finished_at.is_some(),
            report: row.report(),
        }
    }
}

/// Makes a suspended workspace for an archive.
pub async fn begin(service: &Service, wanted: ArchiveImport) -> Result<Progress, ServiceError> {
    let ArchiveImport {
        manifest,
        passphrase,
        owner,
        wants_new_ids,
    } = wanted;
    format::acceptable(&passphrase)?;
    let is_name = |name: &str| (1..=NAME_CHARS_MAX).contains(&name.chars().count()) && !name.contains('\0');
    let is_id = |id: &str| id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_text = |email: &String| !email.contains('\0');
    if !is_name(&manifest.name) || !is_id(&manifest.archive) || !manifest.owners.iter().all(is_text) {
        return Err(ServiceError::field("manifest", "was not written by heddle"));
    }
    let unlocked =
        tokio::task::spawn_blocking(move || manifest.unlock(&passphrase).map(|key| (manifest, key)));
    let (manifest, key) = unlocked.await.map_err(ServiceError::internal)??;
    let (now, vault) = (service.clock.now(), service.vault.clone());
    let wants_verified = service.verifies_addresses();
    let begun = service.store.write(move |db| {
        Box::pin(async move {
            let owner = owner_of(db, &manifest, owner, wants_verified).await?;
            let new = NewImport {
                archive_id: manifest.archive,
                archived: Archived {
                    id: manifest.workspace,
                    name: manifest.name,
                    created_at: manifest.created_at.millis(),
                    hosting: hosting_of(manifest.hosting.as_deref())?,
                },
                owner,
                wants_new_ids,
                key,
                now,
            };
            let workspace = archive::begin(db, &vault, new).await?;
            found(db, workspace, false).await
        })
    });
    begun.await.map(Progress::from)
}

async fn owner_of(
    db: &mut Db<'_>,
    manifest: &Manifest,
    owner: Option<String>,
    wants_verified: bool,
) -> Result<UserId, ServiceError> {
    if let Some(email) = owner {
        return named_owner(db, &email, wants_verified).await;
    }
    let user = archive::first_account(db, &manifest.owners, wants_verified).await?;
    user.ok_or_else(|| {
        ServiceError::field(
            "owner",
            "is needed, the email of somebody who has an account here: none of the workspace's owners has one (with a verified \
             address)",
        )
    })
}

/// What an operator had set, as one may set it here.
fn hosting_of(text: Option<&str>) -> Result<Option<String>, ServiceError> {
    let Some(text) = text else { return Ok(None) };
    let read: Hosting = serde_json::from_str(text).map_err(|error| {
        ServiceError::field("manifest.hosting", format!("was not written by heddle: {error}"))
    })?;
    let mut quotas = WorkspaceQuotas::default();
    for quota in WorkspaceQuota::ALL {
        let limit = read.quotas.limit(*quota);
        quotas.set(*quota, limit.filter(|limit| *limit >= quota.least()));
    }
    let hosting = Hosting {
        quotas,
        retention_days: read.retention_days.filter(|days| (1..=36_500).contains(days)),
    };
    serde_json::to_string(&hosting)
        .map(Some)
        .map_err(ServiceError::internal)
}

/// How far the import of a workspace has come.
pub async fn progress(service: &Service, workspace: WorkspaceId) -> Result<Progress, ServiceError> {
    let mut reader = service.store.reader().await?;
    found(&mut reader.db(), workspace, false)
        .await
        .map(Progress::from)
}

async fn found(db: &mut Db<'_>, workspace: WorkspaceId, to_go_on: bool) -> Result<ImportRow, ServiceError> {
    let found = archive::find(db, workspace, to_go_on).await?;
    found.ok_or_else(|| {
        Code::NotFound
            .with("There is no import of a workspace with this id, or it ended more than a day ago.")
    })
}

/// Adds the part with this number, as it stands in the archive. One that is there already changes nothing.
pub async fn part(
    service: &Service,
    origin: Origin,
    workspace: WorkspaceId,
    (number, part): (i64, Vec<u8>),
) -> Result<Progress, ServiceError> {
    let before = progress(service, workspace).await?;
    if before.is_finished || number < before.next_part {
        return Ok(before);
    }
    if number > before.next_part {
        let message = format!("Part {} comes next.", before.next_part);
        return Err(Code::Conflict.with(message));
    }
    let added = add(service, origin, workspace, (number, part)).await;
    match added {
        Err(error) if error.code() == Code::Validation => {
            tracing::warn!(%workspace, part = number, "An archive is invalid, so its import ends: {error}");
            service.executions.erase_workspace(workspace).await?;
            let message = format!("{} Nothing from the archive was kept.", sentence(error.message()));
            Err(Code::Validation.with(message))
        }
        added => added,
    }
}

fn sentence(message: &str) -> String {
    match message.ends_with('.') {
        true => message.to_owned(),
        false => format!("{message}."),
    }
}

async fn add(
    service: &Service,
    origin: Origin,
    workspace: WorkspaceId,
    (number, part): (i64, Vec<u8>),
) -> Result<Progress, ServiceError> {
    let mut reader = service.store.reader().await?;
    let import = found(&mut reader.db(), workspace, false).await?;
    let key = import.key(&mut reader.db(), &service.vault).await?;
    drop(reader);
    let archive_id = import.archive_id.clone();
    let read = tokio::task::spawn_blocking(move || {
        let (head, bytes) = format::apart(&part)?;
        let rows = format::read((&ArchiveKey::new(&key), &archive_id), &head, bytes)?;
        Ok::<_, ServiceError>((head, rows))
    });
    let (head, rows) = read.await.map_err(ServiceError::internal)??;
    if head.part != number {
        let message = format!(
            "The part says that it is number {}, but was sent as {number}.",
            head.part
        );
        return Err(ServiceError::field("", message));
    }
    if head.of == FILES {
        let dir = service.executions.sqlite_dir_of(workspace).ok_or_else(|| {
            let message = "The workspace has SQLite files, and sqlite_dir is not set here.";
            ServiceError::field("", message)
        })?;
        let written = tokio::task::spawn_blocking(move || files::write(&dir, &rows)).await;
        written.map_err(ServiceError::internal)??;
        return noted(service, origin, workspace, (head, Vec::new())).await;
    }
    noted(service, origin, workspace, (head, rows)).await
}

/// Adds the rows of a part, and notes that they are there.
async fn noted(
    service: &Service,
    origin: Origin,
    workspace: WorkspaceId,
    (head, rows): (Head, Vec<Row>),
) -> Result<Progress, ServiceError> {
    let (now, vault) = (service.clock.now(), service.vault.clone());
    let wants_verified = service.verifies_addresses();
    let is_last = head.of == END;
    // As large as whoever exported it has made it.
    let load = Load::of(None, if rows.is_empty() { 0 } else { GROUP_BYTES_MAX });
    let done = service.store.write_sized(load, move |db| {
        Box::pin(async move {
            let import = found(db, workspace, true).await?;
            if import.next_part != head.part {
                return Err(Code::Conflict.with("The same part was sent twice at the same time."));
            }
            let mut report = import.report();
            let adding = Adding {
                names: import.names(),
                owner: import.owner_id,
                vault: &vault,
                wants_verified,
                now,
            };
            report.rows += match head.of.as_str() {
                FILES => head.rows,
                CALLBACKS => adding.add_callbacks(db, rows).await?,
                END => {
                    end(db, &import, (&mut report, origin), now).await?;
                    0
                }
                of => adding.add(db, of, rows, &mut report).await?,
            };
            let progress = ImportProgress {
                next_part: head.part + 1,
                report: &report,
                now,
            };
            archive::note(db, workspace, progress).await?;
            found(db, workspace, false).await
        })
    });
    let done: ImportRow = done.await?;
    if is_last {
        service.webhooks.all_changed();
        service.executions.follow(Notice::Workspace(workspace)).await?;
    }
    Ok(done.into())
}

async fn end(
    db: &mut Db<'_>,
    import: &ImportRow,
    (report, origin): (&mut Report, Origin),
    now: Timestamp,
) -> Result<(), ServiceError> {
    archive::finish(db, import, report, now).await?;
    let entry = Action::WorkspaceImported.of(Object::Workspace(import.workspace_id));
    let entry = entry.with("from", import.former_id.to_string());
    let noted = audit::note_in_workspace(db, import.workspace_id, (None, origin), entry).await;
    noted.map_err(|error: StoreError| error.into())
}
