//! Making, reading, changing and deleting patterns.

use super::{NOW, get, node, pattern, save};
use crate::harness::{Request, Service, each_database, until};
use crate::webhooks::fixture::{Hook, graph};
use heddle_model::access::WorkspaceRole;
use serde_json::json;
use std::time::Duration;

each_database! {
    async fn webhooks_are_as_they_were_saved_although_the_sender_has_gone(service: Service) {
        let hook = Hook::saved(&service, graph(json!({"scheme": "none"}), &[])).await;
        let (path, token) = (format!("/api/patterns/{}", hook.pattern), Some(hook.user.token.as_str()));
        let put = async || {
            let sent = service.put(&format!("/webhooks/{}", hook.webhook)).json(&json!({})).send().await;
            sent.status
        };
        let version = async || get(&service, &hook.user, &path).await.body["versionNumber"].as_i64().unwrap();
        assert_eq!(put().await, 405, "and this is in memory now");
        let before = version().await;
        let other = json!({"graphData": graph(json!({"scheme": "none", "methods": ["POST", "PUT"]}), &[])});
        service.leave(("PUT", &path, token), &other, async || version().await > before).await;
        until(async || put().await == 202).await;
        let after = version().await;
        let restore = (format!("{path}/rollback"), json!({"versionNumber": before}));
        service.leave(("POST", &restore.0, token), &restore.1, async || version().await > after).await;
        until(async || put().await == 405).await;
    }

    async fn a_new_pattern_is_version_1_with_an_empty_graph(service: Service) {
        let ann = service.user("ann").await;
        let body = json!({"name": " Orders ", "description": "What\ncomes in", "isPublic": true, "tags": ["b", "a", " b "], "unknown": 1});
        let made = service.post("/api/patterns").bearer(&ann.token).json(&body).send().await;
        let id = made.body["id"].as_str().unwrap_or_default().to_owned();
        let whole = json!({
            "id": id, "name": "Orders", "description": "What\ncomes in", "isPublic": true, "isTemplate": false,
            "tags": ["b", "a"], "graphData": {"nodes": [], "edges": []}, "versionNumber": 1,
            "createdAt": NOW, "updatedAt": NOW, "starred": false
        });
        assert_eq!((made.status, &made.body), (201, &whole));
        let read = get(&service, &ann, &format!("/api/patterns/{id}")).await;
        assert_eq!((read.status, &read.body), (200, &whole));
        assert_eq!(read.headers["etag"], "\"1\"");

        let least = service.post("/api/patterns").bearer(&ann.token).json(&json!({"name": "x", "tags": null})).send().await;
        assert_eq!(least.body["description"], "");
        assert_eq!(least.body["isPublic"], false);
        assert_eq!(least.body["tags"], json!([]));
    }

    async fn a_new_pattern_has_the_graph_that_it_is_given(service: Service) {
        let ann = service.user("ann").await;
        let graph = json!({"nodes": [node("a")], "edges": []});
        let definitions = json!({"Own": {"kind": "expression", "outputValues": {"out": "1"}}});
        let body = json!({"name": "Orders", "graphData": graph, "nodeDefinitions": definitions});
        let made = service.post("/api/patterns").bearer(&ann.token).json(&body).send().await;
        assert_eq!((made.status, &made.body["graphData"], &made.body["versionNumber"]), (201, &graph, &json!(1)), "{made}");
        let read = get(&service, &ann, &format!("/api/patterns/{}", made.body["id"].as_str().unwrap())).await;
        assert_eq!((&read.body["graphData"], &read.body["nodeDefinitions"]), (&graph, &definitions), "{read}");
        let wrong = json!({"name": "Orders", "graphData": []});
        let refused = service.post("/api/patterns").bearer(&ann.token).json(&wrong).send().await;
        assert_eq!((refused.status, refused.wrong_fields()), (400, vec!["graphData"]), "{refused}");
    }

    async fn what_a_pattern_can_not_be_is_refused_by_field(service: Service) {
        let ann = service.user("ann").await;
        let long = "x".repeat(201);
        for (body, path) in [
            (json!({}), "name"),
            (json!({"name": ""}), "name"),
            (json!({"name": 1}), "name"),
            (json!({"name": long}), "name"),
            (json!({"name": "a\u{0}b"}), "name"),
            (json!({"name": "x", "description": "a\u{0}b"}), "description"),
            (json!({"name": "x", "description": "x".repeat(10_001)}), "description"),
            (json!({"name": "x", "isPublic": "yes"}), "isPublic"),
            (json!({"name": "x", "tags": "a"}), "tags"),
            (json!({"name": "x", "tags": ["a", ""]}), "tags[1]"),
            (json!({"name": "x", "tags": [1]}), "tags[0]"),
            (json!({"name": "x", "tags": vec!["x"; 51]}), "tags"),
        ] {
            let reply = service.post("/api/patterns").bearer(&ann.token).json(&body).send().await;
            assert_eq!((reply.status, reply.code()), (400, "VALIDATION"), "{body}");
            assert_eq!(reply.body["error"]["details"][0]["path"], path, "{body}: {reply}");
        }
        let id = pattern(&service, &ann, json!({"name": "x"})).await;
        let path = format!("/api/patterns/{id}");
        for (body, field) in [
            (json!({"graphData": []}), "graphData"),
            (json!({"graphData": 1}), "graphData"),
            (json!({"name": ""}), "name"),
            (json!({"summary": ""}), "summary"),
            (json!({"versionNumber": "1"}), "versionNumber"),
        ] {
            let reply = service.put(&path).bearer(&ann.token).json(&body).send().await;
            assert_eq!((reply.status, reply.code()), (400, "VALIDATION"), "{body}");
            assert_eq!(reply.body["error"]["details"][0]["path"], field, "{body}: {reply}");
        }
        // Valid JSON that no JSON value of ours can hold: a lone half of a pair, and a number beyond all floats.
        for graph in [r#"{"a":"\ud800"}"#, r#"{"a":1e999}"#] {
            let body = format!("{{\"graphData\":{graph}}}");
            let reply = service.put(&path).bearer(&ann.token).header("content-type", "application/json").body(body).send().await;
            assert_eq!((reply.status, reply.code()), (400, "VALIDATION"), "{graph}: {reply}");
        }
        assert_eq!(get(&service, &ann, &path).await.body["versionNumber"], 1);
    }

    async fn each_change_makes_a_version_and_keeps_what_it_does_not_name(service: Service) {
        let ann = service.user("ann").await;
        let id = pattern(&service, &ann, json!({"name": "Orders", "description": "d", "tags": ["t"]})).await;
        let path = format!("/api/patterns/{id}");
        service.app.clock.advance(Duration::from_secs(1));
        let later = "2026-11-21T09:00:01.000Z";
        let graph = json!({"nodes": [node("a")], "edges": []});
        let saved = service.put(&path).bearer(&ann.token).json(&json!({"graphData": graph})).send().await;
        assert_eq!((saved.status, &saved.body), (200, &json!({"id": id, "name": "Orders", "versionNumber": 2, "updatedAt": later})));
        assert_eq!(saved.headers["etag"], "\"2\"");
        let read = get(&service, &ann, &path).await;
        assert_eq!(read.body, json!({
            "id": id, "name": "Orders", "description": "d", "isPublic": false, "isTemplate": false, "tags": ["t"],
            "graphData": graph, "versionNumber": 2, "createdAt": NOW, "updatedAt": later, "starred": false
        }));
        assert_eq!(save(&service, &ann, &id, json!({})).await, 3);
        let all = json!({"name": "N", "description": "", "isPublic": true, "isTemplate": true, "tags": []});
        assert_eq!(save(&service, &ann, &id, all).await, 4);
        let read = get(&service, &ann, &path).await;
        assert_eq!(read.body, json!({
            "id": id, "name": "N", "description": "", "isPublic": true, "isTemplate": true, "tags": [],
            "graphData": graph, "versionNumber": 4, "createdAt": NOW, "updatedAt": later, "starred": false
        }));
    }

    async fn a_graph_is_kept_as_it_came(service: Service) {
        let ann = service.user("ann").await;
        let id = pattern(&service, &ann, json!({"name": "x"})).await;
        let path = format!("/api/patterns/{id}");
        let graph = r#"{"z":1.0,"nodes":[{"id":"a","n":123456789012345678901234567890,"f":1e2,"own":{"b":[null],"a":"\u0000 \u00e9"}}],"edges":[],"viewport":{"zoom":0.50}}"#;
        let body = format!("{{\"graphData\":{graph}}}");
        let saved = service.put(&path).bearer(&ann.token).header("content-type", "application/json").body(body).send().await;
        assert_eq!(saved.status, 200, "{saved}");
        for path in [path.clone(), format!("{path}/export")] {
            let read = get(&service, &ann, &path).await;
            assert!(read.text.contains(graph), "{}", read.text);
        }
    }

    async fn a_change_that_is_based_on_an_old_version_is_refused(service: Service) {
        let ann = service.user("ann").await;
        let id = pattern(&service, &ann, json!({"name": "x"})).await;
        let path = format!("/api/patterns/{id}");
        let put = |tag: &str, body: serde_json::Value| {
            let request: Request = service.put(&path).bearer(&ann.token).json(&body);
            if tag.is_empty() { request } else { request.header("if-match", tag) }
        };
        for (tag, body, status) in [
            ("\"1\"", json!({}), 200),
            ("\"1\"", json!({}), 409),
            ("", json!({"versionNumber": 1}), 409),
            ("", json!({"versionNumber": 2}), 200),
            ("\"3\"", json!({"versionNumber": 3}), 200),
            ("\"4\"", json!({"versionNumber": 3}), 400),
            ("*", json!({}), 200),
            ("W/\"5\"", json!({}), 409),
            ("\"other\"", json!({}), 409),
            ("5", json!({}), 200),
        ] {
            let reply = put(tag, body.clone()).send().await;
            assert_eq!(reply.status, status, "{tag} {body}: {reply}");
            if status == 409 {
                assert_eq!(reply.code(), "CONFLICT");
                assert_eq!(reply.body["success"], false);
            }
        }
        assert_eq!(get(&service, &ann, &path).await.body["versionNumber"], 6);
    }

    async fn twenty_writers_at_once_make_versions_without_gaps(service: Service) {
        let ann = service.user("ann").await;
        let id = pattern(&service, &ann, json!({"name": "x"})).await;
        let writes = (0..20).map(|number| save(&service, &ann, &id, json!({"graphData": {"nodes": [node(&format!("n{number}"))], "edges": []}})));
        let mut versions = futures_util::future::join_all(writes).await;
        versions.sort_unstable();
        assert_eq!(versions, (2..=21).collect::<Vec<i64>>());
        let listed = get(&service, &ann, &format!("/api/patterns/{id}/versions")).await;
        let numbers: Vec<i64> = listed.body.as_array().unwrap().iter().map(|version| version["versionNumber"].as_i64().unwrap()).collect();
        assert_eq!(numbers, (1..=21).rev().collect::<Vec<i64>>());
    }

    async fn of_writers_that_are_based_on_one_version_one_wins(service: Service) {
        let ann = service.user("ann").await;
        let id = pattern(&service, &ann, json!({"name": "x"})).await;
        let path = format!("/api/patterns/{id}");
        let body = json!({"versionNumber": 1});
        let writes = (0..10).map(|_| service.put(&path).bearer(&ann.token).json(&body).send());
        let replies = futures_util::future::join_all(writes).await;
        let mut statuses: Vec<u16> = replies.iter().map(|reply| reply.status).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [[200].as_slice(), &[409; 9]].concat());
    }

    async fn a_deleted_pattern_is_gone_with_its_versions(service: Service) {
        let ann = service.user("ann").await;
        let id = pattern(&service, &ann, json!({"name": "x", "tags": ["t"]})).await;
        save(&service, &ann, &id, json!({})).await;
        let path = format!("/api/patterns/{id}");
        let star = service.post(&format!("{path}/star")).bearer(&ann.token).send().await;
        assert_eq!(star.status, 200, "{star}");
        let deleted = service.delete(&path).bearer(&ann.token).send().await;
        assert_eq!((deleted.status, deleted.text.as_str()), (204, ""));
        for path in [path.clone(), format!("{path}/versions"), format!("{path}/export"), format!("{path}/call-interface")] {
            let reply = get(&service, &ann, &path).await;
            assert_eq!((reply.status, reply.code()), (404, "NOT_FOUND"), "{path}");
        }
        let again = service.delete(&path).bearer(&ann.token).send().await;
        assert_eq!((again.status, again.code()), (404, "NOT_FOUND"));
        for table in [
            "select count(*) from pattern_versions",
            "select count(*) from pattern_tags",
            "select count(*) from pattern_stars",
        ] {
            let mut reader = service.app.store.reader().await.unwrap();
            let (left,): (i64,) = reader.db().one(heddle_store::sql(table)).await.unwrap();
            assert_eq!(left, 0, "{table}");
        }
    }

    async fn ids_that_are_none_are_not_found(service: Service) {
        let ann = service.user("ann").await;
        let id = pattern(&service, &ann, json!({"name": "x"})).await;
        for wrong in ["x", "%00", "1", &id.to_uppercase(), &id.replace('-', ""), "00000000-0000-0000-0000-000000000000"] {
            let reply = get(&service, &ann, &format!("/api/patterns/{wrong}")).await;
            assert_eq!((reply.status, reply.code()), (404, "NOT_FOUND"), "{wrong}");
        }
    }

    async fn a_public_pattern_is_read_starred_and_cloned_but_not_changed_by_others(service: Service) {
        let ann = service.user("ann").await;
        let bob = service.user("bob").await;
        let id = pattern(&service, &ann, json!({"name": "x", "isPublic": true})).await;
        let path = format!("/api/patterns/{id}");
        for path in ["", "/export", "/versions", "/versions/compare?v1=1&v2=1", "/call-interface"].map(|end| format!("{path}{end}")) {
            assert_eq!(get(&service, &bob, &path).await.status, 200, "{path}");
        }
        let clone = service.post(&format!("{path}/clone")).bearer(&bob.token).send().await;
        assert_eq!(clone.status, 201, "{clone}");
        let changes = [
            service.put(&path).json(&json!({"name": "mine"})),
            service.delete(&path),
            service.post(&format!("{path}/rollback")).json(&json!({"versionNumber": 1})),
            service.put(&format!("{path}/call-interface")).json(&json!({"inputs": [], "outputs": []})),
            service.delete(&format!("{path}/call-interface")),
        ];
        for change in changes {
            let reply = change.bearer(&bob.token).send().await;
            assert_eq!((reply.status, reply.code()), (403, "FORBIDDEN"), "{reply}");
        }
        assert_eq!(save(&service, &ann, &id, json!({"isPublic": false})).await, 2);
        assert_eq!(get(&service, &bob, &path).await.status, 404);
    }

    async fn members_see_and_editors_change_the_patterns_of_a_workspace(service: Service) {
        let ann = service.user("ann").await;
        let id = pattern(&service, &ann, json!({"name": "x"})).await;
        let path = format!("/api/patterns/{id}");
        let editor = service.member(&ann, "eve", WorkspaceRole::Editor).await;
        let viewer = service.member(&ann, "vic", WorkspaceRole::Viewer).await;
        assert_eq!(get(&service, &viewer, &path).await.status, 200);
        let refused = service.put(&path).bearer(&viewer.token).json(&json!({})).send().await;
        assert_eq!((refused.status, refused.code()), (403, "FORBIDDEN"));
        let refused = service.post("/api/patterns").bearer(&viewer.token).json(&json!({"name": "y"})).send().await;
        assert_eq!((refused.status, refused.code()), (403, "FORBIDDEN"));
        assert_eq!(save(&service, &editor, &id, json!({"name": "z"})).await, 2);
        // Lists hold the caller's own only.
        let listed = get(&service, &editor, "/api/patterns").await;
        assert_eq!(listed.body["meta"]["total"], 0);
    }

    async fn a_star_is_toggled_for_each_user(service: Service) {
        let ann = service.user("ann").await;
        let bob = service.user("bob").await;
        let id = pattern(&service, &ann, json!({"name": "x", "isPublic": true})).await;
        let path = format!("/api/patterns/{id}/star");
        for (user, starred) in [(&ann, true), (&bob, true), (&ann, false), (&ann, true), (&bob, false)] {
            let reply = service.post(&path).bearer(&user.token).send().await;
            assert_eq!((reply.status, &reply.body), (200, &json!({"starred": starred})));
            let read = get(&service, user, &format!("/api/patterns/{id}")).await;
            assert_eq!(read.body["starred"], starred);
        }
        // Ann's star is there: an even number of toggles at once leaves it.
        let toggles = (0..8).map(|_| service.post(&path).bearer(&ann.token).send());
        let replies = futures_util::future::join_all(toggles).await;
        assert_eq!(replies.iter().filter(|reply| reply.body["starred"] == true).count(), 4);
        assert_eq!(get(&service, &ann, &format!("/api/patterns/{id}")).await.body["starred"], true);
        assert_eq!(service.post("/api/patterns/x/star").bearer(&ann.token).send().await.status, 404);
    }

    async fn admins_see_the_figures_of_all(service: Service) {
        let ann = service.user("ann").await;
        let id = pattern(&service, &ann, json!({"name": "x", "isPublic": true})).await;
        save(&service, &ann, &id, json!({"isTemplate": true})).await;
        pattern(&service, &ann, json!({"name": "y"})).await;
        let refused = get(&service, &ann, "/api/patterns/stats").await;
        assert_eq!((refused.status, refused.code()), (403, "FORBIDDEN"));
        let root = service.admin("root").await;
        let stats = get(&service, &root, "/api/patterns/stats").await;
        assert_eq!(
            (stats.status, &stats.body),
            (200, &json!({"totalPatterns": 2, "publicPatterns": 1, "templatePatterns": 1, "totalVersions": 3}))
        );
    }
}
