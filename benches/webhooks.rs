//! How many webhooks a second does a server take and complete, how long do senders wait, and what memory does it need?
//!
//! `cargo bench -p heddle --bench webhooks` measures, one after the other in one run: heddle with a pattern whose
//! answer nobody waits for, one whose answer the sender waits for, and a chain of 20 nodes, each with 1, 16, 64 and 256
//! connections; beside them the ceiling, a program of its own that only checks an HMAC, stores the body and
//! instantiates an empty sandbox. All is on one machine, the load generator included, and every event is on disk before it
//! is acknowledged. `-- --quick` measures 2 s instead of 8 s for each row; `-- --connections 64` measures those rows only;
//! `-- --peers` installs Node-RED and n8n from npm and measures them too; `-- --against FILE` measures nothing of this but
//! another build of heddle, at this absolute path, and this one by turns, which
//! `--set NAME=VALUE` gives a variable of the environment: with this build as the other one, a setting is measured. With
//! HEDDLE_TEST_POSTGRES, the URL of a user who may create databases, both have their data there. Figures are kept in
//! `benches/README.md`.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a benchmark stops at the first surprise and prints"
)]

#[path = "webhooks/against.rs"]
mod against;
#[path = "webhooks/ceiling.rs"]
mod ceiling;
#[path = "patterns/database.rs"]
#[expect(dead_code, reason = "of the database's helpers only the scratch one is used")]
mod database;
#[path = "webhooks/load.rs"]
#[expect(dead_code, reason = "this one always measures for a time")]
mod load;
#[path = "webhooks/peers.rs"]
mod peers;
#[path = "webhooks/process.rs"]
#[expect(dead_code, reason = "other benchmarks have more use for it")]
mod process;

use load::{Extent, Measured, Target, order};
use process::{Process, User};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// First argument with which this program is the ceiling.
const CEILING: &str = "--ceiling";
const CONNECTIONS: [usize; 4] = [1, 16, 64, 256];
/// How long a server has had nothing to do when its memory is read.
const IDLE: Duration = Duration::from_secs(3);

/// What is measured.
struct Plan {
    during: Duration,
    connections: Vec<usize>,
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.get(1).is_some_and(|first| first == CEILING) {
        return ceiling::serve(arguments[2].as_ref()).await;
    }
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let after = |flag: &str| arguments.iter().skip_while(|it| *it != flag).nth(1);
    let only = after("--connections");
    let set = after("--set").map(|set| set.split_once('=').expect("--set NAME=VALUE"));
    let plan = Plan {
        during: Duration::from_secs(if has("--quick") { 2 } else { 8 }),
        connections: only.map_or(CONNECTIONS.to_vec(), |only| vec![only.parse().unwrap()]),
    };
    if let Some(other) = after("--against") {
        let postgres = std::env::var("HEDDLE_TEST_POSTGRES").ok();
        let builds = against::Builds {
            other: other.as_ref(),
            set: set.as_slice(),
            postgres: postgres.as_deref(),
        };
        for (name, status, nodes) in patterns() {
            println!("{name}");
            let connections = only.map_or(64, |only| only.parse().unwrap());
            builds.compare((status, &nodes), connections).await;
        }
        return;
    }
    println!(
        "{:<28} {:>5} {:>10} {:>12} {:>9} {:>9} {:>9}",
        "", "conn", "answered/s", "completed/s", "p50 ms", "p99 ms", "MiB"
    );
    bare(&plan).await;
    heddle(&plan).await;
    if has("--peers") {
        peers::measure(&plan).await;
    }
}

async fn bare(plan: &Plan) {
    for &connections in &plan.connections {
        let dir = tempfile::tempdir().unwrap();
        let process = ceiling::start(dir.path());
        let target = ceiling::target(&process);
        let measured = load::run(&target, connections, Extent::Time(plan.during)).await;
        row("ceiling", connections, &measured, None, &process);
    }
}

async fn heddle(plan: &Plan) {
    let dir = tempfile::tempdir().unwrap();
    // The first start compiles the standard library; later ones find it in the cache.
    drop(Process::heddle(dir.path()));
    let began = Instant::now();
    let process = Process::heddle(dir.path());
    let to_listen = began.elapsed();
    let user = User::new(&process).await;
    tokio::time::sleep(IDLE).await;
    let (idle_mib, _) = process.memory_mib();
    for (name, status, nodes) in patterns() {
        let deployed = user.deploy(status, &nodes).await;
        for &connections in &plan.connections {
            let began = Instant::now();
            let measured = load::run(&deployed.target, connections, Extent::Time(plan.during)).await;
            user.await_ends(&deployed.id).await;
            row(name, connections, &measured, Some(began.elapsed()), &process);
        }
    }
    drop(user);
    drop(process);
    println!(
        "heddle: {:.0} ms from start to listening with a warm cache, {idle_mib:.0} MiB idle",
        to_listen.as_secs_f64() * 1e3
    );
}

/// What is measured of heddle: a name, the status of a good answer, and the nodes behind the webhook.
fn patterns() -> [(&'static str, u16, Vec<Value>); 4] {
    let fields = |number: usize| {
        let fields = json!({"total": "{{ $input.body.total * 1.2 }}", "id": "{{ $input.body.id }}"});
        let parameters = json!({"fields": if number == 0 { fields } else { json!({"step": number}) }});
        json!({"id": format!("set-{number}"), "type": "SetFields", "data": {"parameters": parameters}})
    };
    // By an effect: the host computes it.
    let hash = |number: usize| {
        let parameters = json!({"algorithm": "sha256", "value": format!("{number}")});
        json!({"id": format!("hash-{number}"), "type": "Hash", "data": {"parameters": parameters}})
    };
    let respond = json!({"id": "respond", "type": "RespondToWebhook", "data": {"parameters": {"body": "{{ $input.total }}"}}});
    let chain = (0..20).map(fields).chain([respond.clone()]).collect();
    let effects = (0..20).map(hash).chain([respond.clone()]).collect();
    [
        ("heddle, asynchronous", 202, vec![fields(0)]),
        ("heddle, synchronous", 200, vec![fields(0), respond]),
        ("heddle, 20 nodes, synchronous", 200, chain),
        ("heddle, 20 effects, synchronous", 200, effects),
    ]
}

/// `until_completed`: from the first request to the end of the last run.
fn row(
    name: &str,
    connections: usize,
    measured: &Measured,
    until_completed: Option<Duration>,
    process: &Process,
) {
    let completed = until_completed.map_or_else(String::new, |took| {
        format!("{:.0}", measured.answered as f64 / took.as_secs_f64())
    });
    let ms = |share: f64| measured.percentile(share).as_secs_f64() * 1e3;
    println!(
        "{name:<28} {connections:>5} {:>10.0} {completed:>12} {:>9.2} {:>9.2} {:>9.0}",
        measured.per_second(),
        ms(0.5),
        ms(0.99),
        process.memory_mib().1
    );
}

/// A target without signatures.
fn open_target(port: u16, path: &str) -> Target {
    Target {
        address: ([127, 0, 0, 1], port).into(),
        path: path.to_owned(),
        secret: None,
        status: 200,
        body: order,
    }
}
