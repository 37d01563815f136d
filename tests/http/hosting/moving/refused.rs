//! What is not exported or imported, and that nothing is left of it; and copies beside the original.

use super::{Archive, PASSPHRASE, exported, imported, line_of, member_of, put, set_suspended};
use crate::flow::waits::parked;
use crate::harness::{Database, Service, User, chain, doubling};
use crate::hosting::{BOTH, ask, number, operate, operated};
use crate::webhooks::fixture::{Hook, graph, returns, sign};
use heddle_runtime::EgressPolicy;
use heddle_service::archives;
use serde_json::{Value, json};
use std::time::Duration;

/// A workspace with some patterns and runs, suspended, and its archive.
async fn prepared(service: &Service) -> (User, String, Archive) {
    let ann = service.user("ann").await;
    let workspace = service.workspace_of(&ann).await.to_string();
    let doubles = service.deployed(&ann, &doubling()).await;
    service.ran(&ann, &doubles, &json!({"n": 2})).await;
    set_suspended(service, &workspace, true).await;
    let archive = exported(service, &workspace).await;
    (ann, workspace, archive)
}

/// Rows that a workspace has in a table.
async fn rows(service: &Service, table: &str, workspace: &str) -> i64 {
    number(
        service,
        format!("select count(*) from {table} where workspace_id = ?"),
        workspace,
    )
    .await
}

/// An archive that somebody has made, of ann's.
fn assembled(workspace: &str, parts: &[(&str, Vec<String>)]) -> Archive {
    let archive = archives::assembled(workspace.parse().unwrap(), "ann@example.com", PASSPHRASE, parts);
    Archive::read(&archive.unwrap())
}

async fn assert_gone(service: &Service, workspace: &str) {
    let found = ask(service, "GET", &format!("/workspaces/{workspace}"))
        .send()
        .await;
    found.assert_refused(404, "WORKSPACE_NOT_FOUND");
    for table in [
        "patterns",
        "deployments",
        "imports",
        "imported_names",
        "environments",
    ] {
        assert_eq!(rows(service, table, workspace).await, 0, "{table}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_what_stands_still_is_exported() {
    let service = Service::with(Database::Sqlite, operated).await;
    let ann = service.user("ann").await;
    let workspace = service.workspace_of(&ann).await.to_string();
    let path = format!("/workspaces/{workspace}/export");
    let active = operate(&service, "POST", &path, json!({"passphrase": PASSPHRASE})).await;
    active.assert_refused(409, "CONFLICT");
    let short = operate(&service, "POST", &path, json!({"passphrase": "short"})).await;
    assert_eq!(short.wrong_fields(), ["passphrase"]);
    // A request that takes its time: the run executes while the workspace is suspended.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let asks = chain(&[
        ("start", "OnManual", json!({})),
        ("get", "HttpRequest", json!({"url": url})),
    ]);
    let slow = Service::with(Database::Sqlite, |config| {
        operated(config);
        config.egress = EgressPolicy::parse(["127.0.0.0/8"]).unwrap();
    });
    let slow = slow.await;
    let eve = slow.user("eve").await;
    let workspace = slow.workspace_of(&eve).await.to_string();
    let deployment = slow.deployed(&eve, &asks).await;
    let run = slow.started(&eve, &deployment, &json!({})).await;
    let (request, _) = listener.accept().await.unwrap();
    set_suspended(&slow, &workspace, true).await;
    let path = format!("/workspaces/{workspace}/export");
    let executing = operate(&slow, "POST", &path, json!({"passphrase": PASSPHRASE})).await;
    executing.assert_refused(409, "CONFLICT");
    assert!(
        executing.text.contains("1 of the workspace's runs"),
        "{executing}"
    );
    drop((request, listener));
    slow.ended(&eve, &deployment, &run).await;
    exported(&slow, &workspace).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_archive_needs_its_passphrase_and_an_owner() {
    let service = Service::with(Database::Sqlite, operated).await;
    let (_, _, archive) = prepared(&service).await;
    let text = format!("{}{:?}", archive.manifest, archive.parts);
    assert!(!text.contains(PASSPHRASE));
    let target = Service::with(Database::Sqlite, operated).await;
    let begin = async |body: Value| operate(&target, "POST", "/imports", body).await;
    let wrong =
        begin(json!({"manifest": archive.manifest, "passphrase": "another of many characters"})).await;
    assert_eq!(wrong.wrong_fields(), ["passphrase"]);
    let nobody = begin(archive.begin(json!({}))).await;
    assert_eq!(nobody.wrong_fields(), ["owner"]);
    let nobody = begin(archive.begin(json!({"owner": "bob@example.com"}))).await;
    assert_eq!(nobody.wrong_fields(), ["owner"]);
    let newer = json!({"version": 2});
    let mut manifest = archive.manifest.clone();
    manifest["version"] = newer["version"].clone();
    let newer = begin(json!({"manifest": manifest, "passphrase": PASSPHRASE})).await;
    newer.assert_refused(400, "VALIDATION");
    let values: Vec<&Value> = archive.manifest.as_object().unwrap().values().collect();
    let values = begin(json!({"manifest": values, "passphrase": PASSPHRASE})).await;
    assert_eq!(values.wrong_fields(), ["manifest"], "{values}");
    // Bob gets what was ann's, who is invited.
    let bob = target.user("bob").await;
    let told = imported(&target, &archive, json!({"owner": "bob@example.com"})).await;
    assert_eq!(told["invited"], json!(["ann@example.com"]), "{told}");
    let workspace = told["workspaceId"].as_str().unwrap();
    let bob = member_of(&target, &bob, workspace).await;
    let members = target
        .get(&format!("/api/workspaces/{workspace}/members"))
        .bearer(&bob.token)
        .send()
        .await;
    assert_eq!(members.data(200).as_array().unwrap().len(), 1, "{members}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_is_wrong_ends_an_import_and_leaves_nothing() {
    for database in BOTH {
        let source = Service::with(database, operated).await;
        let (_, workspace, archive) = prepared(&source).await;
        let target = Service::with(database, operated).await;
        target.user("ann").await;
        let before = number(
            &target,
            "select count(*) from workspaces where id <> ?".to_owned(),
            "",
        )
        .await;
        let changed = |index: usize, change: &dyn Fn(&mut Vec<u8>)| {
            let mut part = archive.parts[index].clone();
            change(&mut part);
            part
        };
        let last = archive.parts.len() - 1;
        // Parts in another order, of another archive, or with a line that says something else.
        for (index, part) in [
            (0, archive.parts[1].clone()),
            (1, archive.parts[0].clone()),
            (2, changed(2, &|part| part.truncate(part.len() - 1))),
            (last, changed(last, &|part| part[2] ^= 1)),
            (3, b"no part at all".to_vec()),
            (3, Vec::new()),
        ] {
            operate(&target, "POST", "/imports", archive.begin(json!({})))
                .await
                .data(201);
            for (number, part) in archive.parts[..index].iter().enumerate() {
                put(&target, &workspace, number + 1, part).await.data(200);
            }
            let refused = put(&target, &workspace, index + 1, &part).await;
            refused.assert_refused(400, "VALIDATION");
            assert_gone(&target, &workspace).await;
        }
        // What was damaged on its way can be sent again, and what is ahead waits.
        operate(&target, "POST", "/imports", archive.begin(json!({})))
            .await
            .data(201);
        let damaged = changed(0, &|part| *part.last_mut().unwrap() ^= 1);
        put(&target, &workspace, 1, &damaged)
            .await
            .assert_refused(409, "CONFLICT");
        put(&target, &workspace, 2, &archive.parts[1])
            .await
            .assert_refused(409, "CONFLICT");
        put(&target, &workspace, 1, &archive.parts[0]).await.data(200);
        // Nothing of it is anybody's, and it can't be let go on.
        let path = format!("/workspaces/{workspace}/resume");
        ask(&target, "POST", &path)
            .send()
            .await
            .assert_refused(409, "CONFLICT");
        assert_eq!(rows(&target, "memberships", &workspace).await, 0);
        let path = format!("/workspaces/{workspace}");
        ask(&target, "DELETE", &path).send().await.data(200);
        assert_gone(&target, &workspace).await;
        // An import that nobody goes on with is given up.
        operate(&target, "POST", "/imports", archive.begin(json!({})))
            .await
            .data(201);
        put(&target, &workspace, 1, &archive.parts[0]).await.data(200);
        target.app.clock.advance(Duration::from_secs(59 * 60));
        target.app.executions.clear_away().await.unwrap();
        ask(&target, "GET", &path).send().await.data(200);
        target.app.clock.advance(Duration::from_secs(2 * 60));
        target.app.executions.clear_away().await.unwrap();
        assert_gone(&target, &workspace).await;
        let after = number(
            &target,
            "select count(*) from workspaces where id <> ?".to_owned(),
            "",
        )
        .await;
        assert_eq!(before, after);
    }
}

/// Rows that nobody's heddle writes, in a part that is sealed as it should be.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_that_reach_for_others_are_refused() {
    for database in BOTH {
        let target = Service::with(database, operated).await;
        let (ann, bob) = (target.user("ann").await, target.user("bob").await);
        let hook = Hook::saved_by(&target, bob.clone(), graph(json!({}), &[returns("{{ 1 }}")])).await;
        let deployment = hook.deploy().await;
        let bobs = target.workspace_of(&bob).await.to_string();
        let environments = format!("/api/workspaces/{bobs}/environments");
        let environments = target.get(&environments).bearer(&bob.token).send().await;
        let environment = environments.data(200)[0]["id"].as_str().unwrap().to_owned();
        let at = 1_700_000_000_000_i64;
        let new = || heddle_model::ids::PatternId::new().to_string();
        let schedule = json!({
            "id": new(), "deployment_id": deployment, "node_id": "x", "cron": "* * * * *", "timezone": "UTC",
            "catch_up": "none", "set_cron": null, "set_timezone": null, "next_due_at": 1, "held_due_at": null,
        });
        let secret = json!({
            "environment_id": environment, "name": "STOLEN", "connection_id": null, "created_at": at, "updated_at": at,
            "hosts": "[]", "$secret": "x",
        });
        let past = json!({"environment_id": environment, "since": 0, "until": at, "variables": "{}"});
        let tag = json!({"pattern_id": hook.pattern, "tag": "x"});
        let key = json!({"scope": hook.endpoint, "key": "x", "run_id": new(), "expires_at": at});
        let value = json!({
            "key": "x", "value": "1", "expires_at": null, "pattern_id": hook.pattern, "owner_id": ann.id,
        });
        let test_ = json!({
            "id": "not an id", "pattern_id": hook.pattern, "name": "x", "created_at": at, "updated_at": at,
            "stored_bytes": 1, "last_status": null, "last_at": null, "last_version": null, "content": "{}",
        });
        let own =
            json!({"id": new(), "workspace_id": bobs, "name": "mine", "variables": "{", "created_at": at});
        for (of, row) in [
            ("schedules", schedule),
            ("secrets", secret),
            ("past_variables", past),
            ("pattern_tags", tag),
            ("keys_of_webhooks", key),
            ("values_of_patterns", value),
            ("pattern_tests", test_),
            ("environments", own),
            ("callbacks", json!({"run": new(), "key": "0".repeat(64)})),
            ("users", json!({"id": new()})),
            (
                "journal_entries",
                json!({"run_id": new(), "key": "x", "number": null, "entry": "{}"}),
            ),
        ] {
            let workspace = new();
            let archive = assembled(&workspace, &[(of, vec![row.to_string()])]);
            operate(&target, "POST", "/imports", archive.begin(json!({})))
                .await
                .data(201);
            let refused = put(&target, &workspace, 1, &archive.parts[0]).await;
            refused.assert_refused(400, "VALIDATION");
            assert_gone(&target, &workspace).await;
        }
        assert_eq!(hook.signed("{}").send().await.status, 202);
        // What names somebody else's, and may be gone, is gone here: nothing leads there.
        let workspace = new();
        let pattern = new();
        let stolen = json!({
            "id": new(), "pattern_id": pattern, "slot": "", "pattern_name": "x", "user_id": bob.id, "workspace_id": bobs,
            "environment_id": environment, "status": "active", "version_number": 1, "artifact": "0".repeat(64),
            "triggers": "[]", "error_message": null, "confirmed_at": at, "created_at": at, "updated_at": at,
            "strikes": 0, "suspended": false,
        });
        let parts = [("deployments", vec![stolen.to_string()])];
        let archive = assembled(&workspace, &parts);
        imported(&target, &archive, json!({})).await;
        let found =
            "select count(*) from deployments where status = 'paused' and suspended and workspace_id = ?";
        assert_eq!(number(&target, found.to_owned(), &workspace).await, 1);
        let leads = "select count(*) from deployments where environment_id = ?";
        assert_eq!(number(&target, leads.to_owned(), &environment).await, 1);
    }
}

/// Beside its original, a workspace is a copy: other ids and addresses, and what waited is not done twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn beside_the_original_it_is_a_copy() {
    for database in BOTH {
        let service = Service::with(database, operated).await;
        let ann = service.user("ann").await;
        let workspace = service.workspace_of(&ann).await.to_string();
        let called = chain(&[
            ("call", "OnCall", json!({})),
            ("end", "Return", json!({"value": "{{ $input.n + 1 }}"})),
        ]);
        let called = service.drawn(&ann, &called).await;
        service.deploy(&ann, &called).await;
        let calls = graph(
            json!({}),
            &[
                json!({"id": "call", "type": "CallPattern", "data": {"parameters": {"patternId": called, "inputs": {"n": 1}}}}),
                returns("{{ $input }}"),
            ],
        );
        let hook = Hook::saved_by(&service, ann.clone(), calls).await;
        hook.deploy().await;
        let waits = chain(&[
            ("start", "OnManual", json!({})),
            ("ask", "WaitForCallback", json!({})),
        ]);
        let waits = service.deployed(&ann, &waits).await;
        let run = service.started(&ann, &waits, &json!({})).await;
        parked(&service, &ann, &waits, &run).await;
        set_suspended(&service, &workspace, true).await;
        let archive = exported(&service, &workspace).await;
        let told = imported(&service, &archive, json!({})).await;
        assert_eq!(
            (&told["keepsIds"], &told["endedRuns"]),
            (&json!(false), &json!(1)),
            "{told}"
        );
        let copy = told["workspaceId"].as_str().unwrap().to_owned();
        assert_ne!(copy, workspace);
        let changed = told["changedAddresses"].as_array().unwrap();
        assert_eq!(
            (changed.len(), &changed[0]["from"]),
            (1, &json!(hook.webhook)),
            "{told}"
        );
        set_suspended(&service, &copy, false).await;
        let owner = member_of(&service, &ann, &copy).await;
        let patterns = service.get("/api/patterns").bearer(&owner.token).send().await;
        // It names the pattern that was copied with it.
        let copied: Vec<&str> = patterns.text.matches(&called).collect();
        assert!(copied.is_empty(), "{patterns}");
        let deployments = service.get("/api/deployments").bearer(&owner.token).send().await;
        let deployments = deployments.body["data"].as_array().unwrap().clone();
        assert_eq!(deployments.len(), 3);
        let failed = deployments.iter().find(|it| it["status"] == "failed").unwrap();
        assert_eq!(
            deployments.iter().filter(|it| it["status"] == "active").count(),
            2
        );
        // What calls others by their ids is deployed again, and then does.
        service
            .deploy(&owner, failed["patternId"].as_str().unwrap())
            .await;
        let body = r#"{"n":1}"#;
        let sent = service
            .post(&format!(
                "/webhooks/{}?wait=true",
                changed[0]["to"].as_str().unwrap()
            ))
            .header("content-type", "application/json")
            .header("x-webhook-signature", &sign(&hook.secret, body))
            .body(body.to_owned())
            .send()
            .await;
        assert!(sent.status < 300, "{sent}");
        // The original waits as before.
        set_suspended(&service, &workspace, false).await;
        assert_eq!(service.run(&ann, &waits, &run).await["phase"], "waiting");
        let usage = format!("/workspaces/{copy}/usage");
        let usage = ask(&service, "GET", &usage).send().await;
        let runs = usage.body["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["runs"].as_i64().unwrap());
        assert!(runs.sum::<i64>() <= 2, "{usage}");
        let (head, _) = line_of(&archive.parts[0]);
        assert_eq!(head["of"], "people");
    }
}

/// A further deployment keeps values of its own, also under keys that the main one has.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_each_environment_keeps_stays_apart() {
    for database in BOTH {
        let service = Service::with(database, operated).await;
        let ann = service.user("ann").await;
        let workspace = service.workspace_of(&ann).await.to_string();
        let environments = format!("/api/workspaces/{workspace}/environments");
        let staging = service.post(&environments).bearer(&ann.token);
        let staging = staging.json(&json!({"name": "staging"})).send().await;
        let staging = staging.data(201)["id"].clone();
        let counts = chain(&[
            ("start", "OnManual", json!({})),
            (
                "count",
                "KeyValue",
                json!({"operation": "increment", "key": "count"}),
            ),
        ]);
        let pattern = service.drawn(&ann, &counts).await;
        let production = service.deploy(&ann, &pattern).await;
        let deploy = service
            .post(&format!("/api/patterns/{pattern}/deploy"))
            .bearer(&ann.token)
            .json(&json!({"nodeDefinitions": {}, "environmentId": staging, "move": false}));
        let staging = deploy.send().await.data(200)["deploymentId"].clone();
        let staging = staging.as_str().unwrap();
        for deployment in [&*production, staging, staging] {
            service.ran(&ann, deployment, &json!({})).await;
        }
        assert_eq!(counted(&service, &ann, &workspace).await, [1, 2]);
        set_suspended(&service, &workspace, true).await;
        let archive = exported(&service, &workspace).await;
        let told = imported(&service, &archive, json!({})).await;
        let copy = told["workspaceId"].as_str().unwrap();
        set_suspended(&service, copy, false).await;
        let owner = member_of(&service, &ann, copy).await;
        assert_eq!(counted(&service, &owner, copy).await, [1, 2]);
    }
}

/// What is kept of each of a workspace's deployments as its count.
async fn counted(service: &Service, owner: &User, workspace: &str) -> Vec<Value> {
    let deployments = service.get("/api/deployments").bearer(&owner.token).send().await;
    let mut counted = Vec::new();
    for deployment in deployments.body["data"].as_array().unwrap() {
        let id = |name: &str| deployment[name].as_str().unwrap().to_owned();
        let path = format!(
            "/api/workspaces/{workspace}/key-values/count?patternId={}&environmentId={}",
            id("patternId"),
            id("environmentId")
        );
        let kept = service.get(&path).bearer(&owner.token).send().await;
        counted.push(kept.data(200)["value"].clone());
    }
    counted.sort_by_key(Value::as_i64);
    counted
}
