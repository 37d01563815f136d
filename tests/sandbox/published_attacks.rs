//! Attacks that were published on workflow services, replayed against the sandbox: expressions that reach for the host
//! or for each other, addresses in every spelling, and what grows when it is opened. Through the HTTP interface they are
//! replayed in `tests/http/published_attacks.rs`, inside of the engine in `javascript/tests/attacks.rs`.

mod addresses;

use crate::harness::code;
use crate::patterns::{node, output, pattern, run};
use heddle_compiler::Options;
use serde_json::{Value, json};

/// What code that got out of the sandbox would find; `LOOK` in the table is the literal of this text.
const LOOK_AROUND: &str = "return [typeof process, typeof require, typeof module, typeof Buffer, typeof Deno, typeof Bun, \
                           typeof std, typeof os, typeof scriptArgs, typeof WebAssembly, typeof fetch, typeof setTimeout].join()";

/// Number, technique, expression. Each compiles code at run time by a way that some check overlooked. Here none of
/// them is forbidden: what the code finds is the expression's own realm.
const WAYS_TO_COMPILE: &[(&str, &str, &str)] = &[
    (
        "CVE-2025-68613",
        "an arrow function's constructor",
        "(() => {}).constructor(LOOK)()",
    ),
    (
        "CVE-2025-68613",
        "a built-in function's constructor",
        "[].filter.constructor(LOOK)()",
    ),
    (
        "CVE-2025-68613",
        "the input's constructor",
        "$input.constructor.constructor(LOOK)()",
    ),
    (
        "CVE-2025-68613",
        "the constructor of what the host gave",
        "$run.constructor.constructor(LOOK)()",
    ),
    (
        "CVE-2025-68613",
        "the constructor of variables",
        "$vars.constructor.constructor(LOOK)()",
    ),
    (
        "CVE-2025-68613",
        "a name put together at run time",
        "(() => {})['const' + 'ructor'](LOOK)()",
    ),
    (
        "CVE-2025-68613",
        "a template text as a name",
        "(() => {})[`constr${'uctor'}`](LOOK)()",
    ),
    (
        "CVE-2026-25049",
        "an array as a name",
        "({})[['constructor']][['constructor']](LOOK)()",
    ),
    (
        "CVE-2026-25049",
        "an object whose text is the name",
        "(() => {})[{ toString: () => 'constructor' }](LOOK)()",
    ),
    (
        "CVE-2026-25049",
        "a name whose text is another one the second time",
        "(() => {})[{ n: 0, toString() { return this.n++ ? 'x' : 'constructor'; } }](LOOK)()",
    ),
    (
        "CVE-2026-25049",
        "destructuring of a parameter",
        "(({ constructor: c }) => c(LOOK)())(() => {})",
    ),
    (
        "CVE-2026-25049",
        "destructuring of a default",
        "((f, { constructor: c } = f) => c(LOOK)())(() => {})",
    ),
    (
        "CVE-2026-25049",
        "destructuring by a computed name",
        "(({ ['const' + 'ructor']: c }) => c(LOOK)())(() => {})",
    ),
    (
        "CVE-2026-1470",
        "`with` in code made at run time",
        "new Function('F', 'L', 'with ({constructor: F}) { return constructor(L)(); }')(Function, LOOK)",
    ),
    (
        "CVE-2026-1470",
        "a parameter named like the global",
        "((Function) => Function(LOOK)())((() => {}).constructor)",
    ),
    (
        "CVE-2026-27577",
        "a generator's constructor",
        "(function* () {}).constructor(LOOK)().next().value",
    ),
    (
        "CVE-2026-27577",
        "a generator's prototype",
        "Object.getPrototypeOf(function* () {}).constructor(LOOK)().next().value",
    ),
    (
        "CVE-2026-27577",
        "Reflect",
        "Reflect.construct(Function, [LOOK])()",
    ),
    (
        "CVE-2026-27577",
        "Reflect's reading",
        "Reflect.get(() => {}, 'constructor')(LOOK)()",
    ),
    (
        "CVE-2026-27577",
        "a tagged template",
        "(x => x).constructor`return typeof process + typeof require`()",
    ),
    (
        "CVE-2026-27577",
        "call of call",
        "Function.prototype.call.call(Function, null, LOOK)()",
    ),
    (
        "CVE-2026-27577",
        "a bound constructor",
        "Function.bind(null, LOOK)()()",
    ),
    (
        "CVE-2026-27577",
        "a class that extends it",
        "new (class extends Function {})(LOOK)()",
    ),
    (
        "CVE-2026-27577",
        "a setter that is given it",
        "(() => { let f; ({ set x(v) { f = v; } }).x = Function; return f(LOOK)(); })()",
    ),
    (
        "CVE-2026-0863",
        "the constructor of an exception",
        "(() => { try { null.x } catch (e) { return e.constructor.constructor(LOOK)() } })()",
    ),
    (
        "CVE-2026-0863",
        "an exception of too deep a recursion",
        "(() => { const f = () => f() + 1; try { f() } catch (e) { return e.constructor.constructor(LOOK)() } })()",
    ),
    (
        "CVE-2023-32314",
        "a proxy's receiver (vm2)",
        "new Proxy(() => {}, { get: (t, k, r) => t.constructor(LOOK)() }).x",
    ),
    (
        "CVE-2023-37903",
        "a symbol that inspection looks for (vm2)",
        "({ [Symbol.for('nodejs.util.inspect.custom')]: (d, o, i) => i })[Symbol.for('nodejs.util.inspect.custom')](1, 2, Function)(LOOK)()",
    ),
    (
        "CVE-2023-29017",
        "call sites of a stack (vm2)",
        "(() => { const e = new Error(); Error.captureStackTrace(e); return e.stack.constructor.constructor(LOOK)() })()",
    ),
    (
        "CVE-2026-72765",
        "a block in an arrow function",
        "(() => { const c = (() => { return (() => {}).constructor })(); return c(LOOK)() })()",
    ),
];

/// Number, technique, expression: each fails, in its node and not before.
const FAILING: &[(&str, &str, &str)] = &[
    (
        "CVE-2025-68613",
        "`this` of a function",
        "(function () { return this.globalThis })()",
    ),
    (
        "CVE-2025-68613",
        "the caller of a function",
        "(function f() { return f.caller.arguments })()",
    ),
    (
        "CVE-2025-68613",
        "the callee",
        "(function () { return arguments.callee.caller })()",
    ),
    (
        "CVE-2023-37466",
        "a promise's species (vm2)",
        "new Function('return (async () => {}).constructor')()(LOOK)().split(',')",
    ),
    (
        "CVE-2021-23449",
        "an import in code made at run time (vm2)",
        "new Function(\"return import('fs')\")()['readFileSync']('/etc/passwd')",
    ),
    (
        "CVE-2021-23449",
        "the module's own address",
        "new Function('return import.meta')()",
    ),
    (
        "CVE-2026-85165",
        "a stack's preparation stays for the next evaluation",
        "(() => { Error.prepareStackTrace = () => 'kept' })()",
    ),
    (
        "CVE-2026-85165",
        "a stack's length stays for the next evaluation",
        "(() => { Error.stackTraceLimit = 0 })()",
    ),
    (
        "CVE-2026-85165",
        "a global variable",
        "(() => { globalThis.kept = 1 })()",
    ),
    (
        "CVE-2026-85165",
        "a global variable by sloppy code",
        "new Function('kept = 1; return kept.length')()",
    ),
    (
        "CVE-2026-85165",
        "a built-in method",
        "(() => { Array.prototype.map = () => 'kept' })()",
    ),
    (
        "CVE-2026-33696",
        "all objects' prototype",
        "(() => { Object.prototype.kept = 1 })()",
    ),
    (
        "CVE-2026-33696",
        "all objects' prototype, by an object",
        "(() => { ({}).__proto__.kept = 1 })()",
    ),
    (
        "CVE-2026-33696",
        "all objects' prototype, by the input",
        "(() => { $input.__proto__.kept = 1 })()",
    ),
    (
        "CVE-2026-33696",
        "all objects' prototype, by its constructor",
        "(() => { $input.constructor.prototype.kept = 1 })()",
    ),
    (
        "CVE-2026-33696",
        "all objects' prototype, defined",
        "Object.defineProperty(Object.prototype, 'kept', { value: 1 })",
    ),
    (
        "CVE-2026-33696",
        "all objects' prototype, exchanged",
        "Object.setPrototypeOf(Object.prototype, { kept: 1 })",
    ),
    (
        "CVE-2026-33696",
        "what functions are as text",
        "(() => { Function.prototype.toString = () => 'kept' })()",
    ),
    (
        "CVE-2026-33696",
        "what regular expressions find",
        "(() => { RegExp.prototype.exec = () => ['kept'] })()",
    ),
];

/// Runs the expressions one after the other in one run, each with its own failure; what each gave.
async fn evaluated(expressions: &[String]) -> Vec<Value> {
    let mut nodes = Vec::new();
    let mut edges = Vec::new();
    let mut before = "start".to_owned();
    for (index, expression) in expressions.iter().enumerate() {
        let id = format!("n{index}");
        let value = json!({ "value": format!("{{{{ ({{ it: {expression} }}) }}}}") });
        let mut evaluating = node(&id, "Transform", value);
        evaluating["data"]["onError"] = json!("continue");
        nodes.push(evaluating);
        edges.push(format!("{before} -> {id}"));
        before = id;
    }
    let outputs: Vec<String> = (0..expressions.len())
        .map(|index| format!("$nodes[\"n{index}\"]"))
        .collect();
    nodes.push(node(
        "end",
        "Return",
        json!({ "value": format!("{{{{ [{}] }}}}", outputs.join(", ")) }),
    ));
    edges.push(format!("{before} -> end"));
    let edges: Vec<&str> = edges.iter().map(String::as_str).collect();
    let found = output(&run(&pattern(&nodes, &edges), &json!({ "a": 1 })).await);
    let found = found.as_array().unwrap().iter();
    found
        .map(|found| match found["it"].is_null() {
            true => found["error"].clone(),
            false => found["it"].clone(),
        })
        .collect()
}

fn looking(expression: &str) -> String {
    expression.replace("LOOK", &json!(LOOK_AROUND).to_string())
}

#[tokio::test]
async fn code_that_is_made_at_run_time_finds_only_its_realm() {
    for chunk in WAYS_TO_COMPILE.chunks(10) {
        let expressions: Vec<String> = chunk.iter().map(|(_, _, source)| looking(source)).collect();
        for (found, (number, technique, source)) in evaluated(&expressions).await.iter().zip(chunk) {
            let text = found
                .as_str()
                .unwrap_or_else(|| panic!("{number}: {technique}: {source}: {found}"));
            let nothing = text
                .split(',')
                .all(|kind| kind.replace("undefined", "").is_empty());
            assert!(nothing, "{number}: {technique}: {source}: {text}");
        }
    }
}

#[tokio::test]
async fn what_reaches_for_more_fails_in_its_node_and_leaves_nothing() {
    let unchanged = "[typeof kept, ({}).kept, [1, 2].map(x => x * 2).join(), /(x)/.exec('x')[1], typeof new Error('x').stack, \
                     Object.keys(Object.prototype).length, String(() => 1)].join('|')";
    let unchanged = unchanged.replace("typeof kept", "typeof globalThis.kept");
    for chunk in FAILING.chunks(7) {
        let mut expressions = Vec::new();
        for (_, _, source) in chunk {
            expressions.extend([looking(source), unchanged.clone()]);
        }
        let found = evaluated(&expressions).await;
        for (pair, (number, technique, source)) in found.chunks(2).zip(chunk) {
            assert_eq!(
                pair[0]["code"], "EXPRESSION",
                "{number}: {technique}: {source}: {}",
                pair[0]
            );
            assert_eq!(
                pair[1], "undefined||2,4|x|string|0|() => 1",
                "after {number}: {technique}: {source}"
            );
        }
    }
}

/// CVE-2026-85165 by its class: nothing that can be reached keeps what an expression gives it. Whatever a newer engine
/// brings along is found here.
#[tokio::test]
async fn nothing_that_is_built_in_keeps_anything() {
    let walk = "(() => {
        const reached = new Set([globalThis]);
        const add = (value) => { if (value !== null && (typeof value === 'object' || typeof value === 'function')) reached.add(value); };
        for (const object of reached) {
            add(Object.getPrototypeOf(object));
            for (const key of Reflect.ownKeys(object)) {
                const property = Object.getOwnPropertyDescriptor(object, key);
                for (const part of [property.value, property.get, property.set]) add(part);
            }
        }
        const keeping = [];
        const read = (object, key) => { try { return object[key]; } catch { return 'can not be read'; } };
        for (const object of reached) {
            for (const key of Reflect.ownKeys(object)) {
                const before = read(object, key);
                for (const value of [() => 'kept', 17]) {
                    try { object[key] = value; } catch {}
                    if (!Object.is(read(object, key), before)) { keeping.push(String(key)); break; }
                }
            }
            for (const change of [() => { object.kept = 1; }, () => Object.setPrototypeOf(object, { kept: 1 })]) {
                try { change(); } catch {}
            }
            if (object.kept !== undefined) keeping.push('a new property of ' + String(object.name ?? Object.prototype.toString.call(object)));
        }
        return [reached.size > 500, keeping];
    })()";
    let found = evaluated(&[walk.to_owned(), "({}).kept === undefined".to_owned()]).await;
    assert_eq!(found, [json!([true, []]), json!(true)]);
}

/// CVE-2026-25056, CVE-2026-27497 (the Merge node's SQL), CVE-2026-33713: what comes in becomes part of a statement.
#[test]
fn a_statement_has_no_expressions() {
    let query =
        json!({"connection": "db", "query": "select '{{ $input.name }}' from t order by {{ $input.by }}"});
    let graph = pattern(&[node("it", "SqlQuery", query)], &["start -> it"]);
    let compiled = heddle_compiler::compile(&graph, &json!({}), &Options::default());
    assert!(compiled.artifact.is_none());
    let codes: Vec<&str> = compiled.diagnostics.iter().map(|found| found.code).collect();
    assert_eq!(codes, ["literal-only"]);
}

/// Nodes and compiled expressions that grow what they are given; the engine's are in `scripts.rs` and `javascript.rs`,
/// those of documents in `tests/formats/limits.rs`.
#[tokio::test]
async fn bombs_in_compiled_nodes_meet_a_limit() {
    let limits = ["OUT_OF_FUEL", "OUT_OF_MEMORY", "EXPRESSION", "DEPTH_LIMIT"];
    let nested = "[".repeat(100_000);
    for (kind, parameters) in [
        ("Transform", json!({"value": "{{ $input.s.repeat(2 ** 30) }}"})),
        (
            "Transform",
            json!({"value": "{{ $input.s.padEnd(2 ** 31, 'xy') }}"}),
        ),
        (
            "Transform",
            json!({"value": "{{ $input.s.repeat(50000).replaceAll('x', $input.s.repeat(50000)) }}"}),
        ),
        (
            "Transform",
            json!({"value": "{{ $input.s.repeat(5000000).split('').map(c => c.repeat(1000)) }}"}),
        ),
        (
            "Transform",
            json!({"value": "{{ Array.from({length: 2 ** 40}, () => 1) }}"}),
        ),
        (
            "Transform",
            json!({"value": "{{ [1].fill(0).concat(Array.from({length: 1e9})) }}"}),
        ),
        ("Transform", json!({"value": "{{ [...$input.s.repeat(1e9)] }}"})),
        ("Json", json!({"value": nested})),
        ("Json", json!({"value": "{\"a\":".repeat(50_000)})),
        (
            "Regex",
            json!({"text": format!("{}!", "a".repeat(60)), "pattern": "^(a+)+$", "operation": "test"}),
        ),
        (
            "Template",
            json!({"text": "{{ $input.s.repeat(2 ** 29) }}{{ $input.s.repeat(2 ** 29) }}"}),
        ),
        ("Base64", json!({"value": "{{ $input.s.repeat(2 ** 30) }}"})),
        ("Csv", json!({"value": "{{ 'a,'.repeat(1e8) }}"})),
        (
            "Flatten",
            json!({"items": "{{ Array.from({length: 1e9}, () => [1]) }}"}),
        ),
    ] {
        let graph = pattern(
            &[
                node("it", kind, parameters.clone()),
                node("end", "Return", json!({})),
            ],
            &["start -> it", "it -> end"],
        );
        let outcome = run(&graph, &json!({"s": "x"})).await;
        let what = parameters.to_string().chars().take(120).collect::<String>();
        assert!(
            limits.contains(&code(&outcome)),
            "{kind} {what}: {:?}",
            outcome.error
        );
        assert_eq!(
            outcome.error.as_ref().and_then(|error| error.node_id.as_deref()),
            Some("it"),
            "{kind} {what}"
        );
        assert!(outcome.usage.memory_bytes_peak <= 136 << 20, "{kind} {what}");
    }
}
