//! The crate's face: files of tenants.

use crate::cipher::ContentKey;
use crate::directory::Directory;
use crate::error::FileError;
use crate::objects::{Key, Objects};
use crate::reader::{Content, Section, decrypted};
use crate::s3::S3;
use crate::settings::{Settings, Where};
use crate::shared::{NewFile, Shared};
use crate::writer::{Room, Writer};
use heddle_model::clock::{Clock, Timestamp};
use heddle_model::file::{Holder, clean_name, clean_type};
use heddle_model::ids::{BlobId, FileId, UserId};
use heddle_model::tenant::Tenant;
use heddle_store::files::{self, FileRow, NewBlob};
use heddle_store::vault::{Sealed, Vault, VaultError};
use heddle_store::{Store, workspaces};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// Files of all tenants. Cheap to clone.
#[derive(Clone)]
pub struct Files(Arc<Shared>);

/// Who reads a file.
#[derive(Clone, Debug)]
pub enum Reader {
    /// Somebody who may see all of the tenant's.
    Tenant,
    /// Something that must hold it.
    Holder(Holder),
}

impl Files {
    /// By these settings. Connects to nothing yet.
    pub fn new(settings: Settings, store: Store, vault: Arc<Vault>, clock: Clock) -> Self {
        let objects: Arc<dyn Objects> = match &settings.place {
            Where::Directory(path) => Arc::new(Directory::new(path.clone())),
            Where::S3(s3) => Arc::new(S3::new(s3)),
        };
        Files(Arc::new(Shared {
            store,
            vault,
            clock,
            objects,
            settings,
        }))
    }

    /// Whether bytes can be written, read and removed where they are to be.
    pub async fn check(&self) -> Result<(), FileError> {
        self.0.objects.check().await
    }

    /// Bytes of a file at most.
    pub fn bytes_max(&self) -> u64 {
        self.0.settings.bytes_max
    }

    /// How long an uploaded file is kept to which nothing refers.
    pub fn unused_for(&self) -> Duration {
        self.0.settings.unused_for
    }

    pub(crate) fn store(&self) -> &Store {
        &self.0.store
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.0
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    /// Begins to write a file.
    pub async fn create(&self, mut new: NewFile, room: Arc<dyn Room>) -> Result<Writer, FileError> {
        new.name = clean_name(&new.name);
        new.media_type = clean_type(&new.media_type);
        room.take(0).map_err(FileError::Refused)?;
        let (blob, tenant, now) = (BlobId::new(), new.tenant, self.now());
        let key = ContentKey::random();
        let cipher = key.cipher();
        let vault = self.0.vault.clone();
        let is_shared_out = self.0.objects.is_shared_out();
        let begun = self.0.store.write(move |db| {
            Box::pin(async move {
                let sealed = vault
                    .seal(db, tenant.workspace(), &place(blob), key.expose())
                    .await?;
                let row = NewBlob {
                    id: blob,
                    tenant,
                    data_key: sealed.data_key,
                    sealed_key: sealed.bytes,
                };
                files::begin(db, &row, now).await?;
                Ok(match tenant {
                    Tenant::User(user) => Some(user),
                    Tenant::Workspace(workspace) if is_shared_out => workspaces::owner(db, workspace).await?,
                    Tenant::Workspace(_) => None,
                })
            })
        });
        let begun: Result<Option<UserId>, VaultError> = begun.await;
        let owner = begun?;
        let key = Key {
            tenant: tenant.to_string(),
            blob,
        };
        match self.0.objects.create(&key, owner).await {
            Ok(object) => {
                let new = (new, room, owner);
                Ok(Writer::new(self.0.clone(), new, blob, cipher, object))
            }
            Err(error) => {
                self.0.abandon(blob).await;
                Err(error)
            }
        }
    }

    /// A file, if there is one that this reader may read.
    pub async fn find(&self, tenant: Tenant, reader: &Reader, file: FileId) -> Result<FileRow, FileError> {
        let mut connection = self.0.store.reader().await?;
        let db = &mut connection.db();
        let found = match reader {
            Reader::Tenant => files::of_tenant(db, tenant, file).await?,
            Reader::Holder(holder) => files::of_holder(db, tenant, holder, file).await?,
        };
        found.ok_or(FileError::NotFound)
    }

    /// Reads a part of a file of this tenant, as far as the file goes.
    pub async fn read(&self, tenant: Tenant, file: &FileRow, part: Range<u64>) -> Result<Content, FileError> {
        let sealed = Sealed {
            data_key: file.data_key_id,
            bytes: file.sealed_key.clone(),
        };
        let mut connection = self.0.store.reader().await?;
        let (db, place) = (&mut connection.db(), place(file.blob_id));
        let opened = self.0.vault.open(db, tenant.workspace(), &place, &sealed).await?;
        drop(connection);
        let key = ContentKey::from_bytes(&opened).ok_or(FileError::Damaged)?;
        let size = u64::try_from(file.size).unwrap_or(0);
        let section = Section::of(size, &part);
        let key_of = Key {
            tenant: tenant.to_string(),
            blob: file.blob_id,
        };
        let stored = self.0.objects.read(&key_of, section.sealed.clone()).await?;
        Ok(decrypted(key.cipher(), section, stored))
    }
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Files").field(&self.0.objects).finish()
    }
}

/// What a key is bound to.
fn place(blob: BlobId) -> String {
    format!("files/{blob}")
}
