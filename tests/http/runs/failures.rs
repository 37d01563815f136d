//! What is known of a run that failed: what its node had been given, and where it waited when its time was over.

use crate::harness::{Service, User, chain, each_database};
use serde_json::{Value, json};

async fn ended(service: &Service, user: &User, deployment: &str, event: &Value) -> Value {
    let run = service.ran(user, deployment, event).await;
    service.run(user, deployment, &run).await
}

each_database! {
    async fn a_run_that_failed_shows_what_its_node_had_been_given(service: Service) {
        let ann = service.user("ann").await;
        let graph = chain(&[
            ("start", "OnManual", json!({})),
            ("sum", "Transform", json!({"value": "{{ ({total: $input.body.a + 1}) }}"})),
            ("check", "Throw", json!({"message": "too much"})),
        ]);
        // Also where nothing is recorded.
        let pattern = service.drawn(&ann, &graph).await;
        let deploy = service.post(&format!("/api/patterns/{pattern}/deploy")).bearer(&ann.token);
        let deployed = deploy.json(&json!({"nodeDefinitions": {}})).send().await;
        let id = deployed.data(200)["deploymentId"].as_str().unwrap().to_owned();
        let run = ended(&service, &ann, &id, &json!({"body": {"a": 1}})).await;
        assert_eq!(run["failedInput"], json!({"path": "", "input": {"total": 2}, "truncated": false}), "{run}");
        assert_eq!(run["trace"], Value::Null);
        let listed = service.get(&format!("/api/deployments/{id}/runs")).bearer(&ann.token).send().await;
        assert_eq!(listed.body["data"][0]["failedInput"], Value::Null, "{listed}");

        // An expression fails like a node; of an event, credentials are left out.
        let graph = chain(&[("start", "OnManual", json!({})), ("odd", "Transform", json!({"value": "{{ $input.x.y }}"}))]);
        let id = service.deployed(&ann, &graph).await;
        let event = json!({"headers": {"authorization": "Bearer x", "accept": "*/*"}, "body": "a".repeat(40_000)});
        let run = ended(&service, &ann, &id, &event).await;
        let failed = &run["failedInput"];
        assert_eq!(failed["input"]["headers"], json!({"accept": "*/*", "authorization": "***"}), "{failed}");
        assert_eq!(failed["truncated"], true);
        let length = failed["input"]["body"].as_str().unwrap().len();
        assert!((10_000..20_000).contains(&length), "{length}");
    }

    async fn a_node_within_a_loop_is_told_with_its_place(service: Service) {
        let ann = service.user("ann").await;
        let mut graph = chain(&[
            ("start", "OnManual", json!({})),
            ("each", "ForEach", json!({"items": "{{ $input.list }}"})),
        ]);
        let nodes = graph["nodes"].as_array_mut().unwrap();
        let check = json!({"condition": "{{ $input.n < 3 }}"});
        nodes.push(json!({"id": "check", "type": "If", "data": {"parameters": check}}));
        nodes.push(json!({"id": "stop", "type": "Throw", "data": {"parameters": {"message": "no"}}}));
        for (source, port, target, into) in
            [("each", "item", "check", "in"), ("check", "true", "each", "next"), ("check", "false", "stop", "in")]
        {
            let edge = json!({"source": source, "sourceHandle": port, "target": target, "targetHandle": into});
            graph["edges"].as_array_mut().unwrap().push(edge);
        }
        let id = service.deployed(&ann, &graph).await;
        let run = ended(&service, &ann, &id, &json!({"list": [{"n": 1}, {"n": 2}, {"n": 3}]})).await;
        assert_eq!(run["failedInput"], json!({"path": "each[2]", "input": {"n": 3}, "truncated": false}), "{run}");
    }

    async fn what_did_not_fail_or_was_handled_keeps_nothing(service: Service) {
        let ann = service.user("ann").await;
        let mut graph = chain(&[
            ("start", "OnManual", json!({})),
            ("odd", "Transform", json!({"value": "{{ $input.x.y }}"})),
            ("end", "Return", json!({"value": "{{ $input.error.code }}"})),
        ]);
        graph["nodes"][1]["data"]["onError"] = json!("continue");
        let id = service.deployed(&ann, &graph).await;
        let run = ended(&service, &ann, &id, &json!({})).await;
        assert_eq!((&run["output"], &run["failedInput"]), (&json!("EXPRESSION"), &Value::Null), "{run}");
    }

    async fn secrets_are_masked_in_it(service: Service) {
        let ann = service.user("ann").await;
        let workspace = service.workspace_of(&ann).await;
        let environments = format!("/api/workspaces/{workspace}/environments");
        let listed = service.get(&environments).bearer(&ann.token).send().await;
        let environment = listed.data(200)[0]["id"].as_str().unwrap().to_owned();
        let path = format!("{environments}/{environment}/secrets/KEY");
        let set = service.request("PUT", &path).bearer(&ann.token).json(&json!({"value": "geheim-geheim"}));
        set.send().await.data(200);
        let request = json!({"url": "http://127.0.0.1:9/", "headers": {"x": "{{ $secrets.KEY }}"}});
        let graph = chain(&[("start", "OnManual", json!({})), ("ask", "HttpRequest", request)]);
        let id = service.deployed(&ann, &graph).await;
        let run = ended(&service, &ann, &id, &json!({"body": "it is geheim-geheim"})).await;
        assert_eq!(run["error"]["nodeId"], "ask", "{run}");
        assert_eq!(run["failedInput"]["input"], json!({"body": "it is ***"}), "{run}");
    }

    async fn a_run_whose_time_is_over_names_the_node_that_it_waited_for(service: Service) {
        let ann = service.user("ann").await;
        let mut graph = chain(&[
            ("start", "OnManual", json!({})), ("pause", "Wait", json!({"durationMs": 30_000})), ("end", "Return", json!({})),
        ]);
        // Time enough to come to the wait on a busy machine.
        graph["settings"] = json!({"timeoutMs": 1_000});
        let id = service.deployed(&ann, &graph).await;
        let run = ended(&service, &ann, &id, &json!({})).await;
        assert_eq!((&run["error"]["code"], &run["error"]["nodeId"]), (&json!("TIMEOUT"), &json!("pause")), "{run}");
        assert!(run["error"]["message"].as_str().unwrap().contains("`pause`"), "{run}");
        assert_eq!(run["failedInput"], Value::Null, "it was stopped from outside");
    }

    async fn a_short_wait_is_shown_as_one(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let graph = chain(&[("start", "OnManual", json!({})), ("pause", "Wait", json!({"durationMs": 30_000}))]);
        let id = service.deployed(&ann, &graph).await;
        let run = service.started(&ann, &id, &json!({})).await;
        while service.run(&ann, &id, &run).await["phase"] != "waiting" {
            tokio::task::yield_now().await;
        }
        // It waits in memory, not as a row.
        assert!(service.app.executions.phase_of(run.parse().unwrap()).is_some());
        let cancelled = service.operate(&ann, &id, &format!("runs/{run}/cancel")).await;
        assert_eq!(cancelled.status, 200, "{cancelled}");
    }
}
