//! Quotas: so much one user may store and have made, whatever workspaces it is spread over, and however many ask at once.

use crate::harness::{Database, Reply, Service, User, chain};
use crate::sessions::{account, switched, workspace};
use heddle_api::config::Config;
use heddle_model::quota::Quota;
use heddle_service::auth::limits::RegistrationLimit;
use heddle_store::{quota, sql};
use serde_json::{Value, json};
use std::time::Duration;

const BOTH: [Database; 2] = [Database::Sqlite, Database::Postgres];

fn limited(quotas: &[(Quota, u64)]) -> impl FnOnce(&mut Config) + use<> {
    let quotas = quotas.to_vec();
    move |config| {
        for (quota, limit) in quotas {
            config.quotas.set(quota, limit);
        }
    }
}

async fn send(service: &Service, user: &User, method: &str, path: &str, body: Value) -> Reply {
    service
        .request(method, path)
        .bearer(&user.token)
        .json(&body)
        .send()
        .await
}

async fn post(service: &Service, user: &User, path: &str, body: Value) -> Reply {
    send(service, user, "POST", path, body).await
}

fn assert_exceeded(reply: &Reply, quota: Quota, limit: u64) {
    reply.assert_refused(403, "QUOTA_EXCEEDED");
    let message = reply.body["error"]["message"].as_str().unwrap();
    assert!(message.contains(quota.setting()), "{message}");
    assert!(message.contains(&limit.to_string()), "{message}");
}

/// As many as there may be, and one more.
async fn fills(
    service: &Service,
    user: &User,
    path: &str,
    body: impl Fn(u64) -> Value,
    quota: Quota,
    limit: u64,
) {
    for number in 0..limit {
        let reply = post(service, user, path, body(number)).await;
        assert_eq!(reply.status, 201, "{reply}");
    }
    assert_exceeded(&post(service, user, path, body(limit)).await, quota, limit);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_user_makes_is_counted() {
    for database in BOTH {
        let quotas = [
            (Quota::Patterns, 3),
            (Quota::Connections, 2),
            (Quota::ApiKeys, 2),
            (Quota::Versions, 3),
        ];
        let service = Service::with(database, limited(&quotas)).await;
        let (ann, bob) = (service.user("ann").await, service.user("bob").await);
        let named = |number: u64| json!({"name": format!("x{number}")});
        fills(&service, &ann, "/api/patterns", named, Quota::Patterns, 3).await;
        fills(&service, &ann, "/api/auth/api-keys", named, Quota::ApiKeys, 2).await;
        let key = |number: u64| json!({"provider": format!("p{number}"), "apiKey": "x"});
        fills(
            &service,
            &ann,
            "/api/connections/api-key",
            key,
            Quota::Connections,
            2,
        )
        .await;
        // What was refused is not there, and what is deleted makes room.
        let listed = service.get("/api/patterns").bearer(&ann.token).send().await;
        assert_eq!(listed.body["meta"]["total"], 3);
        let pattern = format!("/api/patterns/{}", listed.body["data"][0]["id"].as_str().unwrap());
        for _ in 0..2 {
            assert_eq!(send(&service, &ann, "PUT", &pattern, json!({})).await.status, 200);
        }
        assert_exceeded(
            &send(&service, &ann, "PUT", &pattern, json!({})).await,
            Quota::Versions,
            3,
        );
        assert_exceeded(
            &post(
                &service,
                &ann,
                &format!("{pattern}/rollback"),
                json!({"versionNumber": 1}),
            )
            .await,
            Quota::Versions,
            3,
        );
        assert_exceeded(
            &post(&service, &ann, &format!("{pattern}/clone"), json!({})).await,
            Quota::Patterns,
            3,
        );
        assert_eq!(
            service.delete(&pattern).bearer(&ann.token).send().await.status,
            204
        );
        assert_eq!(post(&service, &ann, "/api/patterns", named(4)).await.status, 201);
        // Others have their own.
        assert_eq!(post(&service, &bob, "/api/patterns", named(0)).await.status, 201);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workspaces_are_no_way_around() {
    for database in BOTH {
        let quotas = [
            (Quota::Workspaces, 3),
            (Quota::Environments, 5),
            (Quota::Secrets, 2),
            (Quota::Members, 5),
        ];
        let service = Service::with(database, limited(&quotas)).await;
        let ann = service.user("ann").await;
        let mut secrets = 0;
        for name in ["one", "two"] {
            let id = workspace(&service, &ann, name).await;
            let inside = switched(&service, &ann, &id).await;
            let environments = format!("/api/workspaces/{id}/environments");
            let made = post(&service, &inside, &environments, json!({"name": "staging"})).await;
            let staging = made.data(201)["id"].as_str().unwrap().to_owned();
            let secret = format!("{environments}/{staging}/secrets/A");
            let set =
                async |value: &str| send(&service, &inside, "PUT", &secret, json!({"value": value})).await;
            set("x").await.data(200);
            secrets += 1;
            // Another value of the same one takes no more room.
            set("y").await.data(200);
            if secrets == 2 {
                let other = format!("{environments}/{staging}/secrets/B");
                let refused = send(&service, &inside, "PUT", &other, json!({"value": "x"})).await;
                assert_exceeded(&refused, Quota::Secrets, 2);
                let refused = post(
                    &service,
                    &inside,
                    "/api/connections/api-key",
                    json!({"provider": "p", "apiKey": "x"}),
                )
                .await;
                assert_exceeded(&refused, Quota::Secrets, 2);
                let refused = post(&service, &inside, &environments, json!({"name": "more"})).await;
                assert_exceeded(&refused, Quota::Environments, 5);
            }
        }
        let refused = post(&service, &ann, "/api/workspaces", json!({"name": "four"})).await;
        assert_exceeded(&refused, Quota::Workspaces, 3);
        let members = format!("/api/workspaces/{}/members", service.workspace_of(&ann).await);
        let invite = async |name: &str| {
            post(
                &service,
                &ann,
                &members,
                json!({"email": format!("{name}@example.com"), "role": "viewer"}),
            )
            .await
        };
        for name in ["b", "c"] {
            invite(name).await.data(201);
        }
        assert_exceeded(&invite("d").await, Quota::Members, 5);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bytes_are_counted_over_all_versions() {
    for database in BOTH {
        let quotas = [
            (Quota::PatternBytes, 50_000),
            (Quota::SecretBytes, 3_000),
            (Quota::ConnectionBytes, 1_000),
        ];
        let service = Service::with(database, limited(&quotas)).await;
        let ann = service.user("ann").await;
        let made = post(&service, &ann, "/api/patterns", json!({"name": "x"})).await;
        let path = format!("/api/patterns/{}", made.body["id"].as_str().unwrap());
        let large = json!({"graphData": {"nodes": [], "edges": [], "note": "x".repeat(20_000)}});
        for _ in 0..2 {
            assert_eq!(
                send(&service, &ann, "PUT", &path, large.clone()).await.status,
                200
            );
        }
        assert_exceeded(
            &send(&service, &ann, "PUT", &path, large.clone()).await,
            Quota::PatternBytes,
            50_000,
        );
        assert_eq!(service.delete(&path).bearer(&ann.token).send().await.status, 204);
        assert_eq!(
            post(&service, &ann, "/api/patterns", json!({"name": "y"}))
                .await
                .status,
            201
        );

        let environments = format!(
            "/api/workspaces/{}/environments",
            service.workspace_of(&ann).await
        );
        let listed = service.get(&environments).bearer(&ann.token).send().await;
        let secrets = format!(
            "{environments}/{}/secrets",
            listed.data(200)[0]["id"].as_str().unwrap()
        );
        let set = async |name: &str| {
            send(
                &service,
                &ann,
                "PUT",
                &format!("{secrets}/{name}"),
                json!({"value": "x".repeat(1_400)}),
            )
            .await
        };
        set("A").await.data(200);
        set("B").await.data(200);
        assert_exceeded(&set("C").await, Quota::SecretBytes, 3_000);
        let key = json!({"provider": "p", "apiKey": "x".repeat(2_000)});
        assert_exceeded(
            &post(&service, &ann, "/api/connections/api-key", key).await,
            Quota::ConnectionBytes,
            1_000,
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_at_once_do_not_slip_through() {
    for database in BOTH {
        let service = Service::with(database, limited(&[(Quota::Workspaces, 4)])).await;
        let ann = service.user("ann").await;
        let made = (0..12).map(|number| {
            post(
                &service,
                &ann,
                "/api/workspaces",
                json!({"name": format!("w{number}")}),
            )
        });
        let mut statuses: Vec<u16> = futures_util::future::join_all(made)
            .await
            .iter()
            .map(|reply| reply.status)
            .collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [[201; 3].as_slice(), &[403; 9]].concat());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn modules_of_deployments_are_counted() {
    for database in BOTH {
        let service = Service::with(database, limited(&[(Quota::ModuleBytes, 1_000)])).await;
        let ann = service.user("ann").await;
        let pattern = service.drawn(&ann, &crate::harness::doubling()).await;
        let path = format!("/api/patterns/{pattern}/deploy");
        let refused = post(&service, &ann, &path, json!({"nodeDefinitions": {}})).await;
        assert_exceeded(&refused, Quota::ModuleBytes, 1_000);
        let deployment = service
            .get(&format!("/api/patterns/{pattern}/deployment"))
            .bearer(&ann.token);
        deployment.send().await.assert_refused(404, "NOT_FOUND");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn modules_are_measured_whenever_they_are_deployed() {
    for database in BOTH {
        let service = Service::start(database).await;
        let ann = service.user("ann").await;
        let measured = async || {
            let mut reader = service.app.store.reader().await.unwrap();
            let deployed = "select d.module_bytes, cast(octet_length(a.wasm) as bigint) from deployments d
                 join artifacts a on a.hash = d.artifact";
            let sealed = "select s.bytes, cast(octet_length(a.wasm) as bigint) from module_seals s
                 join artifacts a on a.hash = s.hash";
            let mut all: Vec<(i64, i64)> = reader.db().all(sql(deployed)).await.unwrap();
            let seals: Vec<(i64, i64)> = reader.db().all(sql(sealed)).await.unwrap();
            all.extend(seals);
            assert!(all.iter().all(|(noted, bytes)| noted == bytes), "{all:?}");
            all.len()
        };
        let pattern = service.drawn(&ann, &crate::harness::doubling()).await;
        service.deploy(&ann, &pattern).await;
        assert_eq!(measured().await, 2);
        let other = chain(&[
            ("start", "OnManual", json!({})),
            (
                "end",
                "Return",
                json!({"value": "a text that makes the module larger"}),
            ),
        ]);
        service.redrawn(&ann, &pattern, &other).await;
        service.deploy(&ann, &pattern).await;
        assert_eq!(measured().await, 3, "a deployment, and what was sealed before");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn modules_that_were_replaced_are_counted_for_as_long_as_they_are_kept() {
    for database in BOTH {
        let service = Service::start(database).await;
        let (ann, bob) = (service.user("ann").await, service.user("bob").await);
        let used = async |user: &User| {
            let mut reader = service.app.store.reader().await.unwrap();
            let user = user.id.parse().unwrap();
            quota::count(&mut reader.db(), Quota::ModuleBytes, user)
                .await
                .unwrap()
        };
        let pattern = service.drawn(&ann, &crate::harness::doubling()).await;
        service.deploy(&ann, &pattern).await;
        let first = used(&ann).await;
        service.deploy(&ann, &pattern).await;
        assert_eq!(
            (used(&ann).await, used(&bob).await),
            (first, 0),
            "it took the place of the same"
        );
        for value in [7, 8] {
            let other = chain(&[
                ("start", "OnManual", json!({})),
                ("end", "Return", json!({"value": value})),
            ]);
            let before = used(&ann).await;
            service.redrawn(&ann, &pattern, &other).await;
            service.deploy(&ann, &pattern).await;
            let after = used(&ann).await;
            assert!(before > 0 && after > before, "{before} {after}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_are_counted_however_small_they_are() {
    for database in BOTH {
        let service = Service::with(database, limited(&[(Quota::Files, 3)])).await;
        let ann = service.user("ann").await;
        let other = workspace(&service, &ann, "Other").await;
        let elsewhere = switched(&service, &ann, &other).await;
        let upload = async |user: &User| {
            let upload = service.post("/api/files").bearer(&user.token).body(vec![b'x']);
            upload.send().await
        };
        let first = upload(&ann).await;
        for user in [&ann, &elsewhere] {
            upload(user).await.data(201);
        }
        assert_exceeded(&upload(&elsewhere).await, Quota::Files, 3);
        upload(&service.user("bob").await).await.data(201);
        let id = first.data(201)["$file"].as_str().unwrap();
        let removed = service.delete(&format!("/api/files/{id}")).bearer(&ann.token);
        assert_eq!(removed.send().await.status, 204);
        service.app.clock.advance(Duration::from_secs(60));
        upload(&elsewhere).await.data(201);
        assert_exceeded(&upload(&ann).await, Quota::Files, 3);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_all_workspaces_are_counted_also_while_they_are_stored() {
    for database in BOTH {
        let service = Service::with(database, limited(&[(Quota::FileBytes, 1_000_000)])).await;
        let ann = service.user("ann").await;
        let other = workspace(&service, &ann, "Other").await;
        let elsewhere = switched(&service, &ann, &other).await;
        let upload = async |user: &User, bytes: usize| {
            let content: Vec<u8> = (0..bytes).map(|_| fastrand::u8(..)).collect();
            let upload = service.post("/api/files").bearer(&user.token).body(content);
            upload.send().await
        };
        let first = upload(&ann, 400_000).await;
        assert_exceeded(&upload(&elsewhere, 700_000).await, Quota::FileBytes, 1_000_000);
        // What was refused counts no more.
        upload(&elsewhere, 500_000).await.data(201);
        assert_exceeded(&upload(&ann, 200_000).await, Quota::FileBytes, 1_000_000);
        let many = (0..8).map(|_| upload(&ann, 40_000));
        let many = futures_util::future::join_all(many).await;
        let stored = many.iter().filter(|reply| reply.status == 201).count();
        assert_eq!(stored, 2, "of 100,000 bytes that are left");
        let bob = service.user("bob").await;
        upload(&bob, 900_000).await.data(201);

        let id = first.data(201)["$file"].as_str().unwrap();
        let removed = service.delete(&format!("/api/files/{id}")).bearer(&ann.token);
        assert_eq!(removed.send().await.status, 204);
        // It counts until what is there is measured again.
        service.app.clock.advance(Duration::from_secs(60));
        upload(&ann, 300_000).await.data(201);
    }
}

/// A pattern that so many things start, each of its own name.
fn started_by(kind: &str, parameters: &Value, names: &[&str]) -> Value {
    let nodes: Vec<Value> = names
        .iter()
        .map(|name| json!({"id": name, "type": kind, "data": {"parameters": parameters}}))
        .collect();
    json!({"nodes": nodes, "edges": []})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webhooks_count_over_the_life_of_a_pattern() {
    for database in BOTH {
        let service = Service::with(database, limited(&[(Quota::Endpoints, 2)])).await;
        let ann = service.user("ann").await;
        let hooks = |names: &[&str]| started_by("OnWebhook", &json!({"scheme": "heddle"}), names);
        let pattern = service.drawn(&ann, &hooks(&["a", "b"])).await;
        let path = format!("/api/patterns/{pattern}");
        let save = async |names: &[&str]| {
            send(&service, &ann, "PUT", &path, json!({"graphData": hooks(names)})).await
        };
        assert_exceeded(&save(&["a", "b", "c"]).await, Quota::Endpoints, 2);
        // One that went may come back, and does not make room for another.
        assert_eq!(save(&["a"]).await.status, 200);
        assert_exceeded(&save(&["a", "c"]).await, Quota::Endpoints, 2);
        assert_eq!(save(&["a", "b"]).await.status, 200);
        // A clone has a life of its own.
        let cloned = post(&service, &ann, &format!("{path}/clone"), json!({})).await;
        assert_eq!(cloned.status, 201, "{cloned}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedules_of_a_user_are_counted_when_they_are_deployed() {
    for database in BOTH {
        let service = Service::with(database, limited(&[(Quota::Schedules, 2)])).await;
        let (ann, bob) = (service.user("ann").await, service.user("bob").await);
        let clocks = |names: &[&str]| started_by("OnSchedule", &json!({"cron": "0 9 * * *"}), names);
        let deployment = service.deployed(&ann, &clocks(&["a", "b"])).await;
        let another = service.drawn(&ann, &clocks(&["c"])).await;
        let path = format!("/api/patterns/{another}/deploy");
        let refused = post(&service, &ann, &path, json!({"nodeDefinitions": {}})).await;
        assert_exceeded(&refused, Quota::Schedules, 2);
        service.deployed(&bob, &clocks(&["c"])).await;
        let deleted = service.delete(&format!("/api/deployments/{deployment}"));
        assert_eq!(deleted.bearer(&ann.token).send().await.status, 200);
        service.deploy(&ann, &another).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_and_registrations_have_a_rate() {
    let service = Service::with(Database::Sqlite, |config| {
        config.write_rate_limit = 5;
        config.registration_limit = RegistrationLimit { per_ip: 2, in_all: 3 };
        config.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    })
    .await;
    let register = async |name: &str, ip: &str| {
        let request = service.post("/api/auth/register").header("x-forwarded-for", ip);
        request
            .json(&account(&format!("{name}@example.com")))
            .send()
            .await
    };
    let ann = register("ann", "192.0.2.1").await;
    let ann = User {
        id: ann.data(201)["user"]["id"].as_str().unwrap().to_owned(),
        token: ann.data(201)["token"].as_str().unwrap().to_owned(),
    };
    register("bob", "192.0.2.1").await.data(201);
    let refused = register("carl", "192.0.2.1").await;
    refused.assert_refused(429, "RATE_LIMITED");
    assert_eq!(refused.headers["retry-after"], "1801");
    register("carl", "192.0.2.2").await.data(201);
    register("dora", "192.0.2.3")
        .await
        .assert_refused(429, "RATE_LIMITED");
    service.app.clock.advance(Duration::from_secs(60 * 60));
    register("dora", "192.0.2.1").await.data(201);

    for _ in 0..5 {
        assert_eq!(
            post(&service, &ann, "/api/patterns", json!({"name": "x"}))
                .await
                .status,
            201
        );
    }
    let refused = post(&service, &ann, "/api/patterns", json!({"name": "x"})).await;
    refused.assert_refused(429, "RATE_LIMITED");
    assert_eq!(refused.headers["retry-after"], "13");
    let listed = service.get("/api/patterns").bearer(&ann.token).send().await;
    assert_eq!(listed.body["meta"]["total"], 5);
    service.app.clock.advance(Duration::from_secs(13));
    assert_eq!(
        post(&service, &ann, "/api/patterns", json!({"name": "x"}))
            .await
            .status,
        201
    );
}
