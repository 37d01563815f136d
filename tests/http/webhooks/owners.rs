//! Webhook endpoints as their owners see and change them.

use super::fixture::{Hook, sign};
use crate::harness::{Service, each_database};
use heddle_model::access::WorkspaceRole;
use serde_json::{Value, json};

fn two(parameters: Value) -> Value {
    json!({"nodes": [
        {"id": "hook", "type": "OnWebhook", "data": {"parameters": parameters}},
        {"id": "other", "type": "OnWebhook", "data": {"label": "Other"}},
        {"id": "mail", "type": "OnEmail", "data": {}},
    ], "edges": []})
}

each_database! {
    async fn endpoints_are_listed_from_the_first_save(service: Service) {
        let hook = Hook::saved(&service, two(json!({"alias": "orders"}))).await;
        let listed = hook.endpoints().await;
        let endpoint = |place: usize, node: &str, alias: &str, status: &str| {
            let given = &listed[place];
            let webhook = given["webhookId"].as_str().unwrap();
            assert_eq!((webhook.len(), given["webhookSecret"].as_str().unwrap().len()), (32, 64));
            json!({
                "id": given["id"], "webhookId": webhook, "nodeId": node, "webhookAlias": alias, "scheme": "heddle",
                "webhookUrl": format!("{}/webhooks/{webhook}", service.app.config.base_url),
                "webhookSecret": given["webhookSecret"], "status": status, "methods": ["POST"], "accept": ["json"], "path": null,
            })
        };
        assert_eq!(listed, [endpoint(0, "hook", "orders", "inactive"), endpoint(1, "other", "Other", "inactive")]);
        assert_ne!(listed[0]["webhookSecret"], listed[1]["webhookSecret"]);

        let deployment = hook.deploy().await;
        let listed = hook.endpoints().await;
        assert!(listed.iter().all(|endpoint| endpoint["status"] == "active"));
        let of_deployment = hook.get(&format!("/api/deployments/{deployment}/webhook")).await;
        assert_eq!(of_deployment.body["data"], json!(listed));
        let one = hook.get(&format!("/api/deployments/{deployment}")).await;
        assert_eq!(one.body["data"]["webhookEndpoints"], json!(listed));
        hook.change(&deployment, "pause").await;
        assert_eq!(hook.endpoints().await[0]["status"], "inactive");
    }

    async fn an_address_outlives_versions_without_its_node(service: Service) {
        let hook = Hook::saved(&service, two(json!({}))).await;
        let before = hook.endpoints().await;
        hook.deploy().await;
        hook.save(json!({"nodes": [], "edges": []})).await;
        // The deployed version has it still.
        assert_eq!(hook.endpoints().await, hook_status(&before, "active"));
        assert_eq!(hook.signed("{}").send().await.status, 202);
        let undeploy = format!("/api/patterns/{}/deploy", hook.pattern);
        service.delete(&undeploy).bearer(&hook.user.token).send().await;
        assert_eq!(hook.endpoints().await, [] as [Value; 0]);
        assert_eq!(hook.signed("{}").send().await.status, 404);
        assert_eq!(hook.log_statuses().await[0], ("not_found".to_owned(), 404));
        // It comes back with its secret.
        let rollback = format!("/api/patterns/{}/rollback", hook.pattern);
        let rolled = service.post(&rollback).bearer(&hook.user.token).json(&json!({"versionNumber": 2})).send().await;
        assert_eq!(rolled.status, 200, "{rolled}");
        assert_eq!(hook.endpoints().await, before);
        assert_eq!(hook.signed("{}").send().await.status, 202);
    }

    async fn a_clone_has_addresses_and_secrets_of_its_own(service: Service) {
        let hook = Hook::saved(&service, two(json!({}))).await;
        let path = format!("/api/patterns/{}/clone", hook.pattern);
        let cloned = service.post(&path).bearer(&hook.user.token).send().await;
        assert_eq!(cloned.status, 201, "{cloned}");
        let listed = hook.get(&format!("/api/patterns/{}/webhooks", cloned.body["id"].as_str().unwrap())).await;
        let (own, others) = (hook.endpoints().await, &listed.body["data"]["endpoints"]);
        assert_eq!(others.as_array().unwrap().len(), 2);
        for field in ["webhookId", "webhookSecret", "id"] {
            assert_ne!(own[0][field], others[0][field]);
        }
    }

    async fn another_secret_takes_effect_at_once(service: Service) {
        let hook = Hook::saved(&service, two(json!({}))).await;
        let deployment = hook.deploy().await;
        assert_eq!(hook.signed("{}").send().await.status, 202);
        let path = format!("/api/deployments/{deployment}/webhook/regenerate");
        let regenerate = |body: Value| service.post(&path).bearer(&hook.user.token).json(&body).send();
        let regenerated = regenerate(json!({"endpointId": hook.endpoint})).await;
        assert_eq!(regenerated.status, 200, "{regenerated}");
        let secret = regenerated.body["data"]["webhookSecret"].as_str().unwrap();
        assert_eq!(regenerated.body["data"], json!({"webhookSecret": secret}));
        assert_eq!(hook.signed("{}").send().await.status, 401);
        let signed = |secret: &str| hook.post("{}").header("x-webhook-signature", &sign(secret, "{}")).send();
        assert_eq!(signed(secret).await.status, 202);
        assert_eq!(hook.endpoints().await[0]["webhookSecret"], secret);
        // A secret that the sender has made.
        let given = regenerate(json!({"endpointId": hook.endpoint, "secret": "whsec_given by Stripe"})).await;
        assert_eq!(given.body["data"]["webhookSecret"], "whsec_given by Stripe");
        assert_eq!(signed("whsec_given by Stripe").await.status, 202);

        for (body, status, code) in [
            (json!({}), 400, "VALIDATION"),
            (json!({"endpointId": hook.endpoint, "secret": "short"}), 400, "VALIDATION"),
            (json!({"endpointId": hook.endpoint, "secret": "two\nlines"}), 400, "VALIDATION"),
            (json!({"endpointId": "nonsense"}), 404, "NOT_FOUND"),
            (json!({"endpointId": hook.user.id}), 404, "NOT_FOUND"),
        ] {
            let refused = regenerate(body).await;
            assert_eq!((refused.status, refused.code()), (status, code), "{refused}");
        }
    }

    async fn one_endpoint_is_found_by_its_id(service: Service) {
        let hook = Hook::saved(&service, two(json!({}))).await;
        let deployment = hook.deploy().await;
        let path = format!("/api/deployments/{deployment}/webhook");
        assert_eq!(hook.get(&path).await.data(200).as_array().unwrap().len(), 2);
        let found = hook.get(&format!("{path}?endpointId={}", hook.endpoint)).await;
        let ids: Vec<&Value> = found.data(200).as_array().unwrap().iter().map(|endpoint| &endpoint["id"]).collect();
        assert_eq!(ids, [&json!(hook.endpoint)]);
        let unknown = hook.get(&format!("{path}?endpointId={}", "0".repeat(64))).await;
        assert_eq!(unknown.data(200), &json!([]));
        let long = hook.get(&format!("{path}?endpointId={}", "0".repeat(65))).await;
        assert_eq!(long.wrong_fields(), ["endpointId"], "{long}");
    }

    async fn viewers_see_no_secrets(service: Service) {
        let hook = Hook::saved(&service, two(json!({}))).await;
        let deployment = hook.deploy().await;
        let viewer = service.member(&hook.user, "viewer", WorkspaceRole::Viewer).await;
        let get = |path: String| service.get(&path).bearer(&viewer.token).send();
        let listed = get(format!("/api/patterns/{}/webhooks", hook.pattern)).await;
        assert_eq!(listed.body["data"]["endpoints"][0]["webhookSecret"], json!(null));
        let listed = get(format!("/api/deployments/{deployment}")).await;
        assert_eq!(listed.body["data"]["webhookEndpoints"][0]["webhookSecret"], json!(null));
        let snippets = format!("/api/deployments/{deployment}/webhook/snippets?endpointId={}", hook.endpoint);
        assert_eq!(get(snippets).await.status, 403);
    }

    async fn a_deleted_patterns_webhooks_are_gone(service: Service) {
        let hook = Hook::deployed(&service, two(json!({}))).await;
        assert_eq!(hook.signed("{}").send().await.status, 202);
        let path = format!("/api/patterns/{}", hook.pattern);
        assert_eq!(service.delete(&path).bearer(&hook.user.token).send().await.status, 204);
        assert_eq!(hook.signed("{}").send().await.status, 404);
    }
}

fn hook_status(endpoints: &[Value], status: &str) -> Vec<Value> {
    let with = |endpoint: &Value| {
        let mut endpoint = endpoint.clone();
        endpoint["status"] = status.into();
        endpoint
    };
    endpoints.iter().map(with).collect()
}
