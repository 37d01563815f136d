//! What the attacker has made before it attacks: patterns, deployed or only saved, a secret, and a compiled test.

#[path = "fixture/pages.rs"]
mod pages;
#[path = "fixture/requests.rs"]
pub mod requests;
#[path = "fixture/streams.rs"]
mod streams;
#[path = "fixture/watched.rs"]
pub mod watched;

use crate::load::Target;
use crate::outside::Outside;
use crate::process::{Deployed, Process, Saved, User, chain};
use pages::Pages;
use serde_json::{Value, json};
use std::net::{IpAddr, SocketAddr};
use streams::Streams;
use watched::Watched;

/// The attacker's address: not that of this machine's proxies, which may have more of everything.
pub const FROM: [u8; 4] = [127, 0, 0, 2];
/// The operator's.
pub const OPERATOR: &str = "a token of the operator, of more than thirty-two characters";
/// Patterns that are saved or deployed at the same time.
const PATTERNS: usize = 16;
/// Bytes of a file at most: less than usual, so that many come to their end during an attack. As the server is told, too.
pub const FILE_BYTES: usize = 16 << 20;
pub const FILE_MAX: &str = "16MiB";
/// Bytes of each of two versions that are compared.
const VERSION_BYTES: usize = 3 << 20;
/// Elements of which a traced test run gives each its text.
const TRACED: usize = 1_000;
/// Characters of a text that is imported when there is nothing else to import: more than is imported at once.
const IMPORTED: usize = 100 << 10;

/// All of it.
pub struct Fixture<'p> {
    pub user: User<'p>,
    /// An endless loop; its sender waits.
    pub endless: Target,
    /// Takes memory until there is none.
    pub memory: Target,
    /// An answer of 1 MiB in which secrets are looked for.
    pub masking: Target,
    /// Logs as much as it can.
    pub logging: Target,
    /// Runs itself twice, and each of these itself twice again.
    pub forking: Target,
    /// Waits for an hour.
    pub waiting: Target,
    /// Stores 10 MB.
    pub keeping: Target,
    pub cheap: Deployed,
    pub saved: Vec<Saved>,
    /// Paths of slow queries.
    pub queries: Vec<String>,
    pub comparison: String,
    /// A body for `/api/execute/run`: a test with a large trace.
    pub test: String,
    /// A body for `/api/execute/preview`, with as many expressions as there may be.
    pub preview: String,
    pub pages: Pages,
    pub streams: Streams,
    pub watched: Watched,
    pub inbox: Inbox,
    /// Takes forms whose files are stored, from anybody.
    pub forms: Deployed,
}

/// An address of a pattern for e-mail.
pub struct Inbox {
    /// Of the server.
    pub smtp: SocketAddr,
    pub address: String,
    pub deployment: String,
}

impl<'p> Fixture<'p> {
    /// As a new user of this server, which takes mail at `smtp`.
    pub async fn new(process: &'p Process, outside: &Outside, smtp: SocketAddr) -> Fixture<'p> {
        let mut user = User::named(process, "mallory").await;
        user.client = reqwest::Client::builder()
            .no_proxy()
            .local_address(IpAddr::from(FROM))
            .build()
            .unwrap();
        store_secret(&user).await;
        let javascript =
            |code: &str| json!({"id": "code", "type": "JavaScript", "data": {"parameters": {"code": code}}});
        let endless = javascript("export default () => { for (;;) {} }");
        let memory = javascript(
            "export default () => { const all = []; for (;;) all.push(new Array(10000).fill(all.length)); }",
        );
        let masking = json!({"id": "call", "type": "HttpRequest", "data": {"parameters": {
            "url": format!("http://{}/", outside.http), "headers": {"X-Token": "{{ $secrets.TOKEN }}"},
        }}});
        let logging = javascript(
            "export default () => { const text = 'x'.repeat(1000); for (let i = 0; i < 10000; i++) console.log(text); return 1; }",
        );
        let waiting =
            json!({"id": "wait", "type": "Wait", "data": {"parameters": {"durationMs": 3_600_000}}});
        let mut saved = Vec::new();
        for _ in 0..PATTERNS {
            saved.push(user.save(202, &[fields(0)]).await);
        }
        let cheap = user.deploy(202, &[fields(0)]).await;
        let mut queries: Vec<String> = [
            "/api/runs?q=nothing&limit=100",
            "/api/runs?status=failure&limit=100",
            "/api/figures?period=30d",
            "/api/patterns?search=nothing&sortBy=name&limit=100",
            "/api/triggers/webhook-logs?limit=100",
        ]
        .map(str::to_owned)
        .into();
        queries.push(format!("/api/deployments/{}/runs?page=50&limit=100", cheap.id));
        for query in &queries {
            user.call("GET", query, json!(null)).await;
        }
        Fixture {
            endless: user.deploy(200, &[endless]).await.target,
            memory: user.deploy(200, &[memory]).await.target,
            masking: user.deploy(200, &[masking]).await.target,
            logging: user.deploy(200, &[logging]).await.target,
            forking: deploy_forking(&user).await,
            waiting: user.deploy(202, &[waiting]).await.target,
            keeping: deploy_keeping(&user, javascript).await,
            comparison: save_versions(&user).await,
            test: compiled_test(&user).await,
            preview: preview(),
            pages: Pages::new(&user).await,
            streams: Streams::new(&user, outside.http).await,
            watched: Watched::new(&user, outside).await,
            inbox: Inbox::new(&user, smtp).await,
            forms: deploy_forms(&user).await,
            cheap,
            saved,
            queries,
            user,
        }
    }

    /// Waits until what was sent for nobody to wait for has ended. There are no quotas from then on.
    pub async fn await_rest(&self) {
        self.set_quotas(json!({})).await;
        self.user.await_ends(&self.cheap.id).await;
    }

    /// Waits until nothing else is imported or previewed: each user has one at a time.
    pub async fn await_import(&self) {
        let text = "x".repeat(IMPORTED);
        let nodes = json!([{"name": "a", "type": "n8n-nodes-base.noOp", "parameters": {"text": text}}]);
        let workflow = json!({"name": "small", "nodes": nodes, "connections": {}});
        let import = json!({"dryRun": true, "workflows": [workflow]});
        let path = "/api/patterns/import/n8n";
        // Those that wait for too long are refused.
        while self.user.send("POST", path, import.clone()).await.unwrap().0 != 200 {}
    }

    /// From now on each of the attacker's quotas is used up.
    pub async fn use_up_quotas(&self) {
        let quotas = json!({
            "runsAtOnce": 1, "runsPerMonth": 1, "fuelPerMonth": 1, "egressBytesPerMonth": 1, "webhooksPerMinute": 1,
            "patterns": 1, "waitingRuns": 0, "keyValues": 0, "storageBytes": 1,
        });
        self.set_quotas(quotas).await;
    }

    async fn set_quotas(&self, quotas: Value) {
        let workspaces = self.user.call("GET", "/api/workspaces", json!(null)).await;
        let workspace = workspaces["data"][0]["id"].as_str().unwrap();
        let server = self.user.process.address;
        let path = format!("http://{server}/operator/workspaces/{workspace}/quotas");
        let request = self.user.client.put(path).bearer_auth(OPERATOR);
        let request = request.header("content-type", "application/json");
        let set = request
            .body(json!({"quotas": quotas}).to_string())
            .send()
            .await
            .unwrap();
        assert!(set.status().is_success(), "{}", set.text().await.unwrap());
    }
}

impl Inbox {
    async fn new(user: &User<'_>, smtp: SocketAddr) -> Inbox {
        let graph = json!({"nodes": [{"id": "mail", "type": "OnEmail"}], "edges": []});
        let deployment = deploy(user, &graph).await;
        let path = format!("/api/deployments/{deployment}");
        let deployed = user.call("GET", &path, json!(null)).await;
        let address = deployed["data"]["emailEndpoints"][0]["address"].as_str();
        Inbox {
            smtp,
            address: address.unwrap().to_owned(),
            deployment,
        }
    }
}

/// Deploys a graph, whatever it begins with; the deployment's id.
async fn deploy(user: &User<'_>, graph: &Value) -> String {
    let made = user
        .call("POST", "/api/patterns", json!({"name": "measured"}))
        .await;
    let path = format!("/api/patterns/{}", made["id"].as_str().unwrap());
    user.call("PUT", &path, json!({"graphData": graph})).await;
    let deploy = format!("{path}/deploy");
    let deployed = user.call("POST", &deploy, json!({"nodeDefinitions": {}})).await;
    deployed["data"]["deploymentId"].as_str().unwrap().to_owned()
}

async fn deploy_forms(user: &User<'_>) -> Deployed {
    let hook = json!({"id": "hook", "type": "OnWebhook", "data": {"parameters": {
        "scheme": "none", "accept": ["multipart"], "files": true, "responseMode": "async",
    }}});
    user.deploy_graph(202, &chain(&hook, &[fields(0)])).await
}

async fn store_secret(user: &User<'_>) {
    let workspaces = user.call("GET", "/api/workspaces", json!(null)).await;
    let workspace = workspaces["data"][0]["id"].as_str().unwrap();
    let environments = format!("/api/workspaces/{workspace}/environments");
    let environment = user.call("GET", &environments, json!(null)).await;
    let environment = environment["data"][0]["id"].as_str().unwrap();
    let secret = format!("{environments}/{environment}/secrets/TOKEN");
    user.call("PUT", &secret, json!({"value": "a secret that is looked for"}))
        .await;
}

/// Each run stores a hundred of 8,000 values of 100 KB.
async fn deploy_keeping(user: &User<'_>, javascript: impl Fn(&str) -> Value) -> Target {
    let values = javascript(
        "export default () => { const text = 'x'.repeat(100000), first = Math.floor(Math.random() * 80) * 100; \
         return Array.from({ length: 100 }, (_, at) => ({ key: `k${first + at}`, text })); }",
    );
    let each = json!({"id": "each", "type": "ForEach", "data": {"parameters": {"concurrency": 10}}});
    let keep = json!({"id": "keep", "type": "KeyValue", "data": {"parameters": {
        "operation": "set", "key": "{{ $input.key }}", "value": "{{ $input.text }}",
    }}});
    let done = json!({"id": "done", "type": "RespondToWebhook", "data": {"parameters": {"body": 1}}});
    let hook = json!({"id": "hook", "type": "OnWebhook", "data": {"parameters": {"responseMode": "sync"}}});
    let edge = |source: &str, out: &str, target: &str, port: &str| json!({"source": source, "sourceHandle": out, "target": target, "targetHandle": port});
    let graph = json!({
        "nodes": [hook, values, each, keep, done],
        "edges": [
            edge("hook", "out", "code", "in"), edge("code", "out", "each", "in"), edge("each", "item", "keep", "in"),
            edge("keep", "out", "each", "next"), edge("each", "done", "done", "in"),
        ],
    });
    user.deploy_graph(200, &graph).await.target
}

async fn deploy_forking(user: &User<'_>) -> Target {
    let forking = user.save(200, &[]).await;
    let id = forking.path.rsplit('/').next().unwrap();
    let call =
        |name: &str| json!({"id": name, "type": "CallPattern", "data": {"parameters": {"patternId": id}}});
    let graph = json!({
        "nodes": [
            {"id": "hook", "type": "OnWebhook", "data": {"parameters": {"responseMode": "sync"}}},
            {"id": "called", "type": "OnCall"},
            call("a"), call("b"),
        ],
        "edges": [
            {"source": "hook", "target": "a"}, {"source": "hook", "target": "b"},
            {"source": "called", "target": "a"}, {"source": "called", "target": "b"},
        ],
    });
    user.call("PUT", &forking.path, json!({"graphData": graph})).await;
    let deploy = format!("{}/deploy", forking.path);
    user.call("POST", &deploy, json!({"nodeDefinitions": {}})).await;
    forking.target
}

fn preview() -> String {
    let graph = chain(&json!({"id": "start", "type": "OnManual"}), &[fields(0)]);
    let dear =
        "{{ $input.items.map(a => $input.items.filter(b => b !== a).length).reduce((a, b) => a + b, 0) }}";
    let expressions: serde_json::Map<String, Value> = (0..50)
        .map(|number| (format!("fields.f{number}"), dear.into()))
        .collect();
    let items: Vec<usize> = (0..1_000).collect();
    json!({"graphData": graph, "nodeId": "set-0", "expressions": expressions, "outputs": {"start": {"items": items}}}).to_string()
}

/// Two large versions of a pattern; the path that compares them.
async fn save_versions(user: &User<'_>) -> String {
    let saved = user.save(202, &[fields(0)]).await;
    for _ in 0..2 {
        user.call("PUT", &saved.path, large(VERSION_BYTES)).await;
    }
    let compared = format!("{}/versions/compare?v1=2&v2=3", saved.path);
    user.call("GET", &compared, json!(null)).await;
    compared
}

async fn compiled_test(user: &User<'_>) -> String {
    let items: Vec<usize> = (0..TRACED).collect();
    let each =
        json!({"id": "each", "type": "ForEach", "data": {"parameters": {"items": "{{ $input.items }}"}}});
    let text = json!({"id": "text", "type": "SetFields", "data": {"parameters": {"fields": {"text": "{{ $trigger.text }}"}}}});
    let graph = json!({
        "nodes": [{"id": "start", "type": "OnManual"}, each, text],
        "edges": [
            {"source": "start", "target": "each"},
            {"source": "each", "sourceHandle": "item", "target": "text"},
            {"source": "text", "target": "each", "targetHandle": "next"},
        ],
    });
    let compile = json!({"graphData": graph, "nodeDefinitions": {}, "trace": true});
    let compiled = user.call("POST", "/api/execute/transpile", compile).await;
    let event = json!({"items": items, "text": "x".repeat(8_000)});
    json!({"code": compiled["code"], "eventData": event}).to_string()
}

/// A graph of about so many bytes, different from all others.
pub fn large(bytes: usize) -> Value {
    let text = "a text that is stored; ".repeat(bytes / 23 / 100);
    let nodes: Vec<Value> = (0..100)
        .map(|number| {
            let fields = json!({"text": text, "unique": unique()});
            json!({"id": format!("n{number}"), "type": "SetFields", "data": {"parameters": {"fields": fields}}})
        })
        .collect();
    let hook = json!({"id": "hook", "type": "OnWebhook", "data": {"parameters": {}}});
    json!({"graphData": chain(&hook, &nodes)})
}

pub fn fields(number: usize) -> Value {
    let fields = json!({"total": "{{ $input.body.total * 1.2 }}", "number": number});
    json!({"id": format!("set-{number}"), "type": "SetFields", "data": {"parameters": {"fields": fields}}})
}

/// A node that no pattern has had: its module is compiled anew.
pub fn fresh() -> Value {
    let fields = json!({"total": "{{ $input.body.total * 1.2 }}", "unique": unique()});
    json!({"id": "set", "type": "SetFields", "data": {"parameters": {"fields": fields}}})
}

/// A text that was not there before.
pub fn unique() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    format!("{}", since.unwrap().as_nanos())
}
