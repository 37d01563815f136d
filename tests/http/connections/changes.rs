//! Connections that are changed, the kinds that there are, and what uses them.

use super::{api_key, environment, environments, listed, map, opened, post};
use crate::harness::{Reply, Service, User, chain, each_database};
use heddle_model::access::WorkspaceRole;
use serde_json::{Value, json};
use std::time::Duration;

async fn patch(service: &Service, user: &User, connection: &Value, body: Value) -> Reply {
    let path = format!("/api/connections/{}", connection["id"].as_str().unwrap());
    service
        .request("PATCH", &path)
        .bearer(&user.token)
        .json(&body)
        .send()
        .await
}

async fn get(service: &Service, user: &User, connection: &Value, what: &str) -> Reply {
    let path = format!("/api/connections/{}/{what}", connection["id"].as_str().unwrap());
    service.get(&path).bearer(&user.token).send().await
}

each_database! {
    async fn what_is_not_sent_stays_and_seeded_secrets_follow(service: Service) {
        let ann = service.user("ann").await;
        let staging = environment(&service, &ann, "staging").await;
        let production = environments(&service, &ann).await.remove(0);
        let body = json!({
            "provider": "db", "credentials": {"user": "u", "password": "p", "host": "h"}, "displayName": "Shop"
        });
        let made = post(&service, &ann, "/api/connections/credentials", body).await.body;
        // Set by hand in one environment: it is the connection's no more.
        let workspace = service.workspace_of(&ann).await;
        let path = format!("/api/workspaces/{workspace}/environments/{staging}/secrets/DB_USER");
        service.put(&path).bearer(&ann.token).json(&json!({"value": "by hand"})).send().await.data(200);
        service.app.clock.advance(Duration::from_secs(60));

        let body = json!({"credentials": {"password": "newer", "host": null, "port": 5432}, "hosts": ["db.example.com"]});
        let changed = patch(&service, &ann, &made, body).await;
        assert_eq!((changed.status, &changed.body), (200, &json!({
            "id": made["id"], "provider": "db", "displayName": "Shop", "type": "credentials", "status": "active",
            "createdAt": made["createdAt"], "updatedAt": "2026-11-21T09:01:00.000Z",
        })));
        assert_eq!(get(&service, &ann, &made, "fields").await.body, json!({"fields": ["password", "port", "user"]}));
        assert_eq!(opened(&service, &production).await, map(&[
            ("DB_PASSWORD", "newer"), ("DB_PORT", "5432"), ("DB_USER", "u"),
        ]));
        assert_eq!(opened(&service, &staging).await, map(&[
            ("DB_PASSWORD", "newer"), ("DB_PORT", "5432"), ("DB_USER", "by hand"),
        ]));

        let renamed = patch(&service, &ann, &made, json!({"displayName": " Shop EU "})).await;
        assert_eq!((renamed.status, &renamed.body["displayName"]), (200, &json!("Shop EU")));
        let path = format!("/api/connections/{}", made["id"].as_str().unwrap());
        let detail = service.get(&path).bearer(&ann.token).send().await;
        assert_eq!(detail.body["hosts"], json!(["db.example.com"]), "hosts that were not sent stay");
        assert_eq!(opened(&service, &production).await["DB_PASSWORD"], "newer");
        assert!(!renamed.text.contains("newer") && !detail.text.contains("newer"));
    }

    async fn a_change_that_is_wrong_changes_nothing(service: Service) {
        let ann = service.user("ann").await;
        let made = api_key(&service, &ann, "github", "first").await;
        let many: Value = (0..51).map(|number| (format!("f{number}"), json!("x"))).collect::<serde_json::Map<_, _>>().into();
        for (body, field) in [
            (json!({"displayName": ""}), "displayName"),
            (json!({"displayName": 7}), "displayName"),
            (json!({"credentials": []}), "credentials"),
            (json!({"credentials": {"apiKey": null}}), "credentials"),
            (json!({"credentials": many}), "credentials"),
            (json!({"credentials": {"apiKey": ""}}), "credentials.apiKey"),
            (json!({"credentials": {"apiKey": {}}}), "credentials.apiKey"),
            (json!({"credentials": {"!": "x"}}), "provider"),
            (json!({"hosts": ["https://a"]}), "hosts[0]"),
        ] {
            let reply = patch(&service, &ann, &made, body).await;
            assert_eq!(reply.wrong_fields(), [field]);
        }
        let environment = environments(&service, &ann).await.remove(0);
        assert_eq!(opened(&service, &environment).await, map(&[("GITHUB_API_KEY", "first")]));
        let (viewer, eve) = (service.member(&ann, "viewer", WorkspaceRole::Viewer).await, service.user("eve").await);
        let body = json!({"displayName": "x"});
        patch(&service, &viewer, &made, body.clone()).await.assert_refused(403, "FORBIDDEN");
        patch(&service, &eve, &made, body).await.assert_refused(404, "NOT_FOUND");
        for what in ["fields", "uses"] {
            get(&service, &eve, &made, what).await.assert_refused(404, "NOT_FOUND");
        }
        assert_eq!(listed(&service, &ann).await[0]["displayName"], "github");
    }

    async fn the_nodes_that_use_a_connection_are_found_in_what_is_newest_and_what_is_deployed(service: Service) {
        let ann = service.user("ann").await;
        let shop = api_key(&service, &ann, "shop", "x").await;
        let by = |reference: &str| chain(&[
            ("start", "OnManual", json!({})),
            ("ask", "HttpRequest", json!({"url": "https://shop.example/", "connection": reference})),
        ]);
        let deployed = service.drawn(&ann, &by("shop")).await;
        service.deploy(&ann, &deployed).await;
        service.redrawn(&ann, &deployed, &by("another")).await;
        let id = shop["id"].as_str().unwrap();
        let drawn = service.drawn(&ann, &by(id)).await;
        // The text alone is no use of it.
        service.drawn(&ann, &chain(&[("start", "OnManual", json!({})), ("set", "Transform", json!({"value": id}))])).await;
        let reply = get(&service, &ann, &shop, "uses").await;
        assert_eq!(reply.status, 200, "{reply}");
        let node = |reference: &str| json!([{"nodeId": "ask", "type": "HttpRequest", "reference": reference}]);
        let mut uses = reply.body["uses"].as_array().unwrap().clone();
        uses.sort_by_key(|it| it["isNewest"].as_bool());
        assert_eq!(reply.body["isPartial"], false);
        let names = (uses[0]["patternName"].clone(), uses[1]["patternName"].clone());
        assert_eq!(uses, [
            json!({"patternId": deployed, "patternName": names.0, "versionNumber": uses[0]["versionNumber"],
                   "isNewest": false, "isDeployed": true, "nodes": node("shop")}),
            json!({"patternId": drawn, "patternName": names.1, "versionNumber": uses[1]["versionNumber"],
                   "isNewest": true, "isDeployed": false, "nodes": node(id)}),
        ], "{reply}");
        // A newer one of the same provider is what `shop` means from now on.
        let newer = api_key(&service, &ann, "shop", "y").await;
        let uses = get(&service, &ann, &newer, "uses").await;
        assert_eq!(uses.body["uses"].as_array().unwrap().len(), 1, "{uses}");
        assert_eq!(uses.body["uses"][0]["patternId"], json!(deployed));
        let uses = get(&service, &ann, &shop, "uses").await;
        assert_eq!(uses.body["uses"][0]["patternId"], json!(drawn));
    }

    async fn kinds_have_schemas_that_forms_are_made_of(service: Service) {
        let ann = service.user("ann").await;
        let reply = service.get("/api/connections/kinds").bearer(&ann.token).send().await;
        assert_eq!(reply.status, 200, "{reply}");
        let kinds = reply.body["kinds"].as_array().unwrap();
        let bearer = &kinds[0];
        assert_eq!(bearer["id"], "http-bearer");
        assert_eq!((&bearer["leadsTo"], &bearer["provider"]), (&json!("http"), &Value::Null));
        assert_eq!(bearer["schema"]["required"], json!(["apiKey"]));
        assert_eq!(bearer["schema"]["properties"]["apiKey"], json!({
            "type": "string", "title": "API key", "maxLength": 65536, "writeOnly": true, "format": "password",
        }));
        let postgres = kinds.iter().find(|kind| kind["id"] == "postgres").unwrap();
        assert_eq!(postgres["provider"], "postgres");
        let tls = &postgres["schema"]["properties"]["tls"];
        assert_eq!((&tls["default"], &tls["enum"]), (&json!("verify"), &json!(["verify", "require", "prefer", "none"])));
    }
}
