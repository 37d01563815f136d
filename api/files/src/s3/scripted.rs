//! A bucket whose service answers what it was told beforehand, whatever it is asked and without a network, for those who test that
//! anything may come.

use super::connection::Client;
use super::{S3, S3Writer};
use crate::error::FileError;
use crate::objects::{Key, ObjectWriter, Objects};
use crate::settings::S3Settings;
use async_trait::async_trait;
use bytes::Bytes;
use futures_util::StreamExt;
use heddle_model::ids::BlobId;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};
use object_store::{ClientOptions, RetryConfig};
use reqwest::StatusCode;
use reqwest::header::{HeaderName, HeaderValue};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that are read of an object.
const READ_BYTES: u64 = 1_000;
/// Headers of an answer; further ones are left out, as a client refuses an answer with too many.
const HEADERS_MAX: usize = 100;

/// What the service answers. What HTTP can't have as a status or header is left out.
#[derive(Clone, Debug)]
pub struct Answer {
    /// 200 if it is none.
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
}

/// A request by what it is for, whatever its method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// To store a small object.
    Put,
    /// To begin an upload in parts.
    Begin,
    /// To take a part, and then to put the upload together.
    Complete,
    /// For the first 1,000 bytes of an object.
    Read,
    /// To give up an upload, and then to remove the object.
    Remove,
}

/// What was made of its answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// What it calls the upload, if one was begun.
    pub upload: Option<String>,
    /// Bytes of the object.
    pub bytes: u64,
}

/// Gives the answers one after the other, and then from the first on again.
#[derive(Clone, Debug)]
struct Script {
    answers: Arc<[Answer]>,
    given: Arc<AtomicUsize>,
}

impl HttpConnector for Script {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(Client(self.clone())))
    }
}

#[async_trait]
impl HttpService for Script {
    async fn call(&self, _: HttpRequest) -> Result<HttpResponse, HttpError> {
        let number = self.given.fetch_add(1, Ordering::AcqRel);
        let answer = self.answers.iter().cycle().nth(number).cloned();
        let none = || HttpError::new(HttpErrorKind::Unknown, io::Error::other("there is no answer"));
        let Answer {
            status,
            headers,
            body,
        } = answer.ok_or_else(none)?;
        let mut response = HttpResponse::new(body.into());
        *response.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
        for (name, value) in headers.into_iter().take(HEADERS_MAX) {
            let name = HeaderName::from_bytes(name.as_bytes());
            if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(&value)) {
                response.headers_mut().append(name, value);
            }
        }
        Ok(response)
    }
}

/// Asks a service that gives these answers, each request once.
///
/// # Errors
///
/// [`FileError::Bytes`] if they are not what it was asked for.
pub async fn bucket_answered(asked: Asked, answers: Vec<Answer>) -> Result<Said, FileError> {
    let settings = S3Settings {
        bucket: "files".to_owned(),
        prefix: String::new(),
        region: "us-east-1".to_owned(),
        endpoint: Some("http://127.0.0.1:9".to_owned()),
        keys: Some(("id".to_owned(), "secret".into())),
    };
    let retries = RetryConfig {
        max_retries: 0,
        ..RetryConfig::default()
    };
    let script = Script {
        answers: answers.into(),
        given: Arc::new(AtomicUsize::new(0)),
    };
    let s3 = S3::by(&settings, retries, script);
    let key = Key {
        tenant: "tenant".to_owned(),
        blob: BlobId::new(),
    };
    let mut said = Said::default();
    match asked {
        Asked::Put => Box::new(filled(&s3, &key).await?).finish().await?,
        Asked::Begin => {
            let mut writer = s3.writer(&key, None).await?;
            writer.begin().await?;
            said.upload = writer.upload();
        }
        Asked::Complete => {
            let mut writer = filled(&s3, &key).await?;
            writer.upload = Some("u".to_owned());
            Box::new(writer).finish().await?;
        }
        Asked::Read => {
            let mut content = s3.read(&key, 0..READ_BYTES).await?;
            while said.bytes < READ_BYTES
                && let Some(piece) = content.next().await
            {
                said.bytes += piece?.len() as u64;
            }
        }
        Asked::Remove => s3.remove(&key, Some("u")).await?,
    }
    Ok(said)
}

/// A writer of some bytes.
async fn filled(s3: &S3, key: &Key) -> Result<S3Writer, FileError> {
    let mut writer = s3.writer(key, None).await?;
    writer.write(vec![Bytes::from_static(b"bytes")]).await?;
    Ok(writer)
}
