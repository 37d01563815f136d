//! All that the API shows of a workspace, to be compared with what another service shows of it.

use super::member_of;
use crate::harness::{Service, User};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What is told of the moving itself, and of looking.
const OF_MOVING: [&str; 5] = [
    "workspace.suspended",
    "workspace.exported",
    "workspace.imported",
    "workspace.resumed",
    "webhook.secret_read",
];

/// Answers by path.
pub type Seen = BTreeMap<String, Value>;

struct Eyes<'a> {
    service: &'a Service,
    user: User,
    seen: Seen,
}

impl Eyes<'_> {
    /// Looks, and gives what is there; an answer need not be good, but the same.
    async fn look(&mut self, path: &str) -> Value {
        let reply = self.service.get(path).bearer(&self.user.token).send().await;
        let mut body = reply.body;
        if let Some(body) = body.as_object_mut() {
            body.remove("timestamp");
        }
        let found = json!({"status": reply.status, "body": body});
        self.seen.insert(path.to_owned(), found);
        body
    }

    async fn look_at_each(&mut self, list: &Value, paths: &[&str]) {
        for id in ids(list) {
            for path in paths {
                self.look(&path.replace("{}", &id)).await;
            }
        }
    }
}

fn ids(list: &Value) -> Vec<String> {
    let list = list.as_array().unwrap_or_else(|| panic!("no list: {list}"));
    let id = |row: &Value| row["id"].as_str().unwrap().to_owned();
    list.iter().map(id).collect()
}

/// Looks at everything as an owner.
pub async fn seen(service: &Service, user: &User, workspace: &str) -> Seen {
    let mut eyes = Eyes {
        service,
        user: member_of(service, user, workspace).await,
        seen: Seen::new(),
    };
    let of = format!("/api/workspaces/{workspace}");
    let audit = eyes.look("/api/audit?limit=100").await;
    let told = audit["data"].as_array().unwrap().iter();
    let told = told.filter(|entry| !OF_MOVING.iter().any(|action| entry["action"] == *action));
    let told: Vec<Value> = told.cloned().collect();
    assert!(told.len() > 10, "{audit}");
    eyes.seen.insert("/api/audit?limit=100".to_owned(), told.into());
    for path in [
        "/api/callbacks",
        "/api/connections",
        "/api/figures",
        "/api/runs?limit=100",
        "/api/schedules",
        "/api/patterns/stats",
        "/api/deployments/health/summary",
        "/api/triggers/webhook-logs",
    ] {
        eyes.look(path).await;
    }
    for path in ["/members", "/invitations", "/quotas", "/usage?by=hour"] {
        eyes.look(&format!("{of}{path}")).await;
    }
    let environments = eyes.look(&format!("{of}/environments")).await;
    for id in ids(&environments["data"]) {
        for path in ["secrets", "variables"] {
            eyes.look(&format!("{of}/environments/{id}/{path}")).await;
        }
    }
    let patterns = eyes
        .look("/api/patterns?limit=100&sortBy=name&sortOrder=asc")
        .await;
    let patterns = patterns["patterns"].as_array().or(patterns["data"].as_array());
    let patterns = Value::from(patterns.cloned().unwrap_or_default());
    assert!(patterns.as_array().unwrap().len() > 5, "{patterns}");
    eyes.look_at_each(
        &patterns,
        &[
            "/api/patterns/{}",
            "/api/patterns/{}/versions",
            "/api/patterns/{}/versions/1",
            "/api/patterns/{}/draft",
            "/api/patterns/{}/tests",
            "/api/patterns/{}/webhooks",
            "/api/patterns/{}/webhook-logs",
            "/api/patterns/{}/tap-events",
            "/api/patterns/{}/deployments",
            "/api/patterns/{}/call-interface",
        ],
    )
    .await;
    let deployments = eyes.look("/api/deployments?limit=100").await;
    let deployments = deployments["data"].clone();
    eyes.look_at_each(
        &deployments,
        &["/api/deployments/{}", "/api/deployments/{}/schedules"],
    )
    .await;
    for deployment in ids(&deployments) {
        let runs = eyes
            .look(&format!("/api/deployments/{deployment}/runs?limit=100"))
            .await;
        for run in ids(&runs["data"]) {
            eyes.look(&format!("/api/deployments/{deployment}/runs/{run}"))
                .await;
        }
    }
    assert!(eyes.seen.len() > 80, "{:?}", eyes.seen.keys());
    eyes.seen
}

/// Checks that both have seen the same, but for who people are there, and for where the service is. What was written down of its
/// address stays as it was.
pub fn assert_same(
    (source, before): (&Service, &Seen),
    (target, after): (&Service, &Seen),
    people: &[(&User, &User)],
) {
    assert_eq!(
        before.keys().collect::<Vec<_>>(),
        after.keys().collect::<Vec<_>>()
    );
    let alike = |seen: &Value| -> Value {
        let mut text = seen.to_string();
        for service in [source, target] {
            text = text.replace(&service.app.config.base_url, "BASE");
        }
        for (here, there) in people {
            text = text.replace(&here.id, &there.id);
        }
        serde_json::from_str(&text).unwrap()
    };
    for (path, was) in before {
        assert_eq!(difference(&alike(was), &alike(&after[path])), None, "{path}");
    }
}

/// The first place at which two values differ, and what is there.
fn difference(one: &Value, other: &Value) -> Option<String> {
    match (one, other) {
        (Value::Array(ones), Value::Array(others)) if ones.len() == others.len() => {
            let mut each = ones.iter().zip(others).enumerate();
            each.find_map(|(at, (one, other))| Some(format!("[{at}]{}", difference(one, other)?)))
        }
        (Value::Object(ones), Value::Object(others)) if ones.keys().eq(others.keys()) => ones
            .iter()
            .find_map(|(name, one)| Some(format!(".{name}{}", difference(one, &others[name])?))),
        _ => (one != other).then(|| format!(": {one} was, {other} is")),
    }
}
