//! CallPattern: a run calls another pattern's, which is a run of its own.

use super::waits::{HOUR, parked};
use crate::harness::{Database, Service, User, chain, each_database};
use axum::Router;
use axum::routing::get;
use heddle_model::ids::RunId;
use heddle_runtime::EgressPolicy;
use heddle_store::runs::journal::{self, Payload};
use heddle_store::{StoreError, sql};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::Notify;

/// Adds one to `n`, or fails when it is negative.
fn adding() -> Value {
    json!({
        "nodes": [
            {"id": "called", "type": "OnCall"},
            {"id": "check", "type": "If", "data": {"parameters": {"condition": "{{ $input.n < 0 }}"}}},
            {"id": "boom", "type": "Throw", "data": {"parameters": {"message": "too small", "code": "NEGATIVE"}}},
            {"id": "end", "type": "Return", "data": {"parameters": {"value": "{{ { sum: $input.n + 1 } }}"}}},
        ],
        "edges": [
            {"source": "called", "target": "check"},
            {"source": "check", "sourceHandle": "true", "target": "boom"},
            {"source": "check", "sourceHandle": "false", "target": "end"},
        ],
    })
}

/// Calls a pattern with its event.
fn calling(pattern: &str, mut parameters: Value) -> Value {
    parameters["patternId"] = json!(pattern);
    chain(&[
        ("start", "OnManual", json!({})),
        ("call", "CallPattern", parameters),
        ("end", "Return", json!({})),
    ])
}

/// How a run with this event ends: its output or its error.
async fn outcome(service: &Service, user: &User, deployment: &str, event: &Value) -> Value {
    let answer = service.execute(user, deployment, "?wait=true", event).await;
    assert_eq!(answer.status, 200, "{answer}");
    let data = &answer.body["data"];
    match data["error"].is_null() {
        true => data["output"].clone(),
        false => data["error"].clone(),
    }
}

each_database! {
    async fn a_pattern_calls_another_and_gets_what_it_returns(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let callee = service.drawn(&ann, &adding()).await;
        let called = service.deploy(&ann, &callee).await;
        let id = service.deployed(&ann, &calling(&callee, json!({}))).await;
        assert_eq!(outcome(&service, &ann, &id, &json!({"n": 4})).await, json!({"sum": 5}));
        let listed = service.get(&format!("/api/deployments/{called}/runs?triggeredBy=call")).bearer(&ann.token).send().await;
        let child = &listed.body["data"][0];
        assert_eq!((&listed.body["meta"]["total"], &child["status"]), (&json!(1), &json!("success")), "{listed}");
        assert_eq!(child["eventData"], json!({"n": 4}));
        let stats = service.get(&format!("/api/deployments/{called}/runs/stats")).bearer(&ann.token).send().await;
        assert_eq!(stats.body["data"]["runsByTrigger"]["call"], 1);
        let error = outcome(&service, &ann, &id, &json!({"n": -1})).await;
        assert_eq!((&error["code"], &error["nodeId"]), (&json!("NEGATIVE"), &json!("call")), "{error}");
        assert!(error["message"].as_str().unwrap().ends_with("at its node `boom`: too small"), "{error}");
        assert_eq!(crate::flow::journal::kept(&service).await, 0);
    }

    async fn inputs_are_checked_against_the_call_interface(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let callee = service.drawn(&ann, &adding()).await;
        service.deploy(&ann, &callee).await;
        let interface = json!({
            "inputs": [{"name": "n", "type": "integer"}, {"name": "note", "type": "string"}], "outputs": [],
        });
        let path = format!("/api/patterns/{callee}/call-interface");
        assert_eq!(service.put(&path).bearer(&ann.token).json(&interface).send().await.status, 200);
        let id = service.deployed(&ann, &calling(&callee, json!({}))).await;
        let right = outcome(&service, &ann, &id, &json!({"n": 4, "note": "x"})).await;
        assert_eq!(right, json!({"sum": 5}));
        let wrong = outcome(&service, &ann, &id, &json!({"n": 1.5, "more": 1})).await;
        assert_eq!(wrong["code"], "CALL_INPUTS", "{wrong}");
        assert_eq!(wrong["message"], "The inputs do not fit the call interface of `Pattern`: `n` takes \
            integer, but it is a number; `note` (string) is missing; `more` is not one of its inputs.");
    }

    async fn what_can_not_be_called_says_why(service: Service) {
        service.app.executions.start().await.unwrap();
        let (ann, bob) = (service.user("ann").await, service.user("bob").await);
        let foreign = service.drawn(&bob, &adding()).await;
        service.deploy(&bob, &foreign).await;
        let draft = service.drawn(&ann, &adding()).await;
        let paused = service.drawn(&ann, &adding()).await;
        let deployment = service.deploy(&ann, &paused).await;
        service.operate(&ann, &deployment, "pause").await;
        let uncalled = service.drawn(&ann, &chain(&[("start", "OnManual", json!({}))])).await;
        service.deploy(&ann, &uncalled).await;
        let id = service.deployed(&ann, &calling("{{ $input.id }}", json!({"inputs": {"n": 1}}))).await;
        for (target, reason) in [
            ("nonsense", "There is no pattern"),
            (foreign.as_str(), "There is no pattern"),
            (draft.as_str(), "it is not deployed"),
            (paused.as_str(), "it is paused"),
            (uncalled.as_str(), "no OnCall"),
        ] {
            let error = outcome(&service, &ann, &id, &json!({"id": target})).await;
            assert_eq!(error["code"], "CALL_TARGET", "{error}");
            assert!(error["message"].as_str().unwrap().contains(reason), "{error}");
        }
    }

    async fn the_newest_version_is_called_when_asked_for(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let callee = service.drawn(&ann, &adding()).await;
        service.deploy(&ann, &callee).await;
        let constant = chain(&[("called", "OnCall", json!({})), ("end", "Return", json!({"value": "new"}))]);
        service.redrawn(&ann, &callee, &constant).await;
        let latest = service.deployed(&ann, &calling(&callee, json!({"version": "latest"}))).await;
        let deployed = service.deployed(&ann, &calling(&callee, json!({}))).await;
        for _ in 0..2 {
            assert_eq!(outcome(&service, &ann, &latest, &json!({"n": 1})).await, "new");
            assert_eq!(outcome(&service, &ann, &deployed, &json!({"n": 1})).await, json!({"sum": 2}));
        }
        // Not past the rules of the environment, whose secrets it would have.
        let path = format!("/api/workspaces/{}/environments", service.workspace_of(&ann).await);
        let listed = service.get(&path).bearer(&ann.token).send().await;
        let rules = format!("{path}/{}/rules", listed.data(200)[0]["id"].as_str().unwrap());
        let set = |rule: Value| service.put(&rules).bearer(&ann.token).json(&rule).send();
        set(json!({"requireTests": true})).await.data(200);
        let error = outcome(&service, &ann, &latest, &json!({"n": 1})).await;
        assert_eq!(error["code"], "CALL_TARGET", "{error}");
        assert!(error["message"].as_str().unwrap().contains("has rules for what is deployed"), "{error}");
        assert_eq!(outcome(&service, &ann, &deployed, &json!({"n": 1})).await, json!({"sum": 2}));
        set(json!({})).await.data(200);
        service.redrawn(&ann, &callee, &json!({"nodes": [{"id": "x", "type": "Nope"}], "edges": []})).await;
        let error = outcome(&service, &ann, &latest, &json!({"n": 1})).await;
        assert_eq!(error["code"], "CALL_TARGET", "{error}");
    }

    async fn calls_go_sixteen_deep(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let pattern = service.drawn(&ann, &chain(&[("on", "OnCall", json!({}))])).await;
        let graph = json!({
            "nodes": [
                {"id": "on", "type": "OnCall"}, {"id": "hand", "type": "OnManual"},
                {"id": "call", "type": "CallPattern", "data": {"onError": "continue", "parameters": {
                    "patternId": pattern, "inputs": {"depth": "{{ ($trigger?.depth ?? 0) + 1 }}"},
                }}},
                {"id": "end", "type": "Return", "data": {"parameters": {
                    "value": "{{ $input.error ? [$trigger.depth, $input.error.code] : $input }}",
                }}},
            ],
            "edges": [{"source": "on", "target": "call"}, {"source": "hand", "target": "call"}, {"source": "call", "target": "end"}],
        });
        service.redrawn(&ann, &pattern, &graph).await;
        let id = service.deploy(&ann, &pattern).await;
        assert_eq!(outcome(&service, &ann, &id, &json!({"depth": 0})).await, json!([16, "CALL_DEPTH"]));
    }

    async fn a_call_that_is_not_waited_for_goes_on_by_itself(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let callee = service.drawn(&ann, &chain(&[
            ("on", "OnCall", json!({})), ("wait", "Wait", json!({"durationMs": 100_000})), ("end", "Return", json!({})),
        ])).await;
        let called = service.deploy(&ann, &callee).await;
        let id = service.deployed(&ann, &calling(&callee, json!({"wait": false}))).await;
        let given = outcome(&service, &ann, &id, &json!({"n": 4})).await;
        let child = given["runId"].as_str().unwrap();
        parked(&service, &ann, &called, child).await;
        service.app.clock.advance(HOUR);
        assert_eq!(service.ended(&ann, &called, child).await["output"], json!({"n": 4}));
    }

    async fn a_run_parks_while_the_one_that_it_has_called_waits(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let callee = service.drawn(&ann, &chain(&[
            ("on", "OnCall", json!({})), ("wait", "Wait", json!({"durationMs": 100_000})), ("end", "Return", json!({})),
        ])).await;
        let called = service.deploy(&ann, &callee).await;
        let id = service.deployed(&ann, &calling(&callee, json!({}))).await;
        let (first, second) = (
            service.started(&ann, &id, &json!({"n": 1})).await,
            service.started(&ann, &id, &json!({"n": 2})).await,
        );
        parked(&service, &ann, &id, &first).await;
        parked(&service, &ann, &id, &second).await;
        let cancelled = service.operate(&ann, &id, &format!("runs/{first}/cancel")).await;
        assert_eq!(cancelled.status, 200, "{cancelled}");
        let path = format!("/api/deployments/{called}/runs");
        let children = service.get(&path).bearer(&ann.token).send().await;
        let of = |n: i64| {
            let list = children.body["data"].as_array().unwrap();
            list.iter().find(|run| run["eventData"]["n"] == n).unwrap().clone()
        };
        assert_eq!((&of(1)["status"], &of(1)["errorMessage"]), (&json!("failure"), &json!("cancelled")), "{children}");
        assert_eq!(of(2)["phase"], "waiting");
        service.app.clock.advance(std::time::Duration::from_secs(200));
        assert_eq!(service.ended(&ann, &id, &second).await["output"], json!({"n": 2}));
        assert_eq!(crate::flow::journal::kept(&service).await, 0);
    }

    async fn more_calls_than_results_have_places_come_to_their_ends(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let callee = service.drawn(&ann, &chain(&[
            ("on", "OnCall", json!({})), ("end", "Return", json!({"value": "{{ [$input.n, 'x'.repeat(80000)] }}"})),
        ])).await;
        service.deploy(&ann, &callee).await;
        let numbers = json!("{{ Array.from({length: 60}, (_, i) => i) }}");
        // The run computes with the first result while the others come.
        let slowly = "{{ [$input[0], $input[1].length +
            ($input[0] === 0 ? Array.from({length: 200000}, (_, i) => i).filter(i => i < 0).length : 0)] }}";
        let graph = json!({
            "nodes": [
                {"id": "start", "type": "OnManual"},
                {"id": "each", "type": "ForEach", "data": {"parameters": {"items": numbers, "concurrency": 60}}},
                {"id": "call", "type": "CallPattern", "data": {"parameters": {"patternId": callee, "inputs": {"n": "{{ $item }}"}}}},
                {"id": "pick", "type": "Transform", "data": {"parameters": {"value": slowly}}},
                {"id": "end", "type": "Return"},
            ],
            "edges": [
                {"source": "start", "target": "each"}, {"source": "each", "sourceHandle": "item", "target": "call"},
                {"source": "call", "target": "pick"}, {"source": "pick", "target": "each", "targetHandle": "next"},
                {"source": "each", "sourceHandle": "done", "target": "end"},
            ],
        });
        let id = service.deployed(&ann, &graph).await;
        let run = service.started(&ann, &id, &json!({})).await;
        let expected: Vec<_> = (0..60).map(|n| json!([n, 80_000])).collect();
        let ended = service.ended(&ann, &id, &run).await;
        assert_eq!(ended["output"], json!(expected), "{} {}", ended["status"], ended["errorMessage"]);
        // By a test run, of which nothing is stored.
        let body = json!({"graphData": graph, "nodeDefinitions": {}});
        let transpiled = service.post("/api/execute/transpile").bearer(&ann.token).json(&body).send().await;
        assert_eq!(transpiled.status, 200, "{transpiled}");
        let body = json!({"code": transpiled.body["code"], "eventData": {}});
        let ended = service.post("/api/execute/run").bearer(&ann.token).json(&body).send().await;
        assert_eq!((&ended.body["status"], &ended.body["output"]), (&json!("completed"), &json!(expected)), "{ended}");
        assert_eq!(crate::flow::journal::kept(&service).await, 0);
    }

    async fn what_is_large_comes_to_a_run_that_has_parked(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let callee = service.drawn(&ann, &chain(&[
            ("on", "OnCall", json!({})), ("wait", "Wait", json!({"durationMs": 100_000})), ("end", "Return", json!({})),
        ])).await;
        service.deploy(&ann, &callee).await;
        let id = service.deployed(&ann, &calling(&callee, json!({}))).await;
        let event = json!({"text": "x".repeat(150_000)});
        let run = service.started(&ann, &id, &event).await;
        parked(&service, &ann, &id, &run).await;
        service.app.clock.advance(std::time::Duration::from_secs(200));
        assert_eq!(service.ended(&ann, &id, &run).await["output"], event);
    }

    async fn a_called_run_whose_module_is_gone_ends_and_its_caller_hears_of_it(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let waiting = |value: &str| chain(&[
            ("on", "OnCall", json!({})), ("wait", "Wait", json!({"durationMs": 100_000})), ("end", "Return", json!({"value": value})),
        ]);
        let callee = service.drawn(&ann, &waiting("first")).await;
        let called = service.deploy(&ann, &callee).await;
        let id = service.deployed(&ann, &calling(&callee, json!({}))).await;
        let run = service.started(&ann, &id, &json!({})).await;
        parked(&service, &ann, &id, &run).await;
        let listed = service.get(&format!("/api/deployments/{called}/runs")).bearer(&ann.token).send().await;
        let child = listed.body["data"][0]["id"].as_str().unwrap().to_owned();
        parked(&service, &ann, &called, &child).await;
        // As what an older heddle has made, which this one can't run.
        service.redrawn(&ann, &callee, &waiting("second")).await;
        service.deploy(&ann, &callee).await;
        let of: RunId = child.parse().unwrap();
        let removed: Result<u64, StoreError> = service.app.store.write(move |db| Box::pin(async move {
            let artifact = sql("delete from artifacts where hash = (select artifact from runs where id = ?)");
            db.execute(artifact.bind(of)).await
        })).await;
        assert_eq!(removed.unwrap(), 1);
        service.app.clock.advance(std::time::Duration::from_secs(200));
        let ended = service.ended(&ann, &id, &run).await;
        let message = ended["errorMessage"].as_str().unwrap();
        assert!(message.contains(&child) && message.contains("its module is gone"), "{ended}");
        let child = service.run(&ann, &called, &child).await;
        assert_eq!((&child["status"], &child["error"]["code"]), (&json!("failure"), &json!("ARTIFACT")), "{child}");
        assert_eq!(crate::flow::journal::kept(&service).await, 0);
    }

    async fn a_run_that_begins_again_after_days_finds_what_it_has_called(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let callee = service.drawn(&ann, &chain(&[
            ("on", "OnCall", json!({})), ("wait", "Wait", json!({"durationMs": 720_000_000})), ("end", "Return", json!({})),
        ])).await;
        let called = service.deploy(&ann, &callee).await;
        let id = service.deployed(&ann, &calling(&callee, json!({}))).await;
        let run = service.started(&ann, &id, &json!({})).await;
        parked(&service, &ann, &id, &run).await;
        service.operate(&ann, &id, "pause").await;
        // As if the server had been killed after the call was stored, and before the run had parked.
        let caller: RunId = run.parse().unwrap();
        let rewound: Result<(), StoreError> = service.app.store.write(move |db| Box::pin(async move {
            journal::clear(db, &[caller]).await?;
            let begun = sql("update runs set phase = 'queued', owner = 'gone', wake_at = null where id = ?");
            db.execute(begun.bind(caller)).await?;
            Ok(())
        })).await;
        rewound.unwrap();
        service.app.clock.advance(HOUR * 25);
        service.app.executions.clear_away().await.unwrap();
        let ann = service.logged_in("ann", ann).await;
        // What it has called can't be called any more.
        service.operate(&ann, &called, "pause").await;
        service.operate(&ann, &id, "resume").await;
        parked(&service, &ann, &id, &run).await;
        let listed = service.get(&format!("/api/deployments/{called}/runs")).bearer(&ann.token).send().await;
        assert_eq!(listed.body["meta"]["total"], 1, "{listed}");
    }

    async fn a_call_that_is_not_waited_for_is_there_once_however_many_attempts_make_it(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let callee = service.drawn(&ann, &adding()).await;
        let called = service.deploy(&ann, &callee).await;
        // The first attempts fail while the call is under way.
        let id = service.deployed(&ann, &json!({
            "settings": {"retry": {"maxAttempts": 8, "backoffMs": 1, "factor": 1}},
            "nodes": [
                {"id": "start", "type": "OnManual"},
                {"id": "call", "type": "CallPattern", "data": {"parameters": {"patternId": callee, "wait": false}}},
                {"id": "early", "type": "If", "data": {"parameters": {"condition": "{{ $run.attempt < 8 }}"}}},
                {"id": "boom", "type": "Throw", "data": {"parameters": {"message": "once more", "code": "AGAIN"}}},
            ],
            "edges": [
                {"source": "start", "target": "call"},
                {"source": "start", "target": "early"},
                {"source": "early", "sourceHandle": "true", "target": "boom"},
            ],
        })).await;
        let run = service.started(&ann, &id, &json!({"n": 3})).await;
        let ended = service.ended(&ann, &id, &run).await;
        assert_eq!((&ended["attempt"], &ended["status"]), (&json!(8), &json!("success")), "{ended}");
        let listed = service.get(&format!("/api/deployments/{called}/runs")).bearer(&ann.token).send().await;
        assert_eq!(listed.body["meta"]["total"], 1, "{listed}");
    }

    async fn an_attempt_does_not_take_the_end_of_what_a_former_one_has_called(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let callee = service.drawn(&ann, &chain(&[
            ("on", "OnCall", json!({})), ("wait", "Wait", json!({"durationMs": 100_000})), ("end", "Return", json!({})),
        ])).await;
        service.deploy(&ann, &callee).await;
        let id = service.deployed(&ann, &json!({
            "settings": {"retry": {"maxAttempts": 2, "backoffMs": 1, "factor": 1}},
            "nodes": [
                {"id": "start", "type": "OnManual"},
                {"id": "first", "type": "If", "data": {"parameters": {"condition": "{{ $run.attempt === 1 }}"}}},
                {"id": "boom", "type": "Throw", "data": {"parameters": {"message": "once more", "code": "AGAIN"}}},
                {"id": "call", "type": "CallPattern", "data": {"parameters": {"patternId": callee}}},
                {"id": "end", "type": "Return"},
            ],
            "edges": [
                {"source": "start", "target": "first"},
                {"source": "first", "sourceHandle": "true", "target": "boom"},
                {"source": "first", "sourceHandle": "false", "target": "call"},
                {"source": "call", "target": "end"},
            ],
        })).await;
        let run = service.started(&ann, &id, &json!({"n": 3})).await;
        parked(&service, &ann, &id, &run).await;
        // What the first attempt could have called, and left when it failed, ends only now.
        let parent: RunId = run.parse().unwrap();
        let left: Result<bool, StoreError> = service.app.store.write(move |db| Box::pin(async move {
            let called = sql("select parent_key from runs where parent_id = ?").bind(parent);
            let (key,): (String,) = db.one(called).await?;
            let former = key.strip_suffix("@2").unwrap_or(&key);
            let payload = Payload::new(json!({"ok": "of the first attempt"}).to_string());
            journal::signal(db, parent, former, &payload).await
        })).await;
        assert!(left.unwrap());
        service.app.clock.advance(HOUR);
        let ended = service.ended(&ann, &id, &run).await;
        assert_eq!((&ended["attempt"], &ended["output"]), (&json!(2), &json!({"n": 3})), "{ended}");
        assert_eq!(crate::flow::journal::kept(&service).await, 0);
    }
}

/// A server that answers each request when it is told to.
async fn gate() -> (String, Arc<Notify>) {
    let open = Arc::new(Notify::new());
    let opened = open.clone();
    let answer = move || {
        let opened = opened.clone();
        async move {
            opened.notified().await;
            "open"
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, Router::new().route("/", get(answer))).await });
    (format!("http://{address}/"), open)
}

/// Ends the run that this one has called, as another server does whose notice comes late. `false`: it has called none yet.
async fn ended_by_another(service: &Service, parent: RunId) -> bool {
    let write = service.app.store.write(move |db| {
        Box::pin(async move {
            let called = sql("select id, parent_key from runs where parent_id = ? and status = 'running'");
            let called: Option<(RunId, String)> = db.optional(called.bind(parent)).await?;
            let Some((child, key)) = called else {
                return Ok(false);
            };
            let end = sql("update runs set status = 'failure', phase = 'ended' where id = ?");
            db.execute(end.bind(child)).await?;
            let payload = Payload::new(json!({"ok": "elsewhere"}).to_string());
            journal::signal(db, parent, &key, &payload).await
        })
    });
    let ended: Result<bool, StoreError> = write.await;
    ended.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_called_run_that_another_server_has_ended_first_does_not_keep_its_caller() {
    for database in [Database::Sqlite, Database::Postgres] {
        let (url, open) = gate().await;
        let service = Service::with(database, |config| {
            config.egress = EgressPolicy::parse(["127.0.0.0/8"]).unwrap();
        })
        .await;
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let asking = chain(&[
            ("on", "OnCall", json!({})),
            ("ask", "HttpRequest", json!({"url": url})),
            ("end", "Return", json!({})),
        ]);
        let callee = service.drawn(&ann, &asking).await;
        service.deploy(&ann, &callee).await;
        let id = service.deployed(&ann, &calling(&callee, json!({}))).await;
        let run = service.started(&ann, &id, &json!({})).await;
        while !ended_by_another(&service, run.parse().unwrap()).await {
            tokio::task::yield_now().await;
        }
        open.notify_one();
        let ended = service.ended(&ann, &id, &run).await;
        assert_eq!(ended["output"], "elsewhere", "{ended}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_that_wait_for_each_other_do_not_take_all_places() {
    let service = Service::with(Database::Sqlite, |config| config.workspace_concurrency_max = 2).await;
    service.app.executions.start().await.unwrap();
    let ann = service.user("ann").await;
    let last = service.drawn(&ann, &adding()).await;
    service.deploy(&ann, &last).await;
    let middle = service
        .drawn(
            &ann,
            &chain(&[
                ("on", "OnCall", json!({})),
                ("call", "CallPattern", json!({"patternId": last})),
                ("end", "Return", json!({})),
            ]),
        )
        .await;
    service.deploy(&ann, &middle).await;
    let id = service.deployed(&ann, &calling(&middle, json!({}))).await;
    let mut runs = Vec::new();
    for n in 0..4 {
        runs.push(service.started(&ann, &id, &json!({"n": n})).await);
    }
    for (n, run) in runs.iter().enumerate() {
        assert_eq!(
            service.ended(&ann, &id, run).await["output"],
            json!({"sum": n + 1})
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_is_being_accepted_when_its_caller_fails_is_cancelled() {
    let ((first, calls), (second, fails)) = (gate().await, gate().await);
    let service = Service::with(Database::Sqlite, |config| {
        config.egress = EgressPolicy::parse(["127.0.0.0/8"]).unwrap();
    })
    .await;
    service.app.executions.start().await.unwrap();
    let ann = service.user("ann").await;
    let waiting = chain(&[
        ("on", "OnCall", json!({})),
        ("wait", "Wait", json!({"durationMs": 720_000_000})),
        ("end", "Return", json!({})),
    ]);
    let callee = service.drawn(&ann, &waiting).await;
    let called = service.deploy(&ann, &callee).await;
    let asking = |url: &str| json!({"parameters": {"url": url}});
    let graph = json!({
        "nodes": [
            {"id": "start", "type": "OnManual"},
            {"id": "first", "type": "HttpRequest", "data": asking(&first)},
            {"id": "call", "type": "CallPattern", "data": {"parameters": {"patternId": callee}}},
            {"id": "second", "type": "HttpRequest", "data": asking(&second)},
            {"id": "boom", "type": "Throw", "data": {"parameters": {"message": "too late", "code": "LATE"}}},
        ],
        "edges": [
            {"source": "start", "target": "first"},
            {"source": "first", "target": "call"},
            {"source": "first", "target": "second"},
            {"source": "second", "target": "boom"},
        ],
    });
    let id = service.deployed(&ann, &graph).await;
    let run = service.started(&ann, &id, &json!({})).await;
    // Nothing is stored meanwhile.
    let (holds, held) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (held_by, until) = (holds.clone(), held.clone());
    let store = service.app.store.clone();
    let holding = tokio::spawn(async move {
        let held: Result<(), StoreError> = store
            .write(move |_| {
                Box::pin(async move {
                    held_by.notify_one();
                    until.notified().await;
                    Ok(())
                })
            })
            .await;
        held
    });
    holds.notified().await;
    calls.notify_one();
    fails.notify_one();
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    held.notify_one();
    holding.await.unwrap().unwrap();
    let ended = service.ended(&ann, &id, &run).await;
    assert_eq!(ended["error"]["code"], "LATE", "{ended}");
    let listed = service
        .get(&format!("/api/deployments/{called}/runs"))
        .bearer(&ann.token)
        .send()
        .await;
    // If the call was made at all.
    if let Some(child) = listed.body["data"][0]["id"].as_str() {
        let child = service.ended(&ann, &called, child).await;
        assert_eq!(child["error"]["code"], "CANCELLED", "{child}");
    }
}
