//! The audit log: every operation that changes something leaves an entry, which tells who, what and from where, and no
//! secret's value.

mod reading;

use crate::access::fixture::Fixture;
use crate::document::{Operation, operations};
use crate::harness::{Reply, Service, User, chain, each_database, endless};
use crate::webhooks::fixture::{Hook, graph};
use heddle_api::http::routes::document;
use heddle_model::access::WorkspaceRole;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A secret of the tests: no entry may have it.
const SECRET: &str = "hunter2-hunter2-hunter2";

/// Operations that leave no entry, and why.
const UNTOLD: &[(&str, &str)] = &[
    ("POST /api/auth/refresh", "another token of the same login"),
    (
        "POST /api/auth/switch-workspace",
        "another token of the same login",
    ),
    ("POST /api/session/ext/begin", "nobody is signed in yet"),
    ("POST /api/invitations/look", "changes nothing"),
    (
        "POST /api/auth/verification",
        "a letter to the caller's own address",
    ),
    (
        "POST /api/auth/authenticator",
        "it counts only once a first code is confirmed",
    ),
    (
        "POST /api/connections/{id}/oauth/begin",
        "the caller is sent to a provider, and has not consented yet",
    ),
    (
        "POST /api/connections/oauth/finish",
        "needs a provider: the tests of connections by consent look at its entry",
    ),
    (
        "POST /api/connections/test",
        "nothing is stored, and the credentials are the caller's",
    ),
    ("POST /api/deployments/{id}/execute", "the run tells of itself"),
    (
        "POST /api/deployments/{id}/runs/{runId}/trace",
        "nothing is sent, and nothing is stored",
    ),
    ("POST /api/files", "the file tells of itself"),
    (
        "DELETE /api/files/{id}",
        "only what nothing refers to, which goes by itself as well",
    ),
    ("POST /api/execute/preview", "changes nothing"),
    ("POST /api/execute/rename", "changes nothing"),
    (
        "POST /api/execute/run",
        "a test run; the tests of rules look at the entry of one that is approved",
    ),
    ("POST /api/execute/stream", "a test run; as the one above"),
    ("POST /api/execute/transpile", "changes nothing"),
    ("POST /api/execute/validate", "changes nothing"),
    ("POST /api/schedules/preview", "changes nothing"),
    (
        "POST /api/patterns/{id}/replay",
        "nothing is sent, and nothing is stored",
    ),
    ("POST /api/patterns/import/openapi", "nothing is stored"),
    ("POST /api/patterns/{id}/tests/run", "test runs"),
    (
        "PUT /api/patterns/{id}/draft",
        "the editor's own unsaved work, stored as they type",
    ),
    ("DELETE /api/patterns/{id}/draft", "the editor's own unsaved work"),
    ("PUT /api/patterns/{id}/presence/{tab}", "nothing is changed"),
    ("DELETE /api/patterns/{id}/presence/{tab}", "nothing is changed"),
    ("POST /api/patterns/{id}/star", "the caller's own mark"),
    (
        "POST /operator/imports",
        "the workspace tells of its import when all of it is there",
    ),
    ("POST /callbacks/{runId}/{token}/{place}", "the run tells of it"),
    ("POST /inbound/email", "the run tells of it"),
    (
        "POST /webhooks/{webhookId}",
        "the log of webhook requests tells of it",
    ),
    (
        "PUT /webhooks/{webhookId}",
        "the log of webhook requests tells of it",
    ),
    (
        "PATCH /webhooks/{webhookId}",
        "the log of webhook requests tells of it",
    ),
    (
        "DELETE /webhooks/{webhookId}",
        "the log of webhook requests tells of it",
    ),
];

/// Operations that other tests call, which need a provider, a mailbox, an authenticator, or the operator's token
/// ([`crate::hosting`]).
const ELSEWHERE: &[&str] = &[
    "POST /api/auth/ext",
    "POST /api/session/ext",
    "POST /api/auth/password/forgot",
    "POST /api/auth/password/reset",
    "POST /api/auth/verification/confirm",
    "POST /api/auth/authenticator/confirm",
    "POST /api/auth/authenticator/recovery-codes",
    "POST /api/auth/authenticator/remove",
    "POST /api/auth/me/remove",
    "POST /operator/workspaces",
    "DELETE /operator/workspaces/{id}",
    "POST /operator/workspaces/{id}/suspend",
    "POST /operator/workspaces/{id}/resume",
    "PUT /operator/workspaces/{id}/quotas",
    "POST /operator/workspaces/{id}/export",
    "PUT /operator/imports/{id}/parts/{number}",
];

/// Calls operations, and knows which were called.
struct Calls<'a> {
    service: &'a Service,
    fixture: Fixture,
    admin: User,
    document: Value,
    operations: Vec<Operation>,
    seen: BTreeSet<String>,
    called: BTreeSet<String>,
}

impl<'a> Calls<'a> {
    async fn new(service: &'a Service) -> Calls<'a> {
        let fixture = Fixture::new(service).await;
        let admin = service.admin("root").await;
        let document = document();
        let operations = operations(&document);
        let mut calls = Calls {
            service,
            fixture,
            admin,
            document,
            operations,
            seen: BTreeSet::new(),
            called: BTreeSet::new(),
        };
        calls.news().await;
        calls
    }

    /// Entries that are there since the last call, the newest first.
    async fn news(&mut self) -> Vec<Value> {
        let all = self.service.get("/api/audit?of=service&format=jsonl");
        let all = all.bearer(&self.admin.token).send().await;
        assert_eq!(all.status, 200, "{all}");
        let entries = all.text.lines().map(|line| serde_json::from_str(line).unwrap());
        let mut news: Vec<Value> = entries.collect();
        news.retain(|entry| self.seen.insert(entry["id"].as_str().unwrap().to_owned()));
        news
    }

    /// Calls an operation on the fixture's objects with its example for a body.
    async fn told(&mut self, operation: &str, action: &str) -> Value {
        let body = {
            let found = self.operations.iter().find(|it| it.to_string() == operation);
            self.fixture.body(&self.document, found.unwrap())
        };
        self.told_with(operation, body, action).await
    }

    async fn told_with(&mut self, operation: &str, body: Option<Value>, action: &str) -> Value {
        let found = self.operations.iter().find(|it| it.to_string() == operation);
        let address = self.fixture.address(found.unwrap());
        let owner = self.fixture.owner.clone();
        self.told_at(operation, &address, body, &owner, action).await
    }

    /// Calls an operation at an address as somebody; the one entry that it leaves.
    async fn told_at(
        &mut self,
        operation: &str,
        address: &str,
        body: Option<Value>,
        by: &User,
        action: &str,
    ) -> Value {
        let (method, _) = operation.split_once(' ').unwrap();
        let mut request = self.service.request(method, address).bearer(&by.token);
        if let Some(body) = &body {
            request = request.json(body);
        }
        let reply = request.send().await;
        assert!((200..300).contains(&reply.status), "{operation}: {reply}");
        self.called.insert(operation.to_owned());
        let news = self.news().await;
        let actions: Vec<&str> = news
            .iter()
            .map(|entry| entry["action"].as_str().unwrap())
            .collect();
        assert_eq!(actions, [action], "{operation}");
        assert_eq!(news[0]["actor"]["id"], by.id.as_str(), "{operation}: {}", news[0]);
        assert_eq!(news[0]["address"], "127.0.0.1", "{operation}: {}", news[0]);
        news[0].clone()
    }

    /// That these entries are there since the last call, in any order.
    async fn left(&mut self, operation: &str, reply: &Reply, actions: &[&str]) -> Vec<Value> {
        assert!((200..300).contains(&reply.status), "{operation}: {reply}");
        self.called.insert(operation.to_owned());
        let news = self.news().await;
        let told: BTreeSet<&str> = news
            .iter()
            .map(|entry| entry["action"].as_str().unwrap())
            .collect();
        assert_eq!(told, actions.iter().copied().collect(), "{operation}");
        news
    }
}

async fn of_workspaces(calls: &mut Calls<'_>) {
    let workspace = calls.service.workspace_of(&calls.fixture.owner).await.to_string();
    let of_workspace = format!("/api/workspaces/{workspace}");
    let made = calls.told("POST /api/workspaces", "workspace.created").await;
    assert_ne!(made["workspaceId"], workspace.as_str(), "{made}");
    let renamed = calls
        .told("PATCH /api/workspaces/{id}", "workspace.renamed")
        .await;
    assert_eq!(renamed["workspaceId"], workspace.as_str(), "{renamed}");
    let environments = "/api/workspaces/{id}/environments";
    let body = json!({"name": "another"});
    let create = format!("POST {environments}");
    let made = calls.told_with(&create, Some(body), "environment.created").await;
    assert_eq!(made["object"]["name"], "another", "{made}");
    let set = calls
        .told_with(
            &format!("PUT {environments}/{{envId}}/secrets/{{name}}"),
            Some(json!({"value": SECRET})),
            "secret.set",
        )
        .await;
    assert_eq!(
        (&set["object"]["name"], &set["object"]["within"]),
        (&json!("TOKEN"), &json!("staging")),
        "{set}"
    );
    let set = format!("PUT {environments}/{{envId}}/variables");
    let set = calls
        .told_with(&set, Some(json!({"A": SECRET})), "variables.set")
        .await;
    assert_eq!(set["details"], json!({"count": 1}), "{set}");
    let set = format!("PUT {environments}/{{envId}}/rules");
    let set = calls
        .told_with(
            &set,
            Some(json!({"requireApproval": true})),
            "environment.rules_set",
        )
        .await;
    assert_eq!(set["details"]["requireApproval"], true, "{set}");
    let delete = format!("DELETE {environments}/{{envId}}/secrets/{{name}}");
    calls.told(&delete, "secret.deleted").await;
    let delete = format!("DELETE {environments}/{{envId}}");
    let gone = calls.told(&delete, "environment.deleted").await;
    assert_eq!(gone["object"]["name"], "staging", "{gone}");

    let kept = "/api/workspaces/{id}/key-values/{key}";
    let set = calls
        .told_with(
            &format!("PUT {kept}"),
            Some(json!({"value": SECRET})),
            "key_value.set",
        )
        .await;
    assert_eq!(
        (&set["object"]["id"], &set["details"]),
        (&json!(workspace), &json!({"key": "k"})),
        "{set}"
    );
    calls.told(&format!("DELETE {kept}"), "key_value.deleted").await;

    let invited = calls.service.user("joining").await;
    let invite = json!({"email": "joining@example.com", "role": "viewer"});
    for (answer, action) in [
        ("accept", "invitation.accepted"),
        ("decline", "invitation.declined"),
    ] {
        let operation = "POST /api/workspaces/{id}/members";
        calls.news().await;
        if answer == "decline" {
            let member = format!("{of_workspace}/members/{}", invited.id);
            let operation = "DELETE /api/workspaces/{id}/members/{userId}";
            let owner = calls.fixture.owner.clone();
            let gone = calls
                .told_at(operation, &member, None, &owner, "member.removed")
                .await;
            assert_eq!(gone["object"]["name"], "joining@example.com", "{gone}");
        }
        let told = calls
            .told_with(operation, Some(invite.clone()), "member.invited")
            .await;
        let id = told["object"]["id"].as_str().unwrap();
        let operation = format!("POST /api/auth/invitations/{{id}}/{answer}");
        let address = format!("/api/auth/invitations/{id}/{answer}");
        let told = calls.told_at(&operation, &address, None, &invited, action).await;
        assert_eq!(told["workspaceId"], workspace.as_str(), "{told}");
    }
    calls
        .told(
            "DELETE /api/workspaces/{id}/invitations/{invitationId}",
            "invitation.withdrawn",
        )
        .await;
    of_links(calls, &of_workspace).await;
    let member = format!("{of_workspace}/members/{}", calls.fixture.viewer.id);
    let owner = calls.fixture.owner.clone();
    let operation = "PATCH /api/workspaces/{id}/members/{userId}";
    let body = Some(json!({"role": "editor"}));
    let told = calls
        .told_at(operation, &member, body, &owner, "member.role_changed")
        .await;
    assert_eq!(
        told["details"],
        json!({"from": "viewer", "to": "editor"}),
        "{told}"
    );

    let other = crate::sessions::workspace(calls.service, &owner, "short-lived").await;
    calls.news().await;
    let address = format!("/api/workspaces/{other}");
    let gone = calls
        .told_at(
            "DELETE /api/workspaces/{id}",
            &address,
            None,
            &owner,
            "workspace.deleted",
        )
        .await;
    assert_eq!(
        (&gone["workspaceId"], &gone["object"]["name"]),
        (&Value::Null, &json!("short-lived")),
        "{gone}"
    );
}

async fn of_links(calls: &mut Calls<'_>, of_workspace: &str) {
    let (service, owner) = (calls.service, calls.fixture.owner.clone());
    let told = calls
        .told_with(
            "POST /api/workspaces/{id}/invitation-links",
            Some(json!({"role": "viewer"})),
            "invitation_link.created",
        )
        .await;
    assert_eq!(
        told["details"],
        json!({"role": "viewer", "singleUse": true}),
        "{told}"
    );
    let links = service.post(&format!("{of_workspace}/invitation-links"));
    let link = links
        .bearer(&owner.token)
        .json(&json!({"role": "editor"}))
        .send()
        .await;
    let url = link.data(201)["url"].as_str().unwrap().to_owned();
    let (_, secret) = url.split_once('#').unwrap();
    let joining = service.user("joins-by-link").await;
    calls.news().await;
    let (operation, body) = ("POST /api/auth/invitations/join", json!({"token": secret}));
    let address = "/api/auth/invitations/join";
    let told = calls
        .told_at(operation, address, Some(body), &joining, "invitation.accepted")
        .await;
    assert_eq!(told["details"], json!({"role": "editor"}), "{told}");
    calls
        .told(
            "DELETE /api/workspaces/{id}/invitation-links/{linkId}",
            "invitation_link.revoked",
        )
        .await;
}

async fn of_connections(calls: &mut Calls<'_>) {
    let body = json!({"provider": "stripe", "apiKey": SECRET});
    calls
        .told_with("POST /api/connections/api-key", Some(body), "connection.created")
        .await;
    let body = json!({"provider": "mail", "credentials": {"user": "ann", "password": SECRET}});
    let made = calls
        .told_with(
            "POST /api/connections/credentials",
            Some(body),
            "connection.created",
        )
        .await;
    assert_eq!(made["details"]["provider"], "mail", "{made}");
    let body = json!({"provider": "github", "credentials": {"clientId": "x", "clientSecret": SECRET}});
    let made = calls
        .told_with("POST /api/connections/oauth", Some(body), "connection.created")
        .await;
    let owner = calls.fixture.owner.clone();
    let address = format!(
        "/api/connections/{}/oauth/disconnect",
        made["object"]["id"].as_str().unwrap()
    );
    let operation = "POST /api/connections/{id}/oauth/disconnect";
    calls
        .told_at(operation, &address, None, &owner, "connection.disconnected")
        .await;
    let body = json!({"displayName": "renamed", "credentials": {"apiKey": SECRET}});
    let changed = calls
        .told_with("PATCH /api/connections/{id}", Some(body), "connection.changed")
        .await;
    assert_eq!(changed["object"]["name"], "renamed", "{changed}");
    let body = json!({"leadsTo": "http", "url": "http://127.0.0.1:9/"});
    let tested = calls
        .told_with("POST /api/connections/{id}/test", Some(body), "connection.tested")
        .await;
    assert_eq!(tested["outcome"], "failed", "{tested}");
    calls
        .told("DELETE /api/connections/{id}", "connection.deleted")
        .await;
    calls.told("POST /api/auth/api-keys", "api_key.created").await;
    calls
        .told("DELETE /api/auth/api-keys/{id}", "api_key.deleted")
        .await;
}

async fn of_runs(calls: &mut Calls<'_>) {
    let (service, owner) = (calls.service, calls.fixture.owner.clone());
    let run = "POST /api/deployments/{id}/runs/{runId}";
    calls.told(&format!("{run}/retry"), "run.retried").await;
    calls.told(&format!("{run}/replay"), "run.replayed").await;
    let deployment = service.deployed(&owner, &endless()).await;
    let waiting = service.started(&owner, &deployment, &json!({})).await;
    calls.news().await;
    let address = format!("/api/deployments/{deployment}/runs/{waiting}/cancel");
    calls
        .told_at(&format!("{run}/cancel"), &address, None, &owner, "run.cancelled")
        .await;
    let asking = chain(&[
        ("start", "OnManual", json!({})),
        ("ask", "WaitForCallback", json!({})),
    ]);
    let deployment = service.deployed(&owner, &asking).await;
    let waiting = service.started(&owner, &deployment, &json!({})).await;
    loop {
        let listed = service.get("/api/callbacks").bearer(&owner.token).send().await;
        if listed.text.contains(&waiting) {
            break;
        }
        tokio::task::yield_now().await;
    }
    calls.news().await;
    let address = format!("/api/deployments/{deployment}/runs/{waiting}/callback");
    let (operation, body) = (
        format!("{run}/callback"),
        json!({"place": "ask", "body": {"approved": true}}),
    );
    calls
        .told_at(&operation, &address, Some(body), &owner, "run.callback_answered")
        .await;

    let scheduled = chain(&[("clock", "OnSchedule", json!({"cron": "0 9 * * *"}))]);
    let deployment = service.deployed(&owner, &scheduled).await;
    calls.news().await;
    let (operation, body) = (
        "PUT /api/deployments/{id}/schedule",
        json!({"cronExpression": "0 8 * * *"}),
    );
    let address = format!("/api/deployments/{deployment}/schedule");
    let set = calls
        .told_at(
            operation,
            &address,
            Some(body),
            &owner,
            "deployment.schedule_changed",
        )
        .await;
    assert_eq!(
        set["details"],
        json!({"cron": "0 8 * * *", "timezone": "UTC"}),
        "{set}"
    );
    let operation = "DELETE /api/deployments/{id}/schedule";
    calls
        .told_at(operation, &address, None, &owner, "deployment.schedule_changed")
        .await;

    let pattern = service
        .drawn(&owner, &chain(&[("hook", "OnWebhook", json!({}))]))
        .await;
    let deployment = service.deploy(&owner, &pattern).await;
    let webhooks = format!("/api/deployments/{deployment}/webhook");
    calls.news().await;
    let (read, unread): (&[&str], &[&str]) = (&["webhook.secret_read"], &[]);
    // Without being asked it is told once an hour, and a secret that is not shown is not read.
    let ways = [
        ("?secrets=false", unread),
        ("", read),
        ("", unread),
        ("?secrets=true", read),
        ("?secrets=true", read),
        ("?secrets=false", unread),
    ];
    for (query, expected) in ways {
        let path = format!("{webhooks}{query}");
        let shown = service.get(&path).bearer(&owner.token).send().await;
        let is_shown = shown.data(200)[0]["webhookSecret"].is_string();
        assert_eq!(is_shown, query != "?secrets=false", "{shown}");
        calls
            .left("GET /api/deployments/{id}/webhook", &shown, expected)
            .await;
    }
    let other = format!("{webhooks}?endpointId={deployment}&secrets=true");
    let none = service.get(&other).bearer(&owner.token).send().await;
    assert_eq!(none.data(200), &json!([]));
    let operation = "GET /api/deployments/{id}/webhook";
    calls.left(operation, &none, unread).await;
    let shown = service.get(&webhooks).bearer(&owner.token).send().await;
    let endpoint = shown.data(200)[0]["id"].as_str().unwrap();
    let (operation, address) = (
        "POST /api/deployments/{id}/webhook/regenerate",
        format!("{webhooks}/regenerate"),
    );
    let body = json!({"endpointId": endpoint, "secret": SECRET});
    calls
        .told_at(operation, &address, Some(body), &owner, "webhook.secret_replaced")
        .await;
    let snippets = format!("{webhooks}/snippets?endpointId={endpoint}");
    let member = service.member(&owner, "editor", WorkspaceRole::Editor).await;
    calls.news().await;
    let shown = service.get(&snippets).bearer(&member.token).send().await;
    calls
        .left(
            "GET /api/deployments/{id}/webhook/snippets",
            &shown,
            &["webhook.secret_read"],
        )
        .await;
}

async fn of_events(calls: &mut Calls<'_>) {
    let hook = Hook::saved(calls.service, graph(json!({}), &[])).await;
    hook.signed("{}").send().await;
    let tapped = hook.tapped().await;
    calls.news().await;
    let operation = "POST /api/patterns/{id}/tests/from-event";
    let address = format!("/api/patterns/{}/tests/from-event", hook.pattern);
    let body = json!({"nodeId": "hook", "receivedAt": tapped[0]["receivedAt"]});
    calls
        .told_at(operation, &address, Some(body), &hook.user, "test.added")
        .await;
}

/// To an environment that is made for it.
async fn promotes(calls: &mut Calls<'_>) {
    let environments = calls
        .fixture
        .address(&operation("/api/workspaces/{id}/environments"));
    let made = calls
        .service
        .post(&environments)
        .bearer(&calls.fixture.owner.token);
    let made = made.json(&json!({"name": "beside"})).send().await;
    let body = json!({"environmentId": made.data(201)["id"]});
    calls.news().await;
    let promote = "POST /api/deployments/{id}/promote";
    let told = calls.told_with(promote, Some(body), "deployment.promoted").await;
    assert_eq!(
        told["details"],
        json!({"version": 4, "from": "production"}),
        "{told}"
    );
    assert_eq!(told["object"]["within"], "beside", "{told}");
}

async fn of_patterns(calls: &mut Calls<'_>) {
    let pattern = "/api/patterns/{id}";
    for (operation, action) in [
        ("POST /api/patterns".to_owned(), "pattern.created"),
        ("POST /api/patterns/import".to_owned(), "pattern.created"),
        ("POST /api/patterns/import/n8n".to_owned(), "pattern.created"),
        ("POST /api/patterns/import/node-red".to_owned(), "pattern.created"),
        (format!("POST {pattern}/clone"), "pattern.created"),
        (
            format!("PUT {pattern}/call-interface"),
            "pattern.call_interface_set",
        ),
        (
            format!("DELETE {pattern}/call-interface"),
            "pattern.call_interface_removed",
        ),
        (format!("PUT {pattern}/tests/{{testId}}"), "test.changed"),
        (format!("DELETE {pattern}/tests/{{testId}}"), "test.deleted"),
        (format!("DELETE {pattern}/tap-events"), "tap_events.cleared"),
        (format!("DELETE {pattern}/webhook-logs"), "webhook_log.cleared"),
        (
            "DELETE /api/triggers/webhook-logs".to_owned(),
            "webhook_log.cleared",
        ),
        ("POST /api/deployments/{id}/pause".to_owned(), "deployment.paused"),
        (
            "POST /api/deployments/{id}/resume".to_owned(),
            "deployment.resumed",
        ),
        (
            "POST /api/deployments/{id}/redeploy".to_owned(),
            "deployment.redeployed",
        ),
    ] {
        calls.told(&operation, action).await;
    }
    let (create, saved) = (format!("POST {pattern}/tests"), format!("PUT {pattern}"));
    calls
        .told_with(&create, Some(json!({"name": "another"})), "test.added")
        .await;
    let deployment = calls.fixture.address(&operation("/api/deployments/{id}"));
    let run = calls
        .fixture
        .address(&operation("/api/deployments/{id}/runs/{runId}"));
    let ids = |address: &str| address.rsplit('/').next().unwrap().to_owned();
    let body = json!({"name": "of a run", "deploymentId": ids(&deployment), "runId": ids(&run)});
    calls
        .told_with(
            &format!("POST {pattern}/tests/from-run"),
            Some(body),
            "test.added",
        )
        .await;
    let told = calls
        .told_with(&saved, Some(json!({"description": "told"})), "pattern.saved")
        .await;
    assert_eq!(
        told["details"],
        json!({"version": 3, "summary": "description changed"}),
        "{told}"
    );
    let back = format!("POST {pattern}/rollback");
    let told = calls
        .told_with(&back, Some(json!({"versionNumber": 2})), "pattern.rolled_back")
        .await;
    assert_eq!(told["details"], json!({"version": 4, "restored": 2}), "{told}");
    let body = Some(json!({"nodeDefinitions": {}}));
    let told = calls
        .told_with(&format!("POST {pattern}/deploy"), body, "pattern.deployed")
        .await;
    assert_eq!(told["details"], json!({"version": 4}), "{told}");
    assert_eq!(told["object"]["within"], "production", "{told}");
    promotes(calls).await;
    calls
        .told(&format!("DELETE {pattern}/deploy"), "pattern.undeployed")
        .await;
    calls
        .told("DELETE /api/deployments/{id}", "deployment.deleted")
        .await;
    calls.told(&format!("DELETE {pattern}"), "pattern.deleted").await;
}

/// A reading operation at a path, for its address.
fn operation(path: &str) -> Operation {
    Operation {
        method: "GET".to_owned(),
        path: path.to_owned(),
        told: Value::Null,
    }
}

async fn of_accounts(calls: &mut Calls<'_>) {
    let service = calls.service;
    let account = crate::sessions::account("new@example.com");
    let registered = service.post("/api/auth/register").json(&account).send().await;
    calls
        .left("POST /api/auth/register", &registered, &["account.registered"])
        .await;
    let account = crate::sessions::account("browser@example.com");
    let registered = service.post("/api/session/register").json(&account).send().await;
    let both = ["account.registered", "account.signed_in"];
    calls.left("POST /api/session/register", &registered, &both).await;
    let password = json!({"email": "new@example.com", "password": "correct-horse"});
    let signed_in = service.post("/api/session").json(&password).send().await;
    let told = calls
        .left("POST /api/session", &signed_in, &["account.signed_in"])
        .await;
    assert_eq!(told[0]["details"], json!({"way": "password"}), "{told:?}");
    let login = service.post("/api/auth/login").json(&password).send().await;
    calls
        .left("POST /api/auth/login", &login, &["account.signed_in"])
        .await;
    let user = |login: &Reply| User {
        id: login.data(200)["user"]["id"].as_str().unwrap().to_owned(),
        token: login.data(200)["token"].as_str().unwrap().to_owned(),
    };
    let new = user(&login);
    let name = Some(json!({"firstName": "Anna"}));
    let told = calls
        .told_at(
            "PATCH /api/auth/me",
            "/api/auth/me",
            name,
            &new,
            "account.profile_changed",
        )
        .await;
    assert_eq!(told["actor"]["name"], "Anna Lee", "{told}");
    let sessions = service.get("/api/sessions").bearer(&new.token).send().await;
    let session = format!("/api/sessions/{}", sessions.data(200)[0]["id"].as_str().unwrap());
    calls
        .told_at(
            "DELETE /api/sessions/{id}",
            &session,
            None,
            &new,
            "account.session_ended",
        )
        .await;
    calls
        .told_at(
            "POST /api/auth/logout",
            "/api/auth/logout",
            None,
            &new,
            "account.signed_out",
        )
        .await;
    for (operation, body, action) in [
        ("DELETE /api/session", None, "account.signed_out"),
        ("POST /api/auth/logout-all", None, "account.signed_out_everywhere"),
        (
            "PUT /api/auth/password",
            Some(json!({"currentPassword": "correct-horse", "newPassword": SECRET})),
            "account.password_changed",
        ),
    ] {
        let login = service.post("/api/auth/login").json(&password).send().await;
        calls.news().await;
        let (_, address) = operation.split_once(' ').unwrap();
        calls
            .told_at(operation, address, body, &user(&login), action)
            .await;
    }
}

each_database! {
    async fn every_change_leaves_an_entry_without_any_secret(service: Service) {
        let mut calls = Calls::new(&service).await;
        of_runs(&mut calls).await;
        of_events(&mut calls).await;
        of_workspaces(&mut calls).await;
        of_connections(&mut calls).await;
        of_patterns(&mut calls).await;
        of_accounts(&mut calls).await;
        for operation in &calls.operations {
            if operation.method == "GET" {
                continue;
            }
            let name = operation.to_string();
            let is_untold = UNTOLD.iter().any(|(untold, _)| *untold == name);
            let is_known = calls.called.contains(&name) || ELSEWHERE.contains(&name.as_str());
            assert!(is_known != is_untold, "{name}: call it here, or say in UNTOLD why it leaves no entry");
        }
        let all = service.get("/api/audit?of=service&format=jsonl").bearer(&calls.admin.token).send().await;
        assert!(all.text.lines().count() > 50, "{all}");
        assert!(!all.text.contains(SECRET), "{all}");
        assert!(!all.text.contains("correct-horse"), "{all}");
    }
}
