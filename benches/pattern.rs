//! What does a run cost, and what does the sandbox add to bare wasmtime?
//!
//! `cargo bench -p heddle-runtime --bench pattern` prints one table, all of it measured in one run, so that the
//! ratios hold on a noisy machine. `-- --quick` takes a tenth of the time, `-- --only PART` (`compiling`, `running`,
//! `throughput`, `fairness`) one part. Figures are kept in `benches/README.md`.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark stops at the first surprise and prints"
)]

use heddle_runtime::{Limits, Outcome, Program, RunRequest, Runtime, RuntimeConfig, Status, Tier};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[path = "pattern/bare.rs"]
mod bare;
#[path = "pattern/graphs.rs"]
mod graphs;

/// Settings of the whole measurement.
struct Bench {
    runtime: Arc<Runtime>,
    tokio: tokio::runtime::Runtime,
    event: Box<RawValue>,
    /// How long each row is measured.
    time: Duration,
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let only = arguments
        .iter()
        .skip_while(|argument| *argument != "--only")
        .nth(1);
    let cache = std::env::temp_dir().join(format!("heddle-bench-{}", std::process::id()));
    let config = RuntimeConfig {
        cache_dir: Some(cache.clone()),
        ..RuntimeConfig::default()
    };
    let bench = Bench {
        runtime: Arc::new(Runtime::new(config).unwrap()),
        tokio: tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap(),
        event: graphs::event(),
        time: Duration::from_millis(if quick { 300 } else { 3_000 }),
    };
    println!("{:<58} {:>10} {:>10} {:>10}", "", "p50", "p99", "min");
    type Part = fn(&Bench);
    let parts: [(&str, Part); 4] = [
        ("compiling", Bench::compiling),
        ("running", Bench::running),
        ("throughput", Bench::throughput),
        ("fairness", Bench::fairness),
    ];
    for (name, part) in parts {
        if only.is_none_or(|only| only == name) {
            part(&bench);
        }
    }
    println!(
        "{:<58} {:>10}",
        "resident memory of this process",
        mebibytes(resident_bytes())
    );
    std::fs::remove_dir_all(cache).ok();
}

impl Bench {
    /// From JSON to executable, in both tiers.
    fn compiling(&self) {
        for nodes in [10, 20, 100, 1_000] {
            let text = graphs::chain(nodes, 0).to_string();
            let row = self.measure(|| compile(&serde_json::from_str(&text).unwrap()));
            row.print(&format!("{nodes} nodes: JSON to Wasm"));
        }
        for (tier, name) in [(Tier::Optimized, "optimised"), (Tier::Fast, "fast tier")] {
            for nodes in [10, 20, 100, 1_000] {
                let mut variant = 0;
                let row = self.measure(|| {
                    // A constant of its own makes every module new to the caches.
                    variant += 1;
                    let text = graphs::chain(nodes, variant).to_string();
                    self.runtime
                        .load(&compile(&serde_json::from_str(&text).unwrap()), tier)
                        .unwrap()
                });
                row.print(&format!("{nodes} nodes: JSON to executable, {name}"));
            }
        }
    }

    /// One run after another on one thread, everything fresh and limited, next to bare wasmtime.
    fn running(&self) {
        for nodes in [1, 10, 20, 100, 1_000] {
            let wasm = compile(&graphs::chain(nodes, 0));
            let program = self.runtime.load(&wasm, Tier::Optimized).unwrap();
            let limited = self.measure(|| self.run(&program));
            limited.print(&format!("{nodes} nodes, 1 KB event: a whole run"));
            let bare = bare::Bare::new(&wasm, self.event.clone());
            let floor = self.measure(|| bare.run());
            floor.print(&format!("{nodes} nodes: the same in bare wasmtime, no limits"));
            self.measure(|| bare.instantiate())
                .print(&format!("{nodes} nodes: instantiation alone, bare"));
            println!(
                "{:<58} {:>10.2}",
                "    run / bare",
                limited.p50.as_secs_f64() / floor.p50.as_secs_f64()
            );
        }
        let program = self
            .runtime
            .load(&compile(&graphs::chain(20, 0)), Tier::Fast)
            .unwrap();
        self.measure(|| self.run(&program))
            .print("20 nodes, 1 KB event: a whole run, fast tier");
    }

    /// Runs per second on two threads.
    fn throughput(&self) {
        for nodes in [10, 20] {
            let program = Arc::new(
                self.runtime
                    .load(&compile(&graphs::chain(nodes, 0)), Tier::Optimized)
                    .unwrap(),
            );
            let (count, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
            let started = Instant::now();
            self.tokio.block_on(async {
                let runs = (0..8).map(|_| {
                    let (runtime, program) = (self.runtime.clone(), program.clone());
                    let (count, stop, event) = (count.clone(), stop.clone(), self.event.clone());
                    tokio::spawn(async move {
                        while !stop.load(Ordering::Relaxed) {
                            expect_completed(
                                &runtime.run(&program, request(&event, Limits::default())).await,
                            );
                            count.fetch_add(1, Ordering::Relaxed);
                        }
                    })
                });
                let tasks: Vec<_> = runs.collect();
                tokio::time::sleep(self.time).await;
                stop.store(true, Ordering::Relaxed);
                for task in tasks {
                    task.await.unwrap();
                }
            });
            let per_second = count.load(Ordering::Relaxed) as f64 / started.elapsed().as_secs_f64();
            println!(
                "{:<58} {per_second:>10.0}",
                format!("{nodes} nodes: runs per second, two threads")
            );
        }
    }

    /// Latency of a short run while eight endless loops compute on the same two cores.
    fn fairness(&self) {
        let endless = Arc::new(
            self.runtime
                .load(&compile(&graphs::endless()), Tier::Optimized)
                .unwrap(),
        );
        let short = self
            .runtime
            .load(&compile(&graphs::chain(10, 0)), Tier::Optimized)
            .unwrap();
        self.measure_spaced(&short)
            .print("10 nodes, every ms, on an idle runtime");
        let deadline = self.time * 2 + Duration::from_secs(2);
        let loops: Vec<_> = (0..8)
            .map(|_| {
                let (runtime, program, event) = (self.runtime.clone(), endless.clone(), self.event.clone());
                let limits = Limits {
                    fuel_max: u64::MAX >> 1,
                    deadline,
                    ..Limits::default()
                };
                self.tokio
                    .spawn(async move { runtime.run(&program, request(&event, limits)).await })
            })
            .collect();
        std::thread::sleep(Duration::from_millis(500));
        self.measure_spaced(&short)
            .print("10 nodes, every ms, beside eight endless loops");
        self.tokio.block_on(async {
            for task in loops {
                assert_eq!(task.await.unwrap().error.unwrap().code, "TIMEOUT");
            }
        });
    }

    fn run(&self, program: &Program) -> Outcome {
        let outcome = self
            .tokio
            .block_on(self.runtime.run(program, request(&self.event, Limits::default())));
        expect_completed(&outcome);
        outcome
    }

    /// A run a millisecond, each on a worker of the same tokio runtime as the loops, timed from spawn to end.
    fn measure_spaced(&self, program: &Program) -> Row {
        let mut samples = Vec::new();
        let end = Instant::now() + self.time * 2;
        while Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
            let (runtime, program, event) = (self.runtime.clone(), program.clone(), self.event.clone());
            let started = Instant::now();
            let task = self.tokio.spawn(async move {
                expect_completed(&runtime.run(&program, request(&event, Limits::default())).await);
                Instant::now()
            });
            samples.push(self.tokio.block_on(task).unwrap() - started);
        }
        Row::new(samples)
    }

    fn measure<T>(&self, mut operation: impl FnMut() -> T) -> Row {
        drop(operation());
        let mut samples = Vec::new();
        let end = Instant::now() + self.time;
        while Instant::now() < end || samples.len() < 5 {
            let started = Instant::now();
            drop(operation());
            samples.push(started.elapsed());
        }
        Row::new(samples)
    }
}

/// Percentiles of one measurement.
struct Row {
    p50: Duration,
    p99: Duration,
    min: Duration,
}

impl Row {
    fn new(mut samples: Vec<Duration>) -> Self {
        samples.sort_unstable();
        let at = |percent: usize| samples[(samples.len() - 1) * percent / 100];
        Row {
            p50: at(50),
            p99: at(99),
            min: at(0),
        }
    }

    fn print(&self, name: &str) {
        println!(
            "{name:<58} {:>10} {:>10} {:>10}",
            show(self.p50),
            show(self.p99),
            show(self.min)
        );
    }
}

fn show(duration: Duration) -> String {
    let us = duration.as_secs_f64() * 1e6;
    if us < 1_000.0 {
        format!("{us:.1} µs")
    } else {
        format!("{:.2} ms", us / 1e3)
    }
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok())
        .unwrap_or(0)
        * 1024
}

fn compile(graph: &Value) -> Vec<u8> {
    let compiled = heddle_compiler::compile(graph, &json!({}), &heddle_compiler::Options::default());
    compiled
        .artifact
        .unwrap_or_else(|| panic!("{:#?}", compiled.diagnostics))
        .wasm
}

fn request(event: &RawValue, limits: Limits) -> RunRequest {
    RunRequest {
        limits,
        ..RunRequest::new(event.to_owned())
    }
}

fn expect_completed(outcome: &Outcome) {
    assert_eq!(outcome.status, Status::Completed, "{:?}", outcome.error);
}
