//! Objects in a bucket of a service that speaks S3's protocol.

mod connection;
pub(crate) mod scripted;

use crate::error::FileError;
use crate::objects::{Key, ObjectWriter, Objects};
use crate::settings::S3Settings;
use async_trait::async_trait;
use bytes::Bytes;
use connection::Connector;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};
use heddle_model::ids::UserId;
use heddle_store::per_user::PerUser;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::client::HttpConnector;
use object_store::multipart::{MultipartStore, PartId};
use object_store::path::Path;
use object_store::{
    ClientOptions, Error, GetOptions, GetRange, ObjectStore, ObjectStoreExt, PutPayload, RetryConfig,
};
use secrecy::ExposeSecret;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

/// Bytes of a part: services want 5 MiB at least, and 10,000 parts at most.
const PART_BYTES: usize = 8 << 20;
/// Uploads at a time, each of which holds a part in memory; more wait.
const UPLOADS_MAX: usize = 16;
/// Uploads at a time to workspaces of one owner.
const UPLOADS_PER_OWNER_MAX: usize = UPLOADS_MAX / 2;
/// Places that only owners get who have no other upload: two owners with all that they may have would keep everybody waiting otherwise.
const UPLOADS_KEPT: usize = UPLOADS_MAX / 4;
/// How long an upload waits for a place: others hold one from their first byte to their last, however slowly they come.
const PLACE_WAIT_MAX: Duration = Duration::from_secs(30);
/// For one request to the service, with its repetitions.
const RETRY_MAX: Duration = Duration::from_secs(60);
/// Bytes of what the service calls an upload or a part, of which a file has thousands; services use a few hundred at most.
const NAME_BYTES_MAX: usize = 2 << 10;

/// A transfer takes as long as it makes progress.
fn client_options() -> ClientOptions {
    ClientOptions::new()
        .with_connect_timeout(Duration::from_secs(10))
        .with_timeout_disabled()
        .with_read_timeout(Duration::from_secs(30))
}

/// Objects in a bucket.
#[derive(Debug)]
pub struct S3 {
    /// Or why there is none, which whoever uses it is told.
    store: Result<Arc<AmazonS3>, String>,
    prefix: String,
    places: Arc<Semaphore>,
    kept_places: Arc<Semaphore>,
    places_of_owners: PerUser,
}

impl S3 {
    /// By these settings; connects to nothing yet.
    pub fn new(settings: &S3Settings) -> Self {
        let retries = RetryConfig {
            retry_timeout: RETRY_MAX,
            ..RetryConfig::default()
        };
        S3::with_retries(settings, retries)
    }

    fn with_retries(settings: &S3Settings, retries: RetryConfig) -> Self {
        S3::by(settings, retries, Connector)
    }

    fn by(settings: &S3Settings, retries: RetryConfig, connector: impl HttpConnector) -> Self {
        // There is one already if something else needed it before.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(&settings.bucket)
            .with_region(&settings.region)
            .with_client_options(client_options())
            .with_http_connector(connector)
            // object_store panics if the answer to a bulk delete names an object that it was not asked to delete. One object is
            // one request either way.
            .with_disable_bulk_delete(true)
            .with_retry(retries);
        if let Some(endpoint) = &settings.endpoint {
            builder = builder
                .with_endpoint(endpoint)
                .with_allow_http(endpoint.starts_with("http://"));
        }
        if let Some((id, secret)) = &settings.keys {
            builder = builder
                .with_access_key_id(id)
                .with_secret_access_key(secret.expose_secret());
        }
        S3 {
            store: builder.build().map(Arc::new).map_err(|error| error.to_string()),
            prefix: settings.prefix.clone(),
            places: Arc::new(Semaphore::new(UPLOADS_MAX - UPLOADS_KEPT)),
            kept_places: Arc::new(Semaphore::new(UPLOADS_KEPT)),
            places_of_owners: PerUser::new(UPLOADS_PER_OWNER_MAX),
        }
    }

    fn store(&self) -> Result<Arc<AmazonS3>, FileError> {
        self.store.clone().map_err(FileError::bytes)
    }

    /// Waits for a place: whoever has many waits for their own, and for nobody else's.
    async fn place(&self, owner: Option<UserId>) -> Result<Place, FileError> {
        let taken = async {
            let (of_owner, is_only) = match owner {
                Some(owner) => {
                    let own = self.places_of_owners.of(owner);
                    let is_only = own.available_permits() == UPLOADS_PER_OWNER_MAX;
                    (Some(own.acquire_owned().await?), is_only)
                }
                None => (None, false),
            };
            let of_all = self.places.clone().acquire_owned();
            let of_all = match is_only {
                true => tokio::select! {
                    biased;
                    place = of_all => place?,
                    place = self.kept_places.clone().acquire_owned() => place?,
                },
                false => of_all.await?,
            };
            Ok::<_, AcquireError>(Place {
                _of_owner: of_owner,
                _of_all: of_all,
            })
        };
        let taken = tokio::time::timeout(PLACE_WAIT_MAX, taken).await;
        let full = |_| FileError::bytes("All places for uploads are taken.");
        taken.map_err(full)?.map_err(FileError::bytes)
    }

    async fn writer(&self, key: &Key, owner: Option<UserId>) -> Result<S3Writer, FileError> {
        let place = self.place(owner).await?;
        Ok(S3Writer {
            store: self.store()?,
            path: self.path(key),
            pieces: Vec::new(),
            bytes: 0,
            upload: None,
            is_told: false,
            parts: Vec::new(),
            _place: place,
        })
    }

    fn path(&self, key: &Key) -> Path {
        let prefix = self.prefix.split('/').filter(|part| !part.is_empty());
        Path::from_iter(prefix.map(str::to_owned).chain(key.path()))
    }
}

/// For one upload.
struct Place {
    _of_owner: Option<OwnedSemaphorePermit>,
    _of_all: OwnedSemaphorePermit,
}

struct S3Writer {
    store: Arc<AmazonS3>,
    path: Path,
    pieces: Vec<Bytes>,
    bytes: usize,
    upload: Option<String>,
    is_told: bool,
    parts: Vec<PartId>,
    _place: Place,
}

#[async_trait]
impl Objects for S3 {
    async fn create(&self, key: &Key, owner: Option<UserId>) -> Result<Box<dyn ObjectWriter>, FileError> {
        Ok(Box::new(self.writer(key, owner).await?))
    }

    fn is_shared_out(&self) -> bool {
        true
    }

    async fn read(
        &self,
        key: &Key,
        range: Range<u64>,
    ) -> Result<BoxStream<'static, Result<Bytes, FileError>>, FileError> {
        let options = GetOptions {
            range: Some(GetRange::Bounded(range)),
            ..GetOptions::default()
        };
        let found = self.store()?.get_opts(&self.path(key), options).await;
        let found = found.map_err(FileError::bytes)?;
        Ok(found.into_stream().map_err(FileError::bytes).boxed())
    }

    async fn remove(&self, key: &Key, upload: Option<&str>) -> Result<(), FileError> {
        let (store, path) = (self.store()?, self.path(key));
        let gone = |done: Result<(), Error>| match done {
            Err(Error::NotFound { .. }) => Ok(()),
            done => done.map_err(FileError::bytes),
        };
        if let Some(upload) = upload {
            gone(store.abort_multipart(&path, &upload.to_owned()).await)?;
        }
        gone(store.delete(&path).await)
    }
}

#[async_trait]
impl ObjectWriter for S3Writer {
    async fn write(&mut self, pieces: Vec<Bytes>) -> Result<(), FileError> {
        self.bytes += pieces.iter().map(Bytes::len).sum::<usize>();
        self.pieces.extend(pieces);
        while self.bytes >= PART_BYTES {
            if self.upload.is_none() {
                self.begin().await?;
                // Told before there is anything in it.
                return Ok(());
            }
            let part = self.next_part();
            self.send(part).await?;
        }
        Ok(())
    }

    fn upload(&mut self) -> Option<String> {
        let upload = self.upload.clone().filter(|_| !self.is_told);
        self.is_told |= upload.is_some();
        upload
    }

    async fn finish(mut self: Box<Self>) -> Result<(), FileError> {
        let Some(upload) = self.upload.clone() else {
            let whole = PutPayload::from_iter(self.pieces);
            let put = self.store.put(&self.path, whole).await;
            return put.map(drop).map_err(FileError::bytes);
        };
        while self.bytes > PART_BYTES {
            let part = self.next_part();
            self.send(part).await?;
        }
        if self.bytes > 0 {
            let rest = PutPayload::from_iter(std::mem::take(&mut self.pieces));
            self.send(rest).await?;
        }
        let completed = self
            .store
            .complete_multipart(&self.path, &upload, self.parts)
            .await;
        completed.map(drop).map_err(FileError::bytes)
    }
}

impl S3Writer {
    /// Begins an upload in parts.
    async fn begin(&mut self) -> Result<(), FileError> {
        let begun = self.store.create_multipart(&self.path).await;
        self.upload = Some(named(begun.map_err(FileError::bytes)?)?);
        Ok(())
    }

    /// Exactly as many bytes as a part has: some services want them all equal.
    fn next_part(&mut self) -> PutPayload {
        let (mut part, mut bytes) = (Vec::new(), 0);
        let mut rest = Vec::new();
        for mut piece in std::mem::take(&mut self.pieces) {
            let wanted = PART_BYTES - bytes;
            if wanted == 0 {
                rest.push(piece);
                continue;
            }
            let taken = piece.split_to(wanted.min(piece.len()));
            bytes += taken.len();
            part.push(taken);
            if !piece.is_empty() {
                rest.push(piece);
            }
        }
        self.pieces = rest;
        self.bytes -= bytes;
        PutPayload::from_iter(part)
    }

    async fn send(&mut self, part: PutPayload) -> Result<(), FileError> {
        let upload = self.upload.clone().unwrap_or_default();
        let number = self.parts.len();
        let sent = self.store.put_part(&self.path, &upload, number, part).await;
        let content_id = named(sent.map_err(FileError::bytes)?.content_id)?;
        self.parts.push(PartId { content_id });
        Ok(())
    }
}

/// What the service calls something, if it is no longer than names are.
fn named(name: String) -> Result<String, FileError> {
    match name.len() > NAME_BYTES_MAX {
        true => Err(FileError::bytes(
            "The service has answered with a name that is too long.",
        )),
        false => Ok(name),
    }
}

#[cfg(test)]
mod tests;
