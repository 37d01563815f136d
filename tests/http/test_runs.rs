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
