//! Which webhook a request is for, and whether it takes the request, as far as its head says. Answers and logs nothing.

use super::encoding;
use super::path;
use super::whole::read;
use crate::app::App;
use crate::http::client_ip::ClientIp;
use crate::http::error::ApiError;
use crate::http::extract::media_type;
use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use heddle_catalogue::Start;
use heddle_execution::ActiveDeployment;
use heddle_model::clock::Timestamp;
use heddle_model::ids::{PatternId, UserId};
use heddle_model::status::WebhookStatus;
use heddle_model::webhook::{Accepted, BodyKind, Webhook};
use heddle_model::{Code, ServiceError};
use heddle_runtime::apart;
use heddle_service::webhooks::Endpoint;
use heddle_store::deployments::{self, DeploymentRow};
use heddle_store::patterns;
use serde_json::value::RawValue;
use std::sync::Arc;

/// An endpoint that takes the request, and what is deployed behind it.
#[derive(Clone)]
pub struct Admitted {
    pub endpoint: Arc<Endpoint>,
    /// Active or paused.
    pub deployment: Option<Arc<ActiveDeployment>>,
    /// Which of its webhooks the endpoint's node is, if it has the node.
    place: Option<usize>,
    /// How the body is read; `None`: there must be none.
    pub body: Option<BodyKind>,
    /// The claims of the sender's token, if that is how they are known.
    pub claims: Option<Box<RawValue>>,
}

impl Admitted {
    /// What the deployed node says, if there is one.
    pub fn deployed(&self) -> Option<&Webhook> {
        self.deployment.as_deref()?.webhook_at(self.place?)
    }

    /// What the node says: the deployed one, or else that of the newest version.
    pub fn webhook(&self) -> &Webhook {
        self.deployed().unwrap_or(&self.endpoint.webhook)
    }

    /// Who owns what is deployed: what has to be computed for senders is computed in this user's turn.
    pub fn deployed_by(&self) -> Option<UserId> {
        Some(self.deployment.as_ref()?.owner)
    }

    /// Who owns what is deployed, or else the pattern.
    pub async fn owner(&self, app: &App) -> Result<UserId, ApiError> {
        if let Some(deployment) = &self.deployment {
            return Ok(deployment.owner);
        }
        let mut reader = app.store.reader().await?;
        let row = patterns::for_system(&mut reader.db(), self.endpoint.slot.pattern).await?;
        let row = row.ok_or_else(|| ServiceError::from(Code::NotFound))?;
        Ok(row.owner_id)
    }

    /// Whether those who send the form may get further pages.
    pub fn has_steps(&self) -> bool {
        let triggers = self
            .deployment
            .iter()
            .flat_map(|active| &active.manifest().triggers);
        let mut triggers = triggers.filter(|trigger| trigger.node_id == self.endpoint.node_id);
        triggers.any(|trigger| trigger.has_steps)
    }

    /// Reads a body up to the webhook's limit; the refusal of a larger one names the setting.
    pub async fn read(&self, app: &App, body: Body) -> Result<Bytes, ApiError> {
        let (bytes_max, setting) = self.bytes_max(app);
        read(body, bytes_max).await.map_err(|error| match error.code() {
            Code::PayloadTooLarge => {
                let message =
                    format!("The body is larger than {bytes_max} bytes, as many as {setting} allows.");
                Code::PayloadTooLarge.with(message).into()
            }
            _ => error,
        })
    }

    /// A body that was read, as it was before its sender has compressed it.
    pub async fn unpacked(&self, app: &App, headers: &HeaderMap, body: Bytes) -> Result<Bytes, ApiError> {
        let by = (app, self.deployed_by());
        encoding::unpacked(by, headers, body, self.bytes_max(app).0).await
    }

    /// As many bytes as a body in memory may have, and what says so.
    pub fn bytes_max(&self, app: &App) -> (usize, &'static str) {
        let of_server = app.config.webhook_body_bytes_max;
        match self.webhook().body_bytes_max {
            Some(of_node) if of_node < of_server => (of_node, "`maxBytes` of the trigger"),
            _ => (of_server, "`webhook_max_body` of the server"),
        }
    }

    fn is_active(&self) -> bool {
        let is_active = |deployment: &Arc<ActiveDeployment>| !deployment.is_paused;
        !self.endpoint.is_suspended
            && self.deployment.as_ref().is_some_and(is_active)
            && self.deployed().is_some()
    }
}

/// What a GET is to a webhook.
pub enum Checked {
    /// An event, unless it asks for a challenge, which only an active webhook answers.
    Event { is_active: bool },
    /// A question, and the webhook is active.
    Active,
    /// A question, and it is not, or there is none.
    Inactive,
    /// Somebody opens the page of a form or a chat.
    Page(Box<Admitted>),
}

/// What a GET or HEAD is to this webhook.
pub async fn check(app: &App, webhook_id: &str, parts: &Parts) -> Result<Checked, ApiError> {
    let (_, Some(admitted)) = find(app, webhook_id).await? else {
        return Ok(Checked::Inactive);
    };
    if admitted.webhook().form.is_some() || admitted.webhook().chat.is_some() {
        return Ok(Checked::Page(Box::new(admitted)));
    }
    let (webhook, below) = (admitted.webhook(), path::below(parts.uri.path()));
    let is_there = below.is_none() || path::params(&webhook.path, below).is_some();
    Ok(match (is_there, webhook.methods.has(parts.method.as_str())) {
        (false, _) => Checked::Inactive,
        (true, true) => Checked::Event {
            is_active: admitted.is_active(),
        },
        (true, false) if admitted.is_active() => Checked::Active,
        (true, false) => Checked::Inactive,
    })
}

/// Whether the pages of an origin may send requests to this webhook from a browser; `None`: there is no such webhook.
pub async fn is_origin(app: &App, webhook_id: &str, origin: &str) -> Result<Option<bool>, ApiError> {
    let (_, found) = find(app, webhook_id).await?;
    Ok(found.map(|admitted| admitted.webhook().origins.has(origin)))
}

/// The pattern of the endpoint, if the endpoint ever existed, and the endpoint itself, if it is in use.
pub async fn find(app: &App, webhook_id: &str) -> Result<(Option<PatternId>, Option<Admitted>), ApiError> {
    let Some(endpoint) = app.webhooks.endpoint(webhook_id).await? else {
        return Ok((None, None));
    };
    let deployment = app.executions.loaded_for(endpoint.slot).await?;
    let pattern = Some(endpoint.slot.pattern);
    let place = deployment
        .as_deref()
        .and_then(|active| active.place_of_webhook(&endpoint.node_id));
    let admitted = Admitted {
        endpoint,
        deployment,
        place,
        body: None,
        claims: None,
    };
    if admitted.endpoint.is_present || admitted.deployed().is_some() {
        return Ok((pattern, Some(admitted)));
    }
    let waits = apart(|| waits_for_return(app, &admitted.endpoint)).await?;
    Ok((pattern, waits.then_some(admitted)))
}

/// An endpoint whose node is neither in the newest version nor deployed, were it paused, waits for its return.
async fn waits_for_return(app: &App, endpoint: &Endpoint) -> Result<bool, ApiError> {
    let mut reader = app.store.reader().await?;
    let deployment = deployments::in_slot_for_system(&mut reader.db(), endpoint.slot).await?;
    let holds = |deployment: DeploymentRow| {
        let held = |start: &Start| deployment.holds(start.type_name(), &endpoint.node_id);
        Start::REQUESTS.iter().any(held)
    };
    Ok(deployment.is_some_and(holds))
}

/// Whether the request is one that the webhook takes, as far as its head says; if it is, how the body is read.
pub fn fit(
    address: ClientIp,
    admitted: &Admitted,
    parts: &Parts,
) -> Result<Option<BodyKind>, (WebhookStatus, ApiError)> {
    let webhook = admitted.webhook();
    if !webhook.lets_in(address.0) {
        let error = Code::Forbidden.with("This webhook does not accept requests from your address.");
        return Err((WebhookStatus::SignatureInvalid, error.into()));
    }
    if path::params(&webhook.path, path::below(parts.uri.path())).is_none() {
        let error = Code::NotFound.with("Nothing is served at this path of the webhook.");
        return Err((WebhookStatus::NotFound, error.into()));
    }
    if !webhook.methods.has(parts.method.as_str()) {
        return Err((WebhookStatus::SignatureInvalid, Code::MethodNotAllowed.into()));
    }
    body_kind(webhook.accept, parts).map_err(|error| (WebhookStatus::SignatureInvalid, error))
}

/// Counts a request to its webhook and tenant, or refuses it. Only once its sender is known: others must not use up
/// what senders have.
pub fn limit(app: &App, admitted: &Admitted, at: Timestamp) -> Result<(), ApiError> {
    let limits = &app.webhooks.limits;
    let per_minute = admitted.webhook().requests_per_minute;
    limits.check_endpoint(per_minute, admitted.endpoint.id, at)?;
    if let Some(deployment) = &admitted.deployment {
        limits.check_tenant(deployment.tenant, at)?;
    }
    Ok(())
}

/// How the body is read; `None` if there is none, as GET and DELETE have it. Many clients send the type of their other requests with those
/// as well.
fn body_kind(accepted: Accepted, parts: &Parts) -> Result<Option<BodyKind>, ApiError> {
    let media_type = media_type(&parts.headers);
    let may_have_none = matches!(parts.method, Method::GET | Method::HEAD | Method::DELETE);
    if may_have_none && (media_type.is_empty() || has_none(&parts.headers)) {
        return Ok(None);
    }
    if let Some(kind) = accepted.kind_of(media_type) {
        encoding::of(&parts.headers)?;
        return Ok(Some(kind));
    }
    if accepted == Accepted::JSON_ONLY {
        return Err(Code::UnsupportedMediaType.into());
    }
    let names: Vec<&str> = accepted.names().collect();
    let message = format!(
        "The body must be of a kind that this webhook accepts: {}.",
        names.join(", ")
    );
    Err(Code::UnsupportedMediaType.with(message).into())
}

/// Whether a request has no body, or an empty one, as its head says (RFC 9112, section 6.3).
fn has_none(headers: &HeaderMap) -> bool {
    !headers.contains_key(TRANSFER_ENCODING) && headers.get(CONTENT_LENGTH).is_none_or(|length| length == "0")
}
