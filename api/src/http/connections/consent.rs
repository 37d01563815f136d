//! `/api/connections/oauth` and `/api/connections/:id/oauth`: connections that somebody consents to at a provider.

use super::bodies::{Connection, CreatedConnection, SeedResult, SentFields, derived_seeds};
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use crate::http::extract::{Caller, Json, Path, text};
use crate::http::secret_fields::checked_hosts;
use axum::extract::State;
use axum::http::StatusCode;
use heddle_catalogue::consent_provider;
use heddle_execution::{CONSENTED, ConsentAnswer, Revoked, ToTheEnd};
use heddle_model::Code;
use heddle_model::audit::{Action, Object};
use heddle_model::ids::ConnectionId;
use heddle_model::quota::Quota;
use heddle_store::audit;
use heddle_store::connections::{self, ConnectionRow, Hosts};
use heddle_store::quota::{self, Payer};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Characters of what a provider sends back, which is as long as the provider likes.
const SENT_BACK_CHARS_MAX: usize = 8_000;
const ERROR_CHARS_MAX: usize = 200;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(create_oauth_connection))
        .routes(routes!(get_oauth_client))
        .routes(routes!(finish_consent))
        .routes(routes!(begin_consent))
        .routes(routes!(disconnect))
}

/// A connection to consent to.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct OauthConnectionRequest {
    /// A known provider, or the service's name.
    #[schema(example = "google", min_length = 1, max_length = 100)]
    provider: String,
    /// Which client of which provider: `clientId`, `clientSecret`, `scope`, and for a provider that is not known `issuer`, or
    /// `authorizeUrl` and `tokenUrl`.
    #[serde(default)]
    #[schema(value_type = HashMap<String, Value>, example = json!({"clientId": "…", "clientSecret": "…", "scope": "read"}))]
    credentials: SentFields,
    /// Default: the provider.
    #[schema(max_length = 200)]
    display_name: Option<String>,
    /// Hosts that nodes may send the tokens to. Default: those of the known provider; without one they are needed.
    #[schema(example = json!(["*.googleapis.com"]), max_items = 50)]
    hosts: Option<Vec<String>>,
}

/// Makes a connection that somebody has to consent to, with `POST /api/connections/{id}/oauth/begin`, before it can be used.
/// It seeds no secrets: its tokens change.
#[utoipa::path(
    post, path = "/api/connections/oauth", tag = "Connections", security(("bearer" = [])),
    request_body = OauthConnectionRequest,
    responses(
        (status = 201, description = "The connection", body = CreatedConnection),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN or QUOTA_EXCEEDED", body = ErrorBody),
    )
)]
async fn create_oauth_connection(
    State(app): State<App>,
    caller: Caller,
    Json(request): Json<OauthConnectionRequest>,
) -> Result<(StatusCode, axum::Json<CreatedConnection>), ApiError> {
    let editor = caller.scope.editor()?;
    let provider = text("provider", &request.provider, 100)?;
    let fields = request.credentials.values()?;
    derived_seeds(&provider, &fields)?;
    let fields: Map<String, Value> = fields
        .into_iter()
        .map(|(field, value)| (field, value.into()))
        .collect();
    app.executions.consents().check(&provider, &fields)?;
    let hosts = match request.hosts.filter(|hosts| !hosts.is_empty()) {
        Some(hosts) => checked_hosts(Some(hosts))?,
        None => {
            let known = consent_provider(&provider);
            let known = known.ok_or_else(|| ApiError::field("hosts", NEEDS_HOSTS))?;
            known.hosts.iter().map(|host| (*host).to_owned()).collect()
        }
    };
    let now = app.clock.now();
    let row = ConnectionRow {
        id: ConnectionId::new(),
        display_name: match &request.display_name {
            Some(name) => text("displayName", name, 200)?,
            None => provider.clone(),
        },
        provider,
        kind: CONSENTED.to_owned(),
        status: "active".to_owned(),
        created_at: now,
        updated_at: now,
        hosts: Hosts(hosts),
    };
    let service = app.clone();
    let created = app.store.write(move |db| {
        Box::pin(async move {
            connections::create(db, &service.vault, &editor, &row, &fields).await?;
            let made = Action::ConnectionCreated
                .of(Object::Connection(row.id))
                .with("provider", &*row.provider)
                .with("secrets", 0);
            audit::note(db, &editor, made).await?;
            let own: &[Quota] = &[Quota::Connections, Quota::ConnectionBytes];
            quota::check(db, &service.quotas, &[(Payer::User(editor.user()), own)]).await?;
            let found = connections::find(db, &editor, row.id).await?;
            Ok::<Connection, ApiError>(found.ok_or(Code::NotFound)?.into())
        })
    });
    let created = CreatedConnection {
        connection: created.await?,
        seed_result: SeedResult {
            secrets_seeded: 0,
            secret_names: Vec::new(),
        },
    };
    Ok((StatusCode::CREATED, axum::Json(created)))
}

/// What is wrong where tokens would go anywhere.
pub(super) const NEEDS_HOSTS: &str =
    "are needed: the tokens of a connection by consent are only sent to hosts that it names";

/// What has to be known to register a client at a provider.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct OauthClient {
    /// Where the provider sends people back to, exactly so.
    #[schema(example = "https://heddle.example.com/connections/return")]
    redirect_uri: String,
    /// Known providers at which the operator has a client: connections to them need no `clientId` and `clientSecret`.
    #[schema(example = json!(["google"]))]
    providers: Vec<String>,
}

/// Gets the redirect URI to register at providers, and the providers at which no client of one's own is needed.
#[utoipa::path(
    get, path = "/api/connections/oauth/client", tag = "Connections", security(("bearer" = [])),
    responses(
        (status = 200, description = "The redirect URI", body = OauthClient),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
    )
)]
async fn get_oauth_client(State(app): State<App>, _caller: Caller) -> axum::Json<OauthClient> {
    let consents = app.executions.consents();
    axum::Json(OauthClient {
        redirect_uri: consents.redirect_uri().to_owned(),
        providers: consents.clients().map(str::to_owned).collect(),
    })
}

/// A consent that has begun.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct BegunConsent {
    /// Where to send the browser.
    #[schema(example = "https://accounts.google.com/o/oauth2/v2/auth?client_id=…")]
    authorize_url: String,
}

/// Begins a consent: sends the caller's browser to the connection's provider.
///
/// It is the caller's, holds for 15 minutes, and is finished once, with what the provider sends back to the redirect URI.
#[utoipa::path(
    post, path = "/api/connections/{id}/oauth/begin", tag = "Connections", security(("bearer" = [])),
    params(("id" = ConnectionId, Path, description = "Connection")),
    responses(
        (status = 200, description = "Where to go", body = BegunConsent),
        (status = 400, description = "VALIDATION: the connection is of another type, or a field is missing", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
        (status = 503, description = "UNAVAILABLE: the provider does not say where to go", body = ErrorBody),
    )
)]
async fn begin_consent(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<ConnectionId>,
) -> Result<axum::Json<BegunConsent>, ApiError> {
    let editor = caller.scope.editor()?;
    let authorize_url = app.executions.consents().begin(&editor, id).await?;
    Ok(axum::Json(BegunConsent { authorize_url }))
}

/// What a provider sent back to the redirect URI.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct SentBack {
    #[schema(example = "kT0…", min_length = 1, max_length = 8000)]
    state: String,
    /// The code.
    #[schema(example = "4/0Ab…", max_length = 8000)]
    code: Option<String>,
    /// What went wrong, in place of a code.
    #[schema(example = "access_denied", max_length = 8000)]
    error: Option<String>,
    /// Whose answer it is, if the provider says it (RFC 9207).
    #[schema(example = "https://accounts.google.com", max_length = 8000)]
    iss: Option<String>,
}

/// Finishes a consent that the caller has begun: exchanges the code for tokens, and stores them.
#[utoipa::path(
    post, path = "/api/connections/oauth/finish", tag = "Connections", security(("bearer" = [])),
    request_body = SentBack,
    responses(
        (status = 200, description = "The connection, which can be used now", body = Connection),
        (status = 400, description = "VALIDATION: the provider did not allow it", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 404, description = "NOT_FOUND: the caller has begun no such consent, or it is over", body = ErrorBody),
        (status = 409, description = "CONFLICT: the connection was changed in the meantime", body = ErrorBody),
        (status = 503, description = "UNAVAILABLE: the provider's answer is invalid", body = ErrorBody),
    )
)]
async fn finish_consent(
    State(app): State<App>,
    caller: Caller,
    Json(request): Json<SentBack>,
) -> Result<axum::Json<Connection>, ApiError> {
    let editor = caller.scope.editor()?;
    let optional = |name, value: Option<String>| match value {
        Some(value) => text(name, &value, SENT_BACK_CHARS_MAX).map(Some),
        None => Ok(None),
    };
    let error = optional("error", request.error)?;
    let result = match (optional("code", request.code)?, error) {
        (Some(code), None) => Ok(code),
        (_, Some(error)) => Err(error
            .chars()
            .filter(|c| !c.is_control())
            .take(ERROR_CHARS_MAX)
            .collect()),
        (None, None) => return Err(ApiError::field("code", "is needed, or an error")),
    };
    let answer = ConsentAnswer {
        state: text("state", &request.state, SENT_BACK_CHARS_MAX)?,
        result,
        issuer: optional("iss", request.iss)?,
    };
    // A code is used up: whoever has gone away in between must find the connection connected.
    let (consents, scope) = (app.executions.consents().clone(), caller.scope);
    let id = ToTheEnd::new(async move { consents.finish(&editor, answer).await }).await?;
    let found = connections::find(&mut app.store.reader().await?.db(), &scope, id).await?;
    Ok(axum::Json(found.ok_or(Code::NotFound)?.into()))
}

/// A connection that was disconnected.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Disconnected {
    /// Whether the provider takes the tokens no more, or there were none.
    #[schema(example = true)]
    revoked: bool,
    /// Why it may take them still: they can be revoked in one's account there.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "This provider has no way to revoke tokens.")]
    reason: Option<String>,
}

/// Forgets the tokens of a connection, and has its provider revoke them as far as it can (RFC 7009). The connection stays, to be
/// consented to again.
#[utoipa::path(
    post, path = "/api/connections/{id}/oauth/disconnect", operation_id = "disconnect_connection", tag = "Connections", security(("bearer" = [])),
    params(("id" = ConnectionId, Path, description = "Connection")),
    responses(
        (status = 200, description = "The tokens are forgotten here", body = Disconnected),
        (status = 400, description = "VALIDATION: the connection is of another type", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn disconnect(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<ConnectionId>,
) -> Result<axum::Json<Disconnected>, ApiError> {
    let editor = caller.scope.editor()?;
    let consents = app.executions.consents().clone();
    let work = ToTheEnd::new(async move { consents.disconnect(&editor, id).await });
    let (revoked, reason) = match work.await? {
        Revoked::Done | Revoked::Nothing => (true, None),
        Revoked::Impossible => (
            false,
            Some("This provider has no way to revoke tokens.".to_owned()),
        ),
        Revoked::Failed(reason) => (false, Some(reason)),
    };
    Ok(axum::Json(Disconnected { revoked, reason }))
}
