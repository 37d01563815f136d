//! Quotas of a workspace: each is reached, and says which it is; others go on.

use super::metering::sum;
use super::{BOTH, ask, hosted, limit, operate, operated, told};
use crate::harness::{Reply, Service, User, chain, doubling};
use crate::webhooks::fixture::{Hook, graph};
use heddle_model::status::Phase;
use heddle_runtime::EgressPolicy;
use serde_json::{Value, json};
use std::time::Duration;

pub(super) fn assert_exceeded(reply: &Reply, quota: &str, limit: i64) {
    reply.assert_refused(429, "WORKSPACE_QUOTA_EXCEEDED");
    let message = reply.body["error"]["message"].as_str().unwrap();
    assert!(
        message.contains(quota) && message.contains(&limit.to_string()),
        "{message}"
    );
}

async fn standing(service: &Service, user: &User, quota: &str) -> Value {
    let path = format!("/api/workspaces/{}/quotas", service.workspace_of(user).await);
    let quotas = service.get(&path).bearer(&user.token).send().await;
    let quotas = quotas.data(200).as_array().unwrap().clone();
    quotas.into_iter().find(|it| it["name"] == quota).unwrap()
}

pub(super) async fn of_runs(service: &Service, ann: &User) {
    let doubles = service.deployed(ann, &doubling()).await;
    limit(service, ann, json!({"runsPerMonth": 5})).await;
    for _ in 0..5 {
        service.ran(ann, &doubles, &json!({})).await;
    }
    let refused = service.execute(ann, &doubles, "", &json!({})).await;
    assert_exceeded(&refused, "runsPerMonth", 5);
    // On 1 December 00:00, from 21 November 09:00.
    assert_eq!(refused.headers["retry-after"], "831600", "{refused}");
    let found = standing(service, ann, "runsPerMonth").await;
    assert_eq!(
        (&found["used"], &found["limit"]),
        (&json!(5), &json!(5)),
        "{found}"
    );
    assert_eq!(
        (&found["isNearlyUsed"], &found["period"]),
        (&json!(true), &json!("month"))
    );
    // Once a month, however often it is measured.
    service.app.executions.tenants().measure().await.unwrap();
    service.app.executions.tenants().measure().await.unwrap();
    let warnings = told(service, ann).await;
    let warnings = warnings
        .iter()
        .filter(|it| *it == "workspace.quota_warned")
        .count();
    assert_eq!(warnings, 1);
    for quota in ["fuelPerMonth", "egressBytesPerMonth", "storageBytes"] {
        let used = if quota == "egressBytesPerMonth" { 0 } else { 1 };
        limit(service, ann, json!({quota: used})).await;
        assert_exceeded(&service.execute(ann, &doubles, "", &json!({})).await, quota, used);
    }
    let pattern = service
        .post("/api/patterns")
        .bearer(&ann.token)
        .json(&json!({"name": "x"}));
    assert_exceeded(&pattern.send().await, "storageBytes", 1);
    // What was measured for it is in the report.
    let usage = format!(
        "/workspaces/{}/usage?to=2026-12-01T00:00:00Z",
        service.workspace_of(ann).await
    );
    let report = ask(service, "GET", &usage).send().await;
    let rows = report.body["data"].as_array().unwrap();
    assert!(sum(rows, "storedBytes") > 1.0, "{report}");
    limit(service, ann, json!({"runsPerMonth": 6})).await;
    service.ran(ann, &doubles, &json!({})).await;
}

pub(super) async fn of_what_is_there(service: &Service, ann: &User) {
    limit(service, ann, json!({})).await;
    let keeps = json!({"operation": "set", "key": "{{ $input.key }}", "value": 1});
    let keeps = chain(&[("start", "OnManual", json!({})), ("keep", "KeyValue", keeps)]);
    let keeps = service.deployed(ann, &keeps).await;
    let asks = chain(&[
        ("start", "OnManual", json!({})),
        ("ask", "WaitForCallback", json!({})),
    ]);
    let asks = service.deployed(ann, &asks).await;
    limit(
        service,
        ann,
        json!({"keyValues": 1, "waitingRuns": 0, "patterns": 3}),
    )
    .await;
    let patterns = standing(service, ann, "patterns").await;
    assert_eq!(patterns["used"], 3, "{patterns}");
    for (key, code) in [
        ("a", Value::Null),
        ("a", Value::Null),
        ("b", json!("KEY_VALUE_LIMIT")),
    ] {
        let kept = service
            .execute(ann, &keeps, "?wait=true", &json!({"key": key}))
            .await;
        assert_eq!(kept.data(200)["error"]["code"], code, "{kept}");
        let message = kept.data(200)["error"]["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        assert!(code.is_null() || message.contains("keyValues"), "{kept}");
    }
    let asked = service.execute(ann, &asks, "?wait=true", &json!({})).await;
    assert_eq!(
        asked.data(200)["error"]["code"],
        "WORKSPACE_QUOTA_EXCEEDED",
        "{asked}"
    );
    let fourth = service
        .post("/api/patterns")
        .bearer(&ann.token)
        .json(&json!({"name": "x"}));
    assert_exceeded(&fourth.send().await, "patterns", 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_quota_is_reached_by_its_workspace_alone() {
    for database in BOTH {
        let service = hosted(database).await;
        let (ann, bob) = (service.user("ann").await, service.user("bob").await);
        let others = service.deployed(&bob, &doubling()).await;
        of_runs(&service, &ann).await;
        of_what_is_there(&service, &ann).await;
        service.ran(&bob, &others, &json!({})).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webhooks_are_counted_by_the_minute() {
    for database in BOTH {
        let service = hosted(database).await;
        let hook = Hook::deployed(&service, graph(json!({}), &[])).await;
        limit(&service, &hook.user, json!({"webhooksPerMinute": 2})).await;
        // What is not signed does not count.
        for _ in 0..3 {
            hook.post("{}")
                .send()
                .await
                .assert_refused(401, "SIGNATURE_INVALID");
        }
        for _ in 0..2 {
            assert_eq!(hook.signed("{}").send().await.status, 202);
        }
        let refused = hook.signed("{}").send().await;
        assert_exceeded(&refused, "webhooksPerMinute", 2);
        assert_eq!(refused.headers["retry-after"], "60", "{refused}");
        service.app.clock.advance(Duration::from_secs(60));
        assert_eq!(hook.signed("{}").send().await.status, 202);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn quotas_are_checked_and_kept() {
    let service = hosted(BOTH[0]).await;
    let ann = service.user("ann").await;
    let path = format!("/workspaces/{}/quotas", service.workspace_of(&ann).await);
    for (body, field) in [
        (json!({"quotas": {"runsPerMonth": -1}}), "quotas.runsPerMonth"),
        (json!({"quotas": {"runsAtOnce": 0}}), "quotas.runsAtOnce"),
        (json!({"quotas": {"memoryMbPerRun": 15}}), "quotas.memoryMbPerRun"),
        (json!({"quotas": {"runs": 1}}), "quotas.runs"),
        (json!({"quotas": [64]}), "quotas"),
        (json!({"quotas": []}), "quotas"),
        (json!({"quotas": null}), "quotas"),
        (json!({"quotas": {}, "retentionDays": 0}), "retentionDays"),
        (json!({}), "quotas"),
    ] {
        let refused = operate(&service, "PUT", &path, body.clone()).await;
        assert_eq!(refused.wrong_fields(), [field], "{body}");
    }
    let body = json!({"quotas": {"runsAtOnce": 3, "patterns": 9}, "retentionDays": 7});
    operate(&service, "PUT", &path, body).await.data(200);
    let found = ask(&service, "GET", path.trim_end_matches("/quotas"))
        .send()
        .await;
    let found = found.data(200);
    assert_eq!(
        (&found["quotas"]["patterns"], &found["retentionDays"]),
        (&json!(9), &json!(7))
    );
    let at_once = standing(&service, &ann, "runsAtOnce").await;
    assert_eq!(
        (&at_once["limit"], &at_once["used"]),
        (&json!(3), &json!(0)),
        "{at_once}"
    );
}

/// A pattern whose runs need more than 16 MiB and less than 128.
fn filling(settings: Value) -> Value {
    let code = "export default () => { const all = []; for (let i = 0; i < 40; i++) all.push(new Uint8Array(1e6).fill(i)); \
                return all.length; }";
    let mut graph = chain(&[
        ("start", "OnManual", json!({})),
        ("fill", "JavaScript", json!({"code": code})),
    ]);
    graph["settings"] = settings;
    graph
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pattern_gives_its_runs_what_the_workspace_may_have() {
    for database in BOTH {
        let service = hosted(database).await;
        let (ann, bob) = (service.user("ann").await, service.user("bob").await);
        let quotas = json!({"memoryMbPerRun": 128, "computeSecondsPerRun": 3});
        limit(&service, &ann, quotas).await;
        let found = standing(&service, &ann, "memoryMbPerRun").await;
        assert_eq!(
            (&found["limit"], &found["used"], &found["period"]),
            (&json!(128), &Value::Null, &json!("run")),
            "{found}"
        );
        let more = filling(json!({"memoryMb": 129, "computeSeconds": 4}));
        let pattern = service.drawn(&ann, &more).await;
        let path = format!("/api/patterns/{pattern}/deploy");
        for dry_run in [true, false] {
            let deploy = service.post(&path).bearer(&ann.token);
            let refused = deploy
                .json(&json!({"nodeDefinitions": {}, "dryRun": dry_run}))
                .send()
                .await;
            assert_eq!(
                refused.wrong_fields(),
                ["settings.memoryMb", "settings.computeSeconds"]
            );
            let message = refused.body["error"]["message"].as_str().unwrap();
            assert!(
                message.contains("at most 128") && message.contains("memoryMbPerRun"),
                "{message}"
            );
        }
        service.deployed(&bob, &more).await;
        let allowed = filling(json!({"memoryMb": 128, "computeSeconds": 3}));
        let deployment = service.deployed(&ann, &allowed).await;
        let run = async || {
            let ended = service.execute(&ann, &deployment, "?wait=true", &json!({})).await;
            ended.data(200)["error"].clone()
        };
        assert_eq!(run().await, Value::Null);
        // What is deployed has no more than the workspace either, once that is less.
        limit(&service, &ann, json!({"memoryMbPerRun": 16})).await;
        let error = run().await;
        let message = error["message"].as_str().unwrap_or_default();
        assert!(
            error["code"] == "OUT_OF_MEMORY"
                && message.contains("its 16 MiB of memory")
                && message.contains("memoryMbPerRun"),
            "{error}"
        );
    }
}

/// A pattern whose runs have six effects.
fn counting(settings: Value) -> Value {
    let mut graph = chain(&[
        ("start", "OnManual", json!({})),
        ("rows", "Transform", json!({"value": [1, 2, 3, 4, 5, 6]})),
        (
            "count",
            "KeyValue",
            json!({"operation": "increment", "key": "rows"}),
        ),
    ]);
    graph["nodes"][2]["data"]["each"] = true.into();
    graph["settings"] = settings;
    graph
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pattern_gives_its_runs_the_effects_that_server_and_workspace_allow() {
    for database in BOTH {
        let service = Service::with(database, |config| {
            operated(config);
            config.run_effects_max = 5;
            config.run_effects_ceiling = 8;
        })
        .await;
        let (ann, bob) = (service.user("ann").await, service.user("bob").await);
        limit(&service, &ann, json!({"effectsPerRun": 6})).await;
        let refused = async |user: &User, effects: u32| {
            let pattern = service
                .drawn(user, &counting(json!({"maxEffects": effects})))
                .await;
            let deploy = service.post(&format!("/api/patterns/{pattern}/deploy"));
            let refused = deploy.bearer(&user.token).json(&json!({"nodeDefinitions": {}}));
            let refused = refused.send().await;
            assert_eq!(refused.wrong_fields(), ["settings.maxEffects"]);
            refused.body["error"]["message"].as_str().unwrap().to_owned()
        };
        for (user, effects, most) in [(&ann, 7, "at most 6 here"), (&bob, 9, "at most 8 here")] {
            let message = refused(user, effects).await;
            assert!(
                message.contains(most)
                    && message.contains("effectsPerRun")
                    && message.contains("run_effects_ceiling"),
                "{message}"
            );
        }
        let run = async |deployment: &str| {
            let ended = service.execute(&ann, deployment, "?wait=true", &json!({})).await;
            ended.data(200)["error"].clone()
        };
        // The server's own limit, unless the pattern says otherwise.
        let modest = service.deployed(&ann, &counting(json!({}))).await;
        let error = run(&modest).await;
        let message = error["message"].as_str().unwrap_or_default();
        assert!(
            error["code"] == "EFFECT_LIMIT"
                && message.contains("its 5 effects while node `count`")
                && message.contains("raise `maxEffects` in the pattern's settings: up to 6 are"),
            "{error}"
        );
        let more = service.deployed(&ann, &counting(json!({"maxEffects": 6}))).await;
        assert_eq!(run(&more).await, Value::Null);
        // What is deployed has no more than the workspace either, once that is less.
        limit(&service, &ann, json!({"effectsPerRun": 4})).await;
        let error = run(&more).await;
        let message = error["message"].as_str().unwrap_or_default();
        assert!(
            error["code"] == "EFFECT_LIMIT"
                && message.contains("its 4 effects")
                && message.contains("the workspace's quota `effectsPerRun`"),
            "{error}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_are_kept_for_as_long_as_the_operator_says() {
    for database in BOTH {
        let service = hosted(database).await;
        let (ann, bob) = (service.user("ann").await, service.user("bob").await);
        let path = format!("/workspaces/{}/quotas", service.workspace_of(&ann).await);
        let body = json!({"quotas": {}, "retentionDays": 2});
        operate(&service, "PUT", &path, body).await.data(200);
        let mut kept = Vec::new();
        for (user, name) in [(&ann, "ann"), (&bob, "bob")] {
            let doubles = service.deployed(user, &doubling()).await;
            service.ran(user, &doubles, &json!({})).await;
            kept.push((name, doubles));
        }
        service.app.clock.advance(Duration::from_secs(3 * 24 * 60 * 60));
        service.app.executions.clear_away().await.unwrap();
        for ((name, deployment), runs) in kept.into_iter().zip([0, 1]) {
            // The tokens of then have expired.
            let account = json!({"email": format!("{name}@example.com"), "password": "correct-horse"});
            let login = service.post("/api/auth/login").json(&account).send().await;
            let path = format!("/api/deployments/{deployment}/runs");
            let token = login.data(200)["token"].as_str().unwrap().to_owned();
            let listed = service.get(&path).bearer(&token).send().await;
            assert_eq!(listed.body["meta"]["total"], runs, "{listed}");
        }
    }
}

/// Takes requests and answers none until they are dropped.
pub(super) async fn slow() -> (tokio::net::TcpListener, Value) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let asks = chain(&[
        ("start", "OnManual", json!({})),
        ("get", "HttpRequest", json!({"url": url})),
    ]);
    (listener, asks)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_beyond_those_at_once_wait_and_others_do_not() {
    for database in BOTH {
        let service = Service::with(database, |config| {
            operated(config);
            config.egress = EgressPolicy::parse(["127.0.0.0/8"]).unwrap();
        });
        let service = service.await;
        let (ann, bob) = (service.user("ann").await, service.user("bob").await);
        limit(&service, &ann, json!({"runsAtOnce": 1})).await;
        let (listener, asks) = slow().await;
        let anns = service.deployed(&ann, &asks).await;
        let bobs = service.deployed(&bob, &asks).await;
        let first = service.started(&ann, &anns, &json!({})).await;
        let (executing, _) = listener.accept().await.unwrap();
        let second = service.started(&ann, &anns, &json!({})).await;
        // The other one's come by, and what they ask for is the next that comes.
        let others = [
            service.started(&bob, &bobs, &json!({})).await,
            service.started(&bob, &bobs, &json!({})).await,
        ];
        let (one, _) = listener.accept().await.unwrap();
        let (other, _) = listener.accept().await.unwrap();
        let phase = |run: &String| service.app.executions.phase_of(run.parse().unwrap());
        assert_eq!(phase(&second), Some(Phase::Queued));
        for run in [&first, &others[0], &others[1]] {
            assert_ne!(phase(run), Some(Phase::Queued));
        }
        drop(executing);
        let (next, _) = listener.accept().await.unwrap();
        drop((one, other, next, listener));
        for run in [&first, &second] {
            assert_eq!(service.ended(&ann, &anns, run).await["phase"], "ended");
        }
    }
}
