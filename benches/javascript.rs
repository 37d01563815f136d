//! What does code in a JavaScript node cost, cold (a run of its own) and warm (once more in the same run)?
//!
//! `cargo bench -p heddle-runtime --bench javascript` prints one table, measured in one run; `-- --quick` takes a
//! tenth of the time. Figures are kept in `benches/README.md`.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark stops at the first surprise and prints"
)]

use heddle_compiler::Options;
use heddle_runtime::{Limits, Outcome, Program, RunRequest, Runtime, RuntimeConfig, Status, Tier};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Shapes 100 items the way people do.
const TRANSFORM: &str = "export default ({input}) => {
    const byCountry = {};
    const lines = [];
    for (const item of input.items) {
        const {id, name, qty, price, country, tags} = item;
        if (qty <= 0) continue;
        const total = Math.round(qty * price * 100) / 100;
        byCountry[country] ??= {count: 0, total: 0};
        byCountry[country].count += 1;
        byCountry[country].total += total;
        lines.push({
            id,
            label: `${name.trim().toUpperCase()} (${country})`,
            total,
            tags: tags.filter((tag) => tag.startsWith('t')).map((tag) => tag.slice(1)),
        });
    }
    lines.sort((a, b) => b.total - a.total);
    return {lines, byCountry, top: lines.slice(0, 3).map((line) => line.id).join(', ')};
}";

struct Bench {
    runtime: Runtime,
    tokio: tokio::runtime::Runtime,
    time: Duration,
}

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let bench = Bench {
        runtime: Runtime::new(RuntimeConfig::default()).unwrap(),
        tokio: tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap(),
        time: Duration::from_millis(if quick { 300 } else { 3_000 }),
    };
    let one = "export default ({input}) => input.items.length";
    let started = Instant::now();
    bench.load(&pattern(
        json!({ "id": "a", "type": "JavaScript", "data": { "parameters": { "code": one } } }),
    ));
    println!(
        "compiling the engine, once: {:.0} ms",
        started.elapsed().as_secs_f64() * 1_000.0
    );
    println!("{:<62} {:>9} {:>9} {:>9}", "microseconds", "p50", "p99", "min");
    let small = json!({ "items": [1, 2, 3] });
    bench.row(
        "a run without code",
        &transform("{{ $input.items.length }}"),
        &small,
    );
    bench.row("a run with one line of code", &code(one, false), &small);
    let items: Vec<Value> = (0..100).map(item).collect();
    let large = json!({ "items": items });
    bench.row(
        "a run without code, 100 items of 100 bytes",
        &transform("{{ $input.items.length }}"),
        &large,
    );
    bench.row(
        "the same with 20 lines of code over them",
        &code(TRANSFORM, false),
        &large,
    );
    let many = json!((0..100).collect::<Vec<u32>>());
    bench.row(
        "one line of code for each of 100 elements",
        &code("export default ({input}) => input * 2", true),
        &many,
    );
}

fn item(index: usize) -> Value {
    json!({
        "id": format!("o-{index}"), "name": format!(" item number {index} "), "qty": index % 7, "price": 1.25 * index as f64,
        "country": (["de", "fr", "it"][index % 3]), "tags": ["tred", "green", "tblue"],
    })
}

fn pattern(node: Value) -> Value {
    json!({
        "nodes": [{ "id": "start", "type": "OnManual" }, node, { "id": "end", "type": "Return" }],
        "edges": [{ "source": "start", "target": "a" }, { "source": "a", "target": "end" }],
    })
}

fn transform(value: &str) -> Value {
    pattern(json!({ "id": "a", "type": "Transform", "data": { "parameters": { "value": value } } }))
}

fn code(source: &str, each: bool) -> Value {
    pattern(
        json!({ "id": "a", "type": "JavaScript", "data": { "each": each, "parameters": { "code": source } } }),
    )
}

impl Bench {
    fn load(&self, pattern: &Value) -> Program {
        let compiled = heddle_compiler::compile(pattern, &json!({}), &Options::default());
        let wasm = compiled.artifact.unwrap().wasm;
        self.runtime.load(&wasm, Tier::Optimized).unwrap()
    }

    fn row(&self, name: &str, pattern: &Value, event: &Value) {
        let program = self.load(pattern);
        let event = RawValue::from_string(event.to_string()).unwrap();
        for _ in 0..50 {
            self.run(&program, &event);
        }
        let mut times = Vec::new();
        let (started, mut memory_bytes) = (Instant::now(), 0);
        while started.elapsed() < self.time {
            let begun = Instant::now();
            memory_bytes = self.run(&program, &event).usage.memory_bytes_peak;
            times.push(begun.elapsed().as_nanos() as f64 / 1_000.0);
        }
        times.sort_by(f64::total_cmp);
        let at = |share: usize| times[(times.len() - 1) * share / 100];
        println!(
            "{name:<62} {:>9.1} {:>9.1} {:>9.1}   {} KiB",
            at(50),
            at(99),
            at(0),
            memory_bytes >> 10
        );
    }

    fn run(&self, program: &Program, event: &RawValue) -> Outcome {
        let request = RunRequest {
            run_id: "bench".into(),
            pattern_id: "bench".into(),
            attempt: 1,
            triggered_by: "manual".into(),
            started_at_ms: 1_700_000_000_000,
            seed: 1,
            trigger_node_id: None,
            event: event.to_owned(),
            variables: serde_json::Map::new(),
            secrets: Default::default(),
            limits: Limits::default(),
        };
        let outcome = self.tokio.block_on(self.runtime.run(program, request));
        assert_eq!(outcome.status, Status::Completed, "{:?}", outcome.error);
        outcome
    }
}
