//! What workspaces have used adds up to what their runs recorded.

use super::{BOTH, ask, hosted, limit};
use crate::harness::{Database, Service, User, chain, doubling};
use heddle_model::clock::Timestamp;
use heddle_model::ids::{DeploymentId, RunId, UserId};
use heddle_model::server_role::ServerRole;
use heddle_model::status::{RunStatus, TriggeredBy};
use heddle_model::tenant::Tenant;
use heddle_store::runs::{self, AcceptedRow, ResultRow};
use heddle_store::{Load, Store, StoreError, servers, sql};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::sync::oneshot;

/// Runs, failed runs, fuel, memory, effects and bytes, as the runs of a workspace have recorded them.
pub(super) async fn recorded(service: &Service, workspace: &str) -> [i64; 6] {
    let query = sql(
        "select count(*), cast(coalesce(sum(case when r.status = 'success' then 0 else 1 end), 0) as bigint),
         cast(coalesce(sum(coalesce(r.total_fuel, r.fuel_used, 0)), 0) as bigint),
         cast(coalesce(sum(coalesce(r.total_memory_kib_ms, r.memory_bytes_peak / 1024 * r.duration_ms, 0)), 0) as bigint),
         cast(coalesce(sum(r.total_effects), 0) as bigint), cast(coalesce(sum(r.total_egress_bytes), 0) as bigint)
         from runs r join deployments d on d.id = r.deployment_id where d.workspace_id = ? and r.status <> 'running'",
    );
    let mut reader = service.app.store.reader().await.unwrap();
    let found: (i64, i64, i64, i64, i64, i64) = reader.db().one(query.bind(workspace)).await.unwrap();
    found.into()
}

/// The same as it was metered.
pub(super) async fn metered(service: &Service, workspace: &str) -> [i64; 6] {
    let query = sql(
        "select cast(coalesce(sum(runs), 0) as bigint), cast(coalesce(sum(failed_runs), 0) as bigint),
         cast(coalesce(sum(fuel), 0) as bigint), cast(coalesce(sum(memory_kib_ms), 0) as bigint),
         cast(coalesce(sum(effects), 0) as bigint), cast(coalesce(sum(egress_bytes), 0) as bigint)
         from usage_hours where tenant_id = ?",
    );
    service.app.store.meter().await.unwrap();
    let mut reader = service.app.store.reader().await.unwrap();
    let found: (i64, i64, i64, i64, i64, i64) = reader.db().one(query.bind(workspace)).await.unwrap();
    found.into()
}

async fn cancel(service: &Service, user: &User, deployment: &str, run: &str) {
    let path = format!("/api/deployments/{deployment}/runs/{run}/cancel");
    service.post(&path).bearer(&user.token).send().await.data(200);
}

/// Runs that end at once, that fail, that wait and go on, that are tried again, that are cancelled, and that send something.
pub(super) async fn runs_of_all_kinds(service: &Service, user: &User) {
    let doubles = service.deployed(user, &doubling()).await;
    for n in 0..7 {
        service
            .ran(user, &doubles, &json!({"n": n, "fail": n % 3 == 0}))
            .await;
    }
    let mut tried = doubling();
    tried["settings"] = json!({"retry": {"maxAttempts": 2, "backoffMs": 1, "factor": 1}});
    let tried = service.deployed(user, &tried).await;
    let again = service.ran(user, &tried, &json!({"fail": true})).await;
    assert_eq!(service.run(user, &tried, &again).await["attempt"], 2);
    let asks = chain(&[
        ("start", "OnManual", json!({})),
        ("ask", "WaitForCallback", json!({})),
    ]);
    let asks = service.deployed(user, &asks).await;
    let asked = service.started(user, &asks, &json!({})).await;
    loop {
        let waiting = service.get("/api/callbacks").bearer(&user.token).send().await;
        if waiting.text.contains(&asked) {
            break;
        }
        tokio::task::yield_now().await;
    }
    cancel(service, user, &asks, &asked).await;
    let sends = json!({"method": "POST", "url": "http://127.0.0.1:9/", "body": {"mark": "x".repeat(2_000)}});
    let sends = chain(&[("start", "OnManual", json!({})), ("send", "HttpRequest", sends)]);
    let sends = service.deployed(user, &sends).await;
    service.ran(user, &sends, &json!({})).await;
}

pub(super) fn sum(rows: &[Value], name: &str) -> f64 {
    rows.iter().map(|row| row[name].as_f64().unwrap()).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metering_adds_up_to_what_runs_recorded() {
    for database in BOTH {
        let service = hosted(database).await;
        let (ann, bob) = (service.user("ann").await, service.user("bob").await);
        let doubles = service.deployed(&bob, &doubling()).await;
        service.ran(&bob, &doubles, &json!({})).await;
        runs_of_all_kinds(&service, &ann).await;
        service.app.clock.advance(Duration::from_secs(26 * 60 * 60 + 60));
        let ann = service.logged_in("ann", ann).await;
        let bob = service.logged_in("bob", bob).await;
        service.ran(&bob, &doubles, &json!({})).await;
        for (user, runs) in [(&ann, 10), (&bob, 2)] {
            let workspace = service.workspace_of(user).await.to_string();
            let recorded = recorded(&service, &workspace).await;
            assert_eq!(recorded, metered(&service, &workspace).await);
            assert_eq!(recorded[0], runs, "{recorded:?}");
            assert!(recorded[2] > 0, "{recorded:?}");
            // Only one of them has sent something.
            assert_eq!(recorded[5] > 2_000, runs == 10, "{recorded:?}");
            let report = format!("/api/workspaces/{workspace}/usage?by=hour");
            let report = service.get(&report).bearer(&user.token).send().await;
            assert_eq!(report.status, 200, "{report}");
            let rows = report.body["data"].as_array().unwrap();
            let csv = format!("/api/workspaces/{workspace}/usage?by=hour&format=csv");
            let csv = service.get(&csv).bearer(&user.token).send().await;
            let mut lines = csv.text.lines();
            let names: Vec<&str> = lines.next().unwrap().split(',').collect();
            let lines: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
            assert_eq!(lines.len(), rows.len(), "{csv}");
            let exported = |name: &str| -> f64 {
                let at = names.iter().position(|other| *other == name).expect(name);
                lines.iter().map(|line| line[at].parse::<f64>().unwrap()).sum()
            };
            // Each figure, in both forms.
            let memory = recorded[3] as f64 / 1_024.0 / 1_000.0;
            for (name, expected) in [
                ("runs", recorded[0] as f64),
                ("failedRuns", recorded[1] as f64),
                ("fuel", recorded[2] as f64),
                ("memoryMibSeconds", memory),
                ("effects", recorded[4] as f64),
                ("egressBytes", recorded[5] as f64),
            ] {
                assert!((sum(rows, name) - expected).abs() < 1e-6, "{name}: {report}");
                assert!((exported(name) - expected).abs() < 1e-6, "{name}: {csv}");
            }
        }
        reports(&service, &bob).await;
    }
}

/// Spans and forms of the report of a workspace with a run on each of two days.
async fn reports(service: &Service, user: &User) {
    let workspace = service.workspace_of(user).await.to_string();
    let path = format!("/workspaces/{workspace}/usage?from=2026-11-01T00:00:00Z");
    let days = ask(service, "GET", &path).send().await;
    let began: Vec<&str> = days.body["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["beganAt"].as_str().unwrap())
        .collect();
    assert_eq!(
        began,
        ["2026-11-21T00:00:00.000Z", "2026-11-22T00:00:00.000Z"],
        "{days}"
    );
    let first = ask(service, "GET", &format!("{path}&by=hour&to=2026-11-22T00:00:00Z"))
        .send()
        .await;
    assert_eq!(first.body["data"].as_array().unwrap().len(), 1, "{first}");
    assert_eq!(
        first.body["data"][0]["beganAt"], "2026-11-21T09:00:00.000Z",
        "{first}"
    );
    let csv = ask(service, "GET", &path)
        .header("accept", "text/csv")
        .send()
        .await;
    assert_eq!(csv.headers["content-type"], "text/csv; charset=utf-8");
    let lines: Vec<&str> = csv.text.lines().collect();
    assert_eq!(lines.len(), 3, "{csv}");
    assert!(lines[0].starts_with("tenantId,beganAt,runs,"), "{csv}");
    assert!(
        lines[1].starts_with(&format!("{workspace},2026-11-21T00:00:00.000Z,1,0,")),
        "{csv}"
    );
    let all = ask(service, "GET", "/usage?format=csv&from=2026-11-01T00:00:00Z")
        .send()
        .await;
    assert_eq!(all.text.lines().count(), 4, "{all}");
    for (query, field) in [
        ("from=2026-11-02T00:00:00Z&to=2026-11-01T00:00:00Z", "from"),
        ("from=2020-11-02T00:00:00Z", "from"),
        ("cursor=x", "cursor"),
        ("cursor=1.%00", "cursor"),
    ] {
        let refused = ask(service, "GET", &format!("/usage?{query}")).send().await;
        assert_eq!(refused.wrong_fields(), [field], "{query}");
    }
}

/// A test run, a replay and a run of a pattern's test use the host, and are no runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn test_runs_and_replays_are_metered_apart() {
    for database in BOTH {
        let service = hosted(database).await;
        let ann = service.user("ann").await;
        let workspace = service.workspace_of(&ann).await.to_string();
        let doubles = service.deployed(&ann, &doubling()).await;
        let run = service.ran(&ann, &doubles, &json!({"n": 2})).await;
        let sends =
            json!({"method": "POST", "url": "http://127.0.0.1:9/", "body": {"mark": "x".repeat(2_000)}});
        let sends = chain(&[("start", "OnManual", json!({})), ("send", "HttpRequest", sends)]);
        let post =
            async |path: &str, body: Value| service.post(path).bearer(&ann.token).json(&body).send().await;
        let sources = json!({"graphData": sends, "nodeDefinitions": {}});
        let transpiled = post("/api/execute/transpile", sources).await;
        let code = json!({"code": transpiled.body["code"], "eventData": {}});
        let tested = post("/api/execute/run", code.clone()).await;
        let fuel = tested.body["fuelUsed"].as_f64().unwrap();
        let replayed = service
            .operate(&ann, &doubles, &format!("runs/{run}/trace"))
            .await;
        assert_eq!(replayed.status, 200, "{replayed}");
        assert_eq!(
            recorded(&service, &workspace).await,
            metered(&service, &workspace).await
        );
        service.app.clock.advance(Duration::from_secs(60));
        let report = service
            .get(&format!("/api/workspaces/{workspace}/usage"))
            .bearer(&ann.token)
            .send()
            .await;
        let rows = report.body["data"].as_array().unwrap();
        assert_eq!((sum(rows, "runs"), sum(rows, "testRuns")), (1.0, 2.0), "{report}");
        assert!(sum(rows, "testFuel") > fuel && fuel > 0.0, "{report}");
        assert!(sum(rows, "testMemoryMibSeconds") >= 0.0, "{report}");
        assert_eq!(sum(rows, "testEffects"), 1.0, "{report}");
        assert!(sum(rows, "testEgressBytes") > 2_000.0, "{report}");
        assert_eq!(sum(rows, "egressBytes"), 0.0, "{report}");
        // What they use counts toward the month, and they are refused when that is used up.
        for quota in ["fuelPerMonth", "egressBytesPerMonth"] {
            limit(&service, &ann, json!({quota: 2_000})).await;
            let refused = post("/api/execute/run", code.clone()).await;
            refused.assert_refused(429, "WORKSPACE_QUOTA_EXCEEDED");
            assert!(refused.text.contains(quota), "{refused}");
            let replayed = service
                .operate(&ann, &doubles, &format!("runs/{run}/trace"))
                .await;
            replayed.assert_refused(429, "WORKSPACE_QUOTA_EXCEEDED");
        }
        limit(&service, &ann, json!({"runsPerMonth": 1})).await;
        assert_eq!(post("/api/execute/run", code).await.status, 200);
    }
}

/// A run of a tenant that has ended at once.
fn ended(tenant: Tenant) -> AcceptedRow {
    let run = RunId::new();
    let mut end = ResultRow::running(run, "one".into(), 1);
    end.status = RunStatus::Success;
    AcceptedRow {
        id: run,
        deployment_id: DeploymentId::new(),
        tenant,
        triggered_by: TriggeredBy::Webhook,
        node_id: None,
        event: None,
        artifact: "".into(),
        version_number: 1,
        accepted_at: Timestamp::from_millis(0),
        parent: None,
        depth: 0,
        key: None,
        awaited: false,
        end: Some(Box::new(end)),
    }
}

/// A server whose lease does not end.
const THERE: &str = "there";

async fn register(store: &Store) {
    let (now, never) = (Timestamp::from_millis(0), Timestamp::from_millis(1 << 50));
    let registered: Result<(), StoreError> = store
        .write(move |db| Box::pin(servers::register(db, THERE, ServerRole::All, now, never)))
        .await;
    registered.unwrap();
}

/// Counts a run of a tenant that has ended at once, in a transaction that ends when it may.
async fn counted(
    store: Store,
    (tenant, load): (Tenant, Load),
    until: (oneshot::Sender<()>, oneshot::Receiver<()>),
) {
    register(&store).await;
    let row = ended(tenant);
    let (counted, may_end) = until;
    let stored: Result<(), StoreError> = store
        .write(move |db| {
            Box::pin(async move {
                let stored = runs::accept(db, THERE, THERE, (load, vec![row])).await?;
                assert!(stored.is_some(), "the server is there");
                let _ = counted.send(());
                let _ = may_end.await;
                Ok(())
            })
        })
        .await;
    stored.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_small_is_counted_while_what_is_large_is_stored() {
    let service = Service::start(Database::Postgres).await;
    let (store, tenant) = (service.app.store.clone(), Tenant::User(UserId::new()));
    let (counts, counted_large) = oneshot::channel();
    let (goes_on, may_end) = oneshot::channel();
    let large = (tenant, Load::of(None, 1 << 20));
    let large = tokio::spawn(counted(store.clone(), large, (counts, may_end)));
    counted_large.await.unwrap();
    let (counts, counted_small) = oneshot::channel();
    let (goes_on_at_once, may_end) = oneshot::channel();
    goes_on_at_once.send(()).unwrap();
    let small = counted(store, (tenant, Load::LITTLE), (counts, may_end));
    let small = tokio::time::timeout(Duration::from_secs(20), small);
    small.await.expect("it does not wait for the other one");
    counted_small.await.unwrap();
    goes_on.send(()).unwrap();
    large.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_server_accepts_that_is_none_any_more_is_neither_stored_nor_counted() {
    let service = Service::start(Database::Postgres).await;
    let (store, tenant) = (&service.app.store, Tenant::User(UserId::new()));
    register(store).await;
    let mut expected: i64 = 0;
    // By one statement, and by several.
    for rows in [1, 65] {
        for (name, is_there) in [("gone", false), (THERE, true)] {
            let group = (0..rows).map(|_| ended(tenant)).collect();
            let stored = runs::accept_shared(store, name, (Load::LITTLE, group)).await;
            assert_eq!(stored.unwrap(), is_there, "{rows} rows for {name}");
            expected += if is_there { rows } else { 0 };
            let found = sql("select (select count(*) from runs where owner = 'gone'),
                 (select cast(coalesce(sum(runs), 0) as bigint) from usage_hours where tenant_id = ?)");
            let mut reader = store.reader().await.unwrap();
            let found: (i64, i64) = reader.db().one(found.bind(tenant.to_string())).await.unwrap();
            assert_eq!(found, (0, expected), "{rows} rows for {name}");
        }
    }
}
