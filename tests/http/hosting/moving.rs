//! A workspace moved to another service, on the other database: all of it is there as it was, and goes on.

mod compared;
mod large;
mod refused;

use super::deletion::filled;
use super::{ask, operate, operated};
use crate::flow::waits::parked;
use crate::harness::{Database, Reply, Service, User, chain, doubling};
use crate::webhooks::fixture::{Hook, graph, returns, sign};
use heddle_api::config::Config;
use heddle_model::access::WorkspaceRole;
use serde_json::{Value, json};
use std::path::Path;

/// What archives of tests are locked with.
const PASSPHRASE: &str = "correct horse battery staple";

/// Keys of another service than the one that exports.
fn elsewhere(config: &mut Config) {
    operated(config);
    config.master_key = [9; 32].into();
    config.jwt_secret = "another secret of thirty-two characters or more"
        .to_owned()
        .into();
    config.base_url = "https://elsewhere.example.com".to_owned();
}

/// An archive: its manifest, and its parts with the lines before them.
struct Archive {
    manifest: Value,
    parts: Vec<Vec<u8>>,
}

impl Archive {
    /// Reads an archive as it was sent; checks that it is whole.
    fn read(bytes: &[u8]) -> Archive {
        let (line, mut rest) = line(bytes);
        let manifest = serde_json::from_slice(line).unwrap();
        let mut parts = Vec::new();
        let mut last = Value::Null;
        while !rest.is_empty() {
            let (head, after) = line_of(rest);
            let (part, more) = rest.split_at(after + head["bytes"].as_u64().unwrap() as usize);
            parts.push(part.to_vec());
            assert_eq!(head["part"], parts.len(), "{head}");
            (last, rest) = (head, more);
        }
        assert_eq!(last["of"], "end", "{last}");
        Archive { manifest, parts }
    }

    fn begin(&self, more: Value) -> Value {
        let mut body = json!({"manifest": self.manifest, "passphrase": PASSPHRASE});
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        body
    }
}

fn line(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap();
    (&bytes[..end], &bytes[end + 1..])
}

/// The line before a part, and how long it is.
fn line_of(bytes: &[u8]) -> (Value, usize) {
    let (head, _) = line(bytes);
    (serde_json::from_slice(head).unwrap(), head.len() + 1)
}

async fn set_suspended(service: &Service, workspace: &str, is_suspended: bool) {
    let operation = if is_suspended { "suspend" } else { "resume" };
    let path = format!("/workspaces/{workspace}/{operation}");
    operate(service, "POST", &path, json!({})).await.data(200);
}

/// Exports a suspended workspace.
async fn exported(service: &Service, workspace: &str) -> Archive {
    let path = format!("/workspaces/{workspace}/export");
    let request = ask(service, "POST", &path).json(&json!({"passphrase": PASSPHRASE}));
    let (_, bytes) = request.bytes().await;
    Archive::read(&bytes)
}

async fn put(service: &Service, workspace: &str, number: usize, part: &[u8]) -> Reply {
    let path = format!("/imports/{workspace}/parts/{number}");
    let request = ask(service, "PUT", &path).header("content-type", "application/octet-stream");
    request.body(part.to_vec()).send().await
}

/// Imports an archive; what is told of it at its end.
async fn imported(service: &Service, archive: &Archive, more: Value) -> Value {
    let begun = operate(service, "POST", "/imports", archive.begin(more)).await;
    let begun = begun.data(201);
    let workspace = begun["workspaceId"].as_str().unwrap().to_owned();
    for (index, part) in archive.parts.iter().enumerate() {
        let added = put(service, &workspace, index + 1, part).await;
        assert_eq!(added.data(200)["nextPart"], index + 2, "{added}");
    }
    let told = ask(service, "GET", &format!("/imports/{workspace}")).send().await;
    assert_eq!(told.data(200)["isFinished"], true, "{told}");
    told.data(200).clone()
}

/// More of what a workspace can have than [`filled`] makes: members, drafts, tests, addresses of mail, a second environment.
async fn filled_more(service: &Service, ann: &User, bob: &User) {
    let workspace = service.workspace_of(ann).await.to_string();
    let send = async |method: &str, path: &str, body: Value| {
        let sent = service
            .request(method, path)
            .bearer(&ann.token)
            .json(&body)
            .send()
            .await;
        assert!(sent.status < 300, "{method} {path}: {sent}");
        sent.body
    };
    service.join(ann, bob, "bob", &workspace, "editor").await;
    let members = format!("/api/workspaces/{workspace}/members");
    send(
        "POST",
        &members,
        json!({"email": "eve@example.com", "role": "viewer"}),
    )
    .await;
    let environments = format!("/api/workspaces/{workspace}/environments");
    let staging = send("POST", &environments, json!({"name": "staging"})).await;
    let staging = staging["data"]["id"].as_str().unwrap().to_owned();
    let pattern = service.drawn(ann, &doubling()).await;
    let path = format!("/api/patterns/{pattern}");
    send(
        "PUT",
        &path,
        json!({"name": "Größen", "tags": ["night", "day"], "description": "with \"quotes\"\n"}),
    )
    .await;
    send(
        "PUT",
        &format!("{path}/draft"),
        json!({"graphData": doubling(), "baseVersion": 2}),
    )
    .await;
    send(
        "POST",
        &format!("{path}/tests"),
        json!({"name": "four", "event": {"n": 2}}),
    )
    .await;
    send(
        "POST",
        &format!("{path}/deploy"),
        json!({"nodeDefinitions": {}, "environmentId": staging, "move": false}),
    )
    .await;
    let mail = chain(&[
        ("mail", "OnEmail", json!({})),
        ("note", "Log", json!({"message": "mail"})),
    ]);
    service.deployed(ann, &mail).await;
    let failing = service.deployed(ann, &doubling()).await;
    service.ran(ann, &failing, &json!({"fail": true})).await;
}

/// A run that waits to be called, and the path of its URL.
async fn asking(service: &Service, user: &User) -> (String, String, String) {
    let asks = chain(&[
        ("start", "OnManual", json!({})),
        (
            "first",
            "KeyValue",
            json!({"operation": "increment", "key": "count"}),
        ),
        ("tell", "Log", json!({"message": "{{ $run.callbackUrls.ask }}"})),
        ("ask", "WaitForCallback", json!({})),
        (
            "end",
            "Return",
            json!({"value": "{{ [$input.body, $nodes.first, $vars.MARK, $secrets.SECRET] }}"}),
        ),
    ]);
    let deployment = service.deployed(user, &asks).await;
    let run = service.started(user, &deployment, &json!({})).await;
    let waiting = parked(service, user, &deployment, &run).await;
    let url = waiting["logOutput"][0]["message"].as_str().unwrap();
    let (_, path) = url.split_once("://").unwrap().1.split_once('/').unwrap();
    (deployment, run, format!("/{path}"))
}

async fn moved(from: Database, to: Database) {
    let (files, others) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let source = Service::with(from, |config| {
        operated(config);
        config.sqlite_dir = Some(files.path().to_owned());
    });
    let source = source.await;
    let (ann, bob) = (source.user("ann").await, source.user("bob").await);
    let workspace = source.workspace_of(&ann).await.to_string();
    filled(&source, ann.clone(), "mark-of-ann", files.path()).await;
    filled_more(&source, &ann, &bob).await;
    let (deployment, run, url) = asking(&source, &ann).await;
    let hooked = Hook::saved_by(
        &source,
        ann.clone(),
        graph(json!({"responseMode": "sync"}), &[returns("{{ 7 }}")]),
    )
    .await;
    hooked.deploy().await;
    source.app.webhooks.journal.flush().await;
    let before = compared::seen(&source, &ann, &workspace).await;
    set_suspended(&source, &workspace, true).await;
    let archive = exported(&source, &workspace).await;

    let target = Service::with(to, |config| {
        elsewhere(config);
        config.sqlite_dir = Some(others.path().to_owned());
    });
    let target = target.await;
    target.app.executions.start().await.unwrap();
    // In the same order, by which members are listed who joined at the same time.
    let (ann_there, bob_there) = (target.user("ann").await, target.user("bob").await);
    let told = imported(&target, &archive, json!({})).await;
    assert_eq!(told["workspaceId"], workspace.as_str(), "{told}");
    assert_eq!(told["keepsIds"], true, "{told}");
    assert_eq!(told["changedAddresses"], json!([]), "{told}");
    assert_eq!(
        (&told["leftOut"], &told["endedRuns"]),
        (&json!(0), &json!(0)),
        "{told}"
    );
    // A second time is as good as once.
    let last = archive.parts.len();
    let again = put(&target, &workspace, last, &archive.parts[last - 1]).await;
    assert_eq!(again.data(200), &told);
    assert_files(files.path(), others.path(), &workspace);

    set_suspended(&target, &workspace, false).await;
    let after = compared::seen(&target, &ann_there, &workspace).await;
    compared::assert_same(
        (&source, &before),
        (&target, &after),
        &[(&ann, &ann_there), (&bob, &bob_there)],
    );
    // Services are told the address here.
    let member = member_of(&target, &ann_there, &workspace).await;
    let listed = target
        .get("/api/subscriptions")
        .bearer(&member.token)
        .send()
        .await;
    let statuses = listed.body["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|told| &told["status"]);
    assert_eq!(statuses.collect::<Vec<_>>(), [&json!("pending")], "{listed}");
    goes_on(
        &target,
        &ann_there,
        &workspace,
        (&deployment, &run, &url),
        &hooked,
    )
    .await;
}

fn assert_files(from: &Path, to: &Path, workspace: &str) {
    let file = |dir: &Path| std::fs::read(dir.join(workspace).join("deep").join("file")).unwrap();
    assert_eq!(file(from), file(to));
}

/// Addresses lead to the workspace, and what waited goes on with what there was.
async fn goes_on(
    target: &Service,
    ann: &User,
    workspace: &str,
    (deployment, run, url): (&str, &str, &str),
    hooked: &Hook<'_>,
) {
    let called = target.post(url).json(&json!({"approved": true})).send().await;
    assert_eq!(called.status, 200, "{called}");
    let ann = member_of(target, ann, workspace).await;
    let ended = target.ended(&ann, deployment, run).await;
    assert_eq!(ended["status"], "success", "{ended}");
    let [answer, count, mark, secret] = &ended["output"].as_array().unwrap()[..] else {
        panic!("{ended}");
    };
    assert_eq!(
        (answer, count, mark),
        (&json!({"approved": true}), &json!(1), &json!("mark-of-ann"))
    );
    // What runs have of a secret is its name.
    assert!(
        secret.as_str().unwrap().starts_with("heddle-secret(SECRET;"),
        "{secret}"
    );
    let body = r#"{"n":1}"#;
    let sent = target
        .post(&format!("/webhooks/{}", hooked.webhook))
        .header("content-type", "application/json")
        .header("x-webhook-signature", &sign(&hooked.secret, body))
        .body(body.to_owned());
    let sent = sent.send().await;
    assert_eq!(sent.status, 200, "{sent}");
    let told = target.get("/api/audit").bearer(&ann.token).send().await;
    assert!(
        told.text.contains("workspace.imported") && told.text.contains("workspace.exported"),
        "{told}"
    );
}

/// A user with a token for one of their workspaces.
async fn member_of(service: &Service, user: &User, workspace: &str) -> User {
    let token = service.app.tokens.issue(
        user.id.parse().unwrap(),
        "ann@example.com",
        heddle_model::access::Role::User,
        Some((workspace.parse().unwrap(), WorkspaceRole::Owner)),
        &service.app.tokens.begin(0),
    );
    User {
        id: user.id.clone(),
        token: token.unwrap(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workspace_moves_from_sqlite_to_postgres() {
    moved(Database::Sqlite, Database::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workspace_moves_from_postgres_to_sqlite() {
    moved(Database::Postgres, Database::Sqlite).await;
}
