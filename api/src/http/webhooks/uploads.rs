//! Requests whose files are stored while they arrive. Who sends is known before the body is read, unless the body itself is signed:
//! then it is read first, within the limit of bodies that are kept in memory.

use super::admission::{Admitted, limit};
use super::arrival::Arrival;
use super::content::{content_type, unreadable};
use super::encoding;
use super::ingest::{self, Uploaded, refuse};
use super::sender;
use super::whole;
use crate::app::App;
use crate::http::error::ApiError;
use crate::http::server::Flow;
use axum::body::{Body, Bytes};
use axum::http::request::Parts;
use axum::response::Response;
use futures_util::{StreamExt, TryStreamExt};
use heddle_model::file::Holder;
use heddle_model::form::Form;
use heddle_model::ids::RunId;
use heddle_model::status::WebhookStatus;
use heddle_model::tenant::Tenant;
use heddle_model::webhook::{BodyKind, WhenPaused};
use heddle_model::{Code, ServiceError};
use heddle_service::webhooks::body::uploads::{self, Place, UploadError};
use heddle_store::patterns;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How the body is read, if its files are to be stored.
pub fn kind(admitted: &Admitted) -> Option<BodyKind> {
    let kind = admitted.body.filter(|_| admitted.webhook().stores_files);
    kind.filter(|kind| matches!(kind, BodyKind::Multipart | BodyKind::Binary))
}

/// Stores the files and makes the run.
pub async fn deliver(
    app: App,
    mut arrival: Arrival,
    admitted: Admitted,
    parts: Parts,
    (kind, body): (BodyKind, Body),
) -> Response {
    match stored(&app, &arrival, &admitted, &parts, (kind, body)).await {
        Ok((uploaded, bytes)) => {
            arrival.note_bytes(bytes);
            ingest::deliver_uploaded(app, arrival, admitted, parts, uploaded).await
        }
        Err(error) => {
            let pattern = Some(admitted.endpoint.slot.pattern);
            refuse(&app, arrival, pattern, WebhookStatus::SignatureInvalid, error).await
        }
    }
}

pub(super) async fn stored(
    app: &App,
    arrival: &Arrival,
    admitted: &Admitted,
    parts: &Parts,
    (kind, body): (BodyKind, Body),
) -> Result<(Uploaded, u64), ApiError> {
    let body = match admitted.webhook().authentication.scheme.is_in_head() {
        true => body,
        false => {
            let body = admitted.read(app, body).await?;
            signed(app, admitted, parts, &body).await?;
            Body::from(body)
        }
    };
    limit(app, admitted, arrival.at)?;
    if let Some(flow) = parts.extensions.get::<Flow>() {
        flow.flows();
    }
    let run = begins_run(admitted).then(RunId::new);
    let max = app.executions.files().files().bytes_max();
    let place = Place {
        files: app.executions.files(),
        tenant: tenant(app, admitted).await?,
        holder: run.map(Holder::Run),
        bytes_max: admitted
            .webhook()
            .body_bytes_max
            .map_or(max, |bytes| max.min(bytes as u64)),
        text_bytes_max: app.config.webhook_body_bytes_max,
        fields: admitted.webhook().form.as_deref().map(file_fields),
    };
    let counted = Arc::<AtomicU64>::default();
    let count = counted.clone();
    let content = body.into_data_stream().inspect_ok(move |piece: &Bytes| {
        count.fetch_add(piece.len() as u64, Ordering::Relaxed);
    });
    let content = encoding::flowing(&parts.headers, content.boxed(), place.bytes_max)?;
    let read = uploads::read(kind, content_type(&parts.headers), content, &place).await;
    let (body, files) = read.map_err(|error| refused(error, place.bytes_max))?;
    let bytes = counted.load(Ordering::Relaxed);
    Ok((Uploaded { run, body, files }, bytes))
}

/// Checks who has signed a body: where no other request waits for it, if it is large.
async fn signed(app: &App, admitted: &Admitted, parts: &Parts, body: &Bytes) -> Result<(), ApiError> {
    if body.len() <= whole::SMALL_BYTES_MAX {
        return sender::by_signature(app, admitted, parts, body);
    }
    let owner = admitted.deployed_by();
    let (there, admitted, parts, body) = (app.clone(), admitted.clone(), parts.clone(), body.clone());
    let work = move || async move { sender::by_signature(&there, &admitted, &parts, &body) };
    whole::beside(app, owner, work).await
}

/// The names under which a form takes files.
fn file_fields(form: &Form) -> Vec<&str> {
    form.file_fields().map(|field| field.name.as_str()).collect()
}

fn refused(error: UploadError, bytes_max: u64) -> ApiError {
    match error {
        UploadError::Problem(problem) => unreadable(problem),
        UploadError::TooLarge => Code::PayloadTooLarge
            .with(format!(
                "The body is larger than {bytes_max} bytes, or its fields are too large."
            ))
            .into(),
        UploadError::Broken(error) => encoding::broken(&*error),
        UploadError::Refused(error) => error.into(),
    }
}

/// Whether the event starts a run, rather than being captured.
fn begins_run(admitted: &Admitted) -> bool {
    let deployed = admitted.deployment.as_ref().zip(admitted.deployed());
    deployed.is_some_and(|(deployment, webhook)| {
        !deployment.is_paused || webhook.when_paused == WhenPaused::Queue
    })
}

async fn tenant(app: &App, admitted: &Admitted) -> Result<Tenant, ApiError> {
    if let Some(deployment) = &admitted.deployment {
        return Ok(deployment.tenant);
    }
    let mut reader = app.store.reader().await?;
    let row = patterns::for_system(&mut reader.db(), admitted.endpoint.slot.pattern).await?;
    let row = row.ok_or_else(|| ServiceError::from(Code::NotFound))?;
    Ok(Tenant::of(row.owner_id, row.workspace_id))
}
