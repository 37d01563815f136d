//! Definitions that are made of OpenAPI documents.

use crate::harness::{Service, each_database};
use heddle_model::access::WorkspaceRole;
use serde_json::{Value, json};

const PATH: &str = "/api/patterns/import/openapi";

fn document() -> Value {
    let id = json!({"name": "id", "in": "path", "required": true, "schema": {"type": "string"}});
    json!({
        "openapi": "3.1.0", "info": {"title": "Pets", "version": "1"}, "servers": [{"url": "https://pets.example.com"}],
        "paths": {"/pets/{id}": {"get": {"operationId": "getPet", "tags": ["pets"], "parameters": [id]}}},
    })
}

each_database! {
    async fn a_document_becomes_definitions_that_a_pattern_can_have(service: Service) {
        let ann = service.user("ann").await;
        let body = json!({"document": document(), "operations": ["getPet"], "prefix": "shop"});
        let done = service.post(PATH).bearer(&ann.token).json(&body).send().await;
        assert_eq!((done.status, &done.body["title"]), (200, &json!("Pets")), "{done}");
        assert_eq!(done.body["report"]["operations"][0]["definition"], "shopGetPet", "{done}");
        let text = serde_json::to_string(&document()).unwrap();
        let yaml = format!("# The same, as YAML\n{text}\n");
        let same = json!({"text": yaml, "operations": ["getPet"], "prefix": "shop"});
        let same = service.post(PATH).bearer(&ann.token).json(&same).send().await;
        assert_eq!((same.status, &same.body), (200, &done.body), "{same}");
        let graph = json!({
            "nodes": [{"id": "start", "type": "OnManual"}, {"id": "pet", "type": "shopGetPet"}],
            "edges": [{"id": "e", "source": "start", "target": "pet"}],
        });
        let check = json!({"graphData": graph, "nodeDefinitions": done.body["nodeDefinitions"]});
        let checked = service.post("/api/execute/validate").bearer(&ann.token).json(&check).send().await;
        let mut found = checked.body["diagnostics"].as_array().unwrap().iter();
        assert!(!found.any(|it| it["severity"] == "error"), "{checked}");
    }

    async fn what_is_no_document_is_refused(service: Service) {
        let ann = service.user("ann").await;
        let wrong = [
            json!({}),
            json!({"document": {}}),
            json!({"document": document(), "text": "openapi: 3.1.0"}),
            json!({"text": "openapi: ["}),
            json!({"document": {"swagger": "2.0"}}),
            json!({"document": document(), "operations": ["other"]}),
            json!({"document": document(), "tags": ["other"]}),
            json!({"document": document(), "prefix": "Not a name"}),
            json!({"document": document(), "baseUrl": "ftp://example.com"}),
        ];
        for body in wrong {
            let done = service.post(PATH).bearer(&ann.token).json(&body).send().await;
            assert_eq!((done.status, done.code()), (400, "VALIDATION"), "{done}");
        }
        let viewer = service.member(&ann, "vic", WorkspaceRole::Viewer).await;
        let body = json!({"document": document()});
        let done = service.post(PATH).bearer(&viewer.token).json(&body).send().await;
        assert_eq!(done.status, 403, "{done}");
    }
}
