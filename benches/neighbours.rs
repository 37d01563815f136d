//! What do others do to a tenant's webhook, and to the first run of its new pattern, when they do their worst?
//!
//! `cargo bench -p heddle --bench neighbours` starts a server with two users. One sends signed webhooks on one connection, and
//! now and then deploys a new pattern and sends it its first event; meanwhile the other one, from another address, does
//! one of the worst things that it can do, as much of it as it is let. Each is measured between two quiet times, since the
//! machine's speed changes from minute to minute; the table has the ratios to them. The goals: at the median of all
//! rows less than 5 % more, never more than twice as much, and nothing refused (a refused webhook of the first user
//! ends the benchmark). `-- --quick` measures 2 s instead of 8 s for each; `-- --only NAME` one of them.
//! Figures are kept in `benches/README.md`.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a benchmark stops at the first surprise and prints"
)]

#[path = "neighbours/attacks.rs"]
mod attacks;
#[path = "webhooks/load.rs"]
#[expect(dead_code, reason = "this one always measures for a time, and no rates")]
mod load;
#[path = "webhooks/process.rs"]
#[expect(dead_code, reason = "memory and processors are not measured here")]
mod process;

use attacks::{Attack, Attacker};
use load::Extent;
use process::{Deployed, Process, User};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// New patterns in each time.
const FIRST_RUNS: usize = 8;
/// How long an attack has been going on before anything is measured, and how long is waited after it.
const LEAD: Duration = Duration::from_millis(500);

/// What the first user has seen in one time.
struct Seen {
    p50: Duration,
    p99: Duration,
    first_runs: Vec<Duration>,
}

impl Seen {
    fn first_run(&self) -> Duration {
        self.first_runs[self.first_runs.len() / 2]
    }

    fn worst_first_run(&self) -> Duration {
        self.first_runs[self.first_runs.len() - 1]
    }
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let arguments: Vec<String> = std::env::args().collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let only = arguments.iter().skip_while(|it| *it != "--only").nth(1);
    let during = Duration::from_secs(if has("--quick") { 2 } else { 8 });

    let echo = attacks::echo().await;
    let dir = tempfile::tempdir().unwrap();
    let variables = [
        ("HEDDLE_EGRESS_ALLOW", echo.as_str()),
        // Endless runs are to end between two attacks.
        ("HEDDLE_RUN_TIMEOUT_MS", "300"),
        ("HEDDLE_AUTH_RATE_LIMIT", "0,0"),
    ];
    let process = Process::heddle_with(dir.path(), &variables);
    let ann = User::new(&process).await;
    let deployed = ann.deploy(202, &[fields(0)]).await;
    let attacker = Attacker::new(&process, &echo).await;
    // Warms up.
    observe(&ann, &deployed, during).await;

    println!(
        "{:<24} {:>9} {:>9} {:>7} {:>7}   {:>9} {:>9} {:>7}",
        "", "p50 ms", "p99 ms", "p50 x", "p99 x", "first ms", "worst ms", "first x"
    );
    let mut before = observe(&ann, &deployed, during).await;
    row("quiet", &before, None);
    let mut ratios = Vec::new();
    for attack in Attack::ALL {
        if only.is_some_and(|only| only != attack.name()) {
            continue;
        }
        let mut attacking = JoinSet::new();
        attacker.begin(attack, &mut attacking);
        tokio::time::sleep(LEAD).await;
        let attacked = observe(&ann, &deployed, during).await;
        drop(attacking);
        attacker.await_rest().await;
        tokio::time::sleep(LEAD).await;
        let after = observe(&ann, &deployed, during).await;
        ratios.push(row(attack.name(), &attacked, Some((&before, &after))));
        before = after;
    }
    row("quiet", &before, None);
    ratios.sort_by(f64::total_cmp);
    if let (Some(median), Some(worst)) = (ratios.get(ratios.len() / 2), ratios.last()) {
        println!("p99 of webhooks beside others: {median:.2} at the median of the rows, {worst:.2} at worst");
    }
}

/// What the first user sees now.
async fn observe(ann: &User<'_>, deployed: &Deployed, during: Duration) -> Seen {
    let measured = load::run(&deployed.target, 1, Extent::Time(during)).await;
    let mut first_runs = Vec::new();
    for _ in 0..FIRST_RUNS {
        let began = Instant::now();
        let fresh = ann.deploy(202, &[fresh()]).await;
        assert!(fresh.target.answers().await, "a first event was refused");
        ann.await_ends(&fresh.id).await;
        first_runs.push(began.elapsed());
    }
    first_runs.sort();
    Seen {
        p50: measured.percentile(0.5),
        p99: measured.percentile(0.99),
        first_runs,
    }
}

fn fields(number: usize) -> Value {
    let fields = json!({"total": "{{ $input.body.total * 1.2 }}", "number": number});
    json!({"id": format!("set-{number}"), "type": "SetFields", "data": {"parameters": {"fields": fields}}})
}

/// A node that no pattern has had: its module is compiled anew.
fn fresh() -> Value {
    let fields = json!({"total": "{{ $input.body.total * 1.2 }}", "unique": unique()});
    json!({"id": "set", "type": "SetFields", "data": {"parameters": {"fields": fields}}})
}

/// A text that was not there before.
fn unique() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    format!("{}", since.unwrap().as_nanos())
}

/// Prints a row; the ratio of the p99 to that of the quiet times around it.
fn row(name: &str, seen: &Seen, around: Option<(&Seen, &Seen)>) -> f64 {
    let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
    let ratio = |of: fn(&Seen) -> Duration| {
        around.map(|(before, after)| 2.0 * ms(of(seen)) / (ms(of(before)) + ms(of(after))))
    };
    let shown = |ratio: Option<f64>| ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}"));
    let p99 = ratio(|seen| seen.p99);
    println!(
        "{name:<24} {:>9.2} {:>9.2} {:>7} {:>7}   {:>9.1} {:>9.1} {:>7}",
        ms(seen.p50),
        ms(seen.p99),
        shown(ratio(|seen| seen.p50)),
        shown(p99),
        ms(seen.first_run()),
        ms(seen.worst_first_run()),
        shown(ratio(Seen::first_run)),
    );
    p99.unwrap_or(1.0)
}
