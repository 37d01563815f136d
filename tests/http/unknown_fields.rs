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
