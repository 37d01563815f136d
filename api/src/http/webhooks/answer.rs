//! From the end of a run to an HTTP response. RespondToWebhook's response comes from untrusted code: it may choose
//! status, headers and body, but can't break the connection or act under the service's own origin.

use crate::app::App;
use crate::http::error::ApiError;
use axum::Json;
use axum::body::{Body, Bytes};
use axum::http::header::{
    ALLOW, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use heddle_execution::Ended;
use heddle_execution::blocking::computing;
use heddle_files::Reader;
use heddle_model::Code;
use heddle_model::file::{Holder, clean_type};
use heddle_model::ids::{FileId, RunId, UserId};
use heddle_model::status::RunStatus;
use heddle_model::tenant::Tenant;
use heddle_runtime::{answer_headers, is_small};
use heddle_service::rooms::Room;
use heddle_service::webhooks::SMALL_ANSWER_BYTES_MAX;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long what is large waits for room before its sender is told that there is none.
const ROOM_TIME_MAX: Duration = Duration::from_secs(10);
/// The message then.
const NO_ROOM: &str = "Too many large answers of this webhook's owner are being sent.";
/// What a sender is told in place of an error's message.
const UNTOLD: &str = "The run failed. Its record says why.";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Responded {
    status: u16,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: Box<RawValue>,
    body_type: String,
}

/// The run that answers, the tenant whose files it may give, and the tenant's owner, in whose turn its answer is read.
pub(super) type Answering = (RunId, Tenant, UserId);

/// The answer to a sender that has waited for its run. Without `with_details` the error's message is left out: it may contain
/// the address of a service, and what the service answered.
pub(super) async fn to_sender(app: &App, by: Answering, ended: &Ended, with_details: bool) -> Response {
    if let Some(responded) = &ended.response {
        return respond_to(app, by, responded).await;
    }
    let (run, ..) = by;
    let mut response = match ended.status == RunStatus::Success {
        true => completed(app, by, ended).await,
        false => without_output(run, ended, with_details),
    };
    name_run(response.headers_mut(), run);
    response
}

/// A body in memory, which has room until it is sent.
struct Kept {
    bytes: Vec<u8>,
    _room: Room<UserId>,
}

impl AsRef<[u8]> for Kept {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Room for a body of so many bytes, if it is large. Its receiver may take minutes to take it.
async fn room(app: &App, owner: UserId, bytes: usize) -> Result<Option<Room<UserId>>, String> {
    if bytes <= SMALL_ANSWER_BYTES_MAX {
        return Ok(None);
    }
    // Boxed: the future of each request would have to carry it.
    let room = Box::pin(app.webhooks.answers.wait(owner, bytes, ROOM_TIME_MAX)).await;
    room.map(Some).ok_or_else(|| NO_ROOM.to_owned())
}

fn body_of(bytes: Vec<u8>, room: Option<Room<UserId>>) -> Body {
    match room {
        None => Body::from(bytes),
        Some(room) => Body::from(Bytes::from_owner(Kept { bytes, _room: room })),
    }
}

/// What RespondToWebhook gave.
pub(super) async fn respond_to(app: &App, by: Answering, responded: &RawValue) -> Response {
    let (run, ..) = by;
    let mut response = responded_with(app, by, responded)
        .await
        .unwrap_or_else(|problem| failed(run, "RESPONSE", &problem));
    name_run(response.headers_mut(), run);
    response
}

/// Says which run answers.
pub(super) fn name_run(headers: &mut HeaderMap, run: RunId) {
    // An id is a valid header value.
    if let Ok(value) = HeaderValue::from_str(&run.to_string()) {
        headers.insert("x-run-id", value);
    }
}

/// The answer to a method that a webhook does not take.
pub(super) fn not_allowed<'m>(methods: impl IntoIterator<Item = &'m str>) -> Response {
    let methods: Vec<&str> = methods.into_iter().collect();
    let mut response = ApiError::from(Code::MethodNotAllowed).into_response();
    if let Ok(methods) = HeaderValue::from_str(&methods.join(",")) {
        response.headers_mut().insert(ALLOW, methods);
    }
    response
}

/// The answer to a sender who checks the address.
pub(super) fn proven(challenge: String) -> Response {
    let headers = [
        (CONTENT_TYPE, "text/plain; charset=utf-8"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (StatusCode::OK, headers, challenge).into_response()
}

/// What Slack wants back, if it checks a new address.
pub(super) fn challenge_of_slack(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct UrlVerification {
        r#type: String,
        challenge: String,
    }
    let sent: UrlVerification = serde_json::from_slice(body).ok()?;
    (sent.r#type == "url_verification").then_some(sent.challenge)
}

/// What [`end_of_run`] says of a run that has succeeded. The output is handed on as it is, however large and deep.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Completed<'a> {
    status: &'static str,
    run_id: RunId,
    output: Option<&'a RawValue>,
}

async fn completed(app: &App, (run, _, owner): Answering, ended: &Ended) -> Response {
    let bytes = ended.output.as_deref().map_or(0, |output| output.get().len());
    match room(app, owner, bytes).await {
        Ok(room) => with_output(run, ended, room),
        Err(message) => {
            let message = format!("{message} The run {run} has succeeded.");
            ApiError::from(Code::Unavailable.with(message)).into_response()
        }
    }
}

fn with_output(run: RunId, ended: &Ended, room: Option<Room<UserId>>) -> Response {
    let completed = Completed {
        status: "completed",
        run_id: run,
        output: ended.output.as_deref(),
    };
    match serde_json::to_vec(&completed) {
        Ok(bytes) => ([(CONTENT_TYPE, "application/json")], body_of(bytes, room)).into_response(),
        Err(error) => ApiError::internal(error).into_response(),
    }
}

fn without_output(run: RunId, ended: &Ended, with_details: bool) -> Response {
    let body = end_of_run(run, ended, with_details);
    match &ended.error {
        Some(error) if error.code == "TIMEOUT" => too_late(run).into_response(),
        _ => (StatusCode::INTERNAL_SERVER_ERROR, Json(body)).into_response(),
    }
}

/// What a sender is told of a run's end.
pub(super) fn end_of_run(run: RunId, ended: &Ended, with_details: bool) -> serde_json::Value {
    if ended.status == RunStatus::Success {
        let output = ended.output.as_deref();
        return json!({"status": "completed", "runId": run, "output": output});
    }
    let mut error = ended.error.clone();
    if let Some(error) = error.as_mut().filter(|_| !with_details) {
        error.message = UNTOLD.to_owned();
    }
    json!({"status": "failed", "runId": run, "error": error})
}

/// The answer to an event that has had its run.
pub(super) fn duplicate(run: RunId) -> Response {
    let message = "An event with this idempotency key has already been accepted.";
    Json(json!({"status": "duplicate", "message": message, "runId": run})).into_response()
}

fn failed(run: RunId, code: &str, message: &str) -> Response {
    let error = json!({"code": code, "message": message, "nodeId": null});
    let body = json!({"status": "failed", "runId": run, "error": error});
    (StatusCode::INTERNAL_SERVER_ERROR, Json(body)).into_response()
}

/// The run took longer than it, or its sender, may.
pub(super) fn too_late(run: RunId) -> ApiError {
    Code::ExecutionTimeout
        .with(format!("The run {run} did not end in time."))
        .into()
}

/// What is sent as a body.
enum Content {
    Text(String),
    Bytes(Vec<u8>),
    /// The file that this names.
    File(Box<RawValue>),
    Json(Box<RawValue>),
}

impl Content {
    /// Bytes that it has in memory until it is sent.
    fn bytes(&self) -> usize {
        match self {
            Content::Text(text) => text.len(),
            Content::Bytes(bytes) => bytes.len(),
            Content::File(_) => 0,
            Content::Json(json) => json.get().len(),
        }
    }
}

/// Reads what RespondToWebhook gave: status, headers and body.
fn read(text: &str) -> Result<(u16, BTreeMap<String, String>, Content), String> {
    let unreadable = |error: serde_json::Error| format!("RespondToWebhook's response can't be sent: {error}");
    let responded: Responded = serde_json::from_str(text).map_err(unreadable)?;
    let body = responded.body;
    let content = match responded.body_type.as_str() {
        "text" => Content::Text(serde_json::from_str(body.get()).map_err(unreadable)?),
        "base64" => {
            let text: String = serde_json::from_str(body.get()).map_err(unreadable)?;
            let bytes = STANDARD.decode(text);
            let bytes =
                bytes.map_err(|error| format!("RespondToWebhook's body is not valid base64: {error}"))?;
            Content::Bytes(bytes)
        }
        "file" => Content::File(body),
        _ => Content::Json(body),
    };
    Ok((responded.status, responded.headers, content))
}

/// What RespondToWebhook gave, as HTTP.
async fn responded_with(
    app: &App,
    (run, tenant, owner): Answering,
    responded: &RawValue,
) -> Result<Response, String> {
    let (status, given, content) = match is_small(responded.get().len()) {
        true => read(responded.get())?,
        false => {
            let text = responded.get().to_owned();
            // Boxed: the future of each request would have to carry it.
            let read = Box::pin(computing(Some(owner), move || read(&text))).await;
            read.unwrap_or_else(|error| Err(error.message().to_owned()))?
        }
    };
    let status = StatusCode::from_u16(status)
        .ok()
        .filter(|status| (200..=599).contains(&status.as_u16()))
        .ok_or_else(|| format!("RespondToWebhook's status {status} can't be sent"))?;
    let mut of_file = None;
    let room = room(app, owner, content.bytes()).await?;
    let (content_type, body) = match content {
        Content::Text(text) => ("text/plain; charset=utf-8", body_of(text.into_bytes(), room)),
        Content::Bytes(bytes) => ("application/octet-stream", body_of(bytes, room)),
        Content::File(named) => {
            // Boxed: the future of each request would have to carry it.
            let (body, media_type, size) = Box::pin(file(app, (run, tenant), &named)).await?;
            of_file = Some((media_type, size));
            ("application/octet-stream", body)
        }
        Content::Json(json) => (
            "application/json",
            body_of(String::from(Box::<str>::from(json)).into_bytes(), room),
        ),
    };
    let has_body = !matches!(
        status,
        StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT | StatusCode::NOT_MODIFIED
    );
    let mut response = Response::new(if has_body { body } else { Body::empty() });
    *response.status_mut() = status;
    let headers = response.headers_mut();
    if has_body {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        if let Some((media_type, size)) = of_file {
            headers.insert(CONTENT_LENGTH, size.into());
            if let Ok(media_type) = HeaderValue::from_str(&media_type) {
                headers.insert(CONTENT_TYPE, media_type);
            }
        }
    }
    add_headers(headers, given);
    contain(headers);
    Ok(response)
}

/// A page that a pattern makes is not the service's own: no access to what a browser keeps for this origin.
pub(super) fn contain(headers: &mut HeaderMap) {
    headers.append(
        CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(
            "sandbox allow-downloads allow-forms allow-modals allow-popups allow-scripts",
        ),
    );
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
}

/// A file of the run's, as it is sent: it is read while the sender takes it.
async fn file(
    app: &App,
    (run, tenant): (RunId, Tenant),
    body: &RawValue,
) -> Result<(Body, String, u64), String> {
    #[derive(Deserialize)]
    struct Named {
        #[serde(rename = "$file")]
        id: FileId,
        #[serde(rename = "type")]
        media_type: Option<String>,
    }
    let unreadable = |error: &dyn std::error::Error| {
        format!(
            "RespondToWebhook's file can't be sent: {}",
            error.to_string().trim_end_matches('.')
        )
    };
    let named: Named = serde_json::from_str(body.get()).map_err(|error| unreadable(&error))?;
    let files = app.executions.files().files();
    let reader = Reader::Holder(Holder::Run(run));
    let row = files
        .find(tenant, &reader, named.id)
        .await
        .map_err(|error| unreadable(&error))?;
    let size = u64::try_from(row.size).unwrap_or(0);
    let content = files
        .read(tenant, &row, 0..size)
        .await
        .map_err(|error| unreadable(&error))?;
    let media_type = clean_type(&named.media_type.unwrap_or(row.media_type));
    Ok((Body::from_stream(content), media_type, size))
}

/// Adds headers that can be sent; the run's log names the others. A name in `Connection` would be one of the
/// connection's too, but that header is not sent itself.
pub(super) fn add_headers(headers: &mut HeaderMap, given: impl IntoIterator<Item = (String, String)>) {
    for (name, value) in given {
        let name = HeaderName::try_from(name);
        let value = HeaderValue::try_from(value);
        if let (Ok(name), Ok(value)) = (name, value)
            && answer_headers::refusal(name.as_str()).is_none()
        {
            headers.insert(name, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::to_bytes;

    #[tokio::test]
    async fn an_output_is_handed_on_as_it_is() {
        let run = RunId::new();
        // Deeper than what would be read into memory.
        let output = format!("{}1.10{}", "[".repeat(500), "]".repeat(500));
        let ended = Ended {
            status: RunStatus::Success,
            output: Some(RawValue::from_string(output.clone()).unwrap()),
            error: None,
            response: None,
        };
        let response = with_output(run, &ended, None);
        assert_eq!(response.status(), StatusCode::OK);
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        let expected = format!(r#"{{"status":"completed","runId":"{run}","output":{output}}}"#);
        assert_eq!(body, expected.as_bytes());
    }
}
