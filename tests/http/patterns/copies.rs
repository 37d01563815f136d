//! Clones, exports and imports.

use super::{NOW, edge, get, node, pattern, save};
use crate::harness::{Service, each_database};
use serde_json::json;

each_database! {
    async fn a_clone_is_the_callers_and_independent(service: Service) {
        let ann = service.user("ann").await;
        let bob = service.user("bob").await;
        let id = pattern(&service, &ann, json!({"name": "Orders", "description": "d", "isPublic": true, "isTemplate": true, "tags": ["t"]})).await;
        let graph = json!({"nodes": [node("a"), node("b")], "edges": [edge("a", "b")]});
        save(&service, &ann, &id, json!({"graphData": graph})).await;
        let interface = json!({"inputs": [{"name": "i", "type": "string"}], "outputs": []});
        let set = service.put(&format!("/api/patterns/{id}/call-interface")).bearer(&ann.token).json(&interface).send().await;
        assert_eq!(set.status, 200, "{set}");

        let path = format!("/api/patterns/{id}/clone");
        let clone = service.post(&path).bearer(&bob.token).send().await;
        let clone_id = clone.body["id"].as_str().unwrap_or_default().to_owned();
        assert_ne!(clone_id, id);
        assert_eq!((clone.status, &clone.body), (201, &json!({"id": clone_id, "name": "Copy of Orders", "versionNumber": 1, "createdAt": NOW})));
        let clone_path = format!("/api/patterns/{clone_id}");
        let read = get(&service, &bob, &clone_path).await;
        assert_eq!(read.body, json!({
            "id": clone_id, "name": "Copy of Orders", "description": "d", "isPublic": false, "isTemplate": false,
            "tags": ["t"], "graphData": graph, "versionNumber": 1, "createdAt": NOW, "updatedAt": NOW, "starred": false
        }));
        assert_eq!(get(&service, &bob, &format!("{clone_path}/call-interface")).await.body["callInterface"], interface);
        assert_eq!(get(&service, &ann, &clone_path).await.status, 404);

        save(&service, &bob, &clone_id, json!({"graphData": {"nodes": [], "edges": []}})).await;
        let deleted = service.delete(&format!("/api/patterns/{id}")).bearer(&ann.token).send().await;
        assert_eq!(deleted.status, 204);
        let versions = get(&service, &bob, &format!("{clone_path}/versions")).await;
        assert_eq!(versions.body, json!([
            {"versionNumber": 2, "createdAt": NOW, "summary": "2 nodes removed, 1 edge removed"},
            {"versionNumber": 1, "createdAt": NOW, "summary": "cloned from version 2 of Orders"},
        ]));
    }

    async fn a_clone_is_called_what_is_asked_for(service: Service) {
        let ann = service.user("ann").await;
        let long = "x".repeat(200);
        let id = pattern(&service, &ann, json!({"name": long})).await;
        let path = format!("/api/patterns/{id}/clone");
        let cases = [
            (json!({"name": "Mine"}), "Mine".to_owned()),
            (json!({}), format!("Copy of {}", "x".repeat(192))),
            (json!({"name": null}), format!("Copy of {}", "x".repeat(192))),
        ];
        for (body, name) in cases {
            let clone = service.post(&path).bearer(&ann.token).json(&body).send().await;
            assert_eq!((clone.status, clone.body["name"].as_str()), (201, Some(name.as_str())));
        }
        for body in [json!({"name": ""}), json!({"name": 1}), json!([])] {
            let clone = service.post(&path).bearer(&ann.token).json(&body).send().await;
            assert_eq!((clone.status, clone.code()), (400, "VALIDATION"), "{body}");
        }
    }

    async fn an_export_is_a_file_that_can_be_imported(service: Service) {
        let ann = service.user("ann").await;
        let id = pattern(&service, &ann, json!({"name": "Orders", "description": "d", "isPublic": true})).await;
        let graph = json!({"nodes": [node("a"), node("b")], "edges": [edge("a", "b")], "settings": {"timeoutMs": 5}});
        save(&service, &ann, &id, json!({"graphData": graph})).await;
        let export = get(&service, &ann, &format!("/api/patterns/{id}/export")).await;
        assert_eq!((export.status, &export.body), (200, &json!({"name": "Orders", "description": "d", "graphData": graph, "exportedAt": NOW})));
        assert_eq!(export.headers["content-type"], "application/json");
        assert_eq!(export.headers["content-disposition"], "attachment; filename=\"Orders.json\"; filename*=UTF-8''Orders.json");

        let bob = service.user("bob").await;
        let imported = service.post("/api/patterns/import").bearer(&bob.token).json(&export.body).send().await;
        let new = imported.body["id"].as_str().unwrap_or_default().to_owned();
        assert_eq!((imported.status, &imported.body), (201, &json!({"id": new, "name": "Orders", "versionNumber": 1, "createdAt": NOW})));
        let read = get(&service, &bob, &format!("/api/patterns/{new}")).await;
        assert_eq!(read.body, json!({
            "id": new, "name": "Orders", "description": "d", "isPublic": false, "isTemplate": false, "tags": [],
            "graphData": graph, "versionNumber": 1, "createdAt": NOW, "updatedAt": NOW, "starred": false
        }));
    }

    async fn the_file_of_an_export_has_a_safe_name(service: Service) {
        let ann = service.user("ann").await;
        for (name, header) in [
            ("../../etc/passwd", "filename=\"_.._etc_passwd.json\"; filename*=UTF-8''_.._etc_passwd.json"),
            ("a\"b\\c\r\nSet-Cookie: x", "filename=\"a_b_c__Set-Cookie_ x.json\"; filename*=UTF-8''a_b_c__Set-Cookie_%20x.json"),
            ("Größe 1", "filename=\"Gr__e 1.json\"; filename*=UTF-8''Gr%C3%B6%C3%9Fe%201.json"),
            ("...", "filename=\"pattern.json\"; filename*=UTF-8''pattern.json"),
        ] {
            let id = pattern(&service, &ann, json!({"name": name})).await;
            let export = get(&service, &ann, &format!("/api/patterns/{id}/export")).await;
            assert_eq!(export.headers["content-disposition"].to_str().unwrap(), format!("attachment; {header}"), "{name}");
        }
    }

    async fn what_is_no_export_is_not_imported(service: Service) {
        let ann = service.user("ann").await;
        let graph = json!({"nodes": [], "edges": []});
        for (body, path) in [
            (json!({"graphData": graph}), "name"),
            (json!({"name": "x"}), "graphData"),
            (json!({"name": "x", "graphData": null}), "graphData"),
            (json!({"name": "x", "graphData": "{}"}), "graphData"),
            (json!({"name": "x", "graphData": {}}), "graphData"),
            (json!({"name": "x", "graphData": {"nodes": {}, "edges": []}}), "graphData"),
            (json!({"name": "", "graphData": graph}), "name"),
            (json!({"name": "x", "description": 1, "graphData": graph}), "description"),
            (json!([]), ""),
        ] {
            let reply = service.post("/api/patterns/import").bearer(&ann.token).json(&body).send().await;
            assert_eq!((reply.status, reply.code()), (400, "VALIDATION"), "{body}: {reply}");
            assert_eq!(reply.body["error"]["details"][0]["path"], path, "{body}: {reply}");
        }
        assert_eq!(get(&service, &ann, "/api/patterns").await.body["meta"]["total"], 0);
    }
}
