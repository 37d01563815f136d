//! Lists of patterns: search, filters, order, pages.

use super::{NOW, get, pattern, save};
use crate::harness::{Service, User, doubling, each_database};
use heddle_model::access::WorkspaceRole;
use serde_json::{Value, json};
use std::time::Duration;

async fn names(service: &Service, user: &User, query: &str) -> Vec<String> {
    let reply = get(service, user, &format!("/api/patterns{query}")).await;
    assert_eq!(reply.status, 200, "{query}: {reply}");
    let page = reply.body["data"].as_array().unwrap();
    page.iter()
        .map(|pattern| pattern["name"].as_str().unwrap().to_owned())
        .collect()
}

async fn named(service: &Service, user: &User, names: &[&str]) {
    for name in names {
        pattern(service, user, json!({"name": name})).await;
        service.app.clock.advance(Duration::from_secs(1));
    }
}

each_database! {
    async fn a_page_has_summaries_and_tells_where_it_is(service: Service) {
        let ann = service.user("ann").await;
        let id = pattern(&service, &ann, json!({"name": "Orders", "description": "d", "tags": ["t"]})).await;
        let reply = get(&service, &ann, "/api/patterns").await;
        let timestamp = reply.body["timestamp"].clone();
        assert!(timestamp.is_string());
        assert_eq!((reply.status, &reply.body), (200, &json!({
            "success": true,
            "data": [{
                "id": id, "name": "Orders", "description": "d", "isPublic": false, "isTemplate": false, "tags": ["t"],
                "createdAt": NOW, "updatedAt": NOW
            }],
            "meta": {"total": 1, "limit": 20, "offset": 0},
            "timestamp": timestamp
        })));
    }

    async fn a_search_ignores_case_in_all_scripts(service: Service) {
        let ann = service.user("ann").await;
        named(&service, &ann, &["Straße nach Süden", "ΟΔΥΣΣΕΥΣ", "Ёлка", "plain"]).await;
        for (search, found) in [
            ("STRASSE", "Straße nach Süden"),
            ("sÜD", "Straße nach Süden"),
            ("Οδυσσεύς".trim_end_matches("εύς"), "ΟΔΥΣΣΕΥΣ"),
            ("οδυσσευς", "ΟΔΥΣΣΕΥΣ"),
            ("ёЛК", "Ёлка"),
            ("PLAIN", "plain"),
        ] {
            let query: String = form_urlencoded::Serializer::new(String::new()).append_pair("search", search).finish();
            assert_eq!(names(&service, &ann, &format!("?{query}")).await, [found], "{search}");
        }
    }

    async fn a_search_takes_every_character_literally(service: Service) {
        let ann = service.user("ann").await;
        named(&service, &ann, &["100% sure", "1000 sure", "a_b", "axb", "wow!", "c:\\dir", "it's", "[x]*?"]).await;
        for (search, found) in [
            ("0%25", vec!["100% sure"]),
            ("a_b", vec!["a_b"]),
            ("!", vec!["wow!"]),
            ("%5C", vec!["c:\\dir"]),
            ("'", vec!["it's"]),
            ("]*?", vec!["[x]*?"]),
            ("%25%25", vec![]),
            ("sure", vec!["1000 sure", "100% sure"]),
        ] {
            assert_eq!(names(&service, &ann, &format!("?search={search}")).await, found, "{search}");
        }
    }

    async fn repeated_tags_must_all_be_there(service: Service) {
        let ann = service.user("ann").await;
        let id = pattern(&service, &ann, json!({"name": "ab", "tags": ["a", "b"]})).await;
        pattern(&service, &ann, json!({"name": "a", "tags": ["a"]})).await;
        assert_eq!(names(&service, &ann, "?tags=a&sortBy=name").await, ["a", "ab"]);
        assert_eq!(names(&service, &ann, "?tags=a&tags=b").await, ["ab"]);
        assert_eq!(names(&service, &ann, "?tags=a&tags=c").await, [""; 0]);
        assert_eq!(names(&service, &ann, "?tags=A").await, [""; 0]);
        save(&service, &ann, &id, json!({"tags": ["c"]})).await;
        assert_eq!(names(&service, &ann, "?tags=b").await, [""; 0]);
        assert_eq!(names(&service, &ann, "?tags=c").await, ["ab"]);
    }

    async fn public_ones_and_templates_can_be_asked_for(service: Service) {
        let ann = service.user("ann").await;
        pattern(&service, &ann, json!({"name": "public", "isPublic": true})).await;
        pattern(&service, &ann, json!({"name": "template", "isTemplate": true})).await;
        assert_eq!(names(&service, &ann, "?isPublic=true").await, ["public"]);
        assert_eq!(names(&service, &ann, "?isPublic=false").await, ["template"]);
        assert_eq!(names(&service, &ann, "?isTemplate=true").await, ["template"]);
        assert_eq!(names(&service, &ann, "?isTemplate=false&isPublic=true&search=PUB").await, ["public"]);
    }

    async fn the_order_is_newest_first_or_what_is_asked_for(service: Service) {
        let ann = service.user("ann").await;
        let first = pattern(&service, &ann, json!({"name": "b"})).await;
        service.app.clock.advance(Duration::from_secs(1));
        named(&service, &ann, &["C", "a", "Ä"]).await;
        save(&service, &ann, &first, json!({})).await;
        for (query, order) in [
            ("", ["Ä", "a", "C", "b"]),
            ("?sortOrder=asc", ["b", "C", "a", "Ä"]),
            ("?sortBy=name", ["a", "b", "C", "Ä"]),
            ("?sortBy=name&sortOrder=desc", ["Ä", "C", "b", "a"]),
            ("?sortBy=updatedAt", ["b", "Ä", "a", "C"]),
            ("?sortBy=updatedAt&sortOrder=asc", ["C", "a", "Ä", "b"]),
            ("?sortBy=createdAt&sortOrder=desc", ["Ä", "a", "C", "b"]),
        ] {
            assert_eq!(names(&service, &ann, query).await, order, "{query}");
        }
    }

    async fn pages_follow_each_other_and_limits_are_clamped(service: Service) {
        let ann = service.user("ann").await;
        for number in 0..23 {
            pattern(&service, &ann, json!({"name": format!("{number:02}")})).await;
        }
        let meta = async |query: &str| -> (usize, Value) {
            let reply = get(&service, &ann, &format!("/api/patterns{query}")).await;
            (reply.body["data"].as_array().map_or(0, Vec::len), reply.body["meta"].clone())
        };
        assert_eq!(meta("").await, (20, json!({"total": 23, "limit": 20, "offset": 0})));
        assert_eq!(meta("?limit=1000").await, (23, json!({"total": 23, "limit": 100, "offset": 0})));
        assert_eq!(meta("?limit=5&offset=20").await, (3, json!({"total": 23, "limit": 5, "offset": 20})));
        assert_eq!(meta("?offset=23").await, (0, json!({"total": 23, "limit": 20, "offset": 23})));
        assert_eq!(meta("?search=1&limit=2").await, (2, json!({"total": 12, "limit": 2, "offset": 0})));
        let mut all = Vec::new();
        for offset in [0, 10, 20] {
            all.extend(names(&service, &ann, &format!("?limit=10&offset={offset}")).await);
        }
        all.sort();
        assert_eq!(all, (0..23).map(|number| format!("{number:02}")).collect::<Vec<_>>());
    }

    async fn a_query_that_can_not_be_understood_is_refused_by_name(service: Service) {
        let ann = service.user("ann").await;
        let long = format!("search={}", "x".repeat(201));
        for (query, path) in [
            ("limit=0", "limit"),
            ("limit=-1", "limit"),
            ("limit=x", "limit"),
            ("limit=99999999999999999999", "limit"),
            ("offset=-1", "offset"),
            ("isPublic=1", "isPublic"),
            ("isTemplate=yes", "isTemplate"),
            ("sortBy=owner", "sortBy"),
            ("sortOrder=down", "sortOrder"),
            ("search=%00", "search"),
            ("tags=%00", "tags"),
            (long.as_str(), "search"),
        ] {
            let reply = get(&service, &ann, &format!("/api/patterns?{query}")).await;
            assert_eq!((reply.status, reply.code()), (400, "VALIDATION"), "{query}: {reply}");
            assert_eq!(reply.body["error"]["details"][0]["path"], path, "{query}: {reply}");
        }
    }

    async fn a_list_of_the_workspace_tells_what_is_deployed_and_whose_it_is(service: Service) {
        let ann = service.user("ann").await;
        let bob = service.member(&ann, "bob", WorkspaceRole::Editor).await;
        let eve = service.user("eve").await;
        pattern(&service, &eve, json!({"name": "elsewhere", "isPublic": true})).await;
        let hers = service.drawn(&ann, &doubling()).await;
        let deployment = service.deploy(&ann, &hers).await;
        service.app.clock.advance(Duration::from_secs(1));
        let his = pattern(&service, &bob, json!({"name": "His"})).await;
        service.post(&format!("/api/patterns/{his}/star")).bearer(&ann.token).send().await;

        assert_eq!(names(&service, &ann, "?owner=me").await, ["Pattern"]);
        let listed = async || {
            let reply = get(&service, &ann, "/api/patterns?owner=workspace").await;
            assert_eq!(reply.body["meta"], json!({"total": 2, "limit": 20, "offset": 0}), "{reply}");
            let overview = |at: usize| reply.body["data"][at]["overview"].clone();
            assert_eq!((&reply.body["data"][0]["id"], &reply.body["data"][1]["id"]), (&json!(his), &json!(hers)));
            (overview(0), overview(1))
        };
        let (of_his, of_hers) = listed().await;
        assert_eq!(of_his, json!({
            "owner": {"id": bob.id, "firstName": "bob", "lastName": "Test"}, "versionNumber": 1, "starred": true,
            "deployment": null,
        }));
        assert_eq!(of_hers, json!({
            "owner": {"id": ann.id, "firstName": "ann", "lastName": "Test"}, "versionNumber": 2, "starred": false,
            "deployment": {
                "id": deployment, "status": "active", "versionNumber": 2, "errorMessage": null,
                "triggers": [{"type": "OnManual", "nodeId": "start"}], "lastRun": null, "recentRuns": [],
            },
        }));
        let first = service.ran(&ann, &deployment, &json!({"n": 1})).await;
        service.app.clock.advance(Duration::from_secs(1));
        let last = service.ran(&ann, &deployment, &json!({"fail": true})).await;
        let (_, of_hers) = listed().await;
        let recent = of_hers["deployment"]["recentRuns"].as_array().unwrap();
        let recent: Vec<_> = recent.iter().map(|run| (&run["id"], &run["status"])).collect();
        assert_eq!(recent, [(&json!(last), &json!("failure")), (&json!(first), &json!("success"))]);
        let shown = &of_hers["deployment"]["lastRun"];
        assert_eq!(shown, &json!({
            "id": last, "status": "failure", "startedAt": "2026-11-21T09:00:02.000Z", "durationMs": shown["durationMs"],
        }));

        assert_eq!(names(&service, &ann, "?owner=workspace&sortBy=name&search=h").await, ["His"]);
        assert_eq!(names(&service, &eve, "?owner=workspace").await, ["elsewhere"]);
        let reply = get(&service, &ann, "/api/patterns?owner=everybody").await;
        assert_eq!(reply.wrong_fields(), ["owner"]);
    }

    async fn a_list_holds_the_callers_own_only(service: Service) {
        let ann = service.user("ann").await;
        let bob = service.user("bob").await;
        pattern(&service, &ann, json!({"name": "hers", "isPublic": true})).await;
        pattern(&service, &bob, json!({"name": "his"})).await;
        assert_eq!(names(&service, &ann, "").await, ["hers"]);
        assert_eq!(names(&service, &bob, "?isPublic=true").await, [""; 0]);
    }
}
