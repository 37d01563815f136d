//! Bodies whose files are stored while they arrive: forms, and bodies that are a file themselves. What they take of memory does not
//! depend on their size.

use super::{Fields, Problem, head, text};
use bytes::Bytes;
use futures_util::Stream;
use futures_util::StreamExt;
use heddle_execution::{ArrivedFiles, FileService};
use heddle_files::FileError;
use heddle_model::error::{Code, ServiceError};
use heddle_model::file::{FileValue, Holder};
use heddle_model::tenant::Tenant;
use heddle_model::webhook::BodyKind;
use heddle_runtime::aside_if_large;
use multer::{Constraints, Multipart, SizeLimit};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::task::{Context, Poll, ready};

/// Bytes of a form before its first part, and of the head of each: until it is whole, they are kept in memory.
const HEAD_BYTES_MAX: i64 = 64 << 10;

/// Where files go.
#[derive(Clone, Debug)]
pub struct Place<'f> {
    /// The store.
    pub files: &'f FileService,
    /// Whose they are.
    pub tenant: Tenant,
    /// What is going to refer to them; `None`: they are kept for a while.
    pub holder: Option<Holder>,
    /// Bytes of the whole body at most.
    pub bytes_max: u64,
    /// Bytes of all fields together that are not files.
    pub text_bytes_max: usize,
    /// The fields of which files are stored, if not of all: others are skipped, and so are inputs without a file.
    pub fields: Option<Vec<&'f str>>,
}

impl Place<'_> {
    /// Whether this file is stored.
    fn takes(&self, field: &str, file_name: &str) -> bool {
        let fields = self.fields.as_deref();
        fields.is_none_or(|fields| !file_name.is_empty() && fields.contains(&field))
    }

    /// Does what takes time by so many bytes where no other request waits for it, if they are many.
    async fn beside<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, UploadError> {
        let done = aside_if_large(Some(self.tenant.as_u128()), bytes, work).await;
        let done = done.ok_or_else(|| UploadError::Refused(Code::Internal.into()))?;
        done.map_err(UploadError::Problem)
    }
}

/// Why a body can't be read.
#[derive(Debug, thiserror::Error)]
pub enum UploadError {
    /// It is not what its type says; a sentence's end after "the body".
    #[error("the body {0}")]
    Problem(Problem),
    /// It is larger than it may be.
    #[error("the body is too large")]
    TooLarge,
    /// It did not come to its end.
    #[error("the body can't be read")]
    Broken(#[source] Box<dyn Error + Send + Sync>),
    /// The store refuses it, or has failed.
    #[error(transparent)]
    Refused(ServiceError),
}

impl From<FileError> for UploadError {
    fn from(error: FileError) -> Self {
        UploadError::Refused(error.into())
    }
}

/// Reads a form, or a body that is one file, and gives it as JSON with file values, and the files. If it can't be read to its end, none
/// of them stays.
pub async fn read<E>(
    kind: BodyKind,
    content_type: &str,
    body: impl Stream<Item = Result<Bytes, E>> + Send + Unpin + 'static,
    place: &Place<'_>,
) -> Result<(Box<RawValue>, ArrivedFiles), UploadError>
where
    E: Into<Box<dyn Error + Send + Sync>> + 'static,
{
    let mut arrived = place.files.arriving(place.tenant, place.holder.clone());
    let (value, bytes) = match kind {
        BodyKind::Multipart => form(content_type, body, place, &mut arrived).await?,
        _ => (whole(content_type, body, place, &mut arrived).await?, 0),
    };
    let write = move || to_raw_value(&value).map_err(|error| format!("can't be written as JSON: {error}"));
    let written = place.beside(bytes, write).await?;
    Ok((written, arrived))
}

/// The fields of a form, and how many bytes their texts have.
async fn form<E>(
    content_type: &str,
    body: impl Stream<Item = Result<Bytes, E>> + Send + Unpin + 'static,
    place: &Place<'_>,
    arrived: &mut ArrivedFiles,
) -> Result<(Value, usize), UploadError>
where
    E: Into<Box<dyn Error + Send + Sync>> + 'static,
{
    let (mut parts, left) = parts_of(content_type, body, place)?;
    let mut fields = Fields::default();
    let mut text_bytes = 0;
    loop {
        left.store(HEAD_BYTES_MAX, Ordering::Relaxed);
        let next = parts.next_field().await.map_err(broken)?;
        // What a part holds is handed on as it comes.
        left.store(i64::MAX, Ordering::Relaxed);
        let Some(mut part) = next else {
            return Ok((Value::Object(fields.values), text_bytes));
        };
        let name =
            head::name(&part).ok_or_else(|| UploadError::Problem("has a part without a name".to_owned()))?;
        let part_type = part.content_type().map(ToString::to_string).unwrap_or_default();
        let value = match head::file_name(&part) {
            Some(file_name) if !place.takes(&name, &file_name) => {
                while part.chunk().await.map_err(broken)?.is_some() {}
                fields.counted().map_err(UploadError::Problem)?;
                continue;
            }
            Some(file_name) => {
                let mut piece = first_of(&mut part).await?;
                match piece.is_none() && file_name.is_empty() {
                    // An input for a file in which none was chosen.
                    true => Value::Null,
                    false => {
                        let about = (file_name.as_str(), part_type.as_str());
                        let mut writer = create(place, about).await?;
                        while let Some(bytes) = piece {
                            writer.write(bytes).await?;
                            piece = part.chunk().await.map_err(broken)?;
                        }
                        finished(writer, arrived).await?
                    }
                }
            }
            None => {
                let mut bytes = Vec::new();
                while let Some(piece) = part.chunk().await.map_err(broken)? {
                    text_bytes += piece.len();
                    if text_bytes > place.text_bytes_max {
                        return Err(UploadError::TooLarge);
                    }
                    bytes.extend_from_slice(&piece);
                }
                let count = bytes.len();
                let read = move || text(&part_type, &bytes);
                Value::String(place.beside(count, read).await?)
            }
        };
        fields.add(name, value).map_err(UploadError::Problem)?;
    }
}

/// Reads a form that has one file, and stores that under this name, or else under its own. What else the form has is skipped.
pub async fn only<E>(
    content_type: &str,
    body: impl Stream<Item = Result<Bytes, E>> + Send + Unpin + 'static,
    place: &Place<'_>,
    name: Option<&str>,
) -> Result<FileValue, UploadError>
where
    E: Into<Box<dyn Error + Send + Sync>> + 'static,
{
    let (mut parts, left) = parts_of(content_type, body, place)?;
    let mut fields = Fields::default();
    let mut stored: Option<heddle_files::Writer> = None;
    loop {
        left.store(HEAD_BYTES_MAX, Ordering::Relaxed);
        let next = parts.next_field().await.map_err(broken)?;
        left.store(i64::MAX, Ordering::Relaxed);
        let Some(mut part) = next else {
            break;
        };
        fields.counted().map_err(UploadError::Problem)?;
        let part_type = part.content_type().map(ToString::to_string).unwrap_or_default();
        let file_name = head::file_name(&part);
        let mut piece = first_of(&mut part).await?;
        let Some(file_name) = file_name.filter(|name| piece.is_some() || !name.is_empty()) else {
            while piece.is_some() {
                piece = part.chunk().await.map_err(broken)?;
            }
            continue;
        };
        if stored.is_some() {
            let problem = "has several files: send a request for each";
            return Err(UploadError::Problem(problem.to_owned()));
        }
        let about = (name.unwrap_or(&file_name), part_type.as_str());
        let mut writer = create(place, about).await?;
        while let Some(bytes) = piece {
            writer.write(bytes).await?;
            piece = part.chunk().await.map_err(broken)?;
        }
        // Kept only once nothing can be wrong any more.
        stored = Some(writer);
    }
    match stored {
        Some(writer) => Ok(writer.finish().await?),
        None => {
            let problem =
                "has no file: one part must have a `filename`, as `curl -F file=@report.pdf` sends it";
            Err(UploadError::Problem(problem.to_owned()))
        }
    }
}

/// The parts of a form, and how many bytes its reader may still be given.
fn parts_of<E>(
    content_type: &str,
    body: impl Stream<Item = Result<Bytes, E>> + Send + Unpin + 'static,
    place: &Place<'_>,
) -> Result<(Multipart<'static>, Arc<AtomicI64>), UploadError>
where
    E: Into<Box<dyn Error + Send + Sync>> + 'static,
{
    let boundary = multer::parse_boundary(content_type).map_err(|_| {
        let problem = "has no boundary: `Content-Type` must be `multipart/form-data; boundary=…`";
        UploadError::Problem(problem.to_owned())
    })?;
    let limit = SizeLimit::new().whole_stream(place.bytes_max);
    let constraints = Constraints::new().size_limit(limit);
    let left = Arc::new(AtomicI64::new(HEAD_BYTES_MAX));
    let paced = Paced {
        body,
        left: left.clone(),
        has_given: false,
    };
    let parts = Multipart::with_constraints(paced, boundary, constraints);
    Ok((parts, left))
}

/// The first bytes of a part, if it holds any.
async fn first_of(part: &mut multer::Field<'_>) -> Result<Option<Bytes>, UploadError> {
    loop {
        let piece = part.chunk().await.map_err(broken)?;
        if piece.as_ref().is_none_or(|bytes| !bytes.is_empty()) {
            return Ok(piece);
        }
    }
}

/// What stands before a part does not end.
#[derive(Debug, thiserror::Error)]
#[error("what stands before a part does not end")]
struct EndlessHead;

/// A body whose reader takes all that is there before it looks at any of it: so it is given one piece at a time, and no further one once
/// it has been given as much as it may keep.
struct Paced<S> {
    body: S,
    /// Bytes that it may still be given.
    left: Arc<AtomicI64>,
    has_given: bool,
}

impl<S, E> Stream for Paced<S>
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
    E: Into<Box<dyn Error + Send + Sync>>,
{
    type Item = Result<Bytes, Box<dyn Error + Send + Sync>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if std::mem::take(&mut self.has_given) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(match ready!(self.body.poll_next_unpin(cx)) {
            Some(Ok(_)) if self.left.load(Ordering::Relaxed) <= 0 => Some(Err(EndlessHead.into())),
            Some(Ok(piece)) => {
                self.has_given = true;
                let bytes = i64::try_from(piece.len()).unwrap_or(i64::MAX);
                self.left.fetch_sub(bytes, Ordering::Relaxed);
                Some(Ok(piece))
            }
            Some(Err(error)) => Some(Err(error.into())),
            None => None,
        })
    }
}

async fn whole<E>(
    content_type: &str,
    mut body: impl Stream<Item = Result<Bytes, E>> + Send + Unpin,
    place: &Place<'_>,
    arrived: &mut ArrivedFiles,
) -> Result<Value, UploadError>
where
    E: Into<Box<dyn Error + Send + Sync>>,
{
    let mut writer = create(place, ("body", content_type)).await?;
    while let Some(piece) = body.next().await {
        let piece = piece.map_err(|error| UploadError::Broken(error.into()))?;
        if writer.size() + piece.len() as u64 > place.bytes_max {
            return Err(UploadError::TooLarge);
        }
        writer.write(piece).await?;
    }
    finished(writer, arrived).await
}

async fn create(place: &Place<'_>, about: (&str, &str)) -> Result<heddle_files::Writer, UploadError> {
    let created = place
        .files
        .create(place.tenant, place.holder.clone(), about)
        .await;
    created.map_err(UploadError::Refused)
}

/// The value of a file that has come.
async fn finished(writer: heddle_files::Writer, arrived: &mut ArrivedFiles) -> Result<Value, UploadError> {
    let file = writer.finish().await?;
    arrived.add(file.id);
    serde_json::to_value(&file)
        .map_err(|error| UploadError::Problem(format!("can't be written as JSON: {error}")))
}

fn broken(error: multer::Error) -> UploadError {
    match error {
        multer::Error::StreamReadFailed(cause) if cause.is::<EndlessHead>() => UploadError::Problem(format!(
            "is not valid multipart/form-data: more than {} KiB stand before a part, or in the head of one",
            HEAD_BYTES_MAX >> 10
        )),
        multer::Error::StreamReadFailed(cause) => UploadError::Broken(cause),
        multer::Error::StreamSizeExceeded { .. } | multer::Error::FieldSizeExceeded { .. } => {
            UploadError::TooLarge
        }
        error => UploadError::Problem(format!("is not valid multipart/form-data: {error}")),
    }
}
