//! Deployments that run by the clock, which the tests move by hand.

use crate::harness::{Database, Service, chain, each_database, endless};
use crate::webhooks::fixture::Hook;
use heddle_api::app::App;
use heddle_execution::scheduler;
use heddle_model::access::WorkspaceRole;
use heddle_model::clock::Timestamp;
use heddle_model::ids::{DeploymentId, EndpointId};
use heddle_store::{StoreError, sql};
use serde_json::{Value, json};

fn graph(parameters: Value) -> Value {
    json!({"nodes": [{"id": "clock", "type": "OnSchedule", "data": {"parameters": parameters}}], "edges": []})
}

/// Moves the clock to `time` and starts what is due; how many runs that were.
async fn tick(service: &Service, time: &str) -> usize {
    let time = Timestamp::parse(time).unwrap();
    let now = service.app.clock.now().millis();
    let step = u64::try_from(time.millis() - now).unwrap();
    service.app.clock.advance(std::time::Duration::from_millis(step));
    scheduler::tick(&service.app.executions, time).await.unwrap()
}

/// When runs were due, oldest first.
async fn scheduled(hook: &Hook<'_>, deployment: &str) -> Vec<String> {
    let runs = hook.runs(deployment).await;
    assert!(runs.iter().all(|run| run["triggeredBy"] == "schedule"));
    let time = |run: &Value| run["eventData"]["scheduledAt"].as_str().unwrap().to_owned();
    let mut times: Vec<String> = runs.iter().map(time).collect();
    times.sort();
    times
}

async fn set(hook: &Hook<'_>, deployment: &str, body: Value) -> crate::harness::Reply {
    let path = format!("/api/deployments/{deployment}/schedule");
    hook.service
        .put(&path)
        .bearer(&hook.user.token)
        .json(&body)
        .send()
        .await
}

each_database! {
    async fn a_schedule_runs_at_its_times(service: Service) {
        let hook = Hook::saved(&service, graph(json!({"cron": "*/10 * * * *"}))).await;
        let deployment = hook.deploy().await;
        assert_eq!(tick(&service, "2026-11-21T09:09:59.999Z").await, 0);
        assert_eq!(tick(&service, "2026-11-21T09:10:00.250Z").await, 1);
        assert_eq!(tick(&service, "2026-11-21T09:10:00.500Z").await, 0);
        assert_eq!(tick(&service, "2026-11-21T09:20:00Z").await, 1);
        let runs = hook.runs(&deployment).await;
        assert_eq!(runs.len(), 2);
        assert_eq!(runs[1]["eventData"], json!({
            "scheduledAt": "2026-11-21T09:10:00.000Z", "firedAt": "2026-11-21T09:10:00.250Z",
        }));
    }

    async fn schedules_follow_the_clocks_of_their_zones(service: Service) {
        let hook = Hook::saved(&service, json!({"nodes": [
            {"id": "berlin", "type": "OnSchedule", "data": {"parameters": {"cron": "30 2 * * *", "timezone": "Europe/Berlin"}}},
            {"id": "york", "type": "OnSchedule", "data": {"parameters": {"cron": "30 1 * * *", "timezone": "America/New_York"}}},
        ], "edges": []})).await;
        hook.deploy().await;
        tick(&service, "2027-03-26T12:00:00Z").await;
        for (time, runs) in [
            ("2027-03-27T01:30:00Z", 1), ("2027-03-27T05:30:00Z", 1),
            // Berlin skips 02:30 and runs at 03:00, which is 01:00 UTC.
            ("2027-03-28T00:59:59Z", 0), ("2027-03-28T01:00:00Z", 1), ("2027-03-28T01:30:00Z", 0),
            ("2027-03-28T05:30:00Z", 1), ("2027-03-29T00:30:00Z", 1), ("2027-03-29T05:30:00Z", 1),
        ] {
            assert_eq!(tick(&service, time).await, runs, "{time}");
        }
        // Berlin repeats 02:30 on the 31st of October, New York 01:30 on the 7th of November.
        tick(&service, "2027-10-30T12:00:00Z").await;
        for (time, runs) in [
            ("2027-10-31T00:30:00Z", 1), ("2027-10-31T01:30:00Z", 0), ("2027-10-31T05:30:00Z", 1),
            ("2027-11-01T01:30:00Z", 1), ("2027-11-01T05:30:00Z", 1),
        ] {
            assert_eq!(tick(&service, time).await, runs, "{time}");
        }
        tick(&service, "2027-11-06T12:00:00Z").await;
        for (time, runs) in [
            ("2027-11-07T01:30:00Z", 1), ("2027-11-07T05:30:00Z", 1), ("2027-11-07T06:30:00Z", 0),
            ("2027-11-08T01:30:00Z", 1), ("2027-11-08T06:30:00Z", 1),
        ] {
            assert_eq!(tick(&service, time).await, runs, "{time}");
        }
    }

    async fn what_was_missed_is_caught_up_as_the_node_says(service: Service) {
        let node = |id: &str, catch_up: &str| json!({
            "id": id, "type": "OnSchedule", "data": {"parameters": {"cron": "*/15 * * * *", "catchUp": catch_up}},
        });
        let nodes = [node("all", "all"), node("none", "none"), node("one", "one")];
        let hook = Hook::saved(&service, json!({"nodes": nodes, "edges": []})).await;
        let deployment = hook.deploy().await;
        // The service was down from 09:00 to 09:50.
        assert_eq!(tick(&service, "2026-11-21T09:50:00Z").await, 3 + 1);
        assert_eq!(tick(&service, "2026-11-21T10:00:00Z").await, 3);
        let expected = ["09:15", "09:30", "09:45", "09:45", "10:00", "10:00", "10:00"];
        let times: Vec<String> = scheduled(&hook, &deployment).await;
        let times: Vec<&str> = times.iter().map(|time| &time[11..16]).collect();
        assert_eq!(times, expected);
        // Down for a month: what is an hour late and more is caught up by `all` only, some at each tick.
        let mut caught_up = 0;
        loop {
            match tick(&service, "2026-11-24T10:05:00Z").await {
                0 => break,
                runs => caught_up += runs,
            }
        }
        assert_eq!(caught_up, 3 * 24 * 4 + 1);
    }

    async fn no_tick_runs_twice(service: Service) {
        let hook = Hook::saved(&service, graph(json!({"cron": "0 10 * * *"}))).await;
        let deployment = hook.deploy().await;
        let due = Timestamp::parse("2026-11-21T10:00:00Z").unwrap();
        // As many servers do at once; or one that stopped before it wrote down that the tick ran.
        let ticks = (0..8).map(|_| scheduler::tick(&service.app.executions, due));
        let runs: usize = futures_util::future::join_all(ticks).await.into_iter().map(Result::unwrap).sum();
        assert_eq!(runs, 1);
        assert_eq!(hook.runs(&deployment).await.len(), 1);
        service.app.clock.advance(std::time::Duration::from_secs(3600));
        assert_eq!(set(&hook, &deployment, json!({"cronExpression": "0 10 * * *"})).await.status, 200);
        assert_eq!(scheduler::tick(&service.app.executions, due).await.unwrap(), 0);
        assert_eq!(hook.runs(&deployment).await.len(), 1);
    }

    async fn no_tick_runs_twice_although_the_service_was_down_for_days(service: Service) {
        let mut hook = Hook::saved(&service, graph(json!({"cron": "0 10 * * *", "catchUp": "all"}))).await;
        let deployment = hook.deploy().await;
        assert_eq!(tick(&service, "2026-11-21T10:00:00Z").await, 1);
        // As a server leaves it that is killed before it writes down that the tick ran.
        let due = Timestamp::parse("2026-11-21T10:00:00Z").unwrap();
        let rewound = service.app.store.write(move |db| Box::pin(async move {
            db.execute(sql("update schedules set next_due_at = ?").bind(due)).await
        }));
        let rewound: Result<u64, StoreError> = rewound.await;
        assert_eq!(rewound.unwrap(), 1);
        service.app.clock.advance(std::time::Duration::from_secs(2 * 24 * 3600));
        service.app.executions.clear_away().await.unwrap();
        assert_eq!(tick(&service, "2026-11-24T09:00:00Z").await, 2);
        hook.user = service.logged_in("ann", hook.user.clone()).await;
        let times = ["2026-11-21T10:00:00.000Z", "2026-11-22T10:00:00.000Z", "2026-11-23T10:00:00.000Z"];
        assert_eq!(scheduled(&hook, &deployment).await, times);
        // Once it has moved on, keys go in their time.
        service.app.clock.advance(std::time::Duration::from_secs(24 * 3600));
        service.app.executions.clear_away().await.unwrap();
        let mut reader = service.app.store.reader().await.unwrap();
        let (keys,): (i64,) = reader.db().one(sql("select count(*) from idempotency_keys")).await.unwrap();
        assert_eq!(keys, 0);
    }

    async fn nothing_runs_while_it_is_paused_or_undeployed(service: Service) {
        let hook = Hook::saved(&service, graph(json!({"cron": "*/10 * * * *", "catchUp": "all"}))).await;
        let deployment = hook.deploy().await;
        hook.change(&deployment, "pause").await;
        assert_eq!(tick(&service, "2026-11-21T09:30:00Z").await, 0);
        hook.change(&deployment, "resume").await;
        assert_eq!(tick(&service, "2026-11-21T09:35:00Z").await, 0, "what came in the pause is not caught up");
        assert_eq!(tick(&service, "2026-11-21T09:40:00Z").await, 1);
        let path = format!("/api/patterns/{}/deploy", hook.pattern);
        assert_eq!(service.delete(&path).bearer(&hook.user.token).send().await.status, 200);
        assert_eq!(tick(&service, "2026-11-21T10:00:00Z").await, 0);
        hook.change(&deployment, "redeploy").await;
        assert_eq!(tick(&service, "2026-11-21T10:10:00Z").await, 1);
        // A new deployment does not lose what is due.
        hook.deploy().await;
        assert_eq!(tick(&service, "2026-11-21T10:20:00Z").await, 1);
        let path = format!("/api/deployments/{deployment}");
        assert_eq!(service.delete(&path).bearer(&hook.user.token).send().await.status, 200);
        assert_eq!(tick(&service, "2026-11-21T10:30:00Z").await, 0);
    }

    async fn a_deployment_can_be_given_another_schedule(service: Service) {
        let hook = Hook::saved(&service, graph(json!({"cron": "0 10 * * *"}))).await;
        let deployment = hook.deploy().await;
        let body = json!({"cronExpression": "30 15 * * *", "timezone": "Asia/Kolkata"});
        let reply = set(&hook, &deployment, body.clone()).await;
        assert_eq!((reply.status, &reply.body["data"]), (200, &body));
        assert_eq!(tick(&service, "2026-11-21T10:00:00Z").await, 1);
        assert_eq!(scheduled(&hook, &deployment).await, ["2026-11-21T10:00:00.000Z"]);
        let reply = set(&hook, &deployment, json!({"cronExpression": "*/30 * * * * *"})).await;
        assert_eq!(reply.body["data"], json!({"cronExpression": "*/30 * * * * *", "timezone": "UTC"}));
        assert_eq!(tick(&service, "2026-11-21T10:00:30Z").await, 1);
        // It outlives pauses and versions, until the node itself says something new.
        hook.change(&deployment, "pause").await;
        hook.change(&deployment, "resume").await;
        hook.deploy().await;
        assert_eq!(tick(&service, "2026-11-21T10:01:00Z").await, 1);
        hook.save(graph(json!({"cron": "0 11 * * *"}))).await;
        hook.deploy().await;
        assert_eq!(tick(&service, "2026-11-21T10:01:30Z").await, 0);
        assert_eq!(tick(&service, "2026-11-21T11:00:00Z").await, 1);
    }

    async fn mistakes_in_a_schedule_are_told(service: Service) {
        let hook = Hook::saved(&service, graph(json!({"cron": "0 10 * * *"}))).await;
        let deployment = hook.deploy().await;
        for (body, path) in [
            (json!({}), "cronExpression"),
            (json!({"cronExpression": 5}), "cronExpression"),
            (json!({"cronExpression": ""}), "cronExpression"),
            (json!({"cronExpression": "often"}), "cronExpression"),
            (json!({"cronExpression": "* * * *"}), "cronExpression"),
            (json!({"cronExpression": "* * * * * * *"}), "cronExpression"),
            (json!({"cronExpression": "61 * * * *"}), "cronExpression"),
            (json!({"cronExpression": "0 0 30 2 *"}), "cronExpression"),
            (json!({"cronExpression": "0 0 30W 2 *"}), "cronExpression"),
            (json!({"cronExpression": "0 9 * * *", "timezone": "Mars"}), "timezone"),
        ] {
            let refused = set(&hook, &deployment, body).await;
            assert_eq!((refused.status, refused.code()), (400, "VALIDATION"), "{refused}");
            assert_eq!(refused.body["error"]["details"][0]["path"], path);
        }
        // In the words of the compiler and of the preview.
        let refused = set(&hook, &deployment, json!({"cronExpression": "61 * * * *"})).await;
        let told = refused.body["error"]["details"][0]["message"].as_str().unwrap();
        assert!(told.starts_with("`61` is not a valid minute: use numbers from 0 to 59"), "{told}");
        assert_eq!(tick(&service, "2026-11-21T10:00:00Z").await, 1, "nothing has changed");
        let viewer = service.member(&hook.user, "viewer", WorkspaceRole::Viewer).await;
        let path = format!("/api/deployments/{deployment}/schedule");
        let body = json!({"cronExpression": "0 9 * * *"});
        assert_eq!(service.put(&path).bearer(&viewer.token).json(&body).send().await.status, 403);
        let bob = service.user("bob").await;
        assert_eq!(service.put(&path).bearer(&bob.token).json(&body).send().await.status, 404);
    }

    async fn a_deployment_tells_when_it_comes_next(service: Service) {
        let hook = Hook::saved(&service, json!({"nodes": [
            {"id": "daily", "type": "OnSchedule", "data": {"parameters": {"cron": "0 10 * * *", "timezone": "Europe/Berlin"}}},
            {"id": "often", "type": "OnSchedule", "data": {"parameters": {"cron": "*/20 * * * *", "catchUp": "none"}}},
        ], "edges": []})).await;
        let deployment = hook.deploy().await;
        let path = format!("/api/deployments/{deployment}/schedules");
        let listed = async || service.get(&path).bearer(&hook.user.token).send().await.data(200).clone();
        let schedules = listed().await;
        let daily: Vec<String> = (22..32)
            .map(|day| match day {
                22..=30 => format!("2026-11-{day}T09:00:00.000Z"),
                _ => "2026-12-01T09:00:00.000Z".to_owned(),
            })
            .collect();
        assert_eq!(schedules[0], json!({
            "nodeId": "daily", "cronExpression": "0 10 * * *", "timezone": "Europe/Berlin", "isOverridden": false,
            "catchUp": "one", "nextTimes": daily,
        }));
        assert_eq!(schedules[1]["nodeId"], "often");
        assert_eq!(schedules[1]["catchUp"], "none");
        assert_eq!(schedules[1]["nextTimes"].as_array().unwrap().len(), 10);
        assert_eq!(schedules[1]["nextTimes"][3], "2026-11-21T10:20:00.000Z");
        // The workspace's list has the next one of each, in the order in which they come.
        let next = service.get("/api/schedules").bearer(&hook.user.token).send().await.data(200).clone();
        assert_eq!(next, json!([
            {"deploymentId": deployment, "patternId": hook.pattern, "patternName": next[0]["patternName"],
             "nodeId": "often", "nextDueAt": "2026-11-21T09:20:00.000Z"},
            {"deploymentId": deployment, "patternId": hook.pattern, "patternName": next[0]["patternName"],
             "nodeId": "daily", "nextDueAt": "2026-11-22T09:00:00.000Z"},
        ]));
        let first = service.get("/api/schedules?limit=1").bearer(&hook.user.token).send().await;
        assert_eq!(first.data(200), &json!([next[0]]));
        for limit in ["0", "101", "x"] {
            let refused = service.get(&format!("/api/schedules?limit={limit}")).bearer(&hook.user.token).send().await;
            assert_eq!((refused.status, refused.code()), (400, "VALIDATION"), "{limit}");
        }
        assert_eq!(set(&hook, &deployment, json!({"cronExpression": "30 15 * * *"})).await.status, 200);
        let schedules = listed().await;
        assert_eq!((&schedules[0]["isOverridden"], &schedules[0]["timezone"]), (&json!(true), &json!("UTC")));
        assert_eq!(schedules[0]["nextTimes"][0], "2026-11-21T15:30:00.000Z");
        // What was set is listed, and can be taken back.
        let all = async || service.get("/api/schedules/set?limit=1").bearer(&hook.user.token).send().await.body["data"].clone();
        let environment = all().await[0]["environmentId"].clone();
        let row = |schedule: Value| json!([{
            "deploymentId": deployment, "patternId": hook.pattern, "environmentId": environment, "schedule": schedule,
        }]);
        assert_eq!(all().await, row(json!({"cronExpression": "30 15 * * *", "timezone": "UTC"})));
        let set_path = format!("/api/deployments/{deployment}/schedule");
        let taken_back = async || service.delete(&set_path).bearer(&hook.user.token).send().await;
        assert_eq!(taken_back().await.status, 200);
        assert_eq!(taken_back().await.status, 200, "there is none");
        assert_eq!(all().await, row(Value::Null));
        let schedules = listed().await;
        assert_eq!((&schedules[0]["isOverridden"], &schedules[0]["nextTimes"]), (&json!(false), &json!(daily)));
        hook.change(&deployment, "pause").await;
        assert_eq!(listed().await[0]["nextTimes"], json!([]), "nothing is due while it is paused");
        let next = service.get("/api/schedules").bearer(&hook.user.token).send().await;
        assert_eq!(next.data(200), &json!([]));
        let bob = service.user("bob").await;
        assert_eq!(service.get(&path).bearer(&bob.token).send().await.status, 404);
    }

    async fn an_expression_that_is_being_written_tells_its_times_or_its_mistake(service: Service) {
        let ann = service.user("ann").await;
        let preview = async |body: Value| {
            service.post("/api/schedules/preview").bearer(&ann.token).json(&body).send().await
        };
        let reply = preview(json!({"cron": "30 2 28 3 *", "timezone": "Europe/Berlin"})).await;
        assert_eq!(reply.status, 200, "{reply}");
        let times = reply.body["nextTimes"].as_array().unwrap();
        // The clock skips 02:30 on that day of 2027.
        assert_eq!((times.len(), &times[0], &times[1]), (
            10, &json!("2027-03-28T01:00:00.000Z"), &json!("2028-03-28T00:30:00.000Z"),
        ));
        assert_eq!(reply.body.get("error"), None);
        for (body, field, said, span) in [
            (json!({"cron": "0 9,25 * * *"}), "cron", "`25` is not a valid hour", json!({"start": 4, "end": 6})),
            (json!({"cron": " 0  61 * * *"}), "cron", "`61` is not a valid hour", json!({"start": 4, "end": 6})),
            (json!({"cron": "often"}), "cron", "has 1 fields", json!({"start": 0, "end": 5})),
            (json!({"cron": ""}), "cron", "has 0 fields", json!({"start": 0, "end": 0})),
            (json!({"cron": "𝕏 * * * *"}), "cron", "`𝕏` is not a valid minute", json!({"start": 0, "end": 2})),
            (json!({"cron": "0 0 30 2 *"}), "cron", "never fires", json!({"start": 0, "end": 10})),
            (json!({"cron": "0 0 30 2 +1"}), "cron", "`+1` is not a valid day of week", json!({"start": 9, "end": 11})),
            (json!({"cron": "*/+5 0 * * *"}), "cron", "`*/+5` is not a valid minute", json!({"start": 0, "end": 4})),
            (json!({"cron": "0 9 * * *", "timezone": "Mars"}), "timezone", "not an IANA time zone", Value::Null),
        ] {
            let reply = preview(body.clone()).await;
            assert_eq!((reply.status, &reply.body["nextTimes"]), (200, &json!([])), "{reply}");
            let error = &reply.body["error"];
            assert_eq!((&error["field"], &error["span"]), (&json!(field), &span), "{body}: {reply}");
            assert!(error["message"].as_str().unwrap().contains(said), "{body}: {reply}");
        }
        for (body, path) in [(json!({}), "cron"), (json!({"cron": "*".repeat(201)}), "cron"), (
            json!({"cron": "* * * * *", "timezone": "z".repeat(65)}), "timezone",
        )] {
            let refused = preview(body).await;
            assert_eq!((refused.status, refused.code()), (400, "VALIDATION"), "{refused}");
            assert_eq!(refused.body["error"]["details"][0]["path"], path);
        }
    }

    async fn a_run_by_hand_has_the_event_of_a_schedule(service: Service) {
        let ann = service.user("ann").await;
        let end = |start: &str| chain(&[("start", start, json!({"cron": "0 3 * * *"})), ("end", "Return", json!({"value": "{{ $trigger }}"}))]);
        let id = service.deployed(&ann, &end("OnSchedule")).await;
        let now = service.app.clock.now();
        let run = service.ran(&ann, &id, &Value::Null).await;
        let ended = service.run(&ann, &id, &run).await;
        assert_eq!(ended["output"], json!({"scheduledAt": now, "firedAt": now}), "{ended}");
        assert_eq!(ended["triggeredBy"], "manual");
        // What is given counts, and other triggers are given nothing.
        let given = json!({"scheduledAt": "2026-01-01T03:00:00.000Z"});
        let run = service.ran(&ann, &id, &given).await;
        assert_eq!(service.run(&ann, &id, &run).await["output"], given);
        let other = service.deployed(&ann, &chain(&[("start", "OnManual", json!({})), ("end", "Return", json!({"value": "{{ $trigger }}"}))])).await;
        let run = service.ran(&ann, &other, &Value::Null).await;
        assert_eq!(service.run(&ann, &other, &run).await["output"], Value::Null);
    }

    async fn a_pattern_without_schedule_has_none_to_set(service: Service) {
        let manual = json!({"nodes": [{"id": "start", "type": "OnManual", "data": {}}], "edges": []});
        let hook = Hook::saved(&service, manual).await;
        let deployment = hook.deploy().await;
        let refused = set(&hook, &deployment, json!({"cronExpression": "0 9 * * *"})).await;
        assert_eq!((refused.status, refused.code()), (400, "NO_SCHEDULE"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_servers_run_a_schedule_once() {
    let service = Service::start(Database::Postgres).await;
    let hook = Hook::saved(&service, graph(json!({"cron": "*/10 * * * *"}))).await;
    let deployment = hook.deploy().await;
    let one = &service.app;
    let another = App::new(one.config.clone(), one.store.clone(), one.clock.clone());
    let mut times = Vec::new();
    for minute in [10, 20, 30, 40, 50] {
        let time = format!("2026-11-21T09:{minute}:00.000Z");
        let now = Timestamp::parse(&time).unwrap();
        let step = u64::try_from(now.millis() - one.clock.now().millis()).unwrap();
        one.clock.advance(std::time::Duration::from_millis(step));
        let (here, there) = tokio::join!(
            scheduler::tick(&one.executions, now),
            scheduler::tick(&another.executions, now)
        );
        assert_eq!(here.unwrap() + there.unwrap(), 1, "{time}");
        times.push(time);
    }
    assert_eq!(scheduled(&hook, &deployment).await, times);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_has_no_room_for_runs_does_not_keep_others_schedules_from_theirs() {
    for database in [Database::Sqlite, Database::Postgres] {
        let service = Service::with(database, |config| {
            (config.workspace_concurrency_max, config.queue_runs_max) = (1, 2);
        })
        .await;
        let (eve, ann) = (service.user("eve").await, service.user("ann").await);
        let full = service.deployed(&eve, &endless()).await;
        for _ in 0..2 {
            service.started(&eve, &full, &json!({})).await;
        }
        let clock = graph(json!({"cron": "*/10 * * * *"}));
        let hers: DeploymentId = service.deployed(&eve, &clock).await.parse().unwrap();
        // More than are read together, and due before those of others.
        let made: Result<u64, StoreError> = service
            .app
            .store
            .write(move |db| {
                Box::pin(async move {
                    let mut made = 0;
                    for number in 0..600 {
                        let copy = sql("insert into schedules (id, deployment_id, node_id, cron, timezone, catch_up, next_due_at)
                             select ?, deployment_id, ?, cron, timezone, catch_up, next_due_at - 1
                             from schedules where deployment_id = ? and node_id = 'clock'");
                        let copy = copy.bind(EndpointId::new()).bind(format!("clock {number}"));
                        made += db.execute(copy.bind(hers)).await?;
                    }
                    Ok(made)
                })
            })
            .await;
        assert_eq!(made.unwrap(), 600);
        let anns = service.deployed(&ann, &clock).await;
        assert_eq!(tick(&service, "2026-11-21T09:10:00Z").await, 1);
        let path = format!("/api/deployments/{anns}/runs");
        let listed = service.get(&path).bearer(&ann.token).send().await;
        assert_eq!(listed.body["meta"]["total"], 1, "{listed}");
    }
}
