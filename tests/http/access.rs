//! Every operation of the document is called by those who must not: without a token, with a bad one, by a stranger,
//! by a viewer, by somebody who is not an admin. An operation that this file does not know how to call fails it.

pub mod fixture;

use crate::document::{Operation, operations};
use crate::harness::{Reply, Request, Service, User, each_database};
use fixture::Fixture;
use heddle_api::http::routes::document;
use serde_json::{Value, json};

/// What needs no token. Everything else must ask for one.
const PUBLIC: &[&str] = &[
    "GET /api/auth/providers",
    "POST /api/auth/register",
    "POST /api/auth/login",
    "POST /api/auth/ext",
    "POST /api/auth/password/forgot",
    "POST /api/auth/password/reset",
    "POST /api/invitations/look",
    "GET /api/session",
    "POST /api/session",
    "POST /api/session/register",
    "POST /api/session/ext",
    "POST /api/session/ext/begin",
    "GET /api/nodes",
    "GET /api/nodes/{type}",
    "GET /api/expressions",
    "GET /api/openapi.json",
    "GET /docs",
    "GET /healthz",
    "GET /readyz",
    "GET /metrics",
    "POST /webhooks/{webhookId}",
    "PUT /webhooks/{webhookId}",
    "PATCH /webhooks/{webhookId}",
    "DELETE /webhooks/{webhookId}",
    "GET /webhooks/{webhookId}",
    "POST /inbound/email",
    "POST /callbacks/{runId}/{token}/{place}",
    "GET /callbacks/{runId}/{token}/{place}",
];

/// What needs the role admin.
const ADMIN: &[&str] = &["GET /api/patterns/stats"];

/// Changes that a viewer may make, since they are of the viewer's own things only.
const VIEWERS_OWN: &[&str] = &[
    "POST /api/auth/refresh",
    "POST /api/auth/switch-workspace",
    "POST /api/auth/api-keys",
    "DELETE /api/auth/api-keys/{id}",
    "POST /api/auth/logout",
    "POST /api/auth/logout-all",
    "PUT /api/auth/password",
    "PATCH /api/auth/me",
    "DELETE /api/session",
    "POST /api/workspaces",
    "POST /api/patterns/{id}/star",
    "POST /api/execute/transpile",
    "POST /api/execute/validate",
    "POST /api/execute/rename",
    "POST /api/schedules/preview",
];

/// What is answered as long as somebody looks on.
pub const ENDLESS: &[&str] = &["GET /api/deployments/{id}/runs/stream", "GET /api/stream"];

/// Paths whose parameters name no tenant's object.
const NO_OBJECT: &[&str] = &["/api/nodes/{type}"];

fn is(list: &[&str], operation: &Operation) -> bool {
    list.contains(&operation.to_string().as_str())
}

/// The operator has a token of another kind; see [`crate::hosting`].
fn is_operators(operation: &Operation) -> bool {
    operation.path.starts_with("/operator/")
}

fn protected() -> (Value, Vec<Operation>) {
    let document = document();
    let operations = operations(&document)
        .into_iter()
        .filter(|operation| !is(PUBLIC, operation) && !is_operators(operation))
        .collect();
    (document, operations)
}

impl Fixture {
    /// The call of an operation on this fixture's objects.
    fn call(&self, service: &Service, document: &Value, operation: &Operation) -> Request {
        let request = service.request(&operation.method, &self.address(operation));
        match self.body(document, operation) {
            Some(body) => request.json(&body),
            None => request,
        }
    }

    async fn reply(&self, service: &Service, document: &Value, operation: &Operation, by: &User) -> Reply {
        self.call(service, document, operation)
            .bearer(&by.token)
            .send()
            .await
    }
}

/// The body without what differs between any two answers.
fn lasting(reply: &Reply) -> Value {
    let mut body = reply.body.clone();
    if let Some(body) = body.as_object_mut() {
        body.remove("timestamp");
    }
    body
}

#[test]
fn only_what_is_meant_to_be_is_public() {
    for operation in operations(&document()) {
        if is_operators(&operation) {
            continue;
        }
        assert_eq!(
            operation.needs_token(),
            !is(PUBLIC, &operation),
            "{operation}: its `security` and the list of public operations differ"
        );
    }
}

each_database! {
    async fn nothing_is_done_without_a_good_token(service: Service) {
        let fixture = Fixture::new(&service).await;
        let (document, operations) = protected();
        let (head, signature) = fixture.owner.token.rsplit_once('.').unwrap();
        let forged = format!("{head}.{}", signature.chars().rev().collect::<String>());
        for operation in operations {
            let call = || fixture.call(&service, &document, &operation);
            for (request, what) in [
                (call(), "without a token"),
                (call().bearer("nonsense"), "with nonsense for a token"),
                (call().bearer("hdl_nonsense"), "with nonsense for a key"),
                (call().bearer(&forged), "with a token that somebody else signed"),
                (call().header("authorization", "Basic YTpi"), "with a password"),
            ] {
                let reply = request.send().await;
                assert_eq!((reply.status, reply.code()), (401, "UNAUTHORIZED"), "{operation} {what}: {reply}");
                assert_eq!(reply.headers["www-authenticate"], "Bearer", "{operation} {what}");
            }
        }
    }

    async fn other_sites_change_nothing_by_the_cookie_of_a_visitor(service: Service) {
        let fixture = Fixture::new(&service).await;
        let cookie = service.cookie("owner").await;
        let (document, operations) = protected();
        let own = format!("http://{}", service.address);
        for operation in operations {
            let call = || fixture.call(&service, &document, &operation).header("cookie", &cookie);
            if operation.method == "GET" {
                continue;
            }
            for (name, value) in [
                ("accept", "*/*"),
                ("sec-fetch-site", "cross-site"),
                ("sec-fetch-site", "same-site"),
                ("sec-fetch-site", "none"),
                ("origin", "https://evil.example"),
                ("origin", "null"),
            ] {
                let reply = call().header(name, value).send().await;
                assert_eq!((reply.status, reply.code()), (403, "FORBIDDEN"), "{operation} with {name}: {value}: {reply}");
                assert!(reply.text.contains("own pages"), "{operation}: {reply}");
            }
            let both = call().header("origin", &own).header("sec-fetch-site", "cross-site").send().await;
            assert_eq!((both.status, both.code()), (403, "FORBIDDEN"), "{operation}: {both}");
        }
        let current = service.get("/api/session").header("cookie", &cookie).send().await;
        assert_eq!(current.data(200)["session"]["user"]["id"], fixture.owner.id.as_str(), "{current}");
    }

    async fn a_stranger_can_not_tell_an_object_from_none(service: Service) {
        let fixture = Fixture::new(&service).await;
        let nothing = fixture.of_nothing();
        let stranger = service.user("stranger").await;
        let made = service.post("/api/auth/api-keys").bearer(&stranger.token).json(&json!({"name": "CI"}));
        let key = made.send().await.data(201)["key"].as_str().unwrap().to_owned();
        let by_key = User { token: key, ..stranger.clone() };
        let (document, operations) = protected();
        for operation in operations {
            if !operation.path.contains('{') || NO_OBJECT.contains(&operation.path.as_str()) {
                continue;
            }
            // Some things are not done with keys, whatever they are done to.
            for (by, what, refused) in [(&stranger, "a stranger", &[404][..]), (&by_key, "a stranger's key", &[403, 404])] {
                let there = fixture.reply(&service, &document, &operation, by).await;
                let absent = nothing.reply(&service, &document, &operation, by).await;
                assert!(refused.contains(&there.status), "{operation} by {what}: {there}");
                assert_eq!(lasting(&there), lasting(&absent), "{operation} by {what}");
                let names = |reply: &Reply| -> Vec<String> { reply.headers.keys().map(ToString::to_string).collect() };
                assert_eq!(names(&there), names(&absent), "{operation} by {what}");
            }
        }
        // The key is a good one.
        let own = service.get("/api/patterns").bearer(&by_key.token).send().await;
        assert_eq!(own.body["meta"]["total"], 0, "{own}");
    }

    async fn a_viewer_changes_nothing(service: Service) {
        let fixture = Fixture::new(&service).await;
        let (document, operations) = protected();
        for operation in operations {
            if operation.method == "GET" || is(VIEWERS_OWN, &operation) || fixture.is_personal(&operation) {
                continue;
            }
            let reply = fixture.reply(&service, &document, &operation, &fixture.viewer).await;
            assert_eq!((reply.status, reply.code()), (403, "FORBIDDEN"), "{operation} by a viewer, see VIEWERS_OWN: {reply}");
        }
    }

    async fn a_viewer_reads_what_the_workspace_has(service: Service) {
        let fixture = Fixture::new(&service).await;
        let (document, operations) = protected();
        for operation in operations {
            if operation.method != "GET" || is(ADMIN, &operation) || fixture.is_personal(&operation) {
                continue;
            }
            if is(ENDLESS, &operation) {
                continue;
            }
            let reply = fixture.reply(&service, &document, &operation, &fixture.viewer).await;
            let may = fixture.viewer_may_not(&operation).unwrap_or(200);
            assert_eq!(reply.status, may, "{operation} by a viewer, see viewer_may_not: {reply}");
        }
    }

    async fn only_admins_do_what_is_for_admins(service: Service) {
        let fixture = Fixture::new(&service).await;
        let (document, operations) = protected();
        let admin = service.admin("root").await;
        for operation in operations {
            if !is(ADMIN, &operation) {
                continue;
            }
            let reply = fixture.reply(&service, &document, &operation, &fixture.owner).await;
            assert_eq!((reply.status, reply.code()), (403, "FORBIDDEN"), "{operation}: {reply}");
            let reply = fixture.reply(&service, &document, &operation, &admin).await;
            assert_eq!(reply.status, 200, "{operation}: {reply}");
        }
    }
}
