//! HTTP to the service that has the bucket, which may answer whatever it likes. object_store reads every answer that is not an
//! object as a whole, and makes as much room for it as it says that it has: so here such answers are read first, as far as they may
//! go. Redirects are not followed: signatures are for one host, and no answer decides where else the service sends its requests.
//!
//! Knows nothing of objects.

use async_trait::async_trait;
use futures_util::StreamExt;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService,
};
use object_store::{ClientConfigKey, ClientOptions, Error};
use std::time::Duration;

/// Bytes of an answer that is not an object; results in XML have a few hundred.
const ANSWER_BYTES_MAX: usize = 64 << 10;
/// For all of it, once it has begun: Amazon's service takes minutes to put many parts together, and sends blanks meanwhile.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(10 * 60);
/// Bytes of an answer with an error that go to the log.
const REASON_BYTES_MAX: usize = 4 << 10;
const REASON_TIME_MAX: Duration = Duration::from_secs(10);
/// Bytes of a header, some of which are kept for each part.
const HEADER_BYTES_MAX: usize = 8 << 10;
/// If the options don't say.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(10);
const SILENCE_MAX: Duration = Duration::from_secs(30);
/// What object_store counts beyond the last byte of a range, which here would be none.
const LAST_BYTE: &str = "18446744073709551615";

/// Makes clients for the bucket, and for whoever gives credentials to this machine.
#[derive(Debug)]
pub(super) struct Connector;

/// Reads answers as far as they may go, whoever brings them.
#[derive(Debug)]
pub(super) struct Client<S>(pub(super) S);

/// What is wrong with an answer.
#[derive(Debug, thiserror::Error)]
enum Unreadable {
    #[error("the answer is too long: it has more than {} KiB, or a header of more than {}", ANSWER_BYTES_MAX >> 10, HEADER_BYTES_MAX >> 10)]
    TooLong,
    #[error("the answer did not end within {} s", ANSWER_TIME_MAX.as_secs())]
    TooSlow,
    #[error("the answer's `Content-Range` ends beyond any object")]
    NoRange,
}

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let takes_http = options.get_config_value(&ClientConfigKey::AllowHttp);
        let seconds = |key: ClientConfigKey| {
            let setting = options.get_config_value(&key)?;
            let seconds = setting.strip_suffix('s')?.parse().ok()?;
            Some(Duration::from_secs(seconds))
        };
        let client = reqwest::Client::builder()
            .user_agent(concat!("heddle/", env!("CARGO_PKG_VERSION")))
            .https_only(takes_http.as_deref() != Some("true"))
            .http1_only()
            .redirect(reqwest::redirect::Policy::none())
            // Lengths are those of what is stored.
            .no_gzip()
            .no_brotli()
            .no_zstd()
            .no_deflate()
            .connect_timeout(seconds(ClientConfigKey::ConnectTimeout).unwrap_or(CONNECT_TIME_MAX))
            .read_timeout(seconds(ClientConfigKey::ReadTimeout).unwrap_or(SILENCE_MAX))
            .build();
        let client = client.map_err(|error| Error::Generic {
            store: "S3",
            source: Box::new(error),
        })?;
        Ok(HttpClient::new(Client(client)))
    }
}

#[async_trait]
impl<S: HttpService> HttpService for Client<S> {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let wants_object = request.method().as_str() == "GET" && request.headers().contains_key("range");
        let (head, body) = HttpService::call(&self.0, request).await?.into_parts();
        if head.headers.values().any(|value| value.len() > HEADER_BYTES_MAX) {
            return Err(HttpError::new(HttpErrorKind::Decode, Unreadable::TooLong));
        }
        if wants_object && head.status.as_u16() == 206 {
            let range = head.headers.get("content-range");
            let range = range.and_then(|range| range.to_str().ok());
            if range.is_some_and(|range| range.contains(LAST_BYTE)) {
                return Err(HttpError::new(HttpErrorKind::Decode, Unreadable::NoRange));
            }
            // Whoever reads it takes no more than it should have.
            return Ok(HttpResponse::from_parts(head, body));
        }
        let bytes = match head.status.is_success() {
            true => {
                let read = tokio::time::timeout(ANSWER_TIME_MAX, result(body)).await;
                let late = |_| Err(HttpError::new(HttpErrorKind::Timeout, Unreadable::TooSlow));
                read.unwrap_or_else(late)?
            }
            // The status says enough where the rest does not come.
            false => {
                let read = tokio::time::timeout(REASON_TIME_MAX, reason(body)).await;
                read.unwrap_or_default()
            }
        };
        Ok(HttpResponse::from_parts(head, bytes.into()))
    }
}

/// All of an answer.
async fn result(body: HttpResponseBody) -> Result<Vec<u8>, HttpError> {
    let (mut pieces, mut bytes) = (body.bytes_stream(), Vec::new());
    while let Some(piece) = pieces.next().await {
        let piece = piece?;
        if bytes.len() + piece.len() > ANSWER_BYTES_MAX {
            return Err(HttpError::new(HttpErrorKind::Decode, Unreadable::TooLong));
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

/// The beginning of an answer, as text.
async fn reason(body: HttpResponseBody) -> Vec<u8> {
    let (mut pieces, mut bytes) = (body.bytes_stream(), Vec::new());
    while bytes.len() < REASON_BYTES_MAX
        && let Some(Ok(mut piece)) = pieces.next().await
    {
        piece.truncate(REASON_BYTES_MAX - bytes.len());
        bytes.extend_from_slice(&piece);
    }
    String::from_utf8_lossy(&bytes).into_owned().into_bytes()
}
