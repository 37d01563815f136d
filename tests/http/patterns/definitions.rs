//! Definitions of node types belong to the pattern: they are stored, versioned, copied and used with its graph.

use super::{get, node, pattern, save};
use crate::harness::{Database, Service, User, chain, each_database};
use heddle_model::quota::Quota;
use serde_json::{Value, json};

/// A definition that multiplies `n`.
fn times(factor: u32) -> Value {
    json!({"kind": "expression", "outputValues": {"out": format!("{{{{ $input.n * {factor} }}}}")}})
}

fn graph() -> Value {
    let nodes = [
        ("go", "OnManual", json!({})),
        ("more", "Times", json!({})),
        ("end", "Return", json!({"value": "{{ $input }}"})),
    ];
    chain(&nodes)
}

async fn defined(service: &Service, user: &User) -> String {
    let id = pattern(service, user, json!({"name": "Orders"})).await;
    let body = json!({"graphData": graph(), "nodeDefinitions": {"Times": times(2)}});
    assert_eq!(save(service, user, &id, body).await, 2);
    id
}

/// What the deployed pattern gives for 21.
async fn output(service: &Service, user: &User, deployment: &str) -> Value {
    let run = service.ran(user, deployment, &json!({"n": 21})).await;
    service.run(user, deployment, &run).await["output"].clone()
}

each_database! {
    async fn they_are_versioned_with_the_graph(service: Service) {
        let ann = service.user("ann").await;
        let id = defined(&service, &ann).await;
        let path = format!("/api/patterns/{id}");
        let read = get(&service, &ann, &path).await;
        assert_eq!(read.body["nodeDefinitions"], json!({"Times": times(2)}), "{read}");
        // Saving something else keeps them; other ones take their place; none removes them.
        assert_eq!(save(&service, &ann, &id, json!({"name": "Bills"})).await, 3);
        assert_eq!(get(&service, &ann, &path).await.body["nodeDefinitions"], json!({"Times": times(2)}));
        save(&service, &ann, &id, json!({"nodeDefinitions": {"Times": times(3), "Other": times(1)}})).await;
        save(&service, &ann, &id, json!({"nodeDefinitions": {}})).await;
        assert!(get(&service, &ann, &path).await.body.get("nodeDefinitions").is_none());
        for (version, graph_data, definitions) in [
            (1, json!({"nodes": [], "edges": []}), json!({})),
            (2, graph(), json!({"Times": times(2)})),
            (3, graph(), json!({"Times": times(2)})),
            (4, graph(), json!({"Times": times(3), "Other": times(1)})),
            (5, graph(), json!({})),
        ] {
            let found = get(&service, &ann, &format!("{path}/versions/{version}")).await;
            assert_eq!(found.status, 200, "{found}");
            assert_eq!((&found.body["graphData"], &found.body["nodeDefinitions"]), (&graph_data, &definitions), "{version}");
            assert_eq!(found.body["versionNumber"], version);
        }
        let summaries: Vec<Value> = get(&service, &ann, &format!("{path}/versions")).await.body.as_array().unwrap()
            .iter().map(|version| version["summary"].clone()).collect();
        assert_eq!(summaries, [
            "2 definitions removed", "1 definition added, 1 definition changed", "renamed to Bills",
            "3 nodes added, 2 edges added, 1 definition added", "created",
        ]);
        let compared = get(&service, &ann, &format!("{path}/versions/compare?v1=3&v2=4")).await;
        assert_eq!(compared.body["details"], json!([
            {"kind": "definition", "change": "changed", "name": "Times", "fields": ["outputValues.out"]},
            {"kind": "definition", "change": "added", "name": "Other", "fields": []},
        ]), "{compared}");
        let back = service.post(&format!("{path}/rollback")).bearer(&ann.token).json(&json!({"versionNumber": 2}));
        assert_eq!(back.send().await.body["versionNumber"], 6);
        assert_eq!(get(&service, &ann, &path).await.body["nodeDefinitions"], json!({"Times": times(2)}));
    }

    async fn they_go_with_copies(service: Service) {
        let (ann, bob) = (service.user("ann").await, service.user("bob").await);
        let id = defined(&service, &ann).await;
        save(&service, &ann, &id, json!({"isPublic": true})).await;
        let path = format!("/api/patterns/{id}");
        let clone = service.post(&format!("{path}/clone")).bearer(&bob.token).send().await;
        let exported = get(&service, &ann, &format!("{path}/export")).await;
        assert_eq!(exported.body["nodeDefinitions"], json!({"Times": times(2)}), "{exported}");
        let import = service.post("/api/patterns/import").bearer(&bob.token).json(&exported.body).send().await;
        let made = service.post("/api/patterns").bearer(&bob.token)
            .json(&json!({"name": "New", "nodeDefinitions": {"Times": times(2)}})).send().await;
        assert_eq!(made.body["nodeDefinitions"], json!({"Times": times(2)}), "{made}");
        for copy in [clone, import, made] {
            assert_eq!(copy.status, 201, "{copy}");
            let read = get(&service, &bob, &format!("/api/patterns/{}", copy.body["id"].as_str().unwrap())).await;
            assert_eq!(read.body["nodeDefinitions"], json!({"Times": times(2)}), "{read}");
        }
        // What was saved before it was public stays hidden.
        for (version, status) in [(1, 404), (2, 404), (3, 200), (4, 404)] {
            let found = get(&service, &bob, &format!("{path}/versions/{version}")).await;
            assert_eq!(found.status, status, "{version}: {found}");
        }
    }

    async fn a_deployment_uses_them_unless_others_are_sent(service: Service) {
        let ann = service.user("ann").await;
        let id = defined(&service, &ann).await;
        let deployment = service.deploy(&ann, &id).await;
        assert_eq!(output(&service, &ann, &deployment).await, 42);
        let path = format!("/api/patterns/{id}/deploy");
        let body = json!({"nodeDefinitions": {"Times": times(3)}});
        assert_eq!(service.post(&path).bearer(&ann.token).json(&body).send().await.status, 200);
        assert_eq!(output(&service, &ann, &deployment).await, 63);
        for path in ["/api/execute/transpile", "/api/execute/validate"] {
            let body = json!({"graphData": graph(), "nodeDefinitions": {}, "patternId": id});
            let reply = service.post(path).bearer(&ann.token).json(&body).send().await;
            assert_eq!((reply.status, reply.body.get("diagnostics").unwrap_or(&json!([]))), (200, &json!([])), "{reply}");
            let bob = service.user(&format!("bob{}", path.len())).await;
            let refused = service.post(path).bearer(&bob.token).json(&body).send().await;
            refused.assert_refused(404, "NOT_FOUND");
        }
    }

    async fn a_call_of_the_newest_version_uses_them(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let called = defined(&service, &ann).await;
        let on_call = |id: &str| json!({"nodes": [
            {"id": "go", "type": "OnCall"}, {"id": "more", "type": "Times"},
            {"id": "end", "type": "Return", "data": {"parameters": {"value": id}}},
        ], "edges": [{"source": "go", "target": "more"}, {"source": "more", "target": "end"}]});
        save(&service, &ann, &called, json!({"graphData": on_call("{{ $input }}")})).await;
        service.deploy(&ann, &called).await;
        save(&service, &ann, &called, json!({"nodeDefinitions": {"Times": times(5)}})).await;
        let call = json!({"patternId": called, "version": "latest"});
        let calling = chain(&[("go", "OnManual", json!({})), ("call", "CallPattern", call), ("end", "Return", json!({"value": "{{ $input }}"}))]);
        let deployment = service.deployed(&ann, &calling).await;
        assert_eq!(output(&service, &ann, &deployment).await, 105);
    }

    async fn what_is_no_object_is_refused_and_nothing_is_saved(service: Service) {
        let ann = service.user("ann").await;
        let id = defined(&service, &ann).await;
        let path = format!("/api/patterns/{id}");
        let many: Value = (0..1_001).map(|number| (format!("D{number}"), json!({}))).collect::<serde_json::Map<_, _>>().into();
        for wrong in [json!([]), json!("x"), json!(1), many] {
            let body = json!({"name": "Other", "nodeDefinitions": wrong});
            let refused = service.put(&path).bearer(&ann.token).json(&body).send().await;
            assert_eq!((refused.status, refused.code()), (400, "VALIDATION"), "{refused}");
            assert_eq!(refused.body["error"]["details"][0]["path"], "nodeDefinitions", "{refused}");
        }
        // They may be larger than a graph, which stays as large as it may be.
        let code = format!("export default () => '{}'", "x".repeat(12 << 20));
        let large = json!({"nodeDefinitions": {"Times": {"kind": "javascript", "code": code}}});
        assert_eq!(save(&service, &ann, &id, large).await, 3);
        let mut large = graph();
        large["nodes"][0]["note"] = json!("x".repeat(12 << 20));
        let refused = service.put(&path).bearer(&ann.token).json(&json!({"graphData": large})).send().await;
        refused.assert_refused(413, "PAYLOAD_TOO_LARGE");
        assert_eq!(get(&service, &ann, &path).await.body["name"], "Orders");
    }
}

/// Versions that have the same definitions share them; each graph counts, also one that was restored.
async fn they_count_towards_the_quota_once(database: Database) {
    let service = Service::with(database, |config| config.quotas.set(Quota::PatternBytes, 20_000)).await;
    let ann = service.user("ann").await;
    let id = pattern(&service, &ann, json!({"name": "Orders"})).await;
    let code = |fill: &str| json!({"Times": {"kind": "javascript", "code": fill.repeat(8_000)}});
    let first = json!({"nodeDefinitions": code("x"), "graphData": {"nodes": [node("a")], "edges": []}});
    save(&service, &ann, &id, first).await;
    for number in 0..10 {
        save(&service, &ann, &id, json!({"name": format!("n{number}")})).await;
    }
    save(&service, &ann, &id, json!({"nodeDefinitions": code("x")})).await;
    let path = format!("/api/patterns/{id}");
    let more = json!({"nodeDefinitions": code("yy")});
    let refused = service.put(&path).bearer(&ann.token).json(&more).send().await;
    refused.assert_refused(403, "QUOTA_EXCEEDED");
    assert!(
        refused.body["error"]["message"]
            .as_str()
            .unwrap()
            .contains("quota_pattern_bytes")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn definitions_count_towards_the_quota_once() {
    they_count_towards_the_quota_once(Database::Sqlite).await;
    they_count_towards_the_quota_once(Database::Postgres).await;
}
