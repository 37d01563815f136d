//! What durability costs, and what it gives.
//!
//! `cargo bench -p heddle --bench durability` prints five tables:
//!
//! - webhooks taken and completed by one, two and three servers on one PostgreSQL, and by one that accepts with two that
//!   execute; only if HEDDLE_TEST_POSTGRES names a server (a URL of a user who may create databases);
//! - what it costs a run to keep the result of an effect: the same pattern deployed, and as a test run, which keeps none;
//! - how long it takes until 10,000 runs that were under way when their server was killed have ended;
//! - 100,000 runs that wait: memory, and how late they wake;
//! - how long it takes after an executor was killed until another one is ready to execute runs (Linux only).
//!
//! `-- --quick` does with a tenth of the runs; `-- recovery parked` are some of `servers`, `journal`, `recovery`,
//! `parked` and `executors`. Everything, the load generator included, is on one machine. Figures are kept
//! in `benches/README.md`.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a benchmark stops at the first surprise and prints"
)]

#[path = "patterns/database.rs"]
#[expect(dead_code, reason = "of the database's helpers only the scratch one is used")]
mod database;
#[path = "durability/executors.rs"]
mod executors;
#[path = "durability/gate.rs"]
mod gate;
#[path = "webhooks/load.rs"]
mod load;
#[path = "webhooks/process.rs"]
#[expect(dead_code, reason = "nothing silent is started here")]
mod process;
#[path = "durability/session.rs"]
mod session;

use gate::Gate;
use heddle_store::{Store, sql};
use load::{Extent, Target};
use process::{Process, User};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const CONNECTIONS: usize = 64;
/// Effects of the pattern that the journal is measured by.
const EFFECTS: usize = 20;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let is_quick = std::env::args().any(|argument| argument == "--quick");
    let scale = if is_quick { 10 } else { 1 };
    let names: Vec<String> = std::env::args()
        .skip(1)
        .filter(|it| !it.starts_with('-'))
        .collect();
    let is_wanted = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
    if is_wanted("servers") {
        match std::env::var("HEDDLE_TEST_POSTGRES") {
            Ok(server) => servers(&server, Duration::from_secs(20) / scale).await,
            Err(_) => println!("HEDDLE_TEST_POSTGRES names no server: several servers are left out"),
        }
    }
    if is_wanted("journal") {
        journal(1_000 / u64::from(scale)).await;
    }
    if is_wanted("recovery") {
        recovery(10_000 / u64::from(scale)).await;
    }
    if is_wanted("parked") {
        parked(100_000 / u64::from(scale)).await;
    }
    if cfg!(target_os = "linux") && is_wanted("executors") {
        executors::measure().await;
    }
}

/// Keeps everything in one directory; its machine code too, so that only the first start compiles.
async fn servers(postgres: &str, during: Duration) {
    println!(
        "{:<30} {:>10} {:>12} {:>9} {:>9}",
        "on PostgreSQL, 64 connections", "answered/s", "completed/s", "p50 ms", "p99 ms"
    );
    let dir = tempfile::tempdir().unwrap();
    drop(Process::heddle(dir.path()));
    for (name, roles) in [
        ("1 server", &["all"][..]),
        ("2 servers", &["all", "all"]),
        ("3 servers", &["all", "all", "all"]),
        ("1 that accepts, 1 that executes", &["api", "worker"]),
        ("1 that accepts, 2 that execute", &["api", "worker", "worker"]),
    ] {
        let scratch = database::Scratch::create(postgres).await;
        let start = |role: &&str| {
            let mut variables = process::on_postgres(&scratch.url).to_vec();
            variables.push(("HEDDLE_ROLE", role));
            Process::heddle_with(dir.path(), &variables)
        };
        let processes: Vec<Process> = roles.iter().map(start).collect();
        let user = User::new(&processes[0]).await;
        let deployed = user.deploy(202, &[set_fields()]).await;
        let accepts = |(process, role): (&Process, &&str)| {
            let target = Target {
                address: process.address,
                ..deployed.target.clone()
            };
            (*role != "worker").then_some(target)
        };
        let targets: Vec<Target> = processes.iter().zip(roles).filter_map(accepts).collect();
        let began = Instant::now();
        let measured = load::run_on_all(&targets, CONNECTIONS, Extent::Time(during)).await;
        user.await_ends(&deployed.id).await;
        println!(
            "{name:<30} {:>10.0} {:>12.0} {:>9.1} {:>9.1}",
            measured.per_second(),
            measured.answered as f64 / began.elapsed().as_secs_f64(),
            measured.percentile(0.5).as_secs_f64() * 1e3,
            measured.percentile(0.99).as_secs_f64() * 1e3,
        );
        drop(user);
        drop(processes);
        scratch.drop().await;
    }
}

fn set_fields() -> Value {
    let fields = json!({"total": "{{ $input.body.total * 1.2 }}"});
    json!({"id": "set", "type": "SetFields", "data": {"parameters": {"fields": fields}}})
}

/// Asks `url`, and passes its answer on.
fn request(number: usize, url: &str) -> Value {
    json!({"id": format!("request-{number}"), "type": "HttpRequest", "data": {"parameters": {"url": url}}})
}

async fn journal(times: u64) {
    let (dir, gate) = (tempfile::tempdir().unwrap(), Gate::open().await);
    let process = Process::heddle_with(dir.path(), &[("HEDDLE_EGRESS_ALLOW", &gate.address())]);
    let user = User::new(&process).await;
    let requests: Vec<Value> = (0..EFFECTS).map(|number| request(number, &gate.url())).collect();
    let deployed = user.deploy(202, &requests).await;
    let module = session::transpile(&user, &requests).await;
    let (mut kept, mut unkept) = (Vec::new(), Vec::new());
    for _ in 0..times {
        let began = Instant::now();
        session::execute(&user, &deployed).await;
        kept.push(began.elapsed());
        let began = Instant::now();
        session::test(&user, &module).await;
        unkept.push(began.elapsed());
    }
    println!(
        "\n{:<30} {:>10} {:>12}",
        "20 requests in a row", "least ms", "p50 ms"
    );
    for (name, took) in [
        ("deployed, results kept", &mut kept),
        ("test run, none kept", &mut unkept),
    ] {
        took.sort();
        println!(
            "{name:<30} {:>10.2} {:>12.2}",
            took[0].as_secs_f64() * 1e3,
            took[took.len() / 2].as_secs_f64() * 1e3
        );
    }
    let difference = |at: fn(&[Duration]) -> Duration| {
        (at(&kept).as_secs_f64() - at(&unkept).as_secs_f64()) * 1e6 / EFFECTS as f64
    };
    println!(
        "{:<30} {:>8.0} µs {:>9.0} µs",
        "for each effect",
        difference(|took| took[0]),
        difference(|took| took[took.len() / 2])
    );
}

async fn recovery(runs: u64) {
    let (dir, gate) = (tempfile::tempdir().unwrap(), Gate::shut().await);
    let variables = [
        ("HEDDLE_EGRESS_ALLOW", gate.address()),
        ("HEDDLE_QUEUE_RUNS", (4 * runs).to_string()),
        ("HEDDLE_WORKSPACE_CONCURRENCY", "256".to_owned()),
    ];
    let variables = variables.each_ref().map(|(name, value)| (*name, value.as_str()));
    let process = Process::heddle_with(dir.path(), &variables);
    let user = User::new(&process).await;
    let deployed = user.deploy(202, &[request(0, &gate.url())]).await;
    load::run(&deployed.target, CONNECTIONS, Extent::Requests(runs)).await;
    let (token, id) = (user.token.clone(), deployed.id.clone());
    drop(user);
    drop(process);
    gate.let_through();
    let began = Instant::now();
    let process = Process::heddle_with(dir.path(), &variables);
    let to_listen = began.elapsed();
    let user = session::known(&process, token);
    user.await_ends(&id).await;
    let took = began.elapsed();
    assert_eq!(session::count(&user, &id, "success").await, runs);
    println!(
        "\n{runs} interrupted runs: listening {:.1} s after the start, all ended after {:.1} s, {:.0} a second",
        to_listen.as_secs_f64(),
        took.as_secs_f64(),
        runs as f64 / took.as_secs_f64()
    );
}

/// Runs that wait until a time of their own, spread over as many milliseconds as there are runs.
async fn parked(runs: u64) {
    let dir = tempfile::tempdir().unwrap();
    // Events come faster than runs park.
    let variables = [
        ("HEDDLE_RETENTION_RUNS", "1000000"),
        ("HEDDLE_QUEUE_RUNS", "1000000"),
    ];
    let process = Process::heddle_with(dir.path(), &variables);
    let user = User::new(&process).await;
    let wait =
        json!({"id": "wait", "type": "Wait", "data": {"parameters": {"until": "{{ $input.body.until }}"}}});
    let deployed = user.deploy(202, &[wait]).await;
    let target = Target {
        body: waiting_body,
        ..deployed.target.clone()
    };
    // Some that wait longer, so that the process has its size before it is looked at.
    load::run(&target, CONNECTIONS, Extent::Requests(1_000)).await;
    session::await_parked(&process, 1_000).await;
    let (before, _) = process.memory_mib();
    let began = Instant::now();
    load::run(&target, CONNECTIONS, Extent::Requests(runs)).await;
    session::await_parked(&process, 1_000 + runs).await;
    let took = began.elapsed();
    let (after, _) = process.memory_mib();
    // What the load has left behind in the process is not of runs that wait.
    let (token, id) = (user.token.clone(), deployed.id.clone());
    drop(user);
    drop(process);
    let process = Process::heddle_with(dir.path(), &variables);
    let user = session::known(&process, token);
    tokio::time::sleep(Duration::from_secs(2)).await;
    let (started_again, _) = process.memory_mib();
    user.await_ends(&id).await;
    drop(user);
    drop(process);
    let late = lateness(dir.path()).await;
    let at = |share: f64| late[((late.len() - 1) as f64 * share) as usize];
    println!(
        "\n{runs} runs parked in {:.0} s: {before:.0} MiB before, {after:.0} MiB when all wait, {started_again:.0} MiB after \
         the server was started again\n\
         woken at 1,000 a second: ended {} ms after their time (p50), {} ms (p99), {} ms (last)",
        took.as_secs_f64(),
        at(0.5),
        at(0.99),
        at(1.0)
    );
}

/// Milliseconds since 1970 from which on runs wake: late enough for all to be parked.
fn wakes_from() -> u64 {
    static FROM: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    *FROM.get_or_init(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let patience = if std::env::args().any(|argument| argument == "--quick") {
            60
        } else {
            150
        };
        (now + Duration::from_secs(patience)).as_millis() as u64
    })
}

fn waiting_body(number: u64) -> String {
    json!({"until": wakes_from() + number}).to_string()
}

/// How many milliseconds after their time runs have ended, sorted.
async fn lateness(dir: &Path) -> Vec<i64> {
    let store = Store::open_sqlite(&dir.join("heddle-data/heddle.db"))
        .await
        .unwrap();
    let query = sql("select completed_at - cast(event->'body'->>'until' as integer) from runs order by 1");
    let rows: Vec<(i64,)> = store.reader().await.unwrap().db().all(query).await.unwrap();
    rows.into_iter().map(|(late,)| late).collect()
}
