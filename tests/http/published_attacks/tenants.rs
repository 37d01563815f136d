//! What one tenant, or one role, gets at of another's: runs, credentials by name, by copies and by calls, rights.

use super::{all_of, row};
use crate::harness::{Reply, Service, User, chain, each_database, endless};
use crate::sessions::claims;
use crate::webhooks::fixture::{Hook, graph, returns};
use heddle_model::access::WorkspaceRole;
use serde_json::{Value, json};

const SECRET: &str = "the-owners-key";

/// The owner's secret and connection; the connection's id.
async fn give_secrets(service: &Service, owner: &User) -> String {
    let workspace = claims(&owner.token)["workspaceId"].as_str().unwrap().to_owned();
    let path = format!("/api/workspaces/{workspace}/environments");
    let environments = service.ask(owner, "GET", &path, &Value::Null).await;
    let environment = environments.data(200)[0]["id"].as_str().unwrap().to_owned();
    let secret = service
        .ask(
            owner,
            "PUT",
            &format!("{path}/{environment}/secrets/TOKEN"),
            &json!({"value": SECRET}),
        )
        .await;
    assert_eq!(secret.status, 200, "{secret}");
    let body = json!({"provider": "shop", "apiKey": SECRET, "displayName": "Shop"});
    let made = service
        .ask(owner, "POST", "/api/connections/api-key", &body)
        .await;
    assert_eq!(made.status, 201, "{made}");
    made.body["id"].as_str().unwrap().to_owned()
}

/// Signs with a secret: the output follows from its value.
fn signing() -> Value {
    chain(&[
        ("start", "OnManual", json!({})),
        (
            "sign",
            "Hmac",
            json!({"value": "text", "secret": "{{ $secrets.TOKEN }}"}),
        ),
        ("end", "Return", json!({})),
    ])
}

fn code_of(outcome: &Value) -> &str {
    outcome["error"]["code"].as_str().unwrap_or_default()
}

fn refused(number: &str, reply: &Reply, statuses: &[u16]) {
    assert!(statuses.contains(&reply.status), "{number}: {reply}");
    assert!(!reply.text.contains(SECRET), "{number}: {reply}");
}

each_database! {
    /// CVE-2026-33663 (credentials are found by name, whoever they belong to), CVE-2026-72763, CVE-2026-110844, CVE-2026-110850 and
    /// CVE-2026-110853 (by an id within a sub-workflow), CVE-2026-54305, CVE-2026-54307.
    async fn credentials_are_found_in_the_own_workspace_only(service: Service) {
        let (ann, eve) = (service.user("ann").await, service.user("eve").await);
        let connection = give_secrets(&service, &ann).await;
        let own = service.output_of(&ann, &signing(), &json!({})).await;
        assert!(own.is_string(), "the owner's own pattern has it: {own}");

        let by = |reference: &str| chain(&[
            ("start", "OnManual", json!({})),
            ("call", "HttpRequest", json!({"url": "https://example.invalid/", "connection": reference})),
            ("end", "Return", json!({})),
        ]);
        for reference in [connection.as_str(), "Shop", "shop", "{{ 'Sh' + 'op' }}", "../ann/shop"] {
            let deployment = service.deployed(&eve, &by(reference)).await;
            let outcome = service.outcome_of(&eve, &deployment, &json!({})).await;
            assert_eq!(code_of(&outcome), "CONNECTION_MISSING", "{reference}: {outcome}");
        }
        let deployment = service.deployed(&eve, &signing()).await;
        let outcome = service.outcome_of(&eve, &deployment, &json!({})).await;
        assert_eq!(code_of(&outcome), "CONNECTION_MISSING", "{outcome}");

        // A copy of a public pattern, an export and an import have the copier's.
        let public = service.drawn(&ann, &signing()).await;
        service.ask(&ann, "PUT", &format!("/api/patterns/{public}"), &json!({"isPublic": true})).await;
        let cloned = service.ask(&eve, "POST", &format!("/api/patterns/{public}/clone"), &json!({})).await;
        assert_eq!(cloned.status, 201, "{cloned}");
        let mut file = service.ask(&eve, "GET", &format!("/api/patterns/{public}/export"), &Value::Null).await.body;
        let annotations = json!({
            "workspaceId": claims(&ann.token)["workspaceId"], "userId": ann.id, "ownerId": ann.id, "id": public, "isPublic": false,
            "environmentId": null, "connections": [connection],
        });
        for (name, value) in annotations.as_object().unwrap() {
            file[name] = value.clone();
        }
        let imported = service.ask(&eve, "POST", "/api/patterns/import", &file).await;
        assert_eq!(imported.status, 201, "{imported}");
        assert_ne!(imported.body["id"], public.as_str());
        for copy in [cloned.body["id"].as_str().unwrap(), imported.body["id"].as_str().unwrap()] {
            let deployment = service.deploy(&eve, copy).await;
            let outcome = service.outcome_of(&eve, &deployment, &json!({})).await;
            assert_eq!(code_of(&outcome), "CONNECTION_MISSING", "{outcome}");
        }
        let listed = service.ask(&ann, "GET", "/api/patterns", &Value::Null).await;
        assert_eq!(listed.body["meta"]["total"], 2, "nothing was put into the owner's workspace: {listed}");
    }

    /// The same by a call of the owner's pattern, which would execute with the owner's secrets, and by its errors.
    async fn another_tenant_s_pattern_is_not_called(service: Service) {
        service.app.executions.start().await.unwrap();
        let (ann, eve) = (service.user("ann").await, service.user("eve").await);
        give_secrets(&service, &ann).await;
        let mut callee = signing();
        callee["nodes"][0]["type"] = json!("OnCall");
        let pattern = service.drawn(&ann, &callee).await;
        let called = service.deploy(&ann, &pattern).await;
        service.ask(&ann, "PUT", &format!("/api/patterns/{pattern}"), &json!({"isPublic": true})).await;
        let other_case = pattern.to_uppercase();
        for target in [pattern.as_str(), other_case.as_str(), &format!(" {pattern}"), &format!("{{{{ {} }}}}", json!(pattern))] {
            for version in ["deployed", "latest"] {
                let graph = chain(&[
                    ("start", "OnManual", json!({})),
                    ("call", "CallPattern", json!({"patternId": target, "version": version})),
                    ("end", "Return", json!({})),
                ]);
                let id = service.drawn(&eve, &graph).await;
                let path = format!("/api/patterns/{id}/deploy");
                let deployed = service.ask(&eve, "POST", &path, &json!({"nodeDefinitions": {}})).await;
                if deployed.status == 422 {
                    continue;
                }
                let deployment = deployed.data(200)["deploymentId"].as_str().unwrap().to_owned();
                let outcome = service.outcome_of(&eve, &deployment, &json!({})).await;
                assert!(!code_of(&outcome).is_empty() && outcome["output"].is_null(), "{target} {version}: {outcome}");
            }
        }
        let runs = service.ask(&ann, "GET", &format!("/api/deployments/{called}/runs"), &Value::Null).await;
        assert_eq!(runs.body["meta"]["total"], 0, "{runs}");
    }

    /// CVE-2025-52554: somebody else's run is stopped by its id.
    async fn another_s_run_is_not_stopped(service: Service) {
        let (ann, eve) = (service.user("ann").await, service.user("eve").await);
        let deployment = service.deployed(&ann, &endless()).await;
        let run = service.started(&ann, &deployment, &json!({})).await;
        let own = service.deployed(&eve, &endless()).await;
        for deployment in [&deployment, &own] {
            for operation in ["cancel", "retry", "replay"] {
                let path = format!("/api/deployments/{deployment}/runs/{run}/{operation}");
                refused("CVE-2025-52554", &service.ask(&eve, "POST", &path, &Value::Null).await, &[404]);
            }
            refused("CVE-2025-52554", &service.ask(&eve, "GET", &format!("/api/deployments/{deployment}/runs/{run}"), &Value::Null).await, &[404]);
        }
        assert_eq!(service.run(&ann, &deployment, &run).await["status"], "running");
    }

    /// CVE-2026-56350 (a field of one's own settings that only others may change), CVE-2026-22683, CVE-2026-72542 (Windmill's operators),
    /// GHSA-h3jj-5f3v-3685 (who may read may also retry).
    async fn no_field_and_no_other_way_gives_a_right(service: Service) {
        let account = json!({
            "email": "eve@example.com", "firstName": "Eve", "lastName": "X", "password": "correct-horse", "role": "admin",
            "globalRole": {"id": 1}, "isAdmin": true, "workspaceRole": "owner", "id": "00000000-0000-7000-8000-000000000000", "token": "x",
        });
        let registered = service.post("/api/auth/register").json(&account).send().await;
        let data = registered.data(201);
        assert_eq!(data["user"]["role"], "user", "{registered}");
        let eve = User { id: data["user"]["id"].as_str().unwrap().to_owned(), token: data["token"].as_str().unwrap().to_owned() };
        assert_ne!(eve.id, account["id"].as_str().unwrap());
        refused("CVE-2026-56350", &service.ask(&eve, "GET", "/api/patterns/stats", &Value::Null).await, &[403]);
        let patched = json!({"firstName": "Eve", "role": "admin", "id": account["id"], "email": "ann@example.com", "emailVerified": true});
        let patched = service.ask(&eve, "PATCH", "/api/auth/me", &patched).await;
        if patched.status == 200 {
            let me = service.ask(&eve, "GET", "/api/auth/me", &Value::Null).await;
            let kept = (&me.data(200)["role"], &me.data(200)["id"], &me.data(200)["email"], &me.data(200)["emailVerified"]);
            assert_eq!(kept, (&json!("user"), &json!(eve.id), &json!("eve@example.com"), &json!(false)), "CVE-2026-56350: {me}");
        } else {
            refused("CVE-2026-56350", &patched, &[400]);
        }
        for (method, path) in [("PUT", "/api/auth/me"), ("PATCH", "/api/users/me"), ("POST", "/api/auth/me")] {
            refused("CVE-2026-56350", &service.ask(&eve, method, path, &json!({"role": "admin"})).await, &[404, 405]);
        }
        let refreshed = service.ask(&eve, "POST", "/api/auth/refresh", &json!({"role": "admin", "workspaceRole": "owner"})).await;
        assert_eq!(claims(refreshed.data(200)["token"].as_str().unwrap())["role"], "user");

        let ann = service.user("ann").await;
        let viewer = service.member(&ann, "viewer", WorkspaceRole::Viewer).await;
        let pattern = service.drawn(&ann, &signing()).await;
        let deployment = service.deploy(&ann, &pattern).await;
        let run = service.ran(&ann, &deployment, &json!({})).await;
        let workspace = claims(&ann.token)["workspaceId"].as_str().unwrap().to_owned();
        let of = format!("/api/deployments/{deployment}");
        for (number, method, path, body) in [
            ("GHSA-h3jj-5f3v-3685", "POST", format!("{of}/runs/{run}/retry"), Value::Null),
            ("GHSA-h3jj-5f3v-3685", "POST", format!("{of}/runs/{run}/replay"), Value::Null),
            ("GHSA-h3jj-5f3v-3685", "POST", format!("{of}/execute"), json!({"eventData": {}})),
            ("CVE-2026-72542", "POST", format!("{of}/runs/{run}/cancel"), Value::Null),
            ("CVE-2026-22683", "POST", format!("/api/workspaces/{workspace}/members"), json!({"email": "eve@example.com", "role": "owner"})),
            ("CVE-2026-22683", "PATCH", format!("/api/workspaces/{workspace}/members/{}", viewer.id), json!({"role": "owner"})),
            ("CVE-2026-22683", "PATCH", format!("/api/workspaces/{workspace}"), json!({"name": "mine"})),
        ] {
            refused(number, &service.ask(&viewer, method, &path, &body).await, &[403]);
        }
        let runs = service.ask(&ann, "GET", &format!("{of}/runs"), &Value::Null).await;
        assert_eq!(runs.body["meta"]["total"], 1, "{runs}");
    }

    /// CVE-2026-33722: a credential that names a vault's secret is stored with its value.
    async fn a_stored_credential_names_nothing_else(service: Service) {
        let ann = service.user("ann").await;
        give_secrets(&service, &ann).await;
        for reference in ["{{ $secrets.TOKEN }}", "$secrets.TOKEN", "heddle-secret(TOKEN;0)", "${TOKEN}", "{{ $env.PATH }}"] {
            let body = json!({"provider": "copy", "credentials": {"token": reference, "user": reference}});
            let made = service.ask(&ann, "POST", "/api/connections/credentials", &body).await;
            refused("CVE-2026-33722", &made, &[201, 400]);
        }
        let listed = service.ask(&ann, "GET", "/api/connections", &Value::Null).await;
        refused("CVE-2026-33722", &listed, &[200]);
    }

    /// CVE-2026-53536 (Activepieces): a token that was made for one purpose is taken for another one.
    async fn a_token_is_for_its_own_purpose(service: Service) {
        let hook = Hook::deployed(&service, graph(json!({}), &[returns("{{ 1 }}")])).await;
        let ann = &hook.user;
        let key = service.ask(ann, "POST", "/api/auth/api-keys", &json!({"name": "x"})).await.data(201)["key"].as_str().unwrap().to_owned();
        for token in [hook.secret.as_str(), hook.webhook.as_str(), ann.id.as_str(), key.trim_start_matches("hdl_"), &format!("{key}x"), &key.to_uppercase()] {
            service.get("/api/auth/me").bearer(token).send().await.assert_refused(401, "UNAUTHORIZED");
        }
        for signature in [ann.token.as_str(), &key] {
            let sent = hook.post("{}").header("x-webhook-signature", signature).bearer(&ann.token).send().await;
            assert_eq!((sent.status, sent.code()), (401, "SIGNATURE_INVALID"), "{sent}");
        }
        for cookie in [&ann.token, &key] {
            let sent = service.get("/api/auth/me").header("cookie", &format!("token={cookie}")).send().await;
            sent.assert_refused(401, "UNAUTHORIZED");
        }
    }

    /// GHSA-vrv8-j27g-g7cr: what a service says of its error is stored with the credential in it.
    async fn what_a_run_leaves_behind_has_no_secret(service: Service) {
        let ann = service.user("ann").await;
        give_secrets(&service, &ann).await;
        let nodes = [
            ("Transform", json!({"value": "{{ $secrets.TOKEN }}"})),
            ("Transform", json!({"value": "{{ [...$secrets.TOKEN].reverse().join('') + [...$secrets.TOKEN].length }}"})),
            ("Log", json!({"message": "{{ $secrets.TOKEN }}"})),
            ("HttpRequest", json!({"url": "http://127.0.0.1:9/{{ $secrets.TOKEN }}", "headers": {"x": "{{ $secrets.TOKEN }}"}})),
            ("JavaScript", json!({"code": "export default ({params}) => { throw new Error(params.key); }", "params": {"key": "{{ $secrets.TOKEN }}"}})),
            ("Hash", json!({"value": "{{ $secrets.TOKEN }}"})),
        ];
        let deployment = service.deployed(&ann, &row(&nodes, &all_of(nodes.len()))).await;
        let run = service.ran(&ann, &deployment, &json!({})).await;
        let record = service.run(&ann, &deployment, &run).await.to_string();
        let reversed: String = SECRET.chars().rev().collect();
        assert!(!record.contains(SECRET) && !record.contains(&reversed), "{record}");
    }
}
