//! Tests of patterns: kept, run, compared, made of runs and events, and asked for by a deployment.

use crate::harness::{Database, Reply, Service, User, chain, doubling, each_database, endless};
use crate::webhooks::fixture::{Hook, graph, returns};
use futures_util::future::join_all;
use heddle_model::access::WorkspaceRole;
use heddle_model::quota::Quota;
use serde_json::{Value, json};

const NOW: &str = "2026-11-21T09:00:00.000Z";

async fn post(service: &Service, user: &User, path: &str, body: Value) -> Reply {
    service.post(path).bearer(&user.token).json(&body).send().await
}

async fn put(service: &Service, user: &User, path: &str, body: Value) -> Reply {
    service.put(path).bearer(&user.token).json(&body).send().await
}

async fn get(service: &Service, user: &User, path: &str) -> Reply {
    service.get(path).bearer(&user.token).send().await
}

/// Adds a test to a pattern; its id.
async fn added(service: &Service, user: &User, pattern: &str, case: Value) -> String {
    let reply = post(service, user, &format!("/api/patterns/{pattern}/tests"), case).await;
    assert_eq!(reply.status, 201, "{reply}");
    reply.body["id"].as_str().unwrap().to_owned()
}

/// Runs all tests of a pattern.
async fn run(service: &Service, user: &User, pattern: &str, body: Value) -> Value {
    let reply = post(service, user, &format!("/api/patterns/{pattern}/tests/run"), body).await;
    assert_eq!(reply.status, 200, "{reply}");
    reply.body
}

/// How many runs a deployment has had.
async fn runs(service: &Service, user: &User, deployment: &str) -> Value {
    let listed = get(service, user, &format!("/api/deployments/{deployment}/runs")).await;
    listed.body["meta"]["total"].clone()
}

fn adding() -> Value {
    chain(&[
        ("called", "OnCall", json!({})),
        ("end", "Return", json!({"value": "{{ { sum: $input.n + 1 } }}"})),
    ])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_is_made_of_a_run_also_while_no_other_can_execute() {
    let service = Service::with(Database::Sqlite, |config| {
        (config.workspace_concurrency_max, config.queue_runs_max) = (1, 2);
    })
    .await;
    let ann = service.user("ann").await;
    let asking = json!({
        "nodes": [
            {"id": "start", "type": "OnManual"},
            {"id": "ask", "type": "HttpRequest", "data": {"parameters": {"url": "http://127.0.0.1:9/"}, "onError": "continue"}},
        ],
        "edges": [{"source": "start", "target": "ask"}],
    });
    let pattern = service.drawn(&ann, &asking).await;
    let untraced = json!({"nodeDefinitions": {}});
    let deployed = post(
        &service,
        &ann,
        &format!("/api/patterns/{pattern}/deploy"),
        untraced,
    )
    .await;
    let deployment = deployed.data(200)["deploymentId"].as_str().unwrap().to_owned();
    let ran = service.ran(&ann, &deployment, &json!({})).await;
    // One waits for its second attempt, and one for that one's place.
    let waiting = service.deployed(&ann, &endless()).await;
    for _ in 0..2 {
        service.started(&ann, &waiting, &json!({})).await;
    }
    let body = json!({"deploymentId": deployment, "runId": ran});
    let made = post(
        &service,
        &ann,
        &format!("/api/patterns/{pattern}/tests/from-run"),
        body,
    )
    .await;
    assert_eq!(made.status, 201, "{made}");
    let ask = json!({"nodeId": "ask", "kinds": ["http"], "reason": "notReplayed"});
    assert_eq!(made.body["unpinned"], json!([ask]), "{made}");
}

fn calling(pattern: &str) -> Value {
    chain(&[
        ("start", "OnManual", json!({})),
        ("call", "CallPattern", json!({"patternId": pattern})),
        ("end", "Return", json!({})),
    ])
}

each_database! {
    async fn changes_of_a_test_at_the_same_time_are_all_kept(service: Service) {
        let ann = service.user("ann").await;
        let pattern = service.drawn(&ann, &doubling()).await;
        let case = json!({"name": "one", "event": {"padding": "x".repeat(100 << 10)}});
        let test = added(&service, &ann, &pattern, case).await;
        let path = format!("/api/patterns/{pattern}/tests/{test}");
        let changes = [
            json!({"name": "other"}),
            json!({"seed": 7}),
            json!({"allowEffects": true}),
            json!({"ignore": ["output.id"]}),
        ];
        let sent = changes.iter().map(|change| put(&service, &ann, &path, change.clone()));
        for reply in join_all(sent).await {
            assert_eq!(reply.status, 200, "{reply}");
        }
        let kept = get(&service, &ann, &path).await;
        for change in &changes {
            for (field, value) in change.as_object().unwrap() {
                assert_eq!(&kept.body["case"][field], value, "{field}");
            }
        }
    }

    async fn the_tests_of_a_workspace_are_listed_together(service: Service) {
        let ann = service.user("ann").await;
        let (mut patterns, mut tests) = (Vec::new(), Vec::new());
        for name in ["a", "b", "c"] {
            let pattern = service.drawn(&ann, &doubling()).await;
            tests.push(added(&service, &ann, &pattern, json!({"name": name})).await);
            patterns.push(pattern);
        }
        let first = get(&service, &ann, "/api/tests?limit=2").await;
        let test = |place: usize, name: &str| json!({
            "id": tests[place], "patternId": patterns[place], "name": name, "createdAt": NOW, "updatedAt": NOW, "lastResult": null,
        });
        assert_eq!(first.body["data"], json!([test(0, "a"), test(1, "b")]), "{first}");
        assert_eq!(first.body["meta"], json!({"limit": 2, "nextCursor": tests[1]}));
        let second = get(&service, &ann, &format!("/api/tests?limit=2&cursor={}", tests[1])).await;
        assert_eq!(second.body["data"], json!([test(2, "c")]), "{second}");
        assert_eq!(second.body["meta"], json!({"limit": 2, "nextCursor": null}));
        let stranger = service.user("bob").await;
        assert_eq!(get(&service, &stranger, "/api/tests").await.body["data"], json!([]));
        for (query, field) in [("limit=0", "limit"), ("cursor=x", "cursor")] {
            let refused = get(&service, &ann, &format!("/api/tests?{query}")).await;
            assert_eq!(refused.wrong_fields(), [field], "{query}");
        }
    }

    async fn tests_are_kept_with_a_pattern(service: Service) {
        let ann = service.user("ann").await;
        let pattern = service.drawn(&ann, &doubling()).await;
        let path = format!("/api/patterns/{pattern}/tests");
        let case = json!({"name": " Four ", "event": {"n": 4}, "expect": {"output": {"double": 8}}, "ignore": ["output.at"]});
        let made = post(&service, &ann, &path, case).await;
        let id = made.body["id"].as_str().unwrap_or_default().to_owned();
        let whole = json!({
            "id": id, "createdAt": NOW, "updatedAt": NOW, "lastResult": null, "case": {
                "name": "Four", "event": {"n": 4}, "pins": {}, "startedAt": NOW, "allowEffects": false,
                "expect": {"output": {"double": 8}}, "ignore": ["output.at"],
            },
        });
        assert_eq!((made.status, &made.body), (201, &whole), "{made}");
        assert_eq!(get(&service, &ann, &format!("{path}/{id}")).await.body, whole);
        let listed = json!({"tests": [{"id": id, "name": "Four", "createdAt": NOW, "updatedAt": NOW, "lastResult": null}]});
        assert_eq!(get(&service, &ann, &path).await.body, listed);
        let changes = json!({"event": null, "seed": 7, "expect": {"output": null, "nodes": {"note": 1}}, "triggerNodeId": "start"});
        let changed = put(&service, &ann, &format!("{path}/{id}"), changes).await;
        assert_eq!((changed.status, &changed.body["case"]), (200, &json!({
            "name": "Four", "triggerNodeId": "start", "event": null, "pins": {}, "seed": 7, "startedAt": NOW,
            "allowEffects": false, "expect": {"output": null, "nodes": {"note": 1}}, "ignore": ["output.at"],
        })), "{changed}");
        assert_eq!(service.delete(&format!("{path}/{id}")).bearer(&ann.token).send().await.status, 204);
        service.delete(&format!("{path}/{id}")).bearer(&ann.token).send().await.assert_refused(404, "NOT_FOUND");
        get(&service, &ann, &format!("{path}/{id}")).await.assert_refused(404, "NOT_FOUND");
        assert_eq!(get(&service, &ann, &path).await.body, json!({"tests": []}));
    }

    async fn a_run_is_compared_with_what_is_expected(service: Service) {
        let ann = service.user("ann").await;
        let pattern = service.drawn(&ann, &doubling()).await;
        for case in [
            json!({"name": "right", "event": {"n": 4}, "expect": {"output": {"double": 8.0}, "nodes": {"note": {"n": 4}}}}),
            json!({"name": "wrong", "event": {"n": 4}, "expect": {"output": {"double": 9, "more": 1}, "nodes": {"note": {"n": 5}, "boom": 1}}}),
            json!({"name": "ignored", "event": {"n": 4}, "expect": {"output": {"double": 9}}, "ignore": ["output.double"]}),
            json!({"name": "fails as expected", "event": {"fail": true}, "expect": {"error": {"code": "UNLUCKY", "nodeId": "boom"}}}),
            json!({"name": "fails otherwise", "event": {"fail": true}, "expect": {"error": {"code": "LUCKY", "nodeId": "boom"}}}),
            json!({"name": "should fail", "event": {"n": 1}, "expect": {"error": {"code": "UNLUCKY"}}}),
            json!({"name": "should not", "event": {"fail": true}, "expect": {"output": {"double": 0}}}),
            json!({"name": "just completes", "event": {"n": 1}}),
            json!({"name": "pinned", "event": {"n": 1}, "pins": {"note": {"n": 20}}, "expect": {"output": {"double": 40}}}),
            json!({"name": "pin of nothing", "pins": {"ghost": 1}}),
            json!({"name": "no such trigger", "triggerNodeId": "ghost"}),
        ] {
            added(&service, &ann, &pattern, case).await;
        }
        let tally = run(&service, &ann, &pattern, json!({})).await;
        assert_eq!((&tally["passed"], &tally["failed"], &tally["errored"]), (&json!(5), &json!(4), &json!(2)), "{tally}");
        assert_eq!(tally["versionNumber"], 2);
        let result = |name: &str| {
            tally["results"].as_array().unwrap().iter().find(|result| result["name"] == name).unwrap().clone()
        };
        for passed in ["right", "ignored", "fails as expected", "just completes", "pinned"] {
            let found = result(passed);
            assert_eq!((&found["status"], &found["differences"]), (&json!("passed"), &json!([])), "{found}");
            assert!(found.get("actual").is_none() && found.get("error").is_none(), "{found}");
        }
        let wrong = result("wrong");
        assert_eq!((&wrong["status"], &wrong["differencesOmitted"]), (&json!("failed"), &json!(0)));
        assert_eq!(wrong["differences"], json!([
            {"path": "output.double", "kind": "changed", "expected": 9, "actual": 8},
            {"path": "output.more", "kind": "missing", "expected": 1},
            {"path": "nodes.note.n", "kind": "changed", "expected": 5, "actual": 4},
            {"path": "nodes.boom", "kind": "missing", "expected": 1},
        ]));
        assert_eq!(wrong["actual"], json!({"output": {"double": 8}, "nodes": {"note": {"n": 4}}}));
        assert_eq!(result("fails otherwise")["differences"], json!([
            {"path": "error.code", "kind": "changed", "expected": "LUCKY", "actual": "UNLUCKY"},
        ]));
        assert_eq!(result("should fail")["differences"], json!([
            {"path": "error", "kind": "missing", "expected": {"code": "UNLUCKY"}},
        ]));
        let should_not = result("should not");
        assert_eq!(should_not["differences"][0]["kind"], "unexpected", "{should_not}");
        assert_eq!(should_not["differences"][0]["path"], "error");
        assert_eq!(should_not["actual"]["error"]["code"], "UNLUCKY");
        assert_eq!(result("pin of nothing")["error"]["code"], "INVALID_GRAPH");
        assert_eq!(result("pin of nothing")["error"]["nodeId"], "ghost");
        assert_eq!(result("no such trigger")["error"]["code"], "VALIDATION");
        let listed = get(&service, &ann, &format!("/api/patterns/{pattern}/tests")).await;
        assert_eq!(listed.body["tests"][1]["lastResult"], json!({"status": "failed", "at": NOW, "versionNumber": 2}));
        assert_eq!(listed.body["tests"][9]["lastResult"]["status"], "errored");
    }

    async fn what_a_run_gave_is_what_it_can_be_expected_to_give(service: Service) {
        let ann = service.user("ann").await;
        let pattern = service.drawn(&ann, &doubling()).await;
        let path = format!("/api/patterns/{pattern}/tests");
        for event in [json!({"n": 3}), json!({"fail": true})] {
            let case = json!({"name": "x", "event": event, "expect": {"output": "wrong", "nodes": {"note": null}}});
            let id = added(&service, &ann, &pattern, case).await;
            let only = json!({"tests": [id]});
            let first = run(&service, &ann, &pattern, only.clone()).await;
            assert_eq!((&first["failed"], first["results"].as_array().unwrap().len()), (&json!(1), 1), "{first}");
            let accepted = put(&service, &ann, &format!("{path}/{id}"), json!({"expect": first["results"][0]["actual"]})).await;
            assert_eq!((accepted.status, &accepted.body["lastResult"]), (200, &Value::Null), "{accepted}");
            assert_eq!(run(&service, &ann, &pattern, only).await["passed"], 1);
        }
    }

    async fn a_graph_that_is_sent_is_tested_and_nothing_is_kept(service: Service) {
        let ann = service.user("ann").await;
        let pattern = service.drawn(&ann, &doubling()).await;
        added(&service, &ann, &pattern, json!({"name": "four", "event": {"n": 4}, "expect": {"output": {"double": 8}}})).await;
        let mut tripling = doubling();
        tripling["nodes"][4]["data"]["parameters"]["value"] = json!("{{ { double: $input.n * 3 } }}");
        let tally = run(&service, &ann, &pattern, json!({"graphData": tripling, "nodeDefinitions": {}})).await;
        assert_eq!((&tally["failed"], &tally["versionNumber"]), (&json!(1), &Value::Null), "{tally}");
        assert_eq!(tally["results"][0]["differences"][0]["actual"], 12);
        let own = json!({"Twice": {"kind": "expression", "outputs": [{"name": "out"}], "outputValues": {"out": "{{ $input.n * 2 }}"}}});
        let drawn = chain(&[("go", "OnManual", json!({})), ("twice", "Twice", json!({})), ("end", "Return", json!({"value": "{{ ({double: $input}) }}"}))]);
        let tally = run(&service, &ann, &pattern, json!({"graphData": drawn, "nodeDefinitions": own})).await;
        assert_eq!(tally["passed"], 1, "{tally}");
        let listed = get(&service, &ann, &format!("/api/patterns/{pattern}/tests")).await;
        assert_eq!(listed.body["tests"][0]["lastResult"], Value::Null);
    }

    async fn nodes_in_loops_have_a_list_of_outputs(service: Service) {
        let ann = service.user("ann").await;
        let graph = json!({"nodes": [
            {"id": "start", "type": "OnManual"},
            {"id": "each", "type": "ForEach", "data": {"parameters": {"items": "{{ $input }}"}}},
            {"id": "next", "type": "Transform", "data": {"parameters": {"value": "{{ $input + 1 }}"}}},
            {"id": "end", "type": "Return", "data": {"parameters": {"value": "{{ $uuid() }}"}}},
        ], "edges": [
            {"source": "start", "target": "each"},
            {"source": "each", "sourceHandle": "item", "target": "next"},
            {"source": "next", "target": "each", "targetHandle": "next"},
            {"source": "each", "sourceHandle": "done", "target": "end"},
        ]});
        let pattern = service.drawn(&ann, &graph).await;
        added(&service, &ann, &pattern, json!({"name": "x", "event": [1, 2], "expect": {"nodes": {"next": [2, 4]}, "output": 0}})).await;
        let tally = run(&service, &ann, &pattern, json!({})).await;
        let differences = &tally["results"][0]["differences"];
        assert_eq!(differences[1], json!({"path": "nodes.next[1]", "kind": "changed", "expected": 4, "actual": 3}), "{tally}");
        let again = run(&service, &ann, &pattern, json!({})).await;
        assert_eq!(&again["results"][0]["differences"], differences, "the same seed gives the same id");
    }

    async fn nothing_reaches_outside_unless_the_test_says_so(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let callee = service.drawn(&ann, &adding()).await;
        let called = service.deploy(&ann, &callee).await;
        let pattern = service.drawn(&ann, &calling(&callee)).await;
        let case = |name: &str| json!({"name": name, "event": {"n": 4}, "expect": {"output": {"sum": 5}}});
        let id = added(&service, &ann, &pattern, case("call")).await;
        let tally = run(&service, &ann, &pattern, json!({})).await;
        let result = &tally["results"][0];
        assert_eq!((&result["status"], &result["error"]["code"], &result["error"]["nodeId"]), (&json!("errored"), &json!("NOT_PINNED"), &json!("call")), "{tally}");
        assert!(result["error"]["message"].as_str().unwrap().starts_with("The node `call` would reach outside"), "{tally}");
        assert_eq!(runs(&service, &ann, &called).await, 0);
        let path = format!("/api/patterns/{pattern}/tests/{id}");
        assert_eq!(put(&service, &ann, &path, json!({"pins": {"call": {"sum": 5}}})).await.status, 200);
        assert_eq!(run(&service, &ann, &pattern, json!({})).await["passed"], 1);
        assert_eq!(runs(&service, &ann, &called).await, 0);
        assert_eq!(put(&service, &ann, &path, json!({"pins": {}, "allowEffects": true})).await.status, 200);
        assert_eq!(run(&service, &ann, &pattern, json!({})).await["passed"], 1);
        assert_eq!(runs(&service, &ann, &called).await, 1);
    }

    async fn an_error_that_the_pattern_would_catch_lets_nothing_out(service: Service) {
        let ann = service.user("ann").await;
        let graph = json!({"nodes": [
            {"id": "start", "type": "OnManual"},
            {"id": "ask", "type": "HttpRequest", "data": {"parameters": {"url": "https://example.com"}, "onError": "continue"}},
            {"id": "end", "type": "Return", "data": {"parameters": {"value": 1}}},
        ], "edges": [{"source": "start", "target": "ask"}, {"source": "ask", "target": "end"}]});
        let pattern = service.drawn(&ann, &graph).await;
        added(&service, &ann, &pattern, json!({"name": "x", "expect": {"output": 1}})).await;
        let tally = run(&service, &ann, &pattern, json!({})).await;
        assert_eq!(tally["results"][0]["error"]["code"], "NOT_PINNED", "{tally}");
    }

    async fn a_test_is_made_of_a_run(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let callee = service.drawn(&ann, &adding()).await;
        let called = service.deploy(&ann, &callee).await;
        let pattern = service.drawn(&ann, &calling(&callee)).await;
        let deployment = service.deploy(&ann, &pattern).await;
        let ran = service.ran(&ann, &deployment, &json!({"n": 4})).await;
        let path = format!("/api/patterns/{pattern}/tests/from-run");
        let made = post(&service, &ann, &path, json!({"deploymentId": deployment, "runId": ran})).await;
        assert_eq!(made.status, 201, "{made}");
        let case = &made.body["test"]["case"];
        assert_eq!(made.body["unpinned"], json!([]), "{made}");
        assert_eq!((&case["name"], &case["event"]), (&json!("Run, 21 Nov 2026, 09:00:00 UTC"), &json!({"n": 4})));
        assert_eq!((&case["expect"], &case["startedAt"]), (&json!({"output": {"sum": 5}}), &json!(NOW)));
        assert_eq!(case["pins"], json!({"call": {"$pin": true, "port": "out", "value": {"sum": 5}}}));
        assert!(case["seed"].is_u64() && case["environmentId"].is_string(), "{made}");
        assert_eq!(run(&service, &ann, &pattern, json!({})).await["passed"], 1);
        assert_eq!(runs(&service, &ann, &called).await, 1, "the run itself, and no test");
        // Without a trace, by the journal.
        let untraced = post(&service, &ann, &format!("/api/patterns/{pattern}/deploy"), json!({"nodeDefinitions": {}})).await;
        assert_eq!(untraced.status, 200, "{untraced}");
        let again = service.ran(&ann, &deployment, &json!({"n": 4})).await;
        let body = json!({"deploymentId": deployment, "runId": again, "name": "By the journal"});
        let by_journal = post(&service, &ann, &path, body).await;
        assert_eq!((&by_journal.body["unpinned"], &by_journal.body["test"]["case"]["pins"]), (&json!([]), &case["pins"]), "{by_journal}");
        assert_eq!(runs(&service, &ann, &called).await, 2, "the two runs themselves");
        // What executes for each item is pinned as the list that left it.
        let mut of_items = calling(&callee);
        of_items["settings"] = json!({"items": true});
        let listed = service.drawn(&ann, &of_items).await;
        let calls = service.deploy(&ann, &listed).await;
        let ran_for_each = service.ran(&ann, &calls, &json!({"n": 1})).await;
        let body = json!({"deploymentId": calls, "runId": ran_for_each});
        let made = post(&service, &ann, &format!("/api/patterns/{listed}/tests/from-run"), body).await;
        let pin = json!({"$pin": true, "port": "out", "value": [{"sum": 2}]});
        assert_eq!((&made.body["unpinned"], &made.body["test"]["case"]["pins"]), (&json!([]), &json!({"call": pin})), "{made}");
        assert_eq!(run(&service, &ann, &listed, json!({})).await["passed"], 1);
        let other = service.drawn(&ann, &doubling()).await;
        let elsewhere = post(&service, &ann, &format!("/api/patterns/{other}/tests/from-run"), json!({"deploymentId": deployment, "runId": ran})).await;
        elsewhere.assert_refused(404, "NOT_FOUND");
    }

    async fn a_test_of_a_failed_run_expects_its_error(service: Service) {
        let ann = service.user("ann").await;
        let pattern = service.drawn(&ann, &doubling()).await;
        let deployment = service.deploy(&ann, &pattern).await;
        let ran = service.ran(&ann, &deployment, &json!({"fail": true})).await;
        let body = json!({"deploymentId": deployment, "runId": ran, "name": "Bad luck"});
        let made = post(&service, &ann, &format!("/api/patterns/{pattern}/tests/from-run"), body).await;
        assert_eq!((made.status, &made.body["test"]["case"]["name"]), (201, &json!("Bad luck")), "{made}");
        assert_eq!(made.body["test"]["case"]["expect"], json!({"error": {"code": "UNLUCKY", "nodeId": "boom"}}));
        assert_eq!(run(&service, &ann, &pattern, json!({})).await["passed"], 1);
    }

    async fn what_is_not_known_of_a_run_is_told(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let callee = service.drawn(&ann, &adding()).await;
        let drawn = json!({"nodes": [
            {"id": "start", "type": "OnManual"},
            {"id": "wrong", "type": "CallPattern", "data": {"parameters": {"patternId": callee}, "onError": "continue"}},
            {"id": "never", "type": "If", "data": {"parameters": {"condition": false}}},
            {"id": "unused", "type": "HttpRequest", "data": {"parameters": {"url": "https://example.com"}}},
            {"id": "sign", "type": "Hash", "data": {"parameters": {"value": "x"}}},
            {"id": "end", "type": "Return", "data": {"parameters": {"value": 1}}},
        ], "edges": [
            {"source": "start", "target": "wrong"}, {"source": "wrong", "target": "never"},
            {"source": "never", "sourceHandle": "true", "target": "unused"},
            {"source": "never", "sourceHandle": "false", "target": "sign"}, {"source": "sign", "target": "end"},
        ]});
        let pattern = service.drawn(&ann, &drawn).await;
        let deployment = service.deploy(&ann, &pattern).await;
        let ran = service.ran(&ann, &deployment, &json!({})).await;
        let body = json!({"deploymentId": deployment, "runId": ran});
        let made = post(&service, &ann, &format!("/api/patterns/{pattern}/tests/from-run"), body).await;
        let unpinned = made.body["unpinned"].as_array().unwrap_or_else(|| panic!("{made}"));
        assert!(unpinned.contains(&json!({"nodeId": "unused", "kinds": ["http"], "reason": "notReached"})), "{made}");
        assert!(unpinned.iter().all(|node| node["nodeId"] != "sign"), "{made}");
        let untraced = post(&service, &ann, &format!("/api/patterns/{pattern}/deploy"), json!({"nodeDefinitions": {}})).await;
        assert_eq!(untraced.status, 200, "{untraced}");
        let ran = service.ran(&ann, &deployment, &json!({})).await;
        // Nor is there anything of which the run could be executed once more.
        let removed = service.app.store.write(|db| Box::pin(async move { db.execute(heddle_store::sql("delete from artifacts")).await }));
        let removed: Result<u64, heddle_store::StoreError> = removed.await;
        assert!(removed.unwrap() > 0);
        let body = json!({"deploymentId": deployment, "runId": ran});
        let made = post(&service, &ann, &format!("/api/patterns/{pattern}/tests/from-run"), body).await;
        let reasons: Vec<&Value> = made.body["unpinned"].as_array().unwrap().iter().map(|node| &node["reason"]).collect();
        assert_eq!(reasons, ["noTrace", "noTrace"], "{made}");
    }

    async fn a_test_is_made_of_an_event_without_its_credentials(service: Service) {
        let hook = Hook::saved(&service, graph(json!({}), &[returns("{{ $input.body.n }}")])).await;
        hook.signed("{\"n\": 5}").header("authorization", "Bearer secret").send().await;
        let tapped = hook.tapped().await;
        let path = format!("/api/patterns/{}/tests/from-event", hook.pattern);
        let body = json!({"nodeId": "hook", "receivedAt": tapped[0]["receivedAt"]});
        let made = post(&service, &hook.user, &path, body).await;
        assert_eq!((made.status, &made.body["unpinned"]), (201, &json!([])), "{made}");
        let case = &made.body["test"]["case"];
        assert_eq!((&case["triggerNodeId"], &case["expect"]), (&json!("hook"), &json!({})), "{made}");
        assert_eq!((&case["event"]["body"], &case["event"]["headers"]["authorization"]), (&json!({"n": 5}), &json!("***")));
        assert_eq!(run(&service, &hook.user, &hook.pattern, json!({})).await["passed"], 1);
        let other = json!({"nodeId": "hook", "receivedAt": "2020-01-01T00:00:00.000Z"});
        post(&service, &hook.user, &path, other).await.assert_refused(404, "NOT_FOUND");
    }

    async fn a_test_of_a_run_has_no_credentials(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let gives_back = chain(&[("start", "OnCall", json!({})), ("end", "Return", json!({}))]);
        let callee = service.drawn(&ann, &gives_back).await;
        service.deploy(&ann, &callee).await;
        let pattern = service.drawn(&ann, &calling(&callee)).await;
        let deployment = service.deploy(&ann, &pattern).await;
        let event = |authorization: &str| json!({"headers": {"authorization": authorization, "x-other": "1"}});
        let ran = service.ran(&ann, &deployment, &event("Bearer secret")).await;
        let body = json!({"deploymentId": deployment, "runId": ran});
        let made = post(&service, &ann, &format!("/api/patterns/{pattern}/tests/from-run"), body).await;
        assert_eq!((made.status, &made.body["unpinned"]), (201, &json!([])), "{made}");
        let (case, covered) = (&made.body["test"]["case"], event("***"));
        assert_eq!((&case["event"], &case["pins"]["call"]["value"]), (&covered, &covered), "{made}");
        assert_eq!(case["expect"], json!({"output": covered}), "{made}");
        assert_eq!(run(&service, &ann, &pattern, json!({})).await["passed"], 1);
    }

    async fn a_deployment_may_ask_for_tests_that_pass(service: Service) {
        let ann = service.user("ann").await;
        let pattern = service.drawn(&ann, &doubling()).await;
        let path = format!("/api/patterns/{pattern}/deploy");
        let asked = json!({"nodeDefinitions": {}, "requireTests": true});
        assert_eq!(post(&service, &ann, &path, asked.clone()).await.status, 200, "none at all");
        added(&service, &ann, &pattern, json!({"name": "four", "event": {"n": 4}, "expect": {"output": {"double": 8}}})).await;
        let id = added(&service, &ann, &pattern, json!({"name": "five", "event": {"n": 5}, "expect": {"output": {"double": 11}}})).await;
        let refused = post(&service, &ann, &path, asked.clone()).await;
        refused.assert_refused(409, "TESTS_FAILED");
        assert_eq!(refused.body["error"]["message"], "1 of 2 tests of version 2 don't pass: five. Nothing was deployed.");
        assert_eq!(refused.body["error"]["details"], json!([{"path": format!("tests[{id}]"), "message": "five: differs at output.double"}]));
        assert_eq!(post(&service, &ann, &path, json!({"nodeDefinitions": {}})).await.status, 200, "nobody asked for tests");
        put(&service, &ann, &format!("/api/patterns/{pattern}/tests/{id}"), json!({"expect": {"output": {"double": 10}}})).await;
        let deployed = post(&service, &ann, &path, asked).await;
        assert_eq!(deployed.data(200)["versionNumber"], 2);
    }

    async fn viewers_read_tests_and_others_do_not(service: Service) {
        let ann = service.user("ann").await;
        let (eve, vic) = (service.user("eve").await, service.member(&ann, "vic", WorkspaceRole::Viewer).await);
        let pattern = service.drawn(&ann, &doubling()).await;
        put(&service, &ann, &format!("/api/patterns/{pattern}"), json!({"isPublic": true})).await;
        let path = format!("/api/patterns/{pattern}/tests");
        let id = added(&service, &ann, &pattern, json!({"name": "x"})).await;
        assert_eq!(get(&service, &vic, &format!("{path}/{id}")).await.status, 200);
        assert_eq!(get(&service, &vic, &path).await.status, 200);
        post(&service, &vic, &format!("{path}/run"), json!({})).await.assert_refused(403, "FORBIDDEN");
        put(&service, &vic, &format!("{path}/{id}"), json!({"name": "y"})).await.assert_refused(403, "FORBIDDEN");
        // The pattern is public, what its owners try it with is not.
        get(&service, &eve, &path).await.assert_refused(404, "NOT_FOUND");
        get(&service, &eve, &format!("{path}/{id}")).await.assert_refused(404, "NOT_FOUND");
        post(&service, &eve, &format!("{path}/run"), json!({})).await.assert_refused(404, "NOT_FOUND");
        post(&service, &eve, &path, json!({"name": "y"})).await.assert_refused(403, "FORBIDDEN");
    }

    async fn tests_travel_when_they_are_asked_to(service: Service) {
        let (ann, eve) = (service.user("ann").await, service.user("eve").await);
        let pattern = service.drawn(&ann, &doubling()).await;
        put(&service, &ann, &format!("/api/patterns/{pattern}"), json!({"isPublic": true})).await;
        added(&service, &ann, &pattern, json!({"name": "four", "event": {"n": 4}, "expect": {"output": {"double": 8}}})).await;
        let names = async |user: &User, pattern: &Value| {
            let path = format!("/api/patterns/{}/tests", pattern.as_str().unwrap());
            let listed = get(&service, user, &path).await;
            let tests = listed.body["tests"].as_array().unwrap_or_else(|| panic!("{listed}")).clone();
            tests.iter().map(|test| test["name"].clone()).collect::<Vec<Value>>()
        };
        let path = format!("/api/patterns/{pattern}");
        let plain = post(&service, &ann, &format!("{path}/clone"), json!({})).await;
        assert!(names(&ann, &plain.body["id"]).await.is_empty());
        let with_tests = post(&service, &ann, &format!("{path}/clone"), json!({"tests": true})).await;
        assert_eq!(names(&ann, &with_tests.body["id"]).await, ["four"]);
        let strangers = post(&service, &eve, &format!("{path}/clone"), json!({"tests": true})).await;
        assert!(names(&eve, &strangers.body["id"]).await.is_empty(), "they are not public");
        assert!(get(&service, &ann, &format!("{path}/export")).await.body.get("tests").is_none());
        assert_eq!(get(&service, &eve, &format!("{path}/export?tests=true")).await.body["tests"], json!([]));
        let exported = get(&service, &ann, &format!("{path}/export?tests=true")).await;
        assert_eq!(exported.body["tests"][0]["name"], "four", "{exported}");
        let imported = post(&service, &eve, "/api/patterns/import", exported.body).await;
        assert_eq!(imported.status, 201, "{imported}");
        let copy = imported.body["id"].as_str().unwrap();
        assert_eq!(run(&service, &eve, copy, json!({})).await["passed"], 1);
        let graph = json!({"nodes": [], "edges": []});
        // One without a time runs at that of its import, whenever that is.
        let timeless = json!({"name": "x", "graphData": graph, "tests": [{"name": "timeless"}]});
        let timeless = post(&service, &eve, "/api/patterns/import", timeless).await;
        let tests = format!("/api/patterns/{}/tests", timeless.body["id"].as_str().unwrap());
        let id = get(&service, &eve, &tests).await.body["tests"][0]["id"].clone();
        let kept = get(&service, &eve, &format!("{tests}/{}", id.as_str().unwrap())).await;
        assert_eq!(kept.body["case"]["startedAt"], NOW, "{kept}");
        let bad = json!({"name": "x", "graphData": graph, "tests": [{"name": "a\u{0}b"}]});
        let refused = post(&service, &eve, "/api/patterns/import", bad).await;
        refused.assert_refused(400, "VALIDATION");
        assert_eq!(refused.body["error"]["details"][0]["path"], "tests[0].name");
        let many: Vec<Value> = (0..101).map(|_| json!({"name": "x"})).collect();
        let many = json!({"name": "x", "graphData": graph, "tests": many});
        post(&service, &eve, "/api/patterns/import", many).await.assert_refused(403, "QUOTA_EXCEEDED");
    }

    async fn what_can_not_be_a_test_is_told_by_field(service: Service) {
        let ann = service.user("ann").await;
        let pattern = service.drawn(&ann, &doubling()).await;
        let path = format!("/api/patterns/{pattern}/tests");
        for (wrong, field) in [
            (json!({}), "name"),
            (json!({"name": " "}), "name"),
            (json!({"name": "x", "pins": []}), "pins"),
            (json!({"name": "x", "seed": -1}), "seed"),
            (json!({"name": "x", "startedAt": "1969-12-31T23:59:59Z"}), "startedAt"),
            (json!({"name": "x", "environmentId": "x"}), "environmentId"),
            (json!({"name": "x", "ignore": ["output", "output..x"]}), "ignore[1]"),
            (json!({"name": "x", "ignore": ["trace.x"]}), "ignore[0]"),
            (json!({"name": "x", "ignore": ["error"]}), "ignore[0]"),
            (json!({"name": "x", "expect": {"error": {}, "output": null}}), "expect.output"),
            (json!({"name": "x", "expect": {"nodes": 1}}), "expect.nodes"),
            (json!({"name": "x", "expect": [{"double": 8}]}), "expect"),
            (json!({"name": "x", "expect": {"error": ["UNLUCKY"]}}), "expect.error"),
        ] {
            let refused = post(&service, &ann, &path, wrong).await;
            refused.assert_refused(400, "VALIDATION");
            assert_eq!(refused.body["error"]["details"][0]["path"], field, "{refused}");
        }
        let values = json!({"name": "x", "graphData": doubling(), "tests": [["a test"]]});
        let imported = post(&service, &ann, "/api/patterns/import", values).await;
        imported.assert_refused(400, "VALIDATION");
        assert_eq!(imported.body["error"]["details"][0]["path"], "tests[0]", "{imported}");
        let large = json!({"name": "x", "event": "x".repeat(300_000)});
        post(&service, &ann, &path, large).await.assert_refused(413, "PAYLOAD_TOO_LARGE");
        let id = added(&service, &ann, &pattern, json!({"name": "x"})).await;
        let other = service.drawn(&ann, &doubling()).await;
        let elsewhere = post(&service, &ann, &format!("/api/patterns/{other}/tests/run"), json!({"tests": [id]})).await;
        elsewhere.assert_refused(400, "VALIDATION");
        assert_eq!(elsewhere.body["error"]["details"][0]["path"], "tests[0]");
    }
}

async fn counted(database: Database) {
    let service = Service::with(database, |config| config.quotas.set(Quota::PatternBytes, 20_000)).await;
    let ann = service.user("ann").await;
    let pattern = service.drawn(&ann, &doubling()).await;
    let path = format!("/api/patterns/{pattern}/tests");
    let case = json!({"name": "x", "event": "x".repeat(12_000)});
    let id = added(&service, &ann, &pattern, case.clone()).await;
    post(&service, &ann, &path, case)
        .await
        .assert_refused(403, "QUOTA_EXCEEDED");
    // One takes the place of the other.
    let changed = put(
        &service,
        &ann,
        &format!("{path}/{id}"),
        json!({"event": "y".repeat(13_000)}),
    )
    .await;
    assert_eq!(changed.status, 200, "{changed}");
    let listed = get(&service, &ann, &path).await;
    assert_eq!(listed.body["tests"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tests_count_towards_the_quota() {
    counted(Database::Sqlite).await;
    counted(Database::Postgres).await;
}
