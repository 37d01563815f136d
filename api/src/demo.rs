//! `heddle serve --demo`: a user and a deployed pattern, created through the service's own HTTP interface, so that
//! newcomers see a result within a minute. Uses nothing that a client could not use.

use crate::app::App;
use crate::http;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::ConnectInfo;
use axum::http::Request;
use serde_json::{Value, json};
use std::net::{Ipv4Addr, SocketAddr};
use tower::ServiceExt;

const EMAIL: &str = "demo@heddle.example";
/// Known to everybody: the demo is for this machine only.
const PASSWORD: &str = "demo-password";
const NAME: &str = "Order routing (demo)";
const PATTERN: &str = include_str!("../../examples/order-routing/pattern.json");
/// The body of the webhook that is shown.
const ORDER: &str = r#"{"order": {"id": "A-1001", "customer": {"country": "FR"}, "lines": [{"sku": "DESK-140"}], "total": 607.5}}"#;
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// Why there is no demo.
#[derive(Debug, thiserror::Error)]
#[error("can't set up the demo: {0}")]
pub struct DemoError(String);

/// Makes what is missing, and gives a text with commands to paste.
pub async fn set_up(app: &App) -> Result<String, DemoError> {
    let mut client = Client {
        router: http::router(app),
        token: String::new(),
    };
    let account = json!({"email": EMAIL, "firstName": "Demo", "lastName": "User", "password": PASSWORD});
    let login = json!({"email": EMAIL, "password": PASSWORD});
    let session = match client.call("POST", "/api/auth/register", Some(&account)).await {
        Ok(session) => session,
        Err(_) => client.call("POST", "/api/auth/login", Some(&login)).await?,
    };
    client.token = text(&session, "/data/token")?;
    let listed = client.call("GET", "/api/patterns?search=(demo)", None).await?;
    let pattern = match listed.pointer("/data/0/id").and_then(Value::as_str) {
        Some(id) => id.to_owned(),
        None => {
            let made = client
                .call("POST", "/api/patterns", Some(&json!({"name": NAME})))
                .await?;
            text(&made, "/id")?
        }
    };
    let graph: Value = serde_json::from_str(PATTERN).map_err(|error| DemoError(error.to_string()))?;
    let path = |rest: &str| format!("/api/patterns/{pattern}{rest}");
    client
        .call("PUT", &path(""), Some(&json!({"graphData": graph})))
        .await?;
    let deployed = client
        .call("POST", &path("/deploy"), Some(&json!({"nodeDefinitions": {}})))
        .await?;
    let deployment = text(&deployed, "/data/deploymentId")?;
    let hooks = client.call("GET", &path("/webhooks"), None).await?;
    let url = text(&hooks, "/data/endpoints/0/webhookUrl")?;
    let secret = text(&hooks, "/data/endpoints/0/webhookSecret")?;
    Ok(instructions(app, &client.token, &deployment, &url, &secret))
}

fn instructions(app: &App, token: &str, deployment: &str, url: &str, secret: &str) -> String {
    let base = &app.config.base_url;
    format!(
        "\
demo: the pattern \"{NAME}\" is deployed; log in as {EMAIL} with {PASSWORD}

# Send it a signed webhook:
BODY='{ORDER}'
SIGNATURE=$(printf '%s' \"$BODY\" | openssl dgst -sha256 -hmac '{secret}' | sed 's/^.* //')
curl -s {url} -H 'Content-Type: application/json' -H \"X-Webhook-Signature: $SIGNATURE\" -d \"$BODY\"

# See its run:
curl -s {base}/api/deployments/{deployment}/runs -H 'Authorization: Bearer {token}'

# The API's reference: {base}/docs"
    )
}

fn text(answer: &Value, pointer: &str) -> Result<String, DemoError> {
    let found = answer.pointer(pointer).and_then(Value::as_str);
    found
        .map(str::to_owned)
        .ok_or_else(|| DemoError(format!("an answer has no {pointer}: {answer}")))
}

struct Client {
    router: Router,
    token: String,
}

impl Client {
    async fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, DemoError> {
        let failed = |error: &dyn std::fmt::Display| DemoError(format!("{method} {path}: {error}"));
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {}", self.token))
            .header("content-type", "application/json")
            .body(body.map_or_else(Body::empty, |body| Body::from(body.to_string())))
            .map_err(|error| failed(&error))?;
        let here = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        request.extensions_mut().insert(ConnectInfo(here));
        let response = match self.router.clone().oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
        let status = response.status();
        let bytes = to_bytes(response.into_body(), ANSWER_BYTES_MAX).await;
        let bytes = bytes.map_err(|error| failed(&error))?;
        if !status.is_success() {
            return Err(failed(&format!("{status} {}", String::from_utf8_lossy(&bytes))));
        }
        serde_json::from_slice(&bytes).map_err(|error| failed(&error))
    }
}
