//! OnPoll: lists that services give, over real TCP, with a clock that the tests move by hand.

use crate::harness::{Database, Service};
use crate::webhooks::fixture::Hook;
use heddle_execution::scheduler;
use heddle_model::clock::Timestamp;
use heddle_runtime::EgressPolicy;
use heddle_store::{StoreError, sql};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// A service that gives lists.
#[derive(Clone, Default)]
struct Source {
    url: String,
    /// Heads of requests.
    asked: Arc<Mutex<Vec<String>>>,
    /// What it answers.
    answer: Arc<Mutex<String>>,
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n{body}")
}

impl Source {
    async fn start() -> Source {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let source = Source {
            url: format!("http://{}", listener.local_addr().unwrap()),
            ..Source::default()
        };
        let shared = source.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(stream.read_u8().await.unwrap());
                }
                shared
                    .asked
                    .lock()
                    .unwrap()
                    .push(String::from_utf8(head).unwrap());
                let answer = shared.answer.lock().unwrap().clone();
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        source
    }

    fn gives(&self, body: &Value) {
        self.gives_text(&answer(
            "200 OK",
            "content-type: application/json\r\n",
            &body.to_string(),
        ));
    }

    fn gives_text(&self, answer: &str) {
        *self.answer.lock().unwrap() = answer.to_owned();
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// A service that may ask the tests' own.
pub async fn open(database: Database) -> Service {
    Service::with(database, |config| {
        config.egress = EgressPolicy::parse(["127.0.0.0/8"]).unwrap();
    })
    .await
}

fn graph(parameters: Value) -> Value {
    json!({"nodes": [{"id": "list", "type": "OnPoll", "data": {"parameters": parameters}}], "edges": []})
}

async fn schedule(hook: &Hook<'_>, deployment: &str) -> Value {
    let listed = hook
        .get(&format!("/api/deployments/{deployment}/schedules"))
        .await;
    listed.data(200)[0].clone()
}

/// Moves the clock, and waits until the poll that is due is over: how the schedule stands then.
pub async fn tick(hook: &Hook<'_>, deployment: &str, time: &str) -> Value {
    let service = hook.service;
    let time = Timestamp::parse(time).unwrap();
    let step = u64::try_from(time.millis() - service.app.clock.now().millis()).unwrap();
    service.app.clock.advance(Duration::from_millis(step));
    scheduler::tick(&service.app.executions, time).await.unwrap();
    loop {
        let schedule = schedule(hook, deployment).await;
        if schedule["poll"]["lastPolledAt"] == json!(time) {
            return schedule;
        }
        tokio::task::yield_now().await;
    }
}

/// What runs were started for, oldest first.
async fn items(hook: &Hook<'_>, deployment: &str) -> Vec<Value> {
    let mut runs = hook.runs(deployment).await;
    assert!(runs.iter().all(|run| run["triggeredBy"] == "schedule"));
    runs.reverse();
    runs.iter().map(|run| run["eventData"]["item"].clone()).collect()
}

fn orders(numbers: impl IntoIterator<Item = u32>) -> Value {
    let orders = numbers
        .into_iter()
        .map(|number| json!({"id": number, "total": 1}));
    json!({"data": {"orders": orders.collect::<Vec<_>>()}})
}

fn listed(source: &Source, more: Value) -> Value {
    let mut parameters = json!({"url": format!("{}/orders", source.url), "items": "data.orders", "id": "id", "cron": "*/10 * * * *"});
    let more = more.as_object().unwrap().clone();
    parameters.as_object_mut().unwrap().extend(more);
    parameters
}

async fn each_new_thing_starts_a_run(database: Database) {
    let (service, source) = (open(database).await, Source::start().await);
    source.gives(&orders([1, 2]));
    let hook = Hook::saved(&service, graph(listed(&source, json!({})))).await;
    let deployment = hook.deploy().await;
    // It asks at once, and what is there by then is passed over.
    let first = tick(&hook, &deployment, "2026-11-21T09:00:01Z").await;
    assert_eq!(first["nextTimes"][0], "2026-11-21T09:10:00.000Z");
    let fares =
        json!({"lastPolledAt": "2026-11-21T09:00:01.000Z", "lastCount": 2, "failures": 0, "lastError": null});
    assert_eq!(first["poll"], fares);
    assert!(items(&hook, &deployment).await.is_empty());
    source.gives(&orders([4, 3, 3, 2, 1]));
    tick(&hook, &deployment, "2026-11-21T09:10:00Z").await;
    tick(&hook, &deployment, "2026-11-21T09:20:00Z").await;
    let order = |id| json!({"id": id, "total": 1});
    assert_eq!(items(&hook, &deployment).await, [order(4), order(3)]);
    let runs = hook.runs(&deployment).await;
    let newest = json!({"item": order(3), "id": 3, "polledAt": "2026-11-21T09:10:00.000Z"});
    assert_eq!(runs[0]["eventData"], newest);
    // A new version keeps what is known, and so does a pause; what came meanwhile is new.
    hook.save(graph(listed(&source, json!({"headers": {"X-Other": "1"}}))))
        .await;
    hook.deploy().await;
    hook.change(&deployment, "pause").await;
    source.gives(&orders([5, 4]));
    hook.change(&deployment, "resume").await;
    tick(&hook, &deployment, "2026-11-21T09:30:00Z").await;
    assert_eq!(items(&hook, &deployment).await.len(), 3);
    // Another list has nothing to do with it: it is asked for at once, and what has the same ids starts runs of its own.
    hook.save(graph(listed(
        &source,
        json!({"query": {"open": 1}, "startFrom": "beginning"}),
    )))
    .await;
    hook.deploy().await;
    tick(&hook, &deployment, "2026-11-21T09:30:05Z").await;
    assert_eq!(items(&hook, &deployment).await.len(), 5);
    hook.save(graph(listed(
        &source,
        json!({"id": "total", "startFrom": "beginning"}),
    )))
    .await;
    hook.deploy().await;
    tick(&hook, &deployment, "2026-11-21T09:30:10Z").await;
    assert_eq!(items(&hook, &deployment).await.len(), 6);
    let asked = source.asked();
    assert!(
        asked[0].starts_with("GET /orders HTTP/1.1") && asked[0].contains("accept: application/json"),
        "{asked:?}"
    );
    assert!(asked.last().unwrap().contains("host: 127.0.0.1"), "{asked:?}");
    // Undeploying forgets.
    let path = format!("/api/patterns/{}/deploy", hook.pattern);
    let undeployed = service.delete(&path).bearer(&hook.user.token).send().await;
    assert_eq!(undeployed.status, 200, "{undeployed}");
    hook.change(&deployment, "redeploy").await;
    assert_eq!(schedule(&hook, &deployment).await["poll"], json!(null));
    tick(&hook, &deployment, "2026-11-21T09:30:15Z").await;
    assert_eq!(items(&hook, &deployment).await.len(), 7);
}

async fn a_cursor_moves_on_when_runs_are_started(database: Database) {
    let (service, source) = (open(database).await, Source::start().await);
    let node =
        json!({"startFrom": "beginning", "cursor": "next", "cursorParameter": "since", "query": {"a": "b"}});
    let hook = Hook::saved(&service, graph(listed(&source, node))).await;
    let deployment = hook.deploy().await;
    let page = |numbers: Vec<u32>, next: Value| {
        let mut page = orders(numbers);
        page["next"] = next;
        page
    };
    source.gives(&page(vec![1], json!("c/1")));
    tick(&hook, &deployment, "2026-11-21T09:00:01Z").await;
    // However many they are, one answer's things start their runs in one turn.
    source.gives(&page((10..511).collect(), json!(2)));
    let many = tick(&hook, &deployment, "2026-11-21T09:10:00Z").await;
    assert_eq!(many["nextTimes"][0], "2026-11-21T09:20:00.000Z");
    source.gives(&page(Vec::new(), json!(null)));
    tick(&hook, &deployment, "2026-11-21T09:20:00Z").await;
    tick(&hook, &deployment, "2026-11-21T09:30:00Z").await;
    let lines: Vec<String> = source
        .asked()
        .iter()
        .map(|head| head.lines().next().unwrap().to_owned())
        .collect();
    let line = |query: &str| format!("GET /orders?a=b{query} HTTP/1.1");
    let (none, first, second) = (line(""), line("&since=c%2F1"), line("&since=2"));
    assert_eq!(lines, [&none, &first, &second, &second].map(Clone::clone));
    let path = format!("/api/deployments/{deployment}/runs?limit=1");
    assert_eq!(hook.get(&path).await.body["meta"]["total"], 502);
}

async fn the_time_of_the_last_answer_is_said(database: Database) {
    let (service, source) = (open(database).await, Source::start().await);
    source.gives(&orders([1]));
    let node = json!({"sinceParameter": "since"});
    let hook = Hook::saved(&service, graph(listed(&source, node))).await;
    let deployment = hook.deploy().await;
    tick(&hook, &deployment, "2026-11-21T09:00:01Z").await;
    source.gives_text(&answer("503 Busy", "", ""));
    tick(&hook, &deployment, "2026-11-21T09:10:00Z").await;
    // What a request has not found is asked for by the next one.
    source.gives(&orders([1, 2]));
    tick(&hook, &deployment, "2026-11-21T09:20:00Z").await;
    tick(&hook, &deployment, "2026-11-21T09:30:00Z").await;
    let asked = source.asked();
    let times: Vec<&str> = asked
        .iter()
        .map(|head| head.split("since=").nth(1).unwrap().split(' ').next().unwrap())
        .collect();
    let (first, second) = ("2026-11-21T08%3A59%3A01.000Z", "2026-11-21T09%3A19%3A00.000Z");
    assert_eq!(times, [first, first, first, second]);
    let runs = hook.runs(&deployment).await;
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0]["eventData"]["item"]["id"], 2);
    assert_eq!(runs[0]["eventData"]["since"], "2026-11-21T08:59:01.000Z");
}

/// As if a server had been killed after it had noted a run of that name for the three newest things.
async fn kill(service: &Service, run: String) {
    let killed = service.app.store.write(move |db| {
        Box::pin(async move {
            let set = "update polls set pending = ? || substr(seen, 1, 48), seen = substr(seen, 49)";
            db.execute(sql(set).bind(format!("{run}:"))).await
        })
    });
    let killed: Result<u64, StoreError> = killed.await;
    assert_eq!(killed.unwrap(), 1);
}

/// Ids of what each run was started for, the newest first.
async fn lists(hook: &Hook<'_>, deployment: &str) -> Vec<Vec<u64>> {
    let runs = hook.runs(deployment).await;
    let ids = |run: &Value| {
        let items = run["eventData"]["items"].as_array().unwrap();
        items.iter().map(|item| item["id"].as_u64().unwrap()).collect()
    };
    runs.iter().map(ids).collect()
}

async fn all_that_is_new_starts_one_run(database: Database) {
    let (service, source) = (open(database).await, Source::start().await);
    source.gives(&orders([1, 2]));
    let hook = Hook::saved(&service, graph(listed(&source, json!({})))).await;
    let deployment = hook.deploy().await;
    tick(&hook, &deployment, "2026-11-21T09:00:01Z").await;
    // What is known stays known.
    hook.save(graph(listed(&source, json!({"as": "list"})))).await;
    hook.deploy().await;
    source.gives(&orders([5, 4, 4, 3, 2, 1]));
    tick(&hook, &deployment, "2026-11-21T09:10:00Z").await;
    tick(&hook, &deployment, "2026-11-21T09:20:00Z").await;
    let order = |id| json!({"id": id, "total": 1});
    let event = json!({"items": [order(5), order(4), order(3)], "polledAt": "2026-11-21T09:10:00.000Z"});
    let runs = hook.runs(&deployment).await;
    assert_eq!((runs.len(), &runs[0]["eventData"]), (1, &event));
    // A server was killed after that run was stored, and before it said so: what has come since has a run of its own.
    let key = service.app.store.write(|db| {
        Box::pin(async move {
            let select = sql("select key from idempotency_keys where key like 'poll:%:list:%'");
            db.one(select).await.map(|(key,): (String,)| key)
        })
    });
    let key: Result<String, StoreError> = key.await;
    let run = key.unwrap().rsplit(':').next().unwrap().to_owned();
    kill(&service, run).await;
    source.gives(&orders([6, 5, 3, 2, 1]));
    tick(&hook, &deployment, "2026-11-21T09:30:00Z").await;
    source.gives(&orders([4, 6, 5]));
    tick(&hook, &deployment, "2026-11-21T09:40:00Z").await;
    let two: [Vec<u64>; 2] = [vec![6], vec![5, 4, 3]];
    assert_eq!(lists(&hook, &deployment).await, two);
    // Another one was killed before it was stored: it has what is still there, and the rest stays new.
    kill(&service, "other".to_owned()).await;
    source.gives(&orders([7, 6, 4, 1]));
    tick(&hook, &deployment, "2026-11-21T09:50:00Z").await;
    source.gives(&orders([5]));
    tick(&hook, &deployment, "2026-11-21T10:00:00Z").await;
    let all: [Vec<u64>; 5] = [vec![5], vec![7], vec![6, 4], vec![6], vec![5, 4, 3]];
    assert_eq!(lists(&hook, &deployment).await, all);
}

async fn no_thing_starts_two_runs_although_the_service_was_down_for_days(database: Database) {
    for mode in [json!({}), json!({"as": "list"})] {
        let (service, source) = (open(database).await, Source::start().await);
        source.gives(&orders([1]));
        let mut hook = Hook::saved(&service, graph(listed(&source, mode.clone()))).await;
        let deployment = hook.deploy().await;
        tick(&hook, &deployment, "2026-11-21T09:00:01Z").await;
        let before = service.app.clock.now();
        source.gives(&orders([2, 1]));
        tick(&hook, &deployment, "2026-11-21T09:10:00Z").await;
        // As a server leaves it that is killed after the run is stored, and before it says so.
        let is_list = mode.get("as").is_some();
        let killed = service.app.store.write(move |db| {
            Box::pin(async move {
                let key = sql("select key from idempotency_keys where key like 'poll:%'");
                let (key,): (String,) = db.one(key).await?;
                let note = key.rsplit(':').next().filter(|_| is_list).map(|run| format!("{run}:"));
                let set = sql(
                    "update polls set pending = ? || substr(seen, 1, 16), seen = substr(seen, 17), polled_at = ?",
                );
                db.execute(set.bind(note).bind(before)).await
            })
        });
        let killed: Result<u64, StoreError> = killed.await;
        assert_eq!(killed.unwrap(), 1);
        service.app.clock.advance(3 * Duration::from_secs(24 * 60 * 60));
        service.app.executions.clear_away().await.unwrap();
        hook.user = service.logged_in("ann", hook.user.clone()).await;
        tick(&hook, &deployment, "2026-11-24T09:20:00Z").await;
        assert_eq!(hook.runs(&deployment).await.len(), 1, "{mode}");
        source.gives(&orders([3, 2, 1]));
        tick(&hook, &deployment, "2026-11-24T09:30:00Z").await;
        assert_eq!(hook.runs(&deployment).await.len(), 2, "{mode}");
    }
}

async fn failures_rest_and_lose_nothing(database: Database) {
    let (service, source) = (open(database).await, Source::start().await);
    source.gives(&orders([1]));
    let hook = Hook::saved(
        &service,
        graph(listed(&source, json!({"cron": "*/20 * * * * *"}))),
    )
    .await;
    let deployment = hook.deploy().await;
    tick(&hook, &deployment, "2026-11-21T09:00:01Z").await;
    let (mut time, mut rests) = ("2026-11-21T09:00:20.000Z".to_owned(), Vec::new());
    for (failure, code) in [
        (answer("503 Busy", "", "secret words"), "HTTP_503"),
        (answer("200 OK", "", "<html>"), "PARSE"),
        (
            answer("200 OK", "", r#"{"data": {"orders": [{"no": 1}]}}"#),
            "PARSE",
        ),
        ("".to_owned(), "NETWORK"),
        (answer("429 Slow", "retry-after: 7200\r\n", ""), "HTTP_429"),
    ] {
        source.gives_text(&failure);
        let told = tick(&hook, &deployment, &time).await;
        assert_eq!(told["poll"]["failures"], rests.len() + 1, "{told}");
        if code != "NETWORK" {
            assert_eq!(told["poll"]["lastError"]["code"], code, "{told}");
        }
        let message = told["poll"]["lastError"]["message"].as_str().unwrap();
        assert!(
            message.len() > 10 && !message.contains("secret words"),
            "{message}"
        );
        let next = told["nextTimes"][0].as_str().unwrap().to_owned();
        rests.push(Timestamp::parse(&next).unwrap().millis() - Timestamp::parse(&time).unwrap().millis());
        time = next;
    }
    let fits = |rest: &i64, seconds: i64| (seconds * 750..=seconds * 1_250 + 20_000).contains(rest);
    assert!(
        fits(&rests[0], 30) && fits(&rests[1], 60) && fits(&rests[3], 240),
        "{rests:?}"
    );
    assert!((7_200_000..7_240_000).contains(&rests[4]), "{rests:?}");
    let next = hook.get("/api/schedules").await;
    assert_eq!(next.data(200)[0]["lastError"]["code"], "HTTP_429", "{next}");
    source.gives(&orders([2, 1]));
    let told = tick(&hook, &deployment, &time).await;
    assert_eq!(
        (&told["poll"]["failures"], &told["poll"]["lastError"]),
        (&json!(0), &json!(null))
    );
    assert_eq!(items(&hook, &deployment).await, [json!({"id": 2, "total": 1})]);
    // An empty answer is not a failure.
    source.gives_text(&answer("204 No Content", "", ""));
    let next = told["nextTimes"][0].as_str().unwrap();
    let told = tick(&hook, &deployment, next).await;
    assert_eq!(
        (&told["poll"]["failures"], &told["poll"]["lastCount"]),
        (&json!(0), &json!(0))
    );
}

async fn one_server_asks_and_another_goes_on(database: Database) {
    let (service, source) = (open(database).await, Source::start().await);
    source.gives(&json!([1, 2]));
    let node = json!({"url": source.url, "startFrom": "beginning", "cron": "0 * * * *"});
    let hook = Hook::saved(&service, graph(node)).await;
    let deployment = hook.deploy().await;
    let now = service.app.clock.now();
    // As many servers do at once.
    let ticks = (0..8).map(|_| scheduler::tick(&service.app.executions, now));
    for ticked in futures_util::future::join_all(ticks).await {
        ticked.unwrap();
    }
    while schedule(&hook, &deployment).await["poll"] == json!(null) {
        tokio::task::yield_now().await;
    }
    assert_eq!(
        (source.asked().len(), items(&hook, &deployment).await.len()),
        (1, 2)
    );
    // Another one stopped after it had started the runs, and before it said so: they are not started again.
    let stopped = service.app.store.write(|db| {
        Box::pin(async move {
            db.execute(sql("update polls set seen = '', source = '', polled_at = null"))
                .await?;
            db.execute(sql("update schedules set next_due_at = 1")).await
        })
    });
    let stopped: Result<u64, StoreError> = stopped.await;
    assert_eq!(stopped.unwrap(), 1);
    source.gives(&json!([3, 2, 1]));
    tick(&hook, &deployment, "2026-11-21T09:00:10Z").await;
    assert_eq!(items(&hook, &deployment).await, [1, 2, 3]);
}

async fn only_what_runs_may_reach_is_asked(database: Database) {
    let (service, source) = (Service::start(database).await, Source::start().await);
    let hook = Hook::saved(&service, graph(json!({"url": source.url}))).await;
    let deployment = hook.deploy().await;
    let told = tick(&hook, &deployment, "2026-11-21T09:00:01Z").await;
    let message = told["poll"]["lastError"]["message"].as_str().unwrap();
    assert!(
        message.contains("127.0.0.1") && source.asked().is_empty(),
        "{told}"
    );
}

/// Makes two tests of each function, one for each database.
macro_rules! on_each {
    ($($name:ident)*) => {
        mod sqlite {$(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(crate::harness::Database::Sqlite).await;
            }
        )*}
        mod postgres {$(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(crate::harness::Database::Postgres).await;
            }
        )*}
    };
}

on_each! {
    each_new_thing_starts_a_run
    a_cursor_moves_on_when_runs_are_started
    the_time_of_the_last_answer_is_said
    all_that_is_new_starts_one_run
    no_thing_starts_two_runs_although_the_service_was_down_for_days
    failures_rest_and_lose_nothing
    one_server_asks_and_another_goes_on
    only_what_runs_may_reach_is_asked
}
