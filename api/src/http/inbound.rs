//! `POST /inbound/email`: delivery of email by a mail server, and the addresses of a deployment.

use super::extract::{Query, media_type, read, shows_secret};
use super::webhook_endpoints::EndpointStatus;
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::Json;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::StatusCode;
use heddle_catalogue::Start;
use heddle_model::Code;
use heddle_model::access::Scope;
use heddle_model::ids::{EndpointId, RunId};
use heddle_model::status::DeploymentStatus;
use heddle_service::mail::{self, BYTES_MAX, Delivery, RECIPIENTS_MAX};
use heddle_store::deployments::DeploymentRow;
use heddle_store::{Db, endpoints};
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(receive_email))
        .layer(DefaultBodyLimit::max(BYTES_MAX))
}

/// An email address that starts runs.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EmailEndpoint {
    id: EndpointId,
    /// Node in the graph.
    #[schema(example = "on-mail")]
    node_id: String,
    #[schema(example = "6f1ed002ab5595859014ebf0951522d9@heddle.example.com")]
    address: String,
    /// The node's `alias`, or else its label or id.
    alias: String,
    status: EndpointStatus,
}

/// The addresses of a deployment that the caller may see: those of the deployed version.
pub async fn of_deployment_row(
    app: &App,
    db: &mut Db<'_>,
    scope: &Scope,
    deployment: &DeploymentRow,
) -> Result<Vec<EmailEndpoint>, ApiError> {
    let status = match deployment.status {
        DeploymentStatus::Active => EndpointStatus::Active,
        _ => EndpointStatus::Inactive,
    };
    let rows = endpoints::mailboxes_in_slot(db, scope, deployment.slot()).await?;
    let deployed = rows
        .into_iter()
        .filter(|row| deployment.has_trigger(Start::Email.type_name(), &row.node_id));
    let endpoint = |row: endpoints::MailboxRow| EmailEndpoint {
        id: row.id,
        address: mail::address(&app.mail_domain, &row.mailbox),
        node_id: row.node_id,
        alias: row.alias,
        status,
    };
    Ok(deployed.map(endpoint).collect())
}

/// The recipients of a message.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
struct InboundQuery {
    /// An envelope recipient; repeat it for several. Without any, the recipients in the message's headers are used.
    #[serde(default)]
    to: Vec<String>,
}

/// The outcome for one recipient of a message.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Recipient {
    address: String,
    status: RecipientStatus,
    /// The run that was started; for a duplicate, the original run.
    run_id: Option<RunId>,
}

/// The outcome for a message.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum RecipientStatus {
    /// A run was started.
    Accepted,
    /// The same message already started a run.
    Duplicate,
    /// No deployment of the pattern is active.
    Inactive,
    /// The address does not exist.
    Unknown,
}

/// The outcome for a message.
#[derive(Debug, Serialize, ToSchema)]
struct Inbound {
    recipients: Vec<Recipient>,
}

/// Receives an email from a mail server, which sends the shared secret as `Authorization: Bearer …`. A message starts
/// one run for each OnEmail node, even if it is delivered several times within 24 hours.
#[utoipa::path(
    post, path = "/inbound/email", tag = "Webhooks", params(InboundQuery),
    request_body(content = String, content_type = "message/rfc822", description = "The message as it came"),
    responses(
        (status = 202, description = "Runs are stored for the recipients that are `accepted`", body = Inbound),
        (status = 400, description = "VALIDATION: not an RFC 5322 message, or one with too many or too deeply nested parts", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND: none of the recipients exists, or this endpoint is disabled", body = ErrorBody),
        (status = 413, description = "PAYLOAD_TOO_LARGE", body = ErrorBody),
        (status = 415, description = "UNSUPPORTED_MEDIA_TYPE", body = ErrorBody),
        (status = 503, description = "UNAVAILABLE: send it again", body = ErrorBody),
    )
)]
async fn receive_email(
    State(app): State<App>,
    Query(query): Query<InboundQuery>,
    request: Request,
) -> Result<(StatusCode, Json<Inbound>), ApiError> {
    let secret = app
        .config
        .inbound_secret
        .as_ref()
        .map(|secret| secret.expose_secret());
    let secret = secret.ok_or_else(|| Code::NotFound.with("This server does not accept email over HTTP."))?;
    if !shows_secret(request.headers(), secret) {
        return Err(Code::Unauthorized
            .with("The shared secret is missing or incorrect.")
            .into());
    }
    if !media_type(request.headers()).eq_ignore_ascii_case("message/rfc822") {
        return Err(Code::UnsupportedMediaType
            .with("The body must have the content type message/rfc822.")
            .into());
    }
    let body = read(request).await?;
    let mail = app.executions.mail().read(body).await?;
    let addresses = if query.to.is_empty() {
        mail.recipients()
    } else {
        query.to.as_slice()
    };
    let mut recipients = Vec::new();
    for address in addresses.iter().take(RECIPIENTS_MAX) {
        let (status, run_id) = match mail::deliver(&mail, &app, address).await? {
            Delivery::Accepted(run) => (RecipientStatus::Accepted, Some(run)),
            Delivery::Duplicate(run) => (RecipientStatus::Duplicate, Some(run)),
            Delivery::Inactive => (RecipientStatus::Inactive, None),
            Delivery::Unknown => (RecipientStatus::Unknown, None),
        };
        recipients.push(Recipient {
            address: address.clone(),
            status,
            run_id,
        });
    }
    if recipients
        .iter()
        .all(|recipient| matches!(recipient.status, RecipientStatus::Unknown))
    {
        return Err(Code::NotFound
            .with("None of the message's recipients exists.")
            .into());
    }
    Ok((StatusCode::ACCEPTED, Json(Inbound { recipients })))
}
