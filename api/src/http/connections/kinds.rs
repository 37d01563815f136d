//! `GET /api/connections/kinds`: what connections there are, and their fields, for forms.

use crate::app::App;
use crate::http::error::ErrorBody;
use crate::http::extract::Caller;
use crate::http::reply::Kept;
use axum::http::HeaderMap;
use axum::response::Response;
use heddle_catalogue::consent_provider;
use heddle_catalogue::{ConnectionField, ConnectionForm, connection_forms};
use serde_json::{Map, Value, json};
use std::sync::LazyLock;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list_kinds))
}

static KINDS: LazyLock<Kept> = LazyLock::new(|| {
    let kinds: Vec<Value> = connection_forms().map(|form| kind(&form)).collect();
    Kept::new(json!({ "kinds": kinds }).to_string())
});

/// The kinds of connections.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only describes what is kept as text")]
struct ConnectionKinds {
    kinds: Vec<ConnectionKindForm>,
}

/// A kind of connection.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "only describes what is kept as text")]
struct ConnectionKindForm {
    #[schema(example = "http-bearer")]
    id: String,
    #[schema(example = "HTTP: bearer token or API key")]
    title: String,
    #[schema(example = "Sent as `Authorization: Bearer …`.")]
    description: String,
    /// `http`, `sql`, `smtp`, `mailbox` or `chat`: which nodes can use it, and how it is tested.
    #[schema(example = "http")]
    leads_to: String,
    /// What it is stored under as `provider`; null: the name of the service, which its user gives.
    #[schema(example = "postgres")]
    provider: Option<String>,
    /// Whether somebody consents to it at the provider: it is made with `POST /api/connections/oauth`.
    #[schema(example = false)]
    by_consent: bool,
    /// Hosts that the tokens of a known provider may be sent to.
    #[schema(example = json!(["api.github.com"]))]
    hosts: Vec<String>,
    /// JSON Schema of `credentials`: an object whose properties are in the order of a form. Secret fields are `writeOnly`.
    #[schema(value_type = HashMap<String, Value>, example = json!({"type": "object", "required": ["apiKey"], "properties": {
        "apiKey": {"type": "string", "title": "API key", "writeOnly": true, "format": "password"}}}))]
    schema: Value,
}

fn kind(form: &ConnectionForm) -> Value {
    let properties: Map<String, Value> = form
        .fields
        .iter()
        .map(|field| (field.name.to_owned(), property(field)))
        .collect();
    let required: Vec<&str> = form
        .fields
        .iter()
        .filter(|field| field.is_required)
        .map(|field| field.name)
        .collect();
    json!({
        "id": form.id,
        "title": form.title,
        "description": form.description,
        "leadsTo": form.leads_to.name(),
        "provider": form.provider,
        "byConsent": form.by_consent,
        "hosts": form.provider.and_then(consent_provider).map_or(&[][..], |known| known.hosts),
        "schema": {"type": "object", "properties": properties, "required": required, "additionalProperties": true},
    })
}

fn property(field: &ConnectionField) -> Value {
    let mut schema = json!({"type": "string", "title": field.title, "maxLength": 65536});
    if !field.description.is_empty() {
        schema["description"] = field.description.into();
    }
    if field.is_secret {
        schema["writeOnly"] = true.into();
        schema["format"] = "password".into();
    }
    if let Some(usual) = field.options.first() {
        schema["enum"] = field.options.into();
        schema["default"] = (*usual).into();
    }
    if !field.example.is_empty() {
        schema["examples"] = [field.example].as_slice().into();
    }
    schema
}

/// Lists the kinds of connections that nodes know, each with its fields as JSON Schema. Others can be stored as well.
#[utoipa::path(
    get, path = "/api/connections/kinds", operation_id = "list_connection_kinds", tag = "Connections", security(("bearer" = [])),
    params(("If-None-Match" = Option<String>, Header, description = "The ETag of an answer that the client has")),
    responses(
        (status = 200, description = "The kinds", body = ConnectionKinds, headers(("ETag" = String, description = "Changes with the list"))),
        (status = 304, description = "Not modified: the client has the current one"),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
    )
)]
async fn list_kinds(_caller: Caller, headers: HeaderMap) -> Response {
    KINDS.answer(&headers)
}
