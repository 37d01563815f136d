//! What does code in a JavaScript node cost, cold (a run of its own) and warm (once more in the same run)? And what does
//! an expression cost, compiled, in the engine, and in Node.js?
//!
//! `cargo bench -p heddle-runtime --bench javascript` prints one table, measured in one run; `-- --quick` takes a
//! tenth of the time. Figures are kept in `benches/README.md`.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark stops at the first surprise and prints"
)]

#[path = "../tests/shared/needs.rs"]
mod needs;
#[path = "../tests/shared/node.rs"]
mod node;

use heddle_compiler::{ExpressionRoute, Options};
use heddle_runtime::{Outcome, Program, RunRequest, Runtime, RuntimeConfig, Status, Tier};
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

/// Expressions over `$input`, as people write them.
const EXPRESSIONS: &[(&str, &str)] = &[
    ("a path and a product", "$input.order.total * 1.2"),
    (
        "a template with ?., ?? and toFixed",
        "`Hello ${$input.customer?.name ?? 'you'}: ${$input.order.total.toFixed(2)} (${$input.order?.note ?? '-'})`",
    ),
    (
        "filter, map and join over 3 items",
        "$input.items.filter(i => i.qty > 1).map(i => i.sku).join(', ')",
    ),
    (
        "toLowerCase, replace and trim",
        "$input.customer.name.toLowerCase().replace(' ', '-').trim()",
    ),
];

/// Elements for each of which an expression is evaluated.
const ELEMENTS: usize = 1_000;

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
    bench.expressions();
}

fn order(index: usize) -> Value {
    json!({
        "order": { "total": 10.5 + index as f64 },
        "customer": { "name": format!(" Ann Lee {index} ") },
        "items": [{ "sku": "a", "qty": 2 }, { "sku": "b", "qty": 1 }, { "sku": "c", "qty": 3 }],
    })
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

/// Nanoseconds that the expression takes in Node.js, where there is one.
fn in_node(of_element: &str, event: &Value) -> Option<f64> {
    let script = format!(
        "const all = JSON.parse(require('fs').readFileSync(0, 'utf8')); const f = (x) => {of_element}; let least = Infinity, sink = 0;
        for (let round = 0; round < 300; round++) {{
            const begun = process.hrtime.bigint();
            for (const x of all) sink += String(f(x)).length;
            least = Math.min(least, Number(process.hrtime.bigint() - begun) / all.length);
        }}
        console.log(JSON.stringify(least + (sink < 0)));"
    );
    node::ask(&script, event)
}

impl Bench {
    fn load(&self, pattern: &Value) -> Program {
        // The question is what the engine takes: its code is not to be compiled.
        let expressions = match pattern["nodes"][1]["type"] == "JavaScript" {
            true => ExpressionRoute::EngineOnly,
            false => ExpressionRoute::Cheapest,
        };
        let options = Options {
            expressions,
            ..Options::default()
        };
        let compiled = heddle_compiler::compile(pattern, &json!({}), &options);
        let wasm = compiled.artifact.unwrap().wasm;
        self.runtime.load(&wasm, Tier::Optimized).unwrap()
    }

    /// Each expression, evaluated for each of many elements in one run; a run with `null` in its place is taken off.
    fn expressions(&self) {
        println!(
            "\n{:<40} {:>9} {:>9} {:>9}",
            "nanoseconds an expression, least", "compiled", "engine", "Node.js"
        );
        let elements: Vec<Value> = (0..ELEMENTS).map(order).collect();
        let event = json!(elements);
        let least = |pattern: &Value| self.times(pattern, &event).0[0];
        let nothing = least(&transform("{{ $input.map(x => null).length }}"));
        let no_code = least(&code(
            "export default ({input}) => input.map(x => null).length",
            false,
        ));
        for (name, source) in EXPRESSIONS {
            let of_element = source.replace("$input", "x");
            let compiled = least(&transform(&format!(
                "{{{{ $input.map(x => {of_element}).length }}}}"
            )));
            let in_engine = least(&code(
                &format!("export default ({{input}}) => input.map(x => {of_element}).length"),
                false,
            ));
            let each = |least: f64, nothing: f64| (least - nothing).max(0.0) * 1_000.0 / ELEMENTS as f64;
            println!(
                "{name:<40} {:>9.0} {:>9.0} {:>9}",
                each(compiled, nothing),
                each(in_engine, no_code),
                in_node(&of_element, &event).map_or("-".to_owned(), |ns| format!("{ns:.0}"))
            );
        }
    }

    /// Microseconds of runs in order, and the memory of one.
    fn times(&self, pattern: &Value, event: &Value) -> (Vec<f64>, usize) {
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
        (times, memory_bytes)
    }

    fn row(&self, name: &str, pattern: &Value, event: &Value) {
        let (times, memory_bytes) = self.times(pattern, event);
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
        let request = RunRequest::new(event.to_owned());
        let outcome = self.tokio.block_on(self.runtime.run(program, request));
        assert_eq!(outcome.status, Status::Completed, "{:?}", outcome.error);
        outcome
    }
}
