//! Forms at the URLs of callbacks: a page with fields, whose answers are checked as those of OnForm are. What leads from one form
//! to the next one is there as well.

use super::page::{is_browser, response};
use crate::app::App;
use crate::http::error::ApiError;
use crate::http::extract::media_type;
use crate::http::forms::fields::Filled;
use crate::http::forms::page;
use crate::http::server::Flow;
use crate::http::webhooks::content::{Sent, content_type, unreadable};
use crate::http::webhooks::encoding;
use crate::http::webhooks::{FROM_CALLBACK, computed, read, shown_step};
use axum::body::Body;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::response::Response;
use heddle_execution::blocking::computing;
use heddle_execution::{ArrivedFiles, CallbackKind, RunAsking};
use heddle_model::file::Holder;
use heddle_model::form::{FieldError, Form};
use heddle_model::ids::{RunId, UserId};
use heddle_model::tenant::Tenant;
use heddle_model::webhook::BodyKind;
use heddle_model::{Code, ServiceError};
use heddle_runtime::is_small;
use heddle_service::webhooks::body::uploads::{self, Place, UploadError};
use heddle_service::webhooks::event;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value};

/// The page at a URL that is for forms.
pub(super) async fn show(
    app: &App,
    kind: CallbackKind,
    (run, place): (RunId, &str),
    query: Option<&str>,
) -> Result<Response, ApiError> {
    if kind == CallbackKind::Steps {
        return Ok(shown_step(app, run).await);
    }
    match app.executions.look_at_callback(run, place).await {
        Ok(asked) => Ok(match asked.form {
            Some(form) => shown(app, run, form, query.unwrap_or_default()).await?,
            None => page::moment(&here(query)),
        }),
        Err(error) if leads_on(kind, &error) => Ok(shown_step(app, run).await),
        Err(error) => Err(error.into()),
    }
}

/// The page with the form: made elsewhere if it is large, as one with many choices is.
async fn shown(app: &App, run: RunId, form: Form, query: &str) -> Result<Response, ApiError> {
    let (bytes, filled) = (page::bytes(&form), Filled::by_link(&form, query));
    let page = move || page::form(&form, true, ("", &filled), &[]);
    if is_small(bytes) {
        return Ok(page());
    }
    let owner = app.executions.run_asking(run).await?.owner;
    Ok(computing(Some(owner), page).await?)
}

/// Leads to the same address again, with what it fills in.
fn here(query: Option<&str>) -> String {
    format!("?{}", query.unwrap_or_default())
}

/// Whether whoever comes too late to this form is shown the next one.
fn leads_on(kind: CallbackKind, error: &ServiceError) -> bool {
    kind == CallbackKind::Step && is_late(error)
}

/// Whether somebody else was first, or the run goes on without an answer.
fn is_late(error: &ServiceError) -> bool {
    matches!(error.code(), Code::Conflict | Code::Gone)
}

/// Takes what somebody has sent, and leads on.
pub(super) async fn submit(
    app: &App,
    kind: CallbackKind,
    (run, place): (RunId, String),
    request: Request,
) -> Result<Response, ApiError> {
    let by_page = is_browser(request.headers());
    if kind == CallbackKind::Steps {
        return Ok(shown_step(app, run).await);
    }
    let asked = match app.executions.look_at_callback(run, &place).await {
        Ok(asked) => asked,
        // The page was sent twice, or loaded again.
        Err(error) if by_page && leads_on(kind, &error) => return Ok(shown_step(app, run).await),
        Err(error) => return Err(error.into()),
    };
    let Some(form) = asked.form else {
        return match by_page {
            true => Ok(page::moment(&here(request.uri().query()))),
            false => Err(Code::Conflict
                .with("The run has not come to this form yet. Try again in a moment.")
                .into()),
        };
    };
    let RunAsking { tenant, owner, .. } = app.executions.run_asking(run).await?;
    let (parts, body) = request.into_parts();
    // Whenever this ends before the run has the files, they are removed.
    let (sent, mut files) = received(app, (tenant, owner), &form, (&parts, body)).await?;
    let bytes = sent.bytes().saturating_add(page::bytes(&form));
    let work = move || look_at(&form, &parts, sent, by_page);
    let event = match computed(app, Some(owner), bytes, work).await?? {
        Outcome::Taken(event) => event,
        Outcome::Refused(refused) => {
            files.discard().await?;
            return refused;
        }
    };
    // The run may have the files that came: what refers to others stands in no field for files.
    files.hold(Holder::Run(run)).await?;
    // From here on it may have them, whatever becomes of this request.
    files.keep();
    let called = app.executions.call_back(run, place, event).await;
    let is_refused = |error: &ServiceError| is_late(error) || error.code() == Code::PayloadTooLarge;
    if called.as_ref().is_err_and(is_refused) {
        files.discard().await?;
    }
    let called = match called {
        Err(error) if by_page && leads_on(kind, &error) => return Ok(shown_step(app, run).await),
        called => called?,
    };
    if by_page && kind == CallbackKind::Step && called.page.is_none() {
        let path = app.executions.steps_path(run).await?;
        return Ok(page::lead(&format!("{FROM_CALLBACK}{path}")));
    }
    Ok(response(called, by_page))
}

/// The outcome of checking what was sent.
enum Outcome {
    /// The event.
    Taken(String),
    /// What is wrong.
    Refused(Result<Response, ApiError>),
}

fn look_at(form: &Form, parts: &Parts, sent: Sent, by_page: bool) -> Result<Outcome, ApiError> {
    let kind = sent.kind();
    let given = sent.fields(content_type(&parts.headers))?.unwrap_or_default();
    if kind == BodyKind::Json
        && let Some(message) = form.unknown(&given)
    {
        return Err(Code::Validation.with(message).into());
    }
    let checked = match kind {
        BodyKind::Json => form.check_json(&given),
        _ => form.check(&given),
    };
    Ok(match checked {
        Ok(values) => {
            drop(given);
            let written = to_raw_value(&values).map_err(ApiError::internal)?;
            drop(values);
            let event = event::with_body(&parts.headers, parts.uri.query(), parts.method.as_str(), &written);
            let event: Box<str> = event.map_err(ApiError::internal)?.into();
            Outcome::Taken(event.into())
        }
        Err(mistakes) => Outcome::Refused(refused(form, &given, &mistakes, by_page)),
    })
}

/// Says what is wrong with what was sent: people see the page again.
fn refused(
    form: &Form,
    given: &Map<String, Value>,
    mistakes: &[FieldError],
    by_page: bool,
) -> Result<Response, ApiError> {
    match by_page {
        true => Ok(page::form(form, true, ("", &Filled::sent(form, given)), mistakes)),
        false => Err(Code::Validation.with(form.summary(mistakes)).into()),
    }
}

/// What was sent, with references to files that were stored while they arrived, and those files.
async fn received(
    app: &App,
    (tenant, owner): (Tenant, UserId),
    form: &Form,
    (parts, body): (&Parts, Body),
) -> Result<(Sent, ArrivedFiles), ApiError> {
    let bytes_max = app.config.webhook_body_bytes_max;
    let kind = match media_type(&parts.headers).to_ascii_lowercase().as_str() {
        "multipart/form-data" => BodyKind::Multipart,
        "application/x-www-form-urlencoded" => BodyKind::Form,
        "application/json" => BodyKind::Json,
        _ => return Err(Code::UnsupportedMediaType.into()),
    };
    let files = app.executions.files();
    Ok(match kind {
        BodyKind::Multipart => {
            if let Some(flow) = parts.extensions.get::<Flow>() {
                flow.flows();
            }
            let place = Place {
                files,
                tenant,
                holder: None,
                bytes_max: files.files().bytes_max(),
                text_bytes_max: bytes_max,
                fields: Some(form.file_fields().map(|field| field.name.as_str()).collect()),
            };
            let content = encoding::flowing(&parts.headers, body.into_data_stream(), place.bytes_max)?;
            let read = uploads::read(kind, content_type(&parts.headers), content, &place).await;
            let (fields, arrived) = read.map_err(|error| match error {
                UploadError::Problem(problem) => unreadable(problem),
                UploadError::TooLarge => Code::PayloadTooLarge.into(),
                UploadError::Broken(error) => encoding::broken(&*error),
                UploadError::Refused(error) => error.into(),
            })?;
            (Sent::Stored(fields), arrived)
        }
        kind => {
            let whole = read(body, bytes_max).await?;
            let by = (app, Some(owner));
            let plain = encoding::unpacked(by, &parts.headers, whole, bytes_max).await?;
            (Sent::Whole(kind, plain), files.arriving(tenant, None))
        }
    })
}
