//! `POST /api/connections/test` and `/api/connections/:id/test`: whether a connection works, before patterns need it.

use super::bodies::SentFields;
use super::change::apply;
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use crate::http::extract::{Caller, Json, OptionalJson, Path, text};
use crate::http::secret_fields::checked_hosts;
use axum::extract::State;
use heddle_catalogue::ConnectionKind;
use heddle_execution::{CONSENTED, ConnectionTest, ConnectionTested};
use heddle_model::Code;
use heddle_model::audit::{Action, Object, Outcome};
use heddle_model::ids::ConnectionId;
use heddle_runtime::ConnectionError;
use heddle_service::audit;
use heddle_store::connections::{self, Hosts, Opened};
use serde::{Deserialize, Serialize};
use serde_json::Map;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

const URL_CHARS_MAX: usize = 2_000;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(test_new_connection))
        .routes(routes!(test_connection))
}

/// What a connection leads to.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum LeadsTo {
    /// A service that takes HTTP requests.
    Http,
    /// A database.
    Sql,
    /// A mail server.
    Smtp,
    /// A mailbox on a mail server.
    Mailbox,
    /// A service for chat completions.
    Chat,
}

impl From<LeadsTo> for ConnectionKind {
    fn from(leads_to: LeadsTo) -> Self {
        match leads_to {
            LeadsTo::Http => ConnectionKind::Http,
            LeadsTo::Sql => ConnectionKind::Sql,
            LeadsTo::Smtp => ConnectionKind::Smtp,
            LeadsTo::Mailbox => ConnectionKind::Mailbox,
            LeadsTo::Chat => ConnectionKind::Chat,
        }
    }
}

/// A connection that is not stored yet.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct NewConnectionTest {
    #[schema(example = "postgres", min_length = 1, max_length = 100)]
    provider: String,
    /// As they would be stored.
    #[schema(value_type = HashMap<String, Value>, example = json!({"apiKey": "sk-…", "baseUrl": "https://api.example.com"}))]
    credentials: SentFields,
    /// Hosts that it may be sent to. Default: any.
    #[schema(example = json!(["api.example.com"]), max_items = 50)]
    hosts: Option<Vec<String>>,
    /// By default what its fields are fit for.
    leads_to: Option<LeadsTo>,
    /// Where a GET request is sent to, for `http` and `chat`: an address, or a path below `baseUrl`. Default: `baseUrl`.
    #[schema(example = "https://api.example.com/me", max_length = 2000)]
    url: Option<String>,
}

/// Changes of a stored connection that are not stored yet.
#[derive(Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct StoredConnectionTest {
    /// Fields to try in place of the stored ones; with null, without them.
    #[schema(value_type = Option<HashMap<String, Value>>, example = json!({}))]
    credentials: Option<SentFields>,
    /// Hosts that it may be sent to. Default: as they are stored.
    #[schema(example = json!(["api.example.com"]), max_items = 50)]
    hosts: Option<Vec<String>>,
    /// By default what its fields are fit for.
    leads_to: Option<LeadsTo>,
    /// Where a GET request is sent to, for `http` and `chat`: an address, or a path below `baseUrl`. Default: `baseUrl`.
    #[schema(example = "https://api.example.com/me", max_length = 2000)]
    url: Option<String>,
}

/// How a connection was found.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ConnectionTestResult {
    /// Whether nodes can use it, as far as was found out.
    #[schema(example = true)]
    ok: bool,
    /// What was found out, for people.
    #[schema(example = "Connected to the database.")]
    message: String,
    /// The code of the error that a node would fail with.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "SQL_FAILED")]
    code: Option<String>,
    /// How long it took.
    #[schema(example = 42)]
    duration_ms: u64,
}

impl From<ConnectionTested> for ConnectionTestResult {
    fn from(tested: ConnectionTested) -> Self {
        ConnectionTestResult {
            ok: tested.is_ok,
            message: tested.message,
            code: tested.code,
            duration_ms: tested.duration_ms,
        }
    }
}

/// Tries a connection before it is stored: logs in to a database or a mail server, or sends a GET request.
///
/// It goes the way that a node's request would go, with the same limits, and counts as one of the workspace's runs while it
/// lasts, at most 15 seconds.
#[utoipa::path(
    post, path = "/api/connections/test", tag = "Connections", security(("bearer" = [])),
    request_body = NewConnectionTest,
    responses(
        (status = 200, description = "How it went, well or not", body = ConnectionTestResult),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 503, description = "UNAVAILABLE: too many runs are executing", body = ErrorBody),
    )
)]
async fn test_new_connection(
    State(app): State<App>,
    caller: Caller,
    Json(request): Json<NewConnectionTest>,
) -> Result<axum::Json<ConnectionTestResult>, ApiError> {
    let editor = caller.scope.editor()?;
    let provider = text("provider", &request.provider, 100)?;
    let mut fields = Map::new();
    apply(&mut fields, request.credentials.changes()?)?;
    let test = ConnectionTest {
        id: heddle_model::entropy::new_uuid().to_string(),
        name: provider.clone(),
        provider,
        hosts: checked_hosts(request.hosts)?,
        fields,
        kind: request.leads_to.map(Into::into),
        url: checked_url(request.url.as_deref())?,
    };
    let tested = app.executions.test_connection(&editor, test).await?;
    Ok(axum::Json(tested.into()))
}

/// Tries one of the caller's connections, with other fields in place of the stored ones if the request has any. Nothing is
/// stored.
///
/// It goes the way that a node's request would go, with the same limits, and counts as one of the workspace's runs while it
/// lasts, at most 15 seconds.
#[utoipa::path(
    post, path = "/api/connections/{id}/test", tag = "Connections", security(("bearer" = [])),
    params(("id" = ConnectionId, Path, description = "Connection")),
    request_body = Option<StoredConnectionTest>,
    responses(
        (status = 200, description = "How it went, well or not", body = ConnectionTestResult),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
        (status = 503, description = "UNAVAILABLE: too many runs are executing", body = ErrorBody),
    )
)]
async fn test_connection(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<ConnectionId>,
    OptionalJson(request): OptionalJson<StoredConnectionTest>,
) -> Result<axum::Json<ConnectionTestResult>, ApiError> {
    let editor = caller.scope.editor()?;
    let mut reader = app.store.reader().await?;
    let opened = connections::opened_own(&mut reader.db(), &app.vault, &editor, id).await?;
    drop(reader);
    let mut opened = opened.ok_or(Code::NotFound)?;
    if opened.row.kind == CONSENTED {
        opened = match with_token(&app, opened).await {
            Ok(opened) => opened,
            Err(error) => {
                let entry = Action::ConnectionTested
                    .of(Object::Connection(id))
                    .ended(Outcome::Failed);
                audit::note(&app, &editor, entry).await?;
                return Ok(axum::Json(ConnectionTestResult {
                    ok: false,
                    message: sentence(&error),
                    code: Some("OAUTH_FAILED".to_owned()),
                    duration_ms: 0,
                }));
            }
        };
    }
    apply(
        &mut opened.fields,
        request.credentials.unwrap_or_default().changes()?,
    )?;
    let hosts = match request.hosts {
        Some(hosts) => checked_hosts(Some(hosts))?,
        None => opened.row.hosts.0,
    };
    let test = ConnectionTest {
        id: opened.row.id.to_string(),
        name: opened.row.display_name,
        provider: opened.row.provider,
        hosts,
        fields: opened.fields,
        kind: request.leads_to.map(Into::into),
        url: checked_url(request.url.as_deref())?,
    };
    let tested = app.executions.test_connection(&editor, test).await?;
    let outcome = if tested.is_ok {
        Outcome::Done
    } else {
        Outcome::Failed
    };
    let entry = Action::ConnectionTested.of(Object::Connection(id)).ended(outcome);
    audit::note(&app, &editor, entry).await?;
    Ok(axum::Json(tested.into()))
}

/// A connection by consent as nodes have it: with a token, and nothing to get others with.
async fn with_token(app: &App, opened: Opened) -> Result<Opened, ConnectionError> {
    let (mut row, workspace) = (opened.row.clone(), opened.workspace);
    let mut connection = app.executions.consents().connection(opened).await?;
    row.hosts = Hosts(std::mem::take(&mut connection.hosts));
    Ok(Opened {
        row,
        fields: std::mem::take(&mut connection.fields),
        workspace,
    })
}

fn sentence(error: &ConnectionError) -> String {
    match error {
        ConnectionError::ConsentNeeded(reason) => format!("The connection needs consent. {reason}"),
        ConnectionError::NoToken(reason) => format!("There is no token right now. {reason}"),
        _ => "The connection can't be opened right now.".to_owned(),
    }
}

fn checked_url(url: Option<&str>) -> Result<Option<String>, ApiError> {
    match url.map(str::trim).filter(|url| !url.is_empty()) {
        Some(url) => text("url", url, URL_CHARS_MAX).map(Some),
        None => Ok(None),
    }
}
