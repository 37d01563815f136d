//! `heddle serve --demo`: a user with deployed patterns, created through the service's own HTTP interface, so that
//! newcomers see something alive within a minute. Uses nothing that a client could not use.

use crate::app::App;
use crate::config::DemoLogin;
use crate::http;
use anyhow::{Context, anyhow, ensure};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::ConnectInfo;
use axum::http::Request;
use heddle_catalogue::Start;
use serde_json::{Value, json};
use std::net::{Ipv4Addr, SocketAddr};
use tower::ServiceExt;

const EMAIL: &str = "demo@heddle.example";
const PASSWORD: &str = "demo-password";
/// Known to everybody: the demo is for this machine only.
pub const LOGIN: DemoLogin = DemoLogin {
    email: EMAIL,
    password: PASSWORD,
};
/// The body of the webhook that is shown.
const ORDER: &str = r#"{"order": {"id": "A-1001", "customer": {"country": "FR"}, "lines": [{"sku": "DESK-140"}], "total": 607.5}}"#;
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// A pattern of the demo.
struct Example {
    name: &'static str,
    description: &'static str,
    /// The file: a graph, with its `nodeDefinitions` if it has any.
    graph: &'static str,
    /// The event of a first run; none if the pattern runs by itself.
    event: Option<&'static str>,
}

macro_rules! example {
    ($folder:literal, $file:literal) => {
        include_str!(concat!("../../examples/", $folder, "/", $file))
    };
}

/// They need no other service. The first one is what newcomers send their webhook to.
const EXAMPLES: &[Example] = &[
    Example {
        name: "Order routing (demo)",
        description: "Sends an order to the warehouse for its country, and answers the shop.",
        graph: example!("order-routing", "pattern.json"),
        event: Some(example!("order-routing", "event.json")),
    },
    Example {
        name: "Stock watch (demo)",
        description: "Counts a shelf every ten seconds; about one count in ten is refused, so that there \
            are failures to look at.",
        graph: include_str!("demo/stock-watch.json"),
        event: None,
    },
    Example {
        name: "Expense approval (demo)",
        description: "Approves small claims, and sends larger ones to the person who decides.",
        graph: example!("expense-approval", "pattern.json"),
        event: Some(example!("expense-approval", "event.json")),
    },
    Example {
        name: "CSV import (demo)",
        description: "Cleans up a file of payments and adds it up for each customer.",
        graph: example!("csv-import", "pattern.json"),
        event: Some(example!("csv-import", "event.json")),
    },
    Example {
        name: "Invoice totals (demo)",
        description: "Works out what each customer owes, with a loop inside a loop.",
        graph: example!("invoice-totals", "pattern.json"),
        event: Some(example!("invoice-totals", "event.json")),
    },
];

/// Variables of the environment that the patterns need.
const VARIABLES: &str = example!("expense-approval", "vars.json");

/// Why there is no demo.
#[derive(Debug, thiserror::Error)]
#[error("can't set up the demo: {0:#}")]
pub struct DemoError(#[from] anyhow::Error);

/// Makes what is missing, and gives a text that says where to go. What was changed since the last start stays.
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
    client.set_variables().await?;
    let listed = client
        .call("GET", "/api/patterns?search=(demo)&limit=100", None)
        .await?;
    let known = listed["data"].as_array().cloned().unwrap_or_default();
    let mut first = None;
    for example in EXAMPLES {
        let found = known.iter().find(|pattern| pattern["name"] == example.name);
        let id = match found {
            Some(pattern) => text(pattern, "/id")?,
            None => client.make(example).await?,
        };
        first.get_or_insert(id);
    }
    let commands = client.commands(app, &first.unwrap_or_default()).await?;
    Ok(format!("{}\n\n{commands}", welcome(app)))
}

fn welcome(app: &App) -> String {
    let base = &app.config.base_url;
    match app.config.console {
        true => format!("demo: open {base} and sign in as {EMAIL} with the password {PASSWORD}"),
        false => format!("demo: log in as {EMAIL} with the password {PASSWORD}"),
    }
}

fn parsed(json: &str) -> Result<Value, DemoError> {
    Ok(serde_json::from_str(json).map_err(anyhow::Error::from)?)
}

/// Gives the first trigger an event that fits the pattern, with which editors begin a test.
fn carry(graph: &mut Value, event: Value) {
    let nodes = graph.get_mut("nodes").and_then(Value::as_array_mut);
    let trigger = nodes.into_iter().flatten().find(|node| {
        let node_type = node.get("type").and_then(Value::as_str);
        node_type.and_then(Start::of_type).is_some()
    });
    let data = trigger
        .and_then(|trigger| trigger.get_mut("data"))
        .and_then(Value::as_object_mut);
    if let Some(data) = data {
        data.insert("exampleEvent".to_owned(), event);
    }
}

fn text(answer: &Value, pointer: &str) -> Result<String, DemoError> {
    let found = answer.pointer(pointer).and_then(Value::as_str);
    found
        .map(str::to_owned)
        .ok_or_else(|| anyhow!("an answer has no {pointer}: {answer}").into())
}

struct Client {
    router: Router,
    token: String,
}

impl Client {
    /// Sets the variables in the first environment, unless there are any.
    async fn set_variables(&self) -> Result<(), DemoError> {
        let workspaces = self.call("GET", "/api/workspaces", None).await?;
        let path = format!(
            "/api/workspaces/{}/environments",
            text(&workspaces, "/data/0/id")?
        );
        let environments = self.call("GET", &path, None).await?;
        let path = format!("{path}/{}/variables", text(&environments, "/data/0/id")?);
        let variables = self.call("GET", &path, None).await?;
        if variables["data"].as_object().is_some_and(|set| !set.is_empty()) {
            return Ok(());
        }
        self.call("PUT", &path, Some(&parsed(VARIABLES)?)).await.map(drop)
    }

    /// Makes and deploys a pattern, and runs it once; its id.
    async fn make(&self, example: &Example) -> Result<String, DemoError> {
        let new = json!({"name": example.name, "description": example.description, "tags": ["demo"]});
        let made = self.call("POST", "/api/patterns", Some(&new)).await?;
        let id = text(&made, "/id")?;
        let path = format!("/api/patterns/{id}");
        let mut graph = parsed(example.graph)?;
        let definitions = graph
            .as_object_mut()
            .and_then(|file| file.remove("nodeDefinitions"));
        let definitions = definitions.unwrap_or_else(|| json!({}));
        if let Some(event) = example.event {
            carry(&mut graph, parsed(event)?);
        }
        let saved =
            json!({"graphData": graph, "nodeDefinitions": definitions, "summary": "as in the examples"});
        self.call("PUT", &path, Some(&saved)).await?;
        let deploy = json!({"nodeDefinitions": {}, "trace": true});
        let deployed = self
            .call("POST", &format!("{path}/deploy"), Some(&deploy))
            .await?;
        if let Some(event) = example.event {
            let path = format!(
                "/api/deployments/{}/execute",
                text(&deployed, "/data/deploymentId")?
            );
            let event = json!({"eventData": parsed(event)?});
            self.call("POST", &path, Some(&event)).await?;
        }
        Ok(id)
    }

    /// Commands to paste: a webhook for this pattern, and its runs. None if its user has changed what they need.
    async fn commands(&self, app: &App, pattern: &str) -> Result<String, DemoError> {
        let (base, token) = (&app.config.base_url, &self.token);
        let reference = format!("# The API's reference: {base}/docs");
        let hooks = self
            .call("GET", &format!("/api/patterns/{pattern}/webhooks"), None)
            .await?;
        let found = (
            text(&hooks, "/data/endpoints/0/webhookUrl"),
            text(&hooks, "/data/endpoints/0/webhookSecret"),
        );
        let (Ok(url), Ok(secret)) = found else {
            return Ok(reference);
        };
        Ok(format!(
            "\
# Send \"{name}\" a signed webhook:
BODY='{ORDER}'
SIGNATURE=$(printf '%s' \"$BODY\" | openssl dgst -sha256 -hmac '{secret}' | sed 's/^.* //')
curl -s {url} -H 'Content-Type: application/json' -H \"X-Webhook-Signature: $SIGNATURE\" -d \"$BODY\"

# See the runs of all patterns:
curl -s {base}/api/runs -H 'Authorization: Bearer {token}'

{reference}",
            name = EXAMPLES.first().map_or("", |example| example.name)
        ))
    }

    async fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, DemoError> {
        let asked = self.ask(method, path, body).await;
        Ok(asked.with_context(|| format!("{method} {path}"))?)
    }

    async fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> anyhow::Result<Value> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {}", self.token))
            .header("content-type", "application/json")
            .body(body.map_or_else(Body::empty, |body| Body::from(body.to_string())))?;
        let here = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        request.extensions_mut().insert(ConnectInfo(here));
        let response = match self.router.clone().oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
        let status = response.status();
        let bytes = to_bytes(response.into_body(), ANSWER_BYTES_MAX).await?;
        ensure!(
            status.is_success(),
            "{status} {}",
            String::from_utf8_lossy(&bytes)
        );
        Ok(serde_json::from_slice(&bytes)?)
    }
}
