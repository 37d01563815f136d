//! Imports of Node-RED's flows.

use super::get;
use crate::harness::{Service, each_database};
use heddle_model::access::WorkspaceRole;
use serde_json::{Value, json};

const PATH: &str = "/api/patterns/import/node-red";

/// A tab of two nodes, of which the second has secrets and no counterpart.
fn flow(id: &str, name: &str) -> Vec<Value> {
    let (start, sent) = (format!("{id}-start"), format!("{id}-sent"));
    vec![
        json!({"id": id, "type": "tab", "label": name}),
        json!({"id": start, "z": id, "type": "inject", "name": "Start", "props": [], "wires": [[sent]]}),
        json!({
            "id": sent, "z": id, "type": "chat out", "name": "Sent {{{ $secrets.key }}}", "wires": [],
            "chat": "team", "apiToken": "t0p", "credentials": {"password": "t0p"},
        }),
    ]
}

each_database! {
    async fn flows_become_patterns_without_their_secrets(service: Service) {
        let ann = service.user("ann").await;
        let flows = [flow("a", "First"), flow("b", "Second")].concat();
        let dry = json!({"flows": flows, "dryRun": true});
        let done = service.post(PATH).bearer(&ann.token).json(&dry).send().await;
        assert_eq!((done.status, done.body["patterns"].as_array().unwrap().len()), (200, 2), "{done}");
        assert_eq!(get(&service, &ann, "/api/patterns").await.body["data"], json!([]));
        let done = service.post(PATH).bearer(&ann.token).json(&json!({"flows": flows})).send().await;
        assert_eq!(done.status, 201, "{done}");
        let second = &done.body["patterns"][1];
        assert_eq!((&second["name"], &second["report"]["valid"]), (&json!("Second"), &json!(true)), "{done}");
        assert_eq!(second["report"]["summary"]["stub"], 1, "{done}");
        let read = get(&service, &ann, &format!("/api/patterns/{}", second["id"].as_str().unwrap())).await;
        let nodes = read.body["graphData"]["nodes"].as_array().unwrap();
        let stub = &nodes.iter().find(|it| it["data"].get("nodeRed").is_some()).unwrap()["data"];
        assert_eq!(stub["nodeRed"]["chat"], "team", "{read}");
        assert!(!read.to_string().contains("t0p"), "{read}");
        // What a name says in braces is no expression.
        assert!(!stub["parameters"]["message"].as_str().unwrap().contains("{{"), "{read}");
    }

    async fn what_is_no_flow_is_refused(service: Service) {
        let ann = service.user("ann").await;
        let one = flow("a", "First");
        let many: Vec<Value> = (0..51).flat_map(|number| flow(&format!("t{number}"), "Tab")).collect();
        for flows in [json!([]), json!({}), json!([{}]), json!(many)] {
            let done = service.post(PATH).bearer(&ann.token).json(&json!({"flows": flows})).send().await;
            assert_eq!((done.status, done.code()), (400, "VALIDATION"), "{done}");
        }
        let viewer = service.member(&ann, "vic", WorkspaceRole::Viewer).await;
        let done = service.post(PATH).bearer(&viewer.token).json(&json!({"flows": one})).send().await;
        assert_eq!(done.status, 403, "{done}");
    }
}
