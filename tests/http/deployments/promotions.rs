//! What deploying would do, told before; and what is in one environment put into another one.

use super::environments::Scene;
use crate::harness::{Service, chain, each_database};
use heddle_model::access::WorkspaceRole;
use serde_json::{Value, json};

/// Names a secret, a variable, a connection, a host and a schedule.
fn needing() -> Value {
    let mut graph = chain(&[
        ("hook", "OnWebhook", json!({})),
        (
            "ask",
            "HttpRequest",
            json!({
                "url": "https://api.example.com/{{ $vars.REGION }}", "headers": {"x-key": "{{ $secrets.KEY }}"},
            }),
        ),
        (
            "query",
            "SqlQuery",
            json!({"connection": "orders-db", "query": "select 1"}),
        ),
        ("end", "Return", json!({})),
    ]);
    let nodes = graph["nodes"].as_array_mut().unwrap();
    nodes.push(json!({"id": "clock", "type": "OnSchedule", "data": {"parameters": {"cron": "0 * * * *"}}}));
    nodes.push(json!({"id": "mail", "type": "OnEmail"}));
    graph["edges"]
        .as_array_mut()
        .unwrap()
        .push(json!({"source": "clock", "target": "ask"}));
    graph["edges"]
        .as_array_mut()
        .unwrap()
        .push(json!({"source": "mail", "target": "ask"}));
    graph
}

fn toned(value: &str) -> Value {
    chain(&[
        ("start", "OnManual", json!({})),
        ("end", "Return", json!({"value": value})),
    ])
}

/// What an environment has to have for [`needing`].
async fn complete(scene: &Scene<'_>, environment: &str) {
    let workspace = scene.service.workspace_of(&scene.ann).await;
    let path = format!("/api/workspaces/{workspace}/environments/{environment}/secrets/KEY");
    scene
        .send("PUT", &path, Some(json!({"value": "geheim"})))
        .await
        .data(200);
    scene.set_variables(environment, json!({"REGION": "eu"})).await;
}

async fn connect(scene: &Scene<'_>) {
    let body = json!({"provider": "postgres", "displayName": "orders-db", "credentials": {"host": "db.example.com"}});
    let made = scene
        .send("POST", "/api/connections/credentials", Some(body))
        .await;
    assert_eq!(made.status, 201, "{made}");
}

each_database! {
    async fn a_dry_run_tells_everything_and_changes_nothing(service: Service) {
        let scene = Scene::drawn(&service, &needing()).await;
        let told = scene.ask(json!({"dryRun": true})).await;
        let plan = told.data(200);
        let url = plan["webhooks"][0]["webhookUrl"].as_str().unwrap();
        let address = plan["emails"][0]["address"].as_str().unwrap();
        let size = plan["moduleBytes"].as_u64().unwrap();
        assert!(url.contains("/webhooks/") && address.contains('@') && size > 1_000, "{told}");
        let rights = json!({
            "effects": ["http", "sql"], "secrets": ["KEY"], "connections": ["orders-db"], "hosts": ["api.example.com"],
            "patterns": [], "variables": ["REGION"], "javascript": false,
        });
        let none = json!({
            "effects": [], "secrets": [], "connections": [], "hosts": [], "patterns": [], "variables": [],
            "javascript": false,
        });
        assert_eq!(plan, &json!({
            "dryRun": true, "versionNumber": 2, "environmentId": scene.production, "isMain": true, "replaces": null,
            "triggers": [
                {"type": "OnWebhook", "nodeId": "hook"}, {"type": "OnSchedule", "nodeId": "clock"},
                {"type": "OnEmail", "nodeId": "mail"},
            ],
            "warnings": [], "rights": rights, "rightsAdded": rights, "rightsRemoved": none,
            "missing": {"secrets": ["KEY"], "variables": ["REGION"], "connections": ["orders-db"], "patterns": []},
            "webhooks": [{"nodeId": "hook", "webhookUrl": url}], "emails": [{"nodeId": "mail", "address": address}],
            "schedules": [{
                "nodeId": "clock", "cronExpression": "0 * * * *", "timezone": "UTC", "nextAt": "2026-11-21T10:00:00.000Z",
            }],
            "moduleBytes": size,
        }));
        assert!(scene.places().await.is_empty());
        let audit = scene.get("/api/audit").await;
        assert!(!audit.to_string().contains("pattern.deployed"), "{audit}");

        let made = scene.ask(json!({})).await;
        assert_eq!(made.data(200)["missing"], plan["missing"], "{made}");
        let id = made.data(200)["deploymentId"].as_str().unwrap().to_owned();
        complete(&scene, &scene.production).await;
        connect(&scene).await;
        let schedule = json!({"cronExpression": "30 * * * *"});
        scene.send("PUT", &format!("/api/deployments/{id}/schedule"), Some(schedule)).await.data(200);
        service.redrawn(&scene.ann, &scene.pattern, &toned("x")).await;
        let next = scene.ask(json!({"dryRun": true})).await;
        assert_eq!((&next.data(200)["rightsRemoved"], &next.data(200)["rightsAdded"]), (&rights, &none), "{next}");
        assert_eq!(next.data(200)["replaces"], json!({
            "deploymentId": id, "status": "active", "versionNumber": 2, "environmentId": scene.production,
        }));
        // The version that is there keeps the time that was set for it, and misses nothing any more.
        let same = scene.ask(json!({"dryRun": true, "versionNumber": 2})).await;
        assert_eq!(same.data(200)["schedules"][0]["cronExpression"], "30 * * * *", "{same}");
        assert_eq!((&same.data(200)["rightsAdded"], &same.data(200)["missing"]["secrets"]), (&none, &json!([])), "{same}");
        assert_eq!(same.data(200)["missing"]["connections"], json!([]), "{same}");
        // Beside what is deployed it would have other addresses.
        let beside = scene.ask(json!({"dryRun": true, "versionNumber": 2, "environmentId": scene.staging, "move": false})).await;
        assert_eq!((&beside.data(200)["isMain"], &beside.data(200)["replaces"]), (&json!(false), &Value::Null), "{beside}");
        assert_eq!(beside.data(200)["webhooks"], json!([{"nodeId": "hook", "webhookUrl": null}]));
        assert_eq!(scene.places().await.len(), 1);
    }

    async fn an_error_pattern_that_can_not_run_is_missing(service: Service) {
        let mut scene = Scene::drawn(&service, &toned("x")).await;
        let handler = scene.pattern.clone();
        let mut graph = chain(&[("start", "OnManual", json!({})), ("boom", "Throw", json!({"message": "no"}))]);
        graph["settings"] = json!({"errorPatternId": handler});
        let failing = service.drawn(&scene.ann, &graph).await;

        scene.pattern.clone_from(&failing);
        let told = scene.ask(json!({"dryRun": true})).await;
        assert_eq!(told.data(200)["missing"]["patterns"], json!([handler]), "{told}");

        // It is deployed, but no error starts it.
        scene.pattern.clone_from(&handler);
        scene.deploy(json!({})).await;
        scene.pattern.clone_from(&failing);
        let made = scene.ask(json!({})).await;
        assert_eq!(made.data(200)["missing"]["patterns"], json!([handler]), "{made}");

        let handling = chain(&[("failed", "OnError", json!({})), ("end", "Return", json!({}))]);
        service.redrawn(&scene.ann, &handler, &handling).await;
        scene.pattern.clone_from(&handler);
        scene.deploy(json!({})).await;
        scene.pattern.clone_from(&failing);
        let made = scene.ask(json!({})).await;
        assert_eq!(made.data(200)["missing"], Value::Null, "{made}");
    }

    async fn a_dry_run_of_what_is_wrong_is_refused_as_deploying_is(service: Service) {
        let scene = Scene::drawn(&service, &chain(&[("go", "OnManual", json!({})), ("odd", "Nonsense", json!({}))])).await;
        let refused = scene.ask(json!({"dryRun": true, "diagnostics": true})).await;
        assert_eq!((refused.status, &refused.body["errors"][0]["nodeId"]), (422, &json!("odd")), "{refused}");
        assert_eq!(refused.body["diagnostics"][0]["nodeId"], "odd", "{refused}");
        scene.ask(json!({"dryRun": true, "versionNumber": 9})).await.assert_refused(404, "VERSION_NOT_FOUND");
    }

    async fn a_promotion_needs_what_the_pattern_names(service: Service) {
        let scene = Scene::drawn(&service, &needing()).await;
        let staging = scene.deploy(json!({"environmentId": scene.staging})).await;
        complete(&scene, &scene.staging).await;
        let body = json!({"environmentId": scene.production});
        let refused = scene.promote(&staging, body.clone()).await;
        refused.assert_refused(409, "ENVIRONMENT_INCOMPLETE");
        let place = "is not in the environment `production`";
        assert_eq!(refused.body["error"]["details"], json!([
            {"path": "secrets[KEY]", "message": place}, {"path": "variables[REGION]", "message": place},
            {"path": "connections[orders-db]", "message": "is not in the workspace"},
        ]));
        assert!(refused.body["error"]["message"].as_str().unwrap().contains("`production` lacks"), "{refused}");
        let dry = scene.promote(&staging, json!({"environmentId": scene.production, "dryRun": true})).await;
        assert_eq!(dry.data(200)["missing"], json!({
            "secrets": ["KEY"], "variables": ["REGION"], "connections": ["orders-db"], "patterns": [],
        }));
        assert_eq!(scene.places().await.len(), 1);

        complete(&scene, &scene.production).await;
        connect(&scene).await;
        let promoted = scene.promote(&staging, body).await;
        let production = promoted.data(200)["deploymentId"].as_str().unwrap().to_owned();
        assert_eq!((&promoted.data(200)["status"], &promoted.data(200)["versionNumber"]), (&json!("active"), &json!(2)));
        assert_ne!(production, staging);
        assert_ne!(scene.webhook(&production).await["webhookId"], scene.webhook(&staging).await["webhookId"]);
    }

    async fn a_promotion_deploys_exactly_what_is_deployed(service: Service) {
        let (scene, production, staging) = Scene::deployed(&service, &toned("first")).await;
        let definitions = json!({"Odd": {"kind": "expression", "outputValues": {"out": "{{ 'own' }}"}}});
        let graph = chain(&[
            ("start", "OnManual", json!({})), ("odd", "Odd", json!({})), ("end", "Return", json!({"value": "{{ $input + $vars.TONE }}"})),
        ]);
        service.redrawn(&scene.ann, &scene.pattern, &graph).await;
        // Definitions of the request are in no version, and traces are compiled in.
        let there = json!({"environmentId": scene.staging, "nodeDefinitions": definitions, "trace": true});
        assert_eq!(scene.deploy(there).await, staging);
        // What it names is what was compiled, whatever of it the stored version can't be compiled with.
        let third = scene.environment("third").await;
        let lacking = [
            scene.promote(&staging, json!({"environmentId": third, "dryRun": true})).await,
            scene.ask(json!({"environmentId": third, "nodeDefinitions": definitions, "dryRun": true})).await,
        ];
        for dry in lacking {
            assert_eq!(dry.data(200)["missing"]["variables"], json!(["TONE"]), "{dry}");
        }
        scene.promote(&staging, json!({"environmentId": third})).await.assert_refused(409, "ENVIRONMENT_INCOMPLETE");
        service.redrawn(&scene.ann, &scene.pattern, &toned("newest")).await;
        let promoted = scene.promote(&staging, json!({"environmentId": scene.production})).await;
        assert_eq!(promoted.data(200), &json!({
            "deploymentId": production, "status": "active", "triggers": [{"type": "OnManual", "nodeId": "start"}],
            "versionNumber": 3, "warnings": [],
        }));
        let run = service.ran(&scene.ann, &production, &json!({})).await;
        let run = service.run(&scene.ann, &production, &run).await;
        assert_eq!((&run["output"], &run["versionNumber"]), (&json!("ownloud"), &json!(3)), "{run}");
        assert!(run["trace"].is_array(), "{run}");
        assert_eq!(scene.output(&staging, json!({})).await, "ownquiet");
        let audit = scene.get("/api/audit").await;
        let told = audit.as_array().unwrap().iter().find(|entry| entry["action"] == "deployment.promoted");
        let told = told.expect("an entry");
        assert_eq!(told["details"], json!({"version": 3, "from": "staging"}), "{told}");
        assert_eq!(told["object"]["within"], "production", "{told}");
    }

    async fn what_can_not_be_promoted_is_refused(service: Service) {
        let (scene, production, staging) = Scene::deployed(&service, &toned("x")).await;
        for (body, field) in [
            (json!({}), "environmentId"), (json!({"environmentId": "nowhere"}), "environmentId"),
            (json!({"environmentId": "01932c07-209e-7f64-b0a3-5c1f1b0e6f3a"}), "environmentId"),
            (json!({"environmentId": scene.staging}), "environmentId"),
            (json!({"environmentId": scene.production, "dryRun": 1}), "dryRun"),
        ] {
            let refused = scene.promote(&staging, body).await;
            refused.assert_refused(400, "VALIDATION");
            assert_eq!(refused.wrong_fields(), [field], "{refused}");
        }
        let viewer = service.member(&scene.ann, "vic", WorkspaceRole::Viewer).await;
        let path = format!("/api/deployments/{staging}/promote");
        let body = json!({"environmentId": scene.production});
        let refused = service.post(&path).bearer(&viewer.token).json(&body).send().await;
        refused.assert_refused(403, "FORBIDDEN");
        // What is paused is deployed still; what is undeployed is not.
        scene.send("POST", &format!("/api/deployments/{staging}/pause"), None).await.data(200);
        assert_eq!(scene.promote(&staging, body.clone()).await.data(200)["deploymentId"], production);
        let undeploy = format!("/api/patterns/{}/deploy?environmentId={}", scene.pattern, scene.staging);
        scene.send("DELETE", &undeploy, None).await.data(200);
        scene.promote(&staging, body).await.assert_refused(400, "NOT_ACTIVE");
    }
}
