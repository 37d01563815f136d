//! One pattern in several environments, each with a deployment of its own.

use crate::harness::{Reply, Service, User, chain, each_database};
use crate::webhooks::fixture::sign;
use heddle_execution::scheduler;
use serde_json::{Value, json};

/// A pattern, and two environments of its workspace.
pub struct Scene<'s> {
    pub service: &'s Service,
    pub ann: User,
    pub pattern: String,
    pub production: String,
    pub staging: String,
    pub environments: String,
}

impl<'s> Scene<'s> {
    /// With this graph, not deployed.
    pub async fn drawn(service: &'s Service, graph: &Value) -> Scene<'s> {
        let ann = service.user("ann").await;
        let pattern = service.drawn(&ann, graph).await;
        let environments = format!(
            "/api/workspaces/{}/environments",
            service.workspace_of(&ann).await
        );
        let listed = service.get(&environments).bearer(&ann.token).send().await;
        let production = listed.data(200)[0]["id"].as_str().unwrap().to_owned();
        let mut scene = Scene {
            service,
            ann,
            pattern,
            production,
            staging: String::new(),
            environments,
        };
        scene.staging = scene.environment("staging").await;
        for (environment, tone) in [(&scene.production, "loud"), (&scene.staging, "quiet")] {
            scene.set_variables(environment, json!({"TONE": tone})).await;
        }
        scene
    }

    /// With this graph in both environments; the deployments in production and in staging.
    pub async fn deployed(service: &'s Service, graph: &Value) -> (Scene<'s>, String, String) {
        let scene = Scene::drawn(service, graph).await;
        let production = scene.deploy(json!({})).await;
        let staging = scene
            .deploy(json!({"environmentId": scene.staging, "move": false}))
            .await;
        assert_ne!(production, staging);
        (scene, production, staging)
    }

    /// A further environment; its id.
    pub async fn environment(&self, name: &str) -> String {
        let body = json!({"name": name});
        let made = self.send("POST", &self.environments, Some(body)).await;
        made.data(201)["id"].as_str().unwrap().to_owned()
    }

    pub async fn set_variables(&self, environment: &str, variables: Value) {
        let path = format!("{}/{environment}/variables", self.environments);
        self.send("PUT", &path, Some(variables)).await.data(200);
    }

    pub async fn send(&self, method: &str, path: &str, body: Option<Value>) -> Reply {
        let request = self.service.request(method, path).bearer(&self.ann.token);
        match body {
            Some(body) => request.json(&body).send().await,
            None => request.send().await,
        }
    }

    pub async fn get(&self, path: &str) -> Value {
        let reply = self.send("GET", path, None).await;
        assert_eq!(reply.status, 200, "{reply}");
        reply.body["data"].clone()
    }

    /// Asks for a deployment.
    pub async fn ask(&self, body: Value) -> Reply {
        let mut whole = json!({"nodeDefinitions": {}});
        for (name, value) in body.as_object().unwrap() {
            whole[name] = value.clone();
        }
        let path = format!("/api/patterns/{}/deploy", self.pattern);
        self.send("POST", &path, Some(whole)).await
    }

    /// Deploys; the deployment's id.
    pub async fn deploy(&self, body: Value) -> String {
        let deployed = self.ask(body).await;
        deployed.data(200)["deploymentId"].as_str().unwrap().to_owned()
    }

    pub async fn promote(&self, deployment: &str, body: Value) -> Reply {
        let path = format!("/api/deployments/{deployment}/promote");
        self.send("POST", &path, Some(body)).await
    }

    /// What is deployed where: environment, version, state and whether it is the main one.
    pub async fn places(&self) -> Vec<(String, i64, String, bool)> {
        let listed = self
            .get(&format!("/api/patterns/{}/deployments", self.pattern))
            .await;
        let place = |each: &Value| {
            (
                each["environmentName"].as_str().unwrap().to_owned(),
                each["versionNumber"].as_i64().unwrap(),
                each["status"].as_str().unwrap().to_owned(),
                each["isMain"].as_bool().unwrap(),
            )
        };
        listed.as_array().unwrap().iter().map(place).collect()
    }

    /// What a run gives.
    pub async fn output(&self, deployment: &str, event: Value) -> Value {
        let ran = self
            .service
            .execute(&self.ann, deployment, "?wait=true", &event)
            .await;
        let ended = ran.data(200);
        match ended["error"].is_null() {
            true => ended["output"].clone(),
            false => ended["error"].clone(),
        }
    }

    /// How many runs a deployment has had.
    pub async fn runs(&self, deployment: &str) -> usize {
        let path = format!("/api/deployments/{deployment}/runs");
        self.get(&path).await.as_array().unwrap().len()
    }

    /// The first webhook of a deployment.
    pub async fn webhook(&self, deployment: &str) -> Value {
        let listed = self.get(&format!("/api/deployments/{deployment}/webhook")).await;
        listed[0].clone()
    }

    /// A signed request to a webhook.
    pub async fn call(&self, webhook: &Value) -> Reply {
        let id = webhook["webhookId"].as_str().unwrap();
        let secret = webhook["webhookSecret"].as_str().unwrap();
        let request = self.service.post(&format!("/webhooks/{id}"));
        request
            .header("content-type", "application/json")
            .header("x-webhook-signature", &sign(secret, "{}"))
            .body("{}".to_owned())
            .send()
            .await
    }
}

/// Gives the environment's tone.
fn toned(start: &str, parameters: Value) -> Value {
    chain(&[
        ("start", start, parameters),
        ("end", "Return", json!({"value": "{{ $vars.TONE }}"})),
    ])
}

fn constant(value: &str) -> Value {
    chain(&[
        ("start", "OnManual", json!({})),
        ("end", "Return", json!({"value": value})),
    ])
}

fn place(environment: &str, version: i64, status: &str, is_main: bool) -> (String, i64, String, bool) {
    (environment.to_owned(), version, status.to_owned(), is_main)
}

each_database! {
    async fn exactly_the_version_that_is_asked_for_is_deployed(service: Service) {
        let scene = Scene::drawn(&service, &constant("two")).await;
        service.redrawn(&scene.ann, &scene.pattern, &constant("three")).await;
        let second = scene.ask(json!({"versionNumber": 2})).await;
        assert_eq!(second.data(200)["versionNumber"], 2, "{second}");
        let id = second.data(200)["deploymentId"].as_str().unwrap().to_owned();
        assert_eq!(scene.output(&id, json!({})).await, "two");

        let missing = scene.ask(json!({"versionNumber": 4})).await;
        missing.assert_refused(404, "VERSION_NOT_FOUND");
        assert!(missing.text.contains("no version 4"), "{missing}");
        for wrong in [json!(0), json!(-1), json!("2"), json!(1.5)] {
            let refused = scene.ask(json!({"versionNumber": wrong})).await;
            refused.assert_refused(400, "VALIDATION");
            assert_eq!(refused.wrong_fields(), ["versionNumber"], "{refused}");
        }
        assert_eq!(scene.output(&id, json!({})).await, "two");
        assert_eq!(scene.deploy(json!({})).await, id);
        assert_eq!(scene.output(&id, json!({})).await, "three");
    }

    async fn a_version_is_deployed_with_its_own_definitions(service: Service) {
        let graph = chain(&[
            ("start", "OnManual", json!({})), ("more", "Times", json!({})),
            ("end", "Return", json!({"value": "{{ $input }}"})),
        ]);
        let scene = Scene::drawn(&service, &constant("x")).await;
        let path = format!("/api/patterns/{}", scene.pattern);
        for factor in [2, 3] {
            let times = json!({"kind": "expression", "outputValues": {"out": format!("{{{{ $input.n * {factor} }}}}")}});
            let body = json!({"graphData": graph, "nodeDefinitions": {"Times": times}});
            assert_eq!(scene.send("PUT", &path, Some(body)).await.status, 200);
        }
        let id = scene.deploy(json!({"versionNumber": 3})).await;
        assert_eq!(scene.output(&id, json!({"n": 5})).await, 10);
        scene.deploy(json!({"versionNumber": 4})).await;
        assert_eq!(scene.output(&id, json!({"n": 5})).await, 15);
    }

    async fn the_tests_of_the_version_that_is_asked_for_have_to_pass(service: Service) {
        let scene = Scene::drawn(&service, &constant("two")).await;
        service.redrawn(&scene.ann, &scene.pattern, &constant("three")).await;
        let tests = format!("/api/patterns/{}/tests", scene.pattern);
        let case = json!({"name": "two", "event": {}, "expect": {"output": "two"}});
        let made = scene.send("POST", &tests, Some(case)).await;
        assert_eq!(made.status, 201, "{made}");
        scene.ask(json!({"requireTests": true})).await.assert_refused(409, "TESTS_FAILED");
        let dry = scene.ask(json!({"requireTests": true, "dryRun": true})).await;
        dry.assert_refused(409, "TESTS_FAILED");
        assert!(scene.places().await.is_empty());
        let second = scene.ask(json!({"requireTests": true, "versionNumber": 2})).await;
        assert_eq!(second.data(200)["versionNumber"], 2, "{second}");
    }

    async fn without_a_word_the_only_deployment_moves(service: Service) {
        let scene = Scene::drawn(&service, &toned("OnManual", json!({}))).await;
        let id = scene.deploy(json!({})).await;
        assert_eq!(scene.output(&id, json!({})).await, "loud");
        assert_eq!(scene.deploy(json!({"environmentId": scene.staging})).await, id);
        assert_eq!(scene.output(&id, json!({})).await, "quiet");
        assert_eq!(scene.places().await, [place("staging", 2, "active", true)]);
        assert_eq!(scene.deploy(json!({"move": true})).await, id);
        assert_eq!(scene.places().await, [place("production", 2, "active", true)]);
    }

    async fn each_environment_has_a_deployment_of_its_own(service: Service) {
        let (scene, production, staging) = Scene::deployed(&service, &toned("OnManual", json!({}))).await;
        assert_eq!(scene.output(&production, json!({})).await, "loud");
        assert_eq!(scene.output(&staging, json!({})).await, "quiet");

        service.redrawn(&scene.ann, &scene.pattern, &constant("newer")).await;
        // Nothing moves any more, said or unsaid.
        assert_eq!(scene.deploy(json!({"environmentId": scene.staging})).await, staging);
        assert_eq!(scene.places().await, [place("production", 2, "active", true), place("staging", 3, "active", false)]);
        assert_eq!(scene.output(&production, json!({})).await, "loud");
        assert_eq!(scene.output(&staging, json!({})).await, "newer");
        let third = scene.environment("third").await;
        let moving = scene.ask(json!({"environmentId": third, "move": true})).await;
        moving.assert_refused(409, "CONFLICT");
        let further = scene.deploy(json!({"environmentId": third})).await;
        assert_eq!(scene.places().await.len(), 3);
        assert_eq!(scene.deploy(json!({})).await, production);

        let of = format!("/api/patterns/{}/deployment", scene.pattern);
        assert_eq!(scene.get(&of).await["deploymentId"], production);
        let there = format!("{of}?environmentId={}", scene.staging);
        assert_eq!(scene.get(&there).await["deploymentId"], staging);
        let unknown = scene.send("GET", &format!("{of}?environmentId={further}"), None).await;
        unknown.assert_refused(404, "NOT_FOUND");

        let deploy = format!("/api/patterns/{}/deploy", scene.pattern);
        let gone = scene.send("DELETE", &format!("{deploy}?environmentId={}", scene.staging), None).await;
        assert_eq!(gone.data(200), &json!({"status": "undeployed"}));
        assert_eq!(scene.output(&production, json!({})).await, "newer");
        service.execute(&scene.ann, &staging, "", &json!({})).await.assert_refused(400, "NOT_ACTIVE");
        scene.send("DELETE", &deploy, None).await.data(200);
        assert_eq!(scene.output(&further, json!({})).await, "newer");
        scene.send("DELETE", &format!("/api/patterns/{}", scene.pattern), None).await;
        service.execute(&scene.ann, &further, "", &json!({})).await.assert_refused(400, "NOT_ACTIVE");
    }

    async fn each_environment_has_webhooks_of_its_own(service: Service) {
        let scene = Scene::drawn(&service, &toned("OnWebhook", json!({"responseMode": "sync"}))).await;
        let path = format!("/api/patterns/{}/webhooks", scene.pattern);
        let before = scene.get(&path).await["endpoints"][0].clone();
        let production = scene.deploy(json!({})).await;
        let staging = scene.deploy(json!({"environmentId": scene.staging, "move": false})).await;
        let (first, other) = (scene.webhook(&production).await, scene.webhook(&staging).await);
        assert_eq!((&first["webhookId"], &first["webhookSecret"]), (&before["webhookId"], &before["webhookSecret"]));
        for name in ["id", "webhookId", "webhookUrl", "webhookSecret"] {
            assert_ne!(first[name], other[name], "{name}");
        }
        assert_eq!((&other["webhookAlias"], &other["nodeId"], &other["status"]), (&first["webhookAlias"], &json!("start"), &json!("active")));
        // What a pattern's list has without a word is what it always had.
        assert_eq!(scene.get(&path).await["endpoints"], json!([first]));
        assert_eq!(scene.get(&format!("{path}?environmentId={}", scene.staging)).await["endpoints"], json!([other]));

        assert_eq!(scene.call(&first).await.body["output"], "loud");
        assert_eq!(scene.call(&other).await.body["output"], "quiet");
        assert_eq!((scene.runs(&production).await, scene.runs(&staging).await), (1, 1));
        // Neither secret opens the other's door.
        let mut mixed = first.clone();
        mixed["webhookSecret"] = other["webhookSecret"].clone();
        scene.call(&mixed).await.assert_refused(401, "SIGNATURE_INVALID");
        let regenerate = format!("/api/deployments/{production}/webhook/regenerate");
        let foreign = scene.send("POST", &regenerate, Some(json!({"endpointId": other["id"]}))).await;
        foreign.assert_refused(404, "NOT_FOUND");

        scene.send("POST", &format!("/api/deployments/{staging}/pause"), None).await.data(200);
        assert_eq!(scene.call(&other).await.body["status"], "captured");
        assert_eq!(scene.call(&first).await.body["output"], "loud");
        scene.send("POST", &format!("/api/deployments/{staging}/resume"), None).await.data(200);
        assert_eq!(scene.call(&other).await.body["output"], "quiet");

        // They survive the end of the deployment, but not that of the environment.
        scene.send("DELETE", &format!("/api/deployments/{staging}"), None).await.data(200);
        assert_eq!(scene.call(&other).await.body["status"], "captured");
        let again = scene.deploy(json!({"environmentId": scene.staging, "move": false})).await;
        assert_eq!(scene.webhook(&again).await["webhookId"], other["webhookId"]);
        let undeploy = format!("/api/patterns/{}/deploy?environmentId={}", scene.pattern, scene.staging);
        scene.send("DELETE", &undeploy, None).await.data(200);
        scene.send("DELETE", &format!("{}/{}", scene.environments, scene.staging), None).await.data(200);
        scene.call(&other).await.assert_refused(404, "NOT_FOUND");
        assert_eq!(scene.call(&first).await.body["output"], "loud");
    }

    async fn the_main_deployments_addresses_wait_for_its_environment(service: Service) {
        let (scene, production, staging) = Scene::deployed(&service, &toned("OnWebhook", json!({"responseMode": "sync"}))).await;
        let first = scene.webhook(&production).await;
        scene.send("DELETE", &format!("/api/deployments/{production}"), None).await.data(200);
        let third = scene.environment("third").await;
        scene.deploy(json!({"environmentId": third, "move": false})).await;
        assert_eq!(scene.places().await, [place("staging", 2, "active", false), place("third", 2, "active", false)]);
        assert_eq!(scene.call(&first).await.body["status"], "captured");
        let again = scene.deploy(json!({})).await;
        assert_ne!(again, production);
        assert_eq!(scene.webhook(&again).await["webhookId"], first["webhookId"]);
        assert_eq!(scene.call(&first).await.body["output"], "loud");
        assert_eq!((scene.runs(&again).await, scene.runs(&staging).await), (1, 0));
    }

    async fn nodes_that_a_further_deployment_gets_later_have_addresses_as_well(service: Service) {
        let (scene, _, staging) = Scene::deployed(&service, &constant("x")).await;
        let deploy = json!({"environmentId": scene.staging});
        service.redrawn(&scene.ann, &scene.pattern, &toned("OnWebhook", json!({"alias": "orders"}))).await;
        assert_eq!(scene.deploy(deploy.clone()).await, staging);
        let made = scene.webhook(&staging).await;
        assert_eq!((&made["webhookAlias"], &made["status"]), (&json!("orders"), &json!("active")));
        // Saving tells all of them what the node is called and how senders sign.
        service.redrawn(&scene.ann, &scene.pattern, &toned("OnWebhook", json!({"alias": "bills", "scheme": "github"}))).await;
        let renamed = scene.webhook(&staging).await;
        assert_eq!((&renamed["webhookAlias"], &renamed["scheme"]), (&json!("bills"), &json!("github")));
        assert_eq!((&renamed["webhookId"], &renamed["webhookSecret"]), (&made["webhookId"], &made["webhookSecret"]));
        scene.deploy(deploy).await;
        assert_eq!(scene.webhook(&staging).await["webhookId"], made["webhookId"]);
    }

    async fn each_environment_has_schedules_of_its_own(service: Service) {
        let clock = json!({"cron": "*/10 * * * *"});
        let (scene, production, staging) = Scene::deployed(&service, &toned("OnSchedule", clock)).await;
        let path = format!("/api/deployments/{staging}/schedule");
        scene.send("PUT", &path, Some(json!({"cronExpression": "*/5 * * * *"}))).await.data(200);
        let tick = async |minutes: u64| {
            service.app.clock.advance(std::time::Duration::from_secs(minutes * 60));
            scheduler::tick(&service.app.executions, service.app.clock.now()).await.unwrap()
        };
        assert_eq!(tick(5).await, 1);
        assert_eq!(tick(5).await, 2);
        assert_eq!((scene.runs(&production).await, scene.runs(&staging).await), (1, 2));
        scene.send("POST", &format!("/api/deployments/{production}/pause"), None).await.data(200);
        assert_eq!(tick(5).await, 1);
        assert_eq!(tick(5).await, 1);
        assert_eq!((scene.runs(&production).await, scene.runs(&staging).await), (1, 4));
    }

    async fn runs_are_tried_again_where_they_ran(service: Service) {
        let graph = chain(&[
            ("start", "OnManual", json!({})),
            ("boom", "Throw", json!({"message": "{{ $vars.TONE }}", "code": "X"})),
        ]);
        let (scene, production, staging) = Scene::deployed(&service, &graph).await;
        let failed = service.ran(&scene.ann, &staging, &json!({"n": 1})).await;
        for operation in ["retry", "replay"] {
            let path = format!("/api/deployments/{staging}/runs/{failed}/{operation}");
            let again = scene.send("POST", &path, None).await;
            let run = again.data(200)["runId"].as_str().unwrap().to_owned();
            let ended = service.ended(&scene.ann, &staging, &run).await;
            assert!(ended["errorMessage"].as_str().unwrap().ends_with("quiet"), "{ended}");
        }
        assert_eq!((scene.runs(&production).await, scene.runs(&staging).await), (0, 3));
    }

    async fn each_environment_keeps_values_of_its_own(service: Service) {
        let counting = |scope: &str| chain(&[
            ("start", "OnManual", json!({})),
            ("count", "KeyValue", json!({"operation": "increment", "key": "n", "scope": scope})),
            ("end", "Return", json!({"value": "{{ $input }}"})),
        ]);
        let (scene, production, staging) = Scene::deployed(&service, &counting("pattern")).await;
        for expected in [1, 2] {
            assert_eq!(scene.output(&production, json!({})).await, expected);
        }
        assert_eq!(scene.output(&staging, json!({})).await, 1);
        // Those of the workspace are shared by name.
        service.redrawn(&scene.ann, &scene.pattern, &counting("workspace")).await;
        for environment in [&scene.production, &scene.staging] {
            scene.deploy(json!({"environmentId": environment})).await;
        }
        assert_eq!(scene.output(&production, json!({})).await, 1);
        assert_eq!(scene.output(&staging, json!({})).await, 2);
    }

    async fn patterns_call_what_is_in_their_own_environment(service: Service) {
        service.app.executions.start().await.unwrap();
        let (mut scene, called, called_in_staging) = Scene::deployed(&service, &toned("OnCall", json!({}))).await;
        let callee = scene.pattern.clone();
        let calling = chain(&[
            ("start", "OnManual", json!({})),
            ("call", "CallPattern", json!({"patternId": callee})),
            ("end", "Return", json!({"value": "{{ $input }}"})),
        ]);
        scene.pattern = service.drawn(&scene.ann, &calling).await;
        let production = scene.deploy(json!({})).await;
        let staging = scene.deploy(json!({"environmentId": scene.staging, "move": false})).await;
        assert_eq!(scene.output(&production, json!({})).await, "loud");
        assert_eq!(scene.output(&staging, json!({})).await, "quiet");
        assert_eq!((scene.runs(&called).await, scene.runs(&called_in_staging).await), (1, 1));

        // What is not there is not replaced by what is elsewhere.
        let undeploy = format!("/api/patterns/{callee}/deploy?environmentId={}", scene.staging);
        scene.send("DELETE", &undeploy, None).await.data(200);
        let third = scene.environment("third").await;
        let in_third = scene.deploy(json!({"environmentId": third})).await;
        for (deployment, told) in [(&staging, "not deployed"), (&in_third, "not deployed in the environment")] {
            let error = scene.output(deployment, json!({})).await;
            assert_eq!(error["code"], "CALL_TARGET", "{error}");
            assert!(error["message"].as_str().unwrap().contains(told), "{error}");
        }
        assert_eq!(scene.output(&production, json!({})).await, "loud");
    }

    async fn patterns_that_are_deployed_once_each_find_each_other(service: Service) {
        service.app.executions.start().await.unwrap();
        let mut scene = Scene::drawn(&service, &toned("OnCall", json!({}))).await;
        scene.deploy(json!({})).await;
        let calling = chain(&[
            ("start", "OnManual", json!({})),
            ("call", "CallPattern", json!({"patternId": scene.pattern})),
            ("end", "Return", json!({"value": "{{ $input }}"})),
        ]);
        scene.pattern = service.drawn(&scene.ann, &calling).await;
        let caller = scene.deploy(json!({"environmentId": scene.staging})).await;
        assert_eq!(scene.output(&caller, json!({})).await, "loud");
    }

    async fn failures_go_to_the_error_pattern_of_their_environment(service: Service) {
        let (mut scene, handler, handler_in_staging) = Scene::deployed(&service, &toned("OnError", json!({}))).await;
        let mut graph = chain(&[("start", "OnManual", json!({})), ("boom", "Throw", json!({"message": "no"}))]);
        graph["settings"] = json!({"errorPatternId": scene.pattern});
        scene.pattern = service.drawn(&scene.ann, &graph).await;
        scene.deploy(json!({})).await;
        let failing = scene.deploy(json!({"environmentId": scene.staging, "move": false})).await;
        service.ran(&scene.ann, &failing, &json!({})).await;
        let stream = format!("/api/deployments/{handler_in_staging}/runs");
        let handled = scene.get(&stream).await;
        assert_eq!(handled.as_array().map(Vec::len), Some(1), "{handled}");
        let ended = service.ended(&scene.ann, &handler_in_staging, handled[0]["id"].as_str().unwrap()).await;
        assert_eq!((&ended["output"], &ended["triggeredBy"]), (&json!("quiet"), &json!("error")), "{ended}");
        assert_eq!(scene.runs(&handler).await, 0);
    }

    async fn others_see_and_change_nothing(service: Service) {
        let (scene, production, _) = Scene::deployed(&service, &constant("x")).await;
        let bob = service.user("bob").await;
        let body = json!({"environmentId": scene.staging});
        let promote = format!("/api/deployments/{production}/promote");
        let refused = service.post(&promote).bearer(&bob.token).json(&body).send().await;
        refused.assert_refused(404, "NOT_FOUND");
        let listed = format!("/api/patterns/{}/deployments", scene.pattern);
        service.get(&listed).bearer(&bob.token).send().await.assert_refused(404, "NOT_FOUND");
        // An environment of another workspace is none.
        let own = service.drawn(&bob, &constant("x")).await;
        let deploy = format!("/api/patterns/{own}/deploy");
        let body = json!({"nodeDefinitions": {}, "environmentId": scene.staging, "move": false});
        let refused = service.post(&deploy).bearer(&bob.token).json(&body).send().await;
        assert_eq!(refused.wrong_fields(), ["environmentId"], "{refused}");
    }
}
