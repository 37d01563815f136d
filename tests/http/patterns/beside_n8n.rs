//! What imported workflows give beside what n8n gives, where that takes several workflows or several runs: `tests/cli/n8n/served`. That
//! n8n gives what they say is tested in `tests/cli/beside_n8n.rs`.

use crate::harness::{Database, Service, User, chain};
use crate::n8n_cases::{assert_all, items, others, read, workflow};
use serde_json::{Value, json};

/// Calls a pattern with a list of items, which no event of a run can be.
fn caller() -> Value {
    chain(&[
        ("start", "OnManual", json!({})),
        ("items", "Transform", json!({"value": "{{ $input.items }}"})),
        (
            "call",
            "CallPattern",
            json!({"patternId": "{{ $('start').pattern }}"}),
        ),
        ("end", "Return", json!({})),
    ])
}

/// What the runs of a case give, once its workflows are imported and deployed.
async fn given(service: &Service, user: &User, caller: &str, case: &Value) -> Value {
    let mut workflows = vec![workflow(case)];
    workflows.extend(others(case));
    let body = json!({ "workflows": workflows });
    let done = service
        .post("/api/patterns/import/n8n")
        .bearer(&user.token)
        .json(&body)
        .send()
        .await;
    assert_eq!(done.status, 201, "{done}");
    let patterns = done.body["patterns"].as_array().unwrap();
    let mut deployments = Vec::new();
    for pattern in patterns {
        assert_eq!(pattern["report"]["valid"], true, "{done}");
        deployments.push(service.deploy(user, pattern["id"].as_str().unwrap()).await);
    }
    // Those that are written within nodes come behind those that were given.
    let main = &patterns[0]["id"];
    let mut runs = Vec::new();
    for event in case["runs"].as_array().unwrap() {
        let event = json!({"pattern": main, "items": event});
        let ended = service.execute(user, caller, "?wait=true", &event).await;
        runs.push(items(ended.data(200)));
    }
    // Those that are not waited for are executed, too.
    for called in deployments.iter().skip(1) {
        let path = format!("/api/deployments/{called}/runs?limit=1");
        let listed = service.get(&path).bearer(&user.token).send().await;
        assert!(
            listed.body["meta"]["total"].as_u64() > Some(0),
            "{}: {listed}",
            case["name"]
        );
    }
    runs.into()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workflows_that_call_others_or_keep_something_give_what_n8n_gives() {
    let service = Service::start(Database::Sqlite).await;
    service.app.executions.start().await.unwrap();
    let ann = service.user("ann").await;
    let caller = service.deployed(&ann, &caller()).await;
    let cases = read("served");
    let mut all = Vec::new();
    for case in &cases {
        all.push(given(&service, &ann, &caller, case).await);
    }
    let names: Vec<&str> = cases.iter().map(|case| case["name"].as_str().unwrap()).collect();
    let expected: Vec<&Value> = cases
        .iter()
        .map(|case| case.get("heddle").unwrap_or(&case["n8n"]))
        .collect();
    assert_all(&names, &expected, &all);
}
