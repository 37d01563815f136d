//! Large events: SQLite has them in pieces beside their runs and what is tapped, of which nobody notices anything.

use crate::flow::waits::parked;
use crate::harness::{Database, Service, chain, doubling, each_database};
use crate::replays::{deployed, told};
use crate::webhooks::fixture::{Hook, graph, returns};
use heddle_model::ids::UserId;
use heddle_model::quota::Quota;
use heddle_model::tenant::Tenant;
use heddle_store::runs::upkeep;
use heddle_store::{StoreError, quota, sql, usage, webhook_logs};
use serde_json::{Value, json};
use std::time::Duration;

/// UTF-16 units of the text of [`large`].
const UNITS: i64 = 600_000;

/// An event of more than a megabyte, with characters of one to four bytes.
fn large(more: Value) -> Value {
    let mut event = json!({"text": "aä€𝄞".repeat(120_000)});
    let more = more.as_object().unwrap().clone();
    event.as_object_mut().unwrap().extend(more);
    event
}

fn bytes_of(event: &Value) -> i64 {
    i64::try_from(event.to_string().len()).unwrap()
}

async fn number(service: &Service, query: &'static str) -> i64 {
    let mut reader = service.app.store.reader().await.unwrap();
    let (number,): (i64,) = reader.db().one(sql(query)).await.unwrap();
    number
}

/// How many runs and tapped events have pieces, and how many there are; none in a database that has several writers.
async fn pieces(service: &Service) -> (i64, i64) {
    match service.database() {
        Database::Sqlite => (
            number(service, "select count(distinct row_id) from text_pieces").await,
            number(service, "select count(*) from text_pieces").await,
        ),
        Database::Postgres => (0, 0),
    }
}

async fn change(service: &Service, statement: &'static str) {
    let changed: Result<u64, StoreError> = service
        .app
        .store
        .write(move |db| Box::pin(async move { db.execute(sql(statement)).await }))
        .await;
    changed.unwrap();
}

each_database! {
    async fn they_are_whole_wherever_they_are_read(service: Service) {
        let ann = service.user("ann").await;
        let id = deployed(&service, &ann, &doubling()).await;
        let event = large(json!({"n": 21}));
        let run = service.ran(&ann, &id, &event).await;
        let shown = service.run(&ann, &id, &run).await;
        assert!(shown["eventData"] == event, "{}", shown["status"]);
        assert_eq!(shown["output"], json!({"double": 42}));
        let listed = service.get(&format!("/api/deployments/{id}/runs")).bearer(&ann.token).send().await;
        let chars = event.to_string().chars().count();
        assert_eq!(listed.body["data"][0]["eventData"], json!({"$truncated": true, "chars": chars}));
        let (_, end) = told(&service, &ann, &id, &run).await;
        assert_eq!(end["result"]["output"], json!({"double": 42}));

        let failing = large(json!({"fail": true}));
        let failed = service.ran(&ann, &id, &failing).await;
        for (run, operation, event) in [(&run, "replay", &event), (&failed, "retry", &failing)] {
            let again = service.operate(&ann, &id, &format!("runs/{run}/{operation}")).await;
            let again = again.data(200)["runId"].as_str().unwrap().to_owned();
            let again = service.ended(&ann, &id, &again).await;
            assert!(again["eventData"] == *event, "{operation}");
        }
    }

    async fn further_attempts_and_runs_that_have_waited_have_all_of_them(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let mut hopeless = chain(&[
            ("start", "OnManual", json!({})),
            ("boom", "Throw", json!({"message": "{{ $input.text.length }} units"})),
        ]);
        hopeless["settings"] = json!({"retry": {"maxAttempts": 2, "backoffMs": 1, "factor": 1}});
        let id = deployed(&service, &ann, &hopeless).await;
        let event = large(json!({}));
        let run = service.ran(&ann, &id, &event).await;
        let shown = service.run(&ann, &id, &run).await;
        assert_eq!(
            (&shown["attempt"], &shown["error"]["message"]),
            (&json!(2), &json!(format!("{UNITS} units")))
        );

        let waits = chain(&[
            ("start", "OnManual", json!({})),
            ("tell", "Log", json!({"message": "{{ $run.callbackUrls.ask }}"})),
            ("ask", "WaitForCallback", json!({})),
            ("end", "Return", json!({"value": "{{ $trigger.text.length }}"})),
        ]);
        let id = deployed(&service, &ann, &waits).await;
        let run = service.started(&ann, &id, &event).await;
        let waiting = parked(&service, &ann, &id, &run).await;
        assert!(waiting["eventData"] == event);
        let mut reader = service.app.store.reader().await.unwrap();
        let used = quota::count(&mut reader.db(), Quota::WaitingRunBytes, ann.id.parse().unwrap()).await.unwrap();
        drop(reader);
        assert!((bytes_of(&event)..bytes_of(&event) + 50_000).contains(&used), "{used}");
        let url = waiting["logOutput"][0]["message"].as_str().unwrap();
        let (_, path) = url.split_once("://").unwrap().1.split_once('/').unwrap();
        let called = service.post(&format!("/{path}")).json(&json!({})).send().await;
        assert_eq!(called.status, 200, "{called}");
        assert_eq!(service.ended(&ann, &id, &run).await["output"], UNITS);
    }

    async fn they_count_in_full_and_go_with_their_runs(service: Service) {
        let ann = service.user("ann").await;
        let workspace = service.workspace_of(&ann).await;
        let id = deployed(&service, &ann, &doubling()).await;
        let event = large(json!({"n": 1}));
        let expected = bytes_of(&event)..bytes_of(&event) + 50_000;
        let stored = async || {
            let mut reader = service.app.store.reader().await.unwrap();
            usage::stored_bytes(&mut reader.db(), workspace).await.unwrap()
        };
        let before = stored().await;
        service.ran(&ann, &id, &event).await;
        let more = stored().await - before;
        assert!(expected.contains(&more), "{more}");
        let mut reader = service.app.store.reader().await.unwrap();
        let of_tenant = upkeep::bytes_of_tenant(&mut reader.db(), Tenant::Workspace(workspace)).await.unwrap();
        let largest = upkeep::beyond_bytes(&mut reader.db(), Tenant::Workspace(workspace), bytes_of(&event) - 1).await.unwrap();
        drop(reader);
        assert!(expected.contains(&of_tenant), "{of_tenant}");
        assert!(largest.is_some(), "it is more than a byte less");
        if let Database::Sqlite = service.database() {
            assert_eq!(number(&service, "select max(octet_length(event)) from runs").await, 25);
            assert_eq!(pieces(&service).await, (1, 10));
        }
        // What is not large is not in pieces.
        service.ran(&ann, &id, &json!({"text": "x".repeat(200_000)})).await;
        assert!(pieces(&service).await.0 <= 1);

        let deployment = service.delete(&format!("/api/deployments/{id}"));
        deployment.bearer(&ann.token).send().await.data(200);
        service.app.executions.clear_away().await.unwrap();
        assert_eq!(number(&service, "select count(*) from runs").await, 0);
        assert_eq!(pieces(&service).await, (0, 0));
    }

    async fn of_those_that_come_again_nothing_is_left(service: Service) {
        let hook = Hook::deployed(&service, graph(json!({}), &[returns("{{ $input.body.text.length }}")])).await;
        let body = large(json!({})).to_string();
        let send = || hook.signed(&body).header("x-idempotency-key", "one").send();
        let (first, second) = tokio::join!(send(), send());
        assert_eq!(first.body["runId"], second.body["runId"], "{first} {second}");
        assert_eq!(send().await.body["status"], "duplicate");
        assert_eq!(number(&service, "select count(*) from runs").await, 1);
        // The first one is tapped, too.
        assert_eq!(hook.tapped().await.len(), 1);
        if let Database::Sqlite = service.database() {
            assert_eq!(pieces(&service).await.0, 2);
        }
    }

    async fn what_is_tapped_of_them_is_whole_and_counts_in_full(service: Service) {
        let hook = Hook::saved(&service, graph(json!({}), &[])).await;
        let workspace = service.workspace_of(&hook.user).await;
        let stored = async || {
            let mut reader = service.app.store.reader().await.unwrap();
            usage::stored_bytes(&mut reader.db(), workspace).await.unwrap()
        };
        let before = stored().await;
        let body = large(json!({}));
        let answer = hook.signed(&body.to_string()).send().await;
        assert_eq!((answer.status, &answer.body["status"]), (202, &json!("captured")), "{answer}");
        hook.signed("\"small\"").send().await;
        let tapped = hook.tapped().await;
        assert_eq!(tapped.len(), 2);
        assert_eq!(tapped[0]["eventData"]["body"], "small");
        assert!(tapped[1]["eventData"]["body"] == body, "{}", tapped[1]["eventData"]["headers"]);
        assert_eq!(hook.logs().await.len(), 2);
        if let Database::Sqlite = service.database() {
            assert_eq!(number(&service, "select count(*) from tap_events where octet_length(event) = 25").await, 1);
            assert_eq!(pieces(&service).await, (1, 10));
        }

        let expected = bytes_of(&body)..bytes_of(&body) + 50_000;
        let more = stored().await - before;
        assert!(expected.contains(&more), "{more}");
        let user: UserId = hook.user.id.parse().unwrap();
        let beyond = async |bytes_max: i64| {
            let mut reader = service.app.store.reader().await.unwrap();
            webhook_logs::tapped_beyond_for_system(&mut reader.db(), bytes_max).await.unwrap()
        };
        assert_eq!(beyond(expected.start).await, [user]);
        assert!(beyond(expected.end).await.is_empty());
        // The newest ones of so many bytes stay.
        let bytes_max = expected.start;
        let removed: Result<u64, StoreError> = service.app.store.write(move |db| Box::pin(async move {
            webhook_logs::delete_tapped_beyond_for_system(db, user, bytes_max, 10).await
        })).await;
        assert_eq!(removed.unwrap(), 1);
        let left = hook.tapped().await;
        assert_eq!((left.len(), &left[0]["eventData"]["body"]), (1, &json!("small")));
        assert_eq!(pieces(&service).await, (0, 0));
    }

    async fn the_tap_keeps_the_newest_and_forgets_them_with_all_of_their_pieces(service: Service) {
        let hook = Hook::saved(&service, graph(json!({}), &[])).await;
        let body = |n: i64| json!({"n": n, "text": "x".repeat(300_000)});
        for n in 0..22 {
            hook.signed(&body(n).to_string()).send().await;
        }
        let tapped = hook.tapped().await;
        let numbers: Vec<&Value> = tapped.iter().map(|event| &event["eventData"]["body"]["n"]).collect();
        let expected: Vec<Value> = (2..22).rev().map(Value::from).collect();
        assert_eq!(numbers, expected.iter().collect::<Vec<_>>());
        assert!(tapped[19]["eventData"]["body"] == body(2));
        if let Database::Sqlite = service.database() {
            assert_eq!(pieces(&service).await, (20, 60));
        }
        let path = format!("/api/patterns/{}/tap-events", hook.pattern);
        service.delete(&path).bearer(&hook.user.token).send().await;
        assert_eq!(pieces(&service).await, (0, 0));

        hook.signed(&body(0).to_string()).send().await;
        assert_eq!(hook.tapped().await.len(), 1);
        service.app.clock.advance(Duration::from_secs(30 * 60));
        service.app.webhooks.sweep(service.app.clock.now()).await.unwrap();
        assert_eq!(number(&service, "select count(*) from tap_events").await, 0);
        assert_eq!(pieces(&service).await, (0, 0));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_those_whose_runs_are_not_stored_nothing_is_left() {
    let service = Service::start(Database::Sqlite).await;
    let ann = service.user("ann").await;
    let id = service.deployed(&ann, &doubling()).await;
    change(
        &service,
        "create trigger refuse before insert on runs begin select raise(abort, 'refused'); end",
    )
    .await;
    let refused = service.execute(&ann, &id, "", &large(json!({}))).await;
    assert_ne!(refused.status, 200, "{refused}");
    assert_eq!(pieces(&service).await, (0, 0));
    change(&service, "drop trigger refuse").await;
    service.ran(&ann, &id, &large(json!({}))).await;
    assert_eq!(pieces(&service).await.0, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_those_that_could_not_be_tapped_the_log_has_its_lines_and_nothing_else_is_left() {
    let service = Service::start(Database::Sqlite).await;
    let hook = Hook::saved(&service, graph(json!({}), &[])).await;
    change(
        &service,
        "create trigger refuse before insert on tap_events begin select raise(abort, 'refused'); end",
    )
    .await;
    let answer = hook.signed(&large(json!({})).to_string()).send().await;
    assert_eq!(answer.status, 202, "{answer}");
    assert_eq!(hook.tapped().await.len(), 0);
    assert_eq!(hook.logs().await.len(), 1);
    assert_eq!(pieces(&service).await, (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_crash_has_left_of_them_goes_once_it_is_old() {
    let service = Service::start(Database::Sqlite).await;
    let ann = service.user("ann").await;
    let id = service.deployed(&ann, &doubling()).await;
    let event = large(json!({}));
    let run = service.ran(&ann, &id, &event).await;
    // Of November 2024, the same of what is tapped, and of a run that may be about to be stored.
    let (old, tapped, new) = (
        "01932c07-209e-7f64-b0a3-5c1f1b0e6f3a",
        "01932c07-209e-7f64-b0a3-5c1f1b0e6f3b",
        "ffffffff-ffff-7fff-bfff-ffffffffffff",
    );
    change(
        &service,
        "insert into text_pieces (row_id, number, text) values
         ('01932c07-209e-7f64-b0a3-5c1f1b0e6f3a', 0, 'a'), ('01932c07-209e-7f64-b0a3-5c1f1b0e6f3a', 1, 'b'),
         ('01932c07-209e-7f64-b0a3-5c1f1b0e6f3b', 0, 'c'), ('ffffffff-ffff-7fff-bfff-ffffffffffff', 0, 'd')",
    )
    .await;
    change(
        &service,
        "insert into tap_events (id, endpoint_id, received_at, event) values
         ('01932c07-209e-7f64-b0a3-5c1f1b0e6f3b', 'hook', 4102444800000, 'p000000000001000000000001')",
    )
    .await;
    service.app.executions.clear_away().await.unwrap();
    let mut reader = service.app.store.reader().await.unwrap();
    let query = sql("select distinct row_id from text_pieces order by row_id");
    let left: Vec<(String,)> = reader.db().all(query).await.unwrap();
    drop(reader);
    let left: Vec<&str> = left.iter().map(|(run,)| run.as_str()).collect();
    assert_eq!(left, [tapped, run.as_str(), new], "not {old}");
    assert!(service.run(&ann, &id, &run).await["eventData"] == event);
}
