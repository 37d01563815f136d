//! Transpile and run.

use crate::harness::{Database, Reply, Service, User, chain, doubling, each_database, endless};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use heddle_model::access::WorkspaceRole;
use serde_json::{Value, json};
use std::time::Duration;

async fn transpile(service: &Service, user: &User, body: &Value) -> Reply {
    service
        .post("/api/execute/transpile")
        .bearer(&user.token)
        .json(body)
        .send()
        .await
}

async fn run(service: &Service, user: &User, body: &Value) -> Reply {
    service
        .post("/api/execute/run")
        .bearer(&user.token)
        .json(body)
        .send()
        .await
}

/// Transpiles and runs.
async fn tested(service: &Service, user: &User, body: &Value, event: &Value) -> Reply {
    let transpiled = transpile(service, user, body).await;
    assert_eq!(transpiled.status, 200, "{transpiled}");
    run(
        service,
        user,
        &json!({"code": transpiled.body["code"], "eventData": event}),
    )
    .await
}

each_database! {
    async fn a_graph_is_transpiled_and_run(service: Service) {
        let ann = service.user("ann").await;
        let transpiled = transpile(&service, &ann, &json!({"graphData": doubling(), "nodeDefinitions": {}})).await;
        assert_eq!(transpiled.status, 200, "{transpiled}");
        assert_eq!((&transpiled.body["success"], &transpiled.body["warnings"]), (&json!(true), &json!([])));
        assert_eq!(transpiled.body["runId"].as_str().unwrap().len(), 36);
        let wasm = STANDARD.decode(transpiled.body["code"].as_str().unwrap()).unwrap();
        assert!(wasm.starts_with(b"\0asm"));
        let done = run(&service, &ann, &json!({"code": transpiled.body["code"], "eventData": {"n": 4}})).await;
        assert_eq!(done.status, 200, "{done}");
        assert_eq!(done.body, json!({
            "status": "completed", "logs": [{"level": "info", "message": "got 4", "nodeId": "note"}],
            "output": {"double": 8}, "error": null, "durationMs": done.body["durationMs"],
            "fuelUsed": done.body["fuelUsed"],
        }));
        let failed = run(&service, &ann, &json!({"code": transpiled.body["code"], "eventData": {"fail": true}})).await;
        assert_eq!((&failed.body["status"], &failed.body["error"]["code"]), (&json!("failed"), &json!("UNLUCKY")));
    }

    async fn pins_breakpoints_and_traces_are_compiled_in(service: Service) {
        let ann = service.user("ann").await;
        let graph = doubling();
        let body = json!({
            "graphData": graph, "nodeDefinitions": {}, "trace": true, "breakpoints": ["done"],
            "pinnedNodes": {"note": {"n": 10}},
        });
        let paused = tested(&service, &ann, &body, &json!({"n": 1})).await;
        assert_eq!(paused.body["status"], "paused", "{paused}");
        assert_eq!(paused.body["breakpoint"], json!({"nodeId": "done", "input": {"n": 10}}));
        assert_eq!(paused.body["logs"], json!([]));
        let nodes: Vec<&Value> = paused.body["trace"].as_array().unwrap().iter().map(|entry| &entry["nodeId"]).collect();
        assert_eq!(nodes, ["start", "note", "check"]);
        let body = json!({"graphData": graph, "nodeDefinitions": {}, "pinnedNodes": paused.body["pinnedNodes"]});
        let done = tested(&service, &ann, &body, &json!({"n": 1})).await;
        assert_eq!((&done.body["status"], &done.body["output"]), (&json!("completed"), &json!({"double": 20})), "{done}");
    }

    async fn graphs_that_are_not_valid_are_told_by_node(service: Service) {
        let ann = service.user("ann").await;
        let odd = chain(&[("go", "OnManual", json!({})), ("odd", "Nonsense", json!({}))]);
        let refused = transpile(&service, &ann, &json!({"graphData": odd, "nodeDefinitions": {}})).await;
        assert_eq!(refused.status, 422, "{refused}");
        assert_eq!((&refused.body["success"], &refused.body["warnings"]), (&json!(false), &json!([])));
        assert_eq!(refused.body["errors"][0]["nodeId"], "odd");
        for wrong in [json!({"pinnedNodes": {"ghost": 1}}), json!({"breakpoints": ["ghost"]}), json!({"nodeDefinitions": {"X": {"kind": "magic"}}})] {
            let mut body = json!({"graphData": doubling(), "nodeDefinitions": {}});
            body.as_object_mut().unwrap().extend(wrong.as_object().unwrap().clone());
            let refused = transpile(&service, &ann, &body).await;
            assert_eq!(refused.status, 422, "{wrong}: {refused}");
        }
        for (wrong, field) in [
            (json!({"nodeDefinitions": {}}), "graphData"),
            (json!({"graphData": {}}), "nodeDefinitions"),
            (json!({"graphData": 1, "nodeDefinitions": {}}), "graphData"),
            (json!({"graphData": {}, "nodeDefinitions": {}, "breakpoints": 3}), "breakpoints"),
        ] {
            let refused = transpile(&service, &ann, &wrong).await;
            assert_eq!((refused.status, refused.code()), (400, "VALIDATION"), "{wrong}: {refused}");
            assert!(refused.body["error"]["details"][0]["path"].as_str().unwrap().starts_with(field), "{refused}");
        }
    }

    async fn a_run_may_begin_at_any_trigger_as_somewhere_and_some_time_else(service: Service) {
        let ann = service.user("ann").await;
        let value = "{{ ({from: $nodes[\"hook\"]?.n ?? null, at: $run.startedAt, id: $uuid(), region: $vars.REGION}) }}";
        let graph = json!({"nodes": [
            {"id": "start", "type": "OnManual"}, {"id": "hook", "type": "OnWebhook"},
            {"id": "end", "type": "Return", "data": {"parameters": {"value": value}}},
        ], "edges": [{"source": "start", "target": "end"}, {"source": "hook", "target": "end"}]});
        let environments = format!("/api/workspaces/{}/environments", service.workspace_of(&ann).await);
        let staging = service.post(&environments).bearer(&ann.token).json(&json!({"name": "staging"})).send().await;
        let staging = staging.data(201)["id"].as_str().unwrap().to_owned();
        let variables = service.put(&format!("{environments}/{staging}/variables")).bearer(&ann.token);
        assert_eq!(variables.json(&json!({"REGION": "eu"})).send().await.status, 200);
        let transpiled = transpile(&service, &ann, &json!({"graphData": graph, "nodeDefinitions": {}})).await;
        assert_eq!(transpiled.status, 200, "{transpiled}");
        let wished = |wishes: Value| {
            let mut body = json!({"code": transpiled.body["code"], "eventData": {"n": 4}});
            body.as_object_mut().unwrap().extend(wishes.as_object().unwrap().clone());
            body
        };
        let wishes = json!({
            "triggerNodeId": "hook", "environmentId": staging, "seed": 7, "startedAt": "2020-02-29T12:00:00Z",
        });
        let once = run(&service, &ann, &wished(wishes.clone())).await;
        let output = &once.body["output"];
        assert_eq!((&output["from"], &output["region"]), (&json!(4), &json!("eu")), "{once}");
        assert_eq!(output["at"], "2020-02-29T12:00:00.000Z");
        assert_eq!(&run(&service, &ann, &wished(wishes)).await.body["output"], output, "the same seed");
        let usual = run(&service, &ann, &wished(json!({}))).await;
        assert_eq!((&usual.body["output"]["from"], &usual.body["output"]["region"]), (&Value::Null, &Value::Null), "{usual}");
        assert_ne!(usual.body["output"]["id"], output["id"]);
        let bob = service.user("bob").await;
        for (user, wrong, field) in [
            (&ann, json!({"triggerNodeId": "end"}), "triggerNodeId"),
            (&ann, json!({"environmentId": "x"}), "environmentId"),
            (&bob, json!({"environmentId": staging}), "environmentId"),
            (&ann, json!({"seed": -1}), "seed"),
            (&ann, json!({"startedAt": "yesterday"}), "startedAt"),
            (&ann, json!({"startedAt": "1969-12-31T23:59:59Z"}), "startedAt"),
        ] {
            let refused = run(&service, user, &wished(wrong)).await;
            assert_eq!((refused.status, refused.code()), (400, "VALIDATION"), "{field}: {refused}");
            assert_eq!(refused.body["error"]["details"][0]["path"], field, "{refused}");
        }
    }

    async fn a_trace_that_grows_too_large_loses_values_and_not_the_run(service: Service) {
        let ann = service.user("ann").await;
        let graph = json!({"nodes": [
            {"id": "start", "type": "OnManual"},
            {"id": "each", "type": "ForEach", "data": {"parameters": {"items": "{{ $input.items }}"}}},
            {"id": "text", "type": "Transform", "data": {"parameters": {"value": "{{ ({text: 'x'.repeat(15000)}) }}"}}},
            {"id": "end", "type": "Return", "data": {"parameters": {"value": "{{ $input.length }}"}}},
        ], "edges": [
            {"source": "start", "target": "each"},
            {"source": "each", "sourceHandle": "item", "target": "text"},
            {"source": "text", "target": "each", "targetHandle": "next"},
            {"source": "each", "sourceHandle": "done", "target": "end"},
        ]});
        let body = json!({"graphData": graph, "nodeDefinitions": {}, "trace": true});
        let items: Vec<u32> = (0..600).collect();
        let done = tested(&service, &ann, &body, &json!({"items": items})).await;
        assert_eq!((&done.body["status"], &done.body["output"]), (&json!("completed"), &json!(600)), "{}", done.body["error"]);
        let texts: Vec<&Value> = done.body["trace"].as_array().unwrap().iter().filter(|entry| entry["nodeId"] == "text").collect();
        assert_eq!(texts.len(), 600);
        assert_eq!(texts[0]["output"]["text"].as_str().map(str::len), Some(15_000));
        assert_eq!(texts[599]["output"], json!({"truncated": true, "bytes": 15_011}));
        assert!(done.body.get("traceOmitted").is_none());
    }

    async fn hostile_modules_are_refused(service: Service) {
        let ann = service.user("ann").await;
        let foreign = wat::parse_str(r#"(module (import "wasi_snapshot_preview1" "proc_exit" (func (param i32))) (func (export "run") (param i32)))"#).unwrap();
        let starting = wat::parse_str("(module (func $f) (start $f))").unwrap();
        for code in ["***".to_owned(), STANDARD.encode("not wasm"), STANDARD.encode(foreign), STANDARD.encode(starting), String::new()] {
            let refused = run(&service, &ann, &json!({"code": code})).await;
            assert_eq!((refused.status, refused.code()), (400, "VALIDATION"), "{refused}");
            assert_eq!(refused.body["error"]["details"][0]["path"], "code");
        }
        assert_eq!(run(&service, &ann, &json!({})).await.body["error"]["details"][0]["path"], "code");
        let viewer = service.member(&ann, "vic", WorkspaceRole::Viewer).await;
        assert_eq!(run(&service, &viewer, &json!({"code": ""})).await.status, 403);
        assert_eq!(service.post("/api/execute/run").json(&json!({"code": ""})).send().await.status, 401);
    }
}

async fn what_takes_too_long_is_stopped(database: Database) {
    let service = Service::with(database, |config| {
        config.test_timeout = Duration::from_millis(300)
    })
    .await;
    let ann = service.user("ann").await;
    let body = json!({"graphData": endless(), "nodeDefinitions": {}});
    let late = tested(&service, &ann, &body, &Value::Null).await;
    assert_eq!((late.status, late.code()), (504, "EXECUTION_TIMEOUT"), "{late}");
    let body = json!({"graphData": doubling(), "nodeDefinitions": {}});
    assert_eq!(
        tested(&service, &ann, &body, &json!({"n": 1})).await.body["output"],
        json!({"double": 2})
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_takes_too_long_is_stopped_on_sqlite() {
    what_takes_too_long_is_stopped(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_takes_too_long_is_stopped_on_postgres() {
    what_takes_too_long_is_stopped(Database::Postgres).await;
}
