//! Fields that a request misspells are told, and not ignored: `dryrun` must not deploy.

use crate::harness::{Service, doubling, each_database};
use heddle_api::http::routes::document;
use serde_json::{Value, json};

each_database! {
    async fn a_misspelt_field_of_a_deploy_changes_nothing(service: Service) {
        let ann = service.user("ann").await;
        let pattern = service.drawn(&ann, &doubling()).await;
        let path = format!("/api/patterns/{pattern}/deploy");
        for (name, meant) in [("dryrun", "dryRun"), ("dry_run", "dryRun"), ("versionNumbr", "versionNumber"), ("enviromentId", "environmentId"), ("moves", "move")] {
            let refused = service.post(&path).bearer(&ann.token).json(&json!({"nodeDefinitions": {}, name: true})).send().await;
            assert_eq!(refused.wrong_fields(), [name]);
            assert!(refused.text.contains(&format!("did you mean `{meant}`?")), "{refused}");
        }
        let listed = service.get("/api/deployments").bearer(&ann.token).send().await;
        assert_eq!(listed.body["data"], json!([]), "nothing was deployed");
        // The contract says nothing of other fields: they are nobody's mistake.
        let body = json!({"nodeDefinitions": {}, "comment": "as every week"});
        let deployed = service.post(&path).bearer(&ann.token).json(&body).send().await;
        assert_eq!(deployed.status, 200, "{deployed}");
    }

    async fn a_field_by_half_its_name_is_told_and_changes_nothing(service: Service) {
        let ann = service.user("ann").await;
        let pattern = service.drawn(&ann, &doubling()).await;
        let deployment = service.deploy(&ann, &pattern).await;
        let path = format!("/api/patterns/{pattern}");
        let (deploy, execute) = (format!("{path}/deploy"), format!("/api/deployments/{deployment}/execute"));
        for (method, path, body, field, meant) in [
            ("POST", deploy.as_str(), json!({"nodeDefinitions": {}, "version": 1}), "version", "versionNumber"),
            ("POST", &deploy, json!({"nodeDefinitions": {}, "environment": "x"}), "environment", "environmentId"),
            ("POST", &execute, json!({"event": {"n": 1}}), "event", "eventData"),
            ("POST", &execute, json!({"data": {"n": 1}}), "data", "eventData"),
            ("POST", &execute, json!({"input": {"n": 1}}), "input", "eventData"),
            ("POST", &execute, json!({"body": {"n": 1}}), "body", "eventData.body"),
            ("PUT", &path, json!({"graph": doubling()}), "graph", "graphData"),
            ("PUT", &path, json!({"nodes": [], "edges": []}), "nodes", "graphData.nodes"),
            ("PUT", &path, json!({"name": "x", "version": 2}), "version", "versionNumber"),
            ("POST", "/api/patterns", json!({"name": "x", "graph": doubling()}), "graph", "graphData"),
            ("POST", "/api/patterns", json!({"name": "x", "nodes": []}), "nodes", "graphData.nodes"),
        ] {
            let refused = service.request(method, path).bearer(&ann.token).json(&body).send().await;
            assert_eq!(refused.wrong_fields(), [field], "{refused}");
            assert!(refused.text.contains(&format!("did you mean `{meant}`?")), "{refused}");
        }
        let read = service.get(&path).bearer(&ann.token).send().await;
        assert_eq!(read.body["versionNumber"], 2, "nothing was saved: {read}");
        let runs = service.get(&format!("/api/deployments/{deployment}/runs")).bearer(&ann.token).send().await;
        assert_eq!(runs.body["meta"]["total"], 0, "nothing ran: {runs}");
    }

    async fn what_a_value_must_be_is_said_in_the_words_of_json(service: Service) {
        let ann = service.user("ann").await;
        let pattern = service.drawn(&ann, &doubling()).await;
        let deploy = format!("/api/patterns/{pattern}/deploy");
        for (method, path, body, said) in [
            ("POST", deploy.as_str(), json!({"nodeDefinitions": []}), "`nodeDefinitions` must be an object, not an array"),
            ("POST", &deploy, json!({"nodeDefinitions": {}, "dryRun": "yes"}), "`dryRun` must be true or false, not a string"),
            ("POST", &deploy, json!({"nodeDefinitions": {}, "versionNumber": "hunter2"}), "`versionNumber` must be a whole number, not a string"),
            ("POST", &deploy, json!({"nodeDefinitions": {}, "versionNumber": 1.5}), "`versionNumber` must be a whole number"),
            ("POST", "/api/patterns", json!({"name": ["hunter2"]}), "`name` must be a string, not an array"),
            ("POST", "/api/auth/api-keys", json!({"name": "x", "scopes": ["hunter2"]}), "`scopes[0]` must be one of `read`, `run`, `edit`, `admin`"),
            ("GET", "/api/patterns?limit=hunter2", Value::Null, "`limit` must be a whole number"),
            ("GET", "/api/patterns?isPublic=hunter2", Value::Null, "`isPublic` must be true or false"),
            ("GET", "/api/runs?from=hunter2", Value::Null, "`from` must be an ISO 8601 time such as 2026-11-21T09:30:00.000Z"),
        ] {
            let request = service.request(method, path).bearer(&ann.token);
            let refused = if body.is_null() { request } else { request.json(&body) }.send().await;
            assert_eq!((refused.status, refused.body["error"]["message"].as_str()), (400, Some(said)), "{refused}");
            assert!(!refused.text.contains("hunter2"), "it may be a secret in the wrong place: {refused}");
        }
    }

    async fn a_misspelt_field_is_told_with_the_one_that_was_meant(service: Service) {
        let ann = service.user("ann").await;
        let workspace = service.workspace_of(&ann).await;
        let members = format!("/api/workspaces/{workspace}/members");
        for (path, body, field, said) in [
            (members.as_str(), json!({"email": "bob@example.com", "rolle": "viewer"}), "rolle", "did you mean `role`?"),
            (&members, json!({"email": "bob@example.com", "role": "viewer", "until": "2027-01-01"}), "until", "is not known"),
            ("/api/auth/api-keys", json!({"name": "x", "expiresat": "2027-01-01T00:00:00Z"}), "expiresat", "did you mean `expiresAt`?"),
            ("/api/workspaces", json!({"name": "x", "Name": "y"}), "Name", "did you mean `name`?"),
        ] {
            let refused = service.post(path).bearer(&ann.token).json(&body).send().await;
            assert_eq!(refused.wrong_fields(), [field], "{refused}");
            assert!(refused.text.contains(said), "{refused}");
        }
    }

    async fn a_test_that_expects_something_misspelt_is_refused(service: Service) {
        let ann = service.user("ann").await;
        let pattern = service.drawn(&ann, &doubling()).await;
        let path = format!("/api/patterns/{pattern}/tests");
        for (case, field) in [
            (json!({"name": "x", "expects": {"output": 8}}), "expects"),
            (json!({"name": "x", "expect": {"ouput": 8}}), "expect.ouput"),
            (json!({"name": "x", "expect": {"error": {"kode": "THROWN"}}}), "expect.error.kode"),
        ] {
            let refused = service.post(&path).bearer(&ann.token).json(&case).send().await;
            assert_eq!(refused.wrong_fields(), [field], "{refused}");
        }
        let kept = service.post(&path).bearer(&ann.token).json(&json!({"name": "x"})).send().await;
        let test = format!("{path}/{}", kept.body["id"].as_str().unwrap());
        let refused = service.put(&test).bearer(&ann.token).json(&json!({"ignored": ["output.id"]})).send().await;
        assert_eq!(refused.wrong_fields(), ["ignored"], "{refused}");
    }
}

/// Bodies that take other fields than their own: those of the contract, which says nothing of them, and what is stored as it is.
const OPEN: &[&str] = &[
    "Variables",
    "RunBody",
    "RegisterRequest",
    "LoginRequest",
    "ExtRequest",
];

#[test]
fn bodies_beyond_the_contract_refuse_fields_that_they_do_not_know() {
    let document = document();
    let mut open = Vec::new();
    for operation in crate::document::operations(&document) {
        let schema = &operation.told["requestBody"]["content"]["application/json"]["schema"];
        let named = schema["$ref"]
            .as_str()
            .or_else(|| schema["oneOf"].as_array()?.last()?["$ref"].as_str());
        let Some(name) = named.and_then(|named| named.rsplit('/').next()) else {
            continue;
        };
        if CONTRACT.contains(&operation.to_string().as_str()) || OPEN.contains(&name) {
            continue;
        }
        if document["components"]["schemas"][name]["additionalProperties"] != Value::Bool(false) {
            open.push(format!("{operation}: {name}"));
        }
    }
    assert!(open.is_empty(), "{open:#?}");
}

/// The operations with a body that the contract has.
const CONTRACT: &[&str] = &[
    "POST /api/auth/ext",
    "POST /api/auth/login",
    "POST /api/auth/register",
    "POST /api/auth/switch-workspace",
    "POST /api/connections/api-key",
    "POST /api/connections/credentials",
    "POST /api/deployments/{id}/execute",
    "PUT /api/deployments/{id}/schedule",
    "POST /api/deployments/{id}/webhook/regenerate",
    "POST /api/execute/run",
    "POST /api/execute/transpile",
    "POST /api/patterns",
    "POST /api/patterns/import",
    "PUT /api/patterns/{id}",
    "PUT /api/patterns/{id}/call-interface",
    "POST /api/patterns/{id}/clone",
    "POST /api/patterns/{id}/deploy",
    "POST /api/patterns/{id}/rollback",
    "POST /webhooks/{webhookId}",
];
