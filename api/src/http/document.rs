//! The API's description: OpenAPI 3.1 at `/api/openapi.json`, and a self-contained page at `/docs`.

use crate::app::App;
use crate::http::reply::SharedBody;
use axum::Extension;
use axum::http::HeaderName;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::routing::get;
use serde_json::{Map, Value, json};
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

const PAGE: &str = include_str!("document/page.html");
const STYLE: &str = include_str!("document/page.css");
const SCRIPT: &str = include_str!("document/page.js");
/// The page loads only its own files and can't be framed.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; \
    frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// Provides the document, which describes these routes too.
#[derive(Clone, Copy)]
struct Source(fn() -> &'static str);

/// The routes; `document` gives the document as text.
pub fn routes(document: fn() -> &'static str) -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(openapi))
        .layer(Extension(Source(document)))
        .routes(routes!(docs))
        .route(
            "/docs/page.css",
            get(async || text("text/css; charset=utf-8", STYLE)),
        )
        .route(
            "/docs/page.js",
            get(async || text("text/javascript; charset=utf-8", SCRIPT)),
        )
}

type Text = (
    Extension<SharedBody>,
    [(HeaderName, &'static str); 3],
    &'static str,
);

fn text(content_type: &'static str, text: &'static str) -> Text {
    let headers = [
        (CONTENT_TYPE, content_type),
        (CONTENT_SECURITY_POLICY, POLICY),
        (CACHE_CONTROL, "no-cache"),
    ];
    (Extension(SharedBody), headers, text)
}

/// Gets this API description as OpenAPI 3.1.
#[utoipa::path(
    get, path = "/api/openapi.json", operation_id = "get_openapi_document", tag = "Operation", security(()),
    responses((status = 200, description = "The document", body = serde_json::Map<String, Value>))
)]
async fn openapi(Extension(Source(document)): Extension<Source>) -> Text {
    text("application/json", document())
}

/// Shows this API description as a page.
#[utoipa::path(
    get, path = "/docs", operation_id = "show_docs", tag = "Operation", security(()),
    responses((status = 200, description = "The page", body = String, content_type = "text/html"))
)]
async fn docs() -> Text {
    text("text/html; charset=utf-8", PAGE)
}

/// The description of the routes, with the server, the responses that every operation has, and what needs no token.
pub fn completed(document: OpenApi) -> Value {
    let mut document = serde_json::to_value(document).unwrap_or_default();
    for (name, description) in [
        ("Unauthorized", "UNAUTHORIZED or TOKEN_EXPIRED"),
        ("RequestTimeout", "REQUEST_TIMEOUT: the body came too slowly"),
        ("PayloadTooLarge", "PAYLOAD_TOO_LARGE"),
        ("UnsupportedMediaType", "UNSUPPORTED_MEDIA_TYPE"),
        ("RateLimited", "RATE_LIMITED: too many changes by this user"),
        ("Internal", "INTERNAL: a bug, or a broken database"),
        ("Unavailable", "UNAVAILABLE: try again shortly"),
    ] {
        let schema = json!({"$ref": "#/components/schemas/ErrorBody"});
        document["components"]["responses"][name] =
            json!({"description": description, "content": {"application/json": {"schema": schema}}});
    }
    // Relative to where the document is: clients ask the server that they have it from.
    document["servers"] = json!([{"url": "/", "description": "The server that gives this document"}]);
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    let operations = paths.flat_map(|(_, item)| item.as_object_mut().into_iter().flatten());
    for (method, operation) in operations {
        if let Value::Object(operation) = operation {
            complete(operation, method != "get");
        }
    }
    document
}

/// Adds the responses that come from the middleware, and that there is no security where there is none.
fn complete(operation: &mut Map<String, Value>, is_change: bool) {
    let security = operation.get("security").and_then(Value::as_array);
    let has_way = |name: &str| security.is_some_and(|ways| ways.iter().any(|way| way.get(name).is_some()));
    let needs_token = has_way("bearer");
    let is_public = !needs_token && !has_way("operator");
    let has_body = operation.contains_key("requestBody");
    if is_public {
        operation.insert("security".to_owned(), json!([]));
    }
    let Some(Value::Object(responses)) = operation.get_mut("responses") else {
        return;
    };
    for (applies, status, name) in [
        (needs_token, "401", "Unauthorized"),
        (has_body, "408", "RequestTimeout"),
        (has_body, "413", "PayloadTooLarge"),
        (has_body, "415", "UnsupportedMediaType"),
        (needs_token && is_change, "429", "RateLimited"),
        (true, "500", "Internal"),
        (true, "503", "Unavailable"),
    ] {
        if applies && !responses.contains_key(status) {
            let reference = json!({"$ref": format!("#/components/responses/{name}")});
            responses.insert(status.to_owned(), reference);
        }
    }
}
