//! What do others do to a tenant's webhook, and to the first run of its new pattern, when they do their worst?
//!
//! `cargo bench -p heddle --bench neighbours` starts a server with two users. Ann sends signed webhooks on one connection, one
//! after the other, and now and then deploys a new pattern and waits for its first answer; Mallory does one of the worst
//! things that a user can do, as much of it as the server lets one. The machine's speed changes from minute to minute, so
//! quiet times and attacked ones take turns; a row has what Ann saw in both, and the median of the ratios of the turns. The
//! goals: a p99 that is less than 5 % higher at the median of the rows and never more than twice as high, and nothing of Ann's
//! refused.
//!
//! `-- --quick` takes one short turn instead of three for each row; `-- --only NAME,NAME` measures some rows;
//! `-- --heddle FILE` measures another build of heddle; `-- --set NAME=VALUE` gives the server a variable of the environment.
//! Figures are kept in `benches/README.md`.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::indexing_slicing,
    reason = "a benchmark stops at the first surprise and prints"
)]

#[path = "neighbours/attack.rs"]
mod attack;
#[path = "neighbours/attacker.rs"]
mod attacker;
#[path = "neighbours/fixture.rs"]
mod fixture;
#[path = "webhooks/load.rs"]
#[expect(dead_code, reason = "answers are counted here even if they are refusals")]
mod load;
#[path = "neighbours/messages.rs"]
mod messages;
#[path = "neighbours/observer.rs"]
mod observer;
#[path = "neighbours/outside.rs"]
mod outside;
#[path = "webhooks/process.rs"]
#[expect(dead_code, reason = "memory and processors are not measured here")]
mod process;
#[path = "neighbours/table.rs"]
mod table;

use attack::Attack;
use attacker::Attacker;
use observer::{Observer, Seen};
use process::Process;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::time::Duration;
use table::Row;

/// First argument with which this program is the attacker.
const ATTACKER: &str = "--attacker";
/// How long an attack has been going on before anything is measured, and how long is waited after it.
const LEAD: Duration = Duration::from_millis(700);

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == ATTACKER) {
        return attacker::serve().await;
    }
    let all_after = |flag: &str| -> Vec<&str> {
        let pairs = arguments.windows(2).filter(|pair| pair[0] == flag);
        pairs.map(|pair| pair[1].as_str()).collect()
    };
    let is_quick = arguments.iter().any(|argument| argument == "--quick");
    let (turns, during) = if is_quick { (1, 2) } else { (3, 4) };
    let only: Vec<&str> = all_after("--only")
        .into_iter()
        .flat_map(|names| names.split(','))
        .collect();
    for name in &only {
        assert!(Attack::named(name).is_some(), "there is no row {name}");
    }
    let heddle = all_after("--heddle").pop();
    let heddle = heddle.unwrap_or(env!("CARGO_BIN_EXE_heddle"));

    let (attacker, outside) = Attacker::start();
    let smtp = free_address();
    let at = smtp.to_string();
    let mut variables = vec![
        ("HEDDLE_EGRESS_ALLOW", outside.as_str()),
        ("HEDDLE_SMTP_LISTEN", at.as_str()),
        ("HEDDLE_FILE_MAX_BYTES", fixture::FILE_MAX),
        // Endless runs are to end between two turns.
        ("HEDDLE_RUN_TIMEOUT_MS", "2000"),
        ("HEDDLE_AUTH_RATE_LIMIT", "0,0"),
        ("HEDDLE_OPERATOR_TOKEN", fixture::OPERATOR),
    ];
    for set in all_after("--set") {
        variables.push(set.split_once('=').expect("--set NAME=VALUE"));
    }
    let dir = tempfile::tempdir().unwrap();
    let process = Process::heddle_of(Path::new(heddle), dir.path(), &variables);
    let mut attacker = attacker.on(process.address, smtp);
    let observer = Observer::new(&process).await;
    let during = Duration::from_secs(during);
    // Warms up.
    observer.observe(during).await;

    table::head();
    let mut rows = Vec::new();
    for attack in Attack::ALL {
        if !only.is_empty() && !only.contains(&attack.name()) {
            continue;
        }
        let row = measure(&observer, &mut attacker, attack, turns, during).await;
        row.print();
        rows.push(row);
    }
    table::summary(&rows);
}

/// Where nobody listens yet.
fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

/// Turns of one attack, with a quiet time before and after each.
async fn measure(
    observer: &Observer<'_>,
    attacker: &mut Attacker,
    attack: Attack,
    turns: usize,
    during: Duration,
) -> Row {
    let mut quiet: Vec<Seen> = vec![observer.observe(during).await];
    let (mut attacked, mut done) = (Vec::new(), String::new());
    for _ in 0..turns {
        attacker.begin(attack);
        tokio::time::sleep(LEAD).await;
        attacked.push(observer.observe(during).await);
        done = attacker.end();
        tokio::time::sleep(LEAD).await;
        quiet.push(observer.observe(during).await);
    }
    Row {
        name: attack.name(),
        quiet,
        attacked,
        done,
    }
}
