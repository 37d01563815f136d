//! What environments ask of what is deployed to them.

use crate::harness::{Reply, Service, User, chain, each_database};
use heddle_model::access::WorkspaceRole;
use serde_json::{Value, json};

/// The workspace's first environment, and the path of its rules.
async fn environment(service: &Service, user: &User) -> (String, String) {
    let path = format!(
        "/api/workspaces/{}/environments",
        service.workspace_of(user).await
    );
    let listed = service.get(&path).bearer(&user.token).send().await;
    let id = listed.data(200)[0]["id"].as_str().unwrap().to_owned();
    let rules = format!("{path}/{id}/rules");
    (id, rules)
}

async fn rule(service: &Service, user: &User, name: &str) {
    let (_, path) = environment(service, user).await;
    let set = service.put(&path).bearer(&user.token).json(&json!({name: true}));
    let set = set.send().await;
    let mut expected = json!({"requireTests": false, "requireReplay": false, "requireApproval": false});
    expected[name] = json!(true);
    assert_eq!(set.data(200), &expected);
    let read = service.get(&path).bearer(&user.token).send().await;
    assert_eq!(read.data(200), &expected);
}

async fn deploy(service: &Service, user: &User, pattern: &str, more: Value) -> Reply {
    let mut body = json!({"nodeDefinitions": {}});
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    let path = format!("/api/patterns/{pattern}/deploy");
    service.post(&path).bearer(&user.token).json(&body).send().await
}

/// A graph as a module.
async fn code(service: &Service, user: &User, graph: &Value) -> String {
    let body = json!({"graphData": graph, "nodeDefinitions": {}});
    let transpiled = service
        .post("/api/execute/transpile")
        .bearer(&user.token)
        .json(&body);
    let transpiled = transpiled.send().await;
    assert_eq!(transpiled.status, 200, "{transpiled}");
    transpiled.body["code"].as_str().unwrap().to_owned()
}

fn toned(value: &str) -> Value {
    chain(&[
        ("start", "OnManual", json!({})),
        ("end", "Return", json!({"value": value})),
    ])
}

fn asking() -> Value {
    chain(&[
        ("start", "OnManual", json!({})),
        ("ask", "HttpRequest", json!({"url": "https://api.example.com/"})),
        ("end", "Return", json!({"value": "{{ $input }}"})),
    ])
}

each_database! {
    async fn tests_have_to_pass_where_that_is_a_rule(service: Service) {
        let ann = service.user("ann").await;
        let pattern = service.drawn(&ann, &toned("{{ 1 }}")).await;
        rule(&service, &ann, "requireTests").await;
        let test = json!({"name": "Two", "event": {}, "expect": {"output": 2}});
        let path = format!("/api/patterns/{pattern}/tests");
        let added = service.post(&path).bearer(&ann.token).json(&test).send().await;
        assert_eq!(added.status, 201, "{added}");
        deploy(&service, &ann, &pattern, json!({})).await.assert_refused(409, "TESTS_FAILED");
        // What would happen is told all the same.
        let plan = deploy(&service, &ann, &pattern, json!({"dryRun": true})).await;
        assert_eq!(plan.data(200)["dryRun"], true);
        service.redrawn(&ann, &pattern, &toned("{{ 2 }}")).await;
        deploy(&service, &ann, &pattern, json!({})).await.data(200);
    }

    async fn events_have_to_be_treated_alike_where_that_is_a_rule(service: Service) {
        let ann = service.user("ann").await;
        let pattern = service.drawn(&ann, &toned("{{ $input.n * 2 }}")).await;
        let id = service.deploy(&ann, &pattern).await;
        service.ran(&ann, &id, &json!({"n": 4})).await;
        // Somewhere else there is no rule, and from there it is promoted.
        let path = format!("/api/workspaces/{}/environments", service.workspace_of(&ann).await);
        let made = service.post(&path).bearer(&ann.token).json(&json!({"name": "staging"})).send().await;
        let staging = made.data(201)["id"].clone();
        let (production, _) = environment(&service, &ann).await;
        rule(&service, &ann, "requireReplay").await;
        service.redrawn(&ann, &pattern, &toned("{{ $input.n * 3 }}")).await;
        deploy(&service, &ann, &pattern, json!({})).await.assert_refused(409, "REPLAY_DIFFERS");
        let elsewhere = json!({"environmentId": staging, "move": false});
        let other = deploy(&service, &ann, &pattern, elsewhere).await;
        let other = other.data(200)["deploymentId"].as_str().unwrap().to_owned();
        let path = format!("/api/deployments/{other}/promote");
        let body = json!({"environmentId": production});
        let refused = service.post(&path).bearer(&ann.token).json(&body).send().await;
        refused.assert_refused(409, "REPLAY_DIFFERS");
        let body = json!({"environmentId": production, "acknowledgeDifferences": true});
        let promoted = service.post(&path).bearer(&ann.token).json(&body).send().await;
        assert_eq!(promoted.data(200)["versionNumber"], 3);
        // The same again has no events yet that it could treat differently.
        deploy(&service, &ann, &pattern, json!({"environmentId": production, "move": false})).await.data(200);
    }

    async fn more_rights_are_approved_by_an_admin_where_that_is_a_rule(service: Service) {
        let ann = service.user("ann").await;
        let bob = service.member(&ann, "bob", WorkspaceRole::Editor).await;
        rule(&service, &ann, "requireApproval").await;
        let pattern = service.drawn(&ann, &toned("{{ 1 }}")).await;
        deploy(&service, &ann, &pattern, json!({})).await.data(200);
        service.redrawn(&ann, &pattern, &asking()).await;
        let refused = deploy(&service, &bob, &pattern, json!({})).await;
        refused.assert_refused(409, "RIGHTS_NOT_APPROVED");
        assert_eq!(
            refused.body["error"]["details"],
            json!([{"path": "rights", "message": "effect: http"}, {"path": "rights", "message": "host: api.example.com"}]),
            "{refused}"
        );
        let approval = json!({"approveRights": true});
        deploy(&service, &bob, &pattern, approval.clone()).await.assert_refused(403, "FORBIDDEN");
        deploy(&service, &ann, &pattern, approval).await.data(200);
        let log = service.get("/api/audit?limit=1").bearer(&ann.token).send().await;
        assert_eq!(log.body["data"][0]["details"]["approvedRights"], true, "{log}");
        // What reaches no more needs no approval, whoever deploys it.
        deploy(&service, &bob, &pattern, json!({})).await.data(200);
        // Nor does it help to deploy it where there is no rule, and to move it from there.
        let hosts = json!([{"path": "rights", "message": "effect: http"}, {"path": "rights", "message": "host: api.example.com"}]);
        let path = format!("/api/workspaces/{}/environments", service.workspace_of(&ann).await);
        let made = service.post(&path).bearer(&ann.token).json(&json!({"name": "staging"})).send().await;
        let staging = json!({"environmentId": made.data(201)["id"]});
        deploy(&service, &bob, &pattern, staging).await.data(200);
        let (production, path) = environment(&service, &ann).await;
        let back = json!({"environmentId": production});
        let refused = deploy(&service, &bob, &pattern, back).await;
        refused.assert_refused(409, "RIGHTS_NOT_APPROVED");
        assert_eq!(refused.body["error"]["details"], hosts, "{refused}");
        let set = service.put(&path).bearer(&bob.token).json(&json!({})).send().await;
        set.assert_refused(403, "FORBIDDEN");
    }

    async fn other_issuers_of_senders_tokens_are_approved_by_an_admin(service: Service) {
        let ann = service.user("ann").await;
        let bob = service.member(&ann, "bob", WorkspaceRole::Editor).await;
        rule(&service, &ann, "requireApproval").await;
        let hooked = |address: &str| {
            let jwt = json!({"algorithm": "RS256", "keysUrl": address});
            chain(&[("hook", "OnWebhook", json!({"scheme": "jwt", "jwt": jwt})), ("end", "Return", json!({"value": "1"}))])
        };
        let (one, other) = ("https://id.example.com/one/keys", "https://id.example.com/other/keys");
        let pattern = service.drawn(&ann, &hooked(one)).await;
        let approval = json!({"approveRights": true});
        for address in [one, other] {
            service.redrawn(&ann, &pattern, &hooked(address)).await;
            let refused = deploy(&service, &bob, &pattern, json!({})).await;
            refused.assert_refused(409, "RIGHTS_NOT_APPROVED");
            let named = json!([{"path": "rights", "message": format!("issuer: {address}")}]);
            assert_eq!(refused.body["error"]["details"], named, "{refused}");
            let plan = deploy(&service, &bob, &pattern, json!({"dryRun": true})).await;
            assert_eq!(plan.data(200)["rightsAdded"]["issuers"], json!([address]), "{plan}");
            deploy(&service, &ann, &pattern, approval.clone()).await.data(200);
            deploy(&service, &bob, &pattern, json!({})).await.data(200);
        }
        // A test run has no sender, and reaches nothing.
        let body = json!({"code": code(&service, &bob, &hooked(other)).await});
        let run = service.post("/api/execute/run").bearer(&bob.token).json(&body).send().await;
        assert_eq!(run.status, 200, "{run}");
    }

    async fn a_test_run_reaches_nothing_with_the_secrets_of_a_protected_environment(service: Service) {
        let ann = service.user("ann").await;
        let bob = service.member(&ann, "bob", WorkspaceRole::Editor).await;
        // Nobody answers there, or may be asked.
        let request = ("ask", "HttpRequest", json!({"url": "http://127.0.0.1:9/"}));
        let graph = chain(&[("start", "OnManual", json!({})), request, ("end", "Return", json!({}))]);
        let asks = code(&service, &bob, &graph).await;
        let run = |user: &User, more: Value| {
            let mut body = more;
            body["code"] = json!(asks);
            service.post("/api/execute/run").bearer(&user.token).json(&body).send()
        };
        assert_eq!(run(&bob, json!({})).await.status, 200);
        rule(&service, &ann, "requireApproval").await;
        let refused = run(&bob, json!({})).await;
        refused.assert_refused(403, "ENVIRONMENT_PROTECTED");
        assert_eq!(
            refused.body["error"]["details"],
            json!([{"path": "rights", "message": "effect: http"}, {"path": "rights", "message": "host: 127.0.0.1:9"}]),
            "{refused}"
        );
        let (production, _) = environment(&service, &ann).await;
        run(&bob, json!({"environmentId": production})).await.assert_refused(403, "ENVIRONMENT_PROTECTED");
        run(&bob, json!({"approveRights": true})).await.assert_refused(403, "FORBIDDEN");
        assert_eq!(run(&ann, json!({"approveRights": true})).await.status, 200);
        let log = service.get("/api/audit?limit=1").bearer(&ann.token).send().await;
        assert_eq!(log.body["data"][0]["action"], "environment.test_run_approved", "{log}");
        // In another environment, and with what may reach nothing, all is as before.
        let path = format!("/api/workspaces/{}/environments", service.workspace_of(&ann).await);
        let made = service.post(&path).bearer(&ann.token).json(&json!({"name": "staging"})).send().await;
        let staging = made.data(201)["id"].as_str().unwrap().to_owned();
        assert_eq!(run(&bob, json!({"environmentId": staging})).await.status, 200);
        let harmless = json!({"code": code(&service, &bob, &toned("{{ 1 }}")).await});
        let ran = service.post("/api/execute/run").bearer(&bob.token).json(&harmless).send().await;
        assert_eq!((ran.status, &ran.body["output"]), (200, &json!(1)), "{ran}");
        // A contained test reaches nothing either, but what is signed with a secret is as good as the secret.
        let sign = ("sign", "Hmac", json!({"value": "text", "secret": "{{ $secrets.KEY }}"}));
        let graph = chain(&[("start", "OnManual", json!({})), sign, ("end", "Return", json!({}))]);
        let pattern = service.drawn(&bob, &graph).await;
        for (environment, expected) in [(&production, "NOT_PINNED"), (&staging, "passed")] {
            let secret = service.put(&format!("{path}/{environment}/secrets/KEY")).bearer(&ann.token);
            secret.json(&json!({"value": "key"})).send().await.data(200);
            let tests = format!("/api/patterns/{pattern}/tests");
            let test = json!({"name": "Signs", "event": {}, "environmentId": environment});
            let added = service.post(&tests).bearer(&bob.token).json(&test).send().await;
            let chosen = json!({"tests": [added.body["id"]]});
            let tally = service.post(&format!("{tests}/run")).bearer(&bob.token).json(&chosen).send().await;
            let result = &tally.body["results"][0];
            let found = result["error"]["code"].as_str().or_else(|| result["status"].as_str());
            assert_eq!(found, Some(expected), "{tally}");
        }
    }

    async fn tests_and_approvals_hold_together_in_any_order(service: Service) {
        let ann = service.user("ann").await;
        let bob = service.member(&ann, "bob", WorkspaceRole::Editor).await;
        let pattern = service.drawn(&ann, &asking()).await;
        let (production, path) = environment(&service, &ann).await;
        let rules = json!({"requireTests": true, "requireApproval": true});
        service.put(&path).bearer(&ann.token).json(&rules).send().await.data(200);
        let tests = format!("/api/patterns/{pattern}/tests");
        let expecting = |output: Value| json!({"name": "One", "event": {}, "pins": {"ask": 1}, "expect": {"output": output}});
        let made = service.post(&tests).bearer(&bob.token).json(&expecting(json!(2))).send().await;
        let test = format!("{tests}/{}", made.body["id"].as_str().unwrap());
        let expect = |output: i64| service.put(&test).bearer(&bob.token).json(&json!({"expect": {"output": output}})).send();
        let approval = json!({"approveRights": true});
        // Who approves a version whose tests fail approves nothing.
        deploy(&service, &ann, &pattern, approval.clone()).await.assert_refused(409, "TESTS_FAILED");
        assert_eq!(expect(1).await.status, 200);
        deploy(&service, &bob, &pattern, json!({})).await.assert_refused(409, "RIGHTS_NOT_APPROVED");
        let key = json!({"name": "edits", "scopes": ["edit"]});
        let key = service.post("/api/auth/api-keys").bearer(&ann.token).json(&key).send().await;
        let edits = User { token: key.data(201)["key"].as_str().unwrap().to_owned(), ..ann.clone() };
        deploy(&service, &edits, &pattern, approval.clone()).await.assert_refused(403, "FORBIDDEN");
        let id = deploy(&service, &ann, &pattern, approval.clone()).await.data(200)["deploymentId"].as_str().unwrap().to_owned();
        // What is deployed stays when its tests fail afterwards.
        assert_eq!(expect(3).await.status, 200);
        deploy(&service, &ann, &pattern, approval.clone()).await.assert_refused(409, "TESTS_FAILED");
        for operation in ["pause", "resume", "redeploy"] {
            assert_eq!(service.operate(&bob, &id, operation).await.status, 200, "{operation}");
        }
        assert_eq!(expect(1).await.status, 200);
        // An older version that may reach less, and the approved one again: that one is not deployed by then.
        let harmless = chain(&[
            ("start", "OnManual", json!({})), ("ask", "Transform", json!({"value": "{{ 1 }}"})), ("end", "Return", json!({"value": "{{ $input }}"})),
        ]);
        service.redrawn(&bob, &pattern, &harmless).await;
        deploy(&service, &bob, &pattern, json!({})).await.data(200);
        deploy(&service, &bob, &pattern, json!({"versionNumber": 2})).await.assert_refused(409, "RIGHTS_NOT_APPROVED");
        deploy(&service, &bob, &pattern, json!({"versionNumber": 1})).await.assert_refused(409, "TESTS_FAILED");
        deploy(&service, &ann, &pattern, json!({"versionNumber": 2, "approveRights": true})).await.data(200);
        // Nothing is approved of what was undeployed.
        let undeployed = service.delete(&format!("/api/patterns/{pattern}/deploy")).bearer(&bob.token).send().await;
        assert_eq!(undeployed.status, 200, "{undeployed}");
        service.operate(&bob, &id, "redeploy").await.assert_refused(409, "CONFLICT");
        let again = json!({"versionNumber": 2, "environmentId": production});
        deploy(&service, &bob, &pattern, again).await.assert_refused(409, "RIGHTS_NOT_APPROVED");
    }

    async fn what_is_promoted_is_what_tests_were_run_on(service: Service) {
        let ann = service.user("ann").await;
        let graph = chain(&[
            ("start", "OnManual", json!({})), ("odd", "Odd", json!({})), ("end", "Return", json!({"value": "{{ $input }}"})),
        ]);
        let odd = |value: &str| json!({"Odd": {"kind": "expression", "outputValues": {"out": format!("{{{{ {value} }}}}")}}});
        let pattern = service.drawn(&ann, &graph).await;
        let path = format!("/api/patterns/{pattern}");
        let saved = service.put(&path).bearer(&ann.token).json(&json!({"graphData": graph, "nodeDefinitions": odd("1")})).send().await;
        assert_eq!(saved.status, 200, "{saved}");
        let test = json!({"name": "One", "event": {}, "expect": {"output": 1}});
        let added = service.post(&format!("{path}/tests")).bearer(&ann.token).json(&test).send().await;
        assert_eq!(added.status, 201, "{added}");
        rule(&service, &ann, "requireTests").await;
        let (production, rules) = environment(&service, &ann).await;
        let environments = rules.split_once(&format!("/{production}")).unwrap().0;
        let made = service.post(environments).bearer(&ann.token).json(&json!({"name": "staging"})).send().await;
        let staging = made.data(201)["id"].clone();
        let promote = json!({"environmentId": production});
        for (definitions, trace, expected) in [(odd("2"), false, 409), (json!({}), true, 200), (odd("1"), false, 200)] {
            let there = json!({"environmentId": staging, "move": false, "nodeDefinitions": definitions, "trace": trace});
            let there = deploy(&service, &ann, &pattern, there).await;
            let id = there.data(200)["deploymentId"].as_str().unwrap().to_owned();
            let promoted = service.post(&format!("/api/deployments/{id}/promote")).bearer(&ann.token).json(&promote).send().await;
            match expected {
                409 => promoted.assert_refused(409, "TESTS_FAILED"),
                _ => assert_eq!(promoted.status, 200, "{promoted}"),
            }
        }
    }
}
