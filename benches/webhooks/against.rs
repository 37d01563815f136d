//! Two builds of heddle by turns, a second each: the machine's speed changes from minute to minute by more than most
//! changes of the program bring, but hardly between two seconds next to each other.

use crate::database::Scratch;
use crate::load::{self, Extent};
use crate::process::{self, Deployed, Process, User};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// Turns of each.
const TURNS: usize = 20;
const TURN: Duration = Duration::from_secs(1);
/// After which the writing behind the answers is done, so that it is not the other one's.
const REST: Duration = Duration::from_millis(150);

/// What one turn gave.
struct Turn {
    per_second: f64,
    p50_us: f64,
    p99_ms: f64,
    cpu_us: f64,
}

/// What is compared.
pub struct Builds<'b> {
    /// The other one.
    pub other: &'b Path,
    /// Variables of this one.
    pub set: &'b [(&'b str, &'b str)],
    /// A server on which each has a database of its own.
    pub postgres: Option<&'b str>,
}

impl Builds<'_> {
    /// Prints medians of both builds, and of the ratios of turns next to each other.
    pub async fn compare(&self, (status, nodes): (u16, &[Value]), connections: usize) {
        let mut databases = Vec::new();
        if let Some(server) = self.postgres {
            databases = vec![Scratch::create(server).await, Scratch::create(server).await];
        }
        let of = |number: usize| {
            let database = databases.get(number);
            database.map_or(Vec::new(), |database| {
                process::on_postgres(&database.url).to_vec()
            })
        };
        let this = Path::new(env!("CARGO_BIN_EXE_heddle"));
        let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let processes = [
            Process::heddle_of(self.other, dirs[0].path(), &of(0)),
            Process::heddle_of(this, dirs[1].path(), &[of(1), self.set.to_vec()].concat()),
        ];
        by_turns(&processes, (status, nodes), connections).await;
        drop(processes);
        for database in databases {
            database.drop().await;
        }
    }
}

async fn by_turns(processes: &[Process; 2], (status, nodes): (u16, &[Value]), connections: usize) {
    let mut deployed = Vec::new();
    for process in processes {
        deployed.push(User::new(process).await.deploy(status, nodes).await);
    }
    let mut turns = [Vec::new(), Vec::new()];
    // The first ones warm up.
    for number in 0..=TURNS {
        let order = if number % 2 == 0 { [0, 1] } else { [1, 0] };
        for which in order {
            let turn = take_turn(&processes[which], &deployed[which], connections).await;
            if number > 0 {
                turns[which].push(turn);
            }
        }
    }
    for (name, turns) in ["other", "this"].into_iter().zip(&turns) {
        println!(
            "{name:<28} {connections:>5} {:>10.0}/s {:>9.0} µs p50 {:>9.2} ms p99 {:>7.0} µs of a processor for each",
            median(turns.iter().map(|turn| turn.per_second)),
            median(turns.iter().map(|turn| turn.p50_us)),
            median(turns.iter().map(|turn| turn.p99_ms)),
            median(turns.iter().map(|turn| turn.cpu_us)),
        );
    }
    let ratio = |of: fn(&Turn) -> f64| median(turns[1].iter().zip(&turns[0]).map(|(a, b)| of(a) / of(b)));
    println!(
        "this to other, turn by turn        {:>10.2}   {:>9.2}        {:>9.2}        {:>7.2}",
        ratio(|turn| turn.per_second),
        ratio(|turn| turn.p50_us),
        ratio(|turn| turn.p99_ms),
        ratio(|turn| turn.cpu_us)
    );
}

async fn take_turn(process: &Process, deployed: &Deployed, connections: usize) -> Turn {
    let before = process.cpu();
    let measured = load::run(&deployed.target, connections, Extent::Time(TURN)).await;
    tokio::time::sleep(REST).await;
    Turn {
        per_second: measured.per_second(),
        p50_us: measured.percentile(0.5).as_secs_f64() * 1e6,
        p99_ms: measured.percentile(0.99).as_secs_f64() * 1e3,
        cpu_us: (process.cpu() - before).as_secs_f64() * 1e6 / measured.answered as f64,
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
