//! Imports of n8n's workflows.

use super::get;
use crate::harness::{Service, each_database};
use heddle_model::access::WorkspaceRole;
use serde_json::{Value, json};

fn node(name: &str, kind: &str, parameters: Value) -> Value {
    json!({"name": name, "type": format!("n8n-nodes-base.{kind}"), "typeVersion": 1, "position": [0, 0], "parameters": parameters})
}

/// A workflow whose trigger leads to one node.
fn workflow(name: &str, id: &str, (trigger, then): (&str, Value)) -> Value {
    let connections = json!({"Start": {"main": [[{"node": "Then", "type": "main", "index": 0}]]}});
    json!({"name": name, "id": id, "nodes": [node("Start", trigger, json!({})), then], "connections": connections})
}

each_database! {
    async fn workflows_become_patterns_that_call_each_other(service: Service) {
        let ann = service.user("ann").await;
        let caller = workflow("Caller", "1", ("manualTrigger", node("Then", "executeWorkflow", json!({"workflowId": "2"}))));
        let called = workflow("Called", "2", ("executeWorkflowTrigger", node("Then", "noOp", json!({}))));
        let body = json!({"workflows": [caller, called]});
        let done = service.post("/api/patterns/import/n8n").bearer(&ann.token).json(&body).send().await;
        assert_eq!(done.status, 201, "{done}");
        let patterns = done.body["patterns"].as_array().unwrap();
        assert_eq!((&patterns[0]["name"], &patterns[1]["name"]), (&json!("Caller"), &json!("Called")));
        assert_eq!(patterns[0]["report"]["valid"], true, "{done}");
        let path = format!("/api/patterns/{}", patterns[0]["id"].as_str().unwrap());
        let read = get(&service, &ann, &path).await;
        let then = &read.body["graphData"]["nodes"][1];
        assert_eq!((&then["id"], &then["data"]["parameters"]["patternId"]), (&json!("then.1"), &patterns[1]["id"]), "{read}");
    }

    async fn what_cannot_be_compiled_is_repaired(service: Service) {
        let ann = service.user("ann").await;
        let fields = json!({"values": {"string": [{"name": "a", "value": "=\u{1f980} {{ $json.a }} {{ $json.s.randomItem() }}"}]}});
        let mut given = workflow("Broken", "1", ("manualTrigger", node("Then", "set", fields)));
        given["pinData"] = json!({"Start": [{"json": {"a": 1}}]});
        let body = json!({"workflows": [given]});
        let done = service.post("/api/patterns/import/n8n").bearer(&ann.token).json(&body).send().await;
        assert_eq!(done.status, 201, "{done}");
        let pattern = &done.body["patterns"][0];
        assert_eq!((&pattern["report"]["valid"], &pattern["report"]["summary"]["repaired"]), (&json!(true), &json!(1)), "{done}");
        let path = format!("/api/patterns/{}", pattern["id"].as_str().unwrap());
        let read = get(&service, &ann, &path).await;
        let parameters = &read.body["graphData"]["nodes"][1]["data"]["parameters"];
        assert_eq!(parameters["fields"]["a"], "\u{1f980} {{ $json.a }} {{ undefined }}", "{read}");
        let tests = get(&service, &ann, &format!("{path}/tests")).await;
        assert!(tests.to_string().contains("Pinned data"), "{tests}");
    }

    async fn a_dry_run_makes_nothing(service: Service) {
        let ann = service.user("ann").await;
        let stub = workflow("Stub", "1", ("manualTrigger", node("Then", "someService", json!({}))));
        let body = json!({"workflows": [stub], "dryRun": true});
        let done = service.post("/api/patterns/import/n8n").bearer(&ann.token).json(&body).send().await;
        assert_eq!(done.status, 200, "{done}");
        let report = &done.body["patterns"][0]["report"];
        assert_eq!(report["summary"], json!({"nodes": 2, "exact": 1, "approximate": 0, "stub": 1, "repaired": 0}));
        assert_eq!(done.body["patterns"][0].get("id"), None);
        // What it shows can be drawn.
        let (graph, definitions) = (&done.body["patterns"][0]["graphData"], &done.body["patterns"][0]["nodeDefinitions"]);
        let check = json!({"graphData": graph, "nodeDefinitions": definitions});
        let checked = service.post("/api/execute/validate").bearer(&ann.token).json(&check).send().await;
        let errors: Vec<&Value> = checked.body["diagnostics"].as_array().unwrap().iter().filter(|it| it["severity"] == "error").collect();
        assert!(errors.is_empty(), "{checked}");
        assert_eq!(get(&service, &ann, "/api/patterns").await.body["data"], json!([]));
    }

    async fn a_part_of_a_workflow_may_read_nodes_outside_of_it(service: Service) {
        let ann = service.user("ann").await;
        let fields = json!({"values": {"string": [{"name": "a", "value": "={{ $node['Order'].json.a }}"}]}});
        let part = workflow("Part", "1", ("manualTrigger", node("Then", "set", fields)));
        let mut body = json!({"workflows": [part], "dryRun": true, "fragment": true});
        for (is_part, code) in [(true, "outside"), (false, "broken-expression")] {
            body["fragment"] = json!(is_part);
            let done = service.post("/api/patterns/import/n8n").bearer(&ann.token).json(&body).send().await;
            assert_eq!(done.status, 200, "{done}");
            let items = done.body["patterns"][0]["report"]["items"].as_array().unwrap();
            assert!(items.iter().any(|item| item["code"] == code), "{done}");
        }
    }

    async fn what_is_no_workflow_is_refused(service: Service) {
        let ann = service.user("ann").await;
        let one = workflow("One", "1", ("manualTrigger", node("Then", "noOp", json!({}))));
        let many: Vec<Value> = (0..51).map(|_| one.clone()).collect();
        for workflows in [json!([]), json!({}), json!([{}]), json!(many)] {
            let body = json!({"workflows": workflows});
            let done = service.post("/api/patterns/import/n8n").bearer(&ann.token).json(&body).send().await;
            assert_eq!((done.status, done.code()), (400, "VALIDATION"), "{done}");
        }
        let viewer = service.member(&ann, "vic", WorkspaceRole::Viewer).await;
        let body = json!({"workflows": [one]});
        let done = service.post("/api/patterns/import/n8n").bearer(&viewer.token).json(&body).send().await;
        assert_eq!(done.status, 403, "{done}");
    }
}
