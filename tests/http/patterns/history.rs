//! Versions: listed, compared, restored.

use super::{NOW, edge, get, node, pattern, save};
use crate::harness::{Service, each_database};
use serde_json::{Value, json};

each_database! {
    async fn versions_say_what_changed(service: Service) {
        let ann = service.user("ann").await;
        let id = pattern(&service, &ann, json!({"name": "x"})).await;
        let graph = json!({"nodes": [node("a"), node("b")], "edges": [edge("a", "b")]});
        let mut moved = graph.clone();
        moved["nodes"][0]["position"]["x"] = json!(9);
        for body in [
            json!({"graphData": graph}),
            json!({"graphData": moved}),
            json!({"graphData": moved}),
            json!({}),
            json!({"name": "y", "description": "d", "tags": ["t"], "isPublic": true, "isTemplate": true}),
            json!({"name": "y", "isPublic": false, "isTemplate": false, "graphData": {"nodes": [node("a")], "edges": []}}),
            json!({"summary": "as the customer wished"}),
        ] {
            save(&service, &ann, &id, body).await;
        }
        let listed = get(&service, &ann, &format!("/api/patterns/{id}/versions")).await;
        let summaries = [
            "created",
            "2 nodes added, 1 edge added",
            "layout changed",
            "nothing changed",
            "nothing changed",
            "renamed to y, description changed, tags changed, made public, made a template",
            "made private, no longer a template, 1 node removed, 1 edge removed",
            "as the customer wished",
        ];
        let mut expected: Vec<Value> = (1..)
            .zip(summaries)
            .map(|(number, summary)| json!({"versionNumber": number, "createdAt": NOW, "summary": summary}))
            .collect();
        expected.reverse();
        assert_eq!((listed.status, &listed.body), (200, &Value::Array(expected)));
    }

    async fn two_versions_are_compared(service: Service) {
        let ann = service.user("ann").await;
        let id = pattern(&service, &ann, json!({"name": "x"})).await;
        let mut changed = node("a");
        changed["data"]["label"] = json!("A");
        save(&service, &ann, &id, json!({"graphData": {"nodes": [node("a"), node("b")], "edges": [edge("a", "b")]}})).await;
        save(&service, &ann, &id, json!({"graphData": {"nodes": [changed, node("c"), node("d")], "edges": [edge("a", "c"), edge("a", "d")]}})).await;
        let path = format!("/api/patterns/{id}/versions/compare");
        let there = get(&service, &ann, &format!("{path}?v1=2&v2=3")).await;
        let edge = |change: &str, source: &str, target: &str| {
            json!({"kind": "edge", "change": change, "source": source, "sourceHandle": null, "target": target, "targetHandle": null})
        };
        assert_eq!((there.status, &there.body), (200, &json!({
            "v1": 2, "v2": 3,
            "changes": {"nodesAdded": 2, "nodesRemoved": 1, "nodesChanged": 1, "edgesAdded": 2, "edgesRemoved": 1},
            "details": [
                {"kind": "node", "change": "changed", "nodeId": "a", "type": "Set", "fields": ["data.label"]},
                {"kind": "node", "change": "added", "nodeId": "c", "type": "Set", "fields": []},
                {"kind": "node", "change": "added", "nodeId": "d", "type": "Set", "fields": []},
                {"kind": "node", "change": "removed", "nodeId": "b", "type": "Set", "fields": []},
                edge("added", "a", "c"),
                edge("added", "a", "d"),
                edge("removed", "a", "b"),
            ]
        })));
        let back = get(&service, &ann, &format!("{path}?v1=3&v2=1")).await;
        assert_eq!(back.body["changes"], json!({"nodesAdded": 0, "nodesRemoved": 3, "nodesChanged": 0, "edgesAdded": 0, "edgesRemoved": 2}));
        let same = get(&service, &ann, &format!("{path}?v1=3&v2=3")).await;
        assert_eq!(same.body["details"], json!([]));

        for (query, name) in [("?v1=1", "v2"), ("?v2=1", "v1"), ("?v1=a&v2=1", "v1"), ("?v1=1&v2=1.5", "v2")] {
            let reply = get(&service, &ann, &format!("{path}{query}")).await;
            assert_eq!((reply.status, reply.code()), (400, "VALIDATION"), "{query}");
            assert_eq!(reply.body["error"]["details"][0]["path"], name, "{query}: {reply}");
        }
        for query in ["?v1=1&v2=4", "?v1=0&v2=1", "?v1=-1&v2=1"] {
            let reply = get(&service, &ann, &format!("{path}{query}")).await;
            assert_eq!((reply.status, reply.code()), (404, "VERSION_NOT_FOUND"), "{query}");
        }
    }

    async fn a_rollback_makes_a_new_version_of_the_old_graph(service: Service) {
        let ann = service.user("ann").await;
        let id = pattern(&service, &ann, json!({"name": "x"})).await;
        let graph = json!({"nodes": [node("a")], "edges": [], "own": 1.0});
        save(&service, &ann, &id, json!({"graphData": graph})).await;
        save(&service, &ann, &id, json!({"graphData": {"nodes": [], "edges": []}, "name": "y"})).await;
        let path = format!("/api/patterns/{id}/rollback");
        let restored = service.post(&path).bearer(&ann.token).json(&json!({"versionNumber": 2})).send().await;
        assert_eq!((restored.status, &restored.body), (200, &json!({"id": id, "versionNumber": 4, "restoredFrom": 2, "updatedAt": NOW})));
        let read = get(&service, &ann, &format!("/api/patterns/{id}")).await;
        assert_eq!((&read.body["graphData"], &read.body["name"]), (&graph, &json!("y")));
        let listed = get(&service, &ann, &format!("/api/patterns/{id}/versions")).await;
        assert_eq!(listed.body[0], json!({"versionNumber": 4, "createdAt": NOW, "summary": "restored version 2"}));

        for number in [0, 5, -1, i64::MAX] {
            let reply = service.post(&path).bearer(&ann.token).json(&json!({"versionNumber": number})).send().await;
            assert_eq!((reply.status, reply.code()), (404, "VERSION_NOT_FOUND"), "{number}");
        }
        for body in [json!({}), json!({"versionNumber": "1"}), json!({"versionNumber": 1.5})] {
            let reply = service.post(&path).bearer(&ann.token).json(&body).send().await;
            assert_eq!((reply.status, reply.code()), (400, "VALIDATION"), "{body}");
            assert_eq!(reply.body["error"]["details"][0]["path"], "versionNumber", "{body}: {reply}");
        }
        let nobody = service.post("/api/patterns/x/rollback").bearer(&ann.token).json(&json!({"versionNumber": 1})).send().await;
        assert_eq!((nobody.status, nobody.code()), (404, "NOT_FOUND"));
    }

    async fn others_see_no_version_from_when_a_pattern_was_private(service: Service) {
        let (ann, eve) = (service.user("ann").await, service.user("eve").await);
        let id = pattern(&service, &ann, json!({"name": "x"})).await;
        save(&service, &ann, &id, json!({"graphData": {"nodes": [node("secret-customer")], "edges": []}})).await;
        save(&service, &ann, &id, json!({"graphData": {"nodes": [node("a")], "edges": []}, "isPublic": true})).await;
        save(&service, &ann, &id, json!({"graphData": {"nodes": [node("a"), node("b")], "edges": []}})).await;
        let versions = format!("/api/patterns/{id}/versions");
        let numbers = async |user| -> Vec<i64> {
            let listed = get(&service, user, &versions).await;
            assert_eq!(listed.status, 200, "{listed}");
            listed.body.as_array().unwrap().iter().map(|version| version["versionNumber"].as_i64().unwrap()).collect()
        };
        assert_eq!(numbers(&ann).await, [4, 3, 2, 1]);
        assert_eq!(numbers(&eve).await, [4, 3]);
        let compared = async |user, query: &str| get(&service, user, &format!("{versions}/compare{query}")).await;
        assert_eq!(compared(&eve, "?v1=3&v2=4").await.status, 200);
        for query in ["?v1=2&v2=3", "?v1=4&v2=1", "?v1=2&v2=2"] {
            compared(&eve, query).await.assert_refused(404, "VERSION_NOT_FOUND");
            assert_eq!(compared(&ann, query).await.status, 200);
        }
        // What was public once is private with the pattern, and stays so.
        save(&service, &ann, &id, json!({"isPublic": false})).await;
        get(&service, &eve, &versions).await.assert_refused(404, "NOT_FOUND");
        save(&service, &ann, &id, json!({"isPublic": true})).await;
        assert_eq!(numbers(&eve).await, [6]);
        assert_eq!(numbers(&ann).await.len(), 6);
    }
}
