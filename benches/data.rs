//! What does working on data cost: reading it, filtering, mapping, sorting, grouping, joining, making text?
//!
//! `cargo bench -p heddle-runtime --bench data` does each job with data nodes, with expressions, with a JavaScript node
//! and, where there is one, in Node.js, checks that all give the same result, and prints times beside each other, then
//! the guest's instructions (fuel) by step. `-- --quick` takes a tenth of the time, `-- --only JOB` one job, `-- --json`
//! prints the rows as JSON. `-- --against PROGRAM` compares with another build of this benchmark by turns. Figures are
//! kept in `benches/data/README.md`.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark stops at the first surprise and prints"
)]

#[path = "data/against.rs"]
mod against;
#[path = "data/jobs.rs"]
mod jobs;
#[path = "../tests/shared/needs.rs"]
mod needs;
#[path = "../tests/shared/node.rs"]
mod node;

use heddle_compiler::Options;
use heddle_runtime::{Outcome, Program, RunRequest, Runtime, RuntimeConfig, Status, Tier};
use jobs::{Graph, Job, START, Step};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// One way of doing a job.
#[derive(Serialize, Deserialize)]
struct Row {
    job: String,
    way: String,
    least_ms: f64,
    p50_ms: f64,
    /// Instructions by step: reading the event, each node, writing the result.
    fuel: Vec<(String, u64)>,
}

impl Row {
    fn fuel(&self) -> u64 {
        self.fuel.iter().map(|(_, fuel)| fuel).sum()
    }
}

/// What Node.js takes, in milliseconds.
#[derive(Deserialize)]
struct InNode {
    /// From text to text.
    whole: f64,
    /// The work alone.
    work: f64,
    result: Value,
}

struct Bench {
    runtime: Runtime,
    tokio: tokio::runtime::Runtime,
    time: Duration,
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let flag = |name: &str| arguments.iter().any(|argument| argument == name);
    let value = |name: &str| {
        arguments
            .iter()
            .skip_while(|argument| *argument != name)
            .nth(1)
            .cloned()
    };
    let only = value("--only");
    if let Some(other) = value("--against") {
        return against::compare(&other, only.as_deref(), if flag("--quick") { 2 } else { 5 });
    }
    let cache = std::env::temp_dir().join(format!("heddle-bench-{}", std::process::id()));
    let config = RuntimeConfig {
        cache_dir: Some(cache.clone()),
        ..RuntimeConfig::default()
    };
    let bench = Bench {
        runtime: Runtime::new(config).unwrap(),
        tokio: tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap(),
        time: Duration::from_millis(if flag("--quick") { 200 } else { 2_000 }),
    };
    let mut rows = Vec::new();
    if !flag("--json") {
        println!(
            "{:<10} {:>8} {:<14} {:>9} {:>9} {:>8} {:>8}",
            "job", "bytes", "way", "least ms", "p50 ms", "x Node", "x work"
        );
    }
    for job in jobs::all() {
        if only.as_deref().is_none_or(|only| only == job.name) {
            rows.extend(bench.job(&job, flag("--json")));
        }
    }
    if flag("--json") {
        println!("{}", serde_json::to_string(&rows).unwrap());
    } else {
        print_fuel(&rows);
    }
    std::fs::remove_dir_all(cache).ok();
}

fn print_fuel(rows: &[Row]) {
    println!("\nmillions of instructions by step");
    for row in rows {
        let steps: Vec<String> = row
            .fuel
            .iter()
            .map(|(name, fuel)| format!("{name} {:.2}", *fuel as f64 / 1e6))
            .collect();
        println!(
            "{:<10} {:<12} {:>8.2} = {}",
            row.job,
            row.way,
            row.fuel() as f64 / 1e6,
            steps.join(" + ")
        );
    }
}

impl Bench {
    fn job(&self, job: &Job, silent: bool) -> Vec<Row> {
        let text = job.event.to_string();
        let in_node: Option<InNode> = if silent {
            None
        } else {
            node::ask(&node_script(job.code), &job.event)
        };
        let of_code = Graph::of_code(job.code);
        let ways = [
            ("nodes", &job.nodes),
            ("expressions", &job.expressions),
            ("JavaScript", &of_code),
        ];
        let mut rows: Vec<Row> = Vec::new();
        let mut expected = in_node.as_ref().map(|in_node| in_node.result.clone());
        for (way, graph) in ways {
            let (row, result) = self.way(job.name, way, graph, &text);
            let expected = expected.get_or_insert_with(|| result.clone());
            assert_eq!(*expected, result, "{} with {way} gives something else", job.name);
            if !silent {
                let times = |node: fn(&InNode) -> f64| {
                    in_node.as_ref().map_or("-".into(), |in_node| {
                        format!("{:.1}", row.least_ms / node(in_node))
                    })
                };
                println!(
                    "{:<10} {:>8} {:<14} {:>9.2} {:>9.2} {:>8} {:>8}",
                    job.name,
                    text.len(),
                    way,
                    row.least_ms,
                    row.p50_ms,
                    times(|node| node.whole),
                    times(|node| node.work)
                );
            }
            rows.push(row);
        }
        if let Some(in_node) = in_node {
            println!(
                "{:<10} {:>8} {:<14} {:>9.2}   of which the work {:.2}",
                job.name,
                text.len(),
                "Node.js",
                in_node.whole,
                in_node.work
            );
        }
        rows
    }

    fn way(&self, job: &str, way: &str, graph: &Graph, event: &str) -> (Row, Value) {
        let event = RawValue::from_string(event.to_owned()).unwrap();
        let (fuel, result) = self.fuel(graph, &event);
        let program = self.load(&pattern(&graph.steps, None));
        let mut times = Vec::new();
        let started = Instant::now();
        while started.elapsed() < self.time || times.len() < 3 {
            let begun = Instant::now();
            self.run(&program, &event);
            times.push(begun.elapsed().as_secs_f64() * 1_000.0);
        }
        times.sort_by(f64::total_cmp);
        let row = Row {
            job: job.into(),
            way: way.into(),
            least_ms: times[0],
            p50_ms: times[times.len() / 2],
            fuel,
        };
        (row, result)
    }

    /// Instructions of each step: what the pattern needs up to it and no further, less what it needs up to the one before.
    fn fuel(&self, graph: &Graph, event: &RawValue) -> (Vec<(String, u64)>, Value) {
        let mut fuel = Vec::new();
        let mut before = 0;
        for steps in 0..=graph.steps.len() {
            let pattern = pattern(&graph.steps[..steps], Some(Value::Null));
            let used = self.run(&self.load(&pattern), event).usage.fuel_used;
            let name = steps
                .checked_sub(1)
                .map_or("read", |step| graph.steps[step].node_type);
            fuel.push((name.to_owned(), used.saturating_sub(before)));
            before = used;
        }
        let outcome = self.run(&self.load(&pattern(&graph.steps, None)), event);
        fuel.push(("write".into(), outcome.usage.fuel_used.saturating_sub(before)));
        let result = serde_json::from_str(outcome.output.as_ref().unwrap().get()).unwrap();
        (fuel, result)
    }

    fn load(&self, pattern: &Value) -> Program {
        let compiled = heddle_compiler::compile(pattern, &json!({}), &Options::default());
        let wasm = compiled
            .artifact
            .unwrap_or_else(|| panic!("{:#?}", compiled.diagnostics))
            .wasm;
        self.runtime.load(&wasm, Tier::Optimized).unwrap()
    }

    fn run(&self, program: &Program, event: &RawValue) -> Outcome {
        let request = RunRequest::new(event.to_owned());
        let outcome = self.tokio.block_on(self.runtime.run(program, request));
        assert_eq!(outcome.status, Status::Completed, "{:?}", outcome.error);
        outcome
    }
}

/// The steps between a trigger and a Return, which returns `result` or else what the last step gives.
fn pattern(steps: &[Step], result: Option<Value>) -> Value {
    let name = |step: usize| {
        if step == START {
            "start".to_owned()
        } else {
            format!("step{step}")
        }
    };
    let mut nodes = vec![json!({ "id": "start", "type": "OnManual" })];
    let mut edges = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let data = json!({ "each": step.each, "parameters": step.parameters });
        nodes.push(json!({ "id": name(at), "type": step.node_type, "data": data }));
        let before = [(at.checked_sub(1).unwrap_or(START), "in")];
        let inputs = if step.inputs.is_empty() {
            &before[..]
        } else {
            &step.inputs
        };
        for (source, port) in inputs {
            edges.push(json!({ "source": name(*source), "sourceHandle": "out", "target": name(at), "targetHandle": port }));
        }
    }
    let parameters = result.map_or(json!({}), |result| json!({ "value": result }));
    nodes.push(json!({ "id": "end", "type": "Return", "data": { "parameters": parameters } }));
    let last = steps.len().checked_sub(1);
    edges.push(json!({ "source": name(last.unwrap_or(START)), "target": "end" }));
    json!({ "nodes": nodes, "edges": edges })
}

/// Does the work on the JSON text that it is given, and tells the least of its times.
fn node_script(body: &str) -> String {
    format!(
        "const text = require('fs').readFileSync(0, 'utf8'); const f = (input) => {{ {body} }};
        let [whole, work, sink, result] = [Infinity, Infinity, 0];
        for (const begun = Date.now(); Date.now() - begun < 1000;) {{
            const a = process.hrtime.bigint();
            const input = JSON.parse(text);
            const b = process.hrtime.bigint();
            result = f(input);
            const c = process.hrtime.bigint();
            sink += JSON.stringify(result).length;
            const d = process.hrtime.bigint();
            whole = Math.min(whole, Number(d - a) / 1e6);
            work = Math.min(work, Number(c - b) / 1e6);
        }}
        console.log(JSON.stringify({{ whole, work: work + (sink < 0), result }}));"
    )
}
