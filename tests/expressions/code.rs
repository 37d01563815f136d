//! Code of JavaScript nodes that is compiled: the same as by the engine, text by text, errors and all.

use crate::generated::{VALUES, generator};
use crate::generator::Generator;
use crate::{Sandbox, output_of, request};
use fastrand::Rng;
use heddle_compiler::{ExpressionRoute, Options, Route, Severity, explain};
use heddle_runtime::{Outcome, Tier};
use serde_json::value::RawValue;
use serde_json::{Value, json};

mod parts;
mod table;

use table::{BY_ENGINE, COMPILED};

/// Code in one pattern.
const BATCH: usize = 160;
const BATCHES: usize = 6;
/// Enough for all that ends.
const FUEL_MAX: u64 = 5_000_000_000;
/// More than the engine is given.
const EVENT_BYTES_MAX: usize = 32 << 20;
const MEMORY_BYTES_MAX: usize = 256 << 20;

/// What follows a module of which nothing is to be compiled.
const ENGINE: &str = "0, () => eval;";

/// A pattern that executes each module for each element of its input, and gives an array for each module.
fn pattern(modules: &[String]) -> Value {
    let mut nodes = vec![json!({"id": "start", "type": "OnManual"})];
    let mut edges = Vec::new();
    for (at, module) in modules.iter().enumerate() {
        let id = format!("c{at}");
        edges.push(json!({"source": "start", "target": id}));
        edges.push(json!({"source": id, "target": "end"}));
        nodes.push(json!({"id": id, "type": "JavaScript", "data": {
            "each": true, "onError": "continue",
            "parameters": {"code": module, "params": {"by": 3, "names": ["a", "B"], "first": "{{ $input?.rows?.[0] ?? null }}"}},
        }}));
    }
    nodes.push(json!({"id": "end", "type": "Return"}));
    json!({"nodes": nodes, "edges": edges})
}

/// What a pattern gives for these values, as JSON text.
fn run(sandbox: &Sandbox, pattern: &Value, event: &str, route: ExpressionRoute) -> Outcome {
    let options = Options {
        expressions: route,
        ..Options::default()
    };
    let compiled = heddle_compiler::compile(pattern, &json!({}), &options);
    let errors = compiled.diagnostics.iter();
    let errors: Vec<_> = errors.filter(|d| d.severity == Severity::Error).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let wasm = compiled.artifact.unwrap().wasm;
    let program = sandbox.runtime.load(&wasm, Tier::Fast).unwrap();
    let mut request = request(&Value::Null);
    request.limits.fuel_max = FUEL_MAX;
    request.limits.event_bytes_max = EVENT_BYTES_MAX;
    request.limits.memory_bytes_max = MEMORY_BYTES_MAX;
    request.event = RawValue::from_string(event.to_owned()).unwrap();
    sandbox.executor.block_on(sandbox.runtime.run(&program, request))
}

fn answers(sandbox: &Sandbox, modules: &[String], route: ExpressionRoute) -> String {
    let event = format!("[{}]", VALUES.join(","));
    let outcome = run(sandbox, &pattern(modules), &event, route);
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    outcome.output.unwrap().get().to_owned()
}

/// Whether each module is compiled, and the first reason why not.
fn routes(modules: &[String]) -> Vec<Result<(), String>> {
    let (explained, _) = explain(&pattern(modules), &json!({}), &Options::default());
    let code = explained.into_iter().filter(|it| it.is_code);
    code.map(|it| match it.route {
        Route::Compiled => Ok(()),
        Route::Engine => Err(it.reasons.first().map(|why| why.what.clone()).unwrap_or_default()),
    })
    .collect()
}

/// How the two ways differ.
fn differences(sandbox: &Sandbox, modules: &[String]) -> (usize, String) {
    let compiled = answers(sandbox, modules, ExpressionRoute::Cheapest);
    // Expressions in parameters stay as they are, so that both get the same objects.
    let by_engine: Vec<String> = modules
        .iter()
        .map(|module| format!("{module}\n{ENGINE}"))
        .collect();
    assert!(routes(&by_engine).iter().all(Result::is_err));
    let engine = answers(sandbox, &by_engine, ExpressionRoute::Cheapest);
    let compiled: Vec<Vec<&RawValue>> = serde_json::from_str(&compiled).unwrap();
    let engine: Vec<Vec<&RawValue>> = serde_json::from_str(&engine).unwrap();
    assert_eq!((compiled.len(), engine.len()), (modules.len(), modules.len()));
    let (mut cases, mut found) = (0, String::new());
    for (module, (compiled, engine)) in modules.iter().zip(compiled.iter().zip(&engine)) {
        assert_eq!(compiled.len(), engine.len(), "{module}");
        for (value, (compiled, engine)) in compiled.iter().zip(engine).enumerate() {
            cases += 1;
            if compiled.get() != engine.get() {
                found += &format!("{module}\n    on value {value}: {compiled}\n    engine: {engine}\n");
            }
        }
    }
    (cases, found)
}

/// A body of the tables as a module: what follows `=>` for `({input, params, item})`, or the whole module.
fn module(body: &str) -> String {
    match body.contains("export default") {
        true => body.to_owned(),
        false => format!("export default ({{ input, params, item }}) => {body}"),
    }
}

#[test]
fn written_code_means_the_same_compiled_and_in_the_engine() {
    let sandbox = Sandbox::new();
    let modules: Vec<String> = COMPILED.iter().map(|body| module(body)).collect();
    assert!(modules.len() >= 150, "{}", modules.len());
    let engines: String = modules
        .iter()
        .zip(routes(&modules))
        .filter_map(|(module, route)| Some(format!("{module}\n    {}\n", route.err()?)))
        .collect();
    assert!(engines.is_empty(), "by the engine:\n{engines}");
    for modules in modules.chunks(BATCH) {
        let (_, found) = differences(&sandbox, modules);
        assert!(found.is_empty(), "{found}");
    }
}

#[test]
fn code_that_could_differ_goes_to_the_engine() {
    let modules: Vec<String> = BY_ENGINE.iter().map(|(body, _)| module(body)).collect();
    let routes = routes(&modules);
    assert_eq!(routes.len(), modules.len());
    for ((module, (_, reason)), route) in modules.iter().zip(BY_ENGINE).zip(routes) {
        assert_eq!(route, Err((*reason).to_owned()), "{module}");
    }
    let (_, found) = differences(&Sandbox::new(), &modules);
    assert!(found.is_empty(), "{found}");
}

/// Bodies made of expressions that people wrote.
struct Bodies {
    expressions: Generator,
    random: Rng,
}

impl Bodies {
    /// An expression in the names of code.
    fn expression(&mut self) -> String {
        loop {
            let source = self.expressions.next();
            let named = source.replace("$input", "input").replace("$item", "item");
            let has_other = named
                .match_indices('$')
                .any(|(at, _)| !named[at + 1..].starts_with('{'));
            if source.len() < 300 && !has_other && !named.contains("Date") {
                return named;
            }
        }
    }

    /// The same, of another name where there is one.
    fn about(&mut self, names: &[&str]) -> String {
        let expression = self.expression();
        match self.random.choice(names) {
            Some(name) if self.random.bool() => expression.replace("input", name),
            _ => expression,
        }
    }

    fn next(&mut self) -> String {
        match self.random.u8(0..6) {
            0 => format!("({})", self.expression()),
            1 => format!("[{}, {}]", self.expression(), self.expression()),
            2 => format!(
                "{{ const one = {}; return [one, {}]; }}",
                self.expression(),
                self.about(&["one", "one[0]"])
            ),
            3 => format!(
                "{{ if ({}) return {}; const {{ rows, text: t = {} }} = input ?? {{}}; return {{ a: {}, t, ...rows }}; }}",
                self.expression(),
                self.expression(),
                self.expression(),
                self.about(&["rows", "t"])
            ),
            4 => format!(
                "{{ const all = [input].concat(input?.rows ?? []); return all.map((row, at) => {{ const [first] = [row]; if (at % 2) {{ \
                 return {}; }} else return [first, {}]; }}); }}",
                self.about(&["row", "first"]),
                self.about(&["row", "first", "params"])
            ),
            _ => format!(
                "[input?.list ?? input].flat().reduce((sum, x) => {{ const y = {}; return y ? [...sum, y] : sum.concat({}); }}, [])",
                self.about(&["x"]),
                self.about(&["x", "sum"])
            ),
        }
    }
}

#[test]
fn generated_code_means_the_same_compiled_and_in_the_engine() {
    let sandbox = Sandbox::new();
    let mut bodies = Bodies {
        expressions: generator(),
        random: Rng::with_seed(11),
    };
    let (mut cases, mut text) = (0, String::new());
    for _ in 0..BATCHES {
        let mut modules = Vec::new();
        while modules.len() < BATCH {
            let candidates: Vec<String> = (0..BATCH).map(|_| module(&bodies.next())).collect();
            let valid: Vec<String> = candidates.into_iter().filter(|module| is_valid(module)).collect();
            let compiled = valid
                .iter()
                .zip(routes(&valid))
                .filter(|(_, route)| route.is_ok());
            modules.extend(compiled.map(|(module, _)| module.clone()));
        }
        modules.truncate(BATCH);
        let (compared, found) = differences(&sandbox, &modules);
        cases += compared;
        text += &found;
    }
    println!("{cases} cases");
    assert!(text.is_empty(), "{text}");
    assert!(cases >= 7_000, "only {cases} cases");
}

fn is_valid(module: &str) -> bool {
    let found = heddle_compiler::check(&pattern(&[module.to_owned()]), &json!({}), &Options::default());
    found.iter().all(|d| d.severity != Severity::Error)
}

/// Numbers of all sizes, and texts of them.
#[test]
fn numbers_and_texts_are_the_engines_to_the_last_digit() {
    let sandbox = Sandbox::new();
    let mut random = Rng::with_seed(5);
    let numbers: Vec<String> = (0..3_000)
        .map(|at| {
            let number = match at % 4 {
                0 => f64::from_bits(random.u64(..)),
                1 => (random.f64() - 0.5) * 10_f64.powi(random.i32(0..12)),
                2 => f64::from(random.i32(..)) / 1_000.0,
                _ => (random.f64() * 2_000.0).round() / 16.0 + 0.5_f64.powi(random.i32(1..9)),
            };
            let number = if number.is_finite() { number } else { 0.5 };
            format!("{number:?}")
        })
        .collect();
    let event = format!("[[{}]]", numbers.join(","));
    let all: Vec<String> = [
        "input.map(String)",
        "input.map(n => [n.toFixed(), n.toFixed(2), n.toFixed(7), n.toFixed(20)])",
        "input.map(n => [n.toPrecision(1), n.toPrecision(3), n.toPrecision(17), n.toPrecision(30)])",
        "input.map(n => [Math.round(n), Math.floor(n), Math.ceil(n), Math.trunc(n), Math.fround(n), Math.sqrt(n), Math.sign(n)])",
        "input.map((n, i) => [n % 7, n % 0.3, 5 % n, n / 3, n * n, n | 0, n >>> 1, n << 3, n ^ i, ~n, Math.clz32(n), Math.imul(n, 3)])",
        "input.map(n => [Number(`${n}1`), parseFloat(`${n}e1`), parseInt(`${n}`), JSON.parse(`[${n}]`), +`0${n}`, +` ${n}\\n`])",
        "input.map(n => [1 / Math.round(n), -n, 1 / (n % 1), Object.is(n * 0, -0)])",
        "input.slice().sort((a, b) => a - b)",
        "input.slice().sort()",
        "input.toSorted((a, b) => b % 10 - a % 10 || a - b)",
    ]
    .iter()
    .map(|body| module(body))
    .collect();
    assert!(routes(&all).iter().all(Result::is_ok), "{:?}", routes(&all));
    let by = |route| {
        run(&sandbox, &pattern(&all), &event, route)
            .output
            .unwrap()
            .get()
            .to_owned()
    };
    let (compiled, engine) = (by(ExpressionRoute::Cheapest), by(ExpressionRoute::EngineOnly));
    let lists = |text: &str| serde_json::from_str::<Vec<Vec<Value>>>(text).unwrap();
    for ((module, one), other) in all.iter().zip(lists(&compiled)).zip(lists(&engine)) {
        let (Some(Value::Array(one)), Some(Value::Array(other))) = (one.first(), other.first()) else {
            panic!("{module}: {one:?}");
        };
        for ((number, one), other) in numbers.iter().zip(one).zip(other) {
            assert_eq!(one, other, "{module} of {number}");
        }
    }
    assert_eq!(compiled, engine);
}

/// Every code point by itself, in the methods that know what characters are.
#[test]
fn characters_are_the_engines() {
    let sandbox = Sandbox::new();
    let points = "Array.from({ length: 4352 }, (_, i) => String.fromCodePoint(input * 4352 + i))";
    let all: Vec<String> = [
        "toUpperCase()",
        "toLowerCase()",
        "trim()",
        "trimStart()",
        "split('')",
        "toWellFormed()",
        "isWellFormed()",
        "padEnd(4, 'é')",
    ]
    .iter()
    .map(|call| module(&format!("{points}.map(c => `a${{c}}b ${{c}}`.{call})")))
    .chain([
        module(&format!(
            "{points}.map(c => [parseInt(c), Number(c), parseFloat(c), [c, 'a'].sort(), c < 'z'])"
        )),
        module(&format!("{points}.map(c => [JSON.stringify(c), c.length, ...c])")),
        module(&format!(
            "{points}.map(c => c.trim() && encodeURIComponent(c.toWellFormed()))"
        )),
        module(&format!("{points}.join('').toLowerCase()")),
        module(&format!("{points}.join('A').toUpperCase()")),
    ])
    .collect();
    assert!(routes(&all).iter().all(Result::is_ok), "{:?}", routes(&all));
    for chunk in 0..64 {
        let planes: Vec<String> = (chunk * 4..chunk * 4 + 4).map(|at| at.to_string()).collect();
        let event = format!("[{}]", planes.join(","));
        let by = |route| {
            let outcome = run(&sandbox, &pattern(&all), &event, route);
            let output = outcome.output;
            let output = output.unwrap_or_else(|| panic!("{:?}", outcome.error));
            output.get().to_owned()
        };
        let (compiled, engine) = (by(ExpressionRoute::Cheapest), by(ExpressionRoute::EngineOnly));
        if compiled == engine {
            continue;
        }
        let lists = |text: &str| serde_json::from_str::<Vec<Vec<Box<RawValue>>>>(text).unwrap();
        for ((module, one), other) in all.iter().zip(lists(&compiled)).zip(lists(&engine)) {
            for (one, other) in one.iter().zip(&other) {
                let pairs = one.get().split(',').zip(other.get().split(','));
                let differ: Vec<_> = pairs.filter(|(one, other)| one != other).take(5).collect();
                assert!(differ.is_empty(), "{module}: {differ:?}");
            }
        }
    }
}

/// Names of what is built in are no values when they are compiled.
#[test]
fn inherited_names_are_the_engines() {
    let names = heddle_javascript::names::PROPERTIES.iter();
    let names: Vec<&str> = names
        .copied()
        .filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()))
        .collect();
    let modules: Vec<String> = names
        .iter()
        .map(|name| {
            module(&format!(
                "[input, 'x', 1, true, [], {{}}].map(v => [typeof v?.{name}, typeof v?.['{name}' + ''], typeof (v ?? 0)?.{name}])"
            ))
        })
        .collect();
    let sandbox = Sandbox::new();
    for modules in modules.chunks(BATCH) {
        let (_, found) = differences(&sandbox, modules);
        assert!(found.is_empty(), "{found}");
    }
}

/// One module, as definitions have them, without `each`.
fn single(code: &str) -> Value {
    json!({
        "nodes": [
            {"id": "start", "type": "OnManual"},
            {"id": "code", "type": "JavaScript", "data": {"parameters": {"code": code}}},
            {"id": "end", "type": "Return"},
        ],
        "edges": [{"source": "start", "target": "code"}, {"source": "code", "target": "end"}],
    })
}

#[test]
fn compiled_code_does_not_start_the_engine() {
    let sandbox = Sandbox::new();
    let pattern = single("export default ({ input }) => input.rows.map(row => row.n * 2)");
    let event = r#"{"rows": [{"n": 1}, {"n": 2.5}]}"#;
    let compiled = run(&sandbox, &pattern, event, ExpressionRoute::Cheapest);
    let engine = run(&sandbox, &pattern, event, ExpressionRoute::EngineOnly);
    assert_eq!(output_of(&compiled), json!([2, 5]));
    assert_eq!(output_of(&engine), json!([2, 5]));
    let peak = |outcome: &Outcome| outcome.usage.memory_bytes_peak;
    assert!(
        peak(&compiled) < peak(&engine),
        "{} {}",
        peak(&compiled),
        peak(&engine)
    );
    assert!(compiled.usage.fuel_used < engine.usage.fuel_used);
}

#[test]
fn errors_are_the_engines() {
    let sandbox = Sandbox::new();
    for code in [
        "export default ({ input }) => {\n  const row = input.rows[7];\n  return row.name;\n}",
        "export default ({ input }) => input.text.nothing.more",
        "export default ({ input }) => input.rows.map(row => row.name.trim().length)",
        "export default ({ input }) => JSON.parse(input.text)",
        "export default ({ input }) => input.text.repeat(-1)",
        "export default ({ input }) => encodeURIComponent(input.lone)",
    ] {
        let event = r#"{"rows": [{"name": null}], "text": "{", "lone": "\ud800"}"#;
        let by = |route| run(&sandbox, &single(code), event, route).error.unwrap();
        let (compiled, engine) = (by(ExpressionRoute::Cheapest), by(ExpressionRoute::EngineOnly));
        assert_eq!(compiled.code, "JAVASCRIPT");
        assert_eq!(
            (compiled.code, compiled.message),
            (engine.code, engine.message),
            "{code}"
        );
    }
}

#[test]
fn code_without_an_end_ends_as_any_other() {
    let sandbox = Sandbox::new();
    let nested = "export default ({ input }) => input.map(a => input.map(b => input.map(c => input.map(d => input.map(e => a + b + c + d + e)))))";
    let list = format!("[{}]", vec!["1"; 3_000].join(","));
    for code in [
        nested,
        "export default () => Array.from({ length: 6e7 }, (_, i) => Array.from({ length: 6e7 }, (_, j) => i + j))",
    ] {
        assert!(routes(&[code.to_owned()]).iter().all(Result::is_ok));
        let outcome = run(&sandbox, &single(code), &list, ExpressionRoute::Cheapest);
        let code = outcome.error.unwrap().code;
        assert!(
            ["OUT_OF_FUEL", "OUT_OF_MEMORY", "TIMEOUT"].contains(&code.as_str()),
            "{code}"
        );
    }
    // The engine has no texts of that length either.
    let outcome = run(
        &sandbox,
        &single("export default () => [...'x'.repeat(1e9)].length"),
        "null",
        ExpressionRoute::Cheapest,
    );
    assert!(outcome.error.is_some());
}

#[test]
fn lenient_patterns_have_strict_code() {
    let sandbox = Sandbox::new();
    let mut pattern = single("export default ({ input }) => input.a.b.c");
    pattern["settings"] = json!({"expressions": "lenient"});
    let by = |route| run(&sandbox, &pattern, r#"{"a": {}}"#, route).error.unwrap();
    let (compiled, engine) = (by(ExpressionRoute::Cheapest), by(ExpressionRoute::EngineOnly));
    assert_eq!((compiled.code, compiled.message), (engine.code, engine.message));
}

#[test]
fn times_in_params_are_the_engines() {
    let sandbox = Sandbox::new();
    let mut pattern = single(
        "export default ({ params }) => [typeof params.at, `${params.at}`, params.at, params.gone === undefined]",
    );
    pattern["nodes"][1]["data"]["parameters"]["params"] =
        json!({"at": "{{ new Date(0) }}", "gone": "{{ $input.gone }}"});
    let by = |route| output_of(&run(&sandbox, &pattern, "{}", route));
    assert_eq!(by(ExpressionRoute::Cheapest), by(ExpressionRoute::EngineOnly));
}

#[test]
fn files_are_the_engines() {
    let sandbox = Sandbox::new();
    let event = r#"{"file": {"$file": "x", "name": "a.txt", "type": "text/plain", "size": 3}, "other": {"text": "t", "json": 1, "$file": 5}}"#;
    for code in [
        "export default ({ input }) => [input.file, input.file.name, { ...input.file }, Object.keys(input.file)]",
        "export default ({ input: { file, other } }) => [typeof file.text, typeof file?.json, other.text, other.json, other.bytes]",
        "export default ({ input: { file: { text, bytes }, other: { slice } } }) => [typeof text, typeof bytes, typeof slice]",
    ] {
        assert!(routes(&[code.to_owned()]).iter().all(Result::is_ok));
        let by = |route| output_of(&run(&sandbox, &single(code), event, route));
        assert_eq!(
            by(ExpressionRoute::Cheapest),
            by(ExpressionRoute::EngineOnly),
            "{code}"
        );
    }
}

#[test]
fn definitions_are_compiled_too_and_have_their_ports() {
    let sandbox = Sandbox::new();
    let definitions = json!({"Halves": {
        "kind": "javascript",
        "inputs": [{"name": "in"}],
        "outputs": [{"name": "small"}, {"name": "large"}],
        "code": "export default ({ input, params }) => ({ small: input.n < params.than ? input : undefined, large: input.n < params.than ? undefined : input })",
    }});
    let graph = json!({
        "nodes": [
            {"id": "start", "type": "OnManual"},
            {"id": "halves", "type": "Halves", "data": {"parameters": {"than": 5}}},
            {"id": "small", "type": "SetFields", "data": {"parameters": {"fields": {"is": "small"}}}},
            {"id": "end", "type": "Return"},
        ],
        "edges": [
            {"source": "start", "target": "halves"},
            {"source": "halves", "sourceHandle": "small", "target": "small"},
            {"source": "small", "target": "end"},
            {"source": "halves", "sourceHandle": "large", "target": "end"},
        ],
    });
    let (explained, found) = explain(&graph, &definitions, &Options::default());
    let code: Vec<_> = explained.iter().filter(|it| it.is_code).collect();
    assert_eq!(code.len(), 1, "{found:?}");
    assert_eq!(
        (code[0].route, code[0].definition.as_deref()),
        (Route::Compiled, Some("Halves"))
    );
    let by = |route, event: &Value| {
        let options = Options {
            expressions: route,
            ..Options::default()
        };
        let artifact = heddle_compiler::compile(&graph, &definitions, &options)
            .artifact
            .unwrap();
        let program = sandbox.runtime.load(&artifact.wasm, Tier::Fast).unwrap();
        output_of(
            &sandbox
                .executor
                .block_on(sandbox.runtime.run(&program, request(event))),
        )
    };
    for n in [3, 7] {
        let event = json!({ "n": n });
        assert_eq!(
            by(ExpressionRoute::Cheapest, &event),
            by(ExpressionRoute::EngineOnly, &event)
        );
    }
}
